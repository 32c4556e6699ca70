"""The time of each iteration of the training loop, by what the program does in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any, ClassVar

import torch
from torch import nn

from autograd_doctor.events.efficiency import BESIDE, Activity, IterationTimed, Spent
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.hand_steps import HandSteps
from autograd_doctor.reading.module_tree import has_parameters
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.torch_versions import accelerator_in_use, wait_for_accelerator
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.clipping import ClipCall
from autograd_doctor.signals.guard import LookClock
from autograd_doctor.signals.loaders import BatchAsked, PassAsked, PassBegan
from autograd_doctor.signals.modules import ModuleCall
from autograd_doctor.signals.moves import MoveCall
from autograd_doctor.signals.optimizers import ClearCall, StepCall
from autograd_doctor.signals.reads import Wait
from autograd_doctor.signals.saves import SaveCall
from autograd_doctor.signals.signal import Signal

_MOST_TOLD = 400
"""Iterations, which is more than a median needs."""
_MOST_STEPS = 8
"""Of another optimizer, or at another line, before it marks where an iteration ends; each parameter may have one."""

_WHOLE = frozenset({"forward", "no-grad forward", "evaluation", "backward"})
_WITHIN_LOSS = frozenset({"loss", "zeroing", "transfer", "synchronisation"})
"""After which the loss may still be computed: gradients are often cleared right before the backward, labels moved to
the device, losses told."""


@dataclass(eq=False)
class _Running:
    """Something that the program does, and for whom: what ends with another one inside it was left by an exception."""

    activity: Activity
    of: object
    where: Place | None


@dataclass(eq=False)
class Iteration:
    """What is known of one when it is over.

    waits: an accelerator is waited for wherever one activity gives way to another. split: its parts are known, as they
    are without an accelerator. times: how often each of them began. recorded: operations were signalled in it. usual:
    what is done in more than half of all iterations up to it. typical: nothing was evaluated or saved in it, unless
    that is usual. given: what the module that learned first was called with. starts: passes
    that began in it, over loaders with workers.
    """

    waits: bool = False
    split: bool = True
    seconds: float = 0.0
    spent: dict[tuple[Activity, Place | None], float] = field(default_factory=lambda: defaultdict(float))
    times: Counter[tuple[Activity, Place | None]] = field(default_factory=Counter)
    drawn: list[tuple[int, int]] = field(default_factory=list)
    given: list[tuple[int, int]] = field(default_factory=list)
    recorded: bool = False
    starts: int = 0
    first: nn.Module | None = None
    usual: frozenset[Activity] = frozenset()

    @property
    def activities(self) -> set[Activity]:
        return {activity for activity, _ in self.spent}

    @property
    def typical(self) -> bool:
        return not self.activities & BESIDE - self.usual

    def add(self, activity: Activity, where: Place | None, seconds: float) -> None:
        self.spent[activity, where] += seconds
        self.seconds += seconds


class IterationTimes(Instrument):
    """Credits each moment to the innermost of what the program is doing, and none to what the doctor does.

    An iteration ends with a step of the optimizer with which the first one ended. `over` is sent then. Where the
    program updates its parameters by hand, one ends with the first backward after that, when that has become known. An
    accelerator is waited for in every other iteration: only there the parts are known, and only without that the whole.

    count: how many are over.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (IterationTimed,)

    def __init__(self, site: Site, course: Course, detail: Detail, hand_steps: HandSteps) -> None:
        super().__init__(site)
        self.over: Signal[Iteration] = Signal(site.signals.guard)
        self._course = course
        self._detail = detail
        self._hand_steps = hand_steps
        self._guard = site.signals.guard
        self._clock = self._guard.clock = LookClock()
        self._thread = get_ident()
        self._running: list[_Running] = []
        self._between: Activity = "rest"
        self._since_forward = 0.0
        self._last: float | None = None
        self._now = Iteration()
        self._ended: Iteration | None = None
        self._ends_with: tuple[Place | None, int] | None = None
        self._others: Counter[tuple[Place | None, int]] = Counter()
        self._steps = 0
        self.count = 0
        self._done: Counter[Activity] = Counter()
        self._told = 0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.pass_asked, self._pass_asked, bare=True)
        self.listen(signals.loaders.began, self._pass_began, bare=True)
        self.listen(signals.loaders.asked, self._asked, bare=True)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(signals.loaders.exhausted, self._exhausted, bare=True)
        self.listen(signals.modules.entered, self._entered, bare=True)
        self.listen(signals.modules.left, self._left, bare=True)
        self.listen(signals.backward.began, self._backward_began, bare=True)
        self.listen(signals.backward.ended, self._backward_ended, bare=True)
        self.listen(signals.clipping.began, self._clipping_began, bare=True)
        self.listen(signals.clipping.ended, self._clipping_ended, bare=True)
        self.listen(signals.steps.began, self._step_began, bare=True)
        self.listen(signals.steps.closure_began, self._closure_began, bare=True)
        self.listen(signals.steps.closure_ended, self._closure_ended, bare=True)
        self.listen(signals.steps.ended, self._step_ended, bare=True)
        self.listen(signals.steps.ended, self._step_counted, last=True)
        self.listen(self._detail.turned, self._turned)
        self.listen(self._course.backward_over, self._backward_over)
        self.listen(signals.clearing.began, self._clearing_began, bare=True)
        self.listen(signals.clearing.ended, self._clearing_ended, bare=True)
        self.listen(signals.saves.began, self._saving_began, bare=True)
        self.listen(signals.saves.ended, self._saving_ended, bare=True)
        self.listen(signals.value_reads.began, self._waiting_began, bare=True)
        self.listen(signals.value_reads.ended, self._waiting_ended, bare=True)

    def detach(self) -> None:
        super().detach()
        self._guard.clock = None

    @property
    def in_backward(self) -> bool:
        return any(each.activity == "backward" for each in self._running)

    @property
    def have_begun(self) -> bool:
        """Whether there was a step from which on the time is that of iterations."""
        return self._ends_with is not None

    def seconds(self) -> float:
        """The time, without what looks have taken."""
        if self._now.waits:
            self._clock.counting(wait_for_accelerator)
        return self._clock.seconds()

    # ------------------------------------------------------------------------------------------------- what is done

    def _pass_asked(self, asked: PassAsked) -> None:
        self._now.starts += bool(asked.loader.num_workers)
        self._begin("data", asked.loader)

    def _pass_began(self, began: PassBegan) -> None:
        self._end(began.loader)

    def _asked(self, asked: BatchAsked) -> None:
        self._begin("data", asked)

    def _drawn(self, asked: BatchAsked) -> None:
        self._end(asked)
        self._now.drawn.append(_extent([asked.batch], 1))

    def _exhausted(self, asked: BatchAsked) -> None:
        self._end(asked)

    def _entered(self, call: ModuleCall) -> None:
        """A forward inside another one, or inside a backward, belongs to it."""
        if any(each.activity in _WHOLE for each in self._running):
            return
        if call.grad_enabled:
            self._forward(call)
        else:
            self._begin("no-grad forward" if call.module.training else "evaluation", call)

    def _forward(self, call: ModuleCall) -> None:
        """A module without parameters that is called after one that learns computes the loss."""
        if self._between == "loss" and not has_parameters(call.module):
            self._begin("loss", call)
            return
        self._now.first = self._now.first or call.module
        if call.module is self._now.first:
            with self._guard.looking():
                self._now.given.append(_extent((*call.args, *call.kwargs.values()), 2))
        self._begin("forward", call)

    def _left(self, call: ModuleCall) -> None:
        if self._end(call) and call.grad_enabled:
            self._between = "loss"

    def _backward_began(self, call: BackwardCall) -> None:
        self._begin("backward", call)

    def _backward_ended(self, call: BackwardCall) -> None:
        self._end(call)

    def _clipping_began(self, call: ClipCall) -> None:
        self._begin("clipping", call)

    def _clipping_ended(self, call: ClipCall) -> None:
        self._end(call)

    def _step_began(self, call: StepCall) -> None:
        self._begin("optimizer", call.optimizer)

    def _closure_began(self, call: StepCall) -> None:
        self._begin("rest", call)

    def _closure_ended(self, call: StepCall) -> None:
        self._end(call)

    def _step_ended(self, call: StepCall) -> None:
        self._end(call.optimizer)
        self._end_iteration((place(), id(call.optimizer)))

    def _step_counted(self, call: StepCall) -> None:
        """By now it is known how closely the next one is looked at."""
        self._begin_anew()

    def _backward_over(self, course: Course) -> None:
        if course.by_hand and self._hand_steps.are_told and course.steps > self._steps:
            self._steps = course.steps
            self._end_iteration((None, 0))
            self._begin_anew()

    def _begin_anew(self) -> None:
        if self._ended is not None:
            ended, self._ended = self._ended, None
            self._now = self._new_iteration(waits=not ended.waits)
            self._count(ended)
            self._tell(ended)
            self.over.tell(ended)

    def _turned(self, detail: Detail) -> None:
        if self._ended is None:
            self._now.recorded |= detail.full

    def _clearing_began(self, call: ClearCall) -> None:
        self._begin("zeroing", call)

    def _clearing_ended(self, call: ClearCall) -> None:
        self._end(call)

    def _transfer_began(self, call: MoveCall) -> None:
        self._begin("synchronisation" if call.waits else "transfer", call)

    def _transfer_ended(self, call: MoveCall) -> None:
        self._end(call)

    def _saving_began(self, call: SaveCall) -> None:
        self._begin("checkpoint", call)

    def _saving_ended(self, call: SaveCall) -> None:
        self._end(call)

    def _waiting_began(self, wait: Wait) -> None:
        self._begin("synchronisation", wait)

    def _waiting_ended(self, wait: Wait) -> None:
        self._end(wait)

    # ----------------------------------------------------------------------------------------------------- the clock

    def _begin(self, activity: Activity, of: object) -> None:
        if get_ident() != self._thread:
            return
        self._credit()
        if activity not in _WITHIN_LOSS:
            self._now.add("loss" if activity == "backward" else "rest", None, self._since_forward)
            self._since_forward, self._between = 0.0, "rest"
        where = place()
        self._running.append(_Running(activity, of, where))
        self._now.times[activity, where] += 1

    def _end(self, of: object) -> bool:
        """Whether it had begun."""
        at = next((at for at, each in enumerate(self._running) if each.of is of), None)
        if at is None or get_ident() != self._thread:
            return False
        self._credit()
        del self._running[at:]
        return True

    def _credit(self) -> None:
        now = self.seconds()
        if self._last is not None:
            self._spent(now - self._last)
        self._last = now

    def _spent(self, seconds: float) -> None:
        """What comes after a forward computes the loss if a backward comes next, and is known by then."""
        if self._running:
            self._now.add(self._running[-1].activity, self._running[-1].where, seconds)
        elif self._between == "loss":
            self._since_forward += seconds
        else:
            self._now.add(self._between, None, seconds)

    def _end_iteration(self, step: tuple[Place | None, int]) -> None:
        self._now.recorded |= self._detail.full
        if self._ends_with is not None and step != self._ends_with:
            self._others[step] += 1
            if self._others[step] <= _MOST_STEPS:
                return
        is_first, self._ends_with = step != self._ends_with, step
        self._others.clear()
        if is_first or not self._now.split:  # the whole is over when all is done
            self._clock.counting(wait_for_accelerator)
            self._credit()
        if is_first:
            self._now = self._new_iteration(waits=True)
        else:
            self._ended = self._now

    def _new_iteration(self, *, waits: bool) -> Iteration:
        is_remote = accelerator_in_use() is not None
        if is_remote:
            self._listen_to_transfers()
        return Iteration(waits and is_remote, waits or not is_remote, recorded=self._detail.full)

    def _listen_to_transfers(self) -> None:
        """Programs without another device have no need of it."""
        self.listen(self._site.signals.moves.began, self._transfer_began, bare=True)
        self.listen(self._site.signals.moves.ended, self._transfer_ended, bare=True)

    def _count(self, ended: Iteration) -> None:
        self.count += 1
        self._done.update(ended.activities)
        ended.usual = frozenset(activity for activity, times in self._done.items() if 2 * times > self.count)

    def _tell(self, ended: Iteration) -> None:
        if self._told >= _MOST_TOLD:
            return
        self._told += 1
        batches = ended.drawn or ended.given
        self.emit(
            IterationTimed(
                step=self._course.steps,
                seconds=ended.seconds,
                spent=[
                    Spent(activity, seconds, locate(where), ended.times[activity, where])
                    for (activity, where), seconds in ended.spent.items()
                ],
                samples=sum(samples for samples, _ in batches),
                tokens=sum(tokens for _, tokens in batches),
                waited=ended.waits,
                recorded=ended.recorded,
                starts=ended.starts,
            )
        )


def _extent(batch: Any, dimensions: int) -> tuple[int, int]:
    """How many samples there are in the first tensor of a batch with so many dimensions, and how many whole numbers in
    rows."""
    first = next((tensor for tensor in tensors_in(batch, EVERYTHING) if tensor.dim() >= dimensions), None)
    if first is None:
        return 0, 0
    is_text = first.dim() == 2 and first.dtype in (torch.int64, torch.int32)
    return first.shape[0], first.numel() if is_text else 0
