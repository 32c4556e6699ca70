"""How far a command has come, as it tells the server that runs it: lines among what the program prints."""

from __future__ import annotations

import msgspec

TELLS = "_AUTOGRAD_DOCTOR_PROGRESS"
"""In the environment of a command: the process to which it is to tell, and nothing else that this one starts."""
_MARK = "\x1eautograd_doctor "
"""The program may have left something on the line."""


class Told(msgspec.Struct, frozen=True):
    """steps: that were taken. wanted: at least so many are to be. said: where the run is, in words."""

    steps: int
    wanted: int
    said: str


def line_of(told: Told) -> str:
    """A line for standard error."""
    return f"{_MARK}{msgspec.json.encode(told).decode()}"


def told_in(line: str) -> tuple[str, Told | None]:
    """What else is on a line of standard error, and what it tells."""
    said, mark, told = line.partition(_MARK)
    if not mark:
        return line, None
    try:
        return said, msgspec.json.decode(told, type=Told)
    except msgspec.DecodeError:  # two processes have written at once
        return said, None


class Course:
    """What is reported of a command: a number that only grows, of how many, and words.

    The whole part is the steps of all its runs, the rest tells that time passes.
    """

    def __init__(self, began: float) -> None:
        self._told: Told | None = None
        self._before = 0
        self._began = self._since = began

    def add(self, told: Told, now: float) -> None:
        """Take note of what is told. A further run counts its steps anew."""
        steps = self._told.steps if self._told is not None else 0
        reported = self._before + steps
        if told.steps < steps:
            self._before += steps
        if self._before + told.steps != reported:
            self._since = now
        self._told = told

    def at(self, now: float) -> tuple[float, float | None, str]:
        """progress, total, and message: without a total where there is none, as beyond the steps that were wanted."""
        told, passed = self._told, now - self._since
        steps = told.steps if told is not None else 0
        is_bound = told is not None and steps < told.wanted and not self._before
        said = told.said if told is not None else f"running for {now - self._began:.0f} s"
        return self._before + steps + passed / (1 + passed), float(told.wanted) if is_bound and told else None, said
