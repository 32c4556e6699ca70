"""Classes that were averaged as numbers, where the result is the target of a loss over classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, Literal, NamedTuple

import torch

from autograd_doctor.events.data import ClassesAveraged
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import (
    ARITHMETIC,
    BY_DIFFERENCE,
    CLASSES,
    CONVOLUTIONS,
    EQUALITIES,
    JOINS,
    MOVES,
    PICKS,
    SOFTMAXES,
)
from autograd_doctor.reading.class_averages import Blend, blend_of, classes_in, mixture_of
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.places import locate
from autograd_doctor.reading.tensor_facts import is_remote
from autograd_doctor.signals import Signals
from autograd_doctor.signals.compiled import UNSEEN
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import Op, Value, source_of

State = Literal["averaged", "rounded", "truncated", "one-hot", "other", "source"]
"""What became of an average: numbers between, whole ones again, a mask of a class, anything else; source: the average
is of these."""

_POOLS = frozenset(f"{kind}avg_pool{axes}d" for kind in ("", "adaptive_") for axes in (1, 2, 3))
_BY_ROW = _POOLS | frozenset(CONVOLUTIONS) | {"grid_sample", "interpolate", "upsample"}
_AVERAGES = _BY_ROW | {"lerp", "mean"}
_NEAREST = ("nearest", "nearest-exact")
_ROUNDS: dict[str, State] = {"floor": "truncated", "round": "rounded", "trunc": "truncated"}
_STAYS = MOVES | JOINS | {"clamp", "copy", "pad"}
"""What gives values that it is given first, and few that do not come of them."""
_FILLS = frozenset({"__setitem__", "where"})
_OF_PART = frozenset({"__getitem__", "chunk", "index_select", "narrow", "select", "split", "unbind"})
_ONE_HOT = frozenset({"one_hot", "scatter"})
_TO_SCORES = MOVES | {"clamp", "exp", "log", "neg", "pow"}
_CASTS = frozenset({"clone", "contiguous", "detach", "double", "float", "int", "long", "to", "type"})
_TERMS = frozenset({"add", "mul", "sum"})
_AWAY = "averages of whole numbers that lie on an accelerator are not looked at"
_HALF = 0.5
_PAIR = 2
_FEWEST_PLACES = 4
_MOST_CALLS = 64
_MOST_PLACES = 2**20
"""Of a line, that are looked at."""
_SLIGHT = 1e-3


@dataclass(eq=False, slots=True)
class _Average:
    """A call that averaged what may be classes.

    became: how its result was made whole, once that is a target. is_given: a model takes it in, or what it is of.
    has_order: a loss goes by how large it is.
    """

    location: Location
    operation: str
    blend: Blend
    is_pair: bool
    step: int
    became: str = ""
    classes: int = 0
    is_given: bool = False
    has_order: bool = False


class _Label(NamedTuple):
    """became: how it was made whole, also where something else was made of that."""

    average: _Average
    state: State
    became: str = ""


class AveragedClasses(Instrument):
    """Averages each class by itself, as a mask, to see what goes into an average at each place; and follows the result
    to losses, also from step to step.

    It hears of what torch does in the program's main thread, in steps that are looked at closely.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ClassesAveraged,)

    def __init__(self, site: Site, course: Course, lineage: Lineage, tape: Tape) -> None:
        super().__init__(site)
        self._course = course
        self._lineage = lineage
        self._tape = tape
        self._labels = self.value_table()
        self._calls: dict[tuple[Location, str], list[_Average]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._tape.recorded, self._recorded)
        self.listen(self._lineage.operated, self._operated, names=_AVERAGES)
        self.listen(signals.compiled.began, self._compiled_began)

    def _compiled_began(self, function: object) -> None:
        self.limited(UNSEEN)

    # ------------------------------------------------------------------------------------------------------- averages

    def _operated(self, operation: Operation) -> None:
        """An operation that averages parts of a tensor, or mixes two: the tape has it already."""
        result, location, name = operation.result, locate(operation.place), operation.name
        if not isinstance(result, torch.Tensor) or not operation.inputs or location is None:
            return
        learns = result.requires_grad or any(each.requires_grad for each in operation.inputs)
        if learns or result.numel() < _FEWEST_PLACES or not self._has_room(location, name):
            return
        if name == "lerp":
            one, other, weight = (*operation.args, *operation.kwargs.values())[:3]
            self._mix(location, name, result, (other, one), (weight, 1 - weight))
        elif self._is_at_hand(operation.inputs[0]) and _is_average(operation):
            given, by_row = operation.inputs[0], name in _BY_ROW
            blend = blend_of(operation.function, operation.args, operation.kwargs, result, by_row=by_row)
            self._note(location, name, blend, result, [given])

    def _has_room(self, location: Location, name: str) -> bool:
        known = self._calls.get((location, name), ())
        return len(known) < _MOST_CALLS and sum(each.blend.places for each in known) < _MOST_PLACES

    def _is_at_hand(self, tensor: Any) -> bool:
        if not isinstance(tensor, torch.Tensor):
            return False
        if is_remote(tensor) and source_of(self._tape.value(tensor), MOVES).kind == "int":
            self.limited(_AWAY)
        return not is_remote(tensor)

    def _mix(
        self,
        location: Location,
        name: str,
        result: torch.Tensor,
        parts: Sequence[torch.Tensor],
        weights: Sequence[Any],
    ) -> None:
        """Weights that are all the same make a mean."""
        if all(
            self._is_at_hand(each) and each.shape == result.shape and classes_in(each) is not None for each in parts
        ):
            is_pair = len(parts) == _PAIR
            self._note(location, name, mixture_of(parts, weights, result), result, parts, is_pair=is_pair)

    def _note(
        self,
        location: Location,
        name: str,
        blend: Blend | None,
        result: torch.Tensor,
        given: Sequence[torch.Tensor],
        *,
        is_pair: bool = False,
    ) -> None:
        if blend is None or not blend.differing:
            return
        average = _Average(location, name, blend, is_pair, self._course.steps)
        self._calls.setdefault((location, name), []).append(average)
        is_cut = name in ("floor_divide", "mean")
        state: State = "averaged" if result.is_floating_point() else "truncated" if is_cut else "rounded"
        self._put(result, {_Label(average, state, "" if state == "averaged" else state)})
        for tensor in given:
            for source in _sources(self._tape.value(tensor)):
                self._put(source, {_Label(average, "source")})

    def _put(self, tensor: torch.Tensor | None, labels: set[_Label]) -> None:
        if tensor is not None and labels:
            self._labels.put(tensor, labels | (self._labels.now(tensor) or set()))

    # ----------------------------------------------------------------------------------------- what becomes of averages

    def _recorded(self, op: Op) -> None:
        if op.name in ("add", "div", "floor_divide") and not op.output.learns:
            self._compute(op)
        if not len(self._labels):
            return
        for place, value in enumerate(op.values):
            for label in self._labels_of(value):
                if op.output.learns:
                    self._use(op, value, label)
                else:
                    self._carry(op, place, label)

    def _labels_of(self, value: Value) -> set[_Label]:
        tensor = tensor_of(value)
        return (self._labels.get(tensor) if tensor is not None else None) or set()

    def _compute(self, op: Op) -> None:
        """An average that is computed as a sum over how many there are, or of two products by weights."""
        location, result = op.location, tensor_of(op.output)
        if location is None or result is None or result.numel() < _FEWEST_PLACES:
            return
        if is_remote(result):
            made = [value.by for value in op.values if value.by is not None and value.by.name in _TERMS]
            if any(source_of(each, MOVES).kind == "int" for by in made for each in by.values):
                self.limited(_AWAY)
            return
        if op.name == "add" and self._has_room(location, "mixture"):
            parts, weights = _weighed(op)
            name = "mixture"
        else:
            parts = _summands(op.values[0], op.numbers[0]) if op.name != "add" and len(op.numbers) == 1 else []
            name, weights = "mean", [1 / max(1, len(parts))] * len(parts)
        if len(parts) > 1 and self._has_room(location, name):
            self._mix(location, name, result, parts, weights)

    def _carry(self, op: Op, place: int, label: _Label) -> None:
        state = _state_after(op, place, label)
        if state is not None:
            became = label.became or (state if state in _ROUNDS.values() else "")
            if op.name == "one_hot":
                label.average.classes = op.output.shape[-1]
            for output in op.outputs:
                self._put(tensor_of(output), {label._replace(state=state, became=became)})

    def _use(self, op: Op, value: Value, label: _Label) -> None:
        """Something that learns is made with it: a loss, or what a model computes of it."""
        average = label.average
        if label.state in _ROUNDS.values() and value is not op.values[0] and _is_over_classes(op):
            average.became = label.became
            average.classes = max(average.classes, _classes_of(op))
        elif any(each.is_parameter for each in op.values):
            average.is_given = True
        elif label.state == "one-hot":
            average.became = label.became
        elif label.state in ("averaged", *_ROUNDS.values()) and op.name in BY_DIFFERENCE:
            average.has_order = True

    # ---------------------------------------------------------------------------------------------------------- telling

    def finish(self) -> None:
        for (location, operation), calls in self._calls.items():
            used = [each for each in calls if each.became and not each.is_given]
            if used and not any(each.has_order for each in calls):
                for became, alike in groupby(sorted(used, key=lambda each: each.became), lambda each: each.became):
                    self._tell(location, operation, became, list(alike))

    def _tell(self, location: Location, operation: str, became: str, calls: Sequence[_Average]) -> None:
        blend = Blend()
        for call in calls:
            blend.add(call.blend)
        if became in blend.examples:
            one, other, now = blend.examples[became]
            self.emit(
                ClassesAveraged(
                    step=calls[0].step,
                    location=location,
                    operation=operation,
                    classes=max(call.classes for call in calls),
                    places=blend.places,
                    differing=blend.differing,
                    invented=blend.rounded if became == "rounded" else blend.truncated,
                    one=one,
                    other=other,
                    became=now,
                    distance=blend.distance / blend.differing,
                    by_chance=blend.by_chance,
                    regions=blend.regions,
                    rising=blend.rising if calls[0].is_pair else None,
                )
            )


def _is_average(operation: Operation) -> bool:
    """Of convolutions, those with weights that are none below 0 and sum up to 1."""
    if operation.kwargs.get("mode", "") in _NEAREST:
        return False
    if operation.name not in CONVOLUTIONS:
        return True
    kernel = operation.inputs[1]
    sums = kernel.sum(tuple(range(1, kernel.dim())))
    return not is_remote(kernel) and bool((kernel >= 0).all()) and bool(((sums - 1).abs() < _SLIGHT).all())


def _sources(value: Value) -> Iterator[torch.Tensor | None]:
    """What holds the same numbers, back to where they come from; a part of all fields of a sample is something else."""
    yield tensor_of(value)
    while value.by is not None and value.by.name in MOVES and value.by.values:
        before = value.by.values[0]
        if value.by.name in _OF_PART and not (value.shape[-1:] == before.shape[-1:] or value.shape == before.shape[1:]):
            return
        value = before
        yield tensor_of(value)


def _weighed(op: Op) -> tuple[list[torch.Tensor], list[Any]]:
    """The two factors in a sum of products by weights that sum up to 1, and these."""
    if len(op.values) != _PAIR or len(op.operands) != _PAIR:
        return [], []
    factors = [_factors(value) for value in op.values]
    if None in factors:
        return [], []
    weights = [each[0] for each in factors if each is not None]
    if weights[0] is None and weights[1] is not None:
        weights[0] = 1 - weights[1]
    if weights[0] is None or not _sums_up(*weights):
        return [], []
    weights[1] = 1 - weights[0]
    others = [each[1] for each in factors if each is not None]
    found = [_without(*each) for each in zip(op.values, others, weights, strict=True)]
    parts = [each for each in found if each is not None]
    return (parts, weights) if len(parts) == _PAIR else ([], [])


def _factors(value: Value) -> tuple[Any, torch.Tensor | None] | None:
    """Of a product: its weight, and the other factor, as far as both are still there."""
    op = value.by
    if op is None or op.name != "mul":
        return None
    if len(op.values) == 1:
        return (op.numbers[0] if op.numbers else None), _alive(op.values[0])
    alive = [_alive(each) for each in op.values]
    for place, weight in enumerate(alive):
        if weight is not None and _may_weigh(weight):
            return weight, alive[1 - place]
    return None, next((each for each in alive if each is not None), None)


def _alive(value: Value) -> torch.Tensor | None:
    """What still holds a value, or the same numbers as another type."""
    while tensor_of(value) is None and value.by is not None and value.by.name in _CASTS and value.by.values:
        value = value.by.values[0]
    return tensor_of(value)


def _may_weigh(weight: torch.Tensor) -> bool:
    return weight.is_floating_point() and not is_remote(weight) and bool(((weight >= 0) & (weight <= 1)).all())


def _sums_up(weight: Any, rest: Any) -> bool:
    return rest is None or bool((torch.as_tensor(weight + rest, device="cpu") - 1).abs().max() < _SLIGHT)


def _without(product: Value, factor: torch.Tensor | None, weight: Any) -> torch.Tensor | None:
    """The other factor of a product by a weight, if that is of whole numbers."""
    made = tensor_of(product)
    if factor is not None or made is None or is_remote(made):
        return factor
    found = made / weight
    whole = found.round()
    return whole if bool(((found - whole).abs() < _SLIGHT).all()) else None


def _summands(total: Value, count: float) -> list[torch.Tensor]:
    """What was added up, if it was so many."""
    found: list[torch.Tensor | None] = []
    op, pending = total.by, [total]
    if op is not None and op.name == "sum":
        return _along(op.values[0], op.dim, count) if op.dim is not None else []
    while pending and len(pending) + len(found) <= count:
        value = pending.pop()
        is_sum = value.by is not None and value.by.name == "add" and not any(value.by.numbers)
        if value.by is not None and is_sum and (value is total or tensor_of(value) is None):
            pending += value.by.values[::-1]
        else:
            found.append(_alive(value))
    return [each for each in found if each is not None] if len(found) == count and None not in found else []


def _along(value: Value, axis: int, count: float) -> list[torch.Tensor]:
    """The parts of a tensor along an axis; also where it was only made to be summed up."""
    given, made = tensor_of(value), value.by
    if given is not None and value.shape:
        return list(given.unbind(axis)) if given.shape[axis] == count else []
    stacked = made.values if made is not None and made.name == "stack" and len(made.values) == count else []
    parts = [tensor_of(each) for each in stacked] if axis == 0 else []
    return [each for each in parts if each is not None] if None not in parts else []


def _state_after(op: Op, place: int, label: _Label) -> State | None:
    """What the result is of something that an average has come to."""
    state, kind = label.state, op.output.kind
    if state == "source":
        is_scaled = op.name in ARITHMETIC and len(op.values) == 1
        is_batch = op.name in JOINS and not op.dim
        return state if is_batch or (place == 0 and (op.name in MOVES | _ONE_HOT or is_scaled)) else None
    if state == "other":
        return state
    if state == "one-hot":
        return state if op.name in _STAYS | ARITHMETIC | _FILLS else "other"
    if op.name in _ONE_HOT or (op.name in EQUALITIES and op.numbers):
        return "one-hot" if state != "averaged" else "other"
    return _whole_after(op, place, state) if kind != "bool" else "other"


def _whole_after(op: Op, place: int, state: State) -> State:
    if op.name in _ROUNDS and state == "averaged":
        return _ROUNDS[op.name]
    if op.name == "add" and op.numbers == [_HALF] and state == "averaged":
        return "rounded"
    is_kept = (place == 0 and op.name in _STAYS) or op.name in JOINS or (op.name in _FILLS and place > 0)
    if op.name == "__setitem__":
        is_kept = place in (0, len(op.values) - 1)
    if op.name == "sub" and place == 0 and len(op.values) == 1 and state != "averaged":
        is_kept = all(float(each).is_integer() for each in op.numbers)  # the first class is void, and left out
    if not is_kept and op.name not in _ROUNDS and op.name != "masked_fill":
        return "other"
    return "truncated" if state == "averaged" and op.output.kind == "int" else state


def _is_over_classes(op: Op) -> bool:
    """Whether it compares scores of classes with a class, or picks that of a class."""
    if op.name in CLASSES:
        return True
    made = source_of(op.values[0], _TO_SCORES).by if op.name in PICKS else None
    return made is not None and made.name in SOFTMAXES | {"log_softmax"}


def _classes_of(op: Op) -> int:
    shape = op.values[0].shape
    return shape[1] if op.name in CLASSES and len(shape) > 1 else shape[-1]
