"""AD418 coarse-phase: positions or times whose dtype is too coarse for the period that is taken of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autograd_doctor.events.numerics import PhaseTaken
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside

_TURN = 2 * math.pi


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    worst: dict[Location | None, PhaseTaken] = {}
    for event in trace.of(PhaseTaken):
        known = worst.get(_where(event))
        is_lost = event.error >= tunables["share"] * event.period
        if is_lost and (known is None or event.error / event.period > known.error / known.period):
            worst[_where(event)] = event
    yield from map(_finding, worst.values())


def _where(event: PhaseTaken) -> Location | None:
    return event.made_at or event.location


def _finding(event: PhaseTaken) -> Finding:
    period = (
        f"a turn is {event.period:.3g}" if event.period in (_TURN, _TURN / 2) else f"the period is {event.period:g}"
    )
    return RULE.finding(
        f"`{event.operation}` is taken of numbers up to {event.largest:,.0f} that {event.dtype} has rounded: they are "
        f"off by {event.error:.3g}, and {period}, so that where in a period they were is lost",
        subject=event.operation,
        location=_where(event),
        help="take the period off whole numbers, or in float64, and convert what is left; compute the angles of "
        "positions in float32, outside autocast, and convert their sines and cosines",
        evidence={
            "dtype": event.dtype,
            "largest": event.largest,
            "error": event.error,
            "period": event.period,
        },
        related=beside(_where(event), (f"`{event.operation}` is taken here", event.location)),
        step_first=event.step + 1,
    )


def bad() -> None:
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(50, 16)
            positions = torch.arange(512, dtype=torch.bfloat16)  # <- AD418
            angles = torch.outer(positions, 0.01 ** (torch.arange(8) / 8).bfloat16())
            self.register_buffer("places", torch.cat([angles.sin(), angles.cos()], 1).float())
            self.head = nn.Linear(16, 1)

        def forward(self, tokens: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
            return self.head(self.embed(tokens) + self.get_buffer("places")[where])  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        tokens, where = torch.randint(50, (32,)), torch.randint(512, (32,))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(tokens, where)[:, 0], where % 6 + tokens / 50)
        loss.backward()
        optimizer.step()


def bad_time_of_day() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    seconds = 1_700_000_000 + 15 * torch.arange(4000)
    seen = ((seconds % 180) < 60).float() + 0.1 * torch.randn(4000)
    phase = seconds.float() % 180 / 180  # <- AD418
    x = torch.stack([torch.sin(6.283 * phase), torch.cos(6.283 * phase)], 1)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        rows = torch.randint(4000, (64,))
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x[rows])[:, 0], seen[rows]).backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    seconds = 1_700_000_000 + 15 * torch.arange(4000)
    seen = ((seconds % 180) < 60).float() + 0.1 * torch.randn(4000)
    phase = (seconds % 180).float() / 180
    of_day = seconds.float() % 86_400 / 86_400  # 128 seconds of a day are little
    turns = 6.283 * torch.stack([phase, phase + 0.25, of_day, of_day + 0.25], 1)
    x = torch.sin(turns)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        rows = torch.randint(4000, (64,))
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x[rows])[:, 0], seen[rows]).backward()
        optimizer.step()


RULE = Rule(
    code="AD418",
    name="coarse-phase",
    severity="warning",
    title="positions or times are too coarse for the period that is taken of them",
    observes="Sines, cosines, tangents and remainders of floating-point data, before the first step and in steps that "
    "are looked at closely: by how much rounding to 16 bits, or from whole numbers, has moved eight of the data at "
    "least, computed once more in float64, next to the period.",
    why="Numbers in bfloat16 hold all whole ones up to 256, in float32 up to 16,777,216. Beyond, they are rounded by "
    "more than a period has room for, so that positions, times of day and steps of diffusion cannot be told apart: "
    "their sines are noise, and no error is raised.",
    fix="Take remainders of whole numbers, or in float64, and convert the result. Compute angles in float32 outside "
    "autocast, and convert sines and cosines.",
    fine="Numbers that are exact, however large, as multiples of a page are; periods that are long next to what is "
    "rounded, as a day is of seconds in float32; results that are only compared, as to find multiples; large numbers "
    "that were never others, as those of which a hash takes the sine; arguments that are learned.",
    needs=(PhaseTaken,),
    examine=examine,
    bad=(bad, bad_time_of_day),
    good=(good,),
    tunables={
        "share": Tunable(
            0.125,
            "the least share of a period that numbers are off by",
            "chosen: an eighth of a turn is half of the way from a sine to a cosine",
        ),
    },
    references=(
        "https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html",
        "https://arxiv.org/abs/2411.13476",
    ),
)
