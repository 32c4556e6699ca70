"""Models that teach without learning, and have other weights for each optimizer that a line builds.

A target network that stays what it is as long as an optimizer lives, and is another one for the next, gives each of
them a problem of its own to solve.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from torch.optim import Optimizer

from autograd_doctor.events.cycle import TargetRenewed
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.places import Place, here, locate
from autograd_doctor.reading.probes import Probe, ends, probe
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention

_MOST_LINES = 8
"""That build optimizers, and that call models without gradients while one of them lives."""
_STEPS = 2
"""In which a target is called, and is the same: an evaluation lies between two steps."""


@dataclass
class _Target:
    """The weights of what a line called without gradients, in the first of so many steps; None if they changed."""

    module: int
    weights: Probe | None
    step: int
    steps: int = 1

    def met(self, weights: Probe, step: int) -> None:
        self.weights = weights if weights == self.weights else None
        self.steps += step != self.step
        self.step = step

    @property
    def is_target(self) -> bool:
        return self.weights is not None and self.steps >= _STEPS


@dataclass
class _Life:
    """Of an optimizer, the models that lines called without gradients."""

    optimizer: int
    targets: dict[Place | None, _Target] = field(default_factory=dict)


class RenewedTargets(Instrument):
    """Begins with the second optimizer of a line, so that a program that builds each once pays nothing."""

    emits: ClassVar[tuple[type[Event], ...]] = (TargetRenewed,)

    def __init__(self, site: Site, course: Course, optimizers: Optimizers, module_calls: ModuleCalls) -> None:
        super().__init__(site)
        self._course = course
        self._optimizers = optimizers
        self._module_calls = module_calls
        self._built_at: set[Location] = set()
        self._lives: dict[Location, _Life] = {}
        self._earlier: dict[Location, _Life] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.optimizers.built, self._built)
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.FULL)

    def _built(self, optimizer: Optimizer) -> None:
        line = here()
        if line in self._built_at:
            self._tell(line)
            if line in self._lives:
                self._earlier[line] = self._lives[line]
            self._lives[line] = _Life(self._optimizers.number(optimizer))
        elif line is not None and len(self._built_at) < _MOST_LINES:
            self._built_at.add(line)

    def _root_began(self, began: RootBegan) -> None:
        if not self._lives or began.call.grad_enabled:
            return
        weights = probe(ends([parameter for _, parameter in parameters_in(began.call.module)]))
        for life in self._lives.values() if weights else ():
            known = life.targets.get(began.where)
            if known is not None:
                known.met(weights, self._course.steps)
            elif len(life.targets) < _MOST_LINES:
                life.targets[began.where] = _Target(began.module, weights, self._course.steps)

    def finish(self) -> None:
        for line in self._lives:
            self._tell(line)

    def _tell(self, line: Location) -> None:
        life, earlier = self._lives.get(line), self._earlier.get(line)
        if life is None or earlier is None:
            return
        for where, now in life.targets.items():
            before = earlier.targets.get(where)
            if before is not None and before.is_target and now.is_target and before.weights != now.weights:
                self.emit(
                    TargetRenewed(
                        step=self._course.steps, optimizer=life.optimizer, location=locate(where), module=now.module
                    )
                )
                return
