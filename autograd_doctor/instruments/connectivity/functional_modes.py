"""Modules that hand their mode on to functions of torch, as `F.dropout(x, p, self.training)` does.

A module of the program depends on its mode if such a function, called while it is the innermost one that runs, was
active in train mode and is not in eval mode.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from torch import nn

from autograd_doctor.events.connectivity import ModeNotHeeded
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.functional_modes import draws_numbers, is_told, was_active
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.signals.operations import Operation

_PASSES_LISTENED_TO = 2
"""Per root and mode, in different steps: the first pass of a model may take a way of its own."""


@dataclass
class _Use:
    """What a module's forward was seen to do in each mode. `active`: functions that take the mode were so or not;
    `drew`, `quiet`: modes in which it drew random numbers, and in which it ran through without."""

    module: weakref.ref[nn.Module]
    active: dict[bool, set[bool]] = field(default_factory=dict)
    drew: set[bool] = field(default_factory=set)
    quiet: set[bool] = field(default_factory=set)

    @property
    def depends(self) -> bool:
        """By its functions; by its random numbers only where it was seen with them in training, and without in eval."""
        in_train, in_eval = self.active.get(True, set()), self.active.get(False, set())
        active_in_training = not in_train or True in in_train
        inactive_in_evaluation = not in_eval or False in in_eval
        by_function = bool(self.active) and active_in_training and inactive_in_evaluation
        return by_function or (self.drew == {True} and False in self.quiet)


@dataclass
class _Listening:
    """To the operations of one root call: which module runs innermost, who is told of one that was met, who drew."""

    root: int
    training: bool
    innermost: Callable[[], nn.Module | None]
    met: Callable[[nn.Module], None]
    drew: set[int] = field(default_factory=set)


class FunctionalModes(Instrument):
    """Listens to the operations of the first passes of a root in each mode; keeps what was seen, by module."""

    emits: ClassVar[tuple[type[Event], ...]] = (ModeNotHeeded,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._operations = site.signals.operations
        self._uses: dict[int, _Use] = {}
        self._listened: Counter[tuple[int, bool]] = Counter()
        self._listening: _Listening | None = None
        self._told: set[tuple[int, Place | None]] = set()

    # ------------------------------------------------------------------------------------------------- questions

    def depends(self, module: nn.Module) -> bool:
        """Whether train/eval was seen to make a difference to this module, by the functions that it calls."""
        use = self._known(module)
        return use is not None and use.depends

    def uses_mode(self, module: nn.Module) -> bool:
        """Whether the module is worth following: a function that takes the mode, or random numbers, were seen in it."""
        return self._known(module) is not None

    # ------------------------------------------------------------------------------------------------- listening

    def begin(
        self,
        root: int,
        training: bool,
        innermost: Callable[[], nn.Module | None],
        met: Callable[[nn.Module], None],
    ) -> None:
        """A root call begins; modules that turn out to be worth following are handed to `met`."""
        self._stop()
        if self._listened[root, training] < _PASSES_LISTENED_TO:
            self._listened[root, training] += 1
            self._listening = _Listening(root, training, innermost, met)
            self.listen(self._operations.ended, self._operation_ended)

    def end(self, ran: list[nn.Module]) -> None:
        """The call is over; `ran` are the modules worth following that ran in it."""
        listening = self._listening
        self._stop()
        for module in ran if listening is not None else ():
            use = self._known(module)
            if use is not None and listening is not None and id(module) not in listening.drew:
                use.quiet.add(module.training)

    def _stop(self) -> None:
        self.unlisten(self._operations.ended, self._operation_ended)
        self._listening = None

    def _operation_ended(self, operation: Operation) -> None:
        listening = self._listening
        active = was_active(operation.function, operation.args, operation.kwargs)
        if listening is None or (active is None and not draws_numbers(operation.name)):
            return
        module = listening.innermost()
        if module is None:
            return
        use = self._use(module)
        if active is None:
            use.drew.add(module.training)
            listening.drew.add(id(module))
        else:
            use.active.setdefault(module.training, set()).add(active)
            if active and not (listening.training or module.training):
                self._not_heeded(operation, listening.root)
        listening.met(module)

    def _not_heeded(self, operation: Operation, root: int) -> None:
        """Once for each line; who tells a function to be active in eval mode means it."""
        if (root, operation.place) not in self._told and not is_told(
            operation.function, operation.args, operation.kwargs
        ):
            self._told.add((root, operation.place))
            self.emit(
                ModeNotHeeded(
                    step=self._course.steps,
                    module=root,
                    function=operation.name,
                    location=locate(operation.place),
                    grad_enabled=operation.grad_enabled,
                )
            )

    def _known(self, module: nn.Module) -> _Use | None:
        use = self._uses.get(id(module))
        return use if use is not None and use.module() is module else None

    def _use(self, module: nn.Module) -> _Use:
        use = self._known(module)
        if use is None:
            use = self._uses[id(module)] = _Use(weakref.ref(module))
        return use
