"""What one run showed and no recording tells the cause of."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events import (
    MoreDetailNeeded,
    NonFiniteGradient,
    NonFiniteInput,
    NonFiniteProduced,
)
from autograd_doctor.plan import FirstRun, Outcome
from autograd_doctor.report import StoppedBy
from autograd_doctor.trace import Trace

_CAUSES = (NonFiniteProduced, NonFiniteInput, NonFiniteGradient)


def is_told(trace: Trace) -> bool:
    """Whether the trace tells where values that are not finite were born, or of what the program died."""
    return trace.crash is not None or any(trace.of(cause) for cause in _CAUSES)


def unexplained(trace: Trace, outcome: Outcome, stopped_by: StoppedBy) -> Iterator[str]:
    """What keeps a run from being called healthy: something went wrong, in it or in the run before, and is not told."""
    told = is_told(trace)
    for needed in () if told else trace.of(MoreDetailNeeded)[:1]:
        yield f"there was a {needed.what} in step {needed.step}, whose operations were not recorded"
    first = outcome.first_run
    if first is not None and _is_open(first, stopped_by, told=told):
        yield f"in a first run, {first.how}; a second run, with {first.wanted}, did not show it"


def _is_open(first: FirstRun, stopped_by: StoppedBy, *, told: bool) -> bool:
    if first.lacked == "operations":
        return not told
    return stopped_by in ("steps", "time")
