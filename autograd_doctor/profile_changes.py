"""What has changed between two profiles of a program, and what of it is more than noise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from autograd_doctor.profiling import Measured, Memory, ModuleCost, Part, Profile, alike

_BETWEEN_RUNS = 0.05
"""A share by which a median differs from one run to the next: 2 to 4 % were measured of one program on one machine,
more than within a run."""
_NEGLIGIBLE = 0.005
"""A share of an iteration that nobody would miss."""
_EXACT = 0.005
"""A share by which bytes differ from one run to the next, as where batches end otherwise."""
WHOLE, MEMORY = "an iteration", "memory"
"""What a gate looks at."""


class Change(Struct, frozen=True):
    """Of the time of something, in seconds, or of the memory that it takes, in bytes.

    beyond_noise: the intervals in which the medians lie have no point in common, and these differ by more than runs of
    one program do; of bytes, they differ. None in `before` or `after`: it was not there.
    """

    what: str
    kind: Literal["time", "memory"]
    before: float | None
    after: float | None
    beyond_noise: bool

    @property
    def ratio(self) -> float | None:
        """How many times as much it is now."""
        return self.after / self.before if self.before and self.after is not None else None

    @property
    def grew(self) -> bool:
        return (self.after or 0.0) > (self.before or 0.0)


def changes(before: Profile, after: Profile) -> Iterator[Change]:
    """Of an iteration, its parts, its modules and its memory, in this order."""
    least = _NEGLIGIBLE * before.seconds.median
    yield _of_time(WHOLE, before.seconds, after.seconds, least)
    yield from _of_parts(before.parts, after.parts, least)
    yield from _of_modules(before.modules, after.modules, least)
    if before.memory is not None and after.memory is not None:
        yield from _of_memory(before.memory, after.memory)


def _of_time(what: str, before: Measured | None, after: Measured | None, least: float) -> Change:
    """least: seconds that matter."""
    if before is None or after is None:
        there = before or after
        seconds = there.median if there is not None else 0.0
        return Change(what, "time", seconds if before else None, seconds if after else None, seconds > least)
    apart = after.low > before.high or after.high < before.low
    much = abs(after.median - before.median) > max(least, _BETWEEN_RUNS * before.median)
    return Change(what, "time", before.median, after.median, apart and much)


def _of_parts(before: list[Part], after: list[Part], least: float) -> Iterator[Change]:
    old, new = ({part.activity: part.seconds for part in parts} for parts in (before, after))
    for name in dict.fromkeys([*old, *new]):
        yield _of_time(name, old.get(name), new.get(name), least)


def _of_modules(before: list[ModuleCost], after: list[ModuleCost], least: float) -> Iterator[Change]:
    """By what they take themselves."""
    old, new = ({same.name: same.own for same in alike(modules)} for modules in (before, after))
    for name in dict.fromkeys([*old, *new]):
        yield _of_time(f"forward of `{name}`", old.get(name), new.get(name), least)


def _of_memory(before: Memory, after: Memory) -> Iterator[Change]:
    told = {
        MEMORY: (before.together, after.together),
        "parameters": (before.parameters, after.parameters),
        "buffers": (before.buffers, after.buffers),
        "gradients": (before.gradients, after.gradients),
        "optimizer state": (before.optimizer, after.optimizer),
        "saved for backward": (before.activations, after.activations),
    }
    for name, (old, new) in told.items():
        if old or new:
            yield Change(name, "memory", float(old), float(new), abs(new - old) > _EXACT * max(old, new))
