"""Curves of losses, of each line at which backwards run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from autograd_doctor.events.numerics import LossesFollowed
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.findings import Location, Number
from autograd_doctor.trace import Trace

Course = list[tuple[int, float]]
"""The values of a loss, each with the number of steps before it."""

_FEW = 5


@dataclass(frozen=True)
class Curve:
    """The losses of one line, from first to last; `backwards` are those of its backwards that were recorded."""

    location: Location | None
    stretches: tuple[LossesFollowed, ...]
    backwards: tuple[BackwardRan, ...]

    @property
    def name(self) -> str:
        """What the program calls the loss; empty where that was not seen, or where this line sees several losses."""
        names = {ran.root.name for ran in self.backwards if ran.root.name}
        return names.pop() if len(names) == 1 else ""

    @property
    def opening(self) -> float | None:
        """The first loss that was finite."""
        return next((each.opening for each in self.stretches if each.opening is not None), None)

    @property
    def ends_non_finite(self) -> bool:
        """Whether the last losses were not finite, once one was."""
        last = self.stretches[-1]
        return (last.non_finite > 0 and last.last is not None) or last.last is None

    @property
    def closing(self) -> float | None:
        """The level at the end: what the last losses did not fall below, or the last one where these are few."""
        finite = [each for each in self.stretches if each.last is not None]
        if not finite:
            return None
        last = finite[-1]
        return last.last if self.ends_non_finite or len(finite) == 1 or last.backwards < _FEW else last.low

    @property
    def count(self) -> int:
        return sum(each.backwards for each in self.stretches)

    @property
    def course(self) -> Course:
        """Those that were recorded, and the last of each stretch."""
        recorded = [(each.step, each.loss) for each in self.backwards if each.loss is not None]
        followed = [(each.step, each.last) for each in self.stretches if each.last is not None]
        return [(step, loss) for step, loss in sorted({*recorded, *followed}) if math.isfinite(loss)]

    def told(self, most: int = 8) -> str:
        """Some points of it: "1.2, 35, 2.1e+04"."""
        points = [loss for _, loss in self.course]
        stride = max(1, -(-len(points) // most))
        return ", ".join(f"{point:.3g}" for point in [*points[:-1:stride], *points[-1:]])


def curves(trace: Trace) -> list[Curve]:
    by_line: dict[Location | None, list[LossesFollowed]] = {}
    for event in trace.of(LossesFollowed):
        by_line.setdefault(event.location, []).append(event)
    ran: dict[Location | None, list[BackwardRan]] = {}
    for backward in trace.of(BackwardRan):
        ran.setdefault(backward.location, []).append(backward)
    return [Curve(line, tuple(events), tuple(ran.get(line, ()))) for line, events in by_line.items()]


def is_contested(trace: Trace, runs: Sequence[BackwardRan], taught: set[int]) -> bool:
    """Whether something else than a loss has a say: a network held otherwise, or not at all, or another loss."""
    if is_shared(trace, taught) or any(not taught.issuperset(ran.values or ()) for ran in runs):
        return True
    others = (ran for ran in trace.of(BackwardRan) if ran not in runs and ran.kind == "backward")
    return any(not taught.isdisjoint(ran.reached) for ran in others)


def is_shared(trace: Trace, taught: set[int]) -> bool:
    """Whether some of what a loss teaches is held otherwise than the rest, or nothing is held."""
    held_apart = any(not taught <= held for held in trace.optimizer_parameters.values() if held & taught)
    return held_apart or not taught & trace.optimized


def steps_on_others(trace: Trace, runs: Sequence[BackwardRan], taught: set[int]) -> bool:
    """Whether a step moved what a loss teaches by gradients that came of another backward, or may have."""
    numbers = {ran.backward for ran in runs}
    uses = [use for step in trace.of(OptimizerStepped) for use in step.uses if not taught.isdisjoint(use.parameters)]
    return not uses or any(use.left_over or not numbers.issuperset(use.backwards) for use in uses)


def falls_on(course: Course, slowing: Number, minimum: Number) -> bool:
    """Whether a loss is below zero, lower at the end than ever at first, and hardly falls slower than it did.

    slowing: the share of its first slope that it still has. minimum: the fewest points that tell.
    """
    if len(course) < minimum:
        return False
    third = len(course) // 3
    parts = course[:third], course[third:-third], course[-third:]
    (first_at, first), (middle_at, middle), (last_at, last) = (
        (fmean(step for step, _ in part), fmean(loss for _, loss in part)) for part in parts
    )
    if not first_at < middle_at < last_at:  # several losses of one step
        return False
    early, late = (middle - first) / (middle_at - first_at), (last - middle) / (last_at - middle_at)
    lowest, highest = min(loss for _, loss in parts[0]), max(loss for _, loss in parts[2])
    return last < 0 and highest < lowest and early < 0 and late <= slowing * early
