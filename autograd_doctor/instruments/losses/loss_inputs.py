"""What reached a loss: its prediction and its target, what made them, and what their values tell.

A loss is a function of torch, or written by hand: a difference between what has a graph and what has none, or the
product of a logarithm with weights, followed value by value to a sum or a mean. Each line is looked at a few times, and
told of once a backward has gone through what was computed there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import torch
from msgspec.structs import replace

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import LossComputed, LossOperand
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.losses.shapings import Shapings
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import COMPARING, DIFFERENCES, LOOK_UPS, MOVES, PICKS, PRODUCTS, SIGMOIDS, SOFTMAXES
from autograd_doctor.reading.looks import Looks
from autograd_doctor.reading.loss_arguments import is_in_order, operands_of, picked_classes, picks_rows, usual_class_dim
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.operand_values import Values, values_of
from autograd_doctor.reading.pairs import ELEMENTWISE, REDUCTIONS
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import Provenance, has_graph
from autograd_doctor.reading.shaping import Shaped, dim_in_view
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation

_CHOOSES = LOOK_UPS | {"masked_select", "where"}
"""Operations that may leave values of their input out."""
_LOGARITHMS = frozenset({"log", "log_softmax", "logsigmoid"})
_BEGIN = COMPARING | DIFFERENCES | PRODUCTS | PICKS
"""Operations that compare."""


class _Site(NamedTuple):
    """A line, what it calls there, and how the prediction was made."""

    operation: str
    place: Place | None
    signature: tuple[object, ...] | None


@dataclass
class _Operands:
    """Of a loss, once their values are known."""

    prediction: LossOperand
    target: LossOperand
    in_order: bool = False


class _Loss(NamedTuple):
    """A loss that was looked at."""

    site: _Site
    operands: _Operands
    class_dim: int | None
    softmax_dim: int | None
    log_target: bool
    shaped: Shaped | None
    target_of_parameters: bool
    whole: bool


class LossInputs(Instrument):
    """Tells, when a backward begins, of the losses behind it."""

    emits: ClassVar[tuple[type[Event], ...]] = (LossComputed,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        late_values: LateValues,
        tensors: Tensors,
        ledger: Ledger,
        lineage: Lineage,
        shapings: Shapings,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._late_values = late_values
        self._tensors = tensors
        self._ledger = ledger
        self._lineage = lineage
        self._shapings = shapings
        self._losses: WeakKeyDictionary[Provenance, _Loss] = WeakKeyDictionary()
        self._followed: ValueTable[_Loss] = self.value_table()
        self._looks: Looks[_Site] = Looks()

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operation_ended, names=_BEGIN | ELEMENTWISE | REDUCTIONS | MOVES)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._detail.focused, self._turned)

    def _turned(self, detail: Detail) -> None:
        """What operations of other steps made is not known."""
        self._followed.clear()

    def _step_taken(self, course: Course) -> None:
        self._looks.step_taken()

    # --------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        name, result = operation.name, operation.result
        if not (name in _BEGIN or self._followed) or not isinstance(result, torch.Tensor) or not has_graph(result):
            return
        if name in COMPARING:
            self._function_called(operation, result)
        elif self._followed and self._is_followed(operation, result):
            return
        elif name in DIFFERENCES or name in PRODUCTS:
            self._compared_by_hand(operation, result)
        elif name in PICKS:
            self._picked_by_hand(operation, result)

    def _function_called(self, operation: Operation, result: torch.Tensor) -> None:
        made, operands = self._tensors.get(result), operands_of(operation.args, operation.kwargs)
        if made is not None and operands is not None and self._may_look(operation, operands[0]):
            is_whole = result.dim() == 0 and operation.kwargs.get("weight") is None
            self._losses[made] = self._look(operation, *operands, is_whole=is_whole)

    def _compared_by_hand(self, operation: Operation, result: torch.Tensor) -> None:
        """A difference, or a weighted logarithm, of which the range of the prediction may tell something."""
        operands = tensors_in(operation.args)
        if len(operands) != 2 or operands[0].shape != operands[1].shape or result.numel() < 2:
            return
        given, wanted = operands if operands[0].requires_grad else operands[::-1]
        shaped = self._shapings.of(given)
        if shaped is None or wanted.requires_grad or not wanted.is_floating_point():
            return
        is_product = operation.name in PRODUCTS
        is_odd = shaped.operation in _LOGARITHMS or _is_squashed_twice(shaped)
        tells = is_odd if is_product else shaped.is_bounded
        if tells and self._may_look(operation, given):
            self._followed.put(result, self._look(operation, given, wanted, is_whole=True))

    def _picked_by_hand(self, operation: Operation, result: torch.Tensor) -> None:
        """The probabilities, or their logarithms, of one class in each row."""
        source = operation.args[0] if operation.args else None
        if not isinstance(source, torch.Tensor):
            return
        shaped, picked = self._shapings.of(source), picked_classes(operation.name, operation.args, operation.kwargs)
        if picked is None or shaped is None or not (shaped.dim is not None or shaped.operation == "log"):
            return
        class_dim, target = picked
        if self._may_look(operation, source) and not picks_rows(source, class_dim, target):
            self._followed.put(result, self._look(operation, source, target, class_dim=class_dim, is_whole=False))

    def _is_followed(self, operation: Operation, result: torch.Tensor) -> bool:
        """Go after what is computed value by value, to where it is summed up."""
        name = operation.name
        if name not in ELEMENTWISE and name not in REDUCTIONS and name not in MOVES:
            return False
        inputs = tensors_in(operation.args)
        loss = next((each for each in map(self._followed.get, inputs) if each is not None), None)
        made = self._tensors.get(result)
        if loss is None or made is None:
            return False
        if name in _CHOOSES or any(not tensor.requires_grad and tensor.numel() > 1 for tensor in inputs):
            loss = loss._replace(whole=False)
        self._followed.put(result, loss)
        if name in REDUCTIONS and result.numel() == 1:
            self._losses[made] = loss
        return True

    # ------------------------------------------------------------------------------------------------------- looking

    def _may_look(self, operation: Operation, prediction: torch.Tensor) -> bool:
        return self._looks.take(self._site_of(operation, prediction))

    def _site_of(self, operation: Operation, prediction: torch.Tensor) -> _Site:
        shaped = self._shapings.of(prediction)
        return _Site(operation.name, operation.place, shaped.signature if shaped is not None else None)

    def _look(
        self,
        operation: Operation,
        prediction: torch.Tensor,
        target: torch.Tensor,
        *,
        is_whole: bool,
        class_dim: int | None = None,
    ) -> _Loss:
        class_dim = usual_class_dim(operation.name, prediction) if class_dim is None else class_dim
        shaped = self._shapings.of(prediction)
        over = shaped.dim if shaped is not None and shaped.shape == prediction.shape else None
        is_indices = not target.is_floating_point()
        over_target = None if is_indices or target.shape != prediction.shape else over
        bounds = shaped.bounds if shaped is not None and shaped.is_bounded else None
        operands = _Operands(self._operand(prediction, shaped), self._operand(target, self._shapings.of(target)))

        def look(given: torch.Tensor, wanted: torch.Tensor) -> None:
            told, expected = operands.prediction, operands.target
            operands.prediction = _with_values(told, values_of(given, class_dim=class_dim, over=over))
            along = None if is_indices else class_dim
            operands.target = _with_values(
                expected, values_of(wanted, class_dim=along, over=over_target, bounds=bounds)
            )
            operands.in_order = is_indices and is_in_order(wanted)

        self._late_values.bring(self, [prediction, target], look)
        known = self._tensors.get(target)
        return _Loss(
            self._site_of(operation, prediction),
            operands,
            class_dim,
            dim_in_view(shaped, prediction) if shaped is not None else None,
            operation.kwargs.get("log_target") is True,
            shaped,
            known is not None and known.values != 0,
            is_whole,
        )

    def _operand(self, tensor: torch.Tensor, shaped: Shaped | None) -> LossOperand:
        """What is known of one without its values."""
        shaping = shaped.event() if shaped is not None else None
        return LossOperand(facts=self._tensors.describe(tensor, ranges=False), shaping=shaping)

    def _backward_began(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        if walk is None or not self._losses:
            return
        for made in walk.lineages:
            seen = self._losses.get(made)
            if seen is not None:
                self._tell(seen, walk.backward)
                if call.kind == "backward":
                    del self._losses[made]

    def _tell(self, seen: _Loss, backward: int) -> None:
        self._looks.told(seen.site)
        step, operands = self._course.steps, seen.operands

        def tell(_: Sequence[Any]) -> None:
            self.emit(
                LossComputed(
                    step=step,
                    backward=backward,
                    location=locate(seen.site.place),
                    operation=seen.site.operation,
                    prediction=operands.prediction,
                    target=operands.target,
                    class_dim=seen.class_dim,
                    softmax_dim=seen.softmax_dim,
                    log_target=seen.log_target,
                    in_order=operands.in_order,
                    normalised_elsewhere=seen.shaped is not None and seen.shaped.is_normalised_elsewhere,
                    target_of_parameters=seen.target_of_parameters,
                    whole=seen.whole,
                )
            )

        self._late_values.ask(self, [], tell, in_place=True)


def _is_squashed_twice(shaped: Shaped) -> bool:
    return (
        shaped.operation in SIGMOIDS and shaped.behind is not None and shaped.behind.operation in SIGMOIDS | SOFTMAXES
    )


def _with_values(operand: LossOperand, values: Values) -> LossOperand:
    return replace(
        operand,
        facts=replace(operand.facts, low=values.low, high=values.high),
        sums=list(values.sums),
        log_sums=list(values.log_sums),
        sums_over_softmax=list(values.sums_over),
        binary=values.binary,
        outside=values.outside,
        mirrored=values.mirrored,
        reach=values.reach,
    )
