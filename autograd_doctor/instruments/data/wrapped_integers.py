"""Arithmetic in whole numbers of few bits that wraps round, where the loss comes of the result."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.data import IntegersWrapped
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import JOINS, LOOK_UPS, MOVES
from autograd_doctor.reading.live_values import LiveValue, tensor_of
from autograd_doctor.reading.spelling import spelt
from autograd_doctor.reading.tensor_facts import dtype_name, is_remote, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import Op, Value

_CHECKED = frozenset({"add", "mul", "neg", "sub"})
_IN_PLACE = frozenset({
    "__iadd__", "__imul__", "__isub__", "add_", "mul_", "multiply_", "neg_", "negative_", "sub_", "subtract_",
})  # fmt: skip
_SIGNED = {torch.uint8: torch.int8, torch.int8: torch.int8, torch.int16: torch.int16, torch.int32: torch.int32}
"""The whole numbers of few bits, and what those without a sign are with one."""
_KEEPS_AMOUNTS = MOVES | JOINS | _CHECKED | {"abs", "avg_pool2d", "clamp", "div", "interpolate", "mean", "pad", "sum"}
"""What takes whole numbers for amounts. Others look up by them, compare them, or go by their bits."""
_ROUND = frozenset({"cos", "floor_divide", "fmod", "remainder", "sin"})
"""What goes round itself."""
_MOST_VALUES = 4096
_LEAST_SHARE = 0.01
_FEWEST = 2
_SMALL = 1 / 8
"""Of the range of a dtype: differences of counters that run round are right, and small."""
_HASHES_FROM = 2**16
"""Factors and summands so large are meant to mix bits."""


class _Wrapped(NamedTuple):
    """Of an operation: how many of how many values are not what they would be, and one of these, as it should be and
    as it is."""

    dtype: str
    wrapped: int
    values: int
    should_be: int
    is_now: int


class WrappedIntegers(LossQuery):
    """Computes sums, differences and products of whole numbers once more, in 64 bits and of a part of the values, and
    follows what has wrapped round to the loss.

    What is looked up by, compared, masked, taken by its bits or modulo something, or brought back by another sum, is
    meant to wrap.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (IntegersWrapped,)

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site, course, tape)
        self._found: tuple[weakref.ref[torch.Tensor], torch.Tensor] | None = None
        self._wrapped: dict[Op, _Wrapped] = {}
        self._carried: dict[Value, frozenset[Op]] = {}
        self._exact: dict[Value, torch.Tensor] = {}
        self._meant: set[Op] = set()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(signals.operations.began, self._began, attention=Attention.CLOSE, names=_IN_PLACE)
        self.listen(self._tape.recorded, self._recorded)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._found = None
        for table in (self._wrapped, self._carried, self._exact, self._meant):
            table.clear()

    def _began(self, operation: Operation) -> None:
        """What is to be changed in place is looked at before."""
        target = operation.args[0] if operation.args else None
        self._found = None
        if isinstance(target, torch.Tensor) and target.dtype in _SIGNED and _is_at_hand(target):
            self._found = weakref.ref(target), _some(target, target.shape)

    def _recorded(self, op: Op) -> None:
        carried = [value for value in op.values if value in self._carried] if self._carried else []
        if not carried and self._carried and op.name == "__setitem__":
            carried = self._written_back(op)
        if carried:
            self._carry(op, carried)
        elif op.name in _CHECKED and op.output.kind == "int":
            self._check(op)

    # ------------------------------------------------------------------------------------------------- what has wrapped

    def _check(self, op: Op, *, is_first: bool = True) -> bool:
        """Whether an operation wraps round; is_first: nothing that it is given has."""
        result = tensor_of(op.output)
        if result is None or result.dtype not in _SIGNED:
            return False
        if is_remote(result):
            self.limited("sums and products of whole numbers that lie on an accelerator are not computed once more")
        if not _is_at_hand(result):
            return False
        if any(abs(number) >= _HASHES_FROM for number in op.numbers):
            return False
        operands = self._operands(op, result)
        if operands is None:
            return False
        exact, now = _computed(op, operands), _some(result, result.shape)
        differ = exact != now
        count = int(differ.sum())
        if count < max(_FEWEST, _LEAST_SHARE * now.numel()) or _is_right_with_sign(op, operands, result.dtype):
            return False
        if op.name == "sub" and float(now[differ].abs().max()) < _SMALL * torch.iinfo(result.dtype).max:
            return False
        self._exact[op.output] = exact
        if is_first:
            at = int(differ.flatten().nonzero()[0])
            example = int(exact.flatten()[at]), int(now.flatten()[at])
            self._wrapped[op] = _Wrapped(dtype_name(result), count, now.numel(), *example)
            self._carried[op.output] = frozenset({op})
        return True

    def _operands(self, op: Op, result: torch.Tensor) -> list[torch.Tensor | float] | None:
        """Some of the values of each, as they were before the operation, and without having wrapped round."""
        operands: list[torch.Tensor | float] = []
        for each in op.operands:
            if not isinstance(each, Value):
                operands.append(each)
                continue
            known = self._exact.get(each) if each.shape == op.output.shape else None
            some = known if known is not None else self._seen(op, each, result, is_first=not operands)
            if some is None:
                return None
            operands.append(some)
        return operands

    def _seen(self, op: Op, value: Value, result: torch.Tensor, *, is_first: bool) -> torch.Tensor | None:
        tensor = value.tensor if isinstance(value, LiveValue) and value not in self._carried else None
        if not isinstance(value, LiveValue) or tensor is None or not _is_at_hand(tensor) or value.is_floating:
            return None
        if op.in_place and is_first:
            return self._found[1] if self._found is not None and self._found[0]() is tensor else None
        return _some(tensor, result.shape) if value.held is not None else None

    # --------------------------------------------------------------------------------------------- what it is used for

    def _carry(self, op: Op, carried: Sequence[Value]) -> None:
        labels = frozenset[Op]().union(*(self._carried[value] for value in carried))
        if self._is_meant(op, carried):
            self._meant |= labels
            return
        for output in op.outputs:
            self._carried[output] = labels

    def _written_back(self, op: Op) -> list[Value]:
        """Of `x[i] += y`, the part that was changed: writing it back raises its version, too."""
        part = tensor_of(op.values[-1])
        return [value for value in self._carried if part is not None and tensor_of(value) is part]

    def _is_meant(self, op: Op, carried: Sequence[Value]) -> bool:
        """Also masks and periods: only of data, for models have some of their own."""
        goes_round = op.name in _ROUND or any(value.kind == "bool" for value in (*op.values, *op.outputs))
        if goes_round and not all(value.learns for value in carried):
            return True
        whole = [value for value in carried if value.kind == "int"]
        if not whole:
            return False
        if op.name not in _KEEPS_AMOUNTS and op.name != "__setitem__":
            return True
        if (op.name in LOOK_UPS or op.name == "__setitem__") and any(value in whole for value in _indices(op)):
            return True
        if op.output.kind != "int":
            return False
        return _changes_type(op) or (op.name in _CHECKED and not self._check(op, is_first=False))

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        reached = frozenset[Op]().union(*(self._carried.get(root, ()) for root in roots))
        for op, wrapped in self._wrapped.items():
            if op in reached and op not in self._meant and self._is_news(op.location):
                self._tell(op, wrapped)

    def _tell(self, op: Op, wrapped: _Wrapped) -> None:
        self.emit(
            IntegersWrapped(
                step=self._course.steps,
                location=op.location,
                operation=spelt(op.called).name,
                dtype=wrapped.dtype,
                wrapped=wrapped.wrapped,
                values=wrapped.values,
                should_be=wrapped.should_be,
                is_now=wrapped.is_now,
            )
        )


def _is_at_hand(tensor: torch.Tensor) -> bool:
    return not is_remote(tensor) and readable(tensor) and tensor.numel() > 0


def _some(tensor: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """Some of its values, as many along each dimension, as if it had this shape, in 64 bits."""
    each = max(1, int(_MOST_VALUES ** (1 / max(1, len(shape)))))
    whole = tensor.detach().broadcast_to(shape)
    return whole[tuple(slice(None, None, -(-size // each)) for size in shape)].long()


def _computed(op: Op, operands: Sequence[torch.Tensor | float]) -> torch.Tensor:
    first, *others = (each if isinstance(each, torch.Tensor) else torch.tensor(int(each)) for each in operands)
    if op.name == "neg":
        return -first
    if op.name == "mul":
        return first * others[0]
    scale = int(op.options.get("alpha", 1) or 0)
    return first + scale * others[0] if op.name == "add" else first - scale * others[0]


def _is_right_with_sign(op: Op, operands: Sequence[torch.Tensor | float], dtype: torch.dtype) -> bool:
    """Whether summands that have no sign were meant to have one: 251 is -5 then."""
    if dtype is not torch.uint8 or op.name not in ("add", "sub"):
        return False
    bounds = torch.iinfo(dtype)
    for place, each in enumerate(operands):
        if isinstance(each, torch.Tensor) and len(op.values) == len(operands):
            signed = [*operands[:place], (each + 128) % 256 - 128, *operands[place + 1 :]]
            exact = _computed(op, signed)
            if float(((exact < bounds.min) | (exact > bounds.max)).float().mean()) < _LEAST_SHARE:
                return True
    return False


def _indices(op: Op) -> list[Value]:
    """Of what is looked up, or written to, by numbers."""
    return op.values[1:-1] if op.name == "__setitem__" else op.values[1:]


def _changes_type(op: Op) -> bool:
    """Whether whole numbers become others of no more bits, with a sign or without: their bits are what is meant."""
    before, now = tensor_of(op.values[0]), tensor_of(op.output)
    if op.name not in MOVES or before is None or now is None:
        return False
    return before.dtype is not now.dtype and now.dtype.itemsize <= before.dtype.itemsize
