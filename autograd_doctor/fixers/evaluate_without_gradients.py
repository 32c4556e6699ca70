"""AD209: evaluate without gradients."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.connectivity import ModeSet
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source
from autograd_doctor.fixing.training import apart, place_of, ran_in, trains
from autograd_doctor.report import Place


def candidates(case: Case) -> Iterator[Candidate]:
    """Where a function does nothing else, for all of it; else for the loop, or the line, that evaluates.

    Passes on a line that trains as well are told apart by the call that leads there.
    """
    place = case.finding.location
    here = case.source(place)
    if here is None or place is None:
        return
    if _is_shared(case, here, place):
        called = case.related("come from here")
        there = case.source(called)
        if there is not None and called is not None:
            yield from _around(case, there, called, loops=False)
        return
    is_mode = case.finding.evidence.get("mode") == "eval"
    called = case.related("come from here")
    if called is not None and (there := case.source(called)) is not None and _hands_on(case, here, place):
        yield from _around(case, there, called, loops=False)
    if is_mode and (function := _function(case, here, place)) is not None:
        editing = Editing(here)
        decorator = f"{editing.torch()}.no_grad()"
        name = function.name.value
        yield case.candidate(
            f"decorate `{name}` with `@{decorator}`", editing.decorate(function, decorator), keeps=True
        )
    yield from _around(case, here, place, loops=is_mode)


def _around(case: Case, source: Source, place: Place, *, loops: bool) -> Iterator[Candidate]:
    node = source.at(place, cst.Call)
    line = source.line_of(node) if node is not None else None
    if node is None or line is None or trains(case, source, line):
        return
    loop = apart(case, source, node) if loops else None
    for block in (loop, line):
        if block is not None:
            editing = Editing(source)
            header = f"with {editing.torch()}.no_grad():"
            what = "the loop" if isinstance(block, cst.For | cst.While) else "the line"
            description = f"put {what} that evaluates into `{header}`"
            yield case.candidate(description, editing.wrap([block], header), keeps=True)


def _is_shared(case: Case, source: Source, place: Place) -> bool:
    """Whether the call at a place serves training as well."""
    call = source.at(place, cst.Call)
    return call is not None and any(event.training for event in ran_in(case, source, call))


def _hands_on(case: Case, source: Source, place: Place) -> bool:
    """Whether a function may give its callers what the module gave it, with its graph, and does not itself put the
    module into eval mode: others may call it to train."""
    call = source.at(place, cst.Call)
    function = source.function(call) if call is not None else None
    statement = source.statement_of(call) if call is not None else None
    if call is None or function is None or statement is None:
        return False
    switches = [place_of(e.location) for e in case.trace.of(ModeSet) if e.location is not None and not e.training]
    if any(case.source(each) is source and source.holds(function, each) for each in switches):
        return False
    names = source.bound(statement)
    given = (*source.all(cst.Return, inside=function), *source.all(cst.Yield, inside=function))
    return any(source.is_within(call, each) or source.depends(each, names) for each in given)


def _function(case: Case, source: Source, place: Place) -> cst.FunctionDef | None:
    """The function that evaluates and does nothing else."""
    call = source.at(place, cst.Call)
    function = source.function(call) if call is not None else None
    if function is None or function.asynchronous is not None or trains(case, source, function):
        return None
    return None if any(event.training for event in ran_in(case, source, function)) else function


FIXER = Fixer(codes=("AD209",), candidates=candidates)
