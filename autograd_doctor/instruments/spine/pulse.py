"""The pulse of a run between its chapters: each loss and each step, at next to no cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.optim import Optimizer

from autograd_doctor.instruments.connectivity.grad_modes import GradModes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.numerics.autopsies import Autopsies
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.light_steps import LightSteps
from autograd_doctor.instruments.spine.module_calls import ModuleCalls
from autograd_doctor.reading.looks import is_drawn_in_pairs
from autograd_doctor.reading.tensor_facts import is_single
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.signals import Signals

_SHARE = 0.0625
"""Of the steps, as many as tell a curve well enough where all are alike; of each of these, and of the one after it,
everybody hears, so that what became of gradients in between can be told."""
_STANDS_OUT = 4.0
"""Times as large as losses usually are: what `gradient_spikes` asks for."""
_MEMORY = 0.05


class Pulse(Instrument):
    """Lets those that glance at backwards and steps hear of a few of them, and of each whose loss stands out.

    A handler in Python costs several times as much where it is called now and then as it does in a loop of nothing
    else, so that of the others nothing is signalled: they are counted. A loss on an accelerator is not asked for.
    """

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        light_steps: LightSteps,
        module_calls: ModuleCalls,
        grad_modes: GradModes,
        autopsies: Autopsies,
    ) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self._detail = detail
        self._light_steps = light_steps
        self._costly = (module_calls, grad_modes)
        self._autopsies = autopsies
        self._usual = math.inf
        self._step = -1
        self._is_woken = False
        self.sleeps = False
        """Whether nobody hears of the present step."""

    def take(self, signals: Signals) -> None:
        """Begin; no step is recorded from now on, and no call, switch or read of the program's is heard of."""
        for instrument in self._costly:
            instrument.detach()
        self._autopsies.ignore_reads(signals)
        self._light_steps.doze(signals)
        self._guard.nap = self

    def detach(self) -> None:
        super().detach()
        if self._guard.nap is self:
            self._guard.nap = None

    def wake(self) -> None:
        """Let everybody hear of the step that comes next."""
        self._is_woken = True
        self.sleeps = False

    def passes(self, roots: Sequence[Any]) -> bool:
        """Whether a backward that begins is as others were, so that nobody need hear of it."""
        step = self._course.steps
        if step != self._step:
            self._step, self.sleeps = step, not (self._is_woken or is_drawn_in_pairs(step, _SHARE))
        if not self.sleeps or self._guard.thread.depth or self._guard.forked:
            return False
        root = roots[0]
        if type(root) is torch.Tensor and root.is_cpu:
            loss = abs(root.item()) if is_single(root) else math.inf
            if not loss <= _STANDS_OUT * self._usual:
                self.sleeps = False
                self._usual = min(self._usual, loss) if math.isfinite(loss) else self._usual
                return False
            self._usual = loss if self._usual == math.inf else self._usual + _MEMORY * (loss - self._usual)
        self._course.backward_passed()
        self._light_steps.passed()
        return True

    def stepped(self, optimizer: Optimizer) -> bool:
        """Whether a step that is over was one of those of which nobody need hear. It counts."""
        if not self.sleeps or "found_inf" in attributes(optimizer):
            self._is_woken = False
            return False
        self._light_steps.stepped(optimizer)
        self._course.step_passed(optimizer)
        return True
