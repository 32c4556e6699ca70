"""Averages of weights that lie in the storage of the weights themselves."""

from __future__ import annotations

import pytest

from autograd_doctor.events import WeightsMetThemselves
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
    ],
)
def test_copies_decay_and_other_ways_to_write(kept: str, update: str) -> None:
    assert met(kept, update) == []
