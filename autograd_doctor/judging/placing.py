"""Model mode: a finding whose line would be in the doctor's own loop is shown where the model says what it is about."""

from __future__ import annotations

import msgspec

from autograd_doctor.findings import Finding, Location
from autograd_doctor.trace import Trace


def placed(finding: Finding, trace: Trace) -> Finding:
    """The finding at the first line that takes part in it, else at the one that made a parameter that it concerns."""
    if finding.location is not None:
        return finding
    if finding.related:
        return msgspec.structs.replace(finding, location=finding.related[0].location, related=finding.related[1:])
    return msgspec.structs.replace(finding, location=_made(finding, trace))


def _made(finding: Finding, trace: Trace) -> Location | None:
    seen = (trace.parameters[number] for number in finding.parameters if number in trace.parameters)
    return next((each.registered_at for each in seen if each.registered_at is not None), None)
