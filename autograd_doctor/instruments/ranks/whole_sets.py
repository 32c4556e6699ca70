"""Data sets that a rank goes through from the first sample to the last, though others may do the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import length_hint
from typing import Any, ClassVar

from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler

from autograd_doctor.events.event import Event
from autograd_doctor.events.replicas import WholeSetTrained
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.ranks.replicas import Part, Replicas
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import here
from autograd_doctor.reading.process_groups import is_one_of_several
from autograd_doctor.reading.stored_rows import fields_of, stored
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.loaders import BatchAsked, Loader, PassBegan

_COMPARED = 16
"""Samples of a data set, spread over it evenly."""
_MOST_LOADERS = 16


@dataclass(eq=False)
class _Whole:
    """A loader over all samples, and what became of its batches. open: a pass has begun, and is not through. models:
    the numbers of those that were stepped after backwards on it."""

    location: Location | None
    loader: str
    samples: int
    stored: int
    shuffles: bool
    batches: int = 0
    trained: int = 0
    passes: int = 0
    open: bool = False
    models: set[int] = field(default_factory=set)


class WholeSets(Instrument):
    """Goes by the samplers of torch, and by what data sets store in tensors and arrays: none is asked for a sample."""

    emits: ClassVar[tuple[type[Event], ...]] = (WholeSetTrained,)

    def __init__(self, site: Site, course: Course, replicas: Replicas) -> None:
        super().__init__(site)
        self._course = course
        self._replicas = replicas
        self._met: IdentityTable[_Whole | None] = IdentityTable()
        self._wholes: list[_Whole] = []
        self._running: IdentityTable[_Whole] = IdentityTable()
        self._to_train: list[_Whole] = []
        self._to_step: list[_Whole] = []

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.began, self._pass_began)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(signals.loaders.exhausted, self._exhausted)
        self.listen(signals.backward.began, self._backward_began, bare=True)
        self.listen(self._replicas.stepping, self._stepping)

    def finish(self) -> None:
        for whole in self._wholes:
            trains = whole.passes and 2 * whole.trained > whole.batches
            for number in sorted(whole.models) if trains else ():
                self.emit(
                    WholeSetTrained(
                        step=self._course.steps,
                        replicas=number,
                        location=whole.location,
                        loader=whole.loader,
                        samples=whole.samples,
                        stored=whole.stored,
                        shuffles=whole.shuffles,
                        passes=whole.passes,
                        ended=not whole.open,
                    )
                )

    def _pass_began(self, began: PassBegan) -> None:
        if not is_one_of_several():
            return
        if began.loader not in self._met:
            self._met.put(began.loader, self._whole(began.loader))
        whole = self._met.get(began.loader)
        if whole is not None:
            whole.open = True
            self._running.put(began.iterator, whole)

    def _whole(self, loader: Loader) -> _Whole | None:
        if len(self._wholes) >= _MOST_LOADERS or not _goes_through_all(loader):
            return None
        samples = length_hint(loader.sampler)
        key = _key(loader.dataset, samples)
        if key is None:
            return None
        shuffles = type(loader.sampler) is RandomSampler
        self._wholes.append(_Whole(here(), variable_name(loader), samples, key, shuffles))
        return self._wholes[-1]

    def _drawn(self, asked: BatchAsked) -> None:
        whole = self._running.get(asked.iterator)
        if whole is not None:
            whole.batches += 1
            self._to_train.append(whole)

    def _exhausted(self, asked: BatchAsked) -> None:
        whole = self._running.get(asked.iterator)
        if whole is not None:
            whole.passes += 1
            whole.open = False
        self._to_train.clear()

    def _backward_began(self, call: BackwardCall) -> None:
        for whole in self._to_train:
            whole.trained += 1
        if self._to_train:
            self._to_step, self._to_train = self._to_train, []

    def _stepping(self, part: Part) -> None:
        for whole in self._to_step:
            whole.models.add(part.number)


def _goes_through_all(loader: Loader) -> bool:
    """Whether a sampler of torch gives out each sample of a data set once in a pass."""
    held: Any = attributes(loader.sampler)
    if type(loader.batch_sampler) is not BatchSampler or held.get("data_source") is not loader.dataset:
        return False
    if type(loader.sampler) is SequentialSampler:
        return True
    return type(loader.sampler) is RandomSampler and not held.get("replacement") and held.get("_num_samples") is None


def _key(dataset: Any, samples: int) -> int | None:
    """A number for some of the samples that a data set stores, None where it stores none that can be read."""
    indices = sorted({samples * at // _COMPARED for at in range(_COMPARED)}) if samples else []
    keys = [tuple(stored(field, rows).keys) for field, rows in fields_of(dataset, indices)]
    return hash(tuple(keys)) if keys and not any(None in each for each in keys) else None
