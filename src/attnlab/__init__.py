"""attnlab: run your own attention code, and be told line by line what became of every tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.run import Run

if TYPE_CHECKING:
    from attnlab.capturing import capture
    from attnlab.checking import check
    from attnlab.checks.finding import Finding
    from attnlab.recording.api import record
    from attnlab.telling import explain

# `load_ipython_extension` is what IPython asks for at `%load_ext attnlab`; it is no part of the interface.
__all__ = ["Finding", "Run", "capture", "check", "explain", "record"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # torch is imported when something that needs it is asked for, so that `attnlab --help` is quick.
    if name == "record":
        from attnlab.recording.api import record

        return record
    if name == "capture":
        from attnlab.capturing import capture

        return capture
    if name == "explain":
        from attnlab.telling import explain

        return explain
    if name == "check":
        from attnlab.checking import check

        return check
    if name == "Finding":
        from attnlab.checks.finding import Finding

        return Finding
    if name == "load_ipython_extension":
        from attnlab.notebook import load_ipython_extension

        return load_ipython_extension
    raise AttributeError(f"module 'attnlab' has no attribute {name!r}")
