"""Outputs that are the same for all samples, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from autograd_doctor.events.losses import OutputMoved, OutputStoodStill
from autograd_doctor.instruments.losses.still_outputs import StillOutputs
from tests.watching import Recorded, watching

Forward = Callable[["Net", torch.Tensor], torch.Tensor]


class Net(nn.Module):
    def __init__(self, compute: Forward) -> None:
        super().__init__()
        self.compute = compute
        self.hidden, self.head = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.compute(self, x)


@contextmanager
def trained(compute: Forward, *, rows: int = 4, same: bool = False) -> Iterator[Recorded]:
    torch.manual_seed(0)
    net = Net(compute)
    with watching(StillOutputs) as recorded:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            x = torch.ones(rows, 3) if same else torch.randn(rows, 3)
            net(x).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        yield recorded


def test_each_step_is_told_with_the_operation_that_lost_the_input() -> None:
    with trained(lambda net, x: net.head(net.hidden(torch.sign(x.clamp(9, 9))))) as recorded:
        events = recorded.of(OutputStoodStill)
    assert [event.step for event in events] == [0, 1, 2]
    assert (events[0].samples, events[0].shape, events[0].operation) == (4, [4, 2], "")
    assert [event.operation for event in events[1:]] == ["clamp", "clamp"]
    assert events[1].at is not None
    assert events[0].location is not None


def test_the_last_operation_counts() -> None:
    with trained(lambda net, x: net.head(net.hidden(x) * 0 + net.hidden(x.clamp(9, 9)))) as recorded:
        assert [event.operation for event in recorded.of(OutputStoodStill)[1:]] == ["clamp", "clamp"]
    with trained(lambda net, x: net.head((net.hidden(x.clamp(9, 9)) + net.hidden(x)).mul(0))) as recorded:
        assert [event.operation for event in recorded.of(OutputStoodStill)[1:]] == ["mul", "mul"]


def test_an_output_that_begins_to_move_is_told_once() -> None:
    def begins_at_zero(net: Net, x: torch.Tensor) -> torch.Tensor:
        if not hasattr(net, "called"):
            net.called = True  # type: ignore[assignment]
            nn.init.zeros_(net.head.weight)
        return net.head(net.hidden(x))

    with trained(begins_at_zero) as recorded:
        assert [event.step for event in recorded.of(OutputStoodStill)] == [0]
        assert [event.step for event in recorded.of(OutputMoved)] == [1]


def test_what_moves_from_the_start_is_not_told_of() -> None:
    with trained(lambda net, x: net.head(net.hidden(x))) as recorded:
        assert not recorded.of(OutputStoodStill) + recorded.of(OutputMoved)


def test_inputs_that_are_the_same_and_single_samples_tell_nothing() -> None:
    compute: Forward = lambda net, x: net.head(net.hidden(x * 0))  # noqa: E731
    with trained(compute, same=True) as recorded:
        assert not recorded.of(OutputStoodStill)
    with trained(compute, rows=1) as recorded:
        assert not recorded.of(OutputStoodStill)


def test_outputs_without_samples_tell_nothing() -> None:
    with trained(lambda net, x: net.head(net.hidden(x * 0)).mean(0)) as recorded:
        assert not recorded.of(OutputStoodStill)


def test_whether_anything_looked_at_the_input_is_told_from_the_second_step_on() -> None:
    with trained(lambda net, x: net.head(net.hidden(x.new_ones(len(x), 3)))) as recorded:
        assert [event.reads for event in recorded.of(OutputStoodStill)] == [None, False, False]
    with trained(lambda net, x: net.head.bias.sigmoid().expand(len(x), 2)) as recorded:
        assert [event.reads for event in recorded.of(OutputStoodStill)] == [None, False, False]
    with trained(lambda net, x: net.head(net.hidden(x).mul(0))) as recorded:
        assert [event.reads for event in recorded.of(OutputStoodStill)] == [None, True, True]
