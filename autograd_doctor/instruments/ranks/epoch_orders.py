"""The orders in which distributed samplers that shuffle have given out their samples, epoch by epoch."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, NamedTuple

from torch.utils.data import DistributedSampler, Sampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from autograd_doctor.events.event import Event
from autograd_doctor.events.replicas import EpochsInOneOrder
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.fingerprint import index_key, key_of, row_keys
from autograd_doctor.reading.numbers import IdentityTable, Numbers
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import here
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.loaders import BatchAsked, IndexDrawn, PassBegan
from autograd_doctor.signals.optimizers import StepCall

_MOST_SAMPLERS, _MOST_PASSES = 100, 32
_COMPARED = 4
"""Batches of a pass, its first: of each, what the sampler asked for and what came."""
_MOST_FIELDS = 4
_DEEP = 4
"""Samplers that hold one another."""
_AHEAD = 2
"""Batches drawn before the first backward: more were passed over, as those are that a program has seen before."""


class _Field(NamedTuple):
    """A tensor of a batch as a number; whether its rows differ."""

    key: int
    differs: bool


@dataclass
class _Order:
    """What a sampler says in one pass, and the epoch that it was in. source: the iterator that says it."""

    source: object
    epoch: object
    keys: list[int | None] = field(default_factory=list)


@dataclass(eq=False)
class _Pass:
    """batches: drawn so far. trained: backwards that came after one of them. first: the batches drawn by the first of
    these. model: the number of what was stepped. came: the fields of the first batches."""

    iterator: weakref.ref[_BaseDataLoaderIter]
    location: Location | None
    order: _Order | None = None
    came: list[tuple[_Field | None, ...]] = field(default_factory=list)
    batches: int = 0
    trained: int = 0
    first: int = 0
    model: int | None = None

    @property
    def trains(self) -> bool:
        """Whether most of its batches were trained on, from the first one: an evaluation may end before a backward."""
        return self.order is not None and self.trained * 2 > self.batches and self.first <= _AHEAD

    def is_as(self, other: _Pass) -> bool:
        """Whether it was in the same epoch, came in the same order, and brought the same samples.

        One field tells: others may be another at each time, as augmented pictures are. A data set that takes an order
        of its own for each epoch brings others altogether.
        """
        mine, others = self.order, other.order
        if mine is None or others is None or mine.epoch != others.epoch:
            return False
        asked = list(zip(mine.keys, others.keys, strict=False))
        if not asked or any(one is None or one != another for one, another in asked):
            return False
        count = min(len(self.came), len(other.came))
        pairs = list(zip(zip(*self.came[:count], strict=False), zip(*other.came[:count], strict=False), strict=False))
        known = [pair for pair in pairs if None not in chain(*pair)]
        return not known or any(one == another and _tells(one) for one, another in known)


@dataclass
class _Drawn:
    """The first passes over what a sampler gives out."""

    name: str
    replicas: object
    passes: list[_Pass] = field(default_factory=list)


class EpochOrders(Instrument):
    """Compares what the sampler asks for in the first batches of each pass, and what comes of it."""

    emits: ClassVar[tuple[type[Event], ...]] = (EpochsInOneOrder,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._samplers = Numbers()
        self._models = Numbers()
        self._drawn_by: dict[int, _Drawn] = {}
        self._running: IdentityTable[_Pass] = IdentityTable()
        self._orders: IdentityTable[_Order] = IdentityTable()
        self._to_train: list[_Pass] = []
        self._to_step: list[_Pass] = []

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.indexed, self._indexed)
        self.listen(signals.loaders.began, self._pass_began)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(signals.loaders.exhausted, self._exhausted)
        self.listen(signals.backward.began, self._backward_began, bare=True)
        self.listen(signals.steps.began, self._step_began, bare=True)

    def finish(self) -> None:
        for drawn in self._drawn_by.values():
            trained = [each for each in drawn.passes if each.trains and (each.batches > 1 or each is drawn.passes[-1])]
            if trained and all(each.is_as(trained[0]) for each in trained):
                self._tell(drawn, [each for each in trained if each.model == trained[-1].model])

    def _tell(self, drawn: _Drawn, passes: Sequence[_Pass]) -> None:
        """Of those that have trained one model: others may be given the same order on purpose."""
        order = passes[0].order
        if len(passes) > 1 and order is not None:
            self.emit(
                EpochsInOneOrder(
                    step=self._course.steps,
                    location=passes[0].location,
                    sampler=drawn.name,
                    epoch=order.epoch if type(order.epoch) is int else None,
                    replicas=drawn.replicas if type(drawn.replicas) is int else None,
                    passes=len(passes),
                    batches=sum(each.batches for each in passes),
                )
            )

    # ------------------------------------------------------------------------------------------------------- passes

    def _indexed(self, drawn: IndexDrawn) -> None:
        """Each pass has its own iterator over the sampler, which has begun by now: the epoch is the one it goes by."""
        iterator = drawn.iterator
        order = self._orders.get(iterator)
        if order is None or order.source is not iterator._sampler_iter:
            sampler = _shuffling(iterator._index_sampler)
            if sampler is None:
                return
            order = _Order(iterator._sampler_iter, attributes(sampler).get("epoch"))
            self._orders.put(iterator, order)
        if len(order.keys) < _COMPARED:
            order.keys.append(index_key(drawn.index))

    def _pass_began(self, began: PassBegan) -> None:
        loader = began.loader
        sampler = _shuffling(loader.sampler if loader.batch_sampler is None else loader.batch_sampler)
        self._running.discard(began.iterator)  # workers that stay serve one pass after the other
        if sampler is None:
            return
        number = self._samplers.number(sampler)
        if number not in self._drawn_by:
            if len(self._drawn_by) >= _MOST_SAMPLERS:
                return
            replicas = attributes(sampler).get("num_replicas")
            self._drawn_by[number] = _Drawn(variable_name(sampler), replicas)
        passes = self._drawn_by[number].passes
        if len(passes) < _MOST_PASSES and not (passes and _is_beside(passes[-1], began.iterator)):
            begun = _Pass(weakref.ref(began.iterator), here())
            passes.append(begun)
            self._running.put(began.iterator, begun)

    def _drawn(self, asked: BatchAsked) -> None:
        running = self._running.get(asked.iterator)
        if running is None:
            return
        running.order = running.order or self._orders.get(asked.iterator)
        running.batches += 1
        if running not in self._to_train:
            self._to_train.append(running)
        if len(running.came) < _COMPARED:
            tensors = [tensor for tensor in tensors_in([asked.batch], EVERYTHING)[:_MOST_FIELDS] if tensor.dim()]
            running.came.append(tuple(_field(row_keys(tensor)) for tensor in tensors))

    def _exhausted(self, asked: BatchAsked) -> None:
        """What was not trained on by now never is."""
        running = self._running.get(asked.iterator)
        if running in self._to_train:
            self._to_train.remove(running)

    # ----------------------------------------------------------------------------------------------------- training

    def _backward_began(self, call: BackwardCall) -> None:
        for each in self._to_train:
            each.trained += 1
            each.first = each.first or each.batches
        self._to_step += [each for each in self._to_train if each.model is None]
        self._to_train = []

    def _step_began(self, call: StepCall) -> None:
        if self._to_step:
            stepped = parameters_of(call.optimizer)
            for each in self._to_step if stepped else ():
                each.model = self._models.number(stepped[0])
            self._to_step = []


def _shuffling(batches: Any) -> Any:
    """The distributed sampler that decides what comes, if it shuffles."""
    for _ in range(_DEEP):
        held = attributes(batches)
        if is_a(batches, DistributedSampler):
            return batches if held.get("shuffle") is True else None
        inner = [each for each in held.values() if is_a(each, Sampler)]
        batches = inner[0] if len(inner) == 1 else held.get("sampler", held.get("batch_sampler"))
    return None


def _is_beside(latest: _Pass, iterator: _BaseDataLoaderIter) -> bool:
    """Whether another pass has begun as well, and given nothing yet: two that go on together are to be alike."""
    other = latest.iterator()
    return other is not None and other is not iterator and not latest.batches


def _field(rows: list[int] | None) -> _Field | None:
    return None if rows is None else _Field(key_of(rows), len(set(rows)) > 1)


def _tells(came: Sequence[_Field | None]) -> bool:
    """Whether a field is not the same for all samples."""
    return len({each.key for each in came if each is not None}) > 1 or any(each and each.differs for each in came)
