"""AD102: clear the gradients where no step needs them any more."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.steps import BackwardRan, GradientsCleared, OptimizerStepped
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement
from autograd_doctor.report import Place


def candidates(case: Case) -> Iterator[Candidate]:
    """The clearing goes where it is right: in front of the backward, or behind the step. It goes away where others
    clear these gradients before the next backward, or a framework runs the loop."""
    here, place = case.here(), case.finding.location
    clear = here.statement(place) if here is not None else None
    if here is None or clear is None or not _only_clears(here, clear, place):
        return
    lost, emptied = case.related("came from this backward"), case.related("this step found none of them")
    summed, step = case.related("of this backward were lost"), case.related("the step came here")
    if case.related("never runs on it") is not None or not (lost or emptied or summed):
        return
    unit, what = here.whole(clear), f"`{_said(here, clear)}`"
    if summed:
        yield from _behind(case, here, unit, step, what)
    elif _is_cleared_before_the_next(case):
        yield case.candidate(f"take {what} out: these gradients are cleared before the next backward", _out(here, unit))
    elif emptied is None:  # a framework calls both from one line, and clears
        yield case.candidate(f"take {what} out", _out(here, unit))
    else:
        yield from _in_front(case, here, unit, lost, what)
        yield from _behind(case, here, unit, emptied, what)
        yield from _in_the_loop(case, here, unit, emptied, what)


def _only_clears(here: Source, statement: Statement, place: Place | None) -> bool:
    """Whether the statement does nothing but what was observed at the place: it is this call, or this assignment."""
    call = here.at(place, cst.Call)
    part = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else statement
    if isinstance(part, cst.Expr):
        return part.value is call
    return isinstance(part, cst.Assign) and here.at(place, cst.Assign) is part


def _said(here: Source, statement: Statement) -> str:
    part = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else statement
    return here.code(part.value if isinstance(part, cst.Expr) else part).rstrip("; ")


def _out(here: Source, unit: Statement) -> Editing:
    return Editing(here).remove(unit)


def _in_front(case: Case, here: Source, unit: Statement, lost: Place | None, what: str) -> Iterator[Candidate]:
    backward = here.statement(lost) if case.source(lost) is here else None
    target = here.beside(backward, unit) if backward is not None else None
    if target is not None and here.span(target) < here.span(unit) and here.is_movable(unit, target):
        yield case.candidate(f"move {what} before `backward()`", Editing(here).move(unit, before=target))


def _behind(case: Case, here: Source, unit: Statement, place: Place | None, what: str) -> Iterator[Candidate]:
    step = here.statement(place) if case.source(place) is here else None
    target = here.whole(step, cst.For) if step is not None else None
    if target is not None and here.is_movable(unit, target):
        yield case.candidate(f"move {what} after the step", Editing(here).move(unit, after=target))


def _in_the_loop(case: Case, here: Source, unit: Statement, stepped: Place, what: str) -> Iterator[Candidate]:
    """Where a function clears that is called between backward and step: the optimizer clears in the loop instead."""
    there = case.source(stepped)
    call = there.at(stepped, cst.Call) if there is not None else None
    step = there.statement(stepped) if there is not None else None
    if there is None or step is None or call is None or not isinstance(call.func, cst.Attribute) or call.args:
        return
    if there is here and here.function(unit) is here.function(step):
        return
    clear = f"{there.code(call.func.value)}.zero_grad()"
    if there is here:
        changed = [_out(here, unit).after(step, clear)]
    else:
        changed = [_out(here, unit), Editing(there).after(step, clear)]
    yield case.candidate(f"take {what} out, and call `{clear}` after the step", *changed)


def _is_cleared_before_the_next(case: Case) -> bool:
    """Whether after each step of the optimizer another line cleared its gradients, before any backward wrote some."""
    trace, optimizer = case.trace, case.optimizer()
    if optimizer is None:
        return False
    held, waits, found = trace.optimizer_parameters[optimizer], False, []
    for event in trace.events:
        if isinstance(event, OptimizerStepped) and event.optimizer == optimizer:
            waits = True
        elif waits and isinstance(event, GradientsCleared) and not held.isdisjoint(event.parameters):
            found.append(not case.is_at(event.location, case.finding.location))
            waits = False
        elif waits and isinstance(event, BackwardRan) and not held.isdisjoint(event.wrote):
            found.append(False)
            waits = False
    return bool(found) and all(found)


FIXER = Fixer(codes=("AD102",), candidates=candidates)
