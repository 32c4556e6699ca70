"""Losses that are never below zero, or the negative of one that is not, up to constants and positive weights.

These are loss functions of torch, and sizes of differences between predictions and data. Other sizes may well be
maximised, as the spread of a projection is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch

from autograd_doctor.events import Event, LossSignSeen
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.optimizers import Optimizers
from autograd_doctor.instruments.tensors import Tensors
from autograd_doctor.reading.linear import DIFFERENCES, JOINS, PRODUCTS, REARRANGEMENTS, SUMS
from autograd_doctor.reading.made import has_graph
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.reading.places import Place, here, locate
from autograd_doctor.reading.signs import DIVISIONS, NEGATIONS, REVERSED, sign_of
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation

_LOSSES = frozenset({
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "ctc_loss", "huber_loss", "l1_loss",
    "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
})  # fmt: skip
"""Loss functions that are never below zero, given targets such as they expect."""
_SIZES = frozenset({"abs", "abs_", "absolute", "norm", "square", "square_"})
_POWERS = frozenset({"pow", "pow_", "__pow__"})
_GROWING = frozenset({"clamp", "clamp_min", "log1p", "sqrt"})
_BEGIN = _LOSSES | _SIZES | _POWERS | DIFFERENCES | {"log_softmax"}
"""Operations with which something to follow begins."""
_MOST_PLACES = 16


class _Bounded(NamedTuple):
    """A tensor that is something never below zero, or its negative, up to a constant; where its sign was changed."""

    negated: bool
    operation: str
    place: Place | None
    negated_at: Place | None = None

    def turned(self, place: Place | None) -> _Bounded:
        return self._replace(negated=not self.negated, negated_at=place)


class LossSigns(Instrument):
    """Tells for each line with a backward what sign its loss has, when that is first seen and when it changes."""

    emits: ClassVar[tuple[type[Event], ...]] = (LossSignSeen,)

    def __init__(
        self,
        site: Site,
        course: Course,
        optimizers: Optimizers,
        tensors: Tensors,
        lineage: Lineage,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._optimizers = optimizers
        self._tensors = tensors
        self._lineage = lineage
        self._bounded: ValueTable[_Bounded] = self.value_table()
        self._residuals: ValueTable[None] = self.value_table()
        self._log_probabilities: ValueTable[None] = self.value_table()
        """Of classes, so that their negatives are never below zero."""
        self._told: set[tuple[object, bool]] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operation_ended)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        for table in (self._bounded, self._residuals, self._log_probabilities):
            table.clear()

    # --------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        result = operation.result
        if not (operation.name in _BEGIN or self._bounded or self._residuals or self._log_probabilities):
            return
        if operation.kind is not Kind.OPERATION or not isinstance(result, torch.Tensor):
            return
        given = operation.args[0] if operation.args else None
        if operation.name == "log_softmax" or (operation.name in REARRANGEMENTS and given in self._log_probabilities):
            self._log_probabilities.put(result, None)
        found = self._begun(operation) or (self._carried(operation) if self._bounded else None)
        if found is not None and has_graph(result):
            self._bounded.put(result, found)
        elif operation.name in DIFFERENCES and has_graph(result) and self._is_residual(operation):
            self._residuals.put(result, None)

    def _begun(self, operation: Operation) -> _Bounded | None:
        """A loss function, or the size of what is left between predictions and data."""
        name, args = operation.name, operation.args
        is_size = bool(self._residuals) and (name in _SIZES or (name in _POWERS and _is_even(args)))
        given = next(iter(tensors_in(args)), None) if is_size or name in _LOSSES else None
        if given is None or (is_size and given not in self._residuals):
            return None
        if name == "nll_loss" and given not in self._log_probabilities:
            return None
        return _Bounded(False, name, operation.place)

    def _is_residual(self, operation: Operation) -> bool:
        """Whether a difference has data on one side."""
        tensors = tensors_in(operation.args)
        plain = [tensor for tensor in tensors if not has_graph(tensor) and tensor.numel() > 1]
        made = self._tensors.get(plain[0]) if len(plain) == 1 and len(tensors) == 2 else None
        return len(plain) == 1 and len(tensors) == 2 and (made is None or not made.values)

    def _known(self, values: Sequence[Any]) -> list[_Bounded]:
        return [known for tensor in tensors_in(values) if (known := self._bounded.get(tensor)) is not None]

    def _carried(self, operation: Operation) -> _Bounded | None:
        """What an operation leaves of the sign."""
        name, args = operation.name, operation.args
        live = [tensor for tensor in tensors_in(args) if has_graph(tensor)]
        known = self._known(live)
        if not known or len(known) != len(live):
            return None
        if name in NEGATIONS:
            return known[0].turned(operation.place)
        if name in REARRANGEMENTS or name in JOINS:
            return _agreed(known)
        if name in _GROWING:
            return None if known[0].negated and name != "clamp" else known[0]
        if name in PRODUCTS:
            return self._multiplied(operation, args, known)
        return self._summed(operation, args, known) if name in SUMS else None

    def _multiplied(self, operation: Operation, args: Sequence[Any], known: Sequence[_Bounded]) -> _Bounded | None:
        factors = [value for value in args if type(value) in (int, float)]
        factors += [value for value in args if isinstance(value, torch.Tensor) and not has_graph(value)]
        if len(known) != 1 or len(factors) != 1:
            return None
        if operation.name in DIVISIONS and self._bounded.get(args[0]) is None:
            return None
        sign = sign_of(factors[0])
        return None if not sign else known[0] if sign > 0 else known[0].turned(operation.place)

    def _summed(self, operation: Operation, args: Sequence[Any], known: Sequence[_Bounded]) -> _Bounded | None:
        """Sums of one sign keep it; numbers only shift it, and so do data of a single value."""
        if any(isinstance(value, torch.Tensor) and not has_graph(value) and value.numel() > 1 for value in args):
            return None
        signs = list(known)
        if operation.name in REVERSED or (operation.name in DIFFERENCES and self._bounded.get(args[0]) is None):
            signs = [each.turned(operation.place) for each in signs]
        elif operation.name in DIFFERENCES and len(signs) > 1:
            signs[1:] = [each.turned(operation.place) for each in signs[1:]]
        return _agreed(signs)

    # -------------------------------------------------------------------------------------------------------- losses

    def _backward_began(self, call: BackwardCall) -> None:
        root = call.roots[0]
        known = self._bounded.get(root)
        if known is None or call.kind != "backward" or len(call.roots) > 1 or root.numel() != 1:
            return
        climber = self._climber(root)
        negated = known.negated != (climber is not None)
        where = here()
        if (where, negated) in self._told or len(self._told) >= _MOST_PLACES:
            return
        self._told.add((where, negated))
        self.emit(
            LossSignSeen(
                step=self._course.steps,
                backward=self._course.backwards,
                location=where,
                negated=negated,
                operation=known.operation,
                is_loss=known.operation in _LOSSES,
                bounded_at=locate(known.place),
                negated_at=locate(known.negated_at),
                maximises=climber,
            )
        )

    def _climber(self, root: torch.Tensor) -> int | None:
        """The optimizer that climbs, if it holds all of the parameters that the loss teaches and any one holds."""
        made = self._tensors.get(root)
        taught = made.connected & self._optimizers.held if made is not None else 0
        held = dict(self._optimizers.holders())
        for number, optimizer in self._optimizers.living():
            bits = sum(1 << parameter for parameter in held.get(number, ()))
            climbs = all(group.get("maximize") is True for group in optimizer.param_groups)
            if climbs and taught and not taught & ~bits:
                return number
        return None


def _is_even(args: Sequence[Any]) -> bool:
    return len(args) == 2 and type(args[1]) in (int, float) and args[1] > 0 and args[1] % 2 == 0


def _agreed(known: Sequence[_Bounded]) -> _Bounded | None:
    """The common sign, None where there are both."""
    return known[0] if len({each.negated for each in known}) == 1 else None
