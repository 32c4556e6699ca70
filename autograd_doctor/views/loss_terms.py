"""Terms of losses that carry no gradient, gathered over the backwards in which they were seen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from autograd_doctor.events.connectivity import ConstantTerm, LossExamined
from autograd_doctor.events.steps import BackwardRan, Cut, ForwardRan
from autograd_doctor.findings import Evidence, Location, Related
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import seen_first
from autograd_doctor.views.cuts import called

_PHASE = 2
"""Backwards without a term after which it is taken to be gone: the last one of a run may be cut off."""

_TURNS = 2
"""Losses that teach what a term is of, so that it is no exception."""

_Key = tuple[Location | None, Location | None, str, bool]


@dataclass
class LossTerm:
    """A term at its place, as it was first seen, and the backwards whose loss had it, at the line of the first of them.

    trained: parameters that it was computed from, and that these backwards reach by other terms; or, of a term in vain,
    that no backward reaches, although an optimizer steps them and a forward built a graph for them in the same step.
    rewritten: the program itself changes all that it was computed from, between steps.
    """

    seen: ConstantTerm
    line: Location | None
    backwards: list[BackwardRan] = field(default_factory=list)
    trained: set[int] = field(default_factory=set)
    is_zero: bool = True
    rewritten: bool = False

    @property
    def parameters(self) -> list[int]:
        return sorted(self.trained)

    @property
    def location(self) -> Location | None:
        return self.seen.location or self.backwards[0].location

    @property
    def cut(self) -> Cut | None:
        """What ended the gradient paths to what is trained; of several, what ended most."""
        return max(
            seen_first(self.seen.cuts), key=lambda cut: len(self.trained.intersection(cut.parameters)), default=None
        )

    @property
    def words(self) -> str:
        """What a reader would call it."""
        return f"`{self.seen.name}`" if self.seen.name else f"what {called(self.seen.operation)} made"

    def evidence(self, trace: Trace) -> Evidence:
        return {
            **({"term": self.seen.value} if self.seen.value is not None else {}),
            **({"sum_with_it": self.seen.sum} if self.seen.sum is not None else {}),
            "computed_from": [trace.parameter_name(parameter) for parameter in self.parameters[:20]],
            "number_of_parameters": len(self.trained),
            "backwards": len(self.backwards),
        }

    def related(self) -> Iterator[Related]:
        cut, made_at, backward = self.cut, self.seen.made_at, self.backwards[0].location
        where = None if cut is None else (cut.switch.location if cut.switch is not None else cut.location)
        if where is not None and where != self.location:
            yield Related("the graph ends here", where)
        if made_at is not None and made_at not in (self.location, where):
            yield Related("the term was made here", made_at)
        if backward is not None:
            yield Related("this backward takes no gradient through it", backward)


def steady_terms(
    trace: Trace, backwards: float, *, in_vain: bool = False, late: float = math.inf
) -> Iterator[LossTerm]:
    """Terms that at least so many examined losses had, and at least half of those of their line from then on, and that
    are not zero. Where those without it teach, now and then, what it alone is of, the parts of a loss take turns.

    Those that the newest of them do not have any more were cut for a phase of the training. late: how many losses must
    have a term that had a gradient before, and all that followed; such terms are left out by default.
    """
    found: dict[_Key, LossTerm] = {}
    built = _graphs_in_vain(trace) if in_vain else {}
    for event in trace.of(LossExamined):
        backward = trace.backwards.get(event.backward)
        if backward is None:
            continue
        for seen in event.terms:
            taught = built.get(backward.step, ()) if in_vain else backward.reached
            trained = set(seen.parameters).intersection(taught) - trace.frozen
            if trained:
                one = found.setdefault(_key(seen), LossTerm(seen, event.location))
                one.backwards.append(backward)
                one.trained |= trained
                one.is_zero &= seen.value == 0.0
                one.rewritten |= seen.rewritten
    for one in found.values():
        begins = one.backwards[0].backward
        losses = [each for each in trace.of(LossExamined) if each.location == one.line and each.backward >= begins]
        steady = not one.is_zero and _is_steady(one, losses, late if one.seen.was_live else backwards)
        if steady and not _takes_turns(trace, one, losses):
            yield one


def _key(seen: ConstantTerm) -> _Key:
    return seen.location, seen.made_at, seen.name, seen.was_live


def _is_steady(term: LossTerm, losses: list[LossExamined], backwards: float) -> bool:
    """losses: all that were examined at its line since it was first met."""
    if len(term.backwards) < backwards:
        return False
    if term.seen.was_live:
        return len(term.backwards) >= len(losses)
    newer = sum(other.backward > term.backwards[-1].backward for other in losses)
    return 2 * len(term.backwards) >= len(losses) and newer < _PHASE


def _takes_turns(trace: Trace, term: LossTerm, losses: list[LossExamined]) -> bool:
    """Whether what a term alone is of, in losses that have it, learns by those of its line that have it not."""
    own = set(term.seen.parameters).difference(*(backward.reached for backward in term.backwards)) - trace.frozen
    with_it = {backward.backward for backward in term.backwards}
    others = [trace.backwards[each.backward] for each in losses if each.backward in trace.backwards.keys() - with_it]
    return bool(own) and sum(own.issubset(backward.reached) for backward in others) >= _TURNS


def _graphs_in_vain(trace: Trace) -> dict[int, set[int]]:
    """By step, parameters that no backward of the run reaches, and for which a forward of that step built a graph."""
    found: dict[int, set[int]] = {}
    if trace.without_gradient:
        for event in trace.of(ForwardRan):
            if event.builds_graph:
                mine = trace.without_gradient.intersection(trace.module_parameters(event.module))
                found.setdefault(event.step, set()).update(mine)
    return found
