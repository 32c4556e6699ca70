"""When a run has to be looked at once more, and how: with whole passes, or with every operation about a step."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec.structs import replace

from autograd_doctor.events.numerics import EvaluationSpoiled
from autograd_doctor.events.run import DetailTurned, MoreDetailNeeded
from autograd_doctor.events.steps import BatchDrawn, LengthShortened
from autograd_doctor.plan import FirstRun, Plan
from autograd_doctor.trace import Trace
from autograd_doctor.wording import first_line

_STEPS_WITHOUT_CUTS = 1000
"""It may take many steps to come as far with whole passes."""
_STEPS_BEYOND = 3
"""What is looked for shows in the very step; a few more, in case the second run is a step behind."""
_TIMES_THE_SECONDS = 2


class Again(NamedTuple):
    """A second run: its plan, and what is to be said of the first."""

    plan: Plan
    first: FirstRun


def again(plan: Plan, trace: Trace) -> Again | None:
    """How to run the program once more, None if the trace tells all that it can."""
    if trace.end is None or plan.function is not None or plan.ranks.are_several:
        return None  # a rank that is run again would wait for peers that are gone
    if plan.batches_per_epoch and (died := _death_after_a_cut(trace)):
        cut = [drawn for drawn in trace.of(BatchDrawn) if drawn.cut and drawn.ended]
        batches = sum(drawn.length or 0 for drawn in cut)  # a step for each, at most
        steps = max(plan.steps, _STEPS_WITHOUT_CUTS, batches + _STEPS_BEYOND)
        passes = {drawn.loader: drawn.pass_number for drawn in cut}
        first = FirstRun(how=died, lacked="whole passes", passes=passes)
        return Again(replace(plan, batches_per_epoch=0, steps=steps), first)
    if plan.full_from is None and (missed := _missed(trace)):
        step, what, lacked = missed
        plan = replace(
            plan,
            full_from=step,
            runs_again=False,
            waits=trace.crash is not None and trace.crash.late,
            steps=max(plan.steps, step + _STEPS_BEYOND),
            max_seconds=_TIMES_THE_SECONDS * plan.max_seconds,
        )
        return Again(plan, FirstRun(how=f"{what} in step {step}", lacked=lacked, step=step))
    return None


def _death_after_a_cut(trace: Trace) -> str:
    """How the program failed after the doctor had cut a pass over data short, which may be why; else empty.

    What fails before such a pass is over fails on batches of the program's own.
    """
    end, crash = trace.end, trace.crash
    was_cut = any(drawn.cut and drawn.ended for drawn in trace.of(BatchDrawn)) or bool(trace.of(LengthShortened))
    if not was_cut or end is None or end.exit_code == 0:
        return ""
    how = f"raised `{crash.kind}` ({first_line(crash.message)})" if crash else f"exited with {end.exit_code}"
    return f"the program {how} after passes over its loaders had been cut short"


def _missed(trace: Trace) -> tuple[int, str, Literal["operations", "an evaluation"]] | None:
    """The step in which something happened of which only the operations tell the cause, what it was, and of what they
    are lacking: what spoils training comes first."""
    needed = {event.what: event.step for event in reversed(trace.of(MoreDetailNeeded))}
    if "non-finite loss" in needed and not trace.tells_first_cause:
        return needed["non-finite loss"], "a non-finite loss occurred", "operations"
    turns = trace.of(DetailTurned)
    if trace.crash is not None and (trace.crash.late or (turns and not turns[-1].full)):
        return trace.crash.step, f"the program raised `{trace.crash.kind}`", "operations"
    if "non-finite number of an evaluation" in needed and not trace.of(EvaluationSpoiled):
        return needed["non-finite number of an evaluation"], "a number of an evaluation was not finite", "an evaluation"
    return None
