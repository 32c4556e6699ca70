"""Softmaxes over a dimension of size one, and shares of the sum over one, by line."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import SoftmaxOfOne
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.within_step import WithinStep
from autograd_doctor.reading.single_axis import is_one_of_several, is_taken_for_none
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Op, Value, numbers_in

_ATTENTION = "scaled_dot_product_attention"
_NAMES = frozenset({"cross_entropy", "div", "log_softmax", "softmax", _ATTENTION})
_MOST_LINES = 100


class LoneSoftmaxes(WithinStep):
    """Tells of a line once it ran over one element, and once more when it ran over several."""

    emits: ClassVar[tuple[type[Event], ...]] = (SoftmaxOfOne,)

    def __init__(self, site: Site, course: Course, detail: Detail, tape: Tape) -> None:
        self._made: dict[Value, SoftmaxOfOne] = {}
        super().__init__(site, course, detail)
        self._tape = tape
        self._is_one: dict[tuple[str, Location | None], bool] = {}
        self._for_none: set[Location | None] = set()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._recorded, names=_NAMES)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)

    def _forget(self) -> None:
        self._made.clear()

    def _recorded(self, op: Op) -> None:
        if not op.output.learns or not op.values:
            return
        if op.name == "div":
            self._divided(op)
        elif op.name == _ATTENTION:
            self._attended(op)
        elif op.values[0].shape:
            dim = _class_dim(op) if op.name == "cross_entropy" else _softmax_dim(op)
            self._note(op, op.values[0], dim, is_one=op.values[0].shape[dim] == 1)

    def _attended(self, op: Op) -> None:
        query, key = op.values[:2]
        self._note(op, query, len(query.shape) - 1, is_one=key.shape[-2] == 1)

    def _divided(self, op: Op) -> None:
        """What is divided by its own sum, which is over one element where it has the shape of what is summed up."""
        if len(op.values) != 2:
            return
        given, whole = op.values
        if whole.by is None or whole.by.name != "sum" or whole.by.values[0] is not given:
            return
        ones = [at for at, size in enumerate(given.shape) if size == 1]
        is_one = bool(ones) and whole.shape == given.shape and given.count > 1
        if len(whole.shape) == len(given.shape):
            self._note(op, given, ones[-1] if ones else 0, is_one=is_one)

    def _note(self, op: Op, given: Value, dim: int, *, is_one: bool) -> None:
        line = op.name, op.location
        known = self._is_one.get(line)
        if known is None and len(self._is_one) >= _MOST_LINES:
            return
        self._is_one[line] = is_one and known is not False
        told = SoftmaxOfOne(
            step=self._course.steps,
            location=op.location,
            operation=op.name,
            shape=list(given.shape),
            dim=dim,
            varies=not is_one,
            parameters=numbers_in(op.output.values),
            chosen=is_one and is_one_of_several(given, dim),
        )
        if is_one if known is None else known and not is_one:
            self.emit(told)
        keeps_dim = op.output.shape == given.shape
        if is_one and keeps_dim and op.location not in self._for_none and len(self._made) < _MOST_LINES:
            self._made[op.output] = told

    def _backward_began(self, call: BackwardCall) -> None:
        """By now all is known that came of them."""
        for value, told in self._made.items():
            if told.location not in self._for_none and is_taken_for_none(value, told.dim):
                self._for_none.add(told.location)
                self.emit(replace(told, for_none=True))


def _class_dim(op: Op) -> int:
    return min(1, len(op.values[0].shape) - 1)


def _softmax_dim(op: Op) -> int:
    """Where none is given, torch takes the first of one or three dimensions, else the second."""
    dims = len(op.output.shape)
    return op.dim % dims if op.dim is not None else int(dims not in (1, 3))
