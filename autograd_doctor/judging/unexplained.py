"""What one run showed and no recording tells the cause of."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events import MoreDetailNeeded
from autograd_doctor.plan import FirstRun, Outcome
from autograd_doctor.report import StoppedBy
from autograd_doctor.trace import Trace


def unexplained(trace: Trace, outcome: Outcome, stopped_by: StoppedBy) -> Iterator[str]:
    """What keeps a run from being called healthy: something went wrong, in it or in the run before, and is not told."""
    for needed in () if trace.tells_why else trace.of(MoreDetailNeeded)[:1]:
        yield f"there was a {needed.what} in step {needed.step}, whose operations were not recorded"
    first = outcome.first_run
    if first is not None and _is_open(first, stopped_by, told=trace.tells_why):
        yield f"in a first run, {first.how}; a second run, with {first.wanted}, did not show it"


def _is_open(first: FirstRun, stopped_by: StoppedBy, *, told: bool) -> bool:
    if first.lacked == "operations":
        return not told
    return stopped_by in ("steps", "time")
