"""Parameters that began with values which were learned, or set, elsewhere."""

from __future__ import annotations

from autograd_doctor.events.data import WeightsLoaded
from autograd_doctor.trace import Trace


def loaded_before(trace: Trace, step: int) -> set[int]:
    """Those that were given such values when no more than so many steps had been taken."""
    return {parameter for event in trace.of(WeightsLoaded) if event.step <= step for parameter in event.parameters}
