"""Parameters that are rounded to fewer bits between the steps: how much is left of what the steps have changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch.optim import Optimizer

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import UpdatesRounded
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.low_precision import is_low
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.spread import copies, spread
from autograd_doctor.reading.subclasses import storage_address
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation, written_by
from autograd_doctor.signals.optimizers import StepCall

_LOWER = (torch.bfloat16, torch.float16)
_FEWEST = 16
"""Values that rounding has changed: fewer may have been rounded so by chance, where that is drawn."""
_MOST_TOLD = 16
"""Times that it is told of each optimizer."""


class _Left(NamedTuple):
    """Some values of a parameter, before a step and after it."""

    parameter: torch.Tensor
    before: torch.Tensor
    after: torch.Tensor


class _Counted(NamedTuple):
    """Of the values that a step finds: those that the last one had moved; of these, those that are as they were before
    it, and those that have ever been others. Of all, those that are not as it left them, and those that are not so when
    rounded to each of the smaller dtypes."""

    moved: int
    back: int
    arrived: int
    others: int
    unlike: tuple[int, ...]

    @classmethod
    def of(cls, row: Sequence[int]) -> _Counted:
        moved, back, arrived, others, *unlike = row
        return cls(moved, back, arrived, others, tuple(unlike))

    @property
    def dtype(self) -> torch.dtype | None:
        """To which all were rounded."""
        alike = (dtype for dtype, unlike in zip(_LOWER, self.unlike, strict=True) if not unlike)
        return next(alike, None) if self.moved and self.others >= _FEWEST else None


class RoundedWeights(Instrument):
    """Compares what a step finds with what the step before it has left, where no step went by unseen.

    A parameter that was once found as a step had left it is not looked at again. When one was rounded, operations are
    listened to, so that the line is known from the next time on.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (UpdatesRounded,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        late_values: LateValues,
        parameters: Parameters,
        optimizers: Optimizers,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._late_values = late_values
        self._parameters = parameters
        self._optimizers = optimizers
        self._operations = site.signals.operations
        self._before: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = {}
        self._left: dict[int, list[_Left]] = {}
        self._followed: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        """Some values of a parameter when it was compared first, and which of them have been others since."""
        self._spared: set[int] = set()
        self._rounded: set[int] = set()
        self._told: Counter[int] = Counter()
        self._addresses: dict[int, int] = {}
        """Parameters that were rounded before, by where their storages lie until the next step begins."""
        self._written: dict[int, Place | None] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._began, attention=Attention.FULL)
        self.listen(signals.steps.ended, self._ended, attention=Attention.FULL)
        self.listen(self._detail.turned, self._turned)

    def _turned(self, detail: Detail) -> None:
        """A step that nobody looked at leaves other values."""
        self._before.clear()
        self._left.clear()

    def _began(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        if self._told[number] >= _MOST_TOLD:
            return
        pairs = [(each, now) for each in self._left.pop(number, ()) if (now := spread(each.parameter)) is not None]
        self._compare(number, [(each, now) for each, now in pairs if now.shape == each.after.shape])
        some = [(p, values) for p in self._candidates(call.optimizer) if (values := spread(p)) is not None]
        before = copies([values for _, values in some])
        self._before[number] = [(parameter, copy) for (parameter, _), copy in zip(some, before, strict=True)]

    def _candidates(self, optimizer: Optimizer) -> list[torch.Tensor]:
        with_gradient = (p for p in parameters_of(optimizer) if p.grad is not None)
        high = (p for p in with_gradient if p.is_floating_point() and not is_low(p))
        return [parameter for parameter in high if self._parameters.number(parameter) not in self._spared]

    def _ended(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        some = [(p, old, new) for p, old in self._before.pop(number, ()) if (new := spread(p)) is not None]
        both = [(p, old, new) for p, old, new in some if new.shape == old.shape]
        after = copies([new for *_, new in both])
        self._left[number] = [_Left(p, old, copy) for (p, old, _), copy in zip(both, after, strict=True)]
        numbers = ((self._parameters.number(parameter), parameter) for parameter, *_ in both)
        self._addresses |= {storage_address(p): each for each, p in numbers if each in self._rounded}

    def _compare(self, optimizer: int, pairs: list[tuple[_Left, torch.Tensor]]) -> None:
        """pairs: what the last step has left, and what this one finds."""
        numbers = [self._parameters.number(left.parameter) for left, _ in pairs]
        counts = [self._counts(number, left, now) for number, (left, now) in zip(numbers, pairs, strict=True)]
        written, self._written, self._addresses = self._written, {}, {}
        step = self._course.steps

        def known(values: Sequence[Any]) -> None:
            found = {number: _Counted.of(row.tolist()) for number, row in zip(numbers, values, strict=True)}
            for number in [number for number, counted in found.items() if counted.moved and counted.dtype is None]:
                self._spared.add(number)
                self._followed.pop(number, None)
            self._tell(step, optimizer, {n: counted for n, counted in found.items() if counted.dtype}, written)

        self._late_values.ask(self, counts, known)

    def _counts(self, number: int, left: _Left, now: torch.Tensor) -> torch.Tensor:
        moved = left.after != left.before
        first, arrived = self._followed.get(number, (now.clone(), torch.zeros_like(moved)))
        if first.shape == now.shape:
            arrived = arrived | (now != first)
            self._followed[number] = first, arrived
        lower = (left.after.to(dtype).to(now.dtype) for dtype in _LOWER)
        counted = [moved, moved & (now == left.before), moved & arrived, now != left.after, *(now != e for e in lower)]
        return torch.stack([each.sum() for each in counted])

    def _tell(self, step: int, optimizer: int, rounded: dict[int, _Counted], written: dict[int, Place | None]) -> None:
        if not rounded:
            return
        self._told[optimizer] += 1
        if not self._rounded:
            self.listen(self._operations.began, self._operation_began, attention=Attention.FULL)
        self._rounded |= rounded.keys()
        dtypes = Counter(counted.dtype for counted in rounded.values())
        self.emit(
            UpdatesRounded(
                step=step,
                optimizer=optimizer,
                back={number: counted.back / counted.moved for number, counted in rounded.items()},
                arrived={number: counted.arrived / counted.moved for number, counted in rounded.items()},
                dtype=str(dtypes.most_common(1)[0][0]).removeprefix("torch."),
                location=next((locate(written[number]) for number in rounded if number in written), None),
            )
        )

    def _operation_began(self, operation: Operation) -> None:
        """Before it runs, because assigning to `.data` changes the address by which a parameter is known."""
        target = written_by(operation)
        number = None if target is None else self._addresses.get(storage_address(target))
        if number is not None:
            self._written[number] = operation.place
