"""What one run showed and no recording tells the cause of."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.cycle import ScalerUsed
from autograd_doctor.events.numerics import LossesFollowed
from autograd_doctor.events.run import MoreDetailNeeded
from autograd_doctor.events.steps import BatchDrawn
from autograd_doctor.plan import FirstRun, Outcome
from autograd_doctor.report import StoppedBy
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural


def unexplained(trace: Trace, outcome: Outcome, stopped_by: StoppedBy) -> Iterator[str]:
    """What keeps a run from being called healthy: something went wrong, in it or in the run before, and is not told."""
    if not trace.tells_first_cause:
        yield from _non_finite(trace)
    first = outcome.first_run
    if first is None:
        return
    missed = ""
    if first.lacked == "operations" and not (trace.tells_first_cause or trace.crash):
        missed = "did not reproduce it"
    elif first.lacked == "whole passes" and stopped_by in ("steps", "time") and not _came_as_far(trace, first):
        missed = "did not get as far"
    if missed:
        yield f"in the first run, {first.how}; a second run, with {first.wanted}, {missed}"


def _came_as_far(trace: Trace, first: FirstRun) -> bool:
    """Whether the passes after which the first run died are over, whole, and a step was taken since."""
    ended = {(drawn.loader, drawn.pass_number): drawn.step for drawn in trace.of(BatchDrawn) if drawn.ended}
    over = [ended.get(latest) for latest in first.passes.items()]
    return bool(over) and all(step is not None and step < trace.steps_taken for step in over)


def _non_finite(trace: Trace) -> Iterator[str]:
    """Losses that were not finite. Those that a gradient scaler has tried out do no harm."""
    needed = next((event for event in trace.of(MoreDetailNeeded) if event.what == "non-finite loss"), None)
    if needed is not None:
        yield f"a {needed.what} occurred in step {needed.step}, whose operations were not recorded"
    elif not any(used.found_inf for used in trace.of(ScalerUsed)):
        spoiled = sum(followed.non_finite for followed in trace.of(LossesFollowed))
        if spoiled:
            yield f"a loss was not finite in {plural(spoiled, 'backward')}, and no rule explains it"
