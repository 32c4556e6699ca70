"""AD113: go backward once on each loss."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source
from autograd_doctor.report import Place


def candidates(case: Case) -> Iterator[Candidate]:
    """One of the two calls goes: the first, or the second where what the first computes is read in between. What stays
    must run as often as what goes."""
    first, second = case.related("the first backward of this loss"), case.finding.location
    if first is None or second is None or case.source(first) is not case.source(second):
        return
    here = case.here()
    calls = [here.at(place, cst.Call) if here is not None else None for place in (first, second)]
    if here is None or calls[0] is None or calls[1] is None or not all(_is_alone(here, call) for call in calls if call):
        return
    if _count(case, second) >= _count(case, first):
        editing = _out(here, calls[0])
        yield case.candidate(f"take the first `{here.code(calls[0])}` out", editing)
    if _count(case, first) == _count(case, second) and here.code(_owner(calls[0])) == here.code(_owner(calls[1])):
        editing = _out(here, calls[1])
        kept = [arg for arg in calls[0].args if arg.keyword is None or arg.keyword.value != "retain_graph"]
        if len(kept) < len(calls[0].args) and not kept:
            editing.replace(calls[0], f"{here.code(calls[0].func)}()")
        yield case.candidate(f"take the second `{here.code(calls[1])}` out", editing)


def _is_alone(here: Source, call: cst.Call) -> bool:
    """Whether it is a statement, of which nothing else is asked."""
    return isinstance(here.parent(call), cst.Expr) and isinstance(call.func, cst.Attribute)


def _owner(call: cst.Call) -> cst.BaseExpression:
    return cst.ensure_type(call.func, cst.Attribute).value


def _out(here: Source, call: cst.Call) -> Editing:
    statement = here.statement_of(call)
    return Editing(here).remove(here.whole(statement)) if statement is not None else Editing(here)


def _count(case: Case, place: Place) -> int:
    return sum(case.is_at(ran.location, place) for ran in case.trace.of(BackwardRan))


FIXER = Fixer(codes=("AD113",), candidates=candidates)
