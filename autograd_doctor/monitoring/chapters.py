"""What can be said of a chapter, which was looked at closely for a while, and then had only its pulse taken."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.data import WeightsLoaded
from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import GradientMeasured, LossesFollowed, NonFiniteProduced
from autograd_doctor.events.run import (
    CloseLookEnded,
    InstrumentAttached,
    InstrumentDetached,
    LightStepsCounted,
    ProgramRaised,
    RunEnded,
)
from autograd_doctor.events.steps import BackwardRan, MemoryMeasured
from autograd_doctor.plan import Looked
from autograd_doctor.report import Report
from autograd_doctor.rules import Rule
from autograd_doctor.trace import Trace

_OF_PULSE = frozenset({NonFiniteProduced, LossesFollowed, GradientMeasured, MemoryMeasured, ProgramRaised})
"""What a chapter may still record when its close look is over."""
_AS_CLOSELY = frozenset({GradientsClipped, WeightsLoaded})
"""What goes on as the close look saw it: gradients of a step that is over are measured as they were used, and a test of
rates, after which weights are put back, is no matter of a chapter that only rests."""


def rules_for(rules: Sequence[Rule], trace: Trace, looked: Looked) -> list[Rule]:
    """Those that can judge a chapter at this time: behind the close look, those that hear of more and miss nothing."""
    if looked == "urgent":
        return [rule for rule in rules if NonFiniteProduced in rule.needs]
    if looked == "closely":
        return list(rules)
    rules = [rule for rule in rules if not _OF_PULSE.isdisjoint(rule.needs)]
    watching = {event for attached in _to_the_end(trace) for event in attached.emits}
    return [rule for rule in rules if {event.__name__ for event in {*rule.needs} - _AS_CLOSELY} <= watching]


def consequences(
    trace: Trace, told: Iterable[str], rules: Sequence[Rule], *, last: float | None = None
) -> frozenset[str]:
    """Codes of what only follows from what was told before, in a chapter that begins with a spoiled loss.

    last: the loss that was last known, for a chapter that has none yet.
    """
    backwards = (event for event in trace.events if isinstance(event, BackwardRan | LightStepsCounted))
    first = next((event.loss for event in backwards if event.loss is not None), last)
    if first is None or math.isfinite(first):
        return frozenset()
    known = {*told}
    causes = [rule for rule in rules if rule.code in known and NonFiniteProduced in rule.needs]
    return frozenset(code for rule in causes for code in (rule.code, *rule.folds))


def _to_the_end(trace: Trace) -> Iterable[InstrumentAttached]:
    """The instruments that were there when the close look was over."""
    ended = next((event.sequence for event in trace.of(CloseLookEnded)), None)
    gone = {event.instrument for event in trace.of(InstrumentDetached) if ended is None or event.sequence < ended}
    return (event for event in trace.of(InstrumentAttached) if ended is None or event.instrument not in gone)


def closely(trace: Trace) -> Trace:
    """What a chapter recorded until its close look was over, or as far as it came."""
    ended = next((place for place, event in enumerate(trace.events) if isinstance(event, CloseLookEnded)), None)
    if ended is None:
        return trace
    return Trace((*trace.events[:ended], _left_at(trace.events[ended])))


def as_if_left(trace: Trace) -> Trace:
    """What was recorded until now, as of a run that goes on."""
    if trace.end or not trace.events:
        return trace
    return Trace((*trace.events, _left_at(trace.events[-1])))


def _left_at(last: Event) -> RunEnded:
    return RunEnded(step=last.step, time=last.time, rank=last.rank, reason="steps", seconds=last.time)


def unsure(opening: Report, second: Report) -> set[str]:
    """Fingerprints of what a look finds that has not seen how the run began, and one that has does not.

    Weights that were loaded, modes that were set, and optimizers that were built before may acquit it. That something
    went wrong between the two is rare: the second one begins when the run is twice as long.
    """
    before = {finding.fingerprint for finding in opening.findings}
    return {finding.fingerprint for finding in second.findings} - before


def dated(report: Report, trace: Trace) -> Report:
    """With no finding dated from the start of the run because it was so from the start of its chapter: it may be
    older than that, or not. What is dated in between was remembered from a chapter before.
    """
    first = 1 + trace.steps_before
    findings = [
        finding if finding.step_first > 1 else msgspec.structs.replace(finding, step_first=first)
        for finding in report.findings
    ]
    return msgspec.structs.replace(report, findings=findings)
