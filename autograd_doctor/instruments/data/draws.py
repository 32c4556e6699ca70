"""Ranges that random indices are drawn from, and the rows of a tensor that they leave out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

import torch

from autograd_doctor.events.data import RowsNeverDrawn
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.sources import Sources
from autograd_doctor.operations import TAKES
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.process_groups import is_one_of_several
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation

_MOST_RANGES = 100


@dataclass(frozen=True)
class _Range:
    place: Place | None
    low: int
    high: int


@dataclass
class _Whole:
    """A tensor that rows were taken of. low, high: of all rows that were seen to be taken, by whatever means.

    evaluated: a module was given all of it without gradients, which holds nothing out.
    """

    name: str
    rows: int
    low: int
    high: int
    ranges: set[_Range] = field(default_factory=set)
    drawn: _Range | None = None
    chosen_at: Place | None = None
    samples: int = 0
    evaluated: bool = False


class Draws(Instrument):
    """Follows the indices of `torch.randint` to the tensors that they are an index of, in full steps.

    Whatever else is taken of such a tensor counts, and so do the slices with which modules are called in any step.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (RowsNeverDrawn,)

    def __init__(self, site: Site, course: Course, detail: Detail, module_calls: ModuleCalls, sources: Sources) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._module_calls = module_calls
        self._sources = sources
        self._indices: ValueTable[_Range] = self.value_table()
        self._draws: Counter[Place | None] = Counter()
        self._wholes: dict[int, _Whole] = {}
        self._unknown = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.ended, self._operation_ended, names={"randint", *TAKES})
        self.listen(self._module_calls.root_began, self._root_began)

    def finish(self) -> None:
        """What a module was evaluated on without its source being known may have been the rows in question.

        Tensors of as many rows belong together, as inputs and targets do: what is taken of one may be of the other.
        """
        for whole in self._wholes.values():
            drawn = whole.drawn
            if drawn is None or self._unknown or (drawn.low <= 0 and drawn.high >= whole.rows):
                continue
            if any(each.place == drawn.place and each != drawn for each in whole.ranges):
                continue  # a range that changes is a part that was chosen, or is not filled yet
            alike = [other for other in self._wholes.values() if other.rows == whole.rows]
            if all(drawn.low <= other.low and other.high <= drawn.high for other in alike):
                self.emit(
                    RowsNeverDrawn(
                        step=self._course.steps,
                        location=locate(drawn.place),
                        chosen_at=locate(whole.chosen_at),
                        name=whole.name,
                        low=drawn.low,
                        high=drawn.high,
                        rows=whole.rows,
                        samples=whole.samples,
                        evaluated=any(other.evaluated for other in alike),
                        draws=self._draws[drawn.place],
                    )
                )

    def _operation_ended(self, operation: Operation) -> None:
        if operation.name == "randint" and isinstance(operation.result, torch.Tensor):
            bounds = [value for value in operation.args if type(value) is int]
            low, high = operation.kwargs.get("low", 0), operation.kwargs.get("high")
            if bounds:
                low, high = (bounds[0], bounds[1]) if len(bounds) > 1 else (low, bounds[0])
            if type(low) is int and type(high) is int:
                self._indices.put(operation.result, _Range(operation.place, low, high))
                self._draws[operation.place] += 1
        elif operation.name in TAKES and self._indices and self._detail.closely:
            self._taken(operation)

    def _taken(self, operation: Operation) -> None:
        whole, result = operation.args[0], operation.result
        if not isinstance(result, torch.Tensor) or result.requires_grad:
            return
        number = self._sources.whole(whole)
        source = next((each for each in self._sources.of(result) if each.number == number), None)
        if source is None or source.kind != "chosen":
            return
        indices = tensors_in(operation.args[1:])
        index = next((each for each in indices if each in self._indices), None)
        known = self._wholes.get(source.number)
        if known is None:
            name = variable_name(whole)
            known = self._wholes[source.number] = _Whole(name, source.rows, source.low, source.high)
        known.low, known.high = min(known.low, source.low), max(known.high, source.high)
        self._unknown |= is_one_of_several()  # others have the rest
        if indices and index is None:  # computed from others, as those of the next word are: they may be any
            known.low, known.high = 0, known.rows
        if index is not None:
            known.drawn, known.chosen_at = self._indices.get(index), operation.place
            known.ranges |= {known.drawn} if known.drawn is not None and len(known.ranges) < _MOST_RANGES else set()
            known.samples += index.numel()

    def _root_began(self, began: RootBegan) -> None:
        call = began.call
        if self._unknown or (call.grad_enabled and not self._wholes):
            return
        began.again = True
        for tensor in began.given:
            if tensor.requires_grad or not tensor.dim():
                continue
            sources = self._sources.of(tensor)
            whole = self._sources.whole(tensor)
            if whole in self._wholes:
                known = self._wholes[whole]
                if call.grad_enabled:
                    known.low, known.high = 0, known.rows
                known.evaluated = True
            self._unknown |= not sources and whole is None and not call.grad_enabled
            for source in sources:
                if source.number in self._wholes and source.kind == "chosen":
                    known = self._wholes[source.number]
                    known.low, known.high = min(known.low, source.low), max(known.high, source.high)
