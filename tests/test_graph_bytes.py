"""The bytes that a graph keeps, against models small enough to add up by hand (float32: four bytes a value)."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from autograd_doctor.reading.graph_bytes import saved_bytes
from autograd_doctor.reading.torch_versions import packing_watched

ROWS, INPUTS, OUTPUTS = 100, 30, 50
BATCH = 4 * ROWS * INPUTS
ACTIVATION = 4 * ROWS * OUTPUTS


@pytest.fixture(autouse=True)
def _as_in_a_session() -> Iterator[None]:
    with packing_watched():
        yield


class Keeps(torch.autograd.Function):
    """Saves its input the proper way and a copy of it the improper way."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.doubled = [x * 2]
        return x * 3

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0].sign()


def shares_one_storage(linear: nn.Linear, x: Tensor) -> Tensor:
    hidden = linear(x)
    return hidden * hidden + (hidden.view(-1) * hidden.flatten()).view(ROWS, OUTPUTS)


def offloads(linear: nn.Linear, x: Tensor) -> Tensor:
    with torch.autograd.graph.save_on_cpu():
        return linear(x).exp()


def in_checkpoint(linear: nn.Linear, x: Tensor) -> Tensor:
    return checkpoint(lambda batch: linear(batch).relu().exp(), x, use_reentrant=False, preserve_rng_state=False)


def in_reentrant_checkpoint(linear: nn.Linear, x: Tensor) -> Tensor:
    batch = x.clone().requires_grad_().clone()
    return checkpoint(lambda b: linear(b).relu(), batch, use_reentrant=True, preserve_rng_state=False)


def through_frozen(linear: nn.Linear, x: Tensor) -> Tensor:
    frozen = nn.Linear(OUTPUTS, 7).requires_grad_(False)
    return frozen(linear(x))


MODELS: list[tuple[Callable[[nn.Linear, Tensor], Tensor], int, int]] = [
    (lambda linear, x: linear(x).relu().exp(), BATCH + 2 * ACTIVATION, 0),
    (lambda linear, x: Keeps.apply(linear(x)), BATCH + 2 * ACTIVATION, ACTIVATION),
    (shares_one_storage, BATCH + ACTIVATION, 0),
    (offloads, BATCH + ACTIVATION, 0),
    (in_checkpoint, BATCH, 0),
    (in_reentrant_checkpoint, BATCH, 0),
    (through_frozen, BATCH, 0),
]


@pytest.mark.parametrize(("model", "before", "after"), MODELS)
def test_bytes_before_and_after_backward(model, before, after):
    linear, x = nn.Linear(INPUTS, OUTPUTS), torch.randn(ROWS, INPUTS)
    output = model(linear, x)

    assert saved_bytes([output]).bytes == before
    assert not saved_bytes([output]).freed

    output.sum().backward()
    assert saved_bytes([output]).bytes == after
    assert saved_bytes([output]).freed


def test_what_is_held_anyway_is_left_out():
    x = torch.randn(ROWS, INPUTS)
    assert saved_bytes([nn.Linear(INPUTS, OUTPUTS)(x)], held_anyway=[x[:5]]).bytes == 0


def test_the_graph_of_what_is_held_anyway_is_left_out():
    first, second = nn.Linear(INPUTS, OUTPUTS), nn.Linear(OUTPUTS, 7)
    hidden = first(torch.randn(ROWS, INPUTS)).exp()
    assert saved_bytes([second(hidden).exp()]).bytes == BATCH + ACTIVATION + 4 * ROWS * 7
    assert saved_bytes([second(hidden).exp()], held_anyway=[hidden]).bytes == 4 * ROWS * 7


def test_graphs_are_measured_together():
    linear, x = nn.Linear(INPUTS, OUTPUTS), torch.randn(ROWS, INPUTS)
    one, two = linear(x).exp(), linear(x).exp()
    assert saved_bytes([one, two]).bytes == BATCH + 2 * ACTIVATION
    leaves = 2
    assert saved_bytes([one, two]).nodes == 2 * saved_bytes([one]).nodes - leaves


def test_a_tensor_without_graph_keeps_nothing():
    assert saved_bytes([torch.ones(3), torch.ones(3, requires_grad=True)]) == (0, 0, False)


def test_a_checkpoint_is_not_recomputed_by_looking():
    calls = []
    linear, x = nn.Linear(INPUTS, OUTPUTS), torch.randn(ROWS, INPUTS)
    output = checkpoint(lambda batch: calls.append(1) or linear(batch).exp(), x, use_reentrant=False)
    saved_bytes([output])
    assert calls == [1]


def test_the_sum_is_what_the_graph_really_keeps():
    """Against the tensors that die with the graph, as the garbage collector and the reference counts see them."""
    mlp = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 64), nn.Tanh())
    sizes: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        if not isinstance(tensor, nn.Parameter) and not isinstance(tensor._base, nn.Parameter):
            sizes[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = mlp(torch.randn(32, 64))
    assert saved_bytes([output]).bytes == pytest.approx(sum(sizes.values()), rel=0.1)


def test_looking_keeps_nothing_alive():
    output = nn.Linear(INPUTS, OUTPUTS)(torch.randn(ROWS, INPUTS)).exp()
    storage = weakref.ref(output.grad_fn._saved_result.untyped_storage())
    kept = weakref.ref(output)
    gc.disable()
    try:
        saved_bytes([output])
        del output
        assert kept() is None
        assert storage() is None
    finally:
        gc.enable()
