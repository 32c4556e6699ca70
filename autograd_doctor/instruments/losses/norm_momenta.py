"""Batch-norms in evaluation whose running statistics are those of the last batch, because of their momentum."""

from __future__ import annotations

from typing import ClassVar

from torch.nn.modules.batchnorm import _BatchNorm

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import LastBatchKept
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.reading.module_tree import modules_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import locate
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention

_LEAST = 0.8
"""The weight of the newest batch from which on it is told."""


class NormMomenta(Instrument):
    """Looks through a root once in each mode; tells of each root once."""

    emits: ClassVar[tuple[type[Event], ...]] = (LastBatchKept,)

    def __init__(self, site: Site, course: Course, module_calls: ModuleCalls, module_register: ModuleRegister) -> None:
        super().__init__(site)
        self._course = course
        self._module_calls = module_calls
        self._register = module_register
        self._looked: set[tuple[int, bool]] = set()
        self._trained: IdentityTable[None] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.FULL)

    def _root_began(self, began: RootBegan) -> None:
        root = began.call.module
        if (began.module, root.training) in self._looked or not (root.training or self._trained):
            return
        self._looked.add((began.module, root.training))
        norms = [module for _, module in modules_in(root) if isinstance(module, _BatchNorm) and _follows(module)]
        for norm in norms if began.call.grad_enabled else ():
            if norm.training:
                self._trained.put(norm, None)
        used = [norm for norm in norms if not norm.training and norm in self._trained]
        if used:
            self.emit(
                LastBatchKept(
                    step=self._course.steps,
                    module=began.module,
                    norms=self._register.names(root, used),
                    momentum=min(norm.momentum or 0.0 for norm in used),
                    location=locate(began.where),
                )
            )


def _follows(norm: _BatchNorm) -> bool:
    return norm.track_running_stats and norm.momentum is not None and norm.momentum >= _LEAST
