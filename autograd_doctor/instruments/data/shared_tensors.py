"""Where what is passed as two things was made one: a tensor that is written in place, and stands for both."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.utils.data import default_collate

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, own_frames
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.fetches import Fetch
from autograd_doctor.signals.operations import Operation, written_by

_MOST_FETCHES = 100
_MOST_FIELDS = 8


class Write(NamedTuple):
    """The latest into a tensor. place: of the line that reads a sample, where it is written while one is read."""

    place: Place | None


class SharedTensors(Instrument):
    """Knows in which line a tensor was last written in place, and which fields of a batch are made of samples that hold
    one such tensor as both.

    A batch is known by its first sample, as collated by torch, in steps that are looked at closely.
    """

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._writes: IdentityTable[Write] = IdentityTable()
        self._fetches = 0
        self._outside: int | None = None
        """While samples are read: how many frames of the program's there are around."""

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.ended, self._operation_ended, attention=Attention.CLOSE)
        self.listen(signals.fetches.began, self._fetch_began)
        self.listen(signals.fetches.ended, self._fetch_ended)

    def latest_write(self, tensor: torch.Tensor) -> Write | None:
        """The same one for what was one tensor when it was written."""
        return self._writes.get(tensor)

    def _operation_ended(self, operation: Operation) -> None:
        written = written_by(operation)
        if written is None or written.requires_grad:
            return
        place = operation.place
        if self._outside is not None:
            frames = list(own_frames())
            inside = frames[: len(frames) - self._outside]
            place = (inside[-1].f_code, inside[-1].f_lasti) if inside else place
        self._writes.put(written, Write(place))

    def _fetch_began(self, fetch: Fetch) -> None:
        if self._fetches < _MOST_FETCHES and fetch.collate is default_collate:
            self._fetches += 1
            fetch.keeps = True
            self._outside = sum(1 for _ in own_frames())

    def _fetch_ended(self, fetch: Fetch) -> None:
        self._outside = None
        if not fetch.samples or fetch.collate is not default_collate:
            return
        sample, batch = (tensors_in([each], EVERYTHING)[:_MOST_FIELDS] for each in (fetch.samples[0], fetch.batch))
        for held, collated in zip(sample, batch, strict=False) if len(sample) == len(batch) else ():
            write = self._writes.get(held)
            if write is not None:
                self._writes.put(collated, write)
