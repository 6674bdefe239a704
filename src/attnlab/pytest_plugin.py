"""What pytest shows where an attention does not hold: the findings, as `attnlab check` tells them.

The traceback ends at the test's own line; the findings stand whole beneath it, in a section of their own; the line in
the summary names the first of them. Imports no PyTorch.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from attnlab.testing import AttentionError


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the findings where a person looks for them."""
    report = yield
    error = None if call.excinfo is None else call.excinfo.value
    # Whoever raised it has loaded the module that it is of; so that need not be done here.
    if error is not None and type(error).__module__ == "attnlab.testing":
        _tell(report, cast("AttentionError", error), item.config)
    return report


def _tell(report: pytest.TestReport, error: AttentionError, config: pytest.Config) -> None:
    shown: Any = report.longrepr
    crash = getattr(shown, "reprcrash", None)
    entries: list[Any] = getattr(getattr(shown, "reprtraceback", None), "reprentries", [])
    if crash is None or not entries:  # `--tb=native` and the like
        return
    crash.message = error.line
    if config.option.showcapture != "all" or getattr(config.option, "xmlpath", None):
        return  # sections are not shown, or not written: the findings stay where the error is
    kept = [line for line in getattr(entries[-1], "lines", []) if not line.startswith("E ")]
    entries[-1].lines = [*kept, f"E   {type(error).__name__}: {error.line}"]
    colour, columns = _terminal(config)
    report.sections.append(("attnlab", error.text(columns, colour)))


def _terminal(config: pytest.Config) -> tuple[bool, int]:
    """Whether there is colour, and how many columns; where another process writes to the terminal, neither is known."""
    if config.pluginmanager.get_plugin("terminalreporter") is None:
        return False, 80
    writer = config.get_terminal_writer()
    return writer.hasmarkup, min(writer.fullwidth, 120)
