"""The processes of one training as their traces tell of them: which rank each was, and how it ended.

A process that the program has started writes its trace into a folder of the check, and a rank of a foreign launcher
into one that is shared. Only those that trained, or that were to, take part.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from autograd_doctor.events.event import Event
from autograd_doctor.events.run import (
    CheckEnded,
    ProcessEnded,
    RankJoined,
    RecordingDamaged,
    RecordingStarted,
    RunEnded,
)
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.plan import STACKS, Outcome
from autograd_doctor.recording import TraceError, TraceReader, load
from autograd_doctor.trace import Trace

SUFFIX = ".trace"
_STOPPED = ("steps", "time")
_NOTICED_WITHIN = 2.0
"""Seconds in which a launcher learns that a process of its own was killed."""
STARTER = -1
"""In a file with the traces of several, the number of a process that only started the others."""


class Member(NamedTuple):
    """One process that took part in a training.

    rank: its number, or where it has none, one in the order in which they were started. size: how many ranks there were
    to be. stacks: where it stood when one of them hung. gone_at: when its starter learned that it was killed.
    """

    rank: int
    size: int
    trace: Trace
    outcome: Outcome
    stacks: str = ""
    gone_at: float | None = None

    @property
    def process(self) -> int:
        """Its number on its machine: those that are started one after the other may come to record in another order."""
        return next((event.process for event in self.trace.of(RecordingStarted)), 0)

    @property
    def began(self) -> float:
        """In seconds since 1970."""
        return next((event.began for event in self.trace.of(RecordingStarted)), 0.0)


class Traces:
    """The traces in a folder, which grow while the processes run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._readers: dict[Path, TraceReader] = {}
        self._events: dict[Path, list[Event]] = {}
        self._leader: Path | None = None

    def new_events(self) -> Iterator[Event]:
        """What the first process that trains has recorded since the last call; the others do alike."""
        for path, reader in self._all():
            events = list(reader.new_events())
            self._events[path] += events
            if self._leader is None and any(isinstance(event, BackwardRan) for event in events):
                self._leader = path
                yield from self._events[path]
            elif self._leader == path:
                yield from events

    def processes(self) -> list[int]:
        """The numbers of those that record."""
        return [int(path.name.partition(".")[0]) for path, _ in self._all()]

    def ended(self, main: Trace, outcome: Outcome) -> list[Member]:
        """Those that took part, by rank, now that all are gone; `main` is the trace of the process that began it."""
        for path, reader in self._all():
            with suppress(TraceError):
                self._events[path] += reader.ended()
        traces = {path: Trace(tuple(events)) for path, events in self._events.items() if events}
        gone = _gone([main, *traces.values()])
        stopped = main.end if main.end and main.end.reason in _STOPPED else None
        members = [_member(path, trace, outcome, stopped, gone) for path, trace in traces.items()]
        if takes_part(main):
            stacks = outcome.stacks
            members.append(Member(_rank(main, -1), main.world_size, main, outcome, stacks))
        members = list(numbered(members))
        return members if len(members) > 1 or any(member.trace is not main for member in members) else []

    def _all(self) -> list[tuple[Path, TraceReader]]:
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            if path not in self._readers:
                self._readers[path] = TraceReader(path)
                self._events[path] = []
        return list(self._readers.items())


def takes_part(trace: Trace) -> bool:
    """Whether this process trained, or is one of several that were to."""
    return _trained(trace) or trace.world_size > 1


def _trained(trace: Trace) -> bool:
    return bool(trace.of(BackwardRan) or trace.of(OptimizerStepped))


def numbered(members: Iterable[Member]) -> Iterator[Member]:
    """Those that take part, in the order of their ranks, which each of them has then.

    What a rank starts is no rank, though it may be told so: only if nobody of that rank has trained.
    """
    parts = sorted((each for each in members if takes_part(each.trace)), key=lambda each: each.process)
    trained = {each.rank for each in parts if _trained(each.trace)}
    parts = [each for each in parts if _trained(each.trace) or each.rank not in trained]
    taken = {each.rank for each in parts}
    free = (number for number in range(len(parts) + max(taken, default=0) + 1) if number not in taken)
    ranked = [each if each.rank >= 0 else each._replace(rank=next(free)) for each in parts]
    yield from sorted(ranked, key=lambda each: each.rank)


def parted(trace: Trace) -> tuple[Trace, list[Member]]:
    """A saved trace as that of the process that was started, and of the others of which the same file tells."""
    ranks = dict.fromkeys(event.rank for event in trace.events)
    if len(ranks) < 2:
        return trace, []
    traces = {rank: Trace(tuple(event for event in trace.events if event.rank == rank)) for rank in ranks}
    members = [of_trace(own)._replace(rank=rank) for rank, own in traces.items() if rank != STARTER]
    return traces.get(STARTER, members[0].trace), members


class Saved(Sequence[Member]):
    """Ranks whose traces lie in files, of which one is in memory at a time. Raises `TraceError` as they are read."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, number: Any) -> Any:
        return of_trace(load(self._paths[number]))


def of_trace(trace: Trace) -> Member:
    """A rank by its saved trace, which says at its end how its process ended; without that it is not whole."""
    outcome = next((event.outcome for event in trace.of(CheckEnded)), None)
    if outcome is None:
        trace = Trace((*trace.events, RecordingDamaged(reason="its last record is missing")))
        outcome = Outcome(exit_code=trace.end.exit_code if trace.end else None)
    return Member(_rank(trace, 0), trace.world_size, trace, outcome, outcome.stacks)


def _member(
    path: Path, trace: Trace, main: Outcome, stopped: RunEnded | None, gone: Mapping[int, tuple[int, float]]
) -> Member:
    """A process that the program started. Of one that said nothing at its end, its parent may have learned more; or it
    was ended by its launcher, when that was `stopped`."""
    code, at = gone.get(int(path.name.partition(".")[0]), (None, None))
    if trace.end is None and code == -signal.SIGTERM and stopped is not None:
        said = msgspec.structs.replace(stopped, step=trace.steps_taken, sequence=0, rank=trace.rank)
        trace, code = Trace((*trace.events, said)), None
    end = trace.end
    if code is not None and (end is None or end.reason == "finished"):
        outcome = Outcome(exit_code=code if code >= 0 else None, signal=-code if code < 0 else None)
    else:
        outcome = Outcome(exit_code=end.exit_code if end else None, interrupted=main.interrupted)
    if end is None:
        outcome = Outcome(
            exit_code=outcome.exit_code,
            signal=outcome.signal,
            timed_out=main.timed_out,
            interrupted=main.interrupted,
            seconds=main.seconds,
        )
    stacks = Path(f"{path}.{STACKS}")
    shown = stacks.read_text(errors="replace") if stacks.is_file() else ""
    return Member(_rank(trace, -1), trace.world_size, trace, outcome, shown, at if outcome.signal else None)


def _gone(traces: Sequence[Trace]) -> dict[int, tuple[int, float]]:
    """By the numbers of processes that did not end well: their exit codes, and when that was learned."""
    found: dict[int, tuple[int, float]] = {}
    for trace in traces:
        began = next((event.began for event in trace.of(RecordingStarted)), 0.0)
        for event in trace.of(ProcessEnded):
            found.setdefault(event.process, (event.exit_code, began + event.time))
    return found


def _rank(trace: Trace, otherwise: int) -> int:
    """What the group of processes, or the launcher, has said."""
    joined = trace.of(RankJoined)
    if joined:
        return joined[-1].joined
    started = next(iter(trace.of(RecordingStarted)), None)
    return started.rank if started is not None and started.world_size > 1 else otherwise


class Death(NamedTuple):
    """How a process ended that did not end well: when, in seconds since 1970, and with which words."""

    at: float
    how: str


def death(member: Member) -> Death | None:
    """None for one that ended well, or that its launcher ended because another had died."""
    trace, outcome = member.trace, member.outcome
    if (crash := trace.crash) is not None and not (trace.end and trace.end.exit_code == 0):
        return Death(member.began + crash.time, f"raised `{crash.kind}`")
    if trace.end is not None and trace.end.exit_code and trace.end.reason != "interrupted":
        return Death(member.began + trace.end.time, f"exited with {trace.end.exit_code}")
    if outcome.signal and outcome.signal != signal.SIGTERM and not outcome.interrupted:
        last = member.began + max((event.time for event in trace.events), default=0.0)
        at = last if member.gone_at is None else max(last, member.gone_at - _NOTICED_WITHIN)
        return Death(at, f"was killed by {signal.Signals(outcome.signal).name}")
    return None


def ended_well_at(member: Member) -> float | None:
    """When a process came to its end by itself, in seconds since 1970."""
    end = member.trace.end
    well = end is not None and end.reason in ("finished", "exited") and not end.exit_code
    return member.began + end.time if end is not None and well else None


def was_left(member: Member) -> bool:
    """Whether its recording breaks off, as where its launcher ends it because another has died."""
    return not any(isinstance(event, RunEnded) for event in member.trace.events)
