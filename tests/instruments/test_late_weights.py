"""Weights that meet a loss when it is one number already."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.distributions import Categorical, Normal
from torch.nn import functional

from autograd_doctor.events.losses import WeightedTooLate
from autograd_doctor.instruments.losses.late_weights import LateWeights
from tests.watching import watching

Loss = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def told(loss: Loss) -> list[WeightedTooLate]:
    """What is stated in four steps of training by a loss of six predictions of three values, targets and weights."""
    model = nn.Linear(3, 3)
    with watching(LateWeights) as recorded:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(4):
            x = torch.randn(6, 3)
            optimizer.zero_grad()
            loss(model(x), x.tanh(), torch.rand(6)).mean().backward()
            optimizer.step()
    assert not recorded.failures
    return recorded.of(WeightedTooLate)


def test_it_is_told_with_its_lines() -> None:
    def loss(given: torch.Tensor, wanted: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        reduced = functional.mse_loss(given, wanted)
        return reduced * weights

    first, *others = told(loss)
    assert len(others) == 3
    assert (first.operation, first.values, first.weights.name, first.weights.shape) == ("mse_loss", 18, "weights", [6])
    assert first.location is not None
    assert first.reduced_at is not None
    assert first.location.line == first.reduced_at.line + 1


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda g, t, w: w * -functional.l1_loss(g, t), id="turned around"),
        pytest.param(lambda g, t, w: 0.5 * functional.cross_entropy(g, t.argmax(1)) * w, id="scaled before"),
        pytest.param(lambda g, t, w: functional.mse_loss(g, t) * w[:, None].expand(6, 3), id="for each value"),
        pytest.param(lambda g, t, w: functional.mse_loss(g, t) / (w + 1.0), id="divided"),
        pytest.param(lambda g, t, w: (g - t).square().sum(1).mean() * w, id="by hand"),
        pytest.param(lambda g, t, w: (t - g).abs().sum() / 6 * w, id="a sum by how many"),
        pytest.param(lambda g, t, w: 2 - (g.log_softmax(1).gather(1, t.argmax(1, True)).mean() * w).sum(), id="picked"),
        pytest.param(lambda g, t, w: Normal(g, 1.0).log_prob(t).mean() * w, id="a density"),
        pytest.param(lambda g, t, w: Categorical(logits=g).log_prob(t.argmax(1)).mean() * w, id="a probability"),
        pytest.param(lambda g, t, w: functional.cross_entropy(g, t, reduction="none").mean() * w, id="in two steps"),
    ],
)
def test_what_is_done_to_the_number_before_does_not_matter(loss: Loss) -> None:
    assert told(loss)


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda g, t, w: functional.mse_loss(g, t, reduction="none") * w[:, None], id="not reduced"),
        pytest.param(lambda g, t, w: functional.mse_loss(g, t) * w.mean(), id="one weight"),
        pytest.param(lambda g, t, w: functional.mse_loss(g, t) * torch.ones(6), id="all the same"),
        pytest.param(lambda g, t, w: functional.mse_loss(g, t) * w[:4], id="of something else"),
        pytest.param(lambda g, t, w: functional.mse_loss(g, t) * (g.square().sum(1) + w), id="with a graph"),
        pytest.param(lambda g, t, w: g.mean() * w + g.square().sum(), id="no loss function"),
        pytest.param(lambda g, t, w: (g - t).square().sum() * w, id="a sum, as of the steps of one way"),
        pytest.param(lambda g, t, w: (g - g.roll(1, 0)).square().mean() * w, id="no data"),
        pytest.param(lambda g, t, w: ((g - t).abs().mean() * w - 1).square(), id="a prediction"),
        pytest.param(lambda g, t, w: w / (1 + (g - t).abs()).mean(), id="a scale of data"),
        pytest.param(lambda g, t, w: (c := (g - t).square().sum(1)) * w - c.mean() * w, id="a covariance"),
    ],
)
def test_other_products_are_none_of_its_business(loss: Loss) -> None:
    assert not told(loss)
