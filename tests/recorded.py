"""What the tests of the recorder ask of a Run."""

from __future__ import annotations

from attnlab import Run
from attnlab.run import Source, Step, Value


def sound(run: Run) -> None:
    """What holds for every Run: nothing lost, ids are places, texts stand at their spans, and JSON gives it back."""
    assert run.lost == ()
    assert [step.index for step in run.steps] == list(range(len(run.steps)))
    assert [value.id for value in run.values] == list(range(len(run.values)))
    assert all(
        value.step is None or value.id in run.steps[value.step].results or changed(run, value) for value in run.values
    )
    for step in run.steps:
        assert all(number < len(run.values) for number in step.refs + step.results + step.inplace)
        for place in (step.source, step.via):
            if place is not None and run.sources.get(place.span.file):
                assert place.text == standing_at(run, place)
    assert Run.from_json(run.to_json()) == run


def changed(run: Run, value: Value) -> bool:
    """Whether the step that is said to have made a value wrote into memory, which other tensors may share."""
    return value.step is not None and bool(run.steps[value.step].inplace)


def standing_at(run: Run, place: Source) -> str:
    """The text between the two ends of a span, cut out of the file."""
    span = place.span
    lines = run.sources[span.file].splitlines(keepends=True)[span.line - 1 : span.end_line]
    whole = "".join(lines)
    return whole[span.col : len(whole) - len(lines[-1]) + span.end_col]


def ops(run: Run) -> list[str]:
    return [step.op for step in run.steps]


def only(run: Run, op: str) -> Step:
    """The one step with this operation."""
    (step,) = [step for step in run.steps if step.op == op]
    return step


def source(step: Step) -> Source:
    assert step.source is not None
    return step.source


def texts(run: Run) -> list[tuple[str, str]]:
    """Each step's operation and the text of its expression."""
    return [(step.op, source(step).text) for step in run.steps]


def targets(run: Run) -> list[tuple[str, ...]]:
    """The names that each step's result was given."""
    return [source(step).targets for step in run.steps]


def operands(step: Step) -> list[tuple[str, str]]:
    """Keyword and text of each operand."""
    return [(operand.keyword, operand.text) for operand in step.operands]


def made(run: Run, step: Step) -> Value:
    """The one value that a step made."""
    (number,) = step.results
    return run.values[number]


def makers(run: Run, step: Step) -> list[int | None]:
    """The steps that made the tensors which a step read."""
    return [run.values[number].step for number in step.refs]
