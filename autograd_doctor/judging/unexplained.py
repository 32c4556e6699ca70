"""What one run showed and no recording tells the cause of."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events import MoreDetailNeeded
from autograd_doctor.plan import Outcome
from autograd_doctor.report import StoppedBy
from autograd_doctor.trace import Trace


def unexplained(trace: Trace, outcome: Outcome, stopped_by: StoppedBy) -> Iterator[str]:
    """What keeps a run from being called healthy: something went wrong, in it or in the run before, and is not told."""
    for needed in () if trace.tells_first_cause else trace.of(MoreDetailNeeded)[:1]:
        yield f"there was a {needed.what} in step {needed.step}, whose operations were not recorded"
    first = outcome.first_run
    if first is None:
        return
    missed = ""
    if first.lacked == "operations" and not (trace.tells_first_cause or trace.crash):
        missed = "did not show it"
    elif first.lacked == "whole passes" and stopped_by in ("steps", "time"):
        missed = "did not come as far"
    if missed:
        yield f"in a first run, {first.how}; a second run, with {first.wanted}, {missed}"
