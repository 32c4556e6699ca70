"""What can be said of a chapter, which was looked at closely for a while, and then had only its pulse taken."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import NonFiniteProduced
from autograd_doctor.events.run import (
    CloseLookEnded,
    InstrumentAttached,
    InstrumentDetached,
    LightStepsCounted,
    RunEnded,
)
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.plan import Looked
from autograd_doctor.rules import Rule
from autograd_doctor.trace import Trace


def rules_for(rules: Sequence[Rule], trace: Trace, looked: Looked) -> list[Rule]:
    """Those that can judge a chapter at this time: behind the close look, those that need nothing but the pulse."""
    if looked == "urgent":
        return [rule for rule in rules if NonFiniteProduced in rule.needs]
    if looked == "closely":
        return list(rules)
    watching = {event for attached in _to_the_end(trace) for event in attached.emits}
    return [rule for rule in rules if {event.__name__ for event in rule.needs} <= watching]


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
    last = trace.events[ended]
    return Trace((*trace.events[:ended], _left(last)))


def as_if_left(trace: Trace) -> Trace:
    """What was recorded until now, as of a run that goes on."""
    if trace.end or not trace.events:
        return trace
    return Trace((*trace.events, _left(trace.events[-1])))


def _left(last: Event) -> RunEnded:
    """The end of what was recorded until then, by the same process."""
    return RunEnded(step=last.step, reason="steps", seconds=last.time, rank=last.rank)
