"""Averages of a parameter that learns and one that is to follow it, of which nothing becomes."""

from __future__ import annotations

import pytest

from autograd_doctor.events.cycle import AveragesDiscarded
from tests.harness import recorded

PROGRAM = """
import copy, torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
target = copy.deepcopy(model)
kept = {{}}
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(6):
    x = torch.randn(8, 4)
    with torch.no_grad():
        wanted = x.sum(1, keepdim=True) + 0.5 * target(x)
    optimizer.zero_grad()
    (model(x) - wanted).square().mean().backward()
    optimizer.step()
    with torch.no_grad():
        for (name, slow), fast in zip(target.named_parameters(), model.parameters()):
            {update}
"""


def lost(update: str) -> list[AveragesDiscarded]:
    with recorded(PROGRAM.format(update=update)) as (trace, _, _):
        return list(trace.of(AveragesDiscarded))


@pytest.mark.parametrize(
    "update", ["slow = 0.9 * slow + 0.1 * fast", "slow = slow.lerp(fast, 0.1)", "slow = slow - 0.1 * (slow - fast)"]
)
def test_a_name_that_is_bound_anew(update: str) -> None:
    found = lost(update)
    assert len(found) == 6
    assert {event.location.line for event in found if event.location} == {17}
    assert {len(event.parameters) for event in found} == {1}, "the name holds the last of them"


@pytest.mark.parametrize(
    "update",
    [
        "slow.lerp_(fast, 0.1)",
        "slow.copy_(0.9 * slow + 0.1 * fast)",
        "slow.data = 0.9 * slow + 0.1 * fast",
        "setattr(target, name, torch.nn.Parameter(0.9 * slow + 0.1 * fast))",
        "kept[name] = 0.9 * slow + 0.1 * fast",
        "drift = (slow - fast).norm().item()",
    ],
)
def test_averages_that_are_used_or_kept(update: str) -> None:
    assert lost(update) == []
