"""Parts of gradients that the program sets to 0, and whether the step leaves the values there as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import torch
from torch.optim import Optimizer

from autograd_doctor.events.connectivity import MaskedValuesMoved
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.leaf_hooks import is_hooked
from autograd_doctor.reading.low_precision import is_low
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.spread import copies, spread
from autograd_doctor.reading.subclasses import gradient_of, storage_address
from autograd_doctor.reading.tensor_facts import is_remote
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.clipping import ClipCall
from autograd_doctor.signals.operations import Operation, written_by
from autograd_doctor.signals.optimizers import StepCall
from autograd_doctor.signals.scalers import ScalerCall

_MOST_TOLD = 16
"""Steps of each optimizer."""
_SAME_SHARE, _ROUNDING = 1e-3, 5e-7
"""By how much shares may differ that decay has taken off values: of the largest, and by two roundings to float32."""


@dataclass(eq=False, slots=True)
class _Masked:
    """Some values of a parameter around a step.

    here: those whose gradient the program had set to 0. lifted: those that were so in an earlier step, and have one.
    moved: the former, as far as the newest backward found them where the step had put them.
    """

    number: int
    parameter: torch.Tensor
    here: torch.Tensor
    lifted: torch.Tensor
    before: torch.Tensor
    after: torch.Tensor | None = None
    moved: torch.Tensor | None = None

    def meet(self) -> None:
        """A backward begins: what it finds."""
        now = spread(self.parameter)
        if now is not None and self.after is not None and now.shape == self.after.shape:
            self.moved = self.here & (self.after != self.before) & (now == self.after)

    def counted(self) -> torch.Tensor:
        """How many values were masked, moved, and lifted; whether decay may be what has moved them."""
        moved = torch.zeros_like(self.here) if self.moved is None else self.moved
        after = self.before if self.after is None else self.after
        shares = torch.where(moved, (self.before - after) / self.before, torch.nan)
        most, least = shares.nan_to_num(-torch.inf).amax(), shares.nan_to_num(torch.inf).amin()
        is_decay = (least > 0) & (most - least <= _SAME_SHARE * most + _ROUNDING)
        return torch.stack([self.here.sum(), moved.sum(), self.lifted.sum(), is_decay])


class _Stepped(NamedTuple):
    """What a step did to what was masked. written: the place of the newest write to such a gradient."""

    step: int
    masked: list[_Masked]
    written: Place | None


class MaskedGradients(Instrument):
    """Compares gradients that a backward left with those that the step finds, where a part of them was set to 0.

    What clipping and scalers do is no mask. Whether values stay where a step has put them is told by the last backward
    before the next step: the program may apply its mask to the parameters, too. Once a mask was seen, parameters are
    copied around the steps, and operations are listened to, so that the line is known.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (MaskedValuesMoved,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        late_values: LateValues,
        parameters: Parameters,
        optimizers: Optimizers,
        ledger: Ledger,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._late_values = late_values
        self._parameters = parameters
        self._optimizers = optimizers
        self._ledger = ledger
        self._signals = site.signals
        self._guard = site.signals.guard
        self._handles: list[Any] = []
        self._given: dict[int, torch.Tensor] = {}
        """Some values of the gradients that come to parameters with hooks in the backward that is running."""
        self._left: dict[int, torch.Tensor] = {}
        """Some values of each gradient, as the newest backward, clipping or unscaling has left it."""
        self._zeroed: dict[int, torch.Tensor] = {}
        """Which of them were set to 0 since that backward."""
        self._ever: dict[int, torch.Tensor] = {}
        """Which were so in any step."""
        self._suspects: set[int] = set()
        self._stepping: dict[int, list[_Masked]] = {}
        self._stepped: dict[int, _Stepped] = {}
        self._told: Counter[int] = Counter()
        self._addresses: set[int] = set()
        """Where gradients lie of parameters that were masked before."""
        self._written: Place | None = None

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.LIGHT)
        self.listen(signals.clipping.began, self._clipping_began, attention=Attention.FULL)
        self.listen(signals.clipping.ended, self._clipping_ended, attention=Attention.FULL)
        self.listen(signals.scalers.began, self._scaler_began, attention=Attention.FULL)
        self.listen(signals.scalers.ended, self._scaler_ended, attention=Attention.FULL)
        self.listen(signals.steps.began, self._began, attention=Attention.FULL)
        self.listen(signals.steps.ended, self._ended, attention=Attention.FULL)
        self.listen(self._detail.turned, self._turned)

    def _turned(self, detail: Detail) -> None:
        """What is done to gradients in a light step is not seen."""
        self._left.clear()
        self._zeroed.clear()
        self._stepping.clear()

    def _backward_began(self, call: BackwardCall) -> None:
        """Hooks on parameters may set gradients to 0 before they are written: what comes to these is looked at."""
        walk = self._ledger.walk
        if walk is None:
            return
        for key, leaf in walk.leaves.items():
            number, senders = self._parameters.get(leaf), walk.consumers.get(key, ())
            if number is not None and self._optimizers.holds(number) and is_hooked(leaf) and len(senders) == 1:
                ((sender, position),) = senders
                look = partial(self._sent, number, position)
                self._handles.append(walk.nodes[sender].register_hook(look))

    def _sent(self, number: int, position: int, gradients: Sequence[Any], _: Sequence[Any]) -> None:
        """A node has given a gradient to a parameter."""
        gradient = gradients[position]
        if gradient is not None:
            with self._guard.looking():
                values = spread(gradient)
                if values is not None:
                    self._given[number] = values.clone()

    def _backward_ended(self, call: BackwardCall) -> None:
        self._let_go()
        given, self._given = self._given, {}
        self._zeroed.clear()
        self._written = None
        self._left = {}
        if self._guard.attention >= Attention.FULL:
            self._copy_gradients()
        for number, left in list(self._left.items()):
            before = given.get(number)
            if before is not None and before.shape == left.shape:
                self._left[number] = torch.where(left == 0, before, left)

    def _let_go(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def detach(self) -> None:
        self._let_go()
        super().detach()

    def _clipping_began(self, call: ClipCall) -> None:
        if self._left:
            self._note_zeros()

    def _clipping_ended(self, call: ClipCall) -> None:
        if self._left:
            self._copy_gradients()

    def _scaler_began(self, call: ScalerCall) -> None:
        if call.name == "unscale_" and self._left:
            self._note_zeros()

    def _scaler_ended(self, call: ScalerCall) -> None:
        if call.name == "unscale_" and self._left:
            self._copy_gradients()

    def _gradients(self) -> dict[int, torch.Tensor]:
        """Some values of each, of parameters that an optimizer holds. Of those of 16 bits, scaling makes zeros, too."""
        held = ((number, each) for number, each in self._parameters.living() if self._optimizers.holds(number))
        gradients = ((number, gradient) for number, each in held if (gradient := gradient_of(each)) is not None)
        high = ((number, gradient) for number, gradient in gradients if not is_low(gradient))
        return {number: values for number, gradient in high if (values := spread(gradient)) is not None}

    def _copy_gradients(self) -> None:
        now = self._gradients()
        self._left = dict(zip(now, copies(list(now.values())), strict=True))
        self._addresses = {storage_address(values) for number, values in now.items() if number in self._suspects}

    def _note_zeros(self) -> dict[int, torch.Tensor]:
        """What the gradients are now, and which of their values the program has set to 0."""
        gradients = self._gradients()
        known = ((number, self._left.get(number), now) for number, now in gradients.items())
        pairs = [(number, left, now) for number, left, now in known if left is not None and left.shape == now.shape]
        if not (self._zeroed or _may_be_zeroed([left for _, left, _ in pairs], [now for *_, now in pairs])):
            return gradients
        for number, left, now in pairs:
            before, was_some = self._zeroed.get(number), left.isfinite() & (left != 0)
            self._zeroed[number] = (was_some if before is None else before | was_some) & (now == 0)
        return gradients

    def _began(self, call: StepCall) -> None:
        optimizer = self._optimizers.known(call.optimizer)
        if call.closure or self._told[optimizer] >= _MOST_TOLD or not self._left or not _is_torchs(call.optimizer):
            return
        gradients = self._note_zeros()
        mine = {self._parameters.number(each): each for each in parameters_of(call.optimizer)}
        numbers = [each for each in gradients if each in mine and (each in self._zeroed or each in self._suspects)]
        here = [self._masked_in(number, gradients[number]) for number in numbers]
        self._look_for_masks(numbers, here)
        # Where an accelerator would have to be waited for, those of this step become known later.
        masked = [(number, each) for number, each in zip(numbers, here, strict=True) if number in self._suspects]
        some = [(number, each, values) for number, each in masked if (values := spread(mine[number])) is not None]
        before = copies([values for *_, values in some])
        self._stepping[optimizer] = [
            _Masked(number, mine[number], each, self._lifted(number, each, gradients[number]), copy)
            for (number, each, values), copy in zip(some, before, strict=True)
            if values.shape == each.shape
        ]

    def _masked_in(self, number: int, gradient: torch.Tensor) -> torch.Tensor:
        zeroed = self._zeroed.get(number)
        return torch.zeros_like(gradient, dtype=torch.bool) if zeroed is None else zeroed & (gradient != 0).any()

    def _look_for_masks(self, numbers: list[int], here: list[torch.Tensor]) -> None:
        def known(values: Sequence[Any]) -> None:
            found = {number for number, is_masked in zip(numbers, values, strict=True) if is_masked}
            if found and not self._suspects:
                self.listen(self._signals.operations.began, self._operation_began, attention=Attention.FULL)
            self._suspects |= found

        self._late_values.ask(self, [each.any() for each in here], known)

    def _lifted(self, number: int, here: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        ever = self._ever.get(number)
        self._ever[number] = here if ever is None or ever.shape != here.shape else ever | here
        return self._ever[number] & (gradient != 0)

    def _ended(self, call: StepCall) -> None:
        optimizer = self._optimizers.known(call.optimizer)
        some = [
            (each, after) for each in self._stepping.pop(optimizer, ()) if (after := spread(each.parameter)) is not None
        ]
        for (masked, _), copy in zip(some, copies([after for _, after in some]), strict=True):
            masked.after = copy
        if some:
            self._stepped[optimizer] = _Stepped(self._course.steps, [masked for masked, _ in some], self._written)
            self.listen(self._signals.backward.began, self._next_backward)
            self.listen(self._signals.steps.began, self._next_began)

    def _next_backward(self, call: BackwardCall) -> None:
        for stepped in self._stepped.values():
            for masked in stepped.masked:
                masked.meet()

    def _next_began(self, call: StepCall) -> None:
        """The next step of an optimizer: what was done until now to what the last one has left is all."""
        optimizer = self._optimizers.known(call.optimizer)
        stepped = self._stepped.pop(optimizer, None)
        if not self._stepped:
            self.unlisten(self._signals.backward.began, self._next_backward)
            self.unlisten(self._signals.steps.began, self._next_began)
        if stepped is not None:
            self._tell(optimizer, stepped)

    def _tell(self, optimizer: int, stepped: _Stepped) -> None:
        met = [each for each in stepped.masked if each.moved is not None]
        numbers = [each.number for each in met]

        def known(values: Sequence[Any]) -> None:
            found = [(number, *row.tolist()) for number, row in zip(numbers, values, strict=True)]
            if not any(masked or lifted for _, masked, _, lifted, _ in found):
                return
            self._told[optimizer] += 1
            self.emit(
                MaskedValuesMoved(
                    step=stepped.step,
                    optimizer=optimizer,
                    masked={number: masked for number, masked, *_ in found if masked},
                    moved={number: moved for number, masked, moved, *_ in found if masked},
                    lifted=[number for number, *_, lifted, _ in found if lifted],
                    decayed=[number for number, *_, is_decay in found if is_decay],
                    location=locate(stepped.written),
                )
            )

        self._late_values.ask(self, [each.counted() for each in met], known)

    def _operation_began(self, operation: Operation) -> None:
        """Something is written to a gradient, or put in its place."""
        is_replaced = operation.name == "grad.__set__"
        target = operation.args[0] if is_replaced else written_by(operation)
        if target is None or self._course.running is not None:
            return
        if is_replaced:
            is_watched = self._parameters.get(target) in self._suspects
        else:
            is_watched = storage_address(target) in self._addresses
        if is_watched:
            self._written = operation.place


def _is_torchs(optimizer: Optimizer) -> bool:
    """Whether parameters move by an update rule of torch's alone: what a program adds in a `step` or a hook of its own
    is meant for what has no gradient, too."""
    return type(optimizer).__module__.startswith("torch.optim") and not optimizer._optimizer_step_post_hooks


def _may_be_zeroed(left: list[torch.Tensor], now: list[torch.Tensor]) -> bool:
    """Whether anything has become 0, in one look at all of them; where an accelerator would be waited for, it may."""
    if not now or any(map(is_remote, now)):
        return bool(now)
    return bool(((torch.cat(left) != 0) & (torch.cat(now) == 0)).any())
