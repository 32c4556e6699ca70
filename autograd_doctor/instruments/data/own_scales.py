"""Sets of samples that were scaled by their own statistics before a model was evaluated on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch

from autograd_doctor.events.data import ScaledByItself
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.data.sample_overlap import RowsSeen, SampleOverlap
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.operations import DIFFERENCES, DIVISIONS
from autograd_doctor.reading.fingerprint import row_keys
from autograd_doctor.reading.moments import Moments
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.subclasses import bytes_of
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_MOST_BYTES = 2**22
"""Of a batch that is read."""
_PASSES = 2
"""Over a set, the first: one of them may be a try with a few batches."""
_MOST_BATCHES = 500
"""Of a pass: an environment that is played is no set of samples."""
_MOST_SETS = 50
_MOST_FIELDS = 256
_KNOWN_BY = 4
"""Rows, the first of a set that was scaled."""
_OTHER_UNITS = 3.0
"""Deviations of two sets of the same measurements differ by less, and so do their means, counted in deviations."""


@dataclass
class _Set:
    """What a module was given of one set between two steps."""

    step: int
    where: Place | None
    name: str
    moments: Moments = field(default_factory=Moments)
    samples: set[int] = field(default_factory=set)
    batches: int = 0


class _Scaling(NamedTuple):
    """What was subtracted from the values in each field, and what they were divided by."""

    mean: torch.Tensor
    deviation: torch.Tensor

    def is_like(self, other: _Scaling) -> bool:
        """Whether, in most fields, the one would do for what the other has scaled."""
        if self.deviation.shape != other.deviation.shape or self.mean.shape != other.mean.shape:
            return True
        times = (self.deviation / other.deviation).log().abs().exp()
        away = (self.mean - other.mean).abs() / torch.maximum(self.deviation, other.deviation)
        return float(torch.maximum(times, away).nan_to_num().quantile(0.5)) < _OTHER_UNITS


class OwnScales(Instrument):
    """Adds up the numbers that a module is given in training, each sample once, and in an evaluation.

    Told is only of what was trained on standardised data as well, each set by itself. Where parts of a set are so, as
    the batches of it, or the series of one source, that is how samples are made, and no slip. Where torch computed it,
    it is known what each set was scaled by.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ScaledByItself,)

    def __init__(self, site: Site, course: Course, rows: SampleOverlap) -> None:
        super().__init__(site)
        self._course = course
        self._rows = rows
        self._trained: dict[int, Moments] = {}
        self._passes: dict[tuple[int, Hashable], list[_Set]] = {}
        self._subtracted: IdentityTable[torch.Tensor] = IdentityTable()
        self._scalings: dict[int, _Scaling] = {}
        """By the keys of the first rows that were scaled."""

    def connect(self, signals: Signals) -> None:
        self.listen(self._rows.trained, self._train)
        self.listen(self._rows.evaluated, self._evaluate)
        scales = DIFFERENCES | DIVISIONS
        self.listen(signals.operations.ended, self._operation_ended, attention=Attention.FULL, names=scales)

    def _operation_ended(self, operation: Operation) -> None:
        result, operands = operation.result, operation.args[:2]
        if len(operands) < 2 or not all(map(_is_told, (result, *operands))) or result.dim() < 2:
            return
        given, by = operands
        if not 0 < by.numel() <= min(_MOST_FIELDS, result.numel() // 2):
            return
        of_fields = by.to(torch.float64, copy=True).flatten()
        if operation.name in DIFFERENCES:
            self._subtracted.put(result, of_fields)
        elif (mean := self._subtracted.get(given)) is not None and len(self._scalings) < _KNOWN_BY * _MOST_SETS:
            self._scalings.update(dict.fromkeys(row_keys(result[:_KNOWN_BY]) or (), _Scaling(mean, of_fields)))

    def _train(self, seen: RowsSeen) -> None:
        rows = seen.new or []
        if rows and _is_readable(seen):  # of a large batch, only the first rows have a number
            new = seen.data if len(rows) == len(seen.keys) else seen.data[rows]
            self._trained.setdefault(seen.module, Moments()).add(new)

    def _evaluate(self, seen: RowsSeen) -> None:
        whole = seen.module, seen.group
        if not _is_readable(seen) or (whole not in self._passes and len(self._passes) >= _MOST_SETS):
            return
        passes = self._passes.setdefault(whole, [])
        if not passes or passes[-1].step != self._course.steps:
            if len(passes) >= _PASSES:
                return
            passes.append(_Set(self._course.steps, seen.where, variable_name(seen.data)))
        now = passes[-1]
        now.batches += 1
        if now.batches <= _MOST_BATCHES:
            now.moments.add(seen.data)
            now.samples.update(seen.keys)

    def finish(self) -> None:
        """Several such sets that one line goes through in a row are samples that come in sets."""
        scaled: dict[int, list[_Set]] = {}
        for (module, group), passes in self._passes.items():
            if not self._rows.was_evaluation(module, group):
                continue
            scaled.setdefault(module, []).extend(each for each in passes if self._is_scaled(module, each))
        for module, sets in scaled.items():
            often = Counter((each.where, each.step) for each in sets)
            if sets and max(often.values()) == 1:
                self._tell(module, sets[0])

    def _scaling_of(self, samples: Set[int]) -> _Scaling | None:
        return next((scaling for key, scaling in self._scalings.items() if key in samples), None)

    def _tell(self, module: int, scaled: _Set) -> None:
        trained = self._rows.trained_on(module)
        ours, theirs = self._scaling_of(trained), self._scaling_of(scaled.samples)
        self.emit(
            ScaledByItself(
                step=scaled.step,
                module=module,
                name=scaled.name,
                samples=scaled.moments.rows,
                fields=scaled.moments.standard_fields,
                mean=scaled.moments.largest_mean,
                trained=len(trained),
                other_units=ours is not None and theirs is not None and not ours.is_like(theirs),
                location=locate(scaled.where),
            )
        )

    def _is_scaled(self, module: int, evaluated: _Set) -> bool:
        """Whether two sets without a sample in common, trained on and evaluated, are standardised, each as a whole."""
        trained = self._trained.get(module)
        if trained is None or evaluated.batches > _MOST_BATCHES:
            return False
        whole = all(each.are_standard and not each.in_parts for each in (trained, evaluated.moments))
        return whole and evaluated.samples.isdisjoint(self._rows.trained_on(module))


def _is_told(value: Any) -> bool:
    """Whether it is data whose values cost nothing to read."""
    is_data = is_a(value, torch.Tensor) and not value.requires_grad
    return is_data and not is_remote(value) and readable(value)


def _is_readable(seen: RowsSeen) -> bool:
    return seen.data.dim() > 1 and seen.data.is_floating_point() and 0 < bytes_of(seen.data) <= _MOST_BYTES
