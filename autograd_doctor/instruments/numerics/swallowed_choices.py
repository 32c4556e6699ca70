"""Terms of a loss that a mask holds constant: a choice takes what was filled in, and a hinge swallows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import ChoiceSwallowed
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.looks import Looks
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Op, Value, behind, numbers_in, terms_behind

_CHOOSES = frozenset({"amax", "amin", "kthvalue", "logsumexp", "max", "min", "sort", "topk"})
_SWALLOWS = frozenset({
    "clamp", "clamp_max", "clamp_min", "exp", "hardtanh", "hinge_embedding_loss", "logsigmoid", "margin_ranking_loss",
    "max", "maximum", "min", "minimum", "relu", "relu6", "sigmoid", "softplus", "tanh", "threshold",
})  # fmt: skip
"""What makes a finite number of an infinite one, or a small one of a large one, on one side at least."""
_FILLS = frozenset({"__setitem__", "add", "fill", "fill_diagonal", "index_fill", "masked_fill", "mul", "sub", "where"})
_LARGE = 1e4
"""A finite number that people mask with, where it is also far from all others."""
_FAR = 100
_ALIKE = 0.01
_LEAST = 4
"""Elements of a term, to say that a mask decides all."""
_TOLD = 4


class SwallowedChoices(LossQuery):
    """Looks, in steps that are looked at closely, at what is chosen from tensors that learn.

    A choice counts that takes infinities although there are finite values beside them, or numbers of one size that are
    far from the rest. Where a mask leaves nothing else, as in a batch without negatives, there is no choice. Of masks
    that were made before the step, nothing is known on an accelerator.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ChoiceSwallowed,)

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site, course, tape)
        self._fills: list[Op] = []
        self._choices: dict[Op, float] = {}
        self._swallowed: dict[Op, Op | None] = {}
        self._looks: Looks[Location | None] = Looks()
        self._told: Counter[Location | None] = Counter()
        self._ended: set[Location | None] = set()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._recorded, names=_CHOOSES | _SWALLOWS | _FILLS)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._looks.step_taken()
        self._fills.clear()
        self._choices.clear()
        self._swallowed.clear()

    def _recorded(self, op: Op) -> None:
        if op.name in _FILLS:
            if any(abs(number) >= _LARGE for number in op.numbers):
                self._fills.append(op)
        elif not op.output.learns:
            return
        elif op.name in _CHOOSES and len(op.values) == 1:
            value = _taken(op) if self._may_read(op) and self._looks.take(op.location) else None
            if value is not None:
                self._choices[op] = value
        elif self._choices or self._told[op.location]:
            self._swallowed[op] = self._choice_in(op) if _is_swallowed(op) else None

    def _may_read(self, op: Op) -> bool:
        """On an accelerator, where reading waits, only after the step has filled something in."""
        given = tensor_of(op.values[0])
        return given is not None and (bool(self._fills) or not is_remote(given))

    def _choice_in(self, op: Op) -> Op | None:
        return next((each for each in reversed(behind(op.live)) if each in self._choices), None)

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        lines: dict[Location | None, list[Op]] = {}
        for op in terms_behind(roots) if self._swallowed else ():
            if op in self._swallowed and op.location not in self._ended:
                lines.setdefault(op.location, []).append(op)
        for location, ops in lines.items():
            choices = [choice for op in ops if (choice := self._swallowed[op]) is not None]
            if len(choices) < len(ops):
                self._ended.add(location)
                if self._told[location]:
                    self._emit(ops[0], None)
            elif self._told[location] < _TOLD:
                self._told[location] += 1
                self._emit(ops[0], choices[0])

    def _emit(self, op: Op, choice: Op | None) -> None:
        value = self._choices[choice] if choice is not None else 0.0
        self.emit(
            ChoiceSwallowed(
                step=self._course.steps,
                location=op.location,
                operation=op.called,
                chosen_by=choice.called if choice is not None else "",
                chosen_at=choice.location if choice is not None else None,
                written_at=self._written_at(choice, abs(value)) if choice is not None else None,
                value=value if abs(value) < float("inf") else None,
                elements=op.live[0].count,
                parameters=numbers_in(op.live[0].connected),
                swallowed=choice is not None,
            )
        )

    def _written_at(self, choice: Op, size: float) -> Location | None:
        """Where that was filled in: on the way to the choice or, in a part of what is chosen from, last before it."""
        alike = [op for op in self._fills if op.number < choice.number and _has(op, size)]
        way = set(behind(choice.values))
        return next((op.location for op in reversed(alike) if op in way), alike[-1].location if alike else None)


def _has(op: Op, size: float) -> bool:
    return any(abs(number) == size or abs(abs(number) - size) <= _ALIKE * size for number in op.numbers)


def _taken(op: Op) -> float | None:
    """What a choice took that is infinite, or large and far from all others; None where it did not, or had to."""
    given, chosen = tensor_of(op.values[0]), tensor_of(op.output)
    if given is None or chosen is None or not (readable(given) and readable(chosen)) or not chosen.numel():
        return None
    low, high = torch.stack(torch.aminmax(chosen.detach().float())).tolist()
    value = float(high if abs(high) > abs(low) else low)
    if not abs(value) >= _LARGE:
        return None
    sizes = given.detach().abs()
    others = int((sizes < abs(value) / _FAR).sum() if abs(value) < float("inf") else sizes.isfinite().sum())
    filled = int((sizes >= abs(value) * (1 - _ALIKE)).sum())
    return value if others + filled == sizes.numel() and 2 * others >= chosen.numel() else None


def _is_swallowed(op: Op) -> bool:
    """Whether all elements of what goes in are at one extreme, and what comes out is one number that is not."""
    given, result = tensor_of(op.live[0]) if op.live else None, tensor_of(op.output)
    if given is None or result is None or not (readable(given) and readable(result)) or given.numel() < _LEAST:
        return False
    spans = [torch.stack(torch.aminmax(each.detach().float())) for each in (given, result)]
    low, high, least, most = torch.cat(spans).tolist()
    is_extreme = low == high if abs(low) == float("inf") else high - low <= _ALIKE * abs(low)
    return bool(is_extreme and abs(low) >= _LARGE and least == most and abs(most) < abs(low) / _FAR)
