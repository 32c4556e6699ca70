"""Attention that is written out, and what the fused call would keep and take in its place."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.efficiency import AttentionTried
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.efficiency.iteration_times import Iteration, IterationTimes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import DROPOUTS
from autograd_doctor.reading.fused_attention import Attention, Compared, compared
from autograd_doctor.reading.live_values import LiveOp, tensor_of
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.signals import Signals
from autograd_doctor.tape import Op, Value
from autograd_doctor.wording import first_line

_SHORTEST = 64
"""Positions below which nobody minds the matrix."""
_MOST_LINES = 2
_MOST_BYTES = 2**28
_SECONDS = 2.0
"""For the trials of one line."""
_PRODUCTS = frozenset({"matmul", "bmm"})
_PASSES = DROPOUTS | {"to", "type_as", "float", "clone", "contiguous"}


class _Scores(NamedTuple):
    """What scores were made of, and what was done to them. weights: they were normalised. dropped: at which rate."""

    queries: torch.Tensor
    keys: torch.Tensor
    scale: float = 1.0
    mask: torch.Tensor | None = None
    weights: bool = False
    dropped: float = 0.0


class _Taken(NamedTuple):
    """To be tried, unless somebody has used the weights in another way, or keeps them. scores: what they came of."""

    attention: Attention
    scores: _Scores
    weights: weakref.ref[torch.Tensor]


class AttentionTrials(Instrument):
    """Follows products of queries and keys to a product with values, in steps that are looked at closely."""

    emits: ClassVar[tuple[type[Event], ...]] = (AttentionTried,)

    def __init__(self, site: Site, course: Course, tape: Tape, iteration_times: IterationTimes) -> None:
        super().__init__(site)
        self._course = course
        self._tape = tape
        self._iterations = iteration_times
        self._scores: dict[Value, _Scores] = {}
        self._looked_at: set[int] = set()
        """Queries whose weights were used for something else as well."""
        self._taken: dict[Place, _Taken] = {}
        self._tried: set[Place] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(self._tape.recorded, self._recorded)
        self.listen(self._iterations.over, self._over)

    # --------------------------------------------------------------------------------------------------- what it is of

    def _recorded(self, op: Op) -> None:
        if not op.values:
            return
        known = self._scores.get(op.values[0])
        if op.name in _PRODUCTS and len(op.values) == 2:
            self._multiplied(op, known)
        elif known is not None and (found := _changed(op, known)) is not None:
            self._scores[op.output] = found
        elif known is not None and known.weights:
            self._looked_at.add(id(known.queries))

    def _multiplied(self, op: Op, known: _Scores | None) -> None:
        first, second = map(tensor_of, op.values)
        if first is None or second is None:
            return
        if known is not None and known.weights:
            self._take(op, known, first, second)
        elif first.dim() > 2 and min(op.output.shape[-2:]) >= _SHORTEST and first.dim() == second.dim():
            self._scores[op.output] = _Scores(first.detach(), second.detach().transpose(-2, -1))

    def _take(self, op: Op, known: _Scores, weights: torch.Tensor, values: torch.Tensor) -> None:
        result, where = tensor_of(op.output), op.place if isinstance(op, LiveOp) else None
        is_new = where is not None and where not in self._tried and where not in self._taken
        held = sum(each.nbytes for each in (known.queries, known.keys, values))
        if where is None or result is None or not is_new or len(self._tried) >= _MOST_LINES or held > _MOST_BYTES:
            return
        queries, keys, copied = (each.detach().clone() for each in (known.queries, known.keys, values))
        told = None if known.dropped else result.detach().clone()
        attention = Attention(queries, keys, copied, known.scale, known.mask, told)
        self._taken[where] = _Taken(attention, known, weakref.ref(weights))

    # ------------------------------------------------------------------------------------------------------- the trial

    def _over(self, iteration: Iteration) -> None:
        """By now, weights that nobody keeps are gone with the graph."""
        alone = {
            where: each
            for where, each in self._taken.items()
            if id(each.scores.queries) not in self._looked_at and each.weights() is None
        }
        if not iteration.recorded:
            self._taken = {}
            self._try(alone)
        elif self._scores:
            self._taken = alone
            self._scores.clear()
            self._looked_at.clear()

    def _try(self, taken: Mapping[Place, _Taken]) -> None:
        for where, each in taken.items():
            self._tried.add(where)
            try:
                self.emit(self._event(where, each, compared(each.attention, _SECONDS)))
            except Undecided:
                continue  # it is something else than attention, or more
            except Exception as error:
                self.limited(f"a fused attention was not tried: {type(error).__name__}: {first_line(str(error))}")

    def _event(self, where: Place, taken: _Taken, found: Compared) -> AttentionTried:
        attention = taken.attention
        return AttentionTried(
            step=self._course.steps,
            location=locate(where),
            shape=list(attention.queries.shape),
            keys=attention.keys.shape[-2],
            saved=(found.stepwise.saved, found.fused.saved),
            before=found.stepwise.seconds,
            after=found.fused.seconds,
            differs=found.differs,
            causal=attention.is_causal,
            masked=attention.mask is not None,
            dropped=taken.scores.dropped,
            scale=attention.scale,
        )


def _changed(op: Op, scores: _Scores) -> _Scores | None:
    """The scores after an operation, None where it is not known what that makes of them."""
    if op.name in _PASSES:
        rate = op.options.get("p", 0.5) if op.name in DROPOUTS and op.options.get("training", True) else 0.0
        return scores._replace(dropped=max(scores.dropped, float(rate or 0.0)))
    if scores.weights:
        return None
    if op.name in ("mul", "div") and len(op.values) == 1 and len(op.numbers) == 1:
        factor = float(op.numbers[0])
        return scores._replace(scale=scores.scale * factor if op.name == "mul" else scores.scale / factor)
    if op.name == "softmax":
        axis = op.options.get("dim", op.numbers[0] if op.numbers else None)
        return scores._replace(weights=True) if axis in (-1, len(op.output.shape) - 1) else None
    return _masked(op, scores)


def _masked(op: Op, scores: _Scores) -> _Scores | None:
    """What is filled with a very low number is hidden; what is added must not learn."""
    mask = tensor_of(op.values[1]) if len(op.values) == 2 else None
    if mask is None or scores.mask is not None or mask.requires_grad or scores.dropped:
        return None
    if op.name == "masked_fill" and op.numbers and op.numbers[-1] <= -1e4:
        return scores._replace(mask=~mask.detach())
    return scores._replace(mask=mask.detach().clone()) if op.name == "add" else None
