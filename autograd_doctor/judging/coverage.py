"""What had watched: which rules could see all that they need, and what stood in the way of the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from autograd_doctor.events.event import Event
from autograd_doctor.events.run import (
    InstrumentAttached,
    InstrumentFailed,
    InstrumentLimited,
    RecordingDamaged,
    RecordingStarted,
)
from autograd_doctor.rules import Rule
from autograd_doctor.trace import Trace


class Obstacle(NamedTuple):
    """Why a rule cannot be said to have judged.

    blind: what it needs was not recorded at all, so that it must not even be asked: it would take the absence of events
    for a fault. failure: this is a failure of the doctor's own.
    """

    reason: str
    blind: bool
    failure: bool


class Coverage:
    """The instruments of a trace. Of several ranks, what one of them did not see was not seen."""

    def __init__(self, trace: Trace) -> None:
        ranks = sorted({event.rank for event in trace.events})
        self._ranks = [_Rank([event for event in trace.events if event.rank == rank]) for rank in ranks]
        self._is_damaged = bool(trace.of(RecordingDamaged))
        self._selected = {code for started in trace.of(RecordingStarted) for code in started.rules}

    def obstacle(self, rule: Rule) -> Obstacle | None:
        """What kept a rule from judging, None if all that it needs had watched."""
        obstacles = [obstacle for rank in self._ranks for obstacle in rank.obstacles(rule)]
        worst = max(obstacles, key=lambda obstacle: (obstacle.blind, obstacle.failure), default=None)
        if worst and worst.blind and not worst.failure and self._is_damaged:
            return worst._replace(reason="the recording ends too early")
        if worst and worst.blind and not worst.failure and self._selected and rule.code not in self._selected:
            return worst._replace(reason="not recorded: other rules were selected when the program ran")
        return worst


class _Rank:
    """The instruments of one process."""

    def __init__(self, happened: Iterable[Event]) -> None:
        self._attached: dict[str, InstrumentAttached] = {}
        self._emitting: dict[str, list[str]] = {}
        self._failed: dict[str, InstrumentFailed] = {}
        self._limited: dict[str, InstrumentLimited] = {}
        self._known: dict[str, list[Obstacle]] = {}
        for event in happened:
            if isinstance(event, InstrumentAttached):
                self._attached[event.instrument] = event
            elif isinstance(event, InstrumentFailed):
                self._failed.setdefault(event.instrument, event)
            elif isinstance(event, InstrumentLimited):
                self._limited.setdefault(event.instrument, event)
        for instrument, attached in self._attached.items():
            for name in attached.emits:
                self._emitting.setdefault(name, []).append(instrument)

    def obstacles(self, rule: Rule) -> Iterator[Obstacle]:
        for name in (event.__name__ for event in rule.needs):
            if name not in self._known:
                self._known[name] = list(self._to(name))
            yield from self._known[name]

    def _to(self, event: str) -> Iterator[Obstacle]:
        """What stood in the way of events of one kind."""
        emitting = self._emitting.get(event, [])
        if not emitting:
            yield from self._not_recorded(event)
        for instrument in self._with_required(emitting):
            yield from self._of(instrument)

    def _not_recorded(self, event: str) -> Iterator[Obstacle]:
        """An instrument that could not be attached never said what it would have emitted: it may have been this."""
        absent = [failed for instrument, failed in self._failed.items() if instrument not in self._attached]
        yield from (Obstacle(_failure(failed), blind=True, failure=True) for failed in absent)
        yield Obstacle(f"`{event}` was not recorded", blind=True, failure=False)

    def _of(self, instrument: str) -> Iterator[Obstacle]:
        if failed := self._failed.get(instrument):
            yield Obstacle(_failure(failed), blind=False, failure=True)
        elif instrument not in self._attached:
            yield Obstacle(f"`{instrument}` was not attached", blind=False, failure=True)
        if limited := self._limited.get(instrument):
            yield Obstacle(limited.reason, blind=False, failure=False)

    def _with_required(self, instruments: Iterable[str]) -> Iterator[str]:
        """Instruments and, of each, those that it reads, and those that these read."""
        waiting, seen = list(instruments), set[str]()
        while waiting:
            instrument = waiting.pop()
            if instrument not in seen:
                seen.add(instrument)
                yield instrument
                attached = self._attached.get(instrument)
                waiting += attached.requires if attached else []


def _failure(failed: InstrumentFailed) -> str:
    return f"`{failed.instrument}` failed: {failed.error}"
