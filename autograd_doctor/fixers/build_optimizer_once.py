"""AD109: build the optimizer once."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.cycle import SchedulerStepped
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source


def candidates(case: Case) -> Iterator[Candidate]:
    """In front of the loop, with all that it is built from; or not again, behind one that was given its state."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    assign = here.parent(call) if here is not None and call is not None else None
    if here is None or not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return
    if case.related("its state was loaded here") is not None:
        yield from _not_again(case, here, assign)
    elif not _is_scheduled(case):
        yield from _before_loops(case, here, assign)


def _not_again(case: Case, here: Source, assign: cst.Assign) -> Iterator[Candidate]:
    """Where the same variable holds the one whose state was loaded."""
    into = case.related("into the one built here")
    first = here.at(into, cst.Call) if case.source(into) is here else None
    other = here.parent(first) if first is not None else None
    if not isinstance(other, cst.Assign) or len(other.targets) != 1 or other is assign:
        return
    name = here.code(assign.targets[0].target)
    is_same = here.code(other.targets[0].target) == name and here.is_known(assign.targets[0].target, other)
    if is_same and here.home(here.unit(assign)) is here.home(here.unit(other)):
        said = f"leave `{name}` as it is, with the state that was loaded: do not build it again"
        yield case.candidate(said, Editing(here).remove(here.unit(assign)))


def _before_loops(case: Case, here: Source, assign: cst.Assign) -> Iterator[Candidate]:
    """Out of the innermost loop, else out of further ones around it."""
    unit, loop = here.unit(assign), here.loop(assign)
    if loop is None or here.home(unit) is not loop.body:
        return
    name = here.code(assign.targets[0].target)
    while loop is not None and here.is_movable(unit, loop):
        yield case.candidate(f"build `{name}` once, before the loop", Editing(here).move(unit, before=loop))
        loop = here.loop(loop)


def _is_scheduled(case: Case) -> bool:
    """Whether schedules were made over the optimizers of this line: they would have to be made once, too."""
    builds = {
        each.optimizer for each in case.trace.optimizers.values() if case.is_at(each.location, case.finding.location)
    }
    return any(event.optimizer in builds for event in case.trace.of(SchedulerStepped))


FIXER = Fixer(codes=("AD109",), candidates=candidates)
