"""Numbers that the program reads of an evaluation, and where those were spoiled that are NaN or Inf."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import EvaluationSpoiled, NonFiniteInput, NonFiniteProduced
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.numerics.nonfinite import NonFinite
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.subclasses import is_plain
from autograd_doctor.reading.tensor_facts import extent, is_checkable
from autograd_doctor.signals import Signals

_MOST_LINES = 200
_MOST_KEPT = 50
"""Evaluations of a line: what is read on an accelerator is known before so many are over."""


@dataclass(eq=False, slots=True)
class _Evaluation:
    """What a line has read between two backwards. shared: numbers of one forward, each of a part of it."""

    number: int
    reads: int = 0
    shared: bool = False
    spoiled: int = 0
    nan: bool = False

    @property
    def is_spoiled(self) -> bool:
        """Of parts of one forward, such as groups of samples, some may be empty, and are told apart by the program."""
        return self.spoiled > 0 and (not self.shared or self.spoiled == self.reads)


@dataclass(eq=False, slots=True)
class _Line:
    """A line that reads numbers of evaluations. born: where the first that was spoiled became so.

    forwards: how many there had been when it last read. is_count: what is read there is counted, so that NaN may stand
    for nothing to count; was_finite: some of it was. is_foreign: some is none of the model's. over, spoiled:
    evaluations that are not kept any more.
    """

    born: NonFiniteProduced | NonFiniteInput | None = None
    evaluations: list[_Evaluation] = field(default_factory=list)
    forwards: int = -1
    is_count: bool = False
    was_finite: bool = False
    is_foreign: bool = False
    over: int = 0
    spoiled: int = 0

    def read(self, number: int, forwards: int) -> _Evaluation:
        """Where to note what is read now."""
        if not self.evaluations or self.evaluations[-1].number != number:
            self.evaluations.append(_Evaluation(number))
        if len(self.evaluations) > _MOST_KEPT:
            self.over += 1
            self.spoiled += self.evaluations.pop(0).is_spoiled
        latest = self.evaluations[-1]
        latest.reads += 1
        latest.shared |= self.forwards == forwards
        self.forwards = forwards
        return latest


class EvaluatedNumbers(Instrument):
    """Looks at single numbers without a graph that are read after a forward without gradients, before any backward.

    They count where values of parameters have flowed in; where these did so by choices alone, such as an `argmax`, if
    none was ever finite. What was computed
    while nobody read values is looked at in a second run; where there is none, nothing is said of it.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (EvaluationSpoiled,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        late_values: LateValues,
        tensors: Tensors,
        lineage: Lineage,
        module_calls: ModuleCalls,
        nonfinite: NonFinite,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._late_values = late_values
        self._tensors = tensors
        self._module_calls = module_calls
        self._nonfinite = nonfinite
        self._guard = site.signals.guard
        self._operations = site.signals.operations
        self._evaluation = -1
        self._forwards = 0
        self._lines: dict[Place | None, _Line] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began)
        self.listen(signals.value_reads.read, self._value_read)

    def _root_began(self, began: RootBegan) -> None:
        if not began.call.grad_enabled:
            self._evaluation = self._course.backwards
            self._forwards += 1

    def _value_read(self, tensor: torch.Tensor) -> None:
        """A bare signal."""
        if self._evaluation != self._course.backwards or self._operations.inside or not is_plain(tensor):
            return
        with self._guard.looking():
            if tensor.requires_grad or tensor.numel() != 1 or not is_checkable(tensor):
                return
            line = self._line(place())
            if line is not None:
                evaluation = line.read(self._evaluation, self._forwards)
                made = self._tensors.get(tensor) if self._detail.closely else None
                line.is_count |= made is not None and not made.numbers_of
                line.is_foreign |= made is not None and not made.values
                known = partial(self._known, line, evaluation, made, self._course.steps)
                self._late_values.ask(self, [extent(tensor)], known)

    def _line(self, where: Place | None) -> _Line | None:
        if where not in self._lines and len(self._lines) >= _MOST_LINES:
            return None
        return self._lines.setdefault(where, _Line())

    def _known(
        self, line: _Line, evaluation: _Evaluation, made: Provenance | None, step: int, values: Sequence[float]
    ) -> None:
        line.was_finite |= math.isfinite(values[0])
        if line.is_foreign or math.isfinite(values[0]):
            return
        if made is not None:
            self._nonfinite.settle()
        origin = made.origin if made is not None else None
        if origin is not None and (origin.deliberate or origin.is_of_spoiled_weights):
            return
        evaluation.spoiled += 1
        evaluation.nan |= math.isnan(values[0])
        if line.born is None and origin is not None:
            line.born = origin.event(step, "read")  # type: ignore[assignment]
        elif line.born is None and not line.is_count and not self._detail.is_only_run:
            self._detail.missed(step, "non-finite number of an evaluation")

    def finish(self) -> None:
        for where, line in self._lines.items():
            spoiled = [each for each in line.evaluations if each.is_spoiled]
            if line.born is not None and spoiled and not (line.is_count and line.was_finite):
                last = line.evaluations[-1]
                self.emit(
                    EvaluationSpoiled(
                        step=line.born.step,
                        born=line.born,
                        read_at=locate(where),
                        evaluations=line.over + len(line.evaluations),
                        spoiled=line.spoiled + len(spoiled),
                        nan=spoiled[-1].nan,
                        lasts=last is spoiled[-1],
                        in_training=0 < last.number < self._course.backwards,
                        partly=all(each.spoiled < each.reads for each in spoiled),
                        counted=line.is_count,
                    )
                )
