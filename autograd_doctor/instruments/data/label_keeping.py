"""Samples that are trained on again, beside the labels that they had before."""

from __future__ import annotations

from typing import ClassVar

import torch

from autograd_doctor.events.data import LabelsLost, SamplesMetAgain
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.data.sample_overlap import RowsSeen, SampleOverlap
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.instruments.spine.uploads import Uploads
from autograd_doctor.operations import LOSSES
from autograd_doctor.reading.fingerprint import row_keys, tells_apart
from autograd_doctor.reading.kept_labels import KeptLabels
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_MOST_LINES = 50
_BEFORE, _AGAIN, _STEPS = 32, 24, 4
"""Samples that had kept their label, samples that came again later, and steps with such: of two labels, 32 samples all
keep theirs by chance once in four billion times."""


class LabelKeeping(Instrument):
    """Listens to the first loss of a step at each line, in full steps, that compares as many targets as a module was
    given samples. Targets that were computed from parameters are not followed."""

    emits: ClassVar[tuple[type[Event], ...]] = (LabelsLost, SamplesMetAgain)

    def __init__(self, site: Site, course: Course, rows: SampleOverlap, tensors: Tensors, uploads: Uploads) -> None:
        super().__init__(site)
        self._course = course
        self._rows = rows
        self._tensors = tensors
        self._uploads = uploads
        self._seen: dict[int, RowsSeen] = {}
        self._seen_in = -1
        self._met: dict[Place | None, int] = {}
        self._lines: dict[tuple[int, Place | None], tuple[KeptLabels, str]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._rows.trained, self._trained, attention=Attention.FULL)
        self.listen(signals.operations.ended, self._operation_ended, names=LOSSES, attention=Attention.FULL)

    def memory(self) -> dict[tuple[int, Place | None], tuple[KeptLabels, str]]:
        return self._lines

    def remember(self, memory: dict[tuple[int, Place | None], tuple[KeptLabels, str]]) -> None:
        self._lines = memory

    def finish(self) -> None:
        for (module, place), (kept, name) in self._lines.items():
            if kept.same + kept.others >= _AGAIN:
                step, where = self._course.steps, locate(place)
                self.emit(SamplesMetAgain(step=step, module=module, location=where, kept=kept.same, others=kept.others))
            if kept.is_lost(before=_BEFORE, again=_AGAIN, steps=_STEPS):
                self.emit(
                    LabelsLost(
                        step=self._course.steps,
                        module=module,
                        location=locate(place),
                        target=name,
                        since=kept.since or 0,
                        before=kept.before,
                        again=kept.again,
                        agreeing=kept.agreeing,
                        chance=kept.chance,
                    )
                )

    def _trained(self, seen: RowsSeen) -> None:
        if self._seen_in != self._course.steps:
            self._seen_in = self._course.steps
            self._seen.clear()
        if tells_apart(seen.data):
            self._seen[len(seen.keys)] = seen

    def _operation_ended(self, operation: Operation) -> None:
        if self._seen_in != self._course.steps or self._course.running is not None:
            return
        target = operation.kwargs.get("target", operation.args[1] if len(operation.args) > 1 else None)
        if not isinstance(target, torch.Tensor) or not target.dim() or self._met.get(operation.place) == self._seen_in:
            return
        seen, made = self._seen.get(len(target)), self._tensors.get(target)
        if seen is None or target.requires_grad or (made is not None and made.values):
            return
        kept = self._kept(seen.module, operation.place, target)
        labels = row_keys(self._uploads.at_home(target)) if kept is not None else None
        if kept is not None and labels is not None and len(labels) == len(seen.keys):
            self._met[operation.place] = self._seen_in
            kept.met(self._course.steps, seen.keys, labels)

    def _kept(self, module: int, place: Place | None, target: torch.Tensor) -> KeptLabels | None:
        known = self._lines.get((module, place))
        if known is None and len(self._lines) < _MOST_LINES:
            known = self._lines[module, place] = KeptLabels(), variable_name(target)
        return known[0] if known is not None else None
