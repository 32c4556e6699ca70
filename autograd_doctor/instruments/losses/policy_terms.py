"""Losses of policies: entropies and weighted log-probabilities in them, and what weighs these.

A log-probability of what was drawn, or a ratio of two probabilities, is a score once it is multiplied by what came of
the draw. That is a number to the policy: what it would learn through it is no gradient of what it is to maximise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import EntropyInLoss, WeightLearns
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.losses import log_probabilities
from autograd_doctor.instruments.losses.log_probabilities import LogProbabilities
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import DIFFERENCES, DIVISIONS, NEGATIONS, PRODUCTS, REARRANGEMENTS, SUMS
from autograd_doctor.reading.distributions import tensors_of
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.signs import REVERSED, sign_of
from autograd_doctor.reading.tensor_facts import at_home
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.distributions import Draw, Entropy, Evaluation
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import numbers_in

_PICKS = frozenset({
    "__getitem__", "chunk", "gather", "index_select", "masked_select", "narrow", "select", "split", "take_along_dim",
    "unbind",
})  # fmt: skip
"""Operations that may leave out what others put together."""
_BOUNDS = frozenset({"clamp", "clip", "exp", "min", "minimum", "max", "maximum"})
_MOST_TERMS = 8
_MOST_TOLD = 8


class _Entropy(NamedTuple):
    """One that a sum holds, of which distribution, whether the sum falls when it grows, and where others were added."""

    place: Place | None
    distribution: int
    negated: bool
    added_at: Place | None = None


class _Weight(NamedTuple):
    """What a score was multiplied by, and the parameters that it would teach."""

    place: Place | None
    parameters: int


class _Held(NamedTuple):
    """What of a policy is in a tensor.

    score: a log-probability or a ratio, weighted by nothing yet; compared: another was subtracted from it; drawn: it is
    that of what the program drew in this step, or a ratio. weights: of scores in it; scored: there are such. own:
    nothing is left of the value of a score but its gradient.
    """

    entropies: frozenset[_Entropy] = frozenset()
    score: bool = False
    compared: bool = False
    drawn: bool = False
    scored: bool = False
    weights: frozenset[_Weight] = frozenset()
    own: bool = False

    def __or__(self, other: _Held) -> _Held:
        return _Held(
            self.entropies | other.entropies,
            self.score or other.score,
            self.compared or other.compared,
            self.drawn or other.drawn,
            self.scored or other.scored,
            self.weights | other.weights,
            self.own or other.own,
        )

    def turned(self) -> _Held:
        return self._replace(entropies=frozenset(each._replace(negated=not each.negated) for each in self.entropies))

    def added(self, where: Place | None) -> _Held:
        """To other terms, unless it has been already."""
        entropies = (each if each.added_at else each._replace(added_at=where) for each in self.entropies)
        return self._replace(entropies=frozenset(entropies))


_NOTHING = _Held()


class PolicyTerms(Instrument):
    """Follows them, in steps that are looked at closely, through sums and products to a backward."""

    emits: ClassVar[tuple[type[Event], ...]] = (EntropyInLoss, WeightLearns)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        optimizers: Optimizers,
        tensors: Tensors,
        ledger: Ledger,
        lineage: Lineage,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._optimizers = optimizers
        self._tensors = tensors
        self._ledger = ledger
        self._lineage = lineage
        self._told = 0
        self._forget()

    def connect(self, signals: Signals) -> None:
        names = REARRANGEMENTS | SUMS | PRODUCTS | NEGATIONS | _BOUNDS | log_probabilities.NAMES
        self.listen(signals.distributions.drawn, self._drawn, attention=Attention.CLOSE)
        self.listen(signals.distributions.evaluated, self._evaluated, attention=Attention.CLOSE)
        self.listen(signals.distributions.measured, self._measured, attention=Attention.CLOSE)
        self.listen(self._lineage.operated, self._operation_ended, names=names)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._detail.focused, self._turned)

    def _turned(self, detail: Detail) -> None:
        """What operations of other steps made is not known."""
        self._forget()

    def _step_taken(self, course: Course) -> None:
        self._forget()

    def _forget(self) -> None:
        self._held: ValueTable[_Held] = self.value_table()
        self._draws: ValueTable[None] = self.value_table()
        self._scored: set[int] = set()
        self._by_hand = LogProbabilities(self.value_table)

    # ------------------------------------------------------------------------------------------------ distributions

    def _drawn(self, draw: Draw) -> None:
        """From a distribution that learns; others simulate data."""
        learns = any(map(self._is_learned, tensors_of(draw.distribution)))
        if isinstance(draw.result, torch.Tensor) and learns and self._course.running is None:
            self._draws.put(draw.result, None)

    def _is_learned(self, tensor: torch.Tensor) -> bool:
        made = self._tensors.get(tensor)
        return tensor.requires_grad or (made is not None and made.values != 0)

    def _evaluated(self, call: Evaluation) -> None:
        result = call.result
        if isinstance(result, torch.Tensor) and has_graph(result) and self._course.running is None:
            self._held.put(result, _Held(score=True, drawn=call.value in self._draws))
            self._scored.add(id(call.distribution))

    def _measured(self, call: Entropy) -> None:
        result = call.result
        if isinstance(result, torch.Tensor) and has_graph(result) and self._course.running is None:
            entropy = _Entropy(place(), id(call.distribution), negated=False)
            self._held.put(result, _Held(entropies=frozenset({entropy})))

    # --------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        name, args, result = operation.name, operation.args, operation.result
        if self._course.running is None and isinstance(result, torch.Tensor) and self._is_by_hand(operation, result):
            return
        if not self._held or self._course.running is not None or not isinstance(result, torch.Tensor):
            return
        known = [self._held.get(tensor) or _NOTHING for tensor in tensors_in(args)]
        if not has_graph(result) or all(each is _NOTHING for each in known):
            return
        if name in PRODUCTS:
            held = self._multiplied(operation, tensors_in(args))
        elif name in NEGATIONS:
            held = known[0].turned()
        elif name in _BOUNDS:
            held = _bounded(name, known)
        elif name in _PICKS:
            held = known[0]._replace(entropies=frozenset(), weights=frozenset())
        else:
            held = _summed(name, args, known)
            held = held.added(operation.place) if len(known) > 1 and not all(each.entropies for each in known) else held
            held = held._replace(entropies=frozenset()) if "alpha" in operation.kwargs else held
        if held != _NOTHING and len(held.entropies) + len(held.weights) <= _MOST_TERMS:
            self._held.put(result, held)

    def _is_by_hand(self, operation: Operation, result: torch.Tensor) -> bool:
        """Whether it makes a score of what was drawn, or the parts of an entropy, without a distribution."""
        self._by_hand.note(operation)
        if not has_graph(result):
            return False
        if (scores := self._by_hand.score_in(operation)) is not None:
            self._held.put(result, _Held(score=True, drawn=True))
            self._scored.add(scores)
            return True
        if (scores := self._by_hand.entropy_in(operation)) is not None:
            entropy = _Entropy(operation.place, scores, negated=True)
            self._held.put(result, _Held(entropies=frozenset({entropy})))
            return True
        return False

    def _multiplied(self, operation: Operation, tensors: Sequence[torch.Tensor]) -> _Held:
        """A score becomes a term of the loss; anything else goes on if it is scaled by a number or by data.

        What is multiplied by `exp(x - x.detach())`, which is 1, is an expectation with all of its derivatives, and may
        hold log-probabilities that have a graph of their own.
        """
        live = [tensor for tensor in tensors if has_graph(tensor)]
        if any((held := self._held.get(tensor)) is not None and held.own for tensor in live):
            return _NOTHING
        scores = [tensor for tensor in live if (held := self._held.get(tensor)) is not None and held.score]
        if len(scores) == 1 and any(tensor.numel() > 1 for tensor in tensors if tensor is not scores[0]):
            return self._weighted(operation, scores[0], [each for each in live if each is not scores[0]])
        factors = [each for each in operation.args if type(each) in (int, float)]
        factors += [each for each in tensors if not has_graph(each)]
        held = self._held.get(live[0]) if len(live) == 1 and len(factors) == 1 else None
        is_divisor = operation.name in DIVISIONS and bool(live) and operation.args[0] is not live[0]
        if held is None or is_divisor:
            return _NOTHING
        sign = sign_of(factors[0])
        return held if sign > 0 else held.turned() if sign < 0 else held._replace(entropies=frozenset())

    def _weighted(self, operation: Operation, score: torch.Tensor, others: Sequence[torch.Tensor]) -> _Held:
        held = self._held.get(score) or _NOTHING
        weights = frozenset(
            _Weight(operation.place, made.connected)
            for other in others
            if held.drawn and other.numel() > 1 and (made := self._tensors.get(other)) is not None and made.connected
        )
        return _Held(scored=True, weights=weights)

    # ------------------------------------------------------------------------------------------------------- losses

    def _backward_began(self, call: BackwardCall) -> None:
        held = self._held.get(call.roots[0]) if len(call.roots) == 1 else None
        walk = self._ledger.walk
        if held is None or not held.scored or call.kind != "backward" or walk is None or self._told >= _MOST_TOLD:
            return
        seed = next(iter(call.seeds), None)
        if isinstance(seed, torch.Tensor) and sign_of(at_home(seed)) <= 0:
            return
        if any(group.get("maximize") for _, each in self._optimizers.living() for group in each.param_groups):
            return
        self._told += 1
        for entropy in held.entropies:
            if not (entropy.negated or entropy.distribution in self._scored):
                continue
            self.emit(
                EntropyInLoss(
                    step=self._course.steps,
                    backward=walk.backward,
                    location=locate(entropy.place),
                    added_at=locate(entropy.added_at),
                    minimised=not entropy.negated,
                )
            )
        for weight in held.weights:
            self.emit(
                WeightLearns(
                    step=self._course.steps,
                    backward=walk.backward,
                    location=locate(weight.place),
                    parameters=numbers_in(weight.parameters),
                )
            )


def _bounded(name: str, known: Sequence[_Held]) -> _Held:
    """A ratio of probabilities, or the lower of two terms, is what it was; an entropy in it is followed no further."""
    held = known[0]
    for other in known[1:]:
        held |= other
    is_ratio = name == "exp" and held.score and held.compared
    return held._replace(entropies=frozenset(), drawn=held.drawn or is_ratio)


def _summed(name: str, args: Sequence[Any], known: Sequence[_Held]) -> _Held:
    """Of a difference, the second part turns round: which one that is, tells its place among the operands."""
    signed = list(known)
    if name in DIFFERENCES and _is_own_value(args):
        return _Held(own=True)
    if name in DIFFERENCES and len(known) > 1:
        signed = [each._replace(compared=True) if each.score else each for each in signed]
    if name in DIFFERENCES and name not in REVERSED:
        first = 1 if isinstance(args[0], torch.Tensor) else 0
        signed[first:] = [each.turned() for each in signed[first:]]
    elif name in REVERSED:
        signed[:1] = [each.turned() for each in signed[:1]]
    held = _NOTHING
    for each in signed:
        held |= each
    return held


def _is_own_value(operands: Sequence[Any]) -> bool:
    """Whether something is left of itself but the gradient: `x - x.detach()`, as estimators of any order have it."""
    both = [each for each in operands if isinstance(each, torch.Tensor)]
    return len(both) == 2 and both[0].is_set_to(both[1].detach())
