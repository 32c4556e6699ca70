"""Averages of weights that are evaluated with the running statistics of the last weights alone."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.swa_utils import AveragedModel

from autograd_doctor.events.cycle import AverageEvaluated
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.cycle.averages import Averages
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.reading.equal_averages import is_same
from autograd_doctor.reading.module_tree import modules_in, parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, stack
from autograd_doctor.signals import Signals


@dataclass
class _Average:
    """norms: the names of the batch-norms in it that keep statistics. evaluated: it was, while all of them were in eval
    mode. renewed: it, or what it wraps, ran in training mode, as it does to gather statistics of its own.
    """

    norms: list[str]
    by_hand: bool = False
    averaged: int = 0
    step: int = 0
    where: Place | None = None
    called_from: Place | None = None
    evaluated: bool = False
    renewed: bool = False


class AveragedNorms(Instrument):
    """Tells at the end of the run of averages that never gathered statistics, and were evaluated.

    Of equal averages alone, which `update_bn` is made for; a moving average is near to the last weights. Where no
    batch-norm has run in training mode for as many steps as an average has models, these share their statistics. What
    the program has averaged by itself is known by its values, in another model with the statistics of a trained one.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (AverageEvaluated,)

    def __init__(
        self,
        site: Site,
        course: Course,
        module_calls: ModuleCalls,
        module_register: ModuleRegister,
        averages: Averages,
    ) -> None:
        super().__init__(site)
        self._by_hand = averages.equal
        self._course = course
        self._module_calls = module_calls
        self._register = module_register
        self._averages: dict[int, _Average] = {}
        self._trained: IdentityTable[list[weakref.ref[_BatchNorm]]] = IdentityTable()
        """Roots that ran in training mode, and their batch-norms: what an average wraps may be called by itself."""
        self._compared: IdentityTable[int] = IdentityTable()
        """After how many steps a root was compared with averages."""
        self._renewed_in = 0
        """The last step in which a batch-norm ran in training mode."""

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began)

    def _root_began(self, began: RootBegan) -> None:
        root = began.call.module
        if root.training:
            self._trains(root)
        if isinstance(root, AveragedModel) and _is_equal_average(root):
            began.again = True
            self._meet(began, _norms_in(root), int(root.n_averaged))
        elif began.module in self._averages:
            self._meet(began, _norms_in(root), 0)
        elif not (root.training or root in self._trained or self._compared.get(root) == self._course.steps):
            self._compared.put(root, self._course.steps)
            norms = _norms_in(root)
            models = self._by_hand.models_in([parameter for _, parameter in parameters_in(root)]) if norms else 0
            if models and self._shares_statistics(norms):
                self._meet(began, norms, models, by_hand=True)

    def _meet(self, began: RootBegan, norms: list[_BatchNorm], models: int, *, by_hand: bool = False) -> None:
        root = began.call.module
        known = self._averages.get(began.module)
        if known is None:
            known = self._averages[began.module] = _Average(list(self._register.names(root, norms)), by_hand)
        known.renewed = known.renewed or root.training or self._ran_in_training(norms)
        if norms and not any(norm.training for norm in norms):
            known.step, known.where, known.averaged = self._course.steps, began.where, models or known.averaged
            known.called_from = next(iter(stack()[-2:-1]), None)
            known.evaluated = known.evaluated or self._course.steps - self._renewed_in < known.averaged

    def _shares_statistics(self, norms: list[_BatchNorm]) -> bool:
        """Whether they hold what those of a trained model do, to the bit."""
        return any(_hold_same(norms, [each() for each in trained]) for _, trained in self._trained.items())

    def _trains(self, root: nn.Module) -> None:
        norms = self._trained.get(root)
        if norms is None:
            norms = [weakref.ref(norm) for norm in _norms_in(root)]
            self._trained.put(root, norms)
        living = (norm() for norm in norms)
        if any(norm is not None and norm.training for norm in living):
            self._renewed_in = self._course.steps

    def _ran_in_training(self, norms: list[_BatchNorm]) -> bool:
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
                        called_from=locate(known.called_from),
                        by_hand=known.by_hand,
                        location=locate(known.where),
                    )
                )


def _hold_same(norms: Sequence[_BatchNorm], others: Sequence[_BatchNorm | None]) -> bool:
    if len(norms) != len(others):
        return False
    means = [(one.running_mean, getattr(other, "running_mean", None)) for one, other in zip(norms, others, strict=True)]
    return all(one is not None and other is not None and is_same(one, other) for one, other in means)


def _norms_in(root: nn.Module) -> list[_BatchNorm]:
    inner = (each for _, each in modules_in(root) if isinstance(each, _BatchNorm))
    return [norm for norm in inner if norm.track_running_stats]


def _is_equal_average(model: AveragedModel) -> bool:
    own = (getattr(model, name, None) for name in ("avg_fn", "multi_avg_fn"))
    return not model.use_buffers and all(function is None for function in own)
