"""Metrics that schedules follow (`ReduceLROnPlateau`), beside the losses and evaluations that came before each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from autograd_doctor.events.cycle import MetricFollowed
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.cycle.schedulers import optimizer_of
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_losses import LateLosses
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.operations import CATALOGUE, EQUALITIES
from autograd_doctor.reading.numbers import Numbers
from autograd_doctor.reading.optimizer_groups import rates_at_hand
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.spelling import spelt
from autograd_doctor.reading.tensor_facts import is_single, number_of
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.schedulers import ScheduleCall

_MOST = 64
"""Calls of a schedule: which way its metric goes shows long before."""


@dataclass(eq=False)
class _Followed:
    """What one schedule was given so far."""

    name: str
    optimizer: int | None
    place: Place | None
    mode: str
    metrics: list[float] = field(default_factory=list)
    rates: list[float | None] = field(default_factory=list)
    losses: list[float | None] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    equal: list[list[tuple[int, int]]] = field(default_factory=list)
    evaluated: list[list[tuple[float, float, float]]] = field(default_factory=list)


@dataclass(slots=True)
class _Evaluated:
    """The results of a loss at one line, added up where they lie: as they are, and by rows."""

    total: torch.Tensor
    by_rows: torch.Tensor
    results: int
    rows: int

    def means(self, total: float, by_rows: float) -> tuple[float, float, float]:
        """Of the results, of sums over rows, and of means over rows."""
        return total / self.results, total / self.rows, by_rows / self.rows


class Plateaus(Instrument):
    """Counts the losses of steps, the rows that models take in without gradients, what is found equal then, and the
    losses of evaluations, between calls of a schedule."""

    emits: ClassVar[tuple[type[Event], ...]] = (MetricFollowed,)

    def __init__(
        self,
        site: Site,
        course: Course,
        module_calls: ModuleCalls,
        optimizers: Optimizers,
        late_values: LateValues,
        late_losses: LateLosses,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._late_losses = late_losses
        self._module_calls = module_calls
        self._optimizers = optimizers
        self._numbers = Numbers()
        self._followed: dict[int, _Followed] = {}
        self._loss = 0.0
        self._steps = self._rows = self._began = 0
        self._equal: dict[Place | None, tuple[torch.Tensor, int]] = {}
        self._evaluated: dict[Place | None, _Evaluated] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.LIGHT)
        self.listen(self._module_calls.root_began, self._root_began)
        self.listen(signals.operations.ended, self._compared, attention=Attention.FULL, names=EQUALITIES)
        self.listen(signals.operations.ended, self._loss_computed, attention=Attention.FULL, names=frozenset(CATALOGUE))
        self.listen(signals.schedulers.ended, self._ended)

    def finish(self) -> None:
        for number, followed in self._followed.items():
            self.emit(
                MetricFollowed(
                    step=self._course.steps,
                    scheduler=number,
                    name=followed.name,
                    optimizer=followed.optimizer,
                    location=locate(followed.place),
                    mode=followed.mode,
                    metrics=followed.metrics,
                    learning_rates=followed.rates,
                    losses=followed.losses,
                    rows=followed.rows,
                    equal=followed.equal,
                    evaluated=followed.evaluated,
                )
            )

    def _step_taken(self, course: Course) -> None:
        course.when_loss_known(self, self._count)

    def _count(self, loss: float | None) -> None:
        if loss is not None:
            self._loss += loss
            self._steps += 1

    def _root_began(self, began: RootBegan) -> None:
        if not began.call.grad_enabled and began.given and began.given[0].dim():
            self._rows += began.given[0].shape[0]

    def _compared(self, operation: Operation) -> None:
        """Count on the device of the answers, which nobody waits for before the schedule is called."""
        answers = operation.result
        if len(tensors_in(operation.args)) < 2 or not is_a(answers, torch.Tensor):
            return
        equal = (answers if spelt(operation.name).name == "eq" else ~answers).sum()
        before, compared = self._equal.get(operation.place, (0, 0))
        self._equal[operation.place] = before + equal, compared + answers.numel()

    def _loss_computed(self, operation: Operation) -> None:
        """Of an evaluation: nothing is trained on it."""
        loss, given = operation.result, next(iter(tensors_in(operation.args)), None)
        if operation.grad_enabled or given is None or not given.dim() or not given.shape[0] or not loss.numel():
            return
        total, rows = loss.sum(), given.shape[0]
        known = self._evaluated.get(operation.place)
        if known is None:
            self._evaluated[operation.place] = _Evaluated(total, total * rows, loss.numel(), rows)
        else:
            known.total, known.by_rows = known.total + total, known.by_rows + total * rows
            known.results, known.rows = known.results + loss.numel(), known.rows + rows

    def _ended(self, call: ScheduleCall) -> None:
        """The metric and the losses before it may still lie on an accelerator."""
        if call.raised or not is_a(call.scheduler, ReduceLROnPlateau) or not (metric := _number(call.metric)):
            return
        counts, compared = [count for count, _ in self._equal.values()], [of for _, of in self._equal.values()]
        losses = list(self._evaluated.values())
        sums = [each.total for each in losses] + [each.by_rows for each in losses]
        steps, rows = self._course.steps - self._began, self._rows
        self._rows, self._began = 0, self._course.steps
        self._equal.clear()
        self._evaluated.clear()
        number = self._numbers.number(call.scheduler)
        followed = self._followed.get(number) or self._followed.setdefault(number, self._met(call.scheduler))
        optimizer = optimizer_of(call.scheduler)
        rate = next(iter(rates_at_hand(optimizer)), None) if optimizer is not None else None

        def known(values: Sequence[float]) -> None:
            found, totals, by_rows = _parted(values[1:], len(counts), len(losses))
            equal = [(int(count), of) for count, of in zip(found, compared, strict=True)]
            evaluated = [each.means(*two) for each, *two in zip(losses, totals, by_rows, strict=True)]
            self._follow(followed, steps, values[0], rate, rows, equal, evaluated)

        self._late_values.ask(self, [*metric, *counts, *sums], known)

    def _follow(
        self,
        followed: _Followed,
        steps: int,
        metric: float,
        rate: float | None,
        rows: int,
        equal: list[tuple[int, int]],
        evaluated: list[tuple[float, float, float]],
    ) -> None:
        """steps: how many there were since the last call, of all of which the loss must be known."""
        are_all = 0 < self._steps == steps
        loss = self._loss / self._steps if are_all and math.isfinite(self._loss) else None
        self._loss, self._steps = 0.0, 0
        if len(followed.metrics) < _MOST:
            followed.metrics.append(float(metric))
            followed.rates.append(rate)
            followed.losses.append(loss)
            followed.rows.append(rows)
            followed.equal.append(equal)
            followed.evaluated.append(evaluated)

    def _met(self, scheduler: LRScheduler) -> _Followed:
        optimizer = optimizer_of(scheduler)
        number = self._optimizers.number(optimizer) if optimizer is not None else None
        mode = attributes(scheduler).get("mode")
        return _Followed(variable_name(scheduler), number, place(), "max" if mode == "max" else "min")


def _parted(values: Sequence[float], *lengths: int) -> list[Sequence[float]]:
    """So many values, then so many of the rest, and what is left."""
    parts = []
    for length in lengths:
        parts.append(values[:length])
        values = values[length:]
    return [*parts, values]


def _number(metric: Any) -> list[torch.Tensor]:
    """The metric as a tensor of one number that nobody else writes to; nothing if it is none."""
    if is_a(metric, torch.Tensor):
        return [number_of(metric)] if is_single(metric) else []
    is_number = is_a(metric, (int, float)) or type(metric).__module__ == "numpy"
    return [torch.tensor(float(metric), dtype=torch.float64, device="cpu")] if is_number else []
