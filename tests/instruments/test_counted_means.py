"""How many elements the mean of a loss is over, and with what weight it goes backward."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, l1_loss, mse_loss

from autograd_doctor.events.losses import MeanCounted
from autograd_doctor.instruments.losses.counted_means import CountedMeans
from autograd_doctor.instruments.spine import detail
from tests.watching import watching

ROWS, LENGTH, CLASSES = 4, 6, 3
MASK = torch.arange(LENGTH) < torch.tensor([2, 3, 6, 6])[:, None]
COUNTED = int(MASK.sum())
Loss = Callable[[Tensor, Tensor], Tensor]


def told(loss: Loss, scale: Callable[[Tensor], Tensor] = lambda loss: loss) -> list[MeanCounted]:
    torch.manual_seed(0)
    model = nn.Linear(5, CLASSES)
    with patch.multiple(detail, FIRST_STEPS=1000), watching(CountedMeans) as events:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        labels = torch.randint(0, CLASSES, (ROWS, LENGTH)).where(MASK, -100)
        scale(loss(model(torch.randn(ROWS, LENGTH, 5)), labels)).backward()
        optimizer.step()
    assert not events.failures
    return events.of(MeanCounted)


def by_class(scores: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(scores.transpose(1, 2), labels)


def in_one_row(scores: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(scores.reshape(-1, CLASSES), labels.reshape(-1))


def summed(scores: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(scores.flatten(0, 1), labels.flatten(), reduction="sum") / (labels != -100).sum()


def by_number(scores: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(scores.flatten(0, 1), labels.flatten(), reduction="sum") / COUNTED


def masked(scores: Tensor, labels: Tensor) -> Tensor:
    mask = MASK.float()
    return (mse_loss(scores[..., 0], torch.ones(ROWS, LENGTH), reduction="none") * mask).sum() / (mask.sum() + 1e-6)


def by_hand(scores: Tensor, labels: Tensor) -> Tensor:
    return ((scores[..., 0] - torch.ones(ROWS, LENGTH)).abs() * MASK).sum() / MASK.sum()


def chosen(scores: Tensor, labels: Tensor) -> Tensor:
    return l1_loss(scores[..., 0][MASK], torch.ones(ROWS, LENGTH)[MASK])


def mean_of_chosen(scores: Tensor, labels: Tensor) -> Tensor:
    goals = torch.ones(ROWS, LENGTH)
    return binary_cross_entropy_with_logits(scores[..., 0], goals, reduction="none")[MASK].mean()


WAYS = [by_class, in_one_row, summed, by_number, masked, by_hand, chosen, mean_of_chosen]


@pytest.mark.parametrize("loss", WAYS)
def test_ways_to_take_a_mean(loss: Loss) -> None:
    (event,) = told(loss, lambda loss: 0.5 * loss / 2)
    assert (event.counted, event.shape, event.uneven) == (COUNTED, [ROWS, LENGTH], True)
    assert event.factor == pytest.approx(0.25)


@pytest.mark.parametrize("loss", WAYS)
def test_beside_another_term(loss: Loss) -> None:
    (event,) = told(lambda scores, labels: loss(scores, labels) + 0.01 * scores.pow(2).mean())
    assert event.counted == COUNTED


def test_what_is_no_mean_over_elements() -> None:
    mask = MASK.float()
    weights = torch.rand(ROWS, LENGTH)

    def by_row(scores: Tensor, labels: Tensor) -> Tensor:
        losses = cross_entropy(scores.transpose(1, 2), labels, reduction="none")
        return ((losses * mask).sum(1) / mask.sum(1)).mean()

    def over_more(scores: Tensor, labels: Tensor) -> Tensor:
        return cross_entropy(scores.transpose(1, 2), labels, reduction="sum") / (3 * COUNTED)

    def weighed(scores: Tensor, labels: Tensor) -> Tensor:
        losses = cross_entropy(scores.transpose(1, 2), labels, reduction="none")
        return (losses * weights * mask).sum() / mask.sum()

    def of_classes(scores: Tensor, labels: Tensor) -> Tensor:
        return cross_entropy(scores.transpose(1, 2), labels, weight=torch.rand(CLASSES))

    def where_sure(scores: Tensor, labels: Tensor) -> Tensor:
        sure = scores.detach()[..., 0] > 0
        return cross_entropy(scores[sure], labels.clamp(min=0)[sure])

    for loss in (by_row, over_more, weighed, of_classes, where_sure):
        assert told(loss) == []


def test_a_gradient_that_weighs() -> None:
    torch.manual_seed(0)
    model = nn.Linear(5, CLASSES)
    with patch.multiple(detail, FIRST_STEPS=1000), watching(CountedMeans) as events:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        labels = torch.randint(0, CLASSES, (ROWS, LENGTH)).where(MASK, -100)
        by_class(model(torch.randn(ROWS, LENGTH, 5)), labels).backward(torch.tensor(0.3))
        optimizer.step()
    assert events.of(MeanCounted) == []
