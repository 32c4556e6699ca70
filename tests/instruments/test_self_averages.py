"""Averages of weights that lie in the storage of the weights themselves."""

from __future__ import annotations

import pytest

from autograd_doctor.events.lifetime import WeightsMetThemselves
from tests.harness import recorded

PROGRAM = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
kept = {kept}
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(6):
    x = torch.randn(8, 4)
    optimizer.zero_grad()
    (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(kept, model.parameters()):
            {update}
"""


def met(kept: str, update: str) -> list[WeightsMetThemselves]:
    with recorded(PROGRAM.format(kept=kept, update=update)) as (trace, _, _):
        return list(trace.of(WeightsMetThemselves))


@pytest.mark.parametrize("update", ["slow.lerp_(fast, 0.1)", "slow.mul_(0.9).add_(fast.data, alpha=0.1)"])
@pytest.mark.parametrize("kept", ["[p.data for p in model.parameters()]", "[p.detach() for p in model.parameters()]"])
def test_an_alias_that_was_kept(kept: str, update: str) -> None:
    found = met(kept, update)
    assert len(found) == 6
    assert all(event.parameters == [0, 1] for event in found)
    assert {(event.kept_at.line, event.location.line) for event in found} == {(5, 14)}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("kept", "update"),
    [
        ("[p.detach().clone() for p in model.parameters()]", "slow.lerp_(fast, 0.1)"),
        ("[p.data for p in model.parameters()]", "slow.mul_(0.999)"),
        ("[p.data for p in model.parameters()]", "fast.add_(slow, alpha=-1e-4)"),
        ("[p.data for p in model.parameters()]", "fast.data.add_(fast.data, alpha=-1e-4)"),
        ("[p.data for p in model.parameters()]", "fast.copy_(fast.bfloat16())"),
        ("[p.data for p in model.parameters()]", "slow.copy_(slow.half().float())"),
    ],
)
def test_copies_decay_and_other_ways_to_write(kept: str, update: str) -> None:
    assert met(kept, update) == []


COMPARED = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
kept = {kept}
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(6):
    x = torch.randn(8, 4)
    drift = sum({difference} for now, before in zip(model.parameters(), {others}))
    optimizer.zero_grad()
    ((model(x) - x.sum(1, keepdim=True)).square().mean() + drift).backward()
    optimizer.step()
"""


def compared(kept: str, difference: str, others: str = "kept") -> list[WeightsMetThemselves]:
    with recorded(COMPARED.format(kept=kept, difference=difference, others=others)) as (trace, _, _):
        return list(trace.of(WeightsMetThemselves))


@pytest.mark.parametrize(
    "difference",
    ["(now - before).square().sum()", "torch.dist(before, now)", "torch.nn.functional.mse_loss(now, before)"],
)
def test_an_anchor_that_is_the_weights(difference: str) -> None:
    found = compared("[p.data for p in model.parameters()]", difference)
    assert [event.how for event in found] == ["compared"] * len(found)
    assert len(found) >= 5
    assert {(event.location.line, tuple(event.parameters)) for event in found if event.location} == {(9, (0, 1))}


@pytest.mark.parametrize(
    ("kept", "difference", "others"),
    [
        ("[p.detach().clone() for p in model.parameters()]", "(now - before).square().sum()", "kept"),
        ("None", "(now - before).square().sum()", "[p.detach() for p in model.parameters()]"),
        ("None", "(now - before).square().sum()", "list(model.parameters())"),
        ("[p.data for p in model.parameters()]", "(now * before).sum()", "kept"),
    ],
    ids=["a copy", "made in the same step", "itself", "a product"],
)
def test_comparisons_with_something_else(kept: str, difference: str, others: str) -> None:
    assert compared(kept, difference, others) == []


RETURNED = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
kept = [p.detach().clone() for p in model.parameters()]
@torch.no_grad()
def put_back(values):
    for weight, value in zip(model.parameters(), values):
        {back}
{first}
for step in range(6):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
    if step == 2:
        kept = {kept}
put_back(kept)
"""


@pytest.mark.parametrize("back", ["weight.copy_(value)", "weight.data.copy_(value)", "weight.data = value"])
@pytest.mark.parametrize(
    ("kept", "first", "is_told"),
    [
        ("[p.detach().cpu() for p in model.parameters()]", "", True),
        ("[p.data for p in model.parameters()]", "", True),
        ("[p.data for p in model.parameters()]", "put_back(kept)", False),
        ("[p.detach().clone() for p in model.parameters()]", "", False),
    ],
)
def test_what_is_brought_back_once(back: str, kept: str, first: str, is_told: bool) -> None:
    program = RETURNED.format(back=back, kept=kept, first=first)
    with recorded(program) as (trace, _, _):
        found = [event for event in trace.of(WeightsMetThemselves) if event.for_good]
    assert [(event.how, event.step) for event in found] == [("put back", 6)] * is_told
