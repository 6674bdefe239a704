"""Pages for tests: a scene, the words and the built script in one file, as `attnlab report` freezes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attnlab.views.page_words import page_words

ASSETS = Path(__file__).parents[2] / "src" / "attnlab" / "web" / "assets"

_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
_PAGE = """<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>attnlab</title>
<style>{style}</style>
</head>
<body>
<main id="attnlab"></main>
{elements}
<script type="application/json" id="attnlab-scene">{scene}</script>
<script type="application/json" id="attnlab-words">{words}</script>
<script>{script}</script>
</body>
</html>
"""


def page(scene: Any, elements: dict[str, str] | None = None) -> str:
    """The page of a scene."""
    blobs = (
        f'<script type="application/octet-stream" id="{name}">{text}</script>'
        for name, text in (elements or {}).items()
    )
    return _PAGE.format(
        policy=_POLICY,
        style=(ASSETS / "page.css").read_text(encoding="utf-8"),
        script=(ASSETS / "page.js").read_text(encoding="utf-8"),
        elements="\n".join(blobs),
        scene=_json(scene),
        words=_json(page_words()),
    )


def _json(data: Any) -> str:
    """JSON in which nothing can end the element that it stands in."""
    return json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
