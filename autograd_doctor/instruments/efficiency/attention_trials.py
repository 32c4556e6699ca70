"""Attention that is written out, and what the fused call would keep and take in its place."""

from __future__ import annotations

import weakref
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.efficiency import AttentionTried, AttentionUnfit, Mask, Unfit
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.efficiency.iteration_times import Iteration, IterationTimes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import DROPOUTS
from autograd_doctor.reading.attention_products import PRODUCTS, scored, weighted
from autograd_doctor.reading.counted_storages import CountedStorages
from autograd_doctor.reading.fused_attention import Attention, Compared, compared, copies, kept_anyway
from autograd_doctor.reading.graph_bytes import saved_by
from autograd_doctor.reading.graph_structure import nodes_of
from autograd_doctor.reading.live_values import LiveOp, tensor_of
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.subclasses import storage_address, storages_of
from autograd_doctor.reading.tensor_facts import is_single, read_together, readable
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Op, Value
from autograd_doctor.wording import first_line

_SHORTEST = 64
"""Positions below which nobody minds the matrix."""
_MOST_LINES = 2
_MOST_BYTES = 2**28
_SECONDS = 2.0
"""For the trials of one line."""
_HIDDEN = -1e4
"""What hides a score: `exp` of it is zero in each precision, and half precision can hold it."""
_PASSES = DROPOUTS | {"to", "type_as", "float", "clone", "contiguous"}


class _Scores(NamedTuple):
    """What scores were made of, and what was done to them. weights: they were normalised. dropped: at which rate.

    kept: whether queries and keys stay in any case. mask: as the program has it; form: as in `AttentionTried`; blank:
    whether a row of it hides all, left where it is.
    """

    queries: torch.Tensor
    keys: torch.Tensor
    kept: tuple[bool, ...]
    scale: float = 1.0
    mask: torch.Tensor | None = None
    form: Mask = ""
    blank: torch.Tensor | None = None
    weights: bool = False
    dropped: float = 0.0


@dataclass
class _Calls:
    """Products of weights and values at a line, in an iteration. whole: how many of them, if it was seen from its
    beginning. addresses: of the weights, which a graph holds."""

    queries: list[int] = field(default_factory=list)
    weights: list[weakref.ref[torch.Tensor]] = field(default_factory=list)
    blanks: list[torch.Tensor] = field(default_factory=list)
    addresses: set[int] = field(default_factory=set)
    whole: int = 0


class _Taken(NamedTuple):
    """To be tried, unless somebody has used the weights in another way, or keeps them."""

    attention: Attention
    form: Mask


class AttentionTrials(Instrument):
    """Follows products of queries and keys to a product with values, in steps that are looked at closely."""

    emits: ClassVar[tuple[type[Event], ...]] = (AttentionTried, AttentionUnfit)

    def __init__(self, site: Site, course: Course, tape: Tape, iteration_times: IterationTimes) -> None:
        super().__init__(site)
        self._course = course
        self._tape = tape
        self._iterations = iteration_times
        self._scores: dict[Value, _Scores] = {}
        self._kept: dict[Place | None, tuple[bool, ...]] = {}
        """By the lines of products of queries and keys: to ask is to walk the graph."""
        self._looked_at: set[int] = set()
        """Queries whose scores or weights were used for something else as well."""
        self._calls: defaultdict[Place, _Calls] = defaultdict(_Calls)
        self._usual: Counter[Place] = Counter()
        """The most calls that an iteration has made."""
        self._taken: dict[Place, _Taken] = {}
        self._tried: set[Place] = set()
        self._unfit: set[Place] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(self._tape.recorded, self._recorded)
        self.listen(signals.backward.began, self._backward_began)
        self.listen(self._iterations.over, self._over)

    # --------------------------------------------------------------------------------------------------- what it is of

    def _recorded(self, op: Op) -> None:
        known = {value: self._scores[value] for value in op.values if value in self._scores}
        if not known:
            if op.name in PRODUCTS and len(op.values) == 2:
                self._score(op)
            return
        value, scores = next(iter(known.items()))
        if op.name in PRODUCTS and scores.weights and op.values[0] is value and self._weigh(op, scores):
            return
        if len(known) == 1 and (found := _changed(op, value, scores)) is not None:
            self._scores[op.output] = found
        elif scores.weights or op.output.learns:
            self._looked_at.update(id(each.queries) for each in known.values())

    def _score(self, op: Op) -> None:
        first, second = map(tensor_of, op.values)
        sizes = op.output.shape
        if first is None or second is None or len(sizes) < 3 or min(sizes[-2:]) < _SHORTEST or not op.output.learns:
            return
        found = scored(op, first.detach(), second.detach()) if readable(first) and readable(second) else None
        if found is None or found[0].dim() != found[1].dim():
            return
        where = op.place if isinstance(op, LiveOp) else None
        if where not in self._kept:
            kept = kept_anyway([first, second])
            swapped = storage_address(found[0]) != storage_address(first)
            self._kept[where] = kept[::-1] if swapped else kept
        self._scores[op.output] = _Scores(*found, self._kept[where])

    def _weigh(self, op: Op, scores: _Scores) -> bool:
        """Whether that is what the weights are for."""
        weights, values = map(tensor_of, op.values) if len(op.values) == 2 else (None, None)
        result, where = tensor_of(op.output), op.place if isinstance(op, LiveOp) else None
        if weights is None or values is None or result is None or where is None or not readable(values):
            return False
        found = weighted(op, values.detach(), result.detach())
        if found is None or found[0].dim() != scores.queries.dim():
            return False
        self._count(self._calls[where], scores, weights)
        met = self._tried | self._taken.keys()
        if where not in met | self._unfit and len(met) < _MOST_LINES:
            self._take(where, scores, *found, kept_anyway([values]))
        return True

    def _count(self, calls: _Calls, scores: _Scores, weights: torch.Tensor) -> None:
        calls.queries.append(id(scores.queries))
        calls.weights.append(weakref.ref(weights))
        calls.addresses.add(storage_address(weights))
        calls.whole += self._iterations.have_begun
        if scores.blank is not None:
            calls.blanks.append(scores.blank)

    def _take(
        self, where: Place, scores: _Scores, values: torch.Tensor, result: torch.Tensor, kept: tuple[bool, ...]
    ) -> None:
        given = [scores.queries, scores.keys, values]
        if CountedStorages().add(given) > _MOST_BYTES:
            return
        told = None if scores.dropped else result.clone()
        mask = None if scores.mask is None else ~scores.mask if scores.form == "hides" else scores.mask.clone()
        queries, keys, copied = copies(given)
        attention = Attention(queries, keys, copied, scores.scale, mask, told, scores.dropped, (*scores.kept, *kept))
        self._taken[where] = _Taken(attention, scores.form)

    # -------------------------------------------------------------------------------------------- what speaks against

    def _backward_began(self, call: BackwardCall) -> None:
        """No fused kernel has a second derivative."""
        if not call.create_graph or not self._calls:
            return
        nodes = nodes_of(call.roots, call.inputs)
        held = {address for node in nodes for each in saved_by(node) for address, _ in storages_of(each)}
        for where, calls in self._calls.items():
            if calls.addresses & held:
                self._refuse(where, "derived twice")

    def _refuse(self, where: Place, reason: Unfit) -> None:
        self._taken.pop(where, None)
        if where in self._tried and where not in self._unfit:
            self.emit(AttentionUnfit(step=self._course.steps, location=locate(where), reason=reason))
        self._unfit.add(where)

    def _weed_out(self) -> None:
        """By now, weights that nobody keeps are gone with the graph."""
        for where, calls in self._calls.items():
            self._usual[where] = max(self._usual[where], calls.whole)
            if any(read_together(calls.blanks)):
                self._refuse(where, "hidden rows")
            elif not self._looked_at.isdisjoint(calls.queries) or any(each() is not None for each in calls.weights):
                self._refuse(where, "looked at")

    # ------------------------------------------------------------------------------------------------------- the trial

    def _over(self, iteration: Iteration) -> None:
        self._weed_out()
        if not iteration.recorded:
            taken, self._taken = self._taken, {}
            self._try(taken)
        self._calls.clear()
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
            mask=taken.form,
            mask_axes=0 if attention.mask is None else attention.mask.dim(),
            dropped=attention.dropped,
            scale=attention.scale,
            calls=self._usual[where],
            expands=attention.expands,
        )


def _changed(op: Op, value: Value, scores: _Scores) -> _Scores | None:
    """The scores after an operation, None where it is not known what that makes of them."""
    if op.name in _PASSES:
        rate = op.options.get("p", 0.5) if op.name in DROPOUTS and op.options.get("training", True) else 0.0
        return scores._replace(dropped=max(scores.dropped, float(rate or 0.0)))
    if scores.weights or scores.dropped:
        return None
    if len(op.values) > 1:
        return _masked(op, value, scores)
    if op.name in ("mul", "div") and len(op.numbers) == 1:
        factor = float(op.numbers[0])
        return scores._replace(scale=scores.scale * factor if op.name == "mul" else scores.scale / factor)
    if op.name == "softmax":
        return scores._replace(weights=True) if op.dim in (-1, len(op.output.shape) - 1) else None
    return None


def _masked(op: Op, value: Value, scores: _Scores) -> _Scores | None:
    """Only one mask is known to go into the fused call, and it must not learn."""
    found = _mask_of(op, value)
    mask = None if found is None or scores.mask is not None or op.output.shape != value.shape else tensor_of(found[0])
    if found is None or mask is None or mask.requires_grad or mask.dim() < 2 or not readable(mask):
        return None
    form = found[1]
    if mask.dtype.is_floating_point != (form == "adds"):
        return None
    hidden = mask <= _HIDDEN if form == "adds" else mask if form == "hides" else ~mask
    return scores._replace(mask=mask.detach(), form=form, blank=hidden.all(-1).any())


def _mask_of(op: Op, value: Value) -> tuple[Value, Mask] | None:
    """What masks scores, and how: `where` may be called as a method of the scores."""
    if op.name == "add" and len(op.operands) == len(op.values) == 2 and "alpha" not in op.options:
        return next(((each, "adds") for each in op.values if each is not value), None)
    if op.name not in ("masked_fill", "where") or len(op.operands) != 3:
        return None
    first, second, third = op.operands
    if first is value and _hides(third):
        return second, "hides" if op.name == "masked_fill" else "keeps"
    if op.name == "where" and second is value and _hides(third):
        return first, "keeps"
    return (first, "hides") if op.name == "where" and third is value and _hides(second) else None


def _hides(filler: Value | float) -> bool:
    """Whether a score is none any more that is this number."""
    if not isinstance(filler, Value):
        return filler <= _HIDDEN
    number = tensor_of(filler)
    return number is not None and is_single(number) and float(number) <= _HIDDEN
