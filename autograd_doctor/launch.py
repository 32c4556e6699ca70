"""The child process that runs the program: started, listened to, and ended when it hangs or the person asks."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from autograd_doctor import system
from autograd_doctor.events.event import Event
from autograd_doctor.events.run import Noted, RunEnded
from autograd_doctor.handing_over import Handover
from autograd_doctor.interrupts import Interrupts, interrupts
from autograd_doctor.keeping.adopted import Adopted, our_processes
from autograd_doctor.keeping.claims import WITHIN, claimed_by_others, is_waiting, note_family, within
from autograd_doctor.keeping.descendants import MARK, end_all, marks_of, note_mark
from autograd_doctor.keeping.guardian import Guardian
from autograd_doctor.keeping.listing import Listing
from autograd_doctor.keeping.put_back import put_back
from autograd_doctor.keeping.told import told
from autograd_doctor.keeping.workspace import Workspace, abandoned, workspace
from autograd_doctor.members import Member, Saved, Traces
from autograd_doctor.mistakes import Mistake
from autograd_doctor.own_python import own_python
from autograd_doctor.plan import STACKS, Outcome, Plan, plan_of_members
from autograd_doctor.ranks import launch_of
from autograd_doctor.recording import TraceReader, make_room
from autograd_doctor.screen import Screen
from autograd_doctor.trace import Trace

__all__ = ["Child", "Recording", "Workspace", "abandoned", "record", "workspace"]

_LOOK_EVERY = 0.05
_GRACE = 2.0
_STOPPED_BY_US = ("steps", "time", "hung")
_INTERRUPT_GRACE = 10.0
_MODULE = "autograd_doctor.runner.entry"
_HASH_SEED = str(secrets.randbits(32))
"""Where the person has set none, sets are ordered alike in a second run of the same program."""
_PACKAGE = str(Path(__file__).parent)
_OWN_THREADS = re.compile(rf'  File "{re.escape(_PACKAGE)}/runner/(stopping.py"|witness.py", line \d+ in _look$)')


class Recording(NamedTuple):
    """What the trace held when the child was gone, how it ended, and what others recorded that it had started."""

    trace: Trace
    outcome: Outcome
    members: Sequence[Member] = ()
    """The processes that trained, if there were several, or another one than that which was started."""

    @property
    def has_starter(self) -> bool:
        """Whether the process that was started is none of those, but only began them."""
        of_members = not isinstance(self.members, Saved) and all(each.trace is not self.trace for each in self.members)
        return bool(self.members) and of_members


def record(
    plan: Plan,
    *,
    timeout: float | None = None,
    on_event: Callable[[Event], None] | None = None,
    screen: Screen | None = None,
) -> Recording:
    """Run the program under instruments and return what was recorded, however it ended."""
    with Child(screen) as child:
        return child.watch(plan, timeout=timeout, on_event=on_event)


class Child:
    """A child process, started at once, that runs a program when it is given the plan.

    Loading torch takes it longer than anything that its parent has to find out first. It leads a session of its own,
    so that a hang is ended with everything it has started; leaving the context ends it in any case.
    """

    def __init__(self, screen: Screen | None = None, interpreter: str = "", *, silent: bool = False) -> None:
        """`interpreter` is the Python of the program, if it is not ours. silent: nobody sees what it prints."""
        self._screen = screen
        self._began = time.monotonic()
        self._handover = Handover()
        self._mark = secrets.token_hex(8)
        self._process = subprocess.Popen(
            own_python(_MODULE, self._handover.name, interpreter=interpreter),
            stdin=subprocess.DEVNULL if silent else None,
            stdout=subprocess.DEVNULL if silent else screen.stdout if screen else None,
            stderr=subprocess.DEVNULL if silent else screen.stderr if screen else None,
            env={"PYTHONHASHSEED": _HASH_SEED, **os.environ, MARK: self._mark, WITHIN: within()},
            start_new_session=True,
            **self._handover.options,
        )
        our_processes.add(self._process.pid)
        self._handover.started()
        self._events: list[Event] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill_if_alive()
        our_processes.discard(self._process.pid)
        self._handover.over()
        if self._screen:
            self._screen.drain()

    def watch(
        self,
        plan: Plan,
        *,
        timeout: float | None = None,
        on_event: Callable[[Event], None] | None = None,
        folders: Sequence[str] = (),
    ) -> Recording:
        """Wait for the end. Ctrl-C is passed on, and a child that outlives `timeout` seconds shows its stacks.

        After a polite run the files are put back, and what changed in `folders` all the same is told.
        """
        timed_out = lingered = interrupted = False
        self._scratch = Path(plan.scratch)
        before = Listing(folders if plan.polite else (), besides=os.path.dirname(plan.trace))
        of_others = claimed_by_others(self._scratch)
        guardian = Guardian(self._process.pid, self._mark, plan.scratch)
        with interrupts() as heard, guardian, Adopted() as adopted:
            try:
                note_mark(self._scratch, self._mark)
                note_family(self._scratch, self._mark, launch_of(os.environ))
                self._give(plan)
                if not self._wait(timeout, on_event):
                    lingered = self._has_ended()
                    timed_out = not lingered
                    self._end_hung(on_event)
            except KeyboardInterrupt:
                interrupted = True
                self._end_interrupted(heard, on_event)
            finally:
                with heard.held():
                    self._kill_if_alive()
            with heard.held():
                self._take(self._reader.ended(), on_event)
                self._end_helpers(plan, adopted)
                of_others |= claimed_by_others(self._scratch)
                done = put_back(self._scratch)
                rank = plan.ranks.rank
                self._events += [Noted(text=text, rank=rank) for text in told(done, before, plan.scratch, of_others)]
        trace = Trace(tuple(self._events))
        outcome = self._outcome(plan, trace, timed_out, lingered, interrupted)
        members = self._others.ended(trace, outcome) if self._others else []
        shown = (member._replace(stacks=_shown(member.stacks)) for member in members)
        return Recording(trace, outcome, [_with_stacks(member) for member in shown])

    def _has_ended(self) -> bool:
        """Whether the program has come to its end as far as the recording goes."""
        return any(isinstance(event, RunEnded) for event in self._events)

    def _end_helpers(self, plan: Plan, adopted: Adopted) -> None:
        """What the program has started. Where it was not stopped, a check that need not be polite lets it go on."""
        end = Trace(tuple(self._events)).end
        if plan.polite or end is None or end.reason in _STOPPED_BY_US:
            end_all(self._process.pid, self._mark)
            adopted.end()

    def _give(self, plan: Plan) -> None:
        trace = Path(plan.trace)
        try:
            trace.touch()
            make_room(trace)
        except OSError as error:
            raise Mistake(
                f"{trace.parent}: cannot be written, but the recording goes there: {error.strerror}"
            ) from None
        self._reader = TraceReader(trace)
        if plan.members:
            try:
                plan_of_members(plan.members).write_bytes(msgspec.json.encode(of_members(plan)))
            except OSError:  # what the program starts is counted, and said not to be watched
                plan = msgspec.structs.replace(plan, members="")
        self._others = Traces(Path(plan.members)) if plan.members else None
        self._handover.give(msgspec.json.encode(plan))

    def _wait(
        self,
        seconds: float | None,
        on_event: Callable[[Event], None] | None,
        impatient: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Whether the child ended within so many seconds, and before anybody lost patience."""
        now = time.monotonic()
        until = now + seconds if seconds else float("inf")
        while self._process.poll() is None:
            before, now = now, time.monotonic()
            if is_waiting(self._scratch):
                until += now - before
            if now > until or impatient():
                return False
            if self._screen:
                self._screen.pump(_LOOK_EVERY)
            else:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_LOOK_EVERY)
            self._take(self._reader.new_events(), on_event)
            for event in self._others.new_events() if self._others else ():
                if on_event:
                    on_event(event)
        return True

    def _take(self, events: Iterable[Event], on_event: Callable[[Event], None] | None) -> None:
        for event in events:
            self._events.append(event)
            if on_event:
                on_event(event)

    def _end_hung(self, on_event: Callable[[Event], None] | None) -> None:
        """Ask for the stacks first: the child's `faulthandler` writes them."""
        system.ask_for_stacks(self._process.pid)
        for process in self._others.processes() if self._others else ():
            if self._mark in marks_of(process):
                system.ask_for_stacks(process)
        self._wait(_GRACE, on_event)
        self._signal_all(signal.SIGTERM)
        self._wait(_GRACE, on_event)

    def _end_interrupted(self, heard: Interrupts, on_event: Callable[[Event], None] | None) -> None:
        """As a terminal would, to the whole group; a second Ctrl-C ends the patience."""

        def impatient() -> bool:
            return heard.count > 1

        self._signal_all(signal.SIGINT)
        if not self._wait(_INTERRUPT_GRACE, on_event, impatient) and not impatient():
            self._signal_all(signal.SIGTERM)
            self._wait(_GRACE, on_event, impatient)

    def _signal_all(self, number: int) -> None:
        system.signal_all(self._process.pid, number)

    def _kill_if_alive(self) -> None:
        if self._process.poll() is None:
            self._signal_all(system.KILL)
            self._process.wait()

    def _outcome(self, plan: Plan, trace: Trace, timed_out: bool, lingered: bool, interrupted: bool) -> Outcome:
        status = self._process.returncode
        hung = timed_out or (trace.end is not None and trace.end.reason == "hung")
        return Outcome(
            exit_code=status if status >= 0 else None,
            signal=-status if status < 0 else None,
            timed_out=timed_out,
            lingered=lingered,
            interrupted=interrupted,
            stacks=_program_stacks(Path(plan.scratch, STACKS)) if hung else "",
            seconds=time.monotonic() - self._began,
        )


def of_members(plan: Plan) -> Plan:
    """The plan of what the program starts. No process cuts passes by its own clock, and none is run again."""
    return msgspec.structs.replace(
        plan,
        is_member=True,
        batches_per_epoch=0,
        runs_again=False,
        stdout_to_stderr=False,
        seed=None,
        assumes=False,
        **dict.fromkeys(("call", "model", "function", "assumed", "full_from")),
    )


def _with_stacks(member: Member) -> Member:
    """Of one that hung, the stacks are part of how it ended."""
    end = member.trace.end
    hung = member.outcome.timed_out or (end is not None and end.reason == "hung")
    return member._replace(outcome=msgspec.structs.replace(member.outcome, stacks=member.stacks)) if hung else member


def _program_stacks(file: Path) -> str:
    """The stacks that `faulthandler` wrote, as `_shown` has them."""
    return _shown(file.read_text(errors="replace")) if file.is_file() else ""


def _shown(stacks: str) -> str:
    """Innermost frame first, without threads and frames of our own."""
    threads = stacks.strip().split("\n\n")
    return "\n\n".join(filter(None, map(_without_ours, threads)))


def _without_ours(thread: str) -> str:
    """One thread down to where the program was called, imports by their modules; nothing of the one that is ours."""
    lines = thread.splitlines()
    if any(_OWN_THREADS.match(line) for line in lines):
        return ""
    runner = next((number for number, line in enumerate(lines) if f'"{_PACKAGE}/runner/' in line), None)
    shown = [line for line in lines[:runner] if "<frozen importlib" not in line and f'"{_PACKAGE}' not in line]
    return "\n".join(shown)
