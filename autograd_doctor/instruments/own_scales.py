"""Sets of samples that were scaled by their own statistics before a model was evaluated on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar

import torch

from autograd_doctor.events import Event, ScaledByItself
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.rows import EvaluatedRows, Rows
from autograd_doctor.reading.fingerprint import key_of, row_keys
from autograd_doctor.reading.moments import Moments
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.subclasses import bytes_of
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals

_MOST_BYTES = 2**22
"""Of a batch that is read."""
_PASSES = 3
"""Over a set, the first: one of them may be a try with a few batches."""
_MOST_BATCHES = 500
"""Of a pass: an environment that is played is no set of samples."""
_LOOKED_AT = 16
"""Batches, of training, or of a pass, that are looked at one by one."""
_MOST_SETS = 50


@dataclass
class _Pass:
    """What a module was given of one set between two steps. alone: batches that are standardised by themselves."""

    step: int
    where: Place | None
    name: str
    moments: Moments = field(default_factory=Moments)
    samples: set[int] = field(default_factory=set)
    batches: int = 0
    alone: int = 0


class OwnScales(Instrument):
    """Adds up the numbers that a module is given in an evaluation, in light steps as well.

    What is scaled batch by batch, or row by row, comes so in training, too, and is nothing special.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ScaledByItself,)

    def __init__(self, site: Site, course: Course, module_calls: ModuleCalls, rows: Rows) -> None:
        super().__init__(site)
        self._course = course
        self._module_calls = module_calls
        self._rows = rows
        self._passes: dict[tuple[int, Hashable], list[_Pass]] = {}
        self._trained: Counter[int] = Counter()
        self._alone: dict[int, set[int]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began)
        self.listen(self._rows.evaluated, self._evaluated)

    def _root_began(self, began: RootBegan) -> None:
        """Different batches of training, the first ones, that are standardised one by one."""
        if began.call.grad_enabled and self._trained[began.module] < _LOOKED_AT:
            self._trained[began.module] += 1
            for data in began.given:
                if _is_readable(data) and Moments().add(data).are_standard:
                    self._alone.setdefault(began.module, set()).add(key_of(row_keys(data) or []))

    def _evaluated(self, evaluated: EvaluatedRows) -> None:
        data, whole = evaluated.data, (evaluated.module, evaluated.group)
        if not _is_readable(data) or (whole not in self._passes and len(self._passes) >= _MOST_SETS):
            return
        passes = self._passes.setdefault(whole, [])
        if not passes or passes[-1].step != self._course.steps:
            if len(passes) >= _PASSES:
                return
            passes.append(_Pass(self._course.steps, evaluated.where, variable_name(data)))
        now = passes[-1]
        now.batches += 1
        if now.batches <= _MOST_BATCHES:
            now.moments.add(data)
            now.samples.update(evaluated.keys)
        if now.batches <= _LOOKED_AT:
            now.alone += Moments().add(data).are_standard

    def finish(self) -> None:
        for (module, _), passes in self._passes.items():
            scaled = next((each for each in passes if self._is_scaled(module, each)), None)
            if scaled is not None:
                self.emit(
                    ScaledByItself(
                        step=scaled.step,
                        module=module,
                        name=scaled.name,
                        samples=scaled.moments.rows,
                        fields=scaled.moments.standard_fields,
                        mean=scaled.moments.largest_mean,
                        trained=len(self._rows.trained_on(module)),
                        location=locate(scaled.where),
                    )
                )

    def _is_scaled(self, module: int, evaluated: _Pass) -> bool:
        """Whether a set is standardised as a whole, though not batch by batch, and nothing of it was trained on."""
        if evaluated.batches > _MOST_BATCHES or not evaluated.moments.are_standard:
            return False
        by_batch = 1 < min(evaluated.batches, _LOOKED_AT) == evaluated.alone or len(self._alone.get(module, ())) > 1
        return not by_batch and evaluated.samples.isdisjoint(self._rows.trained_on(module))


def _is_readable(data: torch.Tensor) -> bool:
    return data.dim() > 1 and data.is_floating_point() and 0 < bytes_of(data) <= _MOST_BYTES
