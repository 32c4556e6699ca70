"""What the probes of one run share: the step counter, the trace, who is who, and the seams that others listen to."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from autograd_doctor.events import Event, GradSwitch
from autograd_doctor.probes.naming import Modules, Optimizers, Parameters

if TYPE_CHECKING:
    from autograd_doctor.probes.gradients import Ledger
    from autograd_doctor.probes.lineage import Tensors


class Watch:
    """Shared by all probes of a run; holds no tensors alive.

    `stepped` is called after each optimizer step that took effect, `forward_began` before each root forward, and so
    on: a probe that needs a seam appends a function to its list instead of patching the same thing again.
    """

    def __init__(self, record: Callable[[Event], None]) -> None:
        self._record = record
        self._process = os.getpid()
        self._busy = threading.local()
        self.step = 0
        self.micro_batches = 0
        self.parameters = Parameters(self)
        self.modules = Modules(self)
        self.optimizers = Optimizers(self)
        self.tensors: Tensors | None = None
        self.gradients: Ledger | None = None
        self.switch: GradSwitch | None = None
        self.in_optimizer = 0
        self.backward_running: int | None = None
        self.last_loss: float | None = None
        self.stepped: list[Callable[[], None]] = []
        self.backward_finished: list[Callable[[], None]] = []

    def emit(self, event: Event) -> None:
        """Write an event, unless this is a forked child of the program."""
        if os.getpid() == self._process:
            self._record(event)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """While the doctor itself reads tensors: no graph, no function modes, no events of our own making."""
        with torch._C.DisableTorchFunction(), torch.no_grad(), quiet(self._busy):
            yield

    @property
    def busy(self) -> bool:
        """Whether the current thread is inside one of the doctor's own looks."""
        return getattr(self._busy, "depth", 0) > 0


@contextmanager
def quiet(local: Any) -> Iterator[None]:
    local.depth = getattr(local, "depth", 0) + 1
    try:
        yield
    finally:
        local.depth -= 1
