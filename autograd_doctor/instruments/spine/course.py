"""Where the run stands: the steps that were taken, the backward that is running, the last loss, the last update."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch.optim import Optimizer

from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.tensor_facts import is_remote
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.optimizers import StepCall
from autograd_doctor.signals.signal import Signal


class Course(Instrument):
    """Counts what the events of all others are dated by, and tells when a step or a backward is over.

    step_taken: after each step that took effect. backward_over: after each backward, when all others have looked.
    began_by_hand: with the first update without an optimizer.
    backwards: how many there have been, which is the number of the next one until all have seen it begin. by_hand: the
    parameters that the program has updated without an optimizer. rebinds: some gave way to new ones. late_loss: the
    newest of those that nobody had waited for, and the steps that had been taken when it went backward.
    """

    def __init__(self, site: Site, late_values: LateValues) -> None:
        super().__init__(site)
        self._late_values = late_values
        guard = site.signals.guard
        self._guard = guard
        self._operations = site.signals.operations
        self.step_taken: Signal[Course] = Signal(guard)
        self.backward_over: Signal[Course] = Signal(guard)
        self.began_by_hand: Signal[Course] = Signal(guard)
        self.steps = 0
        self.backwards = 0
        self.running: int | None = None
        self.last_loss: float | None = None
        self.late_loss: tuple[int, float] | None = None
        self._is_loss_late = False
        self._updated_at: Place | None = None
        self._steps_at: IdentityTable[Place | None] = IdentityTable()
        self.by_hand: IdentityTable[None] = IdentityTable()
        self.rebinds = False
        self._backward_since_step = True
        self._stepped_since_backward: set[int | None] = set()
        self._step_pending = False
        self._stepping: list[RunningStep] = []
        self._closures: list[Optimizer] = []

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, last=True)
        self.listen(signals.backward.ended, self._backward_ended, last=True, bare=True)
        self.listen(signals.steps.began, self._step_began, attention=Attention.LIGHT, bare=True)
        self.listen(signals.steps.closure_began, self._closure_began)
        self.listen(signals.steps.closure_ended, self._closure_ended)
        self.listen(signals.steps.ended, self._step_ended, last=True, bare=True)

    def updated_at(self, parameter: torch.Tensor) -> Location | None:
        """Where an optimizer that holds this parameter has taken its last step; any, where that one is gone."""
        for optimizer, where in self._steps_at.items():
            if any(each is parameter for each in parameters_of(optimizer)):
                return locate(where)
        return locate(self._updated_at)

    # ---------------------------------------------------------------------------------------------------- backwards

    def _backward_began(self, call: BackwardCall) -> None:
        self.running = self.backwards
        self.backwards += 1

    def _backward_ended(self, call: BackwardCall) -> None:
        """A step that was taken inside the backward counts now."""
        self.running = None
        if self._step_pending:
            self._count_step()
        self._backward_since_step = True
        self.backward_over.tell(self)

    def backward_passed(self) -> None:
        """One ran of which nobody hears."""
        self.backwards += 1
        self._backward_since_step = True

    def step_passed(self, optimizer: Optimizer) -> None:
        """An optimizer has stepped, of which nobody hears."""
        self.steps += self._begins_step(id(optimizer))

    def loss_seen(self, value: float | None) -> None:
        """The value of the loss that goes backward, NaN if it is not finite, None if it is no single number, or one on
        an accelerator that nobody waits for."""
        self.last_loss = value
        self._is_loss_late = False

    def loss_put_off(self) -> None:
        """The value of the loss that goes backward comes late."""
        self._is_loss_late = True

    def loss_came_late(self, step: int, value: float) -> None:
        """The value of one that went backward before."""
        self.late_loss = step, value

    def when_loss_known(
        self, asker: Instrument, then: Callable[[float | None], None], *, in_place: bool = False
    ) -> None:
        """Call `then` with the loss that went backward last, None if it is no single number: at once if it is known.

        in_place: see `LateValues.ask`.
        """
        loss = self.coming_loss()
        self._late_values.ask(asker, [], lambda _: then(loss()), in_place=in_place)

    def coming_loss(self) -> Callable[[], float | None]:
        """The same, for who asks `LateValues` for something else at this moment: to be called with the answer."""
        is_late, loss = self._is_loss_late, self.last_loss
        return lambda: self.late_loss[1] if is_late and self.late_loss is not None else loss

    # -------------------------------------------------------------------------------------------------------- steps

    def updated_by_hand(self, parameters: Iterable[torch.Tensor]) -> None:
        """The program has updated these without an optimizer."""
        is_first = not self.by_hand
        for parameter in parameters:
            self.by_hand.put(parameter, None)
        if is_first:
            self.began_by_hand.relay(self)
        self._updated(None)

    def rebound(self) -> None:
        """Leaves that were made of parameters and their gradients have taken their place."""
        self.rebinds = True
        self._updated(None)

    def _begins_step(self, optimizer: int | None) -> bool:
        """Optimizers that step one after the other on the same backwards take one step together; one that steps again
        without a new backward starts another."""
        if not self._backward_since_step and optimizer not in self._stepped_since_backward:
            self._stepped_since_backward.add(optimizer)
            return False
        self._stepped_since_backward = {optimizer}
        self._backward_since_step = False
        return True

    def _updated(self, optimizer: int | None) -> None:
        """Count a step; one inside a backward is counted when it ends."""
        if not self._begins_step(optimizer):
            return
        if self.running is None:
            self._count_step()
        else:
            self._step_pending = True

    def _count_step(self) -> None:
        self.steps += 1
        self._step_pending = False
        self.step_taken.tell(self)

    # ------------------------------------------------------------------------------------------- inside optimizers

    def _step_began(self, call: StepCall) -> None:
        running = [step.optimizer for step in self._stepping]
        if running and call.optimizer in running:  # an earlier step of it raised, of which its hooks said nothing
            del self._stepping[running.index(call.optimizer) :]
        self._stepping.append(RunningStep(call.optimizer))
        self._mute(len(self._stepping))

    @property
    def closure_of(self) -> Optimizer | None:
        """The optimizer in whose step a closure of the program is running."""
        return self._closures[-1] if self._closures else None

    def _closure_began(self, call: StepCall) -> None:
        """What runs in it may turn the attention, so that its end is heard although its beginning was not."""
        if self.step_of(call.optimizer) is None:
            self._stepping.append(RunningStep(call.optimizer))
        self._closures.append(call.optimizer)
        self._mute(0)

    def _closure_ended(self, call: StepCall) -> None:
        self._closures.pop()
        self._mute(len(self._stepping))

    def step_of(self, optimizer: Optimizer) -> RunningStep | None:
        """The step of an optimizer that is running, the inner one where it steps inside its own step."""
        return next((step for step in reversed(self._stepping) if step.optimizer is optimizer), None)

    def outer_of(self, optimizer: Optimizer) -> Optimizer | None:
        """The optimizer in whose step another one is running a step."""
        outer = [step.optimizer for step in self._stepping]
        return outer[outer.index(optimizer) - 1] if optimizer in outer[1:] else None

    def _step_ended(self, call: StepCall) -> None:
        """Count it, unless a scaler suppressed it, or optimizers that it called have updated all its parameters."""
        step = self.step_of(call.optimizer) or RunningStep(call.optimizer)
        if step in self._stepping:  # with those inside it that raised, of which their hooks said nothing
            del self._stepping[self._stepping.index(step) :]
            self._mute(len(self._stepping))
        if self._stepping:
            with self._guard.looking():
                self._stepping[-1].updated_inside |= step.parameters()
        if self._took_effect(step):
            self._updated_at = place()
            if self._steps_at.get(call.optimizer) != self._updated_at:
                self._steps_at.put(call.optimizer, self._updated_at)
            self._updated(id(call.optimizer))

    def _took_effect(self, step: RunningStep) -> bool:
        """A light step does not wait to hear whether a scaler had a fused optimizer leave it out, as it rarely does."""
        found_inf = step.found_inf
        is_light = self._guard.attention < Attention.FULL
        if not step.updated_inside and (found_inf is None or (is_light and is_remote(found_inf))):
            return True
        with self._guard.looking():
            return not (step.only_calls_others or step.skipped)

    def _mute(self, reasons: int) -> None:
        """Operations inside an optimizer are not signalled: there are many, and nothing is to be learned from them."""
        self._guard.muted = reasons
        (self._operations.rest if reasons else self._operations.resume)("inside an optimizer")


@dataclass(eq=False, slots=True)
class RunningStep:
    """A step in progress. `updated_inside`: the parameters that optimizers called by this one have updated."""

    optimizer: Optimizer
    updated_inside: set[int] = field(default_factory=set)
    _skipped: bool | None = None

    @property
    def found_inf(self) -> torch.Tensor | None:
        """What a gradient scaler tells the optimizer."""
        found_inf: torch.Tensor | None = attributes(self.optimizer).get("found_inf")
        return found_inf

    @property
    def skipped(self) -> bool:
        """Whether a gradient scaler has it leave everything as it is: asked when it ends, and waited for once."""
        if self._skipped is None:
            self._skipped = self.found_inf is not None and bool(float(self.found_inf))
        return self._skipped

    @property
    def only_calls_others(self) -> bool:
        """Whether others inside it have updated all that it could."""
        mine = self.parameters() if self.updated_inside else set()
        return bool(mine) and mine <= self.updated_inside

    def parameters(self) -> set[int]:
        """The identities of those that it may have changed."""
        everything = parameters_of(self.optimizer)
        return {id(parameter) for parameter in everything if parameter.grad is not None or parameter.requires_grad}
