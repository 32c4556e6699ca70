"""States that batches of randomly drawn rows leave to one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from autograd_doctor.events.data import StateOfOthersUsed
from autograd_doctor.instruments.data.states_of_others import StatesOfOthers
from tests.watching import watching

ROWS, BATCH, LENGTH, SIZE = 100, 8, 6, 8
Draw = Callable[[int], torch.Tensor]
Keep = Callable[[torch.Tensor], torch.Tensor]
DATA = torch.randn(ROWS, LENGTH, 3, generator=torch.Generator().manual_seed(0))
ORDER = torch.arange(ROWS)


def used(draw: Draw, keep: Keep = torch.Tensor.detach, *, batch_first: bool = True) -> list[StateOfOthersUsed]:
    """What is told of four steps that each draw a batch, and hand on a state."""
    torch.manual_seed(0)
    with watching(StatesOfOthers) as recorded:
        layer = nn.GRU(3, SIZE, batch_first=batch_first)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        state = torch.zeros(1, BATCH, SIZE)
        for step in range(4):
            x = draw(step)
            output, last = layer(x if batch_first else x.transpose(0, 1), state)
            output.square().mean().backward()
            optimizer.step()
            state = keep(last)
    assert not recorded.failures
    return recorded.of(StateOfOthersUsed)


def at_random(step: int) -> torch.Tensor:
    return DATA[torch.randint(ROWS, (BATCH,))]


@pytest.mark.parametrize("batch_first", [True, False])
def test_each_row_goes_on_with_the_state_of_another(batch_first: bool) -> None:
    (event,) = used(at_random, batch_first=batch_first)
    assert (event.by, event.rows, event.steps, event.step, event.name) == ("index", BATCH, 3, 1, "last")
    assert event.location is not None
    assert event.kept_at is not None


@pytest.mark.parametrize(
    "draw",
    [
        lambda step: DATA.index_select(0, torch.randperm(ROWS)[:BATCH]),
        lambda step: DATA[(ROWS * torch.rand(BATCH)).long()],
        lambda step: DATA.transpose(0, 1)[:, torch.randint(ROWS, (BATCH,))].transpose(0, 1).contiguous(),
        lambda step: DATA.flatten()[torch.randint(900, (BATCH, 1)) + torch.arange(18)].view(BATCH, LENGTH, 3),
        lambda step: torch.stack([DATA[int(row)] for row in torch.randint(ROWS, (BATCH,))]),
    ],
    ids=["an order", "shares", "the second axis", "windows", "stacked"],
)
def test_ways_to_draw_rows(draw: Draw) -> None:
    assert used(draw)


@pytest.mark.parametrize("shuffle", [True, False])
def test_a_loader(shuffle: bool) -> None:
    passes: list[Iterator[list[torch.Tensor]]] = []

    def draw(step: int) -> torch.Tensor:
        if not passes:
            passes.append(iter(DataLoader(TensorDataset(DATA), BATCH, shuffle=shuffle)))
        return next(passes[0])[0]

    assert [event.by for event in used(draw)] == (["loader"] if shuffle else [])


@pytest.mark.parametrize(
    "draw",
    [
        lambda step: DATA[BATCH * step : BATCH * (step + 1)],
        lambda step: DATA[torch.arange(BATCH) * 10 + step],
        lambda step: DATA[torch.arange(BATCH) * 10 + step + torch.randint(2, (BATCH,))],
        lambda step: DATA[torch.randint(ROWS, (BATCH,), generator=torch.Generator().manual_seed(0))],
        lambda step: torch.randn(BATCH, LENGTH, 3),
    ],
    ids=["in order", "streams", "streams with gaps", "the same rows", "noise"],
)
def test_rows_that_go_on_or_are_of_no_data(draw: Draw) -> None:
    assert not used(draw)


@pytest.mark.parametrize(
    "keep",
    [
        torch.zeros_like,
        lambda last: last.detach() * torch.zeros(1, BATCH, 1),
        lambda last: torch.where(torch.ones(1, BATCH, 1) > 0, 0.0, last.detach()),
        lambda last: last.detach().mean(1, keepdim=True).expand(-1, BATCH, -1).contiguous(),
        lambda last: last.detach()[:, torch.randperm(BATCH)],
        lambda last: last.detach().index_fill_(1, torch.tensor([0]), 0.0),
        lambda last: torch.from_numpy(last.detach().numpy().copy()),
    ],
    ids=[
        "zeros",
        "a mask",
        "a choice",
        "the mean of the rows",
        "rows put elsewhere",
        "one begins anew",
        "not followed",
    ],
)
def test_states_that_are_not_those_of_other_rows(keep: Keep) -> None:
    assert not used(at_random, keep)


def test_a_buffer_that_the_state_is_written_to() -> None:
    buffer = torch.zeros(1, BATCH, SIZE)
    assert used(at_random, lambda last: buffer.copy_(last.detach()))
    assert not used(at_random, lambda last: buffer.copy_(last.detach()).zero_())
