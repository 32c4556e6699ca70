"""What the step of an optimizer would take by torch's other ways: tried on copies."""

from __future__ import annotations

import weakref
from collections import defaultdict
from statistics import median
from typing import ClassVar

from torch.optim import Optimizer

from autograd_doctor.events.efficiency import OptimizerTried
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.efficiency.iteration_times import Iteration, IterationTimes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.reading.optimizer_ways import obstacle, tried
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.signals import Signals
from autograd_doctor.signals.optimizers import StepCall
from autograd_doctor.wording import first_line

_AFTER = 12
"""Iterations that tell which part of one the step takes."""
_SHARE = 0.05
"""Of an iteration, below which nobody would try."""
_MOST_TRIED = 2
_SECONDS = 2.0
"""For the trials of one optimizer."""


class OptimizerTrials(Instrument):
    """Tries the optimizers whose steps take long, between two iterations, while gradients are still there."""

    emits: ClassVar[tuple[type[Event], ...]] = (OptimizerTried,)

    def __init__(self, site: Site, course: Course, optimizers: Optimizers, iteration_times: IterationTimes) -> None:
        super().__init__(site)
        self._course = course
        self._optimizers = optimizers
        self._iterations = iteration_times
        self._stepped: dict[Place | None, weakref.ref[Optimizer]] = {}
        self._shares: defaultdict[Place | None, list[float]] = defaultdict(list)
        self._seen = 0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._step_began)
        self.listen(self._iterations.over, self._over)

    def _step_began(self, call: StepCall) -> None:
        self._stepped[place()] = weakref.ref(call.optimizer)

    def _over(self, iteration: Iteration) -> None:
        if iteration.recorded or not iteration.typical or not iteration.split:
            return
        self._seen += 1
        for (activity, where), seconds in iteration.spent.items():
            if activity == "optimizer" and iteration.seconds:
                self._shares[where].append(seconds / iteration.seconds)
        if self._seen >= _AFTER:
            self._try_all()
            self.detach()

    def _try_all(self) -> None:
        dear = sorted(self._shares, key=lambda where: -median(self._shares[where]))
        for where in [each for each in dear if median(self._shares[each]) >= _SHARE][:_MOST_TRIED]:
            optimizer = self._stepped[where]() if where in self._stepped else None
            if optimizer is not None and not obstacle(optimizer):
                self._try(optimizer, where)

    def _try(self, optimizer: Optimizer, where: Place | None) -> None:
        try:
            plain, *others = tried(optimizer, _SECONDS)
        except Undecided:
            return  # torch has one way only
        except Exception as error:
            self.limited(f"other ways of an optimizer were not tried: {type(error).__name__}: {first_line(str(error))}")
            return
        for other in others:
            self.emit(
                OptimizerTried(
                    step=self._course.steps,
                    optimizer=self._optimizers.known(optimizer),
                    parameters=sum(len(group["params"]) for group in optimizer.param_groups),
                    option=other.option,
                    before=plain.seconds,
                    after=other.seconds,
                    differs=other.differs,
                    location=locate(where),
                )
            )
