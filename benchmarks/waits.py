"""How often the doctor has a program wait for its accelerator, per training step, as the stand-in of the tests counts.

    python benchmarks/waits.py [--steps 120] [--only gan] [--where light]

Each program trains on the stand-in with and without every instrument, from the same random numbers: what it waits for
by itself is taken off. Steps are told apart by how closely they were watched: "closely" are the first four of a phase
and a few later ones, in which values are read; "recorded" the others that are recorded operation by operation; "light"
all others, those included that are only glanced at. Of each kind the median is printed, and the most in one step.
`--where` prints the lines of the doctor that waited in steps of a kind, those that waited most often first.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import torch
from overhead import checked_instruments
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from autograd_doctor.events.event import Event
from autograd_doctor.instruments.session import Session
from autograd_doctor.signals.attention import Attention
from tests.stand_in import device

Step = Callable[[], None]
ON_IT = "stand_in"
KINDS = ("closely", "recorded", "light")
_OURS = "autograd_doctor"


def _regression() -> tuple[nn.Module, Callable[[], tuple[torch.Tensor, torch.Tensor]]]:
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).to(ON_IT)
    inputs = torch.randn(256, 8)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        rows = inputs[torch.randint(0, 256, (16,))].to(ON_IT)
        return rows, rows.sum(1, keepdim=True)

    return model, batch


def plain_loop() -> Step:
    model, batch = _regression()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> None:
        given, wanted = batch()
        loss = nn.functional.mse_loss(model(given), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def scaler() -> Step:
    """Half precision, with gradients that are clipped."""
    model, batch = _regression()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    scaling = torch.amp.GradScaler(ON_IT, init_scale=64.0)

    def step() -> None:
        given, wanted = batch()
        with torch.autocast(ON_IT, torch.float16):
            loss = nn.functional.mse_loss(model(given).float(), wanted)
        optimizer.zero_grad()
        scaling.scale(loss).backward()
        scaling.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaling.step(optimizer)
        scaling.update()

    return step


def gan() -> Step:
    generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2)).to(ON_IT)
    critic = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)).to(ON_IT)
    criterion = nn.BCEWithLogitsLoss()
    real, made_up = torch.ones(64, 1, device=ON_IT), torch.zeros(64, 1, device=ON_IT)
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-4)
    of_generator = torch.optim.Adam(generator.parameters(), lr=1e-4)

    def step() -> None:
        made = generator(torch.randn(64, 16, device=ON_IT))
        of_critic.zero_grad()
        (
            criterion(critic(torch.randn(64, 2, device=ON_IT)), real) + criterion(critic(made.detach()), made_up)
        ).backward()
        of_critic.step()
        of_generator.zero_grad()
        criterion(critic(made), real).backward()
        of_generator.step()

    return step


def micro_batches() -> Step:
    model, batch = _regression()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def step() -> None:
        optimizer.zero_grad()
        for _ in range(4):
            given, wanted = batch()
            (nn.functional.mse_loss(model(given), wanted) / 4).backward()
        optimizer.step()

    return step


def transformer() -> Step:
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
    model = nn.Sequential(nn.Embedding(32, 16), nn.TransformerEncoder(layer, 1), nn.Linear(16, 32)).to(ON_IT)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> None:
        tokens = torch.randint(0, 32, (4, 12)).to(ON_IT)
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def gradient_penalty() -> Step:
    """A critic whose slope is kept near 1, and a generator."""
    generator = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2)).to(ON_IT)
    critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)).to(ON_IT)
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-4)
    of_generator = torch.optim.Adam(generator.parameters(), lr=1e-4)

    def step() -> None:
        real, made = torch.randn(32, 2).to(ON_IT), generator(torch.randn(32, 8, device=ON_IT))
        between = torch.lerp(real, made.detach(), torch.rand(32, 1, device=ON_IT)).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = (slope.norm(2, dim=1) - 1).square().mean()
        of_critic.zero_grad()
        (critic(made.detach()).mean() - critic(real).mean() + 10 * penalty).backward()
        of_critic.step()
        of_generator.zero_grad()
        (-critic(made).mean()).backward()
        of_generator.step()

    return step


def actor_critic() -> Step:
    body = nn.Sequential(nn.Linear(4, 32), nn.Tanh()).to(ON_IT)
    actor, critic = nn.Linear(32, 3).to(ON_IT), nn.Linear(32, 1).to(ON_IT)
    optimizer = torch.optim.Adam([*body.parameters(), *actor.parameters(), *critic.parameters()], lr=1e-3)

    def step() -> None:
        hidden, rewards = body(torch.randn(32, 4).to(ON_IT)), torch.randn(32).to(ON_IT)
        policy = torch.distributions.Categorical(logits=actor(hidden), validate_args=False)
        advantage = rewards - critic(hidden).squeeze(1)
        loss = 0.5 * advantage.square().mean() - 0.01 * policy.entropy().mean()
        loss = loss - (policy.log_prob(policy.sample()) * advantage.detach()).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(body.parameters(), 1.0)
        optimizer.step()

    return step


def truncated_sequences() -> Step:
    """A state that goes on from step to step, without its graph."""
    cell, head = nn.GRUCell(4, 16).to(ON_IT), nn.Linear(16, 4).to(ON_IT)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-3)
    state = torch.zeros(8, 16, device=ON_IT)

    def step() -> None:
        nonlocal state
        signal = torch.randn(6, 8, 4).to(ON_IT)
        state, loss = state.detach(), torch.zeros((), device=ON_IT)
        for now, following in pairwise(signal):
            state = cell(now, state)
            loss = loss + nn.functional.mse_loss(head(state), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def variational_autoencoder() -> Step:
    encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)).to(ON_IT)
    decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16)).to(ON_IT)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)

    def step() -> None:
        given = torch.rand(32, 16).to(ON_IT)
        mean, spread = encoder(given).chunk(2, dim=1)
        drawn = mean + (0.5 * spread).exp() * torch.randn_like(mean)
        fit = nn.functional.binary_cross_entropy_with_logits(decoder(drawn), given, reduction="sum") / 32
        divergence = -0.5 * (1 + spread - mean.square() - spread.exp()).sum(1).mean()
        optimizer.zero_grad()
        (fit + divergence).backward()
        optimizer.step()

    return step


def nan_in_light_steps() -> Step:
    """Two of its steps compare a row with itself: the distance has no derivative there, and all is NaN from then on."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to(ON_IT)
    inputs = torch.randn(256, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1
        left = inputs[torch.randint(0, 256, (16,))].to(ON_IT)
        right = left if taken == 34 else inputs[torch.randint(0, 256, (16,))].to(ON_IT)
        loss = (model(left) - model(right)).square().sum(1).sqrt().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


PROGRAMS: tuple[Callable[[], Step], ...] = (
    plain_loop,
    scaler,
    gan,
    gradient_penalty,
    actor_critic,
    truncated_sequences,
    variational_autoencoder,
    micro_batches,
    transformer,
    nan_in_light_steps,
)


class Wait(NamedTuple):
    """kind: of the step, one of `KINDS`. where: the innermost line of the doctor."""

    kind: str
    where: str


class Counted(NamedTuple):
    """waits: of the doctor's own, by the kind of step. places: the same, one by one."""

    waits: dict[str, list[int]]
    places: Counter[Wait]


def counted(make: Callable[[], Step], steps: int) -> Counted:
    """What the doctor waits for in the first steps of a program."""
    by_itself = [len(stacks) for stacks, _ in _run(make, steps, None)]
    session = Session(_forget)
    session.attach(checked_instruments())
    try:
        found = list(_run(make, steps, session))
    finally:
        session.close()
    waits: dict[str, list[int]] = {kind: [] for kind in KINDS}
    places: Counter[Wait] = Counter()
    for (stacks, kind), own in zip(found, by_itself, strict=True):
        waits[kind].append(len(stacks) - own)
        places.update(Wait(kind, where) for where in map(_place_of, stacks) if where)
    return Counted(waits, places)


def _forget(event: Event) -> None:
    """Events are counted by nobody here."""


def _run(make: Callable[[], Step], steps: int, session: Session | None) -> Iterator[tuple[list[Sequence[str]], str]]:
    """Of each step the stacks of its waits, and how closely it was watched."""
    torch.manual_seed(0)
    step = make()
    guard = session.signals.guard if session is not None else None
    closest = Attention.GLANCE

    def turned() -> None:
        nonlocal closest
        closest = max(closest, guard.attention if guard is not None else Attention.GLANCE)

    if guard is not None:
        guard.attention_turned.append(turned)
    for _ in range(steps):
        closest = guard.attention if guard is not None else Attention.GLANCE
        with device.recorded() as waited:
            step()
        yield [stack for _, _, stack in waited], _kind(closest)


def _kind(attention: Attention) -> str:
    return {Attention.CLOSE: "closely", Attention.FULL: "recorded"}.get(attention, "light")


def _place_of(stack: Sequence[str]) -> str:
    """The innermost line of an instrument, with that of the reader through which it waits."""
    ours = [line.rpartition(f"/{_OURS}/")[2] for line in stack if f"/{_OURS}/" in line]
    instrument = next((line for line in ours if line.startswith("instruments/")), "")
    return f"{instrument} <- {ours[0]}" if instrument and ours[0] != instrument else instrument


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--only", default="", help="a part of the name of a program")
    parser.add_argument("--where", choices=KINDS, help="print the lines that waited in steps of this kind")
    parser.add_argument("--json", action="store_true", help="print the waits of all steps")
    options = parser.parse_args()
    if options.json:
        print(json.dumps({make.__name__: counted(make, options.steps).waits for make in PROGRAMS}))
        return
    print(f"torch {torch.__version__}, {options.steps} steps: waits of the doctor's own in a step, median (most)")
    print(f"{'':24}" + "".join(f"{kind:>14}" for kind in KINDS))
    for make in PROGRAMS:
        name = make.__name__.replace("_", " ")
        if options.only not in name:
            continue
        found = counted(make, options.steps)
        print(f"{name:24}" + "".join(f"{_summary(found.waits[kind]):>14}" for kind in KINDS))
        for wait, times in found.places.most_common() if options.where else ():
            if wait.kind == options.where:
                print(f"{times:8} {wait.where}")


def _summary(waits: list[int]) -> str:
    return f"{statistics.median(waits):g} ({max(waits)})" if waits else "-"


if __name__ == "__main__":
    main()
