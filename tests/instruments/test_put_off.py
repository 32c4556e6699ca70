"""What lies on an accelerator is read together, and says the same as what is read at once.

Tensors of the processor stand in for those of an accelerator: the one question that tells these apart is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import LayersMeasured, NonFiniteInput, NonFiniteProduced
from autograd_doctor.events.steps import NonFiniteGradient
from autograd_doctor.instruments.numerics import nonfinite
from autograd_doctor.instruments.numerics.activations import Activations
from autograd_doctor.instruments.numerics.autopsies import Autopsies
from autograd_doctor.instruments.numerics.carried_values import CarriedValues
from autograd_doctor.instruments.numerics.layers import Layers
from autograd_doctor.instruments.numerics.nonfinite import NonFinite
from autograd_doctor.instruments.numerics.spoiled_updates import SpoiledUpdates
from autograd_doctor.instruments.numerics.update_sizes import UpdateSizes
from autograd_doctor.reading import graph_walk, put_off
from tests.watching import watching

INF = float("inf")
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Of what a model gives out, and its input."""


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    def pretend(yes: bool) -> None:
        for module in (nonfinite, graph_walk):
            monkeypatch.setattr(module, "is_remote", lambda tensor: yes)

    return pretend


def told(loss_of: Loss, *, steps: int = 3, x: torch.Tensor | None = None) -> list[Event]:
    torch.manual_seed(0)
    with watching(NonFinite, Autopsies, SpoiledUpdates, Layers) as run:
        layer = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3))
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
        given = torch.randn(8, 3) if x is None else x
        for _ in range(steps):
            optimizer.zero_grad()
            loss_of(layer(given), given).backward()
            optimizer.step()
        return [*run.of(NonFiniteProduced), *run.of(NonFiniteInput), *run.of(NonFiniteGradient)]


def facts(event: Event) -> tuple[Any, ...]:
    if isinstance(event, NonFiniteInput):
        return type(event), event.step, event.location
    assert isinstance(event, NonFiniteProduced | NonFiniteGradient)
    return type(event), event.step, event.operation, event.location, event.low_precision or None


def masked(out: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return out.masked_fill(x > 0, -INF).softmax(1).square().sum()


def masked_altogether(out: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (out.masked_fill(x < INF, -INF).logsumexp(1) * 0).sum()


def spoiled_gradient(out: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (out * 0).sqrt().sum()


def in_half(out: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (out * 1e6).half().float().sum()


def product_in_half(out: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return ((out.half() * 200) @ (x.half() * 10000).T).float().sum()


def logarithm(out: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (out.relu().log() * 2 + 1).mean()


def in_place(out: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    spread = out - out.max()
    spread.mul_(-1e4).exp_()
    return spread.sum()


def read_only(out: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    loss = out.log().mean()
    return out.sum() if torch.isnan(loss) else loss


@pytest.mark.parametrize(
    "loss_of",
    [
        logarithm,
        masked,
        masked_altogether,
        spoiled_gradient,
        in_half,
        product_in_half,
        in_place,
        read_only,
        lambda out, x: out.sum(),
    ],
)
def test_the_same_is_told_of_an_accelerator(remote: Callable[[bool], None], loss_of: Loss) -> None:
    remote(False)
    near = told(loss_of)
    remote(True)
    assert list(map(facts, told(loss_of))) == list(map(facts, near))


def test_data_that_come_in_spoiled_are_told(remote: Callable[[bool], None]) -> None:
    remote(True)
    (event,) = told(lambda out, x: out.sum(), steps=1, x=torch.full((8, 3), INF))[:1]
    assert isinstance(event, NonFiniteInput)
    assert event.tensor.shape == [8, 3]


def test_what_the_graph_saved_tells_ranges(remote: Callable[[bool], None]) -> None:
    remote(True)
    event = told(logarithm)[0]
    assert isinstance(event, NonFiniteProduced)
    assert event.operands[0].low == 0.0
    assert event.rows != []


def reads(monkeypatch: pytest.MonkeyPatch, operations: int) -> int:
    """How often values were read in the second of three steps with so many operations."""
    counted = 0

    def counting(original: Callable[..., Any]) -> Callable[..., Any]:
        def read(*args: Any, **kwargs: Any) -> Any:
            nonlocal counted
            counted += 1
            return original(*args, **kwargs)

        return read

    with watching(NonFinite, Autopsies, SpoiledUpdates, Layers, Activations, UpdateSizes, CarriedValues):
        layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(operations)))
        optimizer = torch.optim.SGD(layers.parameters(), lr=0.01)
        for step in range(3):
            with monkeypatch.context() as patched:
                for name in ("item", "tolist", "__bool__", "__float__", "__int__") if step == 1 else ():
                    patched.setattr(torch.Tensor, name, counting(getattr(torch.Tensor, name)))
                optimizer.zero_grad()
                hidden = torch.ones(2, 4)
                for layer in layers:
                    hidden = torch.tanh(layer(hidden).relu())
                hidden.sum().backward()
                optimizer.step()
    return counted


def test_an_accelerator_is_not_waited_for_at_each_operation(
    remote: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    remote(True)
    assert reads(monkeypatch, 2) == reads(monkeypatch, 20)


def test_looks_that_wait_for_ever_are_read_at_last(
    remote: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    remote(True)
    monkeypatch.setattr(nonfinite, "_MOST_WAITING", 5)
    calls = []
    monkeypatch.setattr(put_off, "read_together", lambda tensors: calls.append(len(tensors)) or [0.0] * len(tensors))
    with watching(NonFinite):
        hidden = torch.ones(3)
        for _ in range(12):
            hidden = hidden * 2
    assert len(calls) == 2


def test_layers_are_measured_all_the_same(remote: Callable[[bool], None]) -> None:
    measured = []
    for yes in (False, True):
        remote(yes)
        torch.manual_seed(0)
        with watching(Layers) as run:
            layer = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
            layer(torch.ones(2, 3)).sum().backward()
            (event,) = run.of(LayersMeasured)
            measured.append([gradient for each in event.layers for gradient in each.gradients])
    assert measured[0] == pytest.approx(measured[1])
