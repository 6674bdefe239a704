"""What the server answers: the page, its script and style, and what the page asks for."""

from __future__ import annotations

import asyncio
import json
import secrets
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from attnlab.views.page_words import page_words
from attnlab.web.file import Elsewhere, File
from attnlab.web.runs import Look, Runs, both
from attnlab.web.security import Door, Guard, policy
from attnlab.web.serving import ASSETS, body, shell
from attnlab.web.sliders import sliders
from attnlab.web.whys import topics
from attnlab.words import LANGUAGES, Language, catalog

LARGEST = 1 << 20  # characters of a program
_BODY = 8 * LARGEST


class Playground:
    """The answers to what the page asks."""

    def __init__(self, file: File, runs: Runs, language: Language, proxied: bool) -> None:
        self._file = file
        self._runs = runs
        self._language = language
        self._proxied = proxied

    def app(self, door: Door) -> ASGIApp:
        """The application, behind its door."""
        routes = [
            Route("/", self.page),
            Route("/api/start", self.start, methods=["POST"]),
            Route("/api/look", self.look, methods=["POST"]),
            Route("/api/why", self.why, methods=["POST"]),
            Route("/api/save", self.save, methods=["POST"]),
            Mount("/assets", StaticFiles(directory=ASSETS)),
        ]
        return Guard(Starlette(routes=routes), door)

    async def page(self, _: Request) -> Response:
        """The page, with every sentence that it says, and no text of anybody's."""
        nonce = secrets.token_urlsafe(16)
        settings = {
            "language": self._language,
            "nonce": nonce,
            "proxied": self._proxied,
            "words": _words(),
            "topics": topics(),
        }
        lang = "zh-Hans" if self._language == "zh" else self._language
        page = shell(lang, catalog(self._language)["play.title"], "play", ("words", settings), ["page", "play"])
        return HTMLResponse(page, headers={"Content-Security-Policy": policy(self._proxied, nonce)})

    async def start(self, request: Request) -> Response:
        """The text to begin with."""
        await request.body()  # of an answer that is sent before, the rest may be lost on the way
        try:
            text = self._file.read()
        except (OSError, ValueError) as error:
            return JSONResponse({"says": both("play.unread", name=self._file.shown, reason=_reason(error))}, 409)
        name = Path(self._file.path).name
        return JSONResponse({"name": name, "text": text.text, "mark": text.mark, "savable": self._file.savable})

    async def look(self, request: Request) -> Response:
        """A text, run: how that ended, its scene, and where its sliders stand."""
        asked = await body(request, _BODY)
        look: Look = "thorough" if asked.get("thorough") is True else "quick"
        text = _text(asked)
        running = asyncio.create_task(self._runs.look(_name(asked, "tab"), _number(asked, "edit"), text, look))
        await asyncio.sleep(0)  # it begins, and while the program runs there is time for the sliders
        found = sliders(text) if look == "quick" else []
        told, scene = await running
        told["sliders"] = found
        # The scene is JSON already, and long.
        head = json.dumps(told, ensure_ascii=False)[:-1]
        return Response(f'{head},"scene":{scene or "null"}}}', media_type="application/json")

    async def why(self, request: Request) -> Response:
        """The answer to a topic of `why`."""
        asked = await body(request, _BODY)
        told = await self._runs.why(_name(asked, "tab"), _number(asked, "edit"), _text(asked), _name(asked, "topic"))
        return JSONResponse(told)

    async def save(self, request: Request) -> Response:
        """A text, put into the file that was opened."""
        asked = await body(request, _BODY)
        shown = self._file.shown
        if not self._file.savable:
            raise HTTPException(409)
        try:
            return JSONResponse({"mark": self._file.save(_text(asked), _name(asked, "mark"))})
        except Elsewhere:
            return JSONResponse({"says": both("play.elsewhere", name=shown), "mark": self._file.read().mark}, 409)
        except (OSError, ValueError) as error:
            return JSONResponse({"says": both("play.unsaved", name=shown, reason=_reason(error))}, 409)


def _words() -> dict[Language, dict[str, str]]:
    """The sentences that the page says, by language."""
    page = page_words()
    return {language: {**page[language], **_own(language)} for language in LANGUAGES}


def _own(language: Language) -> dict[str, str]:
    texts = catalog(language)
    names = [name.removeprefix("play.page.") for name in texts if name.startswith("play.page.")]
    return {f"play.page.{name}": texts[f"play.page.{name}"] for name in names}


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _text(body: dict[str, Any]) -> str:
    text = body.get("text")
    if not isinstance(text, str):
        raise HTTPException(400)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, which can stand in no file
        raise HTTPException(400) from None
    if len(text) > LARGEST:
        raise HTTPException(413)
    return text


def _name(body: dict[str, Any], key: str) -> str:
    name = body.get(key)
    if not isinstance(name, str) or len(name) > 100:
        raise HTTPException(400)
    return name


def _number(body: dict[str, Any], key: str) -> int:
    number = body.get(key)
    if type(number) is not int or number < 0:
        raise HTTPException(400)
    return number
