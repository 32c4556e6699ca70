"""Targets that learn: differences with a graph to parameters on both sides, one of which is bootstrapped.

A bootstrapped side is data plus a prediction that was scaled down, as a return is a reward plus what is expected
after it. The other side is another prediction, from a pass of its own, or what comes before in the same output, if the
data are others in each step and none that the pass was given: on one grid, of the same rows, or of what drives a
system, it is the residual of an equation. Slopes are no predictions, and what is data plus a prediction on both sides
is symmetric. Not told of is a residual beside which data alone say what the predictions are to be, as those of an
equation are, nor one where what follows is no chance: then its gradient is no slip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import TargetLearned
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import DISTANCES, JOINS, LOSSES, MOVES, PRODUCTS, REARRANGEMENTS, REGRESSION, SUMS
from autograd_doctor.reading.later_parts import relation_of
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import Provenance, has_graph
from autograd_doctor.reading.tensor_facts import near, readable
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import Value, behind, numbers_in, source_of

_SIZES = frozenset({"abs", "abs_", "norm", "pow", "pow_", "__pow__", "square", "square_", "huber_loss", "mse_loss"})
"""Operations that make the size of a difference of it."""
_CHOICES = frozenset({"amax", "amin", "clamp", "fmax", "fmin", "max", "maximum", "min", "minimum", "where"})
_MOVING = REARRANGEMENTS | JOINS | _CHOICES | {"roll", "__setitem__"}
_FOLLOWED = PRODUCTS | DISTANCES | LOSSES | SUMS | _MOVING | _SIZES
_MOST_STEPS = 2
_MOST_PLACES = 16
_MOST_DATA = 1_000
"""Of a place, in a step: one for each moment of a sequence."""
_MOST_VALUES = 2**16
_OFTEN = 4
"""How many times each state comes on average, at the least, where it is seen that the same always follows."""
_ROUNDING = 1e-5
"""Of the spread of values, by how much those of the same input differ at most."""

Part = Literal["scaled", "target"]


class _Side(NamedTuple):
    """A tensor that holds a prediction that was scaled down, or a target. pass_at: where the prediction was made.

    data: those that were added to it. is_new: there were none such in the first step.
    """

    part: Part
    place: Place | None
    pass_at: Place | None
    data: frozenset[Value] = frozenset()
    is_new: bool = False


class _Difference(NamedTuple):
    """What was compared, and how. parameters: of both sides; those of the target, if the others are all `chasing`."""

    made: Provenance
    target: _Side
    other_at: Place | None
    parameters: int
    chasing: int


class _Fit(NamedTuple):
    """A prediction with a graph to these parameters was compared with data alone."""

    made: Provenance
    parameters: int


class _Due(NamedTuple):
    """What is to be told of the present step, unless data alone teach the same parameters."""

    parameters: int
    event: TargetLearned


class MovingTargets(Instrument):
    """States comparisons with a target that learns, once a backward has come through them."""

    emits: ClassVar[tuple[type[Event], ...]] = (TargetLearned,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        optimizers: Optimizers,
        tensors: Tensors,
        ledger: Ledger,
        lineage: Lineage,
        tape: Tape,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._optimizers = optimizers
        self._tensors = tensors
        self._ledger = ledger
        self._lineage = lineage
        self._tape = tape
        self._sides: ValueTable[_Side] = self.value_table()
        self._differences: ValueTable[_Difference] = self.value_table()
        self._compared: list[_Difference] = []
        self._deviations: ValueTable[_Fit] = self.value_table()
        self._fits: list[_Fit] = []
        self._fitted: set[int] = set()
        self._due: list[_Due] = []
        self._numbers: dict[Place | None, set[float]] = {}
        self._first: dict[Place | None, tuple[int, set[float]]] = {}
        self._told: dict[Place | None, set[int]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operation_ended, names=_FOLLOWED)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._detail.focused, self._turned)

    def finish(self) -> None:
        self._tell_due()

    # --------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        name, result = operation.name, operation.result
        if operation.kind is not Kind.OPERATION:
            return
        if name in LOSSES or name in DISTANCES:
            self._fit(operation)
        if name in PRODUCTS:
            self._multiplied(operation)
        elif self._sides or self._differences:
            self._carry(operation)
        if not (isinstance(result, torch.Tensor) and has_graph(result)):
            return
        fits = [known for known in map(self._deviations.get, operation.args) if known is not None]
        if name in _SIZES:
            self._compared += [known for known in map(self._differences.get, operation.args) if known is not None]
            self._fits += fits
        elif fits and (name in PRODUCTS or name in REARRANGEMENTS):
            self._deviations.put(result, fits[0])

    def _carry(self, operation: Operation) -> None:
        name = operation.name
        if name in DISTANCES:
            self._subtracted(operation)
        elif name in SUMS and name not in JOINS:
            self._added(operation)
        elif name in _MOVING:
            self._moved(operation)

    def _multiplied(self, operation: Operation) -> None:
        """A prediction is scaled down by a number below 1, or by data between 0 and 1."""
        result, (live, plain) = operation.result, _parted(operation.args)
        if not (isinstance(result, torch.Tensor) and has_graph(result) and len(live) == 1):
            return
        if not plain or not all(map(self._scales_down, plain)):
            return
        side = self._sides.get(live[0])
        if side is None or side.part == "scaled":
            made = self._tensors.get(live[0])
            pass_at = side.pass_at if side is not None else made.place if made is not None else operation.place
            side = _Side("scaled", operation.place, pass_at)
        self._sides.put(result, side)

    def _scales_down(self, factor: Any) -> bool:
        if not isinstance(factor, torch.Tensor):
            return bool(0 < factor <= 1)
        if not (self._is_data(factor) and readable(factor) and factor.numel()):
            return False
        if factor.is_complex():
            return False
        values = near(factor).detach().float()
        return factor.dtype is torch.bool or bool(((values >= 0) & (values <= 1)).all())

    def _is_data(self, tensor: torch.Tensor) -> bool:
        made = self._tensors.get(tensor)
        return not tensor.requires_grad and (made is None or not made.values)

    def _added(self, operation: Operation) -> None:
        """Data; or, as in a mean of several returns, another prediction that was scaled down."""
        result, (live, plain) = operation.result, _parted(operation.args)
        sides = [side for side in map(self._sides.get, live) if side is not None]
        if not sides or len(sides) < len(live) or len(plain) > 1 or not isinstance(result, torch.Tensor):
            return
        side = _best(sides)
        is_new = any(self._is_new(added, operation.place) for added in plain) or side.is_new
        if plain and (side.part == "target" or self._is_reward(plain[0], operation.place)):
            data = side.data.union(self._sources(plain)) if len(side.data) < _MOST_DATA else side.data
            side = _Side("target", operation.place, side.pass_at, data, is_new)
        if len(live) == 1 or side.part == "target":
            self._sides.put(result, side)

    def _sources(self, added: Iterable[Any]) -> Iterator[Value]:
        return (source_of(self._tape.value(each), MOVES) for each in added if isinstance(each, torch.Tensor))

    def _is_new(self, added: Any, place: Place | None) -> bool:
        """Whether no such data were added here in the first step in which any were."""
        if isinstance(added, torch.Tensor):
            if not readable(added) or added.numel() > _MOST_VALUES:
                return False
            added = near(added).detach().double().sum().item()
        step, seen = self._first.setdefault(place, (self._course.steps, set()))
        if step == self._course.steps and len(seen) < _MOST_DATA:
            seen.add(added)
        return len(seen) < _MOST_DATA and added not in seen

    def _is_reward(self, added: Any, place: Place | None) -> bool:
        """Data: several, or a number that is not always the same."""
        if isinstance(added, torch.Tensor):
            if not self._is_data(added) or added.numel() > 1 or not readable(added):
                return self._is_data(added) and added.numel() > 1
            added = added.item()
        seen = self._numbers.setdefault(place, set())
        if len(seen) < _MOST_PLACES:
            seen.add(float(added))
        return len(seen) > 1

    def _moved(self, operation: Operation) -> None:
        """Choosing and moving values leaves them what they are."""
        sides = [side for tensor in tensors_in(operation.args) if (side := self._sides.get(tensor)) is not None]
        written = operation.args[:1] if operation.name == "__setitem__" else [operation.result]
        for output in tensors_in(written) if sides else ():
            if has_graph(output):
                self._sides.put(output, _best(sides))

    # -------------------------------------------------------------------------------------------------- comparisons

    def _fit(self, operation: Operation) -> None:
        """A prediction is compared with data, which say what it is to be."""
        result, (live, plain) = operation.result, _parted(_compared(operation))
        if len(live) != 1 or len(plain) != 1 or live[0] in self._sides or not isinstance(result, torch.Tensor):
            return
        made, predicted = self._tensors.get(result), self._tensors.get(live[0])
        if made is None or predicted is None or predicted.of_gradient:
            return
        if not isinstance(plain[0], torch.Tensor) or self._is_data(plain[0]):
            fit = _Fit(made, predicted.connected)
            if operation.name in LOSSES:
                self._fits.append(fit)
            else:
                self._deviations.put(result, fit)

    def _subtracted(self, operation: Operation) -> None:
        result, (live, plain) = operation.result, _parted(_compared(operation))
        if not isinstance(result, torch.Tensor) or not has_graph(result):
            return
        if len(live) == 1 and plain:
            self._moved(operation)
            return
        known = [self._sides.get(tensor) for tensor in live]
        targets = [side for side in known if side is not None and side.part == "target"]
        if len(live) != 2 or len(targets) != 1:
            return
        position = known.index(targets[0])
        found = self._difference(operation, live[position], live[1 - position], targets[0])
        if found is not None:
            self._differences.put(result, found)
            self._compared += [found] if operation.name in REGRESSION else []

    def _difference(
        self, operation: Operation, target: torch.Tensor, other: torch.Tensor, side: _Side
    ) -> _Difference | None:
        made, chased, predicted = (self._tensors.get(tensor) for tensor in (operation.result, target, other))
        if made is None or chased is None or predicted is None or len(self._told.get(side.place, ())) >= _MOST_STEPS:
            return None
        learned, chasing = (each.connected & self._optimizers.held for each in (chased, predicted))
        if not (learned and chasing) or chased.of_gradient or predicted.of_gradient or _is_certain(other, target):
            return None
        relation = relation_of(target, other)
        if relation == "same" or (relation == "later" and not (side.is_new and self._is_unknown(side.data, other))):
            return None
        shared = learned & chasing
        return _Difference(made, side, predicted.place, shared or learned, 0 if shared else chasing)

    def _is_unknown(self, data: frozenset[Value], prediction: torch.Tensor) -> bool:
        """Whether a pass was not given these data, of which it could tell what follows without any chance."""
        given = {value for op in behind([self._tape.value(prediction)], live=False) for value in op.values}
        return not data or not data <= given

    # ------------------------------------------------------------------------------------------------------ telling

    def _backward_began(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        if not (self._compared or self._fits) or walk is None or call.kind != "backward":
            return
        through = {id(made) for made in walk.lineages}
        if len(self._fitted) < _MOST_PLACES:
            self._fitted.update(fit.parameters for fit in self._fits if id(fit.made) in through)
        for difference in self._compared:
            if id(difference.made) in through:
                self._tell(difference, walk.backward)

    def _tell(self, difference: _Difference, backward: int) -> None:
        side = difference.target
        steps = self._told.get(side.place, set())
        if self._course.steps in steps or len(steps) >= _MOST_STEPS or len(self._told) >= _MOST_PLACES:
            return
        self._told.setdefault(side.place, set()).add(self._course.steps)
        event = TargetLearned(
            step=self._course.steps,
            backward=backward,
            target_at=locate(side.place),
            compared_at=locate(difference.made.place),
            comparison=difference.made.operation,
            parameters=numbers_in(difference.parameters),
            chasing=numbers_in(difference.chasing),
            target_pass_at=locate(side.pass_at),
            other_pass_at=locate(difference.other_at),
        )
        self._due.append(_Due(0 if difference.chasing else difference.parameters, event))

    def _tell_due(self) -> None:
        """Data may teach the same parameters in a later backward of the step."""
        for parameters, event in self._due:
            if not parameters or all(parameters & ~fitted for fitted in self._fitted):
                self.emit(event)
        self._due.clear()

    def _step_taken(self, course: Course) -> None:
        self._begin_anew()

    def _turned(self, detail: Detail) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._tell_due()
        self._compared.clear()
        self._fits.clear()
        for table in (self._sides, self._differences, self._deviations):
            if table:
                table.clear()


def _parted(values: Sequence[Any]) -> tuple[list[torch.Tensor], list[Any]]:
    """Tensors with a graph, and those and the numbers that have none."""
    tensors: Iterable[Any] = (value for value in values if isinstance(value, torch.Tensor | float | int))
    live: list[torch.Tensor] = []
    plain: list[Any] = []
    for value in tensors:
        (live if isinstance(value, torch.Tensor) and has_graph(value) else plain).append(value)
    return live, plain


def _best(sides: Iterable[_Side]) -> _Side:
    return max(sides, key=lambda side: (side.part == "target", side.is_new))


def _compared(operation: Operation) -> Sequence[Any]:
    return operation.args[:2] or tuple(operation.kwargs.values())[:2]


def _is_certain(prediction: torch.Tensor, target: torch.Tensor) -> bool:
    """Whether the same states come again and again, by what is said of them, and the same always follows."""
    count = prediction.numel()
    if count != target.numel() or not 0 < count <= _MOST_VALUES or not (readable(prediction) and readable(target)):
        return False
    values, order = near(prediction).detach().flatten().double().sort()
    targets = near(target).detach().flatten().double()[order]
    again = values.diff() <= _ROUNDING * (values[-1] - values[0])
    states = count - int(again.sum())
    differing = targets.diff().abs() > _ROUNDING * (targets.max() - targets.min())
    return 1 < states <= count / _OFTEN and not bool((again & differing).any())
