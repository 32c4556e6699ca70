"""AD106: take the loss scale out before gradients are clipped."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.cycle import GradientsClipped, ScalerUsed
from autograd_doctor.findings import Location
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement


def candidates(case: Case) -> Iterator[Candidate]:
    """The call that does so comes first; it is added where there is none."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    clip = here.statement_of(call) if here is not None and call is not None else None
    if here is None or clip is None:
        return
    late = [event.location for event in case.trace.of(ScalerUsed) if event.call == "unscale_"]
    for call in _calls(here, late):
        above = here.parent(call)
        unit = here.whole(here.unit(above)) if isinstance(above, cst.Expr) else None
        target = here.beside(clip, unit) if unit is not None else None
        if unit is not None and target is not None and here.is_movable(unit, target):
            editing = Editing(here).move(unit, before=target)
            yield case.candidate(f"move `{here.code(call)}` before the clipping", editing)
    calls = [] if late else _unscaling(case, here, clip)
    if calls:
        said = " and ".join(f"`{call}`" for call in calls)
        yield case.candidate(f"call {said} before the clipping", Editing(here).before(clip, "\n".join(calls)))


def _unscaling(case: Case, here: Source, clip: Statement) -> list[str]:
    """Of the optimizers whose gradients are clipped, with the scaler that steps them."""
    clips = [each for each in case.trace.of(GradientsClipped) if case.is_at(each.location, case.finding.location)]
    clipped = {parameter for each in clips for parameter in each.parameters}
    held = case.trace.optimizer_parameters
    steps = [event for event in case.trace.of(ScalerUsed) if event.call == "step" and event.optimizer in held]
    meant = [event.location for event in steps if not clipped.isdisjoint(held[event.optimizer or 0])]
    found = []
    for step in _calls(here, meant):
        if step.args and isinstance(step.func, cst.Attribute) and here.is_known(step, clip):
            found.append(f"{here.code(step.func.value)}.unscale_({here.code(step.args[0].value)})")
    return found


def _calls(here: Source, locations: list[Location | None]) -> list[cst.Call]:
    """What was called at some places, each once."""
    return [call for location in dict.fromkeys(locations) if (call := here.seen(location, cst.Call)) is not None]


FIXER = Fixer(codes=("AD106",), candidates=candidates)
