"""How tensors came to be: which parameters' values flow into each, where their gradient paths were cut, and by whom.

Lineage is kept beside the tensors, keyed by identity and dropped when a tensor dies: nothing is kept alive, and nothing
is stored on the user's tensors. Sets of parameters are bit sets of their numbers.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from autograd_doctor.events import Cut, GradSwitch
from autograd_doctor.watching.places import Place, locate

if TYPE_CHECKING:
    from autograd_doctor.watching.nonfinite import Origin
    from autograd_doctor.watching.watch import Watch

_MOST_CUTS = 8
_OUR_REFERENCES = 2
_MOST_CHANGES = 8


class CutPoint(NamedTuple):
    """Where a gradient path ended: an operation at a place, or everything under one switch of the grad mode.

    `choice`: under the switch the values became whole numbers or truth values, which carry no gradient in any case.
    `guessed`: that the values went on from there was not seen, only that others like them came back into torch.
    """

    operation: str
    place: Place | None
    reason: str
    switch: GradSwitch | None
    choice: bool = False
    guessed: bool = False

    def event(self, parameters: list[int]) -> Cut:
        return Cut(
            operation=self.operation,
            location=locate(self.place),
            parameters=parameters,
            reason=self.reason,  # type: ignore[arg-type]
            switch=self.switch,
            guessed=self.guessed,
        )


Cuts = dict[CutPoint, int]
"""Per cut point, the parameters whose path ended there."""

_NO_CUTS: Cuts = {}
_MOST_HIDDEN_CHANGES = 256
_MOST_ORIGINALS = 16
_ORIGINAL_BYTES = 2**20
_ORDER = count()


class Change(NamedTuple):
    """An in-place operation on a tensor, with the version that it left."""

    operation: str
    place: Place | None
    version: int


class Made:
    """How one tensor was made. `values`: parameters that flow into it; `live`: those that gradients would reach.

    `order` counts up over the run. `born` and `born_by` say what made it before any in-place operation. `behind` marks
    an alias made by `.data`, changes of which autograd does not see.
    """

    __slots__ = (
        "__weakref__", "alias_of", "behind", "born", "born_by", "changes", "cuts", "live", "of_backward", "operation",
        "order", "origin", "place", "reference", "rewrapped", "rewrapped_by", "shape", "step", "values",
    )  # fmt: skip

    def __init__(self, operation: str, place: Place | None, step: int) -> None:
        self.operation = operation
        self.place = self.born = place
        self.born_by = operation
        self.step = step
        self.values = 0
        self.live = 0
        self.cuts: Cuts = _NO_CUTS
        self.origin: Origin | None = None
        self.rewrapped: Place | None = None
        self.rewrapped_by = ""
        self.of_backward: int | None = None
        self.order = next(_ORDER)
        self.alias_of: int | None = None
        self.behind = False
        self.changes: list[Change] = []
        self.shape: tuple[int, ...] = ()
        self.reference: _Reference | None = None

    def add_cut(self, point: CutPoint, parameters: int) -> None:
        if len(self.cuts) < _MOST_CUTS or point in self.cuts:
            self.cuts = {**self.cuts, point: self.cuts.get(point, 0) | parameters}

    def choose(self) -> None:
        """What went in goes on as whole numbers or truth values only."""
        cuts: Cuts = {}
        for point, parameters in self.cuts.items():
            chosen = point._replace(choice=point.reason == "grad-mode")
            cuts[chosen] = cuts.get(chosen, 0) | parameters
        self.cuts = cuts

    def cuts_of(self, lost: int) -> list[Cut]:
        """Where the paths of lost parameters ended; a choice is to blame only for those with no other."""
        cut_otherwise = 0
        for point, parameters in self.cuts.items():
            cut_otherwise |= 0 if point.choice else parameters
        blamed = {
            point: parameters & lost & ~(cut_otherwise if point.choice else 0)
            for point, parameters in self.cuts.items()
        }
        return [point.event(numbers_in(parameters)) for point, parameters in blamed.items() if parameters]

    def absorb(self, other: Made, *, connected: bool, guessed: bool = False) -> None:
        """Take over what flows in from an input; `connected` tells whether that input requires a gradient, `guessed`
        that nobody saw it flow."""
        self.values |= other.values
        if connected:
            self.live |= other.live
        if other.cuts and other.cuts is not self.cuts:
            merged = dict(self.cuts)
            for seen, parameters in other.cuts.items():
                point = seen._replace(guessed=True) if guessed else seen
                if len(merged) < _MOST_CUTS or point in merged:
                    merged[point] = merged.get(point, 0) | parameters
            self.cuts = merged
        if self.origin is None:
            self.origin = other.origin
        if self.rewrapped is None:
            self.rewrapped, self.rewrapped_by = other.rewrapped, other.rewrapped_by

    def change(self, operation: str, place: Place | None, version: int) -> None:
        self.changes = [*self.changes[-_MOST_CHANGES + 1 :], Change(operation, place, version)]


class HiddenChange(NamedTuple):
    """An in-place operation that bypassed the version counter, on the storage at an address."""

    storage: int
    operation: str
    place: Place | None
    order: int


class Original(NamedTuple):
    """A copy of the values that a tensor had when the program asked for its `.data`."""

    pointer: int
    order: int
    values: torch.Tensor


class _Reference(weakref.ref[torch.Tensor]):
    __slots__ = ("key", "pointer")
    key: int
    pointer: int


class Tensors:
    """The lineage of every living tensor that a traced operation made."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._made: dict[int, Made] = {}
        self._by_pointer: dict[int, int] = {}
        self.originals: list[Original] = []
        self.hidden_changes: deque[HiddenChange] = deque(maxlen=_MOST_HIDDEN_CHANGES)
        self.written: dict[int, Made] = {}
        """Per parameter that was overwritten through `.data` with values computed from others, how these were made."""

    def get(self, tensor: torch.Tensor) -> Made | None:
        made = self._made.get(id(tensor))
        return made if made is not None and made.reference is not None and made.reference() is tensor else None

    def put(self, tensor: torch.Tensor, made: Made) -> None:
        reference = _Reference(tensor, self._forget)
        reference.key = id(tensor)
        reference.pointer = _pointer(tensor)
        made.reference = reference
        made.shape = () if tensor.is_nested else tuple(tensor.shape)
        self._made[reference.key] = made
        if reference.pointer and self.sharing(reference.pointer) is None:
            self._by_pointer[reference.pointer] = reference.key

    def keep_original(self, tensor: torch.Tensor) -> None:
        """Copy the values of a small tensor that may be about to change behind autograd, until the next backward."""
        if tensor.requires_grad and len(self.originals) < _MOST_ORIGINALS and tensor.nbytes <= _ORIGINAL_BYTES:
            self.originals.append(Original(_pointer(tensor), next(_ORDER), tensor.detach().clone()))

    def original(self, saved: torch.Tensor, after: int) -> torch.Tensor | None:
        """The values that a saved tensor had at first, if they were copied after it was saved."""
        fitting = (kept for kept in self.originals if kept.pointer == _pointer(saved) and kept.order > after)
        values = next((kept.values for kept in fitting), None)
        return values.reshape(saved.shape) if values is not None and values.numel() == saved.numel() else None

    def _forget(self, reference: weakref.ref[torch.Tensor]) -> None:
        assert isinstance(reference, _Reference)
        made = self._made.get(reference.key)
        if made is not None and made.reference is reference:
            del self._made[reference.key]
            if self._by_pointer.get(reference.pointer) == reference.key:
                del self._by_pointer[reference.pointer]

    def sharing(self, pointer: int) -> Made | None:
        """The oldest living tensor whose data begin at `pointer`: how aliases and NumPy views are recognised."""
        made = self._made.get(self._by_pointer.get(pointer, 0))
        return made if made is not None and made.reference is not None and made.reference() is not None else None

    def living(self) -> Iterator[tuple[torch.Tensor, Made]]:
        for made in list(self._made.values()):
            tensor = made.reference() if made.reference is not None else None
            if tensor is not None:
                yield tensor, made

    def held_by_program(self) -> Iterator[tuple[torch.Tensor, Made]]:
        """Living tensors that Python code refers to, not only a graph or a buffer of torch's."""
        for made in list(self._made.values()):
            tensor = made.reference() if made.reference is not None else None
            if tensor is None:
                continue
            # Beside Python code, torch itself may keep a reference to the Python object.
            torch_refers = tensor._use_count() > 1  # type: ignore[attr-defined]
            if sys.getrefcount(tensor) - _OUR_REFERENCES - torch_refers > 0:
                yield tensor, made

    def parameter_bit(self, tensor: torch.Tensor) -> int:
        """The bit of a tensor that is a parameter, 0 for any other."""
        number = self._watch.parameters.get(tensor)
        if number is None and issubclass(type(tensor), nn.Parameter):  # `isinstance` asks a slow metaclass
            number = self._watch.parameters.number(tensor)
        return 0 if number is None else 1 << number

    def source(self, tensor: torch.Tensor) -> Made | int | None:
        """What is known of an input: its lineage, the bit of a parameter, or None for plain data."""
        connected = has_graph(tensor)
        bit = 0 if connected else self.parameter_bit(tensor)
        if bit:
            return bit
        made = self.get(tensor)
        if made is None and not connected:
            made = self.sharing(_pointer(tensor))
        return made

    def derive(self, made: Made, inputs: Iterable[torch.Tensor]) -> Made:
        """Let everything that is known of the inputs flow into a new lineage."""
        for tensor in inputs:
            source = self.source(tensor)
            if isinstance(source, int):
                made.values |= source
                if tensor.requires_grad:
                    made.live |= source
                written = self.written.get(source.bit_length() - 1) if self.written else None
                if written is not None:
                    made.absorb(written, connected=False)
            elif source is not None:
                made.absorb(source, connected=tensor.requires_grad)
        return made


def has_graph(tensor: torch.Tensor) -> bool:
    """Whether a tensor has a backward node.

    A view made under `no_grad` refuses to say after an in-place operation; it has none that could be used.
    """
    if not tensor.requires_grad:
        return False
    try:
        return tensor.grad_fn is not None
    except RuntimeError:
        return False


def _pointer(tensor: torch.Tensor) -> int:
    try:
        return tensor.data_ptr()
    except RuntimeError:  # sparse, meta, fake and functorch tensors have no storage of their own
        return 0


def numbers_in(bits: int) -> list[int]:
    """The members of a bit set, ascending."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def tensors_in(*containers: Any) -> list[torch.Tensor]:
    """Tensors among arguments, looking one level into lists, tuples and dicts."""
    found: list[torch.Tensor] = []
    for container in containers:
        for value in container:
            if isinstance(value, torch.Tensor):
                found.append(value)
            elif isinstance(value, list | tuple):
                found.extend(item for item in value if isinstance(item, torch.Tensor))
            elif isinstance(value, dict):
                found.extend(item for item in value.values() if isinstance(item, torch.Tensor))
    return found
