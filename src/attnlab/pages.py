"""The page of each rule."""

from __future__ import annotations

from attnlab.bundled import bundled


def page(code: str, language: str) -> str | None:
    """The page of a rule in a language, as Markdown; None where there is none."""
    try:
        file = bundled(f"rule_pages/{language}/{code}.md", f"docs/{language}/rules/{code}.md")
        return file.read_text(encoding="utf-8")
    except OSError:
        return None
