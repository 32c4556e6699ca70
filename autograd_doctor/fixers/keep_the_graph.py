"""AD202, AD216, AD223: let values keep their graph where it was seen to end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement, operand
from autograd_doctor.report import Place

_TAKES = ("detach", "item")
"""Methods that give the values of a tensor without its graph."""
_Cut = cst.Call | cst.Attribute


def candidates(case: Case) -> Iterator[Candidate]:
    """Where the values went on without it. What is only guessed to have been so is left alone."""
    finding = case.finding
    place = case.related("the graph ends here") or finding.location
    here = case.source(place)
    if here is None or place is None or finding.confidence == "low" or _is_meant(case):
        return
    cut = _cut(here, place)
    if cut is None:
        yield from _differentiated(case, here, place)
    elif "steps_of_the_window" in finding.evidence:
        yield from _state(case, here, cut)
    elif not here.serves_several(cut):
        for cuts in _together(case, here, cut):
            yield from _without(case, here, cuts)


def _is_meant(case: Case) -> bool:
    """Whether what learns no more had its stage, or the cut is that of a straight-through estimator."""
    had_its_stage = any("an earlier stage of the run made them learn" in note for note in case.finding.notes)
    return had_its_stage or "straight_through" in case.finding.evidence


def _together(case: Case, source: Source, cut: _Cut) -> Iterator[list[_Cut]]:
    """The first of several, one that is no stop-gradient on its face, or all; of `.data`, all of a line first."""
    places = [each.location for each in case.finding.related if "drops the graph too" in each.message]
    others = [each for place in places if case.source(place) is source and (each := _cut(source, place)) is not None]
    if isinstance(cut, cst.Attribute):
        yield [cut, *(each for each in others if source.line_of(each) is source.line_of(cut))]
    yield [cut]
    yield from (
        [each] for each in others if isinstance(each, cst.Attribute) or not source.code(each).endswith(".detach()")
    )
    yield [cut, *others]


def _cut(source: Source, place: Place) -> _Cut | None:
    """`x.detach()`, `x.item()`, `float(x)` or `x.data` at a place."""
    call = source.at(place, cst.Call)
    if call is not None:
        is_method = isinstance(call.func, cst.Attribute) and call.func.attr.value in _TAKES and not call.args
        is_number = source.code(call.func) == "float" and len(call.args) == 1
        return call if is_method or is_number else None
    held = source.at(place, cst.Attribute)
    return held if held is not None and held.attr.value == "data" and _is_read(source, held) else None


def _is_read(source: Source, attribute: cst.Attribute) -> bool:
    """Whether an attribute is taken as a value, and neither it nor a part of it is written to."""
    above = source.parent(attribute)
    if isinstance(above, cst.Subscript):
        above = source.parent(above)
    if isinstance(above, cst.AugAssign):
        return not source.is_within(attribute, above.target)
    changes = isinstance(above, cst.Attribute) and above.attr.value.endswith("_")
    return not changes and not isinstance(above, cst.AssignTarget)


def _kept(cut: _Cut) -> cst.BaseExpression:
    """The tensor with its graph."""
    if isinstance(cut, cst.Attribute):
        return cut.value
    return cut.func.value if isinstance(cut.func, cst.Attribute) else cut.args[0].value


def _without(case: Case, source: Source, cuts: Sequence[_Cut]) -> Iterator[Candidate]:
    editing = Editing(source)
    told: dict[str, None] = {}
    for cut in dict.fromkeys(cuts):
        statement = source.statement_of(cut)
        if statement is None or not _only_cuts(source, statement):
            editing.replace(cut, _bare(source, cut))
            told[f"use `{_bare(source, cut)}` instead of `{source.code(cut)}`"] = None
        elif len(source.block(statement)) > 1:
            editing.remove(statement)
            told[f"leave `{source.title(statement)}` out"] = None
        else:
            return
    yield case.candidate(", ".join(told), editing)


def _bare(source: Source, cut: _Cut) -> str:
    code = source.code(_kept(cut))
    is_part = not isinstance(source.parent(cut), cst.Assign | cst.Return | cst.Arg)
    return operand(code) if is_part else code


def _only_cuts(source: Source, statement: Statement) -> bool:
    """Whether a statement gives variables nothing but their own values without graphs, as `h = h.detach()` does."""
    assigns = list(source.all(cst.Assign, inside=statement))
    if len(assigns) != 1 or len(assigns[0].targets) != 1 or isinstance(statement, cst.BaseCompoundStatement):
        return False
    pairs = list(zip(_elements(assigns[0].targets[0].target), _elements(assigns[0].value), strict=False))
    return all(source.code(target) == _own(source, value) for target, value in pairs)


def _elements(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [each.value for each in node.elements] if isinstance(node, cst.Tuple) else [node]


def _own(source: Source, value: cst.BaseExpression) -> str:
    """The variable of which a value is taken without its graph, "" if it is none."""
    if isinstance(value, cst.Attribute) and value.attr.value == "data":
        return source.code(value.value)
    is_detached = (
        isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value == "detach"
    )
    return source.code(_kept(value)) if is_detached and isinstance(value, cst.Call) else ""


def _state(case: Case, source: Source, cut: _Cut) -> Iterator[Candidate]:
    """Cut no more, where a window begins anew; else once, before its loop."""
    yield from _without(case, source, [cut])
    statement, loop = source.statement_of(cut), source.loop(cut)
    if (
        statement is not None
        and loop is not None
        and _only_cuts(source, statement)
        and len(source.block(statement)) > 1
    ):
        code = source.title(statement)
        yield case.candidate(f"move `{code}` in front of the loop", Editing(source).move(statement, before=loop))


def _differentiated(case: Case, source: Source, place: Place) -> Iterator[Candidate]:
    """A derivative that is part of the loss needs a graph of its own."""
    call = source.at(place, cst.Call)
    if call is not None and source.code(call.func).rpartition(".")[2] == "grad":
        description = f"give `{source.code(call.func)}` the argument `create_graph=True`"
        yield case.candidate(description, Editing(source).give(call, "create_graph", "True"))


FIXER = Fixer(codes=("AD202", "AD216", "AD223"), candidates=candidates)
