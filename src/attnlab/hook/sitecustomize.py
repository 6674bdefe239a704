"""Python imports a module of this name when it starts: the way into a program that is watched.

`attnlab explain FILE` becomes `python FILE` itself, with this folder first on PYTHONPATH. So the program
is run by Python and not by us: its `__main__`, its stack, its tracebacks, its end are what they always
are. All that is left here is to take the traces of this away again, and to begin to watch.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _begin() -> None:
    here = os.path.dirname(__file__)
    if here in sys.path:
        sys.path.remove(here)
    request = os.environ.pop("ATTNLAB_WATCH", None)
    before = os.environ.pop("ATTNLAB_PYTHONPATH", None)
    if before is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = before
    if request is not None:
        home = os.path.dirname(os.path.dirname(here))
        sys.path.insert(0, home)  # for as long as it takes to find the package
        try:
            from attnlab.watch import attach
        finally:
            sys.path.remove(home)
        attach(request)
    # Whoever else has a module of this name gets it imported as if this one were not here.
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_begin()
