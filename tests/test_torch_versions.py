"""What releases of torch differ in: what an older one needs is tried with a newer one, too, where that can do it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._C._autograd import SavedTensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from autograd_doctor.reading import torch_versions
from autograd_doctor.reading.graph_bytes import saved_bytes
from autograd_doctor.reading.torch_versions import (
    Packed,
    accelerator_in_use,
    allocated_bytes,
    clones,
    packed,
    packing_watched,
    random_states,
    torch_refers,
)
from autograd_doctor.reading.trials import alone


@pytest.fixture(params=[True, False], ids=["as it is", "by unpacking"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(torch_versions, "_TELL_PACKED", torch_versions._TELL_PACKED and request.param)
    with packing_watched():
        yield


both_ways = pytest.mark.usefixtures("_both_ways")


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient * 2


def leaf() -> torch.Tensor:
    return torch.ones(3, requires_grad=True)


@both_ways
def test_what_a_node_saved_is_told_until_it_is_freed() -> None:
    x = leaf()
    output = x.exp()
    (entry,) = packed(output.grad_fn, "_saved_result")
    assert entry.unpack_hook is None
    assert entry.data.data_ptr() == output.data_ptr()
    output.sum().backward()
    assert [entry.data for entry in packed(output.grad_fn, "_saved_result")] == [None]


@both_ways
def test_of_a_list_all_are_told() -> None:
    x, rows = leaf().exp(), torch.tensor([0, 1])
    assert [entry.data.tolist() for entry in packed(x[rows].grad_fn, "_saved_indices")] == [[0, 1]]


@both_ways
def test_what_was_changed_in_place_is_held_all_the_same() -> None:
    output = leaf().exp()
    output.detach().mul_(2)
    (entry,) = packed(output.grad_fn, "_saved_result")
    assert entry.data is not None
    assert not saved_bytes([output]).freed


@both_ways
def test_a_custom_function_tells_what_it_saved_and_refuses_once_freed() -> None:
    x = leaf()
    output = Doubled.apply(x)  # type: ignore[no-untyped-call]
    assert [entry.data.data_ptr() for entry in packed(output.grad_fn, "_saved_tensors")] == [x.data_ptr()]
    output.sum().backward()
    with pytest.raises(RuntimeError):
        packed(output.grad_fn, "_saved_tensors")


@both_ways
def test_hooks_are_told_and_not_run_by_looking() -> None:
    ran: list[str] = []

    def unpack(number: int) -> torch.Tensor:
        ran.append("unpacked")
        return torch.full((3,), float(number))

    x = leaf()
    with saved_tensors_hooks(lambda tensor: 7, unpack):
        output = x.exp()
    assert packed(output.grad_fn, "_saved_result") == [Packed(7, unpack)]
    assert ran == []
    output.sum().backward()
    assert ran == ["unpacked"]
    assert x.grad is not None
    assert x.grad.tolist() == [7.0] * 3


@both_ways
def test_hooks_on_a_saved_tensor_are_told_and_not_run_by_looking() -> None:
    x = leaf()
    output = x.exp()
    node: Any = output.grad_fn
    node._raw_saved_result.register_hooks(lambda tensor: 7, lambda number: torch.full((3,), float(number)))
    (entry,) = packed(node, "_saved_result")
    assert entry.data == 7
    assert entry.unpack_hook is not None
    output.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [7.0] * 3


@both_ways
def test_a_checkpoint_keeps_the_inputs_of_its_segment_and_is_not_run() -> None:
    runs: list[int] = []
    x = torch.ones(10, requires_grad=True).exp()

    def segment(batch: torch.Tensor) -> torch.Tensor:
        runs.append(1)
        return batch.exp().log()

    output = checkpoint(segment, x, use_reentrant=False)
    assert saved_bytes([output]).bytes == x.nbytes
    assert len(runs) == 1


def test_torch_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_versions, "_TELL_PACKED", False)
    owners: Any = ((torch._C._autograd, "_push_saved_tensors_default_hooks"), (SavedTensor, "register_hooks"))
    before = [vars(owner)[name] for owner, name in owners]
    with packing_watched():
        assert all(vars(owner)[name] is not was for (owner, name), was in zip(owners, before, strict=True))
    assert all(vars(owner)[name] is was for (owner, name), was in zip(owners, before, strict=True))


def test_copies_are_made_one_by_one_where_torch_cannot_do_better(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = [torch.ones(2), torch.zeros(1)]
    monkeypatch.delattr(torch, "_foreach_clone", raising=False)
    copies = clones(tensors)
    tensors[0].add_(1)
    assert [copy.tolist() for copy in copies] == [[1.0, 1.0], [0.0]]


def test_references_of_torchs_own_are_told_apart() -> None:
    def referred_to_elsewhere(tensor: Any) -> int:
        own = torch_refers(tensor)
        return sys.getrefcount(tensor) - own

    alone = referred_to_elsewhere(torch.ones(1))
    saved = torch.ones(1)
    holder = torch.ones(1)
    holder.grad = saved
    del saved
    by_torch = referred_to_elsewhere(holder.grad)
    assert by_torch == alone


def test_the_generator_of_an_accelerator_in_use_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dropout there draws from it, and leaves that of the CPU where it was."""
    state = torch.zeros(2, dtype=torch.uint8)
    pretended = SimpleNamespace(get_rng_state=lambda: state)
    monkeypatch.setattr(torch, "pretended", pretended, raising=False)
    monkeypatch.setattr(torch_versions, "accelerator_in_use", lambda: "pretended")
    before = random_states()
    assert random_states() == before
    state += 1
    assert random_states() != before
    monkeypatch.setattr(torch_versions, "accelerator_in_use", lambda: None)
    assert random_states() == before[:1]


def test_an_accelerator_that_does_not_know_its_memory_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> bool:
        raise RuntimeError("Allocator for other is not a DeviceAllocator.")

    monkeypatch.setattr(torch_versions, "accelerator", lambda: "other")
    monkeypatch.setattr(torch._C, "_accelerator_isAllocatorInitialized", refuse, raising=False)
    assert accelerator_in_use() is None
    assert allocated_bytes() is None


def test_trials_set_up_no_accelerator_and_leave_it_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that trains on the CPU of a machine with two GPUs, and may use one of them later."""
    asked: list[str] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: asked.append("state"))
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, device: asked.append("state"))
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda seed: asked.append("seed"))
    before = torch.get_rng_state()
    with alone(seed=1):
        first = torch.rand(3)
    with alone(seed=1):
        again = torch.rand(3)
    assert torch.equal(first, again)
    assert torch.equal(torch.get_rng_state(), before)
    assert asked == []
