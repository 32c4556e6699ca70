"""What a check costs per training step, next to `torch.autograd.detect_anomaly`, in one paired run.

    python benchmarks/overhead.py [--rounds 15] [--steps 18] [--only "tiny mlp"] [--ranks 2]

Each round times a block of plain steps, one under anomaly mode, and three under the doctor, one after the other, so
that a machine whose speed drifts drifts for all. "Closely" are the first four steps of a phase, in which values are
read; "recorded" are the other steps that are recorded in full, up to the tenth and one in a dozen later; "light" are
all others. What is printed are medians over the rounds of the ratios within a round. With several ranks, the tiny MLP
is trained by `DistributedDataParallel`, and the ratios are those of rank 0.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from functools import partial
from typing import NamedTuple
from unittest.mock import patch

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument
from autograd_doctor.instruments.session import Session, needed_for
from autograd_doctor.instruments.spine import detail
from autograd_doctor.rules import all_rules
from autograd_doctor.runner.run import ALWAYS

Step = Callable[[], None]


class Workload(NamedTuple):
    """What makes one training step with a new optimizer. `share`: how many of the steps asked for are timed."""

    make: Callable[[], Step]
    share: float = 1.0


def supervised(model: nn.Module, batch: Callable[[], tuple[torch.Tensor, torch.Tensor]]) -> Callable[[], Step]:
    """Classification with AdamW, on all ranks where there are several; `batch` makes inputs and class indices."""
    if distributed.is_initialized():
        model = DistributedDataParallel(model)

    def make() -> Step:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

        def step() -> None:
            inputs, targets = batch()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        return step

    return make


def tiny_mlp() -> Workload:
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return Workload(supervised(model, lambda: (torch.randn(64, 32), torch.randint(0, 10, (64,)))), 2.0)


def loader() -> Workload:
    """The same from a loader, in the first pass over its data, in which every sample is new."""
    data = TensorDataset(torch.randn(65_536, 32), torch.randint(0, 10, (65_536,)))
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))

    def make() -> Step:
        batches = iter(DataLoader(data, batch_size=64, shuffle=True))
        return supervised(model, lambda: next(batches))()

    return Workload(make, 2.0)


def gan() -> Workload:
    """Two small networks that are trained against one another, and a loss that is a module."""
    generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2))
    critic = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    loss, real, made_up = nn.BCEWithLogitsLoss(), torch.ones(64, 1), torch.zeros(64, 1)

    def make() -> Step:
        of_critic = torch.optim.Adam(critic.parameters(), lr=1e-4)
        of_generator = torch.optim.Adam(generator.parameters(), lr=1e-4)

        def step() -> None:
            made = generator(torch.randn(64, 16))
            of_critic.zero_grad()
            (loss(critic(torch.randn(64, 2)), real) + loss(critic(made.detach()), made_up)).backward()
            of_critic.step()
            of_generator.zero_grad()
            loss(critic(made), real).backward()
            of_generator.step()

        return step

    return Workload(make)


def cnn() -> Workload:
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    return Workload(supervised(model, lambda: (torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,)))))


class Reader(nn.Module):
    """An LSTM over characters."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 64)
        self.lstm = nn.LSTM(64, 128, num_layers=2, batch_first=True)
        self.head = nn.Linear(128, 64)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(self.embedding(tokens))
        return self.head(states).flatten(0, 1)  # type: ignore[no-any-return]


def lstm() -> Workload:
    return Workload(supervised(Reader(), lambda: (torch.randint(0, 64, (16, 48)), torch.randint(0, 64, (16 * 48,)))))


def gpt() -> Workload:
    """Six layers of width 384."""
    layer = nn.TransformerEncoderLayer(384, 6, 1536, dropout=0.1, batch_first=True, norm_first=True)
    model = nn.Sequential(
        nn.Embedding(256, 384),
        nn.TransformerEncoder(layer, 6, enable_nested_tensor=False),
        nn.Linear(384, 256),
        nn.Flatten(0, 1),
    )
    return Workload(supervised(model, lambda: (torch.randint(0, 256, (4, 64)), torch.randint(0, 256, (4 * 64,)))), 0.2)


def rollout() -> Workload:
    """REINFORCE on a pole that is balanced for 64 moves, one small operation after the other."""
    policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    drift = torch.eye(4) + 0.02 * torch.randn(4, 4)

    def make() -> Step:
        optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)

        def step() -> None:
            state, log_probabilities, rewards = torch.zeros(4), [], []
            for _ in range(64):
                choice = torch.distributions.Categorical(logits=policy(state))
                action = choice.sample()
                log_probabilities.append(choice.log_prob(action))
                state = (drift @ state + 0.1 * (2.0 * action - 1.0)).clamp(-3.0, 3.0)
                rewards.append(1.0 - float(state.abs().mean()))
            returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
            loss = -(torch.stack(log_probabilities) * (returns - returns.mean())).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        return step

    return Workload(make, 0.5)


WORKLOADS = (tiny_mlp, loader, gan, cnn, lstm, gpt, rollout)


_FOR_EVER = 10**9
_CLOSELY = {"CLOSE_STEPS": _FOR_EVER, "FIRST_STEPS": _FOR_EVER, "_ALWAYS_GRANTED": _FOR_EVER}
_RECORDED = {**_CLOSELY, "CLOSE_STEPS": 0}
_LIGHT = {"CLOSE_STEPS": 0, "FIRST_STEPS": 1, "SAMPLED_EVERY": _FOR_EVER, "GLANCED_AFTER": 0}


@contextmanager
def under_the_doctor(policy: Mapping[str, int]) -> Iterator[None]:
    """Every instrument, as in a check of all rules, with this many steps of each kind; the events are thrown away."""

    def forget(event: Event) -> None:
        del event

    session = Session(forget)
    with patch.multiple(detail, **policy):
        session.attach(checked_instruments())
        try:
            yield
        finally:
            session.close()


def checked_instruments() -> list[type[Instrument]]:
    """Those of a check of all rules: a profile has instruments of its own."""
    checked = [rule for rule in all_rules() if not rule.profiles]
    return [*ALWAYS, *needed_for(event.__name__ for rule in checked for event in rule.needs)]


SETTLING = 40
"""Steps after which nothing is new any more."""

WAYS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "plain": nullcontext,
    "anomaly mode": torch.autograd.detect_anomaly,
    "closely": partial(under_the_doctor, _CLOSELY),
    "recorded": partial(under_the_doctor, _RECORDED),
    "light": partial(under_the_doctor, _LIGHT),
}


def seconds_per_step(workload: Workload, way: Callable[[], AbstractContextManager[object]], steps: int) -> float:
    """Seconds of one of `steps` training steps, after those in which everything is new."""
    with way():
        step = workload.make()
        for _ in range(SETTLING):
            step()
        began = time.perf_counter()
        for _ in range(steps):
            step()
        return (time.perf_counter() - began) / steps


def ratios(workload: Workload, rounds: int, steps: int) -> tuple[float, dict[str, float]]:
    """Median seconds of a plain step, and the median ratio of each way of running to it."""
    timed = max(1, round(steps * workload.share))
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    for round_number in range(rounds + 1):
        for name, way in WAYS.items():
            seconds = seconds_per_step(workload, way, timed)
            if round_number:
                times[name].append(seconds)
    plain = times.pop("plain")
    return statistics.median(plain), {
        name: statistics.median(mine / reference for mine, reference in zip(measured, plain, strict=True))
        for name, measured in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=18)
    parser.add_argument("--only", default="", help="a part of the name of a workload")
    parser.add_argument("--ranks", type=int, default=1, help="processes that train the tiny MLP together")
    options = parser.parse_args()
    if options.ranks == 1:
        measure(WORKLOADS, options)
        return
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(measure_on_rank, (options, folder), nprocs=options.ranks)


def measure_on_rank(rank: int, options: argparse.Namespace, folder: str) -> None:
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=options.ranks)
    with open(os.devnull, "w") as nowhere, nullcontext() if rank == 0 else redirect_stdout(nowhere):
        measure((tiny_mlp,), options)
    distributed.destroy_process_group()


def measure(workloads: Sequence[Callable[[], Workload]], options: argparse.Namespace) -> None:
    """Print the ratios of each workload."""
    warnings.filterwarnings("ignore", message="Anomaly Detection")
    torch.manual_seed(0)
    gc.freeze()  # as a check does before the program begins
    length = f"{options.rounds} rounds of {options.steps} steps"
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {length}")
    names = list(WAYS)[1:]
    print(f"{'':12}{'plain step':>12}" + "".join(f"{name:>14}" for name in names))
    for make in workloads:
        name = make.__name__.replace("_", " ")
        if options.only in name:
            seconds, ratio = ratios(make(), options.rounds, options.steps)
            print(f"{name:12}{seconds * 1e3:9.2f} ms" + "".join(f"{ratio[way]:13.2f}x" for way in names))


if __name__ == "__main__":
    main()
