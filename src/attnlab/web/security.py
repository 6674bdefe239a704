"""Who may speak to the server: this person's own page, and nobody else.

Whoever can speak to it can run code as this person. So every request must name a host that the server is known by
(a foreign page whose name was pointed at this machine names its own), every request that does something must come
from the server's own page (`Origin`), and must bring the token.

The token is a header of its own and not a cookie: a browser sends a cookie along with whatever is sent here, and to
every other server on this machine too, whatever its port; a header is sent by our page alone. The address that the
person opens holds the token behind a `#`, which no browser sends anywhere; the page keeps it in the tab's
`sessionStorage` and takes it out of the address.

Behind jupyter-server-proxy Jupyter asks who it is, and the proxy adds the header. The host is then whatever Jupyter
is known by, and a page may stand in a frame of Jupyter's.
"""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attnlab.words import LANGUAGES, Words

TOKEN = "x-attnlab-token"
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_SAFE = frozenset({"GET", "HEAD"})


@dataclass(frozen=True)
class Door:
    """Who is let in: with which token, under which host's name (`host`: what the server listens on), behind a proxy."""

    token: str
    host: str
    proxied: bool = False

    def refuses(self, method: str, headers: Headers) -> str:
        """The id of the sentence that says why a request is refused; "" where it is let in."""
        host = headers.get("host", "")
        if not self._known(host):
            return "play.refused.host"
        if method not in _SAFE and not self._own(headers.get("origin"), host):
            return "play.refused.origin"
        mine = hmac.compare_digest(headers.get(TOKEN, "").encode(), self.token.encode())
        # The page without anybody's text in it is no secret: where the token is kept, it has to be loaded first.
        if not mine and (self.proxied or method not in _SAFE):
            return "play.refused.token"
        return ""

    def _known(self, host: str) -> bool:
        if self.proxied:
            return True  # the proxy has asked who it is, and only its requests have the token
        name = _name(host)
        if name in _LOCAL or (name and name == self.host.lower()):
            return True
        # An address in numbers cannot be pointed elsewhere, as a name can.
        return self.host not in _LOCAL and _is_address(name)

    def _own(self, origin: str | None, host: str) -> bool:
        if origin is None:
            return False
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        schemes = ("http", "https") if self.proxied else ("http",)
        return parts.scheme in schemes and parts.netloc.lower() == host.lower()


def _name(host: str) -> str:
    """The host of a `Host` header, without its port; "" where it is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """Asks at the door, and says to the browser what the page may do."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door
        self._headers = {
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-cache",
            "Content-Security-Policy": policy(door.proxied),
        }
        if not door.proxied:
            self._headers["X-Frame-Options"] = "DENY"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] != "http":  # nothing here speaks another protocol
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._door.refuses(scope["method"], Headers(scope=scope))
        app = self._app if not refused else _refusal(refused)
        await app(scope, receive, headed)


def _refusal(sentence: str) -> ASGIApp:
    return PlainTextResponse("\n".join(Words(language).say(sentence) for language in LANGUAGES) + "\n", 403)


def policy(proxied: bool, nonce: str = "") -> str:
    """What the page may load: its own script and style, and nothing from elsewhere; `nonce`: styles that bear it."""
    style = f"'self' 'nonce-{nonce}'" if nonce else "'self'"
    ancestors = "'self'" if proxied else "'none'"
    return (
        f"default-src 'none'; script-src 'self'; style-src {style}; img-src 'self' data: blob:; font-src 'self' data:; "
        f"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}; "
        "require-trusted-types-for 'script'"
    )
