"""The playground behind Jupyter, by way of jupyter-server-proxy: one for each person, asked for by their Jupyter."""

from __future__ import annotations

import secrets
import sys
from typing import Any

PROXIED = "ATTNLAB_PLAY_TOKEN"  # in its environment, the server finds the token that the proxy adds to each request


def setup() -> dict[str, Any]:
    """What jupyter-server-proxy has to know; the entry point of `jupyter_serverproxy_servers`."""
    token = secrets.token_urlsafe(32)
    return {
        "command": [sys.executable, "-m", "attnlab", "play", "--port", "{port}", "--no-browser"],
        "environment": {PROXIED: token},
        "request_headers_override": {"X-Attnlab-Token": token},
        "timeout": 60,
        "launcher_entry": {"title": "attnlab", "enabled": True},
    }
