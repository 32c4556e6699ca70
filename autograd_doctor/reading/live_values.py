"""Values of the tape that are those of living tensors. None of them keeps its tensor alive."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from weakref import WeakSet

import torch
from torch.nn.parameter import is_lazy

from autograd_doctor.findings import Location
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensor_facts import copy_at_home, is_remote, read_together, readable
from autograd_doctor.tape import Kind, Op, Value

_MOST_READ = 2**20
"""Numbers of a value, to find out how small and how large they are."""


@dataclass(eq=False, slots=True, weakref_slot=True, kw_only=True)
class LiveValue(Value):
    """provenance: how its tensor came to be. own: the bit of a parameter.

    extremes: the smallest and the largest of plain numbers, left where the tensor is; None where nobody has looked.
    """

    reference: weakref.ref[torch.Tensor]
    version: int
    dtype: torch.dtype
    provenance: Provenance | None = None
    own: int = 0
    extremes: torch.Tensor | None = None

    @property
    def tensor(self) -> torch.Tensor | None:
        """While it lives; it may hold another value by now."""
        return self.reference()

    @property
    def held(self) -> torch.Tensor | None:
        """The tensor, if it still holds this value."""
        tensor = self.tensor
        return tensor if tensor is not None and version_of(tensor) == self.version else None

    @property
    def is_parameter(self) -> bool:
        return self.own != 0

    @property
    def values(self) -> int:
        return self.own or (self.provenance.values if self.provenance is not None else 0)

    @property
    def seen_values(self) -> int:
        """The parameters whose values were seen to flow in, and not only guessed to."""
        return self.values & ~(self.provenance.guessed if self.provenance is not None else 0)

    @property
    def connected(self) -> int:
        return self.own or (self.provenance.connected if self.provenance is not None else 0)

    @property
    def span(self) -> tuple[float, float] | None:
        """An accelerator is waited for, once for all values, and not at all where others have had this one brought
        home."""
        if self.extremes is None:
            return None
        if is_remote(self.extremes):
            tensor = self.held
            known = copy_at_home(tensor) if tensor is not None else None
            if known is not None:
                self.extremes = _extremes(known)
            else:
                _bring_home()
        low, high = self.extremes.tolist()
        return low, high

    def look(self) -> None:
        """See, once, how small and how large its numbers are, if the tensor still holds them and nobody learns them."""
        tensor = self.held if self.extremes is None and 0 < self.count <= _MOST_READ else None
        if tensor is not None and readable(tensor) and not tensor.requires_grad:
            self.extremes = _extremes(tensor)
            if is_remote(tensor):
                _AWAY.add(self)


_AWAY: WeakSet[LiveValue] = WeakSet()
"""Those whose extremes lie on an accelerator: whoever asks for one of them has all brought home."""


def _bring_home() -> None:
    away = {value: value.extremes for value in _AWAY if value.extremes is not None and is_remote(value.extremes)}
    _AWAY.clear()
    for value, span in zip(away, read_together([*away.values()]), strict=True):
        value.extremes = torch.tensor(span, device="cpu")


def _extremes(tensor: torch.Tensor) -> torch.Tensor:
    return torch.stack(torch.aminmax(tensor.float()))


@dataclass(eq=False, slots=True, kw_only=True)
class LiveOp(Op):
    """An operation, and where the program called it."""

    place: Place | None

    @property
    def location(self) -> Location | None:
        return locate(self.place)


def live_value(tensor: torch.Tensor, *, learns: bool, provenance: Provenance | None, own: int) -> LiveValue:
    """What a tensor holds now; one that has no shape yet, or many, has none here."""
    shape = torch.Size() if tensor.is_nested or is_lazy(tensor) else tensor.shape
    return LiveValue(
        shape,
        _kind_of(tensor.dtype),
        learns,
        reference=weakref.ref(tensor),
        version=version_of(tensor),
        dtype=tensor.dtype,
        provenance=provenance,
        own=own,
    )


@cache
def _kind_of(dtype: torch.dtype) -> Kind:
    if dtype.is_complex:
        return "complex"
    return "float" if dtype.is_floating_point else "bool" if dtype is torch.bool else "int"


def tensor_of(value: Value) -> torch.Tensor | None:
    """The tensor that holds a value, or has held it, while it lives."""
    return value.tensor if isinstance(value, LiveValue) else None


def held_by(value: Value) -> torch.Tensor | None:
    """The tensor that still holds a value."""
    return value.held if isinstance(value, LiveValue) else None


def look_at(value: Value) -> None:
    """See how small and how large its numbers are, if that can still be seen."""
    if isinstance(value, LiveValue):
        value.look()


def extremes_of(values: Sequence[Value]) -> dict[int, torch.Tensor]:
    """How small and how large the numbers of those are that were looked at, by their places, left where they are."""
    looked_at = ((place, value.extremes) for place, value in enumerate(values) if isinstance(value, LiveValue))
    return {place: extremes for place, extremes in looked_at if extremes is not None}
