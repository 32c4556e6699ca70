"""Averages of weights that are evaluated with the running statistics of the last weights alone."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import ClassVar

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.swa_utils import AveragedModel

from autograd_doctor.events.cycle import AverageEvaluated
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.reading.module_tree import modules_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.signals import Signals


@dataclass
class _Average:
    """norms: the names of the batch-norms in it that keep statistics. evaluated: it was, while all of them were in eval
    mode. renewed: it, or what it wraps, ran in training mode, as it does to gather statistics of its own.
    """

    norms: list[str]
    averaged: int = 0
    step: int = 0
    where: Place | None = None
    evaluated: bool = False
    renewed: bool = False


class AveragedNorms(Instrument):
    """Tells at the end of the run of averages that never gathered statistics, and were evaluated.

    Of equal averages alone, which `update_bn` is made for; a moving average is near to the last weights. Where no
    batch-norm has run in training mode for as many steps as an average has models, these share their statistics.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (AverageEvaluated,)

    def __init__(self, site: Site, course: Course, module_calls: ModuleCalls, module_register: ModuleRegister) -> None:
        super().__init__(site)
        self._course = course
        self._module_calls = module_calls
        self._register = module_register
        self._averages: dict[int, _Average] = {}
        self._trained: IdentityTable[list[weakref.ref[nn.Module]]] = IdentityTable()
        """Roots that ran in training mode, and their batch-norms: what an average wraps may be called by itself."""
        self._renewed_in = 0
        """The last step in which a batch-norm ran in training mode."""

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began)

    def _root_began(self, began: RootBegan) -> None:
        root = began.call.module
        if root.training:
            self._trains(root)
        if not isinstance(root, AveragedModel) or not _is_equal_average(root):
            return
        began.again = True
        norms = _norms_in(root)
        known = self._averages.get(began.module)
        if known is None:
            known = self._averages[began.module] = _Average(list(self._register.names(root, norms)))
        known.renewed = known.renewed or root.training or self._ran_in_training(norms)
        if norms and not any(norm.training for norm in norms):
            known.step, known.where, known.averaged = self._course.steps, began.where, int(root.n_averaged)
            known.evaluated = known.evaluated or self._course.steps - self._renewed_in < known.averaged

    def _trains(self, root: nn.Module) -> None:
        norms = self._trained.get(root)
        if norms is None:
            norms = [weakref.ref(norm) for norm in _norms_in(root)]
            self._trained.put(root, norms)
        living = (norm() for norm in norms)
        if any(norm is not None and norm.training for norm in living):
            self._renewed_in = self._course.steps

    def _ran_in_training(self, norms: list[nn.Module]) -> bool:
        """Whether all of them were in modules that ran in training mode."""
        ran = {id(each) for root, _ in self._trained.items() for _, each in modules_in(root)}
        return bool(norms) and all(id(norm) in ran for norm in norms)

    def finish(self) -> None:
        for module, known in self._averages.items():
            if known.evaluated and not known.renewed:
                self.emit(
                    AverageEvaluated(
                        step=known.step,
                        module=module,
                        norms=known.norms,
                        averaged=known.averaged,
                        location=locate(known.where),
                    )
                )


def _norms_in(root: nn.Module) -> list[nn.Module]:
    inner = (each for _, each in modules_in(root) if isinstance(each, _BatchNorm))
    return [norm for norm in inner if norm.track_running_stats]


def _is_equal_average(model: AveragedModel) -> bool:
    own = (getattr(model, name, None) for name in ("avg_fn", "multi_avg_fn"))
    return not model.use_buffers and all(function is None for function in own)
