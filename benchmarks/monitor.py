"""What `autograd_doctor.monitor` costs, on training steps of about 0.3, 5 and 50 ms.

    python benchmarks/monitor.py [--seconds 60] [--processes 4] [--budget 0.01] [--only 5]

Three processes train the same model side by side, on one thread and one core: one alone, one that is monitored, and
one more alone, which shows how far two that are alike differ. They take turns, a quarter of a second each, so that what
else runs on the machine meets all of them. A step is timed by the processor; of each turn the median counts, and of all
turns the median of what a turn took more than the one of the first process before it. This is done with
several such threes, since processes of the same program differ, too, by where things lie in memory.

"pulse" is what steps take more in which only the pulse of the run is taken, "chance" the same for the third process,
"chapters" is what all other steps took more than a plain one, and the work between them: in the first minute more than
in the long run. All are given as parts of the time that the same steps take plainly, with the least and the most of the
threes. "told" is what the monitor itself says that it spent.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

import autograd_doctor

Step = Callable[[], None]
TURN = 0.25
"""Seconds of a turn: several steps of the longest, and short beside what changes on a machine."""
LEAST = 4
"""Steps of a turn, also where the machine does so much else that they take longer."""
WARM = 1.0


class Workload(NamedTuple):
    """width, layers, batch: of a transformer of 16 tokens; no layers: an MLP of three."""

    name: str
    width: int
    layers: int
    batch: int


WORKLOADS = (Workload("0.3", 32, 0, 64), Workload("5", 64, 2, 24), Workload("50", 128, 4, 48))


class Turn(NamedTuple):
    """Seconds of the processor for each step, and whether only the pulse was taken in it. told: what the monitor says
    that it has spent so far; chapters: how many there were."""

    took: list[float]
    rests: list[bool]
    told: float = 0.0
    chapters: int = 0


class Cost(NamedTuple):
    """Of one three of processes, as parts of the time of plain steps; plain: seconds of one of them."""

    plain: float
    pulse: float
    chance: float
    chapters: float
    told: float
    steps: int
    count: int


def training(work: Workload) -> Step:
    """One step of classification with AdamW."""
    torch.manual_seed(0)
    if work.layers:
        layer = nn.TransformerEncoderLayer(work.width, 4, 2 * work.width, batch_first=True)
        body = nn.TransformerEncoder(layer, work.layers)
        model = nn.Sequential(body, nn.Flatten(), nn.Linear(16 * work.width, 10))
        shape = (work.batch, 16, work.width)
    else:
        model = nn.Sequential(nn.Linear(work.width, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        shape = (work.batch, work.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    inputs, targets = torch.randn(16, *shape), torch.randint(0, 10, (16, work.batch))
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1
        loss = nn.functional.cross_entropy(model(inputs[taken % 16]), targets[taken % 16])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def timed(step: Step, seconds: float, monitor: autograd_doctor.Monitor | None = None) -> Turn:
    """What each step took for so long."""
    took, rests, until = [], [], time.perf_counter() + seconds
    while time.perf_counter() < until or len(took) < LEAST:
        began = time.process_time()
        step()
        took.append(time.process_time() - began)
        rests.append(monitor is None or monitor.is_resting)
    return Turn(took, rests)


def trains(work: Workload, budget: float, talk: Connection) -> None:
    """In a process of its own: one turn for each word. budget: none for who trains alone."""
    torch.set_num_threads(1)
    step = training(work)
    timed(step, WARM)
    with tempfile.TemporaryDirectory() as folder:
        monitor = autograd_doctor.monitor(Path(folder, "run.trace"), budget=budget) if budget else None
        talk.send(None)
        while talk.recv():
            turn = timed(step, TURN, monitor)
            if monitor is not None:
                turn = turn._replace(told=monitor.spent, chapters=monitor.chapters)
            talk.send(turn)
        if monitor is not None:
            monitor.close()


@contextmanager
def process(work: Workload, budget: float = 0.0) -> Iterator[Connection]:
    """One that trains when it is told to; it has all that it needs when this returns."""
    context = get_context("spawn")
    mine, its = context.Pipe()
    child = context.Process(target=trains, args=(work, budget, its))
    child.start()
    try:
        mine.recv()
        yield mine
        mine.send(False)
    finally:
        child.join(10.0)
        child.terminate()


def turns(talk: Connection) -> Turn:
    """Let it train for one turn."""
    talk.send(True)
    turn: Turn = talk.recv()
    return turn


def measure(work: Workload, seconds: float, budget: float) -> Cost:
    """Of one three of processes, each of which trains for so long."""
    with process(work) as alone, process(work, budget) as monitored, process(work) as again:
        until = time.perf_counter() + 3 * seconds
        rounds = []
        while time.perf_counter() < until:
            rounds.append((turns(alone), turns(monitored), turns(again)))
    plain = [statistics.median(first.took) for first, _, _ in rounds]
    resting = [
        (statistics.median(pulses), alone)
        for (_, turn, _), alone in zip(rounds, plain, strict=True)
        if len(pulses := [took for took, rests in zip(turn.took, turn.rests, strict=True) if rests]) >= 2
    ]
    last = rounds[-1][1]
    steps = sum(len(turn.took) for _, turn, _ in rounds)
    pulse = _more(resting)
    looked = sum(
        took - alone * (1 + pulse)
        for (_, turn, _), alone in zip(rounds, plain, strict=True)
        for took, rests in zip(turn.took, turn.rests, strict=True)
        if not rests
    )
    in_all = sum(alone * len(turn.took) for (_, turn, _), alone in zip(rounds, plain, strict=True))
    return Cost(
        plain=statistics.median(plain),
        pulse=pulse,
        chance=_more(
            [(statistics.median(third.took), first) for (_, _, third), first in zip(rounds, plain, strict=True)]
        ),
        chapters=looked / in_all,
        told=last.told / in_all,
        steps=steps,
        count=last.chapters,
    )


def _more(pairs: Sequence[tuple[float, float]]) -> float:
    """The part by which the first of a pair is larger."""
    return statistics.median(one / other - 1 for one, other in pairs)


def line(work: Workload, costs: Sequence[Cost]) -> str:
    """What a workload costs."""
    plain = statistics.median(cost.plain for cost in costs)
    pulse = statistics.median(cost.pulse for cost in costs)
    return (
        f"{work.name:>4} ms: a plain step {1e3 * plain:6.2f} ms; pulse {_range([cost.pulse for cost in costs])}, "
        f"{1e6 * pulse * plain:.0f} us; chance {_range([cost.chance for cost in costs])}; "
        f"chapters {_range([cost.chapters for cost in costs])}, told {_range([cost.told for cost in costs])}; "
        f"{statistics.median(cost.steps for cost in costs):.0f} steps, "
        f"{statistics.median(cost.count for cost in costs):.0f} chapters"
    )


def _range(parts: Sequence[float]) -> str:
    return f"{statistics.median(parts):.2%} ({min(parts):.2%} to {max(parts):.2%})"


def main() -> None:
    """Print a line for each workload."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60.0, help="that each process trains")
    parser.add_argument("--processes", type=int, default=4, help="how many times three processes")
    parser.add_argument("--budget", type=float, default=0.01)
    parser.add_argument("--only", default="", help="the name of one workload: 0.3, 5 or 50")
    given = parser.parse_args()
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    for work in WORKLOADS:
        if given.only in ("", work.name):
            costs = [measure(work, given.seconds, given.budget) for _ in range(given.processes)]
            print(line(work, costs), flush=True)


if __name__ == "__main__":
    main()
