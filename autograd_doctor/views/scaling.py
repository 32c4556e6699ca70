"""What a gradient scaler has put right: overflows in steps that it then skipped."""

from __future__ import annotations

from autograd_doctor.events.cycle import ScalerUsed
from autograd_doctor.events.numerics import NonFiniteProduced
from autograd_doctor.events.steps import GradientsCleared, NonFiniteGradient, OptimizerStepped
from autograd_doctor.trace import Trace


def scaled_too_far(trace: Trace, born: NonFiniteProduced) -> bool:
    """Whether a gradient scaler tried a scale that was too large; it skips the step and goes on with a smaller one."""
    calls = [event for event in trace.of(ScalerUsed) if event.step == born.step]
    return any(event.call == "scale" and event.location == born.location for event in calls) and any(
        event.found_inf for event in calls
    )


def skipped_by_scaler(trace: Trace, bad: NonFiniteGradient) -> bool:
    """Whether a gradient scaler suppressed the step that these gradients were made for, and a later one took effect."""
    return (bad.skipped or _is_suppressed(trace, bad.step)) and _goes_on(trace, bad.step)


def skipped_after(trace: Trace, born: NonFiniteProduced) -> bool:
    """Whether a gradient scaler suppressed the step in which a value was spoiled, and a later one took effect."""
    return _is_suppressed(trace, born.step) and _goes_on(trace, born.step)


def left_unused(trace: Trace, bad: NonFiniteGradient) -> bool:
    """Whether the program cleared these gradients before any step used them, as a loss scale of its own does."""
    for event in trace.of(GradientsCleared):
        if event.sequence > bad.sequence and set(bad.parameters) <= {*event.parameters}:
            return set(bad.parameters) <= {*event.unused} and _goes_on(trace, bad.step)
    return False


def _is_suppressed(trace: Trace, step: int) -> bool:
    return any(event.skipped and event.step == step for event in trace.of(OptimizerStepped)) or any(
        event.found_inf and event.step == step for event in trace.of(ScalerUsed)
    )


def _goes_on(trace: Trace, step: int) -> bool:
    return any(event.step >= step for event in trace.steps)
