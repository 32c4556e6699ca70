"""What a check costs per training step, next to `torch.autograd.detect_anomaly`, in one paired run.

    python benchmarks/overhead.py [--rounds 15] [--steps 10]

Each round times a block of plain steps, one under anomaly mode and one under every probe of the doctor, one after the
other, so that a machine whose speed drifts drifts for all three. What is printed are medians over the rounds of the
ratios within a round.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple

import torch
from autograd_doctor.probes import providers
from autograd_doctor.watching.watch import Watch
from torch import nn

from autograd_doctor.events import Event
from autograd_doctor.runner.run import installed

Batch = tuple[torch.Tensor, torch.Tensor]


class Workload(NamedTuple):
    """A model, and a function that makes one batch of inputs and class indices."""

    model: nn.Module
    batch: Callable[[], Batch]


def tiny_mlp() -> Workload:
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return Workload(model, lambda: (torch.randn(64, 32), torch.randint(0, 10, (64,))))


def cnn() -> Workload:
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    return Workload(model, lambda: (torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))))


def small_gpt() -> Workload:
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.1, batch_first=True, norm_first=True)
    model = nn.Sequential(
        nn.Embedding(256, 128),
        nn.TransformerEncoder(layer, 4, enable_nested_tensor=False),
        nn.Linear(128, 256),
        nn.Flatten(0, 1),
    )
    return Workload(model, lambda: (torch.randint(0, 256, (8, 64)), torch.randint(0, 256, (8 * 64,))))


def train(workload: Workload, optimizer: torch.optim.Optimizer, steps: int) -> float:
    """Seconds for `steps` training steps."""
    began = time.perf_counter()
    for _ in range(steps):
        inputs, targets = workload.batch()
        loss = nn.functional.cross_entropy(workload.model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return time.perf_counter() - began


@contextmanager
def under_the_doctor() -> Iterator[None]:
    """Every probe, as in a check of all rules; the events are made and thrown away."""

    def forget(event: Event) -> None:
        del event

    with installed(Watch(forget), providers()):
        yield


def ratios(workload: Workload, rounds: int, steps: int) -> tuple[float, dict[str, float]]:
    """Median seconds of a plain step, and the median ratio of each way of running to it."""
    optimizer = torch.optim.AdamW(workload.model.parameters(), lr=1e-4)
    ways: dict[str, Callable[[], AbstractContextManager[object]]] = {
        "plain": nullcontext,
        "anomaly mode": torch.autograd.detect_anomaly,
        "doctor": under_the_doctor,
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for round_number in range(rounds + 1):
        for name, way in ways.items():
            with way():
                seconds = train(workload, optimizer, steps)
            if round_number:
                times[name].append(seconds / steps)
    plain = times.pop("plain")
    return statistics.median(plain), {
        name: statistics.median(mine / reference for mine, reference in zip(measured, plain, strict=True))
        for name, measured in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="Anomaly Detection")
    torch.manual_seed(0)
    length = f"{options.rounds} rounds of {options.steps} steps"
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {length}")
    print(f"{'':12}{'plain step':>12}{'anomaly mode':>14}{'doctor':>10}")
    for workload in (tiny_mlp, cnn, small_gpt):
        seconds, ratio = ratios(workload(), options.rounds, options.steps)
        name = workload.__name__.replace("_", " ")
        print(f"{name:12}{seconds * 1e3:9.2f} ms{ratio['anomaly mode']:13.2f}x{ratio['doctor']:9.2f}x")


if __name__ == "__main__":
    main()
