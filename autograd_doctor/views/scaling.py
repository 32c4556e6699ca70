"""What a gradient scaler has put right: overflows in steps that it then skipped."""

from __future__ import annotations

from autograd_doctor.events import NonFiniteGradient, NonFiniteProduced, OptimizerStepped, ScalerUsed
from autograd_doctor.trace import Trace


def scaled_too_far(trace: Trace, born: NonFiniteProduced) -> bool:
    """Whether a gradient scaler tried a scale that was too large; it skips the step and goes on with a smaller one."""
    calls = [event for event in trace.of(ScalerUsed) if event.step == born.step]
    return any(event.call == "scale" and event.location == born.location for event in calls) and any(
        event.found_inf for event in calls
    )


def skipped_by_scaler(trace: Trace, bad: NonFiniteGradient) -> bool:
    """Whether a gradient scaler suppressed the step that these gradients were made for, and a later one took effect."""
    suppressed = any(step.skipped and step.step == bad.step for step in trace.of(OptimizerStepped))
    found = any(event.found_inf and event.step == bad.step for event in trace.of(ScalerUsed))
    return (bad.skipped or suppressed or found) and any(step.step >= bad.step for step in trace.steps)
