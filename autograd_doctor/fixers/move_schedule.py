"""AD108, AD110, AD115: step the schedule behind the optimizer that it drives, in the unit for which it was made."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.cycle import SchedulerStepped
from autograd_doctor.events.steps import BatchDrawn
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Loop, Source, Statement


def candidates(case: Case) -> Iterator[Candidate]:
    """Only calls without arguments are moved: those with a number of an epoch, or a metric, belong where that is."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    above = here.parent(call) if here is not None and call is not None else None
    if here is None or call is None or not isinstance(above, cst.Expr) or call.args:
        return
    unit, said = here.unit(above), f"`{here.code(call)}`"
    later = case.related("came later")
    if case.related("the optimizer that steps is built here") is not None:
        yield from _over_the_other(case)
    elif later is not None:
        yield from _behind(case, here, here.whole(unit), said)
    elif "once per epoch" in case.finding.help:
        yield from _once_per_epoch(case, here, unit, said)
    elif "after every optimizer step" in case.finding.help:
        yield from _with_each_step(case, here, unit, said)


def _behind(case: Case, here: Source, unit: Statement, said: str) -> Iterator[Candidate]:
    """Behind the step, as often as before; where that is in another function, at the end of the round."""
    later = case.related("came later")
    step = here.statement(later) if case.source(later) is here else None
    target = here.beside(step, unit) if step is not None else None
    loop = here.loop(unit)
    if target is not None:
        if here.span(target) > here.span(unit) and here.is_movable(unit, target):
            what = f"move {said} after the optimizer's step"
            yield case.candidate(what, Editing(here).move(unit, after=target))
    elif loop is not None and here.home(unit) is loop.body and not _leaves_early(here, loop):
        (*_, last) = here.block(unit)
        if last is not unit and here.is_movable(unit, last):
            what = f"move {said} to the end of the loop"
            yield case.candidate(what, Editing(here).move(unit, after=last))


def _leaves_early(here: Source, loop: Loop) -> bool:
    return next(here.all(cst.Continue, cst.Break, cst.Return, inside=loop), None) is not None


def _once_per_epoch(case: Case, here: Source, unit: Statement, said: str) -> Iterator[Candidate]:
    """Behind the loop over batches, under those of its conditions that do not change in there."""
    loop = here.loop(unit)
    if loop is None or not _runs_again(case, here, loop):
        return
    code = here.code(unit).strip()
    for test in reversed(_tests(here, unit, loop) or []):
        code = f"if {here.code(test)}:\n" + "".join(f"    {line}\n" for line in code.splitlines())
    if _tests(here, unit, loop) is not None and not here.depends(unit, here.bound(loop)):
        what = f"move {said} behind the loop, so that it runs once per epoch"
        editing = Editing(here).remove(here.whole(unit, cst.If)).after(loop, code)
        yield case.candidate(what, editing)


def _runs_again(case: Case, here: Source, loop: Loop) -> bool:
    """Whether the loop is in another one, or was seen to go over a loader more than once."""
    passes = (drawn for drawn in case.trace.of(BatchDrawn) if drawn.pass_number > 0 and drawn.location is not None)
    again = any(drawn.location is not None and drawn.location.line == here.line(loop) for drawn in passes)
    return here.loop(loop) is not None or again


def _tests(here: Source, unit: Statement, loop: Loop) -> list[cst.BaseExpression] | None:
    """The conditions between a loop and a statement in it that stay the same in the loop, the outermost first; None
    where the statement is in a branch that tells of more than them."""
    found, node, bound = [], here.parent(unit), here.bound(loop)
    while node is not None and node is not loop:
        if isinstance(node, cst.Else | cst.ExceptHandler | cst.Finally | cst.Match):
            return None
        if isinstance(node, cst.If) and not here.depends(node.test, bound):
            found.append(node.test)
        node = here.parent(node)
    return found[::-1]


def _with_each_step(case: Case, here: Source, unit: Statement, said: str) -> Iterator[Candidate]:
    """Into the loop or the branch beside which it stands, after the step of the optimizer that it drives."""
    driven = {
        event.optimizer
        for event in case.trace.of(SchedulerStepped)
        if case.is_at(event.location, case.finding.location)
    }
    places = {step.location: None for step in case.trace.steps if step.optimizer in driven}
    calls = [call for place in places if (call := here.seen(place, cst.Call)) is not None]
    step = here.statement_of(calls[0]) if len(calls) == len(places) == 1 else None
    around = here.beside(step, unit) if step is not None else None
    if step is not None and isinstance(around, cst.For | cst.While | cst.If) and here.is_movable(unit, step):
        what = f"move {said} after each step of the optimizer"
        yield case.candidate(what, Editing(here).move(unit, after=step))


def _over_the_other(case: Case) -> Iterator[Candidate]:
    """The schedule is built over the optimizer that steps, behind it."""
    other = case.related("the optimizer that steps is built here")
    here = case.source(other)
    made = here.at(other, cst.Call) if here is not None else None
    assign = here.parent(made) if here is not None and made is not None else None
    stepped = {
        event.scheduler
        for event in case.trace.of(SchedulerStepped)
        if case.is_at(event.location, case.finding.location)
    }
    first = [event.location for event in case.trace.of(SchedulerStepped) if event.first and event.scheduler in stepped]
    if here is None or not isinstance(assign, cst.Assign) or len(assign.targets) != 1 or len(first) != 1:
        return
    schedule = here.seen(first[0], cst.Call)
    built, optimizer = here.statement_of(schedule) if schedule is not None else None, here.statement_of(assign)
    if schedule is None or built is None or optimizer is None or not schedule.args:
        return
    name, given = here.code(assign.targets[0].target), schedule.args[0].value
    if here.code(given) == name and here.is_movable(built, optimizer):
        said = f"build the scheduler behind `{name}`, which it is to drive"
        yield case.candidate(said, Editing(here).move(built, after=optimizer))
    elif here.span(built) > here.span(optimizer) and here.is_known(assign.targets[0].target, built):
        said = f"build the scheduler over `{name}`"
        yield case.candidate(said, Editing(here).replace(given, name))


FIXER = Fixer(codes=("AD108", "AD110", "AD115"), candidates=candidates, same_loss=True)
