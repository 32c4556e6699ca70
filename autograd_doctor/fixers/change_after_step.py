"""AD503: change weights after the step instead of between forward and backward."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.called_layers import called
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement


def candidates(case: Case) -> Iterator[Candidate]:
    """Move the change, or the only call of the function that makes it, behind the step of the optimizer."""
    here, place = case.here(), case.finding.location
    statement = here.statement(place) if here is not None else None
    if here is None or statement is None or not case.is_about_a_parameter:
        return
    for step in _steps(case, here):
        moved = _beside(here, here.whole(statement), step)
        if moved is not None:
            part = moved.body[0] if isinstance(moved, cst.SimpleStatementLine) else moved
            code = here.code(part).strip().splitlines()[0]
            yield case.candidate(f"move `{code}` behind the step", Editing(here).move(moved, after=step))


def _steps(case: Case, here: Source) -> Iterator[Statement]:
    """Where an optimizer that has trained parameters was stepped."""
    lines = {
        each.location.line for each in case.trace.steps if each.location is not None and each.location.path == here.path
    }
    for call in here.all(cst.Call):
        statement = here.statement_of(call)
        if here.line(call) in lines and called(call) == "step" and statement is not None:
            yield statement


def _beside(here: Source, statement: Statement, step: Statement) -> Statement | None:
    """The change in the block of the step and before it: itself, or the only call of its function."""
    block = here.block(step)
    function = here.function(statement)
    if statement not in block and function is not None:
        calls = [each for each in here.all(cst.Call) if called(each) == function.name.value]
        found = here.statement_of(calls[0]) if len(calls) == 1 and len(function.body.body) == 1 else None
        if found is None:
            return None
        statement = found
    if statement not in block or block.index(statement) > block.index(step):
        return None
    between = block[block.index(statement) + 1 : block.index(step)]
    is_asked = any(here.depends(each, here.bound(statement)) for each in between)
    return None if is_asked or here.depends(statement, here.bound(*between)) else statement


FIXER = Fixer(codes=("AD503",), candidates=candidates)
