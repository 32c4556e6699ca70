"""What `autograd_doctor.monitor` costs, on training steps of about 0.3, 5 and 50 ms.

    python benchmarks/monitor.py [--seconds 60] [--budget 0.01] [--only 5]

A run is timed step by step while it is monitored, and so are steps without the monitor before and after it, by the
time of the processor, on one thread: what else runs on the machine matters less so. "pulse" is
what a step takes more in which only the pulse of the run is taken: the difference of medians. "chapters" is what all
other steps took more than a plain one, and the work between them. Both are given as parts of the time that the same
steps take plainly. "told" is what the monitor itself says that it spent.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

import autograd_doctor

Step = Callable[[], None]


class Workload(NamedTuple):
    """width, layers, batch: of a transformer of 16 tokens; no layers: an MLP of three."""

    name: str
    width: int
    layers: int
    batch: int


WORKLOADS = (Workload("0.3", 32, 0, 64), Workload("5", 64, 2, 24), Workload("50", 128, 4, 32))


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


def timed(step: Step, seconds: float) -> list[float]:
    """What each step took for so long."""
    took, until = [], time.perf_counter() + seconds
    while time.perf_counter() < until:
        began = time.process_time()
        step()
        took.append(time.process_time() - began)
    return took


def measure(work: Workload, seconds: float, budget: float) -> str:
    """A line on one workload."""
    step = training(work)
    timed(step, 1.0)
    plain = timed(step, 3.0)
    with tempfile.TemporaryDirectory() as folder:
        monitor = autograd_doctor.monitor(Path(folder, "run.trace"), budget=budget)
        took, is_pulse = [], []
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            began = time.process_time()
            step()
            took.append(time.process_time() - began)
            is_pulse.append(monitor.is_resting)
        monitor.close()
        chapters, told = monitor.chapters, monitor.spent
    plain += timed(step, 3.0)
    alone = statistics.median(plain)
    pulses = [each for each, rests in zip(took, is_pulse, strict=True) if rests]
    looked = [each for each, rests in zip(took, is_pulse, strict=True) if not rests]
    in_all = alone * len(took)
    pulse = (statistics.median(pulses) - alone) * len(took)
    more = sum(each - alone for each in looked) - (statistics.median(pulses) - alone) * len(looked)
    return (
        f"{work.name:>4} ms: a plain step {1e3 * alone:6.2f} ms, {len(took):6} steps, {chapters} chapters; "
        f"pulse {pulse / in_all:6.2%} ({1e6 * pulse / len(took):.0f} us), chapters {more / in_all:6.2%}, "
        f"together {(pulse + more) / in_all:6.2%}, told {told / sum(took):6.2%}"
    )


def main() -> None:
    """Print a line for each workload."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--budget", type=float, default=0.01)
    parser.add_argument("--only", default="", help="the name of one workload: 0.3, 5 or 50")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for work in WORKLOADS:
        if given.only in ("", work.name):
            print(measure(work, given.seconds, given.budget), flush=True)


if __name__ == "__main__":
    main()
