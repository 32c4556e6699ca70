"""What the probes of one run share: the step counter, the trace, who is who, and the seams that others listen to."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import torch

from autograd_doctor.events import Event, GradSwitch, TensorFacts
from autograd_doctor.findings import Location
from autograd_doctor.watching.gradients import Ledger
from autograd_doctor.watching.lineage import Tensors
from autograd_doctor.watching.naming import Modules, Optimizers, Parameters, variable_name
from autograd_doctor.watching.nonfinite import Sentry
from autograd_doctor.watching.places import locate
from autograd_doctor.watching.tensor_facts import describe

if TYPE_CHECKING:
    from autograd_doctor.watching.loss_scales import Scalers


_watches: WeakSet[Watch] = WeakSet()


def _after_fork() -> None:
    """Forked children of the program, such as the workers of a loader, are not watched."""
    for watch in _watches:
        watch.forked = True


os.register_at_fork(after_in_child=_after_fork)


class Watch:
    """Shared by all probes of a run; holds no tensors alive.

    `stepped` is called after each optimizer step that took effect, `backward_begins` before each backward with the
    leaves of its graph, `backward_finished` after it, `operated` after each operation with its arguments and result: a
    probe that needs a seam appends a function to its list instead of patching the same thing again. `asked_about` is
    the custom function for whose sake the program runs, if it does.
    """

    def __init__(self, record: Callable[[Event], None]) -> None:
        self._record = record
        self.forked = False
        self.hooked = False
        _watches.add(self)
        self._busy = threading.local()
        self._modes = threading.local()
        self.step = 0
        self.parameters = Parameters(self)
        self.modules = Modules(self)
        self.optimizers = Optimizers(self)
        self.tensors = Tensors(self)
        self.sentry = Sentry(self)
        self.gradients = Ledger(self)
        self.scalers: Scalers | None = None
        self.in_optimizer = 0
        self.inside_steps: list[int | None] = []
        self.backward_since_step = True
        self._stepped_since_backward: set[int | None] = set()
        self._step_pending = False
        self.backward_running: int | None = None
        self.last_loss: float | None = None
        self.updated_at: Location | None = None
        self.batches_per_epoch = 0
        self.steps_per_epoch: int | None = None
        self.asked_about: type | None = None
        self.stepped: list[Callable[[], None]] = []
        self.backward_begins: list[Callable[[Iterable[torch.Tensor]], None]] = []
        self.backward_finished: list[Callable[[], None]] = []
        self.operated: list[Callable[[Sequence[Any], dict[str, Any], Any], None]] = []

    def emit(self, event: Event) -> None:
        """Write an event, unless this is a forked child of the program."""
        if not self.forked:
            self._record(event)

    def looking(self) -> Looking:
        """While the doctor itself reads tensors: no graph, no function modes, no events of our own making."""
        return Looking(self._busy)

    def describe(self, tensor: torch.Tensor) -> TensorFacts:
        """A tensor with its ranges, the user's name for it, and what made it."""
        # What was last written into a parameter, its initial values for one, did not make it.
        made = None if isinstance(tensor, torch.nn.Parameter) else self.tensors.get(tensor)
        number = self.parameters.get(tensor)
        return describe(
            tensor,
            name=variable_name(tensor) or ("" if number is None else self.parameters.known_name(number)),
            parameter=number,
            operation=made.operation if made else "",
            made_at=locate(made.place) if made else None,
        )

    def step_taken(self, optimizer: int | None) -> None:
        """Count a step, and tell those who wait for one.

        Optimizers that step one after the other on the same backwards take one step together; one that steps again
        without a new backward starts another. Steps inside a backward are counted when it ends.
        """
        if not self.backward_since_step and optimizer not in self._stepped_since_backward:
            self._stepped_since_backward.add(optimizer)
            return
        self._stepped_since_backward = {optimizer}
        self.backward_since_step = False
        if self.backward_running is None:
            self.step_completed()
        else:
            self._step_pending = True

    def step_completed(self) -> None:
        self.step += 1
        self._step_pending = False
        for listener in self.stepped:
            listener()

    def backward_over(self) -> None:
        """A backward of the program's has ended; a step that was taken inside it counts now."""
        self.backward_running = None
        if self._step_pending:
            self.step_completed()
        self.backward_since_step = True

    @property
    def switch(self) -> GradSwitch | None:
        """What switched gradients off in the current thread, None while they are on. Kept by the grad-mode probe."""
        return getattr(self._modes, "switch", None)

    @switch.setter
    def switch(self, switch: GradSwitch | None) -> None:
        self._modes.switch = switch

    @property
    def busy(self) -> bool:
        """Whether the current thread is inside one of the doctor's own looks."""
        return getattr(self._busy, "depth", 0) > 0


class Looking:
    """Switches gradients and function modes off at the level below the seams that are watched."""

    def __init__(self, busy: threading.local) -> None:
        self._busy = busy

    def __enter__(self) -> None:
        self._busy.depth = getattr(self._busy, "depth", 0) + 1
        self._untraced = torch._C.DisableTorchFunction()
        self._untraced.__enter__()
        self._gradients = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)

    def __exit__(self, *_: object) -> None:
        torch._C._set_grad_enabled(self._gradients)
        self._untraced.__exit__(None, None, None)
        self._busy.depth -= 1
