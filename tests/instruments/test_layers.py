"""Gradients at the layers of a backward, as they are stated."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.numerics import LayersMeasured
from autograd_doctor.instruments.numerics import layers as module
from autograd_doctor.instruments.numerics.layers import Layers
from autograd_doctor.instruments.spine.detail import CLOSE_STEPS
from autograd_doctor.signals.backward import BackwardCall
from tests.inventing import Invented, inventing


def weights() -> tuple[nn.Parameter, nn.Parameter]:
    return nn.Parameter(torch.full((2, 3), 0.5)), nn.Parameter(torch.full((3, 2), 2.0))


def forward(run: Invented, first: nn.Parameter, second: nn.Parameter) -> torch.Tensor:
    """Two layers, on one row of ones."""
    hidden = run.operated("linear", torch.ones(1, 3) @ first.T, first)
    output = run.operated("matmul", hidden @ second.T, hidden, second)
    loss: torch.Tensor = run.operated("sum", output.sum(), output)
    return loss


def test_layers_are_told_from_the_loss_on_with_lines_and_gradients() -> None:
    first, second = weights()
    with inventing(Layers) as run:
        run.ran_backward(forward(run, first, second))
        (event,) = run.of(LayersMeasured)
        near, far = event.layers
        assert (near.parameters, far.parameters) == ([run.number(second)], [run.number(first)])
        assert (near.operation, far.operation) == ("matmul", "linear")
        assert near.gradients == pytest.approx([3**0.5])
        assert far.gradients == pytest.approx([72**0.5])
        assert (event.step, event.backward) == (0, 0)
        assert near.location is not None
        assert event.location not in (None, near.location)


def test_a_backward_that_passes_no_layer_is_not_told() -> None:
    scale = nn.Parameter(torch.ones(3))
    with inventing(Layers) as run:
        run.ran_backward(run.operated("sum", (scale * 2.0).sum(), scale))
        assert run.of(LayersMeasured) == []


def test_only_backwards_whose_gradients_are_looked_at_are_measured() -> None:
    first, second = weights()
    optimizer = SGD([first, second], lr=0.0)
    with inventing(Layers) as run:
        run.signals.optimizers.built.send(optimizer)
        for _ in range(CLOSE_STEPS + 3):
            run.ran_backward(forward(run, first, second))
            with run.step(optimizer):
                pass
        assert [event.step for event in run.of(LayersMeasured)] == list(range(CLOSE_STEPS))


def test_a_line_is_measured_a_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_PER_LINE", 2)
    with inventing(Layers) as run:
        for _ in range(4):
            run.ran_backward(forward(run, *weights()))
        loss = forward(run, *weights())
        run.signals.backward.began.send(call := BackwardCall([loss], False, False, (), "backward"))
        loss.backward()
        run.signals.backward.ended.send(call)
        assert [event.backward for event in run.of(LayersMeasured)] == [0, 1, 4]
