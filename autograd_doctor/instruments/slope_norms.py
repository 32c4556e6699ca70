"""Gradient penalties that hold norms to a number which are not each that of one sample's gradient."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import nn

from autograd_doctor.events import Event, PartialSlopeNorm
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.within_step import WithinStep
from autograd_doctor.reading.graph_walk import operation_of
from autograd_doctor.reading.linear import DIFFERENCES
from autograd_doctor.reading.loss_arguments import operands_of
from autograd_doctor.reading.losses import REGRESSION
from autograd_doctor.reading.made import has_graph
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.shaping import MOVES
from autograd_doctor.reading.signs import is_square
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation

_NORMS = frozenset({"linalg_norm", "linalg_vector_norm", "norm"})
_SHIFTS = frozenset({"__radd__", "add", "clamp", "clamp_min"})
"""What keeps a norm, or what it is the root of, away from zero."""
_MOST_TOLD = 8


class _Slope(NamedTuple):
    """A gradient with a graph: of how many outputs, towards an input with how many rows."""

    outputs: int
    rows: int
    shape: torch.Size
    taken_at: Place | None


class _Part(NamedTuple):
    """What became of a gradient; norm_at: where a norm was taken."""

    slope: _Slope
    stage: Literal["values", "squares", "sums", "norms"]
    norm_at: Place | None = None


class SlopeNorms(WithinStep):
    """Follows what `grad(…, create_graph=True)` gives to norms that are compared with a number.

    Looks in steps that are looked at closely. Where each output has one norm, or each row of the input, or something
    in between, all is well; so it is where each of the points in a row has one.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (PartialSlopeNorm,)

    def __init__(self, site: Site, course: Course, detail: Detail, lineage: Lineage) -> None:
        super().__init__(site, course, detail)
        self._lineage = lineage
        self._told: Counter[Place | None] = Counter()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.CLOSE)
        self.listen(self._lineage.operated, self._operation_ended)

    def _forget(self) -> None:
        self._parts: ValueTable[_Part] = self.value_table()

    def _backward_ended(self, call: BackwardCall) -> None:
        outputs = _outputs(call.roots[0]) if len(call.roots) == 1 else None
        if call.kind != "grad" or not call.create_graph or outputs is None:
            return
        for source, slope in zip(call.inputs, call.result, strict=False):
            is_of_data = isinstance(source, torch.Tensor) and not isinstance(source, nn.Parameter)
            if is_of_data and isinstance(slope, torch.Tensor) and slope.dim() > 1 and has_graph(slope):
                self._parts.put(slope, _Part(_Slope(outputs, len(slope), slope.shape, place()), "values"))

    def _operation_ended(self, operation: Operation) -> None:
        if not self._parts or self._course.running is not None:
            return
        first, result = (operation.args or (None,))[0], operation.result
        part = self._parts.get(first) if isinstance(first, torch.Tensor) else None
        if part is None or not isinstance(result, torch.Tensor):
            return
        if part.stage == "norms" and _is_difference(operation):
            self._compared(part, operation, first)
        else:
            stage = _next_stage(part.stage, operation)
            if stage is not None:
                norm_at = operation.place if stage == "norms" and part.norm_at is None else part.norm_at
                self._parts.put(result, _Part(part.slope, stage, norm_at))

    def _compared(self, part: _Part, operation: Operation, norms: Any) -> None:
        slope, count = part.slope, norms.numel()
        fewest, most = sorted((slope.outputs, slope.rows))
        if fewest <= count <= most or count == _vectors(slope.shape) or self._told[part.norm_at] >= _MOST_TOLD:
            return
        self._told[part.norm_at] += 1
        self.emit(
            PartialSlopeNorm(
                step=self._course.steps,
                shape=list(slope.shape),
                rows=slope.rows,
                outputs=slope.outputs,
                norms=count,
                location=locate(part.norm_at),
                taken_at=locate(slope.taken_at),
                compared_at=locate(operation.place),
            )
        )


def _outputs(root: torch.Tensor) -> int | None:
    """How many numbers a gradient is that of: the root's, or those that it is the sum of; None if it cannot be told."""
    if root.numel() > 1:
        return root.numel()
    node = root.grad_fn
    sizes = getattr(node, "_saved_self_sym_sizes", None)
    return prod(sizes) if node is not None and operation_of(node) == "Sum" and sizes else None


def _vectors(shape: torch.Size) -> int | None:
    """How many vectors lie along the last of three dimensions or more, as those of points: each may have its norm."""
    return prod(shape[:-1]) if len(shape) > 2 else None


def _next_stage(stage: str, operation: Operation) -> Literal["values", "squares", "sums", "norms"] | None:
    """What an operation makes of a part, on the way to the square root of a sum of squares."""
    name = operation.name
    if name in MOVES or (name in _SHIFTS and stage != "values"):
        return stage  # type: ignore[return-value]
    if stage == "values":
        return "norms" if name in _NORMS else "squares" if is_square(name, operation.args) else None
    if stage == "squares" and name == "sum":
        return "sums"
    return "norms" if stage == "sums" and name == "sqrt" else None


def _is_difference(operation: Operation) -> bool:
    """Whether norms are compared with one number other than zero."""
    if operation.name in REGRESSION:
        operands = operands_of(operation.args, operation.kwargs)
        other: Any = operands[1] if operands else None
    else:
        other = operation.args[1] if operation.name in DIFFERENCES and len(operation.args) > 1 else None
    if isinstance(other, torch.Tensor):
        is_one = readable(other) and other.numel() > 0 and bool((other == other.reshape(-1)[0]).all())
        return is_one and not has_graph(other) and bool(other.reshape(-1)[0] != 0)
    return isinstance(other, int | float) and other != 0
