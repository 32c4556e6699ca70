"""AD104: step the optimizer whose gradients were computed."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.cycle import GradientsClipped, ScalerUsed, StepsSkipped
from autograd_doctor.events.steps import BackwardRan, GradientsCleared
from autograd_doctor.findings import Location
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement


def candidates(case: Case) -> Iterator[Candidate]:
    """In place of an optimizer that steps on these gradients at a line of its own, and on others elsewhere; else behind
    the backward, or where the gradients are cleared."""
    here, optimizer = case.here(), case.optimizer()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    backward = here.statement_of(call) if here is not None and call is not None else None
    if here is None or backward is None or optimizer is None or case.trace.steps_by_optimizer[optimizer]:
        return
    name = _name(case, here, optimizer, backward)
    if not name or case.trace.of(StepsSkipped):
        return
    wrong = _wrong_step(case, here, backward)
    if wrong is not None:
        editing = _cleared_too(case, Editing(here).replace(wrong, name), optimizer, name, backward)
        yield case.candidate(f"step `{name}` after this backward instead of `{here.code(wrong)}`", editing)
        return
    step = _call(case, here, name, backward)
    for before, after in _places(case, here, optimizer, backward):
        editing = _cleared_too(case, Editing(here), optimizer, name, backward)
        if before is not None:
            editing.before(before, step)
        if after is not None:
            editing.after(after, step)
        said = " and ".join(f"`{line}`" for line in step.splitlines())
        yield case.candidate(f"call {said} after the backward", editing)


def _name(case: Case, here: Source, optimizer: int, backward: Statement) -> str:
    """What the program calls the optimizer, as where it makes it or clears its gradients; "" if that is not known at
    the backward."""
    cleared = (
        here.seen(event.location, cst.Call) for event in _clearings(case, optimizer) if event.optimizer == optimizer
    )
    owners = [call.func.value for call in cleared if call is not None and isinstance(call.func, cst.Attribute)]
    made = here.seen(case.trace.optimizers[optimizer].location, cst.Call)
    assign = here.parent(made) if made is not None else None
    if isinstance(assign, cst.Assign) and len(assign.targets) == 1:
        owners.insert(0, assign.targets[0].target)
    simple = (owner for owner in owners if isinstance(owner, cst.Name | cst.Attribute | cst.Subscript))
    return next((here.code(owner) for owner in simple if here.is_known(owner, backward)), "")


def _clearings(case: Case, optimizer: int) -> list[GradientsCleared]:
    held = case.trace.optimizer_parameters[optimizer]
    return [event for event in case.trace.of(GradientsCleared) if not held.isdisjoint(event.parameters)]


def _wrong_step(case: Case, here: Source, backward: Statement) -> cst.BaseExpression | None:
    """The optimizer that always steps on these gradients at a line, while it steps on others at another."""
    trace = case.trace
    lines: dict[tuple[int | None, Location | None], set[bool]] = {}
    for step in trace.steps:
        newest = (trace.backwards.get(use.backwards[-1]) for use in step.uses if use.backwards)
        mine = {ran is not None and case.is_at(ran.location, case.finding.location) for ran in newest}
        lines.setdefault((step.optimizer, step.location), set()).update(mine or {False})
    for (other, location), mine in lines.items():
        elsewhere = any(each == other and at != location for each, at in lines)
        call = here.seen(location, cst.Call)
        is_plain = call is not None and isinstance(call.func, cst.Attribute) and not call.args
        if call is None or not is_plain or mine != {True} or not elsewhere:
            continue
        if here.function(call) is here.function(backward):
            return cst.ensure_type(call.func, cst.Attribute).value
    return None


def _cleared_too(case: Case, editing: Editing, optimizer: int, name: str, backward: Statement) -> Editing:
    """With a clearing in front of the backward, where nothing ever cleared these gradients."""
    return editing if _clearings(case, optimizer) else editing.before(backward, f"{name}.zero_grad()")


def _call(case: Case, here: Source, name: str, backward: Statement) -> str:
    """The call that steps: through the scaler that has scaled the loss of this backward."""
    uses = case.trace.of(ScalerUsed)
    for use in uses:
        scale = here.seen(use.location, cst.Call) if use.call == "scale" else None
        if scale is None or not isinstance(scale.func, cst.Attribute) or here.statement_of(scale) is not backward:
            continue
        scaler = here.code(scale.func.value)
        is_updated = any(other.call == "update" and other.scaler == use.scaler for other in uses)
        return f"{scaler}.step({name})" + ("" if is_updated else f"\n{scaler}.update()")
    return f"{name}.step()"


def _places(
    case: Case, here: Source, optimizer: int, backward: Statement
) -> Iterator[tuple[Statement | None, Statement | None]]:
    """In front of which statement, or behind which, the step may stand."""
    clear = next((found for each in _clearings(case, optimizer) if (found := here.seen(each.location, cst.Call))), None)
    clearing = here.statement_of(clear) if clear is not None else None
    last = _last_use(case, here, optimizer, backward)
    if clearing is not None and here.function(clearing) is here.function(backward):
        around = here.beside(backward, clearing)
        if here.span(clearing) > here.span(last) and here.loop(clearing) is here.loop(backward):
            yield here.whole(clearing, cst.For), None
        elif around is not None and around is not backward and isinstance(around, cst.For | cst.While):
            yield None, around
    yield None, last


def _last_use(case: Case, here: Source, optimizer: int, backward: Statement) -> Statement:
    """The last statement that belongs to this step in the block: another backward, or a clipping of its gradients."""
    trace, held = case.trace, case.trace.optimizer_parameters[optimizer]
    more = {ran.location for ran in trace.of(BackwardRan) if not held.isdisjoint(ran.wrote)}
    clips = {clip.location for clip in trace.of(GradientsClipped) if not held.isdisjoint(clip.parameters)}
    ends = _beside(here, {event.location for event in _clearings(case, optimizer)}, backward)
    end = min((here.span(each) for each in ends if here.span(each) > here.span(backward)), default=None)
    used = [each for each in _beside(here, more | clips, backward) if end is None or here.span(each) < end]
    return max([backward, *used], key=lambda each: here.span(each))


def _beside(here: Source, locations: set[Location | None], statement: Statement) -> list[Statement]:
    """The statements of the same block at which something happened."""
    calls = [call for location in locations if (call := here.seen(location, cst.Call)) is not None]
    units = [here.statement_of(call) for call in calls]
    return [each for each in units if each is not None and here.home(each) is here.home(statement)]


FIXER = Fixer(codes=("AD104",), candidates=candidates)
