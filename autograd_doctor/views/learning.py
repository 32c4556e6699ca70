"""Whether anything was learned in a run, and what may excuse a run in which nothing was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autograd_doctor.events.cycle import ParametersCompared, ScalerUsed, SchedulerStepped
from autograd_doctor.events.steps import GradientsFoundBefore, OptimizerStepped
from autograd_doctor.trace import Trace
from autograd_doctor.views.lone_shares import behind_lone_shares
from autograd_doctor.views.so_far import has_ended
from autograd_doctor.views.step_cycle import groups_of
from autograd_doctor.wording import plural


def unchanged(trace: Trace) -> frozenset[int]:
    """The parameters that still had their first values at the last look, if not a single one had others by then.

    Empty if something changed, or if nobody looked at all those that the steps were about.
    """
    looks = trace.of(ParametersCompared)
    if not looks or any(look.changed for look in looks) or any(step.moved for step in _by_optimizers(trace)):
        return frozenset()
    compared = frozenset(looks[-1].parameters)
    return compared if _stepped_on(trace) <= compared else frozenset()


def _by_optimizers(trace: Trace) -> list[OptimizerStepped]:
    return [step for step in trace.steps if step.optimizer is not None]


def _stepped_on(trace: Trace) -> set[int]:
    """Parameters that the latest step of each optimizer, or the latest one by hand, was about."""
    latest = {step.optimizer: step for step in trace.steps}
    held = {p for step in latest.values() for use in step.uses for p in use.parameters}
    return held.union(*(step.missing for step in latest.values()))


def awaited(trace: Trace) -> str:
    """What was seen to hold learning up for a while only, "" if nothing was: then the run was too short to judge it."""
    if not trace.steps:
        return _all_skipped(trace)
    if unchanged(trace) and not has_ended(trace) and all(_may_rise(trace, step) for step in trace.steps):
        return f"the schedule kept the learning rate at 0 in all {plural(len(trace.steps), 'step')} seen"
    if unchanged(trace) and not has_ended(trace) and unchanged(trace) <= behind_lone_shares(trace):
        return "there was a single class or the like to choose from so far, of which nothing can be learned"
    return ""


def _all_skipped(trace: Trace) -> str:
    skipped = sum(call.found_inf for call in trace.of(ScalerUsed) if call.call == "step")
    skipped = max(skipped, sum(step.skipped for step in trace.of(OptimizerStepped)))
    return f"the gradient scaler skipped {plural(skipped, 'step')}, and no other steps were seen" if skipped else ""


def _may_rise(trace: Trace, step: OptimizerStepped) -> bool:
    return all(rate == 0 for rate in step.learning_rates) and may_rise(trace, step.optimizer)


def may_be_control(trace: Trace, optimizer: int | None) -> bool:
    """Whether one with a rate of 0 may come before others that the same line is still to build: a loop leads there
    again."""
    built = trace.optimizers.get(optimizer) if optimizer is not None else None
    return built is not None and built.in_loop and not has_ended(trace)


def may_rise(trace: Trace, optimizer: int | None) -> bool:
    """Whether a warm-up from 0 has not got going: a scheduler is there that has not stepped twice, or has just raised
    the rate; a program that came to its end has had its chance."""
    calls = [call for call in trace.of(SchedulerStepped) if call.optimizer == optimizer]
    if not calls or has_ended(trace):
        return False
    return sum(not call.first for call in calls) < 2 or any(calls[-1].learning_rates[:1])


def rate_before(trace: Trace, optimizer: int | None, which: Iterable[int] | None = None) -> float:
    """The highest rate that these groups of an optimizer, or all of them, had earlier in the run, as far as one looked:
    a rate of 0 is where their schedule ends then, or a stage of its own."""
    groups = groups_of(trace, optimizer) if optimizer is not None else []
    chosen = range(len(groups)) if which is None else which
    return max((groups[index].highest_lr for index in chosen if index < len(groups)), default=0.0)


def taught_before(trace: Trace) -> set[int]:
    """Parameters that had gradients other than zero earlier in the run, of which this is a chapter: they may have
    learned all that they were to learn."""
    return {parameter for event in trace.of(GradientsFoundBefore) for parameter in event.parameters}


def only_gathers(steps: Sequence[OptimizerStepped]) -> bool:
    """Whether an optimizer without a rate keeps something for its parameters and moves none: sums of squared gradients,
    say, as a Fisher information."""
    without_rate = all(rate is None for step in steps for rate in step.learning_rates)
    return without_rate and all(step.keeps_state for step in steps) and not any(step.moved for step in steps)
