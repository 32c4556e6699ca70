"""The sign with which losses are minimised."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograd_doctor.events.losses import LossSignSeen
from autograd_doctor.instruments.losses.loss_signs import LossSigns
from tests.watching import watching

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def told(loss: Loss, *, maximize: bool = False) -> list[LossSignSeen]:
    """What is stated in three steps of training a layer by this loss of its output and a target."""
    layer = nn.Linear(3, 3)
    with watching(LossSigns) as recorded:
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.01, maximize=maximize)
        for _ in range(3):
            loss(layer(torch.randn(4, 3)), torch.rand(4, 3)).backward()
            optimizer.step()
            optimizer.zero_grad()
    return recorded.of(LossSignSeen)


LABELS = torch.tensor([0, 1, 2, 1])
LEVEL = nn.Parameter(torch.tensor(0.5))


@pytest.mark.parametrize(
    ("loss", "negated"),
    [
        pytest.param(lambda p, y: functional.mse_loss(p, y), False, id="as it is"),
        pytest.param(lambda p, y: -functional.mse_loss(p, y), True, id="minus"),
        pytest.param(lambda p, y: functional.mse_loss(p, y).neg().neg(), False, id="minus twice"),
        pytest.param(lambda p, y: functional.l1_loss(p, y) * -2.0 + 1, True, id="times a number"),
        pytest.param(lambda p, y: 1 - functional.cross_entropy(p, LABELS), True, id="one minus it"),
        pytest.param(lambda p, y: functional.cross_entropy(p, LABELS) - 1, False, id="it minus one"),
        pytest.param(lambda p, y: functional.cross_entropy(p, LABELS) / torch.tensor(-4.0), True, id="by a tensor"),
        pytest.param(lambda p, y: -((p - y) ** 2).mean(), True, id="by hand"),
        pytest.param(lambda p, y: -(y - p).abs().sum(1).mean() / 3, True, id="sizes"),
        pytest.param(lambda p, y: -0.5 * (((y - p) / 0.3) ** 2).mean(), True, id="scaled before"),
        pytest.param(lambda p, y: -((y - p).flatten() * 2).abs().mean(), True, id="in another shape"),
        pytest.param(lambda p, y: -functional.mse_loss(p, y) - functional.l1_loss(p, y), True, id="two of one sign"),
        pytest.param(
            lambda p, y: -functional.nll_loss(functional.log_softmax(p, 1), LABELS), True, id="likelihood of classes"
        ),
        pytest.param(lambda p, y: -functional.mse_loss(p, y).sqrt(), True, id="root"),
    ],
)
def test_signs_are_followed_to_the_backward(loss: Loss, negated: bool) -> None:
    (event,) = told(loss)
    assert event.negated is negated
    assert event.bounded_at is not None
    assert event.maximises is None


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda p, y: -p.square().mean(), id="a spread"),
        pytest.param(lambda p, y: -(p * y).mean(), id="a similarity"),
        pytest.param(lambda p, y: p.mean() - functional.mse_loss(p, y), id="another term"),
        pytest.param(lambda p, y: functional.mse_loss(p, y) - functional.l1_loss(p, y), id="two signs"),
        pytest.param(lambda p, y: -functional.nll_loss(p, LABELS), id="scores as likelihoods"),
        pytest.param(lambda p, y: (-functional.mse_loss(p, y)).exp(), id="a kernel"),
        pytest.param(
            lambda p, y: (functional.mse_loss(p, y, reduction="none") * (y - 0.5)).mean(), id="weights of both signs"
        ),
        pytest.param(lambda p, y: 1 / functional.mse_loss(p, y), id="divided by it"),
        pytest.param(lambda p, y: -((p - p.mean()) ** 2).mean(), id="no data"),
        pytest.param(lambda p, y: -((p - y).mean() ** 2), id="of a mean difference"),
        pytest.param(lambda p, y: -((1 / (p - y)) ** 2).mean(), id="a difference that divides"),
        pytest.param(lambda p, y: p.mean() - (y - LEVEL).square().mean(), id="data from a number that is learned"),
    ],
)
def test_of_other_losses_nothing_is_said(loss: Loss) -> None:
    assert told(loss) == []


WEIGHT = nn.Parameter(torch.ones(3))
ANCHOR = torch.zeros(3)


@pytest.mark.parametrize(
    ("loss", "negated"),
    [
        pytest.param(lambda p, y: 0.1 * WEIGHT.square().sum() - functional.mse_loss(p, y), True, id="before the minus"),
        pytest.param(lambda p, y: -functional.mse_loss(p, y) + sum([WEIGHT.abs().sum()]), True, id="after it"),
        pytest.param(lambda p, y: functional.mse_loss(p, y) - WEIGHT.norm(), False, id="minus the penalty"),
        pytest.param(lambda p, y: -functional.mse_loss(p, y) * WEIGHT.norm(), None, id="a factor"),
        pytest.param(lambda p, y: -functional.mse_loss(p, y) + (WEIGHT - ANCHOR).norm(), None, id="held to others"),
    ],
)
def test_a_penalty_on_weights_leaves_the_sign_to_the_term_that_sees_data(loss: Loss, negated: bool | None) -> None:
    assert [event.negated for event in told(loss)] == ([] if negated is None else [negated])


def unit(values: torch.Tensor) -> torch.Tensor:
    return values / values.norm(dim=1, keepdim=True).clamp_min(1e-6)


@pytest.mark.parametrize(
    ("loss", "limited"),
    [
        pytest.param(lambda p, y: -functional.mse_loss(functional.normalize(p), y), True, id="unit vectors from data"),
        pytest.param(lambda p, y: -functional.mse_loss(unit(p)[:2], unit(p)[2:]), True, id="from each other"),
        pytest.param(lambda p, y: -(unit(p).unsqueeze(1) - y).norm(dim=-1).mean(), True, id="chords by hand"),
        pytest.param(lambda p, y: -functional.l1_loss(p.softmax(1)[:2], p.sigmoid()[2:]), True, id="squashed, both"),
        pytest.param(lambda p, y: -((p - y) ** 2).sum(1).clamp(max=4.0).mean(), True, id="kept below a number"),
        pytest.param(lambda p, y: (-functional.mse_loss(p, y)).clamp(-4.0), True, id="kept above its negative"),
        pytest.param(lambda p, y: -((p - y) ** 2).sum(1).clamp(0.0).mean(), False, id="kept above a number"),
        pytest.param(lambda p, y: -functional.mse_loss(p.sigmoid(), y), False, id="a squashed prediction of data"),
        pytest.param(lambda p, y: -functional.mse_loss(p, unit(p).detach()), False, id="a prediction from vectors"),
        pytest.param(lambda p, y: -functional.mse_loss(unit(p), p), False, id="one of two"),
        pytest.param(lambda p, y: -functional.mse_loss(p / y.norm(dim=1, keepdim=True), y), False, id="other lengths"),
        pytest.param(lambda p, y: -functional.cross_entropy(unit(p) @ unit(y).T, LABELS[:4] % 3), False, id="classes"),
        pytest.param(
            lambda p, y: -functional.mse_loss(unit(p), y) - functional.mse_loss(p, y), False, id="with one that is not"
        ),
    ],
)
def test_what_cannot_grow_for_ever(loss: Loss, limited: bool) -> None:
    (event,) = told(loss)
    assert event.negated
    assert event.limited is limited


def test_an_optimizer_that_climbs_turns_the_sign() -> None:
    (up,) = told(lambda p, y: functional.mse_loss(p, y), maximize=True)
    (down,) = told(lambda p, y: -functional.mse_loss(p, y), maximize=True)
    assert (up.negated, down.negated) == (True, False)
    assert up.maximises == down.maximises == 0


def test_a_line_that_changes_its_sign_is_told_again() -> None:
    signs = iter((1.0, 1.0, -1.0))
    assert [event.negated for event in told(lambda p, y: functional.mse_loss(p, y) * next(signs))] == [False, True]


OTHER = nn.Linear(3, 3)


@pytest.mark.parametrize(
    ("loss", "alone"),
    [
        pytest.param(lambda p, y: -functional.mse_loss(p, y), True, id="of one network"),
        pytest.param(lambda p, y: -functional.mse_loss(p + OTHER(y).detach(), y), False, id="of two"),
        pytest.param(
            lambda p, y: -functional.mse_loss(p, y) - functional.mse_loss(p + OTHER(y).detach(), y), True, id="in part"
        ),
        pytest.param(lambda p, y: -functional.mse_loss(OTHER(p), y), True, id="all are taught"),
    ],
)
def test_whether_another_network_has_a_say_in_all_of_it(loss: Loss, alone: bool) -> None:
    (event,) = told(loss)
    assert event.alone is alone
