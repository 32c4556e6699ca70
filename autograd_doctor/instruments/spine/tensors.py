"""The lineage of living tensors, kept beside them: keyed by identity, dropped when a tensor dies.

Nothing is kept alive, and nothing is stored on the user's tensors.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import nn

from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.graph_structure import nodes_of
from autograd_doctor.reading.numbers import IdentityTable, identity
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import Provenance, Reference, address, has_graph, joined, leaf_of, next_order
from autograd_doctor.reading.regions import Region
from autograd_doctor.reading.subclasses import bytes_of
from autograd_doctor.reading.tensor_facts import describe
from autograd_doctor.reading.torch_versions import torch_refers
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall

_OUR_REFERENCES = 2
"""The loop's own, and the one that counting takes."""
_MOST_HIDDEN_CHANGES = 256
"""Changes behind autograd that a coming backward may have to answer for: a few for each layer of a deep network in a
step."""
_MOST_ORIGINALS = 16
"""Tensors copied at a time, until the next backward: those whose `.data` a program takes to change it are few."""
_ORIGINAL_BYTES = 2**20
"""Of each, so that copies take 16 MiB at most."""


class HiddenChange(NamedTuple):
    """An in-place operation that bypassed the version counter, and the part of a storage that it wrote to."""

    region: Region
    operation: str
    place: Place | None
    order: int


class Original(NamedTuple):
    """A copy of the values that a tensor had when the program asked for its `.data`."""

    pointer: int
    order: int
    values: torch.Tensor


class Tensors(Instrument):
    """How every living tensor came to be that an operation made while that was recorded."""

    def __init__(self, site: Site, parameters: Parameters) -> None:
        super().__init__(site)
        self._parameters = parameters
        self._made: dict[int, Provenance] = {}
        self._by_pointer: dict[int, int] = {}
        self._unseen: IdentityTable[Provenance] = IdentityTable()
        self._forget = _forgetting(weakref.ref(self))
        """One for all references, so that the garbage collector has less to visit."""
        self.originals: list[Original] = []
        self.hidden_changes: deque[HiddenChange] = deque(maxlen=_MOST_HIDDEN_CHANGES)
        self.written: dict[int, Provenance] = {}
        """Per parameter that was overwritten through `.data` with values computed from others, how these were made."""

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.ended, self._backward_ended, last=True, attention=Attention.LIGHT)

    def _backward_ended(self, call: BackwardCall) -> None:
        self.originals.clear()

    def describe(self, tensor: torch.Tensor, *, ranges: bool = True) -> TensorFacts:
        """A tensor with its ranges, the user's name for it, and what made it."""
        # What was last written into a parameter, its initial values for one, did not make it.
        made = None if isinstance(tensor, nn.Parameter) else self.get(tensor)
        number = self._parameters.get(tensor)
        return describe(
            tensor,
            name=variable_name(tensor) or ("" if number is None else self._parameters.known_name(number)),
            parameter=number,
            operation=made.operation if made else "",
            made_at=locate(made.place) if made else None,
            made_under=made.under if made else None,
            drawn_from=locate(made.source) if made else None,
            ranges=ranges,
        )

    def get(self, tensor: torch.Tensor) -> Provenance | None:
        made = self._made.get(identity(tensor))
        return made if made is not None and made.reference is not None and made.reference() is tensor else None

    def read_at(self, tensor: torch.Tensor) -> Place | None:
        """The line of a data set's code that it came from."""
        made = self.get(tensor)
        return made.source if made is not None else None

    def put(self, tensor: torch.Tensor, made: Provenance) -> None:
        key, pointer = identity(tensor), address(tensor)
        made.reference = reference = Reference(tensor, self._forget)
        reference.key, reference.pointer = key, pointer
        self._made[key] = made
        if pointer and (pointer not in self._by_pointer or self.sharing(pointer) is None):
            self._by_pointer[pointer] = key

    def keep_original(self, tensor: torch.Tensor) -> None:
        """Copy the values of a small tensor that may be about to change behind autograd, until the next backward."""
        if tensor.requires_grad and len(self.originals) < _MOST_ORIGINALS and bytes_of(tensor) <= _ORIGINAL_BYTES:
            self.originals.append(Original(address(tensor), next_order(), tensor.detach().clone()))

    def original(self, saved: torch.Tensor, after: int) -> torch.Tensor | None:
        """The values that a saved tensor had at first, if they were copied after it was saved."""
        fitting = (kept for kept in self.originals if kept.pointer == address(saved) and kept.order > after)
        values = next((kept.values for kept in fitting), None)
        return values.reshape(saved.shape) if values is not None and values.numel() == saved.numel() else None

    def sharing(self, pointer: int) -> Provenance | None:
        """The oldest living tensor whose data begin at `pointer`: how aliases and NumPy views are recognised."""
        made = self._made.get(self._by_pointer.get(pointer, 0))
        return made if made is not None and made.reference is not None and made.reference() is not None else None

    def living(self) -> Iterator[tuple[torch.Tensor, Provenance]]:
        for made in list(self._made.values()):
            tensor = made.reference() if made.reference is not None else None
            if tensor is not None:
                yield tensor, made

    def held_by_program(self) -> Iterator[tuple[torch.Tensor, Provenance]]:
        """Living tensors that Python code refers to, not only a graph or a buffer of torch's."""
        for made in list(self._made.values()):
            tensor = made.reference() if made.reference is not None else None
            if tensor is None:
                continue
            own = torch_refers(tensor)
            if sys.getrefcount(tensor) - _OUR_REFERENCES - own > 0:
                yield tensor, made

    def parameter_bit(self, tensor: torch.Tensor) -> int:
        """The bit of a tensor that is a parameter, 0 for any other."""
        number = self._parameters.get(tensor)
        if number is None:
            kind = type(tensor)
            if kind is torch.Tensor or not issubclass(kind, nn.Parameter):  # `isinstance` asks a slow metaclass
                return 0
            number = self._parameters.number(tensor)
        return 1 << number

    def source(self, tensor: torch.Tensor) -> Provenance | int | None:
        """What is known of an input: its lineage, the bit of a parameter, or None for plain data."""
        made = self._made.get(identity(tensor))
        if made is not None and (made.reference is None or made.reference() is not tensor):
            made = None
        if made is not None and type(tensor) is torch.Tensor and self._parameters.get(tensor) is None:
            return made
        if has_graph(tensor):
            return made or self._told_by_graph(tensor)
        return self.parameter_bit(tensor) or made or self.sharing(address(tensor))

    def _told_by_graph(self, tensor: torch.Tensor) -> Provenance:
        """What was made unseen, as by a function transform or compiled code: its graph says what it is connected to."""
        made = self._unseen.get(tensor)
        if made is None:
            made = Provenance("", None, -1)
            leaves = (leaf for node in nodes_of([tensor]) if (leaf := leaf_of(node)) is not None)
            self.derive(made, leaves)
            self._unseen.put(tensor, made)
        return made

    def derive(self, made: Provenance, inputs: Iterable[torch.Tensor]) -> Provenance:
        """Let everything that is known of the inputs flow into a new lineage."""
        for tensor in inputs:
            source = self.source(tensor)
            if isinstance(source, int):
                made.take(source)
                if tensor.requires_grad:
                    made.connected = joined(made.connected, source)
                written = self.written.get(source.bit_length() - 1) if self.written else None
                if written is not None:
                    made.absorb(written, connected=False)
            elif source is not None:
                made.absorb(source, connected=tensor.requires_grad)
        if made.connected == made.values:
            made.connected = made.values
        return made


def _forgetting(this: weakref.ref[Tensors]) -> Callable[[Any], None]:
    """What is called when a tensor dies. It uses no name of a module: these are gone while the interpreter ends.

    It does not keep the instrument alive, nor the references that the instrument holds: see `IdentityTable`.
    """

    def forget(reference: Any) -> None:
        tensors = this()
        made = tensors._made.get(reference.key) if tensors is not None else None
        known = made.reference if made is not None else None
        if tensors is not None and known is not None and known is reference:
            del tensors._made[known.key]
            if tensors._by_pointer.get(known.pointer) == known.key:
                del tensors._by_pointer[known.pointer]

    return forget
