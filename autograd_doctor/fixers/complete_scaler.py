"""AD107: let the gradient scaler scale, step and update."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.cycle import ScalerUsed
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement


def candidates(case: Case) -> Iterator[Candidate]:
    """The call that is missing is added, with the scaler as the calls that are there name it."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    if here is None or call is None or not isinstance(call.func, cst.Attribute):
        return
    scaled, divided = case.related("the loss is scaled here"), case.related("this step takes the scale out")
    if scaled is not None and not call.args and (scaler := _scaler(here, _scaling(case, here), call)):
        yield from _stepped(case, here, call, scaler)
    elif divided is not None and not call.args and (scaler := _scaler(here, here.at(divided, cst.Call), call)):
        loss = call.func.value
        editing = Editing(here).replace(loss, f"{scaler}.scale({here.code(loss)})")
        yield case.candidate(f"scale `{here.code(loss)}` before `backward()`", editing)
    elif not _updates(case) and any(_is_step(case, use) for use in case.trace.of(ScalerUsed)):
        update = f"{here.code(call.func.value)}.update()"
        last = _last_step(case, here, call)
        if last is not None:
            yield case.candidate(f"call `{update}` after the step", Editing(here).after(last, update))


def _stepped(case: Case, here: Source, call: cst.Call, scaler: str) -> Iterator[Candidate]:
    optimizer = cst.ensure_type(call.func, cst.Attribute).value
    step, update = f"{scaler}.step({here.code(optimizer)})", f"{scaler}.update()"
    editing = Editing(here).replace(call, step)
    last = _last_step(case, here, call)
    if _updates(case) or case.trace.crash is not None:  # which may have been an update that had nothing to go by
        yield case.candidate(f"call `{step}` instead of `{here.code(call)}`", editing)
    if not _updates(case) and last is not None:
        said = f"call `{step}` instead of `{here.code(call)}`, and `{update}` behind it"
        yield case.candidate(said, editing.after(last, update))


def _scaler(here: Source, call: cst.Call | None, there: cst.CSTNode) -> str:
    """The scaler of a call on it, "" where that is not known at another place."""
    if call is None or not isinstance(call.func, cst.Attribute) or not here.is_known(call.func.value, there):
        return ""
    return here.code(call.func.value)


def _scaling(case: Case, here: Source) -> cst.Call | None:
    """The first call of the file that scales a loss."""
    uses = (use.location for use in case.trace.of(ScalerUsed) if use.call == "scale")
    return next((call for location in uses if (call := here.seen(location, cst.Call)) is not None), None)


def _updates(case: Case) -> bool:
    return any(use.call == "update" for use in case.trace.of(ScalerUsed))


def _is_step(case: Case, use: ScalerUsed) -> bool:
    return use.call == "step" and case.is_at(use.location, case.finding.location)


def _last_step(case: Case, here: Source, call: cst.Call) -> Statement | None:
    """The last statement of the block in which an optimizer steps."""
    own = here.statement_of(call)
    places = {step.location for step in case.trace.steps}
    places |= {use.location for use in case.trace.of(ScalerUsed) if use.call == "step"}
    steps = (here.statement_of(found) for place in places if (found := here.seen(place, cst.Call)) is not None)
    beside = [step for step in steps if step is not None and own is not None and here.home(step) is here.home(own)]
    return max(beside, key=lambda step: here.span(step), default=own)


FIXER = Fixer(codes=("AD107",), candidates=candidates)
