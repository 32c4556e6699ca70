"""What is worth saying about a tensor, as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from msgspec.structs import replace

from autograd_doctor.events.facts import GradSwitch, TensorFacts
from autograd_doctor.findings import Location
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.subclasses import dispatches, is_leaf, plain_parts, version_of

_AT_HOME: IdentityTable[tuple[int, torch.Tensor]] = IdentityTable()
"""Copies of what lies on accelerators, each with the version of the tensor, until the end of a step or the tensor's:
instruments that know nothing of one another look at the same few tensors."""
_MOST_AT_HOME = 250_000
"""Values of a tensor that is brought home whole."""
_LARGEST = 3e38
"""Of float32, about."""


def dtype_name(tensor: torch.Tensor) -> str:
    """Its dtype as people write it, without `torch.`."""
    return str(tensor.dtype).removeprefix("torch.")


def describe(
    tensor: torch.Tensor,
    *,
    name: str = "",
    operation: str = "",
    made_at: Location | None = None,
    ranges: bool = True,
    parameter: int | None = None,
    made_under: GradSwitch | None = None,
    drawn_from: Location | None = None,
) -> TensorFacts:
    """Shape, dtype and, with `ranges`, the extremes of the finite values and the counts of NaN and Inf.

    Call it in a look.
    """
    low, high, nan, inf = _range(tensor) if ranges and readable(tensor) else (None, None, 0, 0)
    return TensorFacts(
        shape=[] if tensor.is_nested else list(tensor.shape),
        dtype=dtype_name(tensor),
        name=name,
        device=str(tensor.device),
        requires_grad=tensor.requires_grad,
        is_leaf=is_leaf(tensor),
        operation=operation,
        made_at=made_at,
        low=low,
        high=high,
        nan=nan,
        inf=inf,
        numel=tensor.numel(),
        parameter=parameter,
        made_under=made_under,
        drawn_from=drawn_from,
    )


def with_value(facts: TensorFacts, value: float) -> TensorFacts:
    """Facts that were taken of a tensor of one value before that was known."""
    finite = value if math.isfinite(value) else None
    return replace(facts, low=finite, high=finite, nan=int(math.isnan(value)), inf=int(math.isinf(value)))


def _range(tensor: torch.Tensor) -> tuple[float | None, float | None, int, int]:
    """Extremes of the finite values, and how many are NaN and Inf."""
    values = tensor.detach()
    if values.numel() == 1:  # the loss of every step
        value = float(values)
        finite = value if math.isfinite(value) else None
        return finite, finite, int(math.isnan(value)), int(math.isinf(value))
    nan = inf = 0
    if values.is_floating_point():
        nan, inf = int(torch.isnan(values).sum()), int(torch.isinf(values).sum())
        values = values[torch.isfinite(values)] if nan or inf else values
    if not values.numel():
        return None, None, nan, inf
    return float(values.min()), float(values.max()), nan, inf


def readable(tensor: torch.Tensor) -> bool:
    """Whether the values of a tensor can simply be read: dense, real, with storage, not wrapped by a transform."""
    return (
        tensor.layout is torch.strided
        and not tensor.is_nested
        and tensor.device.type != "meta"
        and not tensor.is_complex()
        and not tensor.is_quantized
        and not dispatches(tensor)
        and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    )


def is_remote(tensor: torch.Tensor) -> bool:
    """Whether to read a value of it means to wait for an accelerator: such values are read together."""
    return tensor.device.type != "cpu"


def is_single(tensor: torch.Tensor) -> bool:
    """Whether it is one number, as most losses are, that can simply be read."""
    return tensor.numel() == 1 and readable(tensor)


def number_of(tensor: torch.Tensor) -> torch.Tensor:
    """That of a tensor of one value, as a tensor without dimensions to which nobody else writes, left where it lies."""
    return tensor.detach().clone().reshape(())


def is_checkable(tensor: torch.Tensor) -> bool:
    """Whether there are values to look at, which may be NaN or Inf."""
    return tensor.is_floating_point() and tensor.numel() > 0 and readable(tensor)


def at_home(tensor: torch.Tensor) -> torch.Tensor:
    """The values of a tensor where they can be looked at many times: itself, or a copy, for which an accelerator is
    waited for once in a step. It is for steps that are looked at closely, and for tensors of a few megabytes. Nobody
    may write to it."""
    if not is_remote(tensor):
        return tensor
    known = copy_at_home(tensor)
    if known is not None:
        return known
    copy = tensor.detach().cpu()
    came_home(tensor, copy)
    return copy


def copy_at_home(tensor: torch.Tensor) -> torch.Tensor | None:
    """The copy that somebody else has asked for in this step, and that is still the same."""
    known = _AT_HOME.get(tensor)
    return known[1] if known is not None and known[0] == version_of(tensor) else None


def near(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor, brought home where it is small and can be read: others look at it as well."""
    return at_home(tensor) if _is_small(tensor) else tensor


def are_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors hold the same values. Those of two devices are compared where both are small."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.device != other.device:
        one, other = near(one), near(other)
    return one.device == other.device and torch.equal(one, other)


def comes_home(tensor: torch.Tensor) -> bool:
    """Whether its values may be sent for: it is small and dense, and of no class of its own."""
    return _is_small(tensor) and tensor.layout is torch.strided and not dispatches(tensor)


def _is_small(tensor: torch.Tensor) -> bool:
    return 0 < tensor.numel() <= _MOST_AT_HOME and readable(tensor)


def came_home(tensor: torch.Tensor, copy: torch.Tensor) -> None:
    """Whoever asks for the values of a tensor in this step is given this copy, if nobody has written to it."""
    _AT_HOME.put(tensor, (version_of(tensor), copy))


def forget_copies() -> None:
    """The step is over."""
    _AT_HOME.clear()


def extent(tensor: torch.Tensor) -> torch.Tensor:
    """The largest absolute value, left where the tensor is: NaN if it holds one, otherwise Inf if it holds one."""
    largest = tensor.detach().abs().amax()
    if largest.dtype is torch.float64:
        largest = torch.where(largest.isfinite(), largest.clamp(max=_LARGEST), largest)
    return largest.float()


def is_spoiled(tensor: torch.Tensor) -> bool:
    """Whether there is NaN or Inf among values that can be read."""
    if not readable(tensor):
        return False
    return not (math.isfinite(tensor) if tensor.numel() == 1 else bool(torch.isfinite(tensor).all()))


def bad_rows(tensor: torch.Tensor, limit: int = 8) -> list[int]:
    """Indices along the first dimension that hold NaN or Inf, at most `limit`."""
    if tensor.dim() == 0:
        return []
    wrong = ~torch.isfinite(tensor.detach()).reshape(tensor.shape[0], -1).all(dim=1)
    return [int(index) for index in wrong.nonzero().flatten()[:limit]]


def norms(tensors: list[torch.Tensor]) -> list[float]:
    """2-norms, of sparse and sharded tensors over the values in this process."""
    coming = norms_to_come(tensors)
    return coming.put_together(read_together(coming.parts))


class ComingNorms(NamedTuple):
    """2-norms that were taken, and lie where the tensors do, for whoever reads them later. The tensors are let go.

    parts: of what each tensor consists of. positions: the tensor that each is of. tensors: how many there were.
    """

    parts: list[torch.Tensor]
    positions: list[int]
    tensors: int

    def put_together(self, values: Sequence[float]) -> list[float]:
        """The norms of the tensors, by the values of their parts."""
        found = [0.0] * self.tensors
        for position, value in zip(self.positions, values, strict=True):
            found[position] = math.hypot(found[position], value)
        return found


def largest_to_come(tensors: list[torch.Tensor]) -> ComingNorms:
    """Of each tensor the largest absolute value, which is finite if all are."""
    return norms_to_come(tensors, math.inf)


def norms_to_come(tensors: list[torch.Tensor], order: float = 2.0) -> ComingNorms:
    """The same as `norms`, read by whoever can wait for them."""
    parts = [(position, part) for position, tensor in enumerate(tensors) for part in plain_parts(tensor)]
    parts = parts if order == 2.0 else [(position, part) for position, part in parts if part.numel()]
    values = _in_float32(torch._foreach_norm([part for _, part in parts], order) if parts else ())
    return ComingNorms(values, [position for position, _ in parts], len(tensors))


def _in_float32(values: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [value if value.dtype is torch.float32 else value.float() for value in values]


def fingerprints(tensors: list[torch.Tensor]) -> list[int | None]:
    """For each tensor the squared bits of its values in this process, added up as integers; None if it has none here.

    Equal for equal tensors, and hardly ever for others. Plain sums would miss updates that cancel, as those of a bias
    under a softmax do.
    """
    coming = fingerprints_to_come(tensors)
    return coming.put_together(read_together(coming.parts))


class ComingFingerprints(NamedTuple):
    """Fingerprints that were taken, and lie where the tensors do; see `ComingNorms`."""

    parts: list[torch.Tensor]
    positions: list[int]
    tensors: int

    def put_together(self, values: Sequence[int]) -> list[int | None]:
        """The fingerprints of the tensors, by those of their parts."""
        found: list[int | None] = [None] * self.tensors
        for position, value in zip(self.positions, values, strict=True):
            found[position] = value + (found[position] or 0)
        return found


def fingerprints_to_come(tensors: list[torch.Tensor]) -> ComingFingerprints:
    """The same as `fingerprints`, read by whoever can wait for them."""
    parts = [(position, part) for position, tensor in enumerate(tensors) for part in plain_parts(tensor)]
    return ComingFingerprints([_squared_bits(part) for _, part in parts], [each for each, _ in parts], len(tensors))


def few_values(tensor: torch.Tensor) -> torch.Tensor:
    """Whether it holds no more than two different values, as what lies at the bounds of a box does: one truth value,
    left where the tensor is."""
    parts = [torch.view_as_real(part) if part.is_complex() else part for part in plain_parts(tensor)]
    values = [part.detach().double() for part in parts if part.numel()]
    found = [((v == v.amin()) | (v == v.amax())).all() for v in values]
    return torch.stack(found).all() if found else torch.zeros((), dtype=torch.bool, device="cpu")


def _squared_bits(values: torch.Tensor) -> torch.Tensor:
    """Squares that do not fit would miss round numbers, of which half of the bits are zero, and changes of sign."""
    real = torch.view_as_real(values) if values.is_complex() else values
    words = real.reshape(-1).contiguous().view({1: torch.int8, 2: torch.int16}.get(real.dtype.itemsize, torch.int32))
    return words.long().add_(2**31).square_().sum()


def read_together(tensors: Sequence[torch.Tensor]) -> list[Any]:
    """The values of small tensors of one shape and dtype, read back in one go from each device."""
    by_device: dict[torch.device, list[int]] = {}
    for position, tensor in enumerate(tensors):
        by_device.setdefault(tensor.device, []).append(position)
    found: dict[int, Any] = {}
    for positions in by_device.values():
        values = torch.stack([tensors[position] for position in positions]).tolist()
        found.update(zip(positions, values, strict=True))
    return [found[position] for position in range(len(tensors))]
