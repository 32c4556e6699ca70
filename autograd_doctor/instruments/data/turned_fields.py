"""Pictures and what they are compared with, turned over by draws of their own: samples that come again tell of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, NamedTuple

import torch
from torch.utils.data import Dataset

from autograd_doctor.events.data import FieldsTurned
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.sources import Sources
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import LOSSES, UPLOADS
from autograd_doctor.reading.asked_indices import AskedIndices
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.numbers import IdentityTable, Numbers
from autograd_doctor.reading.places import locate
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.turns import Keys, is_of_pictures, turn_from, turned_keys
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.loaders import BatchAsked, IndexDrawn, PassBegan
from autograd_doctor.tape import Op, Value, behind

_COMPARING = LOSSES | {"mul", "sub"}
_MOST_ROWS = 8
"""Of a batch: what is drawn for each sample shows in any of them."""
_ENOUGH = 64
"""Samples to compare of a pair of fields."""
_MOST_KNOWN = 2**13
"""Samples to know again."""


class _Field(NamedTuple):
    """One of the tensors of batches, by its number. data: the set that they are drawn from, by whichever loader."""

    data: int
    number: int


@dataclass(eq=False, slots=True)
class _Pair:
    """A field that a model is given, and one that its output is compared with.

    apart: of the samples that came again, those of which one was turned over, and the other was not. views: they show
    the same, so that each is turned as it likes.
    """

    compared: int = 0
    apart: int = 0
    views: bool = False

    @property
    def is_open(self) -> bool:
        return self.compared < _ENOUGH and not self.views

    def compare(self, before: list[int | None], now: Sequence[Keys]) -> None:
        """A sample with what it was when it was first seen."""
        self.views |= not set(now[0]).isdisjoint(now[1])
        turns = [turn_from(was, keys) for was, keys in zip(before, now, strict=True)]
        if None not in turns:
            self.compared += 1
            self.apart += turns[0] != turns[1]


class TurnedFields(LossQuery):
    """Which fields meet in a loss is known from the steps that are looked at closely; then the batches are compared.

    Flips change no value. What else is drawn for a sample, such as noise, hides them, and nothing is said.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (FieldsTurned,)

    def __init__(self, site: Site, course: Course, tape: Tape, sources: Sources) -> None:
        super().__init__(site, course, tape)
        self._sources = sources
        self._drawn_from = Numbers()
        self._data_of: IdentityTable[int] = IdentityTable()
        self._loader_of: dict[int, int] = {}
        """The newest of each set of data."""
        self._asked_for = AskedIndices()
        self._fields: IdentityTable[_Field] = IdentityTable()
        self._pairs: dict[tuple[_Field, _Field], _Pair] = {}
        self._first: dict[_Field, dict[int, int]] = {}
        """Of each sample, the number that its picture had when it was first seen."""

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(signals.loaders.began, self._pass_began)
        self.listen(signals.loaders.indexed, self._indexed)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(self._tape.recorded, self._moved, names=UPLOADS)

    # ------------------------------------------------------------------------------------------------------- batches

    def _pass_began(self, began: PassBegan) -> None:
        """Loaders may be built anew for each epoch."""
        data = began.loader.dataset
        number = self._drawn_from.number(data if is_a(data, Dataset) else began.loader)
        self._data_of.put(began.iterator, number)
        self._loader_of[number] = self._sources.loaders.number(began.loader)

    def _indexed(self, drawn: IndexDrawn) -> None:
        self._asked_for.note(drawn.iterator, drawn.index)

    def _drawn(self, asked: BatchAsked) -> None:
        data = self._data_of.get(asked.iterator)
        index = self._asked_for.of_next(asked.iterator)
        if data is None or type(index) is not list or not all(type(each) is int for each in index):
            return
        fields: dict[_Field, torch.Tensor] = {}
        for number, tensor in enumerate(tensors_in([asked.batch], EVERYTHING)):
            if is_of_pictures(tensor) and len(tensor) == len(index):
                fields[_Field(data, number)] = tensor
                self._fields.put(tensor, _Field(data, number))
        self._look(fields, index[:_MOST_ROWS])

    def _look(self, fields: dict[_Field, torch.Tensor], index: list[int]) -> None:
        """Compare the samples that were there before, and know the others again."""
        pairs = [both for both, pair in self._pairs.items() if fields.keys() >= set(both) and pair.is_open]
        keys = {field: turned_keys(fields[field][: len(index)]) for both in pairs for field in both}
        for given, target in pairs:
            for sample, *turned in zip(index, keys[given], keys[target], strict=False):
                before = [self._first.get(field, {}).get(sample) for field in (given, target)]
                self._pairs[given, target].compare(before, turned)
        for field, rows in keys.items():
            first = self._first.setdefault(field, {})
            for sample, row in zip(index, rows, strict=False):
                if len(first) < _MOST_KNOWN:
                    first.setdefault(sample, row[0])

    # -------------------------------------------------------------------------------------------------------- losses

    def _moved(self, op: Op) -> None:
        """To where the model is."""
        source, result = tensor_of(op.values[0]) if op.values else None, tensor_of(op.output)
        field = self._fields.get(source) if source is not None else None
        if field is not None and result is not None:
            self._fields.put(result, field)

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        for op in behind(roots) if self._fields else ():
            if op.name in _COMPARING and len(op.live) == 1 and op.plain:
                targets, given = set(self._fields_behind(op.plain)), set(self._fields_behind(op.live))
                for one, other in product(given - targets, targets - given):
                    if one.data == other.data:
                        self._pairs.setdefault((one, other), _Pair())

    def _fields_behind(self, values: Sequence[Value]) -> Iterator[_Field]:
        for value in (*values, *(each for op in behind(values, live=False) for each in op.values)):
            tensor = tensor_of(value)
            field = self._fields.get(tensor) if tensor is not None else None
            if field is not None:
                yield field

    def finish(self) -> None:
        for (given, target), pair in self._pairs.items():
            shown, loader = self._first.get(target, {}), self._loader_of[given.data]
            if pair.compared and not pair.views:
                self.emit(
                    FieldsTurned(
                        step=self._course.steps,
                        location=locate(self._sources.built_at.get(loader)),
                        name=self._sources.names.get(loader, ""),
                        given=given.number,
                        target=target.number,
                        compared=pair.compared,
                        apart=pair.apart,
                        samples=len(shown),
                        targets=len(set(shown.values())),
                    )
                )
