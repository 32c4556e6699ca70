"""Ways to compute the same, timed in turn: what else the machine does meanwhile slows them alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from autograd_doctor.clock import CLOCK
from autograd_doctor.reading.torch_versions import wait_for_accelerator


class Rounds(NamedTuple):
    """Timed runs of each way: at least, and at most."""

    least: int
    most: int


def seconds_in_turn(
    ways: Sequence[Callable[[], object]], rounds: Rounds, *, one: float, budget: float
) -> list[list[float]]:
    """The seconds of each run of each way, until an accelerator has done its part.

    one: seconds that a round takes, roughly. budget: what all may take.
    """
    count = max(rounds.least, min(rounds.most, int(budget / max(one, 1e-6))))
    taken = [[_timed(way) for way in ways] for _ in range(count)]
    return [list(runs) for runs in zip(*taken, strict=True)]


def _timed(way: Callable[[], object]) -> float:
    wait_for_accelerator()
    began = CLOCK.perf_counter()
    way()
    wait_for_accelerator()
    return CLOCK.perf_counter() - began
