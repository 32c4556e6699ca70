"""Joins of what kept its graph with numbers that came back, on small real programs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.events.connectivity import CopyJoined
from autograd_doctor.instruments.connectivity.joined_copies import JoinedCopies
from tests.watching import watching


def joined(copied: Callable[[torch.Tensor], torch.Tensor]) -> list[CopyJoined]:
    torch.manual_seed(0)
    layer = nn.Linear(4, 3)
    with watching(JoinedCopies) as run:
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
        for _ in range(3):
            made = layer(torch.randn(5, 4))
            torch.cat([copied(made), made]).square().mean().backward()
            optimizer.step()
        assert not run.failures
        return run.of(CopyJoined)


def a_memory(made: torch.Tensor) -> torch.Tensor:
    return torch.tensor([[0.5, 1.0, 2.0], *made.tolist()])


@pytest.mark.parametrize(
    ("copied", "told"),
    [
        (lambda made: torch.tensor([[2 * value for value in row] for row in made.tolist()]), 2),
        (lambda made: torch.tensor(made[:2].tolist()), 2),
        (a_memory, 0),
        (lambda made: made.detach() * 2, 0),
    ],
    ids=["computed from the numbers", "a part of them", "beside others", "detached"],
)
def test_what_is_there_twice_is_a_memory(copied: Callable[[torch.Tensor], torch.Tensor], told: int) -> None:
    assert len(joined(copied)) == told
