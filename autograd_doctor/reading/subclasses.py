"""Tensors that are not what they look like: subclasses that dispatch by themselves, such as fakes and `DTensor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from autograd_doctor.reading.without_running import attributes, is_a

_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})
_COMPRESSED = frozenset({torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc})
_PLAIN_DISPATCH = torch.Tensor.__torch_dispatch__
_detach = torch.Tensor.detach
"""As it was before anybody listened to who calls it."""


def is_parameter(thing: object) -> bool:
    """As `isinstance(thing, nn.Parameter)`, which also goes by a mark that parameters of other classes carry."""
    if is_a(thing, torch.nn.Parameter):
        return True
    return is_a(thing, torch.Tensor) and attributes(thing).get("_is_param") is True


def is_plain(thing: object) -> bool:
    """Whether it is a tensor of torch's own class, or a parameter."""
    return type(thing) in _PLAIN


def dispatches(tensor: torch.Tensor) -> bool:
    """Whether what is done with a tensor runs code of its class: reading it could fail, or talk to other processes."""
    kind = type(tensor)
    return kind not in _PLAIN and kind.__torch_dispatch__ is not _PLAIN_DISPATCH


def plain_parts(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The dense tensors of this process that hold the values: the values of a sparse one, the shard of a `DTensor`.

    None for those that hold no values (lazy, meta, fakes, freed by a framework, under a transform of functions), or
    do not say which (`__tensor_flatten__` is how classes say it).
    """
    of_torch = is_plain(tensor)
    if (not of_torch and is_lazy(tensor)) or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return
    if not of_torch and dispatches(tensor):
        flatten = getattr(type(tensor), "__tensor_flatten__", None)
        inner = [getattr(tensor, name, None) for name in flatten(tensor)[0]] if flatten is not None else []
        for part in inner:
            if isinstance(part, torch.Tensor):
                yield from plain_parts(part)
    elif tensor.layout is not torch.strided:
        plain = _detach(tensor)
        yield plain.coalesce()._values() if tensor.layout is torch.sparse_coo else plain.values()
    elif not tensor.is_meta and not tensor.is_nested and (tensor.untyped_storage().nbytes() or not tensor.numel()):
        yield _detach(tensor)


def node_of(tensor: torch.Tensor) -> Any:
    """The backward node of a tensor, its `grad_fn`; None for a leaf.

    A view made under `no_grad` refuses to say once its base was written to; it has none that could be used.
    """
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def is_leaf(tensor: torch.Tensor) -> bool:
    """As torch tells it, also of a view that refuses to."""
    return node_of(tensor) is None


def gradient_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """Its `.grad`; torch warns where that of a tensor is asked for that is no leaf, and so has none."""
    return tensor.grad if is_leaf(tensor) else None


def bytes_of(tensor: torch.Tensor) -> int:
    """Of the values that a tensor stores; torch does not say it of sparse ones."""
    if tensor.layout is torch.sparse_coo:
        return tensor._values().nbytes
    if tensor.layout in _COMPRESSED:
        return tensor.values().nbytes
    return tensor.nbytes


def version_of(tensor: torch.Tensor) -> int:
    """The version counter; for a tensor that dispatches those of its parts, which frameworks write to behind it.

    Tensors of inference mode have none.
    """
    if tensor.is_inference():
        return 0
    if type(tensor) in _PLAIN or not dispatches(tensor):
        return tensor._version
    return sum(map(version_of, plain_parts(tensor)))


def storages_of(tensor: torch.Tensor) -> Iterator[tuple[int, int]]:
    """Address and bytes of the storages that hold the values, without those that cannot be asked."""
    for part in plain_parts(tensor):
        try:
            storage = part.untyped_storage()
            yield storage.data_ptr(), storage.nbytes()
        except RuntimeError:  # what a framework has freed
            continue


def storage_address(tensor: torch.Tensor) -> int:
    """Where the storage of a tensor, or of its first part, begins; 0 if there is none."""
    return next(storages_of(tensor), (0, 0))[0]
