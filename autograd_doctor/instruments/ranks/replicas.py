"""What the replicas of a model hold that `DistributedDataParallel` keeps alike, at the same steps on all ranks."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from torch.nn.parallel import DistributedDataParallel

from autograd_doctor.events.event import Event
from autograd_doctor.events.replicas import ReplicasRead
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.process_groups import is_one_of_several
from autograd_doctor.reading.subclasses import dispatches
from autograd_doctor.reading.tensor_facts import fingerprints, is_remote, norms
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.optimizers import StepCall

_READ_AFTER = frozenset({0, *(2**power for power in range(7))})
_WAITS_UNTIL = 8
"""Steps up to which an accelerator is waited for: those that are recorded in full on all ranks."""


class Replicas(Instrument):
    """Reads them before the first step, and ever more seldom. No collective is called: traces are compared."""

    emits: ClassVar[tuple[type[Event], ...]] = (ReplicasRead,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._waits_for_first = True

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._step_began)
        self.listen(self._course.step_taken, self._step_taken)

    def _step_began(self, call: StepCall) -> None:
        if self._waits_for_first:
            self._waits_for_first = False
            self._read(self._course.steps)

    def _step_taken(self, course: Course) -> None:
        if course.steps in _READ_AFTER:
            self._read(course.steps)

    def _read(self, step: int) -> None:
        if step in _READ_AFTER and is_one_of_several():
            for wrapper in _wrappers():
                self._tell(wrapper, step)

    def _tell(self, wrapper: DistributedDataParallel, step: int) -> None:
        ignored = attributes(wrapper).get("parameters_to_ignore") or ()
        held = [(n, p) for n, p in parameters_in(wrapper.module) if n not in ignored and not dispatches(p)]
        if any(is_remote(parameter) for _, parameter in held) and step > _WAITS_UNTIL:
            return
        tensors: list[torch.Tensor] = [parameter for _, parameter in held]
        bits = fingerprints(tensors)
        read = [(n, b, size) for (n, _), b, size in zip(held, bits, norms(tensors), strict=True) if b is not None]
        self.emit(
            ReplicasRead(
                step=step,
                model=variable_name(wrapper) or type(wrapper.module).__name__,
                names=[name for name, _, _ in read],
                bits=[bit for _, bit, _ in read],
                norms=[size for _, _, size in read],
                ranks=_ranks(attributes(wrapper).get("process_group")),
                apart=bool(attributes(wrapper).get("_comm_hooks"))
                or not attributes(wrapper).get("require_forward_param_sync", True),
                stepped_at=self._course.updated_at(tensors[0]) if tensors else None,
            )
        )


def _wrappers() -> Iterator[DistributedDataParallel]:
    return (each for each in gc.get_objects() if is_a(each, DistributedDataParallel) and "module" in _modules(each))


def _modules(wrapper: torch.nn.Module) -> Any:
    return attributes(wrapper).get("_modules") or {}


def _ranks(group: Any) -> list[int]:
    return list(torch.distributed.get_process_group_ranks(group)) if group is not None else []
