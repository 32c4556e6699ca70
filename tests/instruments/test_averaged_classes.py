"""Classes that are averaged as numbers on their way into a loss over classes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from autograd_doctor.events.data import ClassesAveraged
from autograd_doctor.instruments.data.averaged_classes import AveragedClasses
from autograd_doctor.reading.class_averages import Blend, blend_of, classes_in, mixture_of
from tests.watching import watching

LABELS = torch.tensor([1, 1, 5, 5, 2, 2, 2, 2])
OTHERS = torch.tensor([1, 5, 1, 5, 2, 2, 0, 2])
Work = Callable[[Tensor, Tensor], Tensor]
Loss = Callable[[Tensor, Tensor], Tensor]


def halves(y: Tensor) -> Tensor:
    return functional.interpolate(y.view(1, 1, -1).float(), size=15, mode="linear", align_corners=True).flatten()


def smooth(y: Tensor) -> Tensor:
    kernel = torch.ones(1, 1, 2) / 2
    return functional.conv1d(y.view(1, 1, -1).float(), kernel).flatten()


def by_shares(y: Tensor, z: Tensor) -> Tensor:
    share = torch.full((8,), 0.7)
    return (y.float() * share + z.flip(0).flip(0).float() * (1 - share)).long()


def picked(scores: Tensor, target: Tensor) -> Tensor:
    return -scores.log_softmax(1).gather(1, target[:, None]).mean()


def overlap(scores: Tensor, target: Tensor) -> Tensor:
    return 1 - (scores.softmax(1) * functional.one_hot(target, 6)).mean()


def told(work: Work, loss: Loss = functional.cross_entropy, given: bool = False) -> list[tuple[str, int, int, int]]:
    labels, others = LABELS.clone(), OTHERS.clone()
    model = nn.Linear(1, 6)
    with watching(AveragedClasses) as run:
        target = work(labels, others)
        x = target.float().div(5) if given else torch.randn(len(target))
        loss(model(x[:, None]), target).backward()
    assert run.failures == []
    return [(each.operation, each.places, each.differing, each.invented) for each in run.of(ClassesAveraged)]


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        pytest.param(lambda y, z: halves(y).round().long(), ("interpolate", 15, 2, 2), id="resized"),
        pytest.param(lambda y, z: halves(y).add(0.5).int().long(), ("interpolate", 15, 2, 2), id="half more, cut off"),
        pytest.param(lambda y, z: torch.stack([y, z]).float().mean(0).long(), ("mean", 8, 3, 3), id="a mean"),
        pytest.param(lambda y, z: (y + z) // 2, ("mean", 8, 3, 3), id="half of a sum"),
        pytest.param(lambda y, z: (sum([y, z]) / 2).round().long(), ("mean", 8, 3, 3), id="a sum of a list"),
        pytest.param(lambda y, z: (torch.stack([y, z]).sum(0) / 2).long(), ("mean", 8, 3, 3), id="a sum along an axis"),
        pytest.param(lambda y, z: (0.7 * y + 0.3 * z).long(), ("mixture", 8, 3, 3), id="a mixture"),
        pytest.param(lambda y, z: smooth(y).round().long(), ("conv1d", 7, 2, 2), id="smoothed"),
        pytest.param(by_shares, ("mixture", 8, 3, 3), id="weights in a tensor"),
        pytest.param(lambda y, z: torch.lerp(y.float(), z.float(), 0.3).long(), ("lerp", 8, 3, 3), id="lerp"),
    ],
)
def test_of_targets(work: Work, expected: tuple[str, int, int, int]) -> None:
    assert told(work) == [expected]


@pytest.mark.parametrize("loss", [picked, overlap])
def test_of_losses_by_hand(loss: Loss) -> None:
    assert told(lambda y, z: halves(y).round().long(), loss) == [("interpolate", 15, 2, 2)]


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda y, z: (halves(y) / 2).round().long(), id="scaled"),
        pytest.param(lambda y, z: (halves(y) > 3).long(), id="compared"),
        pytest.param(lambda y, z: halves(y.clamp(1, 2)).round().long(), id="of two neighbours"),
        pytest.param(lambda y, z: (0.7 * y + 0.7 * z).long().clamp(max=5), id="weights of more than 1"),
        pytest.param(lambda y, z: (halves(y) * 0 + 1).long(), id="nothing of it left"),
        pytest.param(
            lambda y, z: functional.interpolate(y.view(1, 1, -1).float(), size=15).flatten().long(), id="nearest"
        ),
    ],
)
def test_silent_on(work: Work) -> None:
    assert told(work) == []


def test_what_a_model_takes_in_tells_how_much() -> None:
    assert told(lambda y, z: halves(y).round().long(), given=True) == []


def test_so_does_what_it_takes_in_one_hot() -> None:
    states = torch.stack([LABELS, OTHERS])
    model = nn.Linear(6, 6)
    with watching(AveragedClasses) as run:
        target = states.float().mean(0).round().long()
        functional.cross_entropy(model(functional.one_hot(states, 6).float()).sum(0), target).backward()
    assert run.failures == []
    assert run.of(ClassesAveraged) == []


def test_what_a_loss_compares_by_its_size_has_an_order() -> None:
    def both(scores: Tensor, target: Tensor) -> Tensor:
        expected = scores.softmax(1) @ torch.arange(6.0)
        return functional.cross_entropy(scores, target) + functional.l1_loss(expected, target.float())

    assert told(lambda y, z: halves(y).round().long(), both) == []


def test_an_average_of_whole_numbers_only() -> None:
    assert classes_in(torch.tensor([0.0, 2.5, 5.0])) is None
    assert classes_in(torch.tensor([0, 1, 1])) is None
    assert classes_in(torch.arange(40)) is None
    found = classes_in(torch.tensor([0.0, 5.0, 5.0]))
    assert found is not None
    assert found.tolist() == [0.0, 5.0]


def test_what_lies_beyond_an_edge_is_of_class_0() -> None:
    given = torch.tensor([[[4.0, 4.0, 1.0, 1.0]]])
    result = functional.avg_pool1d(given, 2, 2, 1)
    blend = blend_of(functional.avg_pool1d, [given, 2, 2, 1], {}, result, by_row=True)
    assert blend is not None
    assert (blend.places, blend.differing, blend.rounded, blend.truncated) == (3, 3, 2, 2)


def test_an_edge_of_class_0_is_no_other_class() -> None:
    given = torch.tensor([[[4.0, 0.0, 0.0, 4.0]]])
    blend = blend_of(functional.avg_pool1d, [given, 3, 1, 1], {}, functional.avg_pool1d(given, 3, 1, 1), by_row=True)
    assert blend is not None
    assert blend.distance == 4 * blend.differing


def test_distances_are_compared_with_those_by_chance() -> None:
    blend = mixture_of([torch.tensor([0.0, 4.0]), torch.tensor([1.0, 5.0])], [0.5, 0.5], torch.tensor([0.5, 4.5]))
    assert (blend.differing, blend.distance, blend.rising) == (2, 2.0, 2)
    assert blend.by_chance == pytest.approx((1 + 1 + 4 + 5 + 3 + 4) / 6)
    whole = Blend()
    whole.add(blend)
    assert whole == blend
