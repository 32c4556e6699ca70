"""Workers of a loader that deliver the same batches, bit for bit, or draw the same random numbers."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch
from torch.utils.data.dataloader import _DatasetKind

from autograd_doctor.events.data import GeneratorCopied, WorkersAlike
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.sources import Sources
from autograd_doctor.reading.asked_indices import AskedIndices
from autograd_doctor.reading.assignments import assigned_in, methods_of
from autograd_doctor.reading.fingerprint import index_key, key_of, row_keys
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.own_generators import generators_of, is_generator
from autograd_doctor.reading.places import locate
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.loaders import BatchAsked, IndexDrawn, Loader, PassBegan

_MOST_ROUNDS = 32
"""Of one loader, its first."""
_MOST_FIELDS = 4


class _Batch(NamedTuple):
    """What a batch holds, and what the sampler has said that it is to hold, as hashes; None where that is not known."""

    values: int
    asked_for: int | None


@dataclass
class _Rounds:
    """The batches of a loader with several workers, in rounds in which each has its turn.

    backwards: how many there had been when the last batch of the pass came. taught: whether there ever was one between
    two batches, None where no pass has had two.
    """

    name: str
    dataset: str
    workers: int
    stream: bool
    set_up: bool
    running: list[_Batch] = field(default_factory=list)
    whole: list[list[_Batch]] = field(default_factory=list)
    backwards: int | None = None
    taught: bool | None = None

    def came(self, backwards: int) -> None:
        """The next batch did, after so many of them."""
        if self.backwards is not None:
            self.taught = bool(self.taught) or backwards > self.backwards
        self.backwards = backwards

    @property
    def alike(self) -> int:
        """Rounds of equal batches. Where the sampler has asked each worker for the same, they are to be equal."""
        return sum(len({batch.values for batch in round_}) == 1 and not _is_one(round_) for round_ in self.whole)


@dataclass
class _Copied:
    """A generator of which workers get copies: whose it is, its state when a pass first began, and how many did so."""

    loader: int
    workers: int
    owner: object
    attribute: str
    state: bytes
    passes: int = 1


class Workers(Instrument):
    """Compares the batches of the first rounds. Workers take turns, in their order.

    What workers draw nobody sees: where reading a sample draws from a generator of the data set's own, each draws the
    numbers that the others draw. A `worker_init_fn` may have seen to it. Where nothing learns from batch to batch, they
    are to be the same in each pass, so that passes can be compared.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (WorkersAlike, GeneratorCopied)

    def __init__(self, site: Site, course: Course, sources: Sources) -> None:
        super().__init__(site)
        self._course = course
        self._sources = sources
        self._loaders: dict[int, _Rounds] = {}
        self._running: IdentityTable[_Rounds] = IdentityTable()
        self._asked_for = AskedIndices()
        self._copied: dict[int, list[_Copied]] = {}
        self._begun: set[int] = set()
        """Loaders whose passes have begun since a batch was last delivered."""
        self._paired: dict[int, set[int]] = {}
        """Loaders of which passes began together, as those that are drawn from in turns."""

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.began, self._pass_began)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(signals.loaders.indexed, self._indexed)

    def finish(self) -> None:
        for number, rounds in self._loaders.items():
            different = {batches[0].values for batches in rounds.whole}
            if rounds.alike and len(different) > 1:
                self.emit(
                    WorkersAlike(
                        step=self._course.steps,
                        location=locate(self._sources.built_at.get(number)),
                        name=rounds.name,
                        dataset=rounds.dataset,
                        workers=rounds.workers,
                        rounds=len(rounds.whole),
                        alike=rounds.alike,
                        stream=rounds.stream,
                        copied=rounds.set_up or bool(self._copied.get(number)),
                    )
                )

        for copied in self._copied.values():
            self._tell([each for each in copied if not (self._is_evaluated(each) or self._is_shared(each))])

    def _is_evaluated(self, copied: _Copied) -> bool:
        return self._loaders[copied.loader].taught is False

    def _is_shared(self, copied: _Copied) -> bool:
        """Whether loaders that run side by side draw from it: what is alike in both of them is to be alike."""
        others = (
            each for number in self._paired[copied.loader] - {copied.loader} for each in self._copied.get(number, ())
        )
        return any(each.owner is copied.owner and each.attribute == copied.attribute for each in others)

    def _tell(self, copied: list[_Copied]) -> None:
        for each in copied[:1]:
            self.emit(
                GeneratorCopied(
                    step=self._course.steps,
                    location=locate(self._sources.built_at.get(each.loader)),
                    name=self._sources.names.get(each.loader, ""),
                    workers=each.workers,
                    held_by=type(each.owner).__name__,
                    attribute=each.attribute,
                    made_at=assigned_in(methods_of(type(each.owner)), each.attribute),
                    passes=each.passes,
                )
            )

    def _look_for_copies(self, loader: Loader, number: int) -> None:
        if loader.worker_init_fn is not None:
            return
        if number not in self._copied:
            self._copied[number] = [
                _Copied(number, loader.num_workers, owner, name, _state_of(owner, name))
                for owner, name in generators_of(loader.dataset)
            ]
            return
        for copied in self._copied[number]:
            copied.passes += _state_of(copied.owner, copied.attribute) == copied.state

    def _pass_began(self, began: PassBegan) -> None:
        loader = began.loader
        if loader.num_workers < 2:
            return
        number = self._sources.loaders.number(loader)
        self._look_for_copies(loader, number)
        self._begun.add(number)
        for each in self._begun:
            self._paired.setdefault(each, set()).update(self._begun)
        rounds = self._loaders.get(number)
        if rounds is None:
            name, dataset = self._sources.names.get(number, ""), type(loader.dataset).__name__
            is_stream, is_set_up = loader._dataset_kind == _DatasetKind.Iterable, loader.worker_init_fn is not None
            rounds = self._loaders[number] = _Rounds(name, dataset, loader.num_workers, is_stream, is_set_up)
        rounds.running, rounds.backwards = [], None
        self._running.put(began.iterator, rounds)

    def _indexed(self, drawn: IndexDrawn) -> None:
        """Each pass has its own iterator over the sampler, also where workers stay."""
        iterator = drawn.iterator
        if iterator._num_workers < 2 or iterator._dataset_kind == _DatasetKind.Iterable:
            return
        self._asked_for.note(iterator, index_key(drawn.index))

    def _drawn(self, asked: BatchAsked) -> None:
        self._begun.clear()
        rounds = self._running.get(asked.iterator)
        if rounds is not None:
            rounds.came(self._course.backwards)
        if rounds is None or len(rounds.whole) >= _MOST_ROUNDS:
            return
        index = self._asked_for.of_next(asked.iterator)
        keys = [row_keys(tensor) for tensor in tensors_in([asked.batch], EVERYTHING)[:_MOST_FIELDS] if tensor.dim()]
        if not keys or None in keys:
            return  # what cannot be told apart is not the same for that
        values = hash(tuple(key_of(rows) for rows in keys if rows is not None))
        rounds.running.append(_Batch(values, index))
        if len(rounds.running) == rounds.workers:
            rounds.whole.append(rounds.running)
            rounds.running = []


def _is_one(batches: Sequence[_Batch]) -> bool:
    """Whether the same samples were asked for again and again."""
    return batches[0].asked_for is not None and len({batch.asked_for for batch in batches}) == 1


def _state_of(owner: object, name: str) -> bytes:
    """Of a generator of the owner's, or of its module's; empty where it is another kind of thing by now."""
    held = attributes(owner)
    module = sys.modules.get(type(owner).__module__)
    generator: Any = held[name] if name in held else attributes(module).get(name)
    if is_a(generator, torch.Generator):
        return bytes(generator.get_state().numpy())
    return pickle.dumps(generator) if is_generator(generator) else b""
