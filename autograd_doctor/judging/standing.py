"""How a process ended, or where it stood when it hung or others did: in one line, and for rules that compare ranks."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

from autograd_doctor.events.run import RunStarted
from autograd_doctor.findings import Location
from autograd_doctor.members import Member, death, ended_well_at
from autograd_doctor.trace import Standing
from autograd_doctor.views.crash import died_of
from autograd_doctor.wording import plural

_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>.+)$', re.MULTILINE)
_WAITS_IN = ("/torch/distributed/", "/torch/autograd/graph.py")
"""Where torch calls collectives, its own during a backward among them."""
_CALLED = {"_engine_run_backward": "backward"}
"""What the program calls, where torch has another name for what it does then."""


class Stood(NamedTuple):
    """In words, empty if it is not known; and whether it was the program's own line, and not a library's."""

    said: str
    own: bool = False


class _Frame(NamedTuple):
    file: str
    line: int
    function: str


def in_words(member: Member) -> Stood:
    """The line of the program, the function of a library that it was in, and how many steps it had taken."""
    frames = _frames(member)
    if not frames:
        return Stood("")
    cwd = next((started.cwd for started in member.trace.of(RunStarted)), "/")
    at, inner = _own(frames), frames[0]
    function = _CALLED.get(inner.function, inner.function)
    steps = plural(member.trace.steps_taken, "step")
    if at is None:
        return Stood(f"in `{function}` ({inner.file}:{inner.line}) after {steps}")
    own = frames[at]
    path = PurePath(own.file)
    where = f"at {path.relative_to(cwd) if path.is_relative_to(cwd) else path}:{own.line}"
    return Stood(f"{where}{f' in `{function}`' if at else ''} after {steps}", not at)


def standing(member: Member) -> Standing:
    """The same for rules that compare ranks, also of one that had ended."""
    step = member.trace.steps_taken
    if ended_well_at(member) is not None:
        return Standing(step=step, how="ended")
    died, lost = death(member), died_of(member.trace, "lost_peer")
    if died is not None and lost is not None:
        return Standing(step=step, how="lost", location=lost.location)
    if died is not None and member.outcome.signal == signal.SIGABRT:
        return Standing(step=step, how="aborted")
    frames = _frames(member)
    at = _own(frames)
    if died is not None or at is None:
        return Standing(step=step, how="broke off")
    waits = any(part in frame.file for frame in frames[:at] for part in _WAITS_IN)
    return Standing(step=step, how="waits" if waits else "works", location=_location(frames[at]))


def _frames(member: Member) -> list[_Frame]:
    """Of the main thread, which is the last that is shown, from the innermost one on."""
    found = _FRAME.findall(member.stacks.rpartition("\n\n")[2])
    return [_Frame(file, int(line), function) for file, line, function in found]


def _own(frames: Sequence[_Frame]) -> int | None:
    """The place of the program's innermost frame among them."""
    return next((at for at, frame in enumerate(frames) if not _is_library(frame.file)), None)


def _location(frame: _Frame) -> Location:
    return Location(path=frame.file, line=frame.line, function=frame.function)


def _is_library(file: str) -> bool:
    return "/site-packages/" in file or "/dist-packages/" in file or file.startswith(os.path.dirname(os.__file__))
