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
        self._trained: IdentityTable[int] = IdentityTable()
        """Norms, by the root that they were trained in."""
        self._fed: dict[int, IdentityTable[None]] = {}
        """What each root was trained on first."""
        self._fed_others: set[int] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.FULL)

    def _root_began(self, began: RootBegan) -> None:
        root = began.call.module
        if root.training and began.call.grad_enabled:
            self._feed(began)
        if (began.module, root.training) in self._looked or not (root.training or self._trained):
            return
        norms = [module for _, module in modules_in(root) if isinstance(module, _BatchNorm) and _follows(module)]
        for norm in norms if began.call.grad_enabled else ():
            if norm.training:
                self._trained.put(norm, began.module)
        used = [norm for norm in norms if not norm.training and self._trained.get(norm) in self._fed_others]
        if root.training or used:
            self._looked.add((began.module, root.training))
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

    def _feed(self, began: RootBegan) -> None:
        """Where a root is given the same tensors each time, there is only one batch, and its statistics are all."""
        fed = self._fed.get(began.module)
        if fed is None:
            fed = self._fed[began.module] = IdentityTable()
            for tensor in began.given:
                fed.put(tensor, None)
        elif any(tensor not in fed for tensor in began.given):
            self._fed_others.add(began.module)


def _follows(norm: _BatchNorm) -> bool:
    return norm.track_running_stats and norm.momentum is not None and norm.momentum >= _LEAST
