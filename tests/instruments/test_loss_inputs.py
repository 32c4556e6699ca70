"""What is told of the losses behind a backward, on small real programs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograd_doctor.events.losses import LossComputed
from autograd_doctor.instruments.losses.loss_inputs import LossInputs
from tests.watching import watching

X = torch.arange(20.0).reshape(5, 4) / 10 - 1
CLASSES = torch.tensor([0, 1, 2, 1, 0])
ONE_HOT = functional.one_hot(CLASSES, 3).float()


def losses(program: Callable[[torch.Tensor], torch.Tensor], steps: int = 1) -> list[LossComputed]:
    """What is told of a program that makes a loss of scores of three classes."""
    torch.manual_seed(0)
    layer = nn.Linear(4, 3)
    with watching(LossInputs) as run:
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.0)
        for _ in range(steps):
            loss = program(layer(X))
            if loss.requires_grad:
                loss.backward()
            optimizer.step()
        return run.of(LossComputed)


def the_loss(program: Callable[[torch.Tensor], torch.Tensor]) -> LossComputed:
    (loss,) = losses(program)
    return loss


def test_probabilities_and_classes() -> None:
    loss = the_loss(lambda s: functional.cross_entropy(torch.softmax(s, 1), CLASSES))
    given = loss.prediction
    assert (loss.operation, loss.class_dim, loss.whole, loss.in_order) == ("cross_entropy", 1, True, False)
    assert given.shaping is not None
    assert (given.shaping.operation, given.shaping.dim, given.shaping.shape) == ("softmax", 1, [5, 3])
    assert given.sums == pytest.approx([1.0, 1.0])
    assert given.facts.requires_grad
    assert given.facts.low is not None
    assert 0 < given.facts.low < 1
    assert (loss.target.facts.low, loss.target.facts.high, loss.target.facts.shape) == (0, 2, [5])


def test_log_probabilities() -> None:
    loss = the_loss(lambda s: functional.nll_loss(torch.log_softmax(s, 1), CLASSES))
    assert loss.prediction.log_sums == pytest.approx([0.0, 0.0], abs=1e-5)


def test_a_softmax_over_the_rows_and_what_targets_sum_to_there() -> None:
    loss = the_loss(lambda s: functional.mse_loss(torch.softmax(s, 0), ONE_HOT))
    assert loss.prediction.sums_over_softmax == pytest.approx([1.0, 1.0])
    assert loss.target.sums_over_softmax == [1.0, 2.0]
    assert loss.target.sums == [1.0, 1.0]
    assert loss.target.binary
    assert not loss.prediction.binary


def test_the_share_of_targets_beyond_what_an_activation_gives() -> None:
    loss = the_loss(lambda s: functional.l1_loss(torch.tanh(s), 3 * ONE_HOT))
    assert loss.target.outside == pytest.approx(1 / 3)
    assert (loss.target.facts.low, loss.target.facts.high) == (0.0, 3.0)


@pytest.mark.parametrize(
    ("program", "operation", "whole"),
    [
        (lambda s: ((torch.sigmoid(s) - ONE_HOT) ** 2).mean(), "sub", True),
        (lambda s: (ONE_HOT - torch.sigmoid(s)).abs().sum(1).mean(), "sub", True),
        (lambda s: ((torch.sigmoid(s) - ONE_HOT) ** 2 * ONE_HOT).sum(), "sub", False),
        (lambda s: ((torch.sigmoid(s) - ONE_HOT) ** 2)[ONE_HOT > 0].mean(), "sub", False),
        (lambda s: -(ONE_HOT * torch.log_softmax(s, 1)).sum(1).mean(), "mul", True),
        (lambda s: -torch.log(torch.softmax(s, 1))[torch.arange(5), CLASSES].mean(), "__getitem__", False),
        (lambda s: -torch.log_softmax(s, 1).gather(1, CLASSES[:, None]).mean(), "gather", False),
        (lambda s: functional.mse_loss(s, ONE_HOT, reduction="none").mean(), "mse_loss", False),
        (lambda s: functional.binary_cross_entropy_with_logits(s, ONE_HOT, weight=ONE_HOT), None, False),
    ],
)
def test_losses_by_hand_and_values_that_are_left_out(
    program: Callable[[torch.Tensor], torch.Tensor], operation: str | None, whole: bool
) -> None:
    loss = the_loss(program)
    assert loss.operation == (operation or "binary_cross_entropy_with_logits")
    assert loss.whole is whole


@pytest.mark.parametrize(
    "program",
    [
        lambda s: ((s - ONE_HOT) ** 2).mean(),
        lambda s: ((torch.sigmoid(s) - torch.sigmoid(s + 1)) ** 2).mean(),
        lambda s: (torch.sigmoid(s) * ONE_HOT).mean(),
        lambda s: torch.softmax(s, 1)[:2].sum(),
        lambda s: functional.mse_loss(s.detach(), ONE_HOT),
        lambda s: functional.cross_entropy(s, CLASSES).detach() + s.sum(),
        lambda s: ((torch.sigmoid(s) - ONE_HOT) @ torch.ones(3)).mean(),
    ],
    ids=["no range", "two predictions", "no logarithm", "no choice", "no graph", "not in the loss", "other operations"],
)
def test_what_is_no_loss_or_tells_nothing(program: Callable[[torch.Tensor], torch.Tensor]) -> None:
    assert losses(program) == []


def _in_three(s: torch.Tensor) -> torch.Tensor:
    """Log-probabilities over the last of three dimensions, of which the middle one is chosen from."""
    return torch.log_softmax(s[:, None, :] * torch.tensor([1.0, 2.0])[:, None], 2)


CHOICE = torch.tensor([0, 1, 1, 0, 1])


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (lambda s: -_in_three(s)[torch.arange(5), CHOICE].mean(), False),
        (lambda s: -_in_three(s).gather(1, CHOICE.view(5, 1, 1).expand(5, 1, 3)).mean(), False),
        (lambda s: -_in_three(s).gather(1, CHOICE.view(5, 1, 1).repeat(1, 1, 3)).mean(), False),
        (lambda s: -_in_three(s).take_along_dim(CHOICE.view(5, 1, 1), 1).mean(), False),
        (lambda s: -_in_three(s)[torch.arange(5), CHOICE, CLASSES].mean(), True),
        (lambda s: -_in_three(s).gather(2, torch.stack([CLASSES, 2 - CLASSES], 1)[..., None]).mean(), True),
    ],
)
def test_rows_that_are_picked_are_no_classes(program: Callable[[torch.Tensor], torch.Tensor], told: bool) -> None:
    assert bool(losses(program)) is told


def test_targets_of_parameters_and_rows_in_order() -> None:
    diagonal = the_loss(lambda s: functional.cross_entropy(s @ s.T, torch.arange(5)))
    assert diagonal.in_order
    own = the_loss(lambda s: functional.mse_loss(s, s.detach() + 1))
    assert own.target_of_parameters
    assert not the_loss(lambda s: functional.mse_loss(s, ONE_HOT)).target_of_parameters


def test_scores_that_are_normalised_elsewhere() -> None:
    loss = the_loss(lambda s: functional.nll_loss(s, CLASSES) + s.logsumexp(1).mean())
    assert loss.normalised_elsewhere


def test_each_line_is_told_of_a_few_times() -> None:
    assert len(losses(lambda s: functional.cross_entropy(s, CLASSES), steps=9)) == 4


def test_the_log_target_of_a_divergence() -> None:
    soft = torch.log_softmax(ONE_HOT, 1)
    loss = the_loss(lambda s: functional.kl_div(torch.log_softmax(s, 1), soft, log_target=True, reduction="sum"))
    assert loss.log_target
    assert loss.target.log_sums == pytest.approx([0.0, 0.0], abs=1e-5)


def test_losses_for_the_eye_do_not_use_up_the_looks() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(4, 3)

    def loss_of(x: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(torch.softmax(layer(x), 1), CLASSES)

    with watching(LossInputs) as run:
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.0)
        for _ in range(3):
            for _ in range(6):
                loss_of(X)
            optimizer.step()
            loss_of(X).backward()
            optimizer.step()
        assert len(run.of(LossComputed)) >= 2


def test_values_that_are_no_numbers_have_no_range() -> None:
    loss = the_loss(lambda s: functional.mse_loss(s * torch.tensor(float("nan")), ONE_HOT))
    assert (loss.prediction.facts.low, loss.prediction.facts.high) == (None, None)
