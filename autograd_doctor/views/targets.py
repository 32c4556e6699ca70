"""Targets of losses, by their lines."""

from __future__ import annotations

from autograd_doctor.events.data import TargetsSeen
from autograd_doctor.trace import Trace


def latest_targets(trace: Trace) -> list[TargetsSeen]:
    """The latest word on the targets of each loss at each line, and for each number of classes there."""
    return list({(event.location, event.operation, event.logits): event for event in trace.of(TargetsSeen)}.values())
