"""The time of the forward of each module, with that of the modules inside it and without."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import get_ident
from typing import ClassVar

from torch import nn

from autograd_doctor.events.efficiency import ModulesTimed, ModuleTime
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.efficiency.iteration_times import Iteration, IterationTimes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.reading.module_tree import modules_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.modules import ModuleCall

_ITERATIONS = 100
"""From which times are kept."""
_MOST_MODULES = 2000


@dataclass(eq=False)
class _Call:
    call: ModuleCall
    began: float
    inside: float = 0.0


@dataclass(eq=False)
class _Times:
    """Of a module: calls in all, seconds by iteration, and those of the present one."""

    name: str
    kind: str
    calls: int = 0
    seconds: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    calls_now: int = 0
    seconds_now: float = 0.0
    own_now: float = 0.0

    def end(self, *, counts: bool) -> None:
        """The iteration is over."""
        if counts:
            self.calls += self.calls_now
            self.seconds.append(self.seconds_now)
            self.own.append(self.own_now)
        self.calls_now, self.seconds_now, self.own_now = 0, 0.0, 0.0


class ModuleTimes(Instrument):
    """Times forwards with gradients, in iterations in which no operations are recorded."""

    emits: ClassVar[tuple[type[Event], ...]] = (ModulesTimed,)

    def __init__(
        self,
        site: Site,
        course: Course,
        modules: Modules,
        module_register: ModuleRegister,
        iteration_times: IterationTimes,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._modules = modules
        self._register = module_register
        self._iterations = iteration_times
        self._guard = site.signals.guard
        self._thread = get_ident()
        self._running: list[_Call] = []
        self._times: IdentityTable[_Times] = IdentityTable()
        self._kept: list[_Times] = []
        self._seen = 0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.modules.entered, self._entered, bare=True)
        self.listen(signals.modules.left, self._left, bare=True)
        self.listen(self._iterations.over, self._over)

    def finish(self) -> None:
        if self._seen:
            self.emit(
                ModulesTimed(
                    step=self._course.steps,
                    iterations=self._seen,
                    modules=[
                        ModuleTime(each.name, each.kind, each.calls / self._seen, each.seconds, each.own)
                        for each in self._kept
                        if each.calls
                    ],
                )
            )

    def _entered(self, call: ModuleCall) -> None:
        if call.grad_enabled and get_ident() == self._thread and not self._iterations.in_backward:
            self._running.append(_Call(call, self._iterations.seconds()))

    def _left(self, call: ModuleCall) -> None:
        at = next((at for at, each in enumerate(self._running) if each.call is call), None)
        if at is None:
            return
        mine = self._running[at]
        took = self._iterations.seconds() - mine.began
        root = self._running[0].call.module
        del self._running[at:]
        if self._running:
            self._running[-1].inside += took
        times = self._of(call.module, root)
        if times is not None:
            times.calls_now += 1
            times.seconds_now += took
            times.own_now += took - mine.inside

    @property
    def running(self) -> int:
        """How many forwards with gradients are under way, one inside the other."""
        return len(self._running)

    def innermost(self) -> str:
        """The name of the module whose forward is running, and within which no other's is; "" outside of all."""
        if not self._running:
            return ""
        times = self._of(self._running[-1].call.module, self._running[0].call.module)
        return times.name if times is not None else ""

    def _of(self, module: nn.Module, root: nn.Module) -> _Times | None:
        known = self._times.get(module)
        if known is None and len(self._kept) < _MOST_MODULES:
            with self._guard.looking():
                self._introduce(root)
            known = self._times.get(module)
            if known is None:
                known = self._put(module, type(module).__name__)
        return known

    def _introduce(self, root: nn.Module) -> None:
        """Name a root, and all modules below it."""
        name = self._modules.name_of(self._register.root(root))
        for path, module in modules_in(root):
            if self._times.get(module) is None:
                self._put(module, f"{name}.{path}" if path else name)

    def _put(self, module: nn.Module, name: str) -> _Times:
        times = _Times(name, type(module).__name__, seconds=[0.0] * self._seen, own=[0.0] * self._seen)
        self._times.put(module, times)
        self._kept.append(times)
        return times

    def _over(self, iteration: Iteration) -> None:
        counts = iteration.split and iteration.typical and not iteration.recorded and self._seen < _ITERATIONS
        self._seen += counts
        for times in self._kept:
            times.end(counts=counts)
