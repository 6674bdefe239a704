"""What `mkdocs build` does beside turning pages into a site: English comments for the lessons, names for the parts."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation, Section

from attnlab.lessons import lessons, source

# The folder's name as mkdocs writes it, and what the part is called.
PARTS = {
    ("Zh",): "中文",
    ("Zh", "Lessons"): "课程",
    ("Zh", "Rules"): "check 的规则",
    ("En",): "English",
    ("En", "Lessons"): "Lessons",
    ("En", "Rules"): "Rules of check",
}


def on_pre_build(config: MkDocsConfig) -> None:
    """Write the lessons with English comments to where the English pages include them from."""
    folder = Path(config.site_dir).parent / "lessons_en"
    folder.mkdir(parents=True, exist_ok=True)
    for file in lessons().values():
        (folder / file.name).write_text(source(file, "en"), encoding="utf-8")


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:  # noqa: ARG001 - mkdocs passes them by name
    """Name the parts, and put the Chinese one first."""
    for section in nav.items:
        _name(section, ())
    nav.items.sort(key=lambda item: isinstance(item, Section) and item.title == "English")
    return nav


def _name(item: object, above: tuple[str, ...]) -> None:
    if isinstance(item, Section):
        path = (*above, item.title)
        # The lessons first, the many rules last.
        item.children.sort(key=lambda child: {"Lessons": 0, "Rules": 2}.get(str(child.title), 1))
        for child in item.children:
            _name(child, path)
        item.title = PARTS[path]
