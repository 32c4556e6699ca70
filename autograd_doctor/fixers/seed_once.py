"""AD709: set a seed once, before training."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.steps import BatchDrawn
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Loop, Source, Statement


def candidates(case: Case) -> Iterator[Candidate]:
    """In front of the loop; or of the function that is called in one; or at the end of the `__init__` of its class."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    above = here.parent(call) if here is not None and call is not None else None
    if here is None or call is None or not isinstance(above, cst.Expr):
        return
    unit, said = here.unit(above), f"`{here.code(call)}`"
    function = here.function(unit)
    loop = _outermost(here, unit)
    if loop is not None and not _begins_again(case, here, loop):
        yield case.candidate(f"call {said} once, before the loop", Editing(here).move(unit, before=loop))
    elif function is None or (loop is None and here.loop(unit) is not None):
        return
    elif isinstance(here.parent(here.home(function) or function), cst.ClassDef):
        last = _end_of_init(here, function)
        if last is not None and here.is_known(call, last):
            yield case.candidate(f"call {said} once, in `__init__`", Editing(here).move(unit, after=last))
    elif here.is_known(call, function) and not _comes_later(here, unit, function):
        what = f"call {said} once, before `{function.name.value}` is defined"
        yield case.candidate(what, Editing(here).move(unit, before=function))


def _outermost(here: Source, unit: Statement) -> Loop | None:
    """The outermost loop of the function in front of which the call means the same."""
    loop, found = here.loop(unit), None
    while loop is not None and here.is_movable(unit, loop):
        found, loop = loop, here.loop(loop)
    return found


def _begins_again(case: Case, here: Source, loop: Loop) -> bool:
    """Whether this loop, which no other is around, was seen to go over a loader more than once: its function is called
    again, for each epoch."""
    drawn = (each.location for each in case.trace.of(BatchDrawn) if each.pass_number > 0)
    lines = {at.line for at in drawn if at is not None and at.path == here.path}
    return here.loop(loop) is None and here.line(loop) in lines


def _end_of_init(here: Source, method: cst.FunctionDef) -> Statement | None:
    """The last statement of the method that makes the object."""
    methods = [each for each in here.block(method) if isinstance(each, cst.FunctionDef)]
    init = next((each for each in methods if each.name.value == "__init__" and each is not method), None)
    if init is None or not isinstance(init.body, cst.IndentedBlock) or next(here.all(cst.Return, inside=init), None):
        return None
    return init.body.body[-1]


def _comes_later(here: Source, unit: Statement, function: cst.FunctionDef) -> bool:
    """Whether what the call asks for gets its value behind the function."""
    block = here.block(function)
    return here.depends(unit, here.bound(*block[block.index(function) :]))


FIXER = Fixer(codes=("AD709",), candidates=candidates)
