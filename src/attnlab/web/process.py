"""The process that has PyTorch loaded: `python -m attnlab.web.process ASKS ANSWERS`. Each run is a child of it."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import sys
import sysconfig

from attnlab.experiments.serving import serve
from attnlab.experiments.start import Start

# Loaded once here, so that no run has to; torch comes first, as in a program.
_NEEDED = (
    "torch",
    "attnlab.web.examining",
    "attnlab.diagnosis",
    "attnlab.recording.finish",
    "attnlab.recording.mode",
    "attnlab.recording.outside",
    "attnlab.recording.tape",
    "attnlab.recording.trial",
    "attnlab.experiments.interventions",
)
# What a first run would load by the way, in the versions that have it.
_LATER = ("encodings.ascii", "torch._subclasses.schema_check_mode")


def _keep_strays() -> None:
    """Have what a program leaves running fall to this process, which then ends it, and to nobody else."""
    if sys.platform == "linux":
        PR_SET_CHILD_SUBREAPER = 36
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def main() -> None:
    """Load what every run needs, and serve until the other side is gone."""
    for name in _NEEDED:
        importlib.import_module(name)
    for name in _LATER:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sysconfig.get_paths()
    from attnlab.looking import ready
    from attnlab.web.rehearsal import rehearse

    ready()
    _keep_strays()
    serve(int(sys.argv[1]), int(sys.argv[2]), Start.now(), ahead=rehearse)


if __name__ == "__main__":
    main()
