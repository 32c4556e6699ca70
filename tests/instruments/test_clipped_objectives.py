"""Clipped objectives that a loss goes down with."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.events.losses import ObjectiveMinimised
from autograd_doctor.instruments.losses.clipped_objectives import ClippedObjectives
from tests.watching import watching

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def told(loss: Loss, *, maximize: bool = False, seed: float = 1.0) -> list[bool]:
    """What is stated, of the higher or the lower one, in two steps of a loss of a ratio and its weights."""
    layer = nn.Linear(3, 1)
    with watching(ClippedObjectives) as recorded:
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.01, maximize=maximize)
        for _ in range(2):
            loss(layer(torch.randn(8, 3)).squeeze(1).exp(), torch.randn(8)).backward(torch.tensor(seed))
            optimizer.step()
            optimizer.zero_grad()
    return [event.higher for event in recorded.of(ObjectiveMinimised)]


def lower(r: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.min(r * w, r.clamp(0.8, 1.2) * w).mean()


def higher(r: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.maximum(w * r.clamp(min=0.8, max=1.2), w * r).mean()


@pytest.mark.parametrize(
    ("loss", "which"),
    [
        pytest.param(lower, False, id="as it is"),
        pytest.param(lambda r, w: 0.5 * lower(r, w) + r.square().mean(), False, id="a term"),
        pytest.param(lambda r, w: r.mean() - (-lower(r, w)), False, id="minus twice"),
        pytest.param(lambda r, w: torch.stack([lower(r, w), r.mean()]).sum(), False, id="joined"),
        pytest.param(lambda r, w: torch.min(-w * r, -w * r.clamp(0.8, 1.2)).mean(), False, id="weights turned twice"),
        pytest.param(lambda r, w: -higher(r, w) / 2, True, id="minus the higher one"),
    ],
)
def test_what_is_gone_down_with(loss: Loss, which: bool) -> None:
    assert told(loss) == [which, which]


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda r, w: -lower(r, w), id="minus the lower one"),
        pytest.param(higher, id="the higher one"),
        pytest.param(lambda r, w: r.mean() - lower(r, w) * 2, id="a term with a minus"),
        pytest.param(lambda r, w: torch.min(r * w, r.clamp(0.8, 1.2) * w.abs()).mean(), id="other weights"),
        pytest.param(lambda r, w: torch.min(r * w, r.clamp(2.0, 3.0) * w).mean(), id="not near one"),
        pytest.param(lambda r, w: torch.min(r * w, r.square() * w).mean(), id="not clipped"),
        pytest.param(lambda r, w: lower(r, w).exp(), id="followed no further"),
        pytest.param(lambda r, w: 2 / lower(r, w), id="divided by it"),
    ],
)
def test_of_others_nothing_is_said(loss: Loss) -> None:
    assert told(loss) == []


def test_whoever_climbs_is_let_alone() -> None:
    assert told(lower, maximize=True) == told(lower, seed=-1.0) == []
