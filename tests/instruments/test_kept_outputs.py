"""Outputs that a pass has left, and whose they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from autograd_doctor.events.data import OutputsOfOthersMet
from autograd_doctor.events.run import InstrumentLimited
from autograd_doctor.instruments.data.kept_outputs import KeptOutputs
from tests.watching import watching

Change = Callable[[torch.Tensor], torch.Tensor]
Keeps = Callable[[list[torch.Tensor]], list[torch.Tensor]]


def met(keeps: Keeps, *, shuffle: bool = True, by: str = "position") -> list[OutputsOfOthersMet]:
    """What is told where what a teacher says is kept by `keeps`, and looked up by batches or by samples."""
    torch.manual_seed(0)
    with watching(KeptOutputs) as run:
        data = TensorDataset(torch.arange(128), torch.randn(128, 6))
        loader = DataLoader(data, batch_size=16, shuffle=shuffle)
        teacher, student = nn.Linear(6, 3), nn.Linear(6, 3)
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
        with torch.no_grad():
            kept = keeps([teacher(x) for _, x in loader])
        for place, (numbers, x) in enumerate(loader):
            wanted = kept[place] if by == "position" else torch.cat(kept)[numbers]
            nn.functional.mse_loss(student(x), wanted).backward()
            optimizer.step()
            optimizer.zero_grad()
        run.find(KeptOutputs).finish()
        return run.of(OutputsOfOthersMet)


def test_outputs_that_are_looked_up_by_the_number_of_the_batch():
    (event,) = met(list)
    assert (event.by, event.name) == ("position", "wanted")
    assert event.rows > 0.9 * event.of
    assert event.of == 16 * event.steps


def test_outputs_that_are_looked_up_by_samples_and_were_kept_in_the_order_of_the_pass():
    (event,) = met(list, by="index")
    assert event.by == "index"


@pytest.mark.parametrize(
    "keeps",
    [
        lambda kept: kept[1:] + kept[:1],
        lambda kept: [torch.ones_like(each) for each in kept],
        lambda kept: [each.mean(0).expand(16, 3) for each in kept],
        lambda kept: [each.half().float() for each in kept],
        lambda kept: list(torch.cat(kept)[torch.randperm(128)].split(16)),
    ],
    ids=["of a batch further on", "the same for all", "averages", "rounded", "put into another order"],
)
def test_outputs_that_are_not_known_again_or_were_chosen(keeps: Keeps) -> None:
    assert not met(keeps)


def weighed(live: Change, kept: Change, *, two: bool) -> int:
    """How often products of what a model says with what it, or another one, has said are told of."""
    torch.manual_seed(0)
    with watching(KeptOutputs) as run:
        loader = DataLoader(TensorDataset(torch.randn(128, 6)), batch_size=16, shuffle=True)
        model, other = nn.Linear(6, 3), nn.Linear(6, 3)
        with torch.no_grad():
            past = [kept((other if two else model)(x)) for (x,) in loader]
        for (x,), before in zip(loader, past, strict=True):
            (live(model(x)) * before).sum().backward()
            torch.optim.SGD(model.parameters(), lr=0.1).step()
        run.find(KeptOutputs).finish()
        return len(run.of(OutputsOfOthersMet))


@pytest.mark.parametrize(
    ("live", "kept", "two", "expected"),
    [
        (lambda y: y.log_softmax(1), lambda y: y.softmax(1), False, 1),
        (lambda y: y, lambda y: y, False, 0),
        (lambda y: y, lambda y: y, True, 1),
        (lambda y: y.square().sum(1), lambda y: y.square().sum(1), False, 0),
        (lambda y: y.square().sum(1), lambda y: y.square().sum(1), True, 1),
        (lambda y: -y.square().sum(1), lambda y: y.sum(1), True, 1),
        (lambda y: y.sum(1), lambda y: y.sum(1), True, 0),
    ],
    ids=["by hand", "squared", "features", "squared losses", "weights", "advantages", "product of means"],
)
def test_products(live: Change, kept: Change, two: bool, expected: int) -> None:
    assert weighed(live, kept, two=two) == expected


@pytest.mark.parametrize("by", ["position", "index"])
def test_outputs_of_the_same_samples(by: str) -> None:
    assert not met(list, shuffle=False, by=by)


def test_outputs_on_an_accelerator_are_left_there():
    with watching(KeptOutputs) as run:
        model = nn.Linear(4, 1, device="meta")
        loader = DataLoader(TensorDataset(torch.zeros(16, 4)), batch_size=8)
        for (x,) in loader:
            model(x.to("meta"))
        assert not run.of(InstrumentLimited)
        with torch.no_grad():
            for (x,) in loader:
                model(x.to("meta"))
        assert [event.instrument for event in run.of(InstrumentLimited)] == ["kept_outputs"]
