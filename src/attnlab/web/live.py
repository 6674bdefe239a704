"""`attnlab map --live`: the page of a map, served on this machine, and exact weights for what it looks closer at."""

from __future__ import annotations

import asyncio
import ctypes
import json
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import torch
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from torch import Tensor

from attnlab.commandline import Command
from attnlab.views.map_page import map_words
from attnlab.web.security import Door, Guard
from attnlab.web.serving import ASSETS, LOOPBACK, Server, body, listening, serve, shell
from attnlab.words import Language, Words

# So many weights are computed at once.
MOST = 512 * 512
_BODY = 1 << 12

# The exact weights [samples, rows, keys] of a layer and a head, by their numbers in the model: of some rows and keys.
Window: TypeAlias = Callable[[int, int, slice, slice], Tensor]


def live(scene: str, window: Window, command: Command, words: Words) -> int:
    """Serve the page of a map until it is interrupted. Raises `Misused`.

    `scene`: as JSON with its bytes in it, as `atlas_scene` makes it with a `Bag()`; `window`: computes exact weights,
    and raises `LookupError` where it has nothing to compute them from.
    """
    door = Door(secrets.token_urlsafe(32), command.last("host") or LOOPBACK)
    with listening(door.host, command.last("port")) as sockets:
        served = Served(scene, window, words.language)
        serve(Server(served.app(door), lambda: None), sockets, command, words, door, "live")
    return 0


class Asked(NamedTuple):
    """A part of the weights of one head: rows and keys, the last ones not included."""

    layer: int
    head: int
    sample: int
    rows: tuple[int, int]
    keys: tuple[int, int]


class Served:
    """The answers to what the page asks."""

    def __init__(self, scene: str, window: Window, language: Language) -> None:
        self._scene = scene.encode()
        self._layers: list[dict[str, Any]] = json.loads(scene)["layers"]
        self._window = window
        self._language: Language = language
        self._alone = threading.Lock()

    def app(self, door: Door) -> ASGIApp:
        """The application, behind its door."""
        routes = [
            Route("/", self.page),
            Route("/api/atlas", self.atlas, methods=["POST"]),
            Route("/api/window", self.window, methods=["POST"]),
            Mount("/assets", StaticFiles(directory=ASSETS)),
        ]
        return Guard(Starlette(routes=routes), door)

    async def page(self, _: Request) -> Response:
        """The page, with every sentence that it says, and nothing of the model's or of the text."""
        lang = "zh-CN" if self._language == "zh" else self._language
        title = Words(self._language).say("live.title")
        return HTMLResponse(shell(lang, title, "attnlab", ("attnlab-words", map_words()), ["map"]))

    async def atlas(self, request: Request) -> Response:
        """What the page shows."""
        # Of an answer that is sent before the question was read to its end, the rest may be lost on the way.
        await body(request, _BODY)
        return Response(self._scene, media_type="application/json")

    async def window(self, request: Request) -> Response:
        """Exact weights as float32, row by row."""
        asked = self._checked(await body(request, _BODY))
        try:
            found = await asyncio.to_thread(self._computed, asked)
        except LookupError:  # of this part nothing is kept that it could be computed from
            raise HTTPException(404) from None
        return Response(found, media_type="application/octet-stream")

    def _checked(self, body: dict[str, Any]) -> Asked:
        """What is asked for, where there is such a part. Raises `HTTPException`."""
        at = _number(body.get("layer"), len(self._layers))
        layer = self._layers[at]
        head = _number(body.get("head"), len(layer["heads"]))
        sample = _number(body.get("sample"), layer["samples"])
        rows, keys = _range(body.get("rows"), layer["queries"]), _range(body.get("keys"), layer["keys"])
        if (rows[1] - rows[0]) * (keys[1] - keys[0]) > MOST:
            raise HTTPException(413)
        return Asked(layer["index"], layer["heads"][head], sample, rows, keys)

    def _computed(self, asked: Asked) -> bytes:
        rows, keys = slice(*asked.rows), slice(*asked.keys)
        with self._alone, torch.inference_mode():
            found = self._window(asked.layer, asked.head, rows, keys)
            found = found.reshape(-1, *found.shape[-2:])[asked.sample].float().cpu().contiguous()
            return ctypes.string_at(found.data_ptr(), found.numel() * found.element_size())


def _number(value: object, count: int) -> int:
    if type(value) is not int or not 0 <= value < count:
        raise HTTPException(400)
    return value


def _range(value: object, count: int) -> tuple[int, int]:
    """Some of so many: from the first to behind the last."""
    if not isinstance(value, list) or len(cast("Sequence[object]", value)) != 2:
        raise HTTPException(400)
    start, stop = (_number(end, count + 1) for end in cast("list[object]", value))
    if start >= stop:
        raise HTTPException(400)
    return start, stop
