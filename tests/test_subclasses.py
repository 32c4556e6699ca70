"""Tensors that are not what they look like: whether they are asked, and which parts hold their values."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.two_tensor import TwoTensor

from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.subclasses import (
    dispatches,
    gradient_of,
    is_leaf,
    node_of,
    plain_parts,
    storage_address,
    storages_of,
    version_of,
)
from autograd_doctor.reading.tensor_facts import describe


class Plain(torch.Tensor):
    """A subclass with no dispatch of its own."""


class Mute(torch.Tensor):
    """A wrapper that does not say which tensors it holds."""

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> Mute:
        made: Mute = torch.Tensor._make_wrapper_subclass(cls, held.shape)
        return made

    @classmethod
    def __torch_dispatch__(cls, *_: Any) -> Any:
        raise AssertionError("something of the program ran")


def two() -> tuple[Any, torch.Tensor, torch.Tensor]:
    first, second = torch.ones(2), torch.ones(2)
    return TwoTensor(first, second), first, second


def pointers(tensor: torch.Tensor) -> list[int]:
    return [part.data_ptr() for part in plain_parts(tensor)]


def test_only_subclasses_with_a_dispatch_of_their_own_are_not_asked() -> None:
    plain = [torch.ones(1), nn.Parameter(torch.ones(1)), torch.ones(1).as_subclass(Plain)]
    assert [dispatches(tensor) for tensor in plain] == [False, False, False]
    assert dispatches(two()[0])
    assert dispatches(Mute(torch.ones(1)))


def test_a_dense_tensor_is_its_own_part() -> None:
    tensor = torch.ones(2, requires_grad=True)
    (part,) = plain_parts(tensor)
    assert (part.data_ptr(), part.requires_grad) == (tensor.data_ptr(), False)
    assert len(list(plain_parts(torch.empty(0)))) == 1


def test_a_wrapper_that_says_so_has_several_parts() -> None:
    wrapper, first, second = two()
    assert pointers(wrapper) == [first.data_ptr(), second.data_ptr()]


def test_a_sparse_tensor_has_its_values() -> None:
    sparse = torch.eye(3).to_sparse()
    assert [part.tolist() for part in plain_parts(sparse)] == [[1, 1, 1]]
    assert [part.tolist() for part in plain_parts(torch.eye(3).to_sparse_csr())] == [[1, 1, 1]]


def freed() -> torch.Tensor:
    tensor = torch.ones(2)
    tensor.untyped_storage().resize_(0)
    return tensor


def fake() -> torch.Tensor:
    with FakeTensorMode():
        return torch.ones(2)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(2, device="meta"),
        freed(),
        fake(),
        Mute(torch.ones(2)),
        nn.UninitializedParameter(),
        torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]),
    ],
    ids=["meta", "freed", "fake", "mute", "lazy", "nested"],
)
def test_what_holds_no_values_here_has_no_parts(tensor: torch.Tensor) -> None:
    assert list(plain_parts(tensor)) == []
    assert storage_address(tensor) == 0


def test_versions_count_changes_of_all_parts() -> None:
    plain, (wrapper, first, second) = torch.ones(2), two()
    before = version_of(plain), version_of(wrapper), version_of(plain.as_subclass(Plain))
    plain.add_(1)
    first.add_(1)
    second.add_(1)
    assert (version_of(plain) - before[0], version_of(wrapper) - before[1]) == (1, 2)


def test_storages_are_told_with_their_bytes() -> None:
    tensor = torch.ones(4)
    assert list(storages_of(tensor[1:])) == [(tensor.data_ptr(), 16)]
    assert storage_address(tensor[1:]) == tensor.data_ptr()


@pytest.mark.parametrize("transform", [torch.func.vmap, torch.func.grad])
def test_a_tensor_under_a_transform_holds_no_values_to_look_at(transform: Any) -> None:
    told: list[Any] = []

    def function(x: torch.Tensor) -> torch.Tensor:
        told.extend([*plain_parts(x), *storages_of(x)])
        return x.sum()

    transform(function)(torch.ones(2))
    assert told == []


def test_a_tensor_of_inference_mode_has_no_version() -> None:
    with torch.inference_mode():
        made = torch.ones(2)
        made.add_(1)
    assert version_of(made) == version_of(TwoTensor(made, made)) == 0


def test_a_view_that_refuses_to_say_is_a_leaf_without_a_graph() -> None:
    weight = nn.Parameter(torch.ones(3, 2))
    with torch.no_grad():
        view, other = weight[0], weight[1]
        view.fill_(0.0)
    for each in (view, other):
        with pytest.raises(RuntimeError, match="no_grad"):
            _ = each.is_leaf
        assert is_leaf(each)
        assert node_of(each) is None
        assert gradient_of(each) is None
        assert not has_graph(each)
        assert describe(each).is_leaf
    assert not is_leaf(weight * 2)
