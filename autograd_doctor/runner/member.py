"""A process that the program has started, watched from the moment at which it has torch.

It records into a trace of its own, which counts if the process trains. It keeps the way in which it was started, its
exit code and what it prints: only where the check has seen enough it ends early, and well.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from autograd_doctor.clock import CLOCK
from autograd_doctor.plan import Plan, Target
from autograd_doctor.ranks import this_rank
from autograd_doctor.reading.arriving import on_import
from autograd_doctor.recording import make_room
from autograd_doctor.runner.children import watch_children
from autograd_doctor.runner.laid_over import lay
from autograd_doctor.runner.program import become_main, load


class Watch(Protocol):
    """What is around the program once torch is there (`run.MemberRun`, which cannot be imported before)."""

    def ended(self, error: BaseException | None) -> bool:
        """Its program has come to an end; returns whether that is because it was stopped."""


class Member:
    """This process, as one of several under a check.

    forked: it has what its parent has patched; otherwise trackers and compilers are to be switched off here as well.
    """

    def __init__(self, plan: str, target: Target | None = None, *, forked: bool = False, is_main: bool = False) -> None:
        self._file = plan
        self._target = target
        self._forked = forked
        self._is_main = is_main
        self._run: Watch | None = None
        watch_children(plan)
        if "torch" in sys.modules:
            self._begin()
        else:
            on_import({"torch": lambda torch: self._begin()})

    def run(self, program: Callable[[], None]) -> None:
        """Run what the process is there for; what it raises passes through, unless it was stopped."""
        try:
            program()
        except BaseException as error:
            if self._run is None or not self._run.ended(error):
                raise
        else:
            if self._run is not None:
                self._run.ended(None)

    def _begin(self) -> None:
        """Nothing of the program's depends on whether this succeeds."""
        try:
            from autograd_doctor.runner.run import MemberRun

            run = MemberRun(self._plan(), forked=self._forked, is_main=self._is_main)
            run.begin()
            self._run = run
        except Exception as error:
            print(f"autograd_doctor: process {os.getpid()} is not watched: {error!r}", file=sys.__stderr__)

    def _plan(self) -> Plan:
        plan = read(self._file)
        trace = os.path.join(plan.members, f"{os.getpid()}.{CLOCK.time_ns():x}.trace")
        make_room(Path(trace))
        ranks = msgspec.structs.replace(this_rank(os.environ), folder=plan.ranks.folder, began=plan.ranks.began)
        return msgspec.structs.replace(plan, trace=trace, ranks=ranks, target=self._target or plan.target)


def read(plan: str) -> Plan:
    """The plan of those that the program starts."""
    return msgspec.json.decode(Path(plan).read_bytes(), type=Plan)


def lay_as_planned(plan: str) -> None:
    """In a process that `multiprocessing` starts anew: it reads the same sources."""
    lay(read(plan).overlay)


def main() -> int:
    """Run a script or module in this process, which was started as a command: the plan, the kind, the name, and the
    arguments of the program are those of this one."""
    file, kind, name, *arguments = sys.argv[1:]
    target = Target("module" if kind == "module" else "script", name, arguments)
    plan = read(file)
    if plan.polite:
        from autograd_doctor.runner.spawned import watch_spawned, witness_here

        witness_here(plan.scratch, plan.trace, plan.members)
        watch_spawned(Path(plan.scratch), Path(plan.trace), Path(plan.members))
    lay(plan.overlay, file)
    member = Member(file, target, is_main=True)
    try:
        member.run(lambda: _run_main(target))
    except SystemExit:
        raise
    except BaseException as error:
        return _told(error)
    return 0


def _run_main(target: Target) -> None:
    program = load(target)
    become_main(program)
    program.execute()


def _told(error: BaseException) -> int:
    """Say as Python would what the program died of, without our frames."""
    from autograd_doctor.reading.places import is_ours

    trace = error.__traceback__
    while trace is not None and is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    error.__traceback__ = trace
    if "torch" in sys.modules:
        from autograd_doctor.runner import crash

        crash.peel(error)
    sys.excepthook(type(error), error, error.__traceback__)
    return 130 if isinstance(error, KeyboardInterrupt) else 1
