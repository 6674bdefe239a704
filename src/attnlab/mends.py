"""Mends written into files: as a diff to look at, or for good.

Only mends that were tried are written, only into files that still are what was run, and never two that overlap. A
file keeps its encoding, its newlines and its permissions, and is never half written.
"""

from __future__ import annotations

import difflib
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from attnlab.checks.applying import applied, starts
from attnlab.checks.finding import Edit, Finding
from attnlab.replacing import replace_file

_NO_NEWLINE = "\\ No newline at end of file"  # as `diff` says it, and `patch` reads it
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True)
class Mended:
    """A file with mends in it: its text before and after, with its own newlines, and the findings that are mended."""

    path: str
    encoding: str
    before: str
    after: str
    edits: tuple[Edit, ...]
    findings: tuple[Finding, ...]


def chosen(found: Iterable[Finding]) -> list[Finding]:
    """The findings whose mends can be written together: tried, and of two that overlap the first."""
    taken: dict[str, set[Edit]] = {}
    kept: list[Finding] = []
    for item in found:
        if item.note or item.fix is None or not item.fix.tried or not item.fix.edits:
            continue
        others = taken.setdefault(item.path, set())
        new = set(item.fix.edits) - others
        if any(_overlap(one, other) for one in new for other in others | (new - {one})):
            continue
        others |= new
        kept.append(item)
    return kept


def _overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits touch the same text, or would be made at the same place."""
    first, second = sorted((one, other))
    return second[:2] < first[2:4] or (
        second[:2] == first[2:4] and (first[:2] == first[2:4] or second[:2] == second[2:4])
    )


def mended(found: Sequence[Finding], sources: Mapping[str, str]) -> list[Mended]:
    """Each file with the mends of these findings in it; none of a file that is no longer what was run (`sources`)."""
    files: list[Mended] = []
    for path in dict.fromkeys(item.path for item in found):
        here = tuple(item for item in found if item.path == path)
        edits = tuple(sorted({edit for item in here if item.fix is not None for edit in item.fix.edits}))
        read = _read(path)
        if read is None or _bare(read[1]) != _bare(sources.get(path, "")):
            continue
        encoding, before = read
        files.append(Mended(path, encoding, before, applied(before, edits), edits, here))
    return files


def _read(path: str) -> tuple[str, str] | None:
    """The encoding and the text of a source, newlines as they are."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return encoding, data.decode(encoding)
    except (OSError, SyntaxError, ValueError):
        return None


def _bare(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")


def diff(files: Iterable[Mended], shown: Mapping[str, str]) -> str:
    """A unified diff of the files, by the names that `shown` gives their paths."""
    parts: list[str] = []
    for item in files:
        name = shown[item.path]
        before, after = _LINE.findall(item.before), _LINE.findall(item.after)
        lines = difflib.unified_diff(before, after, name, name)
        parts += [line if line.endswith(("\n", "\r")) else f"{line}\n{_NO_NEWLINE}\n" for line in lines]
    return "".join(parts)


def write(item: Mended) -> None:
    """Put the mended text in the place of the file, at once. Raises `OSError` where it can't be written."""
    replace_file(item.path, item.after.encode(item.encoding))


def moved(found: Finding, files: Iterable[Mended]) -> Finding:
    """A finding where it stands now that its file has been mended; its own mend was tried on the text as it was."""
    file = next((item for item in files if item.path == found.path), None)
    if file is None:
        return found
    line, col = _moved((found.line, found.col), file)
    end_line, end_col = _moved((found.end_line, found.end_col), file)
    fix = None if found.fix is None else replace(found.fix, edits=(), tried=False)
    return replace(found, line=line, col=col, end_line=end_line, end_col=end_col, fix=fix)


def _moved(place: tuple[int, int], file: Mended) -> tuple[int, int]:
    """Where a place of the old text (line and column) is in the new one."""
    old, new = starts(file.before), starts(file.after)
    before = file.before[: old[place[0] - 1] + place[1]]
    made = [edit for edit in file.edits if edit[2:4] <= place]
    at = len(applied(before, made))
    line = bisect_right(new, at)
    return line, at - new[line - 1]
