"""What reached a loss function: its prediction and its target, what made them, and what their values tell.

Each call site is looked at a few times, and told of once a backward has gone through what the function gave.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import torch
from msgspec.structs import replace

from autograd_doctor.events import Event, LossComputed, LossOperand
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.ledger import Ledger
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.shapings import Shapings
from autograd_doctor.instruments.tensors import Tensors
from autograd_doctor.reading.made import Made, has_graph
from autograd_doctor.reading.operand_values import Values, values_of
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.shaping import Shaped
from autograd_doctor.reading.tensor_facts import describe
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation

_LOOKS = 4
"""At each call site, for each way in which the prediction was made: what is wrong there is so from the start."""
_MOST_SITES = 1000
"""To be told apart: more come of code that is made anew all the time."""
_OF_CLASSES = frozenset({"cross_entropy", "nll_loss"})
_LOSSES = _OF_CLASSES | {
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "gaussian_nll_loss", "huber_loss", "kl_div", "l1_loss",
    "mse_loss", "poisson_nll_loss", "smooth_l1_loss",
}  # fmt: skip


class _Call(NamedTuple):
    """A call of a loss function that was looked at."""

    place: Place | None
    operation: str
    prediction: LossOperand
    target: LossOperand
    class_dim: int | None
    log_target: bool
    in_order: bool
    normalised_elsewhere: bool


class LossInputs(Instrument):
    """Tells, when a backward begins, of the loss functions behind it."""

    emits: ClassVar[tuple[type[Event], ...]] = (LossComputed,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        tensors: Tensors,
        ledger: Ledger,
        lineage: Lineage,
        shapings: Shapings,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._tensors = tensors
        self._ledger = ledger
        self._shapings = shapings
        self._calls: WeakKeyDictionary[Made, _Call] = WeakKeyDictionary()
        self._looks: dict[object, int] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.ended, self._operation_ended)
        self.listen(signals.backward.began, self._backward_began)

    def _operation_ended(self, operation: Operation) -> None:
        name, result = operation.name, operation.result
        if name not in _LOSSES or not self._detail.closely or self._course.running is not None:
            return
        made = self._tensors.get(result) if isinstance(result, torch.Tensor) and has_graph(result) else None
        operands = _operands(operation)
        if made is not None and operands is not None and self._may_look(operation, operands[0]):
            self._calls[made] = self._look(operation, *operands)

    def _may_look(self, operation: Operation, prediction: torch.Tensor) -> bool:
        shaped = self._shapings.of(prediction)
        key = operation.name, operation.place, shaped.signature if shaped is not None else None
        if key not in self._looks and len(self._looks) >= _MOST_SITES:
            return False
        self._looks[key] = self._looks.get(key, 0) + 1
        return self._looks[key] <= _LOOKS

    def _look(self, operation: Operation, prediction: torch.Tensor, target: torch.Tensor) -> _Call:
        class_dim = _class_dim(operation.name, prediction)
        shaped = self._shapings.of(prediction)
        over = shaped.dim if shaped is not None and shaped.shape == prediction.shape else None
        is_indices = not target.is_floating_point()
        given = values_of(prediction, class_dim=class_dim, over=over)
        wanted = values_of(
            target,
            class_dim=None if is_indices else class_dim,
            over=None if is_indices or target.shape != prediction.shape else over,
            bounds=shaped.bounds if shaped is not None and shaped.is_bounded else None,
        )
        return _Call(
            operation.place,
            operation.name,
            self._operand(prediction, given, shaped),
            self._operand(target, wanted, self._shapings.of(target)),
            class_dim,
            operation.kwargs.get("log_target") is True,
            is_indices and _is_in_order(target),
            self._shapings.is_normalised_elsewhere(prediction),
        )

    def _operand(self, tensor: torch.Tensor, values: Values, shaped: Shaped | None) -> LossOperand:
        made = self._tensors.get(tensor)
        facts = describe(
            tensor,
            name=variable_name(tensor),
            operation=made.operation if made is not None else "",
            made_at=locate(made.place) if made is not None else None,
            ranges=False,
        )
        return LossOperand(
            facts=replace(facts, low=values.low, high=values.high),
            shaping=shaped.event() if shaped is not None else None,
            sums=list(values.sums),
            log_sums=list(values.log_sums),
            sums_over_softmax=list(values.sums_over),
            binary=values.binary,
            outside=values.outside,
        )

    def _backward_began(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        if walk is None or not self._calls:
            return
        for made in dict.fromkeys(made for made in walk.made.values() if made is not None):
            seen = self._calls.get(made)
            if seen is not None:
                self._tell(seen, walk.backward)
                if call.kind == "backward":
                    del self._calls[made]

    def _tell(self, seen: _Call, backward: int) -> None:
        self.emit(
            LossComputed(
                step=self._course.steps,
                backward=backward,
                location=locate(seen.place),
                operation=seen.operation,
                prediction=seen.prediction,
                target=seen.target,
                class_dim=seen.class_dim,
                log_target=seen.log_target,
                in_order=seen.in_order,
                normalised_elsewhere=seen.normalised_elsewhere,
            )
        )


def _operands(operation: Operation) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The prediction and the target of a call."""
    args: Sequence[Any] = operation.args
    prediction = args[0] if args else operation.kwargs.get("input")
    target = args[1] if len(args) > 1 else operation.kwargs.get("target")
    if isinstance(prediction, torch.Tensor) and isinstance(target, torch.Tensor):
        return prediction, target
    return None


def _class_dim(name: str, prediction: torch.Tensor) -> int | None:
    """The dimension that a loss function takes for that of the classes; `kl_div` knows none, but all use the last."""
    if not prediction.dim():
        return None
    if name in _OF_CLASSES:
        return min(1, prediction.dim() - 1)
    return prediction.dim() - 1


def _is_in_order(target: torch.Tensor) -> bool:
    """Whether the rows have the classes 0, 1, 2 …: each row is a class of its own."""
    return target.dim() == 1 and torch.equal(target, torch.arange(len(target), device=target.device, dtype=target.dtype))
