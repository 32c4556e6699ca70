"""Models that the program calls without training them, and the steps in which something gave them new weights."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from operator import itemgetter
from typing import ClassVar

from torch import nn

from autograd_doctor.events.connectivity import CopyKept
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.light_steps import LightSteps
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, stack
from autograd_doctor.reading.remainders import hangs_on_a_remainder
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.states import StateLoad

_MOST_MODULES = 100


@dataclass(slots=True)
class _Copy:
    """module: the model. changes: how often versions had moved since the last look. longest: steps between two changes,
    at most.

    changed, seen: the steps of the newest change and of the newest look. calls: looks since that change. where: it is
    called; around: the calls that lead there.
    """

    module: weakref.ref[nn.Module]
    where: Place | None
    around: tuple[Place, ...]
    parameters: list[weakref.ref[nn.Parameter]]
    versions: list[int]
    changed: int
    seen: int
    changes: int = 0
    longest: int = 0
    calls: int = 0

    def look(self, step: int, where: Place | None) -> None:
        versions = _versions(self.parameters)
        self.seen = step
        if where != self.where:
            self.where, self.around = where, stack()
        if versions == self.versions:
            self.calls += 1
            return
        self.versions = versions
        self.changes += 1
        self.longest = max(self.longest, step - self.changed)
        self.changed, self.calls = step, 0


class KeptCopies(Instrument):
    """Looks at versions when such a model is called, once in a step that is no mere glance.

    Models of which an optimizer, or the program by hand, updates a parameter learn by themselves, and are left out.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (CopyKept,)

    def __init__(
        self,
        site: Site,
        course: Course,
        module_calls: ModuleCalls,
        parameters: Parameters,
        optimizers: Optimizers,
        lineage: Lineage,
        light_steps: LightSteps,
    ) -> None:
        super().__init__(site)
        self._light_steps = light_steps
        self._is_later = False
        self._course = course
        self._module_calls = module_calls
        self._lineage = lineage
        self._parameters = parameters
        self._optimizers = optimizers
        self._copies: dict[int, _Copy | None] = {}
        self._written: IdentityTable[tuple[int, tuple[Place, ...]]] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.LIGHT)
        self.listen(signals.states.loaded, self._loaded)
        self.listen(self._lineage.parameter_written, self._parameter_written)

    def memory(self) -> bool:
        """Whether this is a later part of a run, in which states that are loaded are heard of all the time."""
        return True

    def remember(self, memory: bool) -> None:
        self._is_later = memory

    def finish(self) -> None:
        for module, copy in self._copies.items():
            if copy is not None and not self._learns(copy):
                self._tell(module, copy, self._follow_loads(copy) or self._written_at(copy))

    def _tell(self, module: int, copy: _Copy, places: tuple[Place, ...]) -> None:
        if copy.changes:
            self.emit(
                CopyKept(
                    step=self._course.steps,
                    module=module,
                    location=locate(copy.where),
                    written_at=locate(places[-1]) if places else None,
                    changes=copy.changes,
                    longest=copy.longest,
                    changed=copy.changed,
                    seen=copy.seen,
                    calls=copy.calls,
                    by_remainder=hangs_on_a_remainder(places, copy.around),
                )
            )

    def _loaded(self, load: StateLoad) -> None:
        where = stack()
        for _, parameter in parameters_in(load.module):
            self._written.put(parameter, (self._course.steps, where))

    def _parameter_written(self, written: Recorded) -> None:
        self._written.put(written.output, (self._course.steps, stack()))

    def _follow_loads(self, copy: _Copy) -> tuple[Place, ...]:
        """Take in what was loaded before this part of the run; returns the calls that led to the latest."""
        module = copy.module()
        loads = self._light_steps.loads_of(module) if module is not None and self._is_later else None
        if loads is None or loads.times <= copy.changes:
            return ()
        copy.changes, copy.longest, copy.changed = loads.times, loads.longest, loads.last
        return loads.places

    def _written_at(self, copy: _Copy) -> tuple[Place, ...]:
        """The line that was the last that was seen to write to it, behind the calls that led there. What was loaded
        once, before all, is none."""
        found = [self._written.get(parameter) for parameter in _living(copy.parameters)]
        step, where = max((each for each in found if each is not None), key=itemgetter(0), default=(0, ()))
        return where if step > 0 else ()

    def _root_began(self, began: RootBegan) -> None:
        if began.module not in self._copies:
            if self._course.steps and len(self._copies) < _MOST_MODULES:
                self._meet(began)
            return
        copy = self._copies[began.module]
        if copy is not None and copy.seen != self._course.steps:
            copy.look(self._course.steps, began.where)

    def _meet(self, began: RootBegan) -> None:
        """From the first step on: by then it is known what the optimizer holds."""
        module, step = began.call.module, self._course.steps
        parameters = [weakref.ref(parameter) for _, parameter in parameters_in(module)]
        versions = _versions(parameters)
        copy = _Copy(weakref.ref(module), began.where, stack(), parameters, versions, changed=step, seen=step)
        self._copies[began.module] = copy if parameters and not self._learns(copy) else None

    def _learns(self, copy: _Copy) -> bool:
        """Whether something moves its parameters by their gradients."""
        living = _living(copy.parameters)
        numbers = [self._parameters.get(parameter) for parameter in living]
        held = any(number is not None and self._optimizers.holds(number) for number in numbers)
        return held or any(parameter in self._course.by_hand for parameter in living)


def _living(parameters: list[weakref.ref[nn.Parameter]]) -> list[nn.Parameter]:
    return [parameter for reference in parameters if (parameter := reference()) is not None]


def _versions(parameters: list[weakref.ref[nn.Parameter]]) -> list[int]:
    return [version_of(parameter) for parameter in _living(parameters)]
