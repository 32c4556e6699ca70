"""Whether a program that was training still moves: a hang must not be mistaken for "the time is up", nor the reverse.

A program moves while it trains, while it or a process that it started uses the processor or waits for a disk, and while
it is woken again and again, as by a network: a long step, an evaluation, a slow loader or an upload are no hang. One
that waits for a lock, for a worker that is stuck or for a peer that is gone does none of these.
"""

from __future__ import annotations

import multiprocessing
import os
from typing import NamedTuple

from autograd_doctor import system
from autograd_doctor.clock import CLOCK
from autograd_doctor.keeping.processes import stats
from autograd_doctor.system import PROCESSES

_LOOK_EVERY = 1.0
_IDLE = 0.01
"""Seconds of processor time per second that mere waiting takes: polling with a timeout, as queues do."""
_WAKES = 20.0
"""How often per second a program that merely waits may be woken: by polling, not by data that arrive."""
_TIMES_THE_LONGEST = 10
_SHORTEST, _LONGEST = 5.0, 10.0
_WORTH_WAITING = 30.0
_TICKS = system.configured("SC_CLK_TCK", 100)
"""In a second: the unit in which a system tells the processor time of other processes."""


class Standstill:
    """How long nothing of a program that trains has moved; looked after by one thread, which does not count itself.

    It is a hang after as many seconds as the check was to take, but after 5 at least and 10 at most, and after ten
    times the longest standstill that the program got over before.

    heeds_wakes: being woken is moving. Threads of a group of processes are woken all the time, while all ranks wait.
    """

    def __init__(self, now: float, max_seconds: float) -> None:
        self.heeds_wakes = True
        self._patience = min(max(max_seconds, _SHORTEST), _LONGEST)
        self._longest = 0.0
        self._moved_at = self._signalled_at = self._looked_at = now
        self._used: _Used | None = None

    def signalled(self, now: float) -> None:
        """A sign of life was recorded: an event, a backward or a step."""
        self._moved(now)
        self._signalled_at = now
        self._used = None

    def look(self, now: float) -> None:
        """Where no sign has come for a while, see what was used since the last look."""
        passed = now - self._looked_at
        if passed < _LOOK_EVERY or now - self._signalled_at < _LOOK_EVERY:
            return
        used = _used()
        if self._used is None or used.shows_movement(self._used, passed, by_wakes=self.heeds_wakes):
            self._moved(now)
        self._used, self._looked_at = used, now

    def has_begun(self, now: float) -> bool:
        """Whether nothing has moved for a while, so that waiting a little longer will show if it is a hang."""
        return now - self._moved_at > 2 * _LOOK_EVERY and self._needed <= _WORTH_WAITING

    def is_hang(self, now: float) -> bool:
        return now - self._moved_at >= self._needed

    @property
    def _needed(self) -> float:
        return max(self._patience, _TIMES_THE_LONGEST * self._longest)

    def _moved(self, now: float) -> None:
        stood_still = now - self._moved_at
        # Between two looks, or before the first one, nothing is known.
        if stood_still > 3 * _LOOK_EVERY:
            self._longest = max(self._longest, stood_still)
        self._moved_at = now


class _Used(NamedTuple):
    """What this process (without the thread that looks) and those that it started have used so far.

    ticks: processor time of each process that it started; waits: whether one of them all waits for a disk.
    """

    seconds: float
    wakes: int
    ticks: dict[int, int]
    waits: bool

    def shows_movement(self, before: _Used, seconds: float, *, by_wakes: bool) -> bool:
        woken = by_wakes and self.wakes - before.wakes > _WAKES * seconds
        busy = self.seconds - before.seconds > _IDLE * seconds or woken
        return busy or self.waits or self._others_show_movement(before, seconds)

    def _others_show_movement(self, before: _Used, seconds: float) -> bool:
        """Whether a process came, went or was busy; a tick is counted in full against whoever runs when it ends, which
        may be a thread that has merely been woken."""
        idle = max(1.0, _IDLE * seconds * _TICKS)
        return self.ticks.keys() != before.ticks.keys() or any(
            ticks - before.ticks[process] > idle for process, ticks in self.ticks.items()
        )


def _used() -> _Used:
    seconds = CLOCK.process_time() - CLOCK.thread_time()
    wakes = system.wakes()
    if wakes is None:
        # Whoever waits for a network, and who is stuck, look alike.
        return _Used(seconds, 0, {}, waits=True)
    if not PROCESSES.is_dir():
        # Nothing is known of what other processes do: as long as there are any, something may move.
        return _Used(seconds, wakes, {}, bool(multiprocessing.active_children()))
    facts = dict(stats())
    started = _descendants({process: int(fields[1]) for process, fields in facts.items()})
    ticks = {process: int(facts[process][11]) + int(facts[process][12]) for process in started}
    states = [facts[process][0] for process in started]
    states += [fields[0] for _, fields in stats(PROCESSES / "self" / "task")]
    return _Used(seconds, wakes, ticks, "D" in states)


def _descendants(parents: dict[int, int]) -> list[int]:
    """Of processes with their parents, those that this one started, and those that they started in turn."""
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        above = waiting.pop()
        below = [process for process, parent in parents.items() if parent == above]
        found += below
        waiting += below
    return found
