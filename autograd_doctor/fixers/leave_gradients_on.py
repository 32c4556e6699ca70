"""AD201, AD212, AD216: switch gradients off for what is to have none, and for nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement
from autograd_doctor.fixing.training import called_module, place_of, ran_in, trains
from autograd_doctor.report import Place


def candidates(case: Case) -> Iterator[Candidate]:
    """Of a block around one part, which says on its face that it is not to learn, a person has to decide."""
    place = case.related("the graph ends here") or case.finding.location
    here = case.source(place)
    if here is None or place is None:
        return
    if case.finding.code == "AD212":
        yield from _left_off(case, here, place)
    elif case.finding.severity == "error" or case.finding.code == "AD216":
        yield from _decorated(case, here, place)
        yield from _in_block(case, here, place)


def _decorated(case: Case, source: Source, place: Place) -> Iterator[Candidate]:
    for decorator in source.all(cst.Decorator):
        function = source.parent(decorator)
        expression = source.at(place, cst.BaseExpression)  # type: ignore[type-abstract]
        if decorator.decorator is expression and isinstance(function, cst.FunctionDef):
            what = f"`@{source.code(decorator.decorator)}` from `{function.name.value}`"
            yield case.candidate(f"take {what}", Editing(source).undecorate(function, decorator))


def _in_block(case: Case, source: Source, place: Place) -> Iterator[Candidate]:
    """Out of the block goes as little as gives all of them their gradients."""
    block = source.at(place, cst.With)
    if block is None or len(block.items) != 1 or not isinstance(block.body, cst.IndentedBlock):
        return
    switch = block.items[0].item
    if _is_flag(source, switch):
        yield from _by_mode(case, source, block, switch)
        return
    for statement in _last(case, source, block):
        changed = Editing(source).end_before(block, statement)
        yield case.candidate(f"let the block end before `{source.title(statement)}`", changed)
    yield case.candidate(f"take the block `with {source.code(switch)}:` away", Editing(source).unwrap(block))


def _last(case: Case, source: Source, block: cst.With) -> list[Statement]:
    """Statements behind others in a block, two at most, the last one first: that which made a loss, if it is there."""
    losses = [ran.root.made_at for ran in case.trace.of(BackwardRan) if ran.root.made_at is not None]
    places = [place for place in map(place_of, losses) if case.source(place) is source]
    body: list[Statement] = list(block.body.body)
    made = [number for number, each in enumerate(body) if any(source.holds(each, place) for place in places)]
    last = made[-1] if made else len(body) - 1
    return [body[number] for number in range(last, 0, -1)][:2]


def _is_flag(source: Source, switch: cst.BaseExpression) -> bool:
    """Whether a block takes a value that says whether gradients are on."""
    return (
        isinstance(switch, cst.Call)
        and bool(switch.args)
        and source.code(switch.args[0].value) not in ("False", "True")
    )


def _by_mode(case: Case, source: Source, block: cst.With, switch: cst.BaseExpression) -> Iterator[Candidate]:
    """The mode of the model that runs in it says whether it trains, where that is so."""
    optimized = case.trace.optimized
    passes = [e for e in ran_in(case, source, block) if optimized.intersection(case.trace.module_parameters(e.module))]
    if case.finding.confidence != "high" or not passes or not isinstance(switch, cst.Call):
        return
    names = {called_module(source, place_of(event.location)) for event in passes if event.location is not None}
    name = names.pop()
    if name and not names and passes[0].training:
        instead = f"{name}.training"
        yield case.candidate(
            f"ask `{instead}` instead of `{source.code(switch.args[0].value)}`",
            Editing(source).replace(switch.args[0].value, instead),
        )


def _left_off(case: Case, source: Source, place: Place) -> Iterator[Candidate]:
    """A call that switches all off, for the rest of the function, or of the block as far as it does not train."""
    call = source.at(place, cst.Call)
    statement = source.line_of(call) if call is not None else None
    if call is None or not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return
    function = source.function(call)
    if function is not None and source.home(statement) is function.body and not trains(case, source, function):
        editing = Editing(source)
        header = f"{editing.torch()}.no_grad()"
        changed = editing.remove(statement).decorate(function, header)
        yield case.candidate(f"decorate `{function.name.value}` with `@{header}` instead", changed)
    following = _following(case, source, statement)
    for part in (following, following[: _works_at(case, source, following) + 1]):
        if part:
            editing = Editing(source)
            header = f"with {editing.torch()}.no_grad():"
            yield case.candidate(f"put what evaluates into `{header}`", editing.wrap(part, header).remove(statement))


def _following(case: Case, source: Source, statement: cst.SimpleStatementLine) -> list[Statement]:
    """What comes behind a statement in its block, up to what trains."""
    block = source.block(statement)
    found: list[Statement] = []
    for each in block[block.index(statement) + 1 :]:
        if trains(case, source, each):
            break
        found.append(each)
    return found


def _works_at(case: Case, source: Source, statements: list[Statement]) -> int:
    """Which of them was seen to work with gradients off, the last one if none."""
    place = case.related("ran with gradients off")
    if place is None or case.source(place) is not source:
        return len(statements)
    held = [number for number, each in enumerate(statements) if source.holds(each, place)]
    return held[0] if held else len(statements)


FIXER = Fixer(codes=("AD201", "AD212", "AD216"), candidates=candidates)
