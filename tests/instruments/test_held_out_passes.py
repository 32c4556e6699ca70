"""Samples that the line which trains is given, and that nothing learns from."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.events.connectivity import HeldOutScored
from autograd_doctor.events.run import InstrumentFailed
from autograd_doctor.instruments.connectivity.held_out_passes import HeldOutPasses
from tests.watching import watching


def told(batches: Callable[[int], list[tuple[torch.Tensor, bool]]], *, scored: bool = True) -> list[HeldOutScored]:
    """Of epochs in which a line is given batches, each with whether a step follows."""
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    with watching(HeldOutPasses) as run:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(3):
            for rows, learns in batches(epoch):
                answer = model(rows)
                loss = nn.functional.mse_loss(answer, rows[:, :1]) if scored or learns else answer.sum()
                if learns:
                    loss.backward()
                    optimizer.step()
                    optimizer.zero_grad()
        del answer, loss
        run.find(HeldOutPasses).finish()
        return run.of(HeldOutScored)


TRAINED, HELD_OUT = torch.randn(16, 3), torch.randn(8, 3)


def split(epoch: int) -> list[tuple[torch.Tensor, bool]]:
    return [(rows, True) for rows in TRAINED.split(4)] + [(rows, False) for rows in HELD_OUT.split(4)]


def test_a_set_that_is_scored_after_each_epoch() -> None:
    (event,) = told(split)
    assert (event.passes, event.times, event.trained) == (6, 3, 12)
    assert event.location is not None


@pytest.mark.parametrize(
    "batches",
    [
        lambda epoch: split(epoch)[: 6 if epoch == 1 else 4],  # it does not come again
        lambda epoch: [(rows, number != epoch) for number, rows in enumerate(TRAINED.split(4))],  # skipped once
        lambda epoch: [*split(epoch), (HELD_OUT, False), (HELD_OUT, False)],  # several draws
        lambda epoch: [*split(epoch)[:5], *split(epoch)[:2]],  # one batch that is of no use
        lambda epoch: [(torch.randn(4, 3), learns) for _, learns in split(epoch)],  # others each time
        lambda epoch: [(rows, learns) for rows in TRAINED.split(4) for learns in (False, True)],  # mined
    ],
)
def test_what_is_no_set_apart(batches: Callable[[int], list[tuple[torch.Tensor, bool]]]) -> None:
    assert told(batches) == []


def test_what_is_compared_with_nothing() -> None:
    assert told(split, scored=False) == []


def test_losses_that_are_added_up_before_a_backward() -> None:
    model, total = nn.Linear(3, 1), torch.zeros(())
    with watching(HeldOutPasses) as run:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for number, rows in enumerate(4 * TRAINED.split(4)):
            total = total + nn.functional.mse_loss(model(rows), rows[:, :1])
            if number % 4 == 3:
                total.backward()
                optimizer.step()
                optimizer.zero_grad()
                total = torch.zeros(())
        run.find(HeldOutPasses).finish()
        assert run.of(HeldOutScored) == []


def test_inputs_that_are_not_dense() -> None:
    layer = nn.Linear(3, 1)

    class Sparse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return torch.sparse.mm(rows, self.layer.weight.T)

    model = Sparse()
    with watching(HeldOutPasses) as run:
        model(torch.eye(3).to_sparse()).sum().backward()
        run.find(HeldOutPasses).finish()
        assert run.of(InstrumentFailed) == run.of(HeldOutScored) == []
