"""What a step computed, operation by operation, over values that are told apart by identity and version.

A change in place makes another value. What was written through an alias, what lies before the first operation, and what
nobody recorded is opaque: it has no `by`, and a query takes it for not known, never for "no". Nothing here keeps a
tensor alive.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch

from autograd_doctor.reading.places import Place
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensor_facts import readable

L = TypeVar("L")
Labels = dict["Value", L]
GRAD = "grad"
"""The name of what `torch.autograd.grad` computes."""
FUNCTION = "autograd.Function"
"""That of a custom function."""
_LONGEST_WAY = 32
_MOST_READ = 2**20
"""Numbers of a value, to find out how small and how large they are."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class Value:
    """What a tensor held until it was changed.

    learns: it has a backward node. made: its lineage. extremes: the smallest and the largest of plain numbers, left
    where the tensor is, None where nobody has looked.
    """

    shape: torch.Size
    learns: bool
    is_floating: bool
    reference: weakref.ref[torch.Tensor]
    version: int
    made: Provenance | None = None
    by: Op | None = None
    uses: list[Op] = field(default_factory=list)
    extremes: torch.Tensor | None = None

    @property
    def tensor(self) -> torch.Tensor | None:
        """While it lives; it may hold another value by now."""
        return self.reference()

    def look(self) -> None:
        """See, once, how small and how large its numbers are, if the tensor still holds them and nobody learns them."""
        tensor = self.tensor
        if tensor is None or self.extremes is not None or not 0 < self.count <= _MOST_READ:
            return
        if version_of(tensor) == self.version and readable(tensor) and not tensor.requires_grad:
            self.extremes = torch.stack(torch.aminmax(tensor.float()))

    @property
    def span(self) -> tuple[float, float] | None:
        """The smallest and the largest of its numbers, for which an accelerator is waited for."""
        if self.extremes is None:
            return None
        low, high = self.extremes.tolist()
        return low, high

    @property
    def sign(self) -> int:
        """1 or -1 where all of its numbers have that sign, 0 where they have not, or nobody has looked."""
        low, high = self.span or (-1.0, 1.0)
        return int(low >= 0) - int(high <= 0)

    @property
    def count(self) -> int:
        return self.shape.numel()

    @property
    def values(self) -> int:
        """The parameters, as bits, whose values flow into it."""
        return self.made.values if self.made is not None else 0

    @property
    def connected(self) -> int:
        """Those that its gradient reaches."""
        return self.made.connected if self.made is not None else 0


@dataclass(eq=False, slots=True)
class Op:
    """An operation under its canonical name (`reading.calls`), and as the program called it.

    operands: values and plain numbers in mathematical order, those of sequences one by one. options: keywords that are
    no tensors. number: its place on the tape.
    """

    name: str
    called: str
    place: Place | None
    operands: tuple[Any, ...]
    options: Mapping[str, Any]
    number: int
    in_place: bool = False
    outputs: tuple[Value, ...] = ()

    def forget(self) -> None:
        """Let go of the values, which know it as well."""
        for value in (*self.values, *self.outputs):
            value.by = None
            value.uses.clear()
        self.operands = self.outputs = ()

    @property
    def output(self) -> Value:
        return self.outputs[0]

    @property
    def values(self) -> list[Value]:
        return [each for each in self.operands if isinstance(each, Value)]

    @property
    def numbers(self) -> list[float]:
        return [each for each in self.operands if type(each) in (int, float)]

    @property
    def is_square(self) -> bool:
        """Whether it squares its first operand: by name, as a power of two, or times itself."""
        if self.name == "square":
            return True
        second = self.operands[1] if len(self.operands) > 1 else None
        return (self.name == "pow" and second == 2) or (self.name == "mul" and second is self.operands[0])

    @property
    def live(self) -> list[Value]:
        """The operands that have a backward node."""
        return [each for each in self.values if each.learns]

    @property
    def plain(self) -> list[Value]:
        """Those that have none."""
        return [each for each in self.values if not each.learns]


def behind(roots: Iterable[Value], *, live: bool = True) -> list[Op]:
    """The operations that computed these values, in their order; live: only those that a gradient goes through."""
    met: dict[int, Op] = {}
    pending = [root.by for root in roots]
    while pending:
        op = pending.pop()
        if op is not None and op.number not in met:
            met[op.number] = op
            pending += [each.by for each in (op.live if live else op.values)]
    return [met[number] for number in sorted(met)]


def labels_behind(root: Value, label: Callable[[Op, Labels[L]], L | None], *, live: bool = True) -> Labels[L]:
    """What a rule says of each value behind a root, in the order of the forward: from what it has said of the operands.

    A value of which it says None has no label.
    """
    found: Labels[L] = {}
    for op in behind([root], live=live):
        said = label(op, found)
        if said is not None:
            for output in op.outputs:
                found[output] = said
    return found


def way_from(value: Value, name: str) -> list[Op] | None:
    """The operations from the newest of this name to a value, each on what the one before gave as its first operand."""
    way: list[Op] = []
    while value.by is not None and len(way) < _LONGEST_WAY:
        way.append(value.by)
        if value.by.name == name:
            return way[::-1]
        if not value.by.values:
            return None
        value = value.by.values[0]
    return None


def source_of(value: Value, names: Iterable[str]) -> Value:
    """What a value was before operations of these names, which change none of it, as views and casts do."""
    wanted = frozenset(names)
    while value.by is not None and value.by.name in wanted and value.by.values:
        value = value.by.values[0]
    return value
