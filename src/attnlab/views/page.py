"""A scene as one HTML file that needs nothing else: script, style, data and pictures are in it.

What a program holds may be hostile: it stands in the file as JSON alone, which no `<` can end, and lands on the page
as text. The policy in the file lets only these very script and style run.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Mapping
from importlib.resources import files

from attnlab.views.page_words import page_words
from attnlab.words import Language, Words

_GENERATOR = '<meta name="generator" content="attnlab'
_HEAD = 2048
_LANGUAGES: dict[Language, str] = {"zh": "zh-CN", "en": "en"}
# In JSON these can only stand in strings, where each has another form.
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def page(scene: str, elements: Mapping[str, str], program: str, language: Language) -> str:
    """The file. `scene`: as JSON; `elements`: by their ids, what it points to; `program`: its name or path."""
    return document("page", scene, elements, page_words(), program, "report.noscript", language)


def document(
    asset: str,
    scene: str,
    elements: Mapping[str, str],
    words: Mapping[Language, Mapping[str, str]],
    name: str,
    without: str,
    language: Language,
) -> str:
    """A page in one file.

    `asset`: the name of its script and style; `name`: of what it shows; `without`: the id of the sentence that stands
    in its place where scripts are switched off.
    """
    script, style = _asset(f"{asset}.js"), _asset(f"{asset}.css")
    allowed = f"script-src '{_hash(script)}'; style-src '{_hash(style)}'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    instead = "".join(f'<p lang="{code}">{Words(one).say(without)}</p>' for one, code in _LANGUAGES.items())
    texts = json.dumps(words, ensure_ascii=False, separators=(",", ":"))
    blobs = "".join(
        f'<script type="application/octet-stream" id="{place}">{data}</script>\n' for place, data in elements.items()
    )
    return f"""<!doctype html>
<html lang="{_LANGUAGES[language]}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
{_GENERATOR}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(os.path.basename(name) or name)} · attnlab</title>
<style>{style}</style>
</head>
<body>
<div id="attnlab"></div>
<noscript>{instead}</noscript>
<script type="application/json" id="attnlab-scene">{scene.translate(_ESCAPES)}</script>
<script type="application/json" id="attnlab-words">{texts.translate(_ESCAPES)}</script>
{blobs}<script>{script}</script>
</body>
</html>
"""


def is_page(beginning: bytes) -> bool:
    """Whether a file that begins so is such a page."""
    return _GENERATOR.encode() in beginning[:_HEAD]


def _asset(name: str) -> str:
    """A built file of the page's. An end tag in it would end the element that it stands in: there is none."""
    text = files("attnlab").joinpath("web", "assets", name).read_text(encoding="utf-8")
    if "</script" in text.lower() or "</style" in text.lower() or "<!--" in text:
        raise ValueError(f"{name} holds an end tag")
    return text


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
