"""Where a process stood when it hung, or when others did, in one line."""

from __future__ import annotations

import os
import re
from pathlib import PurePath
from typing import NamedTuple

from autograd_doctor.events.run import RunStarted
from autograd_doctor.members import Member
from autograd_doctor.wording import plural

_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>.+)$', re.MULTILINE)


class Standing(NamedTuple):
    """In words, empty if it is not known; and whether it was the program's own line, and not a library's."""

    said: str
    own: bool = False


def standing(member: Member) -> Standing:
    """The line of the program, the function of a library that it was in, and how many steps it had taken."""
    frames = _FRAME.findall(member.stacks.rpartition("\n\n")[2])
    if not frames:
        return Standing("")
    cwd = next((started.cwd for started in member.trace.of(RunStarted)), "/")
    own = next(((file, line) for file, line, _ in frames if not _is_library(file)), None)
    inner = frames[0]
    steps = plural(member.trace.steps_by_optimizer.total(), "step")
    if own is None:
        return Standing(f"in `{inner[2]}` ({inner[0]}:{inner[1]}) after {steps}")
    path = PurePath(own[0])
    where = f"at {path.relative_to(cwd) if path.is_relative_to(cwd) else path}:{own[1]}"
    is_own = (inner[0], inner[1]) == own
    return Standing(f"{where}{'' if is_own else f' in `{inner[2]}`'} after {steps}", is_own)


def _is_library(file: str) -> bool:
    return "/site-packages/" in file or "/dist-packages/" in file or file.startswith(os.path.dirname(os.__file__))
