"""Metrics that schedules follow (`ReduceLROnPlateau`) or frameworks choose by, beside the losses and evaluations that
came before each."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from autograd_doctor.events.cycle import MetricFollowed
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.cycle.schedulers import optimizer_of
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_losses import KnownLoss, LateLosses
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import CATALOGUE, CONSTANTS, EQUALITIES
from autograd_doctor.reading.numbers import IdentityTable, Numbers
from autograd_doctor.reading.optimizer_groups import rates_at_hand
from autograd_doctor.reading.places import Place, locate, place, stack
from autograd_doctor.reading.spelling import spelt
from autograd_doctor.reading.tensor_facts import is_single, number_of
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.choosers import Choice, Predicted
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.schedulers import ScheduleCall

_SCHEDULE = "ReduceLROnPlateau"
_MOST = 64
"""Metrics of one follower: which way they go shows long before."""
_MOST_PREDICTED = 2**26
"""Scores of a whole set: more are not searched once more for the highest of each sample."""
_NO_LABEL = -100
"""What Transformers and torch leave out."""


@dataclass(eq=False)
class _Followed:
    """What one follower was given so far. before: what had gone backward by then."""

    name: str
    optimizer: int | None
    place: Place | None
    mode: str
    kind: str = _SCHEDULE
    argument: str = "mode"
    monitor: str = ""
    given: int = 0
    before: _Losses = field(default_factory=lambda: _Losses())
    refused: int = 0
    metrics: list[float] = field(default_factory=list)
    rates: list[float | None] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    losses: list[float | None] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    equal: list[list[tuple[int, int]]] = field(default_factory=list)
    evaluated: list[list[tuple[float, float, float]]] = field(default_factory=list)
    sizes: list[list[int]] = field(default_factory=list)


@dataclass(slots=True)
class _Losses:
    """Those that went backward: their sum, how many they are, and how many backwards were read or ran at all."""

    total: float = 0.0
    count: int = 0
    read: int = 0
    ran: int = 0

    def mean_since(self, before: _Losses) -> float | None:
        """None where not all were read."""
        count = self.count - before.count
        are_all = self.read - before.read == self.ran - before.ran
        return (self.total - before.total) / count if count and are_all else None


class _Equal(NamedTuple):
    """What a line has found equal, and of how many; whether one side is known to come from a model."""

    equal: torch.Tensor
    compared: int
    of_model: bool


@dataclass(slots=True)
class _Evaluated:
    """The results of a loss at one line, added up where they lie: as they are, and by rows."""

    total: torch.Tensor
    by_rows: torch.Tensor
    results: int
    rows: int
    of_model: bool

    def means(self, total: float, by_rows: float) -> tuple[float, float, float]:
        """Of the results, of sums over rows, and of means over rows."""
        return total / self.results, total / self.rows, by_rows / self.rows


@dataclass(slots=True)
class _Evaluation:
    """What was computed after so many steps: an evaluation, or several in a row."""

    after: int
    rows: int = 0
    equal: dict[Place | None, _Equal] = field(default_factory=dict)
    losses: dict[Place | None, _Evaluated] = field(default_factory=dict)


class Plateaus(Instrument):
    """Counts the losses of steps, and of each evaluation the rows that models take in without gradients, what is found
    equal, and the losses, for who is given a metric afterwards."""

    emits: ClassVar[tuple[type[Event], ...]] = (MetricFollowed,)

    def __init__(
        self,
        site: Site,
        course: Course,
        module_calls: ModuleCalls,
        optimizers: Optimizers,
        late_values: LateValues,
        late_losses: LateLosses,
        lineage: Lineage,
        tensors: Tensors,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._late_losses = late_losses
        self._module_calls = module_calls
        self._optimizers = optimizers
        self._lineage = lineage
        self._tensors = tensors
        self._numbers = Numbers()
        self._made: IdentityTable[Place | None] = IdentityTable()
        self._followed: dict[int, _Followed] = {}
        self._losses = _Losses()
        self._newest = _Evaluation(0)

    def connect(self, signals: Signals) -> None:
        self.listen(self._late_losses.known, self._loss_known)
        self.listen(self._module_calls.root_began, self._root_began)
        self.listen(signals.operations.ended, self._compared, attention=Attention.FULL, names=EQUALITIES)
        self.listen(signals.operations.ended, self._loss_computed, attention=Attention.FULL, names=frozenset(CATALOGUE))
        self.listen(signals.schedulers.ended, self._ended)
        self.listen(signals.choosers.made, self._chooser_made)
        self.listen(signals.choosers.predicted, self._predicted)
        self.listen(signals.choosers.chose, self._chose)

    def finish(self) -> None:
        for number, followed in self._followed.items():
            self.emit(
                MetricFollowed(
                    step=self._course.steps,
                    scheduler=number,
                    name=followed.name,
                    optimizer=followed.optimizer,
                    location=locate(followed.place),
                    kind=followed.kind,
                    argument=followed.argument,
                    monitor=followed.monitor,
                    refused=followed.refused,
                    mode=followed.mode,
                    at=followed.at,
                    metrics=followed.metrics,
                    learning_rates=followed.rates,
                    losses=followed.losses,
                    rows=followed.rows,
                    equal=followed.equal,
                    evaluated=followed.evaluated,
                    sizes=followed.sizes,
                )
            )

    def _loss_known(self, loss: KnownLoss) -> None:
        self._losses.read += loss.kind != "transform"
        if loss.kind != "grad" and math.isfinite(loss.value):
            self._losses.total += loss.value
            self._losses.count += 1

    @property
    def _evaluation(self) -> _Evaluation:
        """The present one: another has begun if steps were taken since."""
        if self._newest.after != self._course.steps:
            self._newest = _Evaluation(self._course.steps)
        return self._newest

    def _root_began(self, began: RootBegan) -> None:
        if not began.call.grad_enabled and began.given and began.given[0].dim():
            if not self._evaluation.rows:  # what was compared before is of training
                self._newest = _Evaluation(self._course.steps)
            self._newest.rows += began.given[0].shape[0]

    def _compared(self, operation: Operation) -> None:
        """Count on the device of the answers, which nobody waits for before somebody is given a metric."""
        answers, compared = operation.result, tensors_in(operation.args)
        if len(compared) < 2 or not is_a(answers, torch.Tensor) or self._is_of_one_class(compared):
            return
        of_model = self._of_model(compared)
        if not all(of_model):
            equal = (answers if spelt(operation.name).name == "eq" else ~answers).sum()
            self._count_equal(operation.place, equal, answers.numel(), of_model=any(of_model))

    def _is_of_one_class(self, compared: Sequence[torch.Tensor]) -> bool:
        """Whether one of these holds the same value for all."""
        made, sizes = [self._tensors.get(each) for each in compared], [each.numel() for each in compared]
        return min(sizes) == 1 < max(sizes) or any(each is not None and each.operation in CONSTANTS for each in made)

    def _of_model(self, compared: Sequence[torch.Tensor]) -> list[bool]:
        """Which of these are known to be what a model says: two of them may be meant to differ."""
        made = [self._tensors.get(each) for each in compared]
        return [each is not None and each.values != 0 for each in made]

    def _count_equal(self, where: Place | None, equal: torch.Tensor, compared: int, *, of_model: bool) -> None:
        known = self._evaluation.equal
        before = known.get(where)
        if before is not None:
            equal, compared, of_model = before.equal + equal, before.compared + compared, before.of_model and of_model
        known[where] = _Equal(equal, compared, of_model)

    def _predicted(self, predicted: Predicted) -> None:
        """Of what a framework has gathered as arrays: how many labels have the highest score."""
        array = getattr(sys.modules.get("numpy"), "ndarray", None)
        first = next((each for each in _parts(predicted.predictions) if type(each) is array), None)
        labels = predicted.labels
        if first is None or type(labels) is not array or labels.dtype.kind != "i" or first.size > _MOST_PREDICTED:
            return
        answers = first.argmax(-1) if first.ndim == labels.ndim + 1 else first
        if answers.shape == labels.shape and answers.dtype.kind == "i":
            counted = labels != _NO_LABEL
            equal = torch.tensor(int(((answers == labels) & counted).sum()), device="cpu")
            self._count_equal(place(), equal, int(counted.sum()), of_model=True)

    def _loss_computed(self, operation: Operation) -> None:
        """Of an evaluation: nothing is trained on it."""
        loss, given = operation.result, tensors_in(operation.args)
        if operation.grad_enabled or not given or not given[0].dim() or not given[0].shape[0] or not loss.numel():
            return
        of_model = self._of_model(given[:2])
        if len(given) > 1 and all(of_model):
            return
        total, rows = loss.sum(), given[0].shape[0]
        losses = self._evaluation.losses
        known = losses.get(operation.place)
        if known is None:
            losses[operation.place] = _Evaluated(total, total * rows, loss.numel(), rows, any(of_model))
        else:
            known.total, known.by_rows = known.total + total, known.by_rows + total * rows
            known.results, known.rows = known.results + loss.numel(), known.rows + rows
            known.of_model &= any(of_model)

    # ---------------------------------------------------------------------------------------------------- followers

    def _ended(self, call: ScheduleCall) -> None:
        if call.raised or not is_a(call.scheduler, ReduceLROnPlateau):
            return
        optimizer = optimizer_of(call.scheduler)
        rate = next(iter(rates_at_hand(optimizer)), None) if optimizer is not None else None
        number = self._numbers.number(call.scheduler)
        followed = self._followed.get(number) or self._followed.setdefault(number, self._met(call.scheduler))
        self._give(followed, call.metric, rate)

    def _chooser_made(self, told: object) -> None:
        """By the line that gives the arguments; that of a data class runs code which is made of text."""
        lines = [each for each in stack() if not each[0].co_filename.startswith("<")]
        self._made.put(told, lines[-1] if lines else place())

    def _chose(self, choice: Choice) -> None:
        number = self._numbers.number(choice.chooser)
        followed = self._followed.get(number)
        if followed is None:
            where = self._made.get(choice.told) or place()
            name = variable_name(choice.chooser)
            followed = _Followed(name, None, where, choice.mode, choice.kind, choice.argument, choice.monitor)
            self._followed[number] = followed
        followed.refused += choice.refused
        self._give(followed, choice.metric, None)

    def _give(self, followed: _Followed, given: object, rate: float | None) -> None:
        """The metric and the losses before it may still lie on an accelerator."""
        metric = _number(given)
        if not metric or followed.given == _MOST:
            return
        followed.given += 1
        evaluation, at, ran = self._newest, self._course.steps, self._course.backwards
        chooses, rows = followed.kind != _SCHEDULE, evaluation.rows
        equal = [each for each in evaluation.equal.values() if each.of_model or not chooses]
        losses = [copy(each) for each in evaluation.losses.values() if each.of_model or not chooses]
        sums = [each.total for each in losses] + [each.by_rows for each in losses]

        def known(values: Sequence[float]) -> None:
            found, totals, by_rows = _parted(values[1:], len(equal), len(losses))
            followed.metrics.append(float(values[0]))
            followed.rates.append(rate)
            followed.at.append(at)
            losses_now = replace(self._losses, ran=ran)
            followed.losses.append(losses_now.mean_since(followed.before))
            followed.before = losses_now
            followed.rows.append(rows)
            followed.equal.append([(int(count), each.compared) for count, each in zip(found, equal, strict=True)])
            followed.evaluated.append([each.means(*two) for each, *two in zip(losses, totals, by_rows, strict=True)])
            followed.sizes.append([each.rows for each in losses])

        self._late_values.ask(self, [*metric, *(each.equal for each in equal), *sums], known)

    def _met(self, scheduler: LRScheduler) -> _Followed:
        optimizer = optimizer_of(scheduler)
        number = self._optimizers.number(optimizer) if optimizer is not None else None
        mode = attributes(scheduler).get("mode")
        return _Followed(variable_name(scheduler), number, place(), "max" if mode == "max" else "min")


def _parts(value: Any) -> Sequence[Any]:
    return value if type(value) is tuple else (value,)


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
