"""AD303: cut the graph where one step hands something on to the next."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing, named_argument
from autograd_doctor.fixing.source_tree import Line, Source
from autograd_doctor.fixing.training import apart


def candidates(case: Case) -> Iterator[Candidate]:
    """Where the step takes it in, outside of a loop of its own; after the backward, where it may be nothing yet; or for
    each of several tensors."""
    here = case.here()
    line = here.line_at(case.finding.location) if here is not None else None
    if here is None or line is None:
        return
    if "updates" in case.finding.evidence:
        yield from _updates(case, here, line)
        return
    handed_on = _handed_on(here, line)
    loop = apart(case, here, line)
    if handed_on and isinstance(loop, cst.For | cst.While):
        for name in handed_on:
            changed = Editing(here).before(loop, f"{name} = {name}.detach()")
            yield case.candidate(f"detach `{name}` before the loop of the step", changed)
        return
    if handed_on:
        changed = _with_cuts(here, handed_on)
        names = _listed(handed_on)
        yield case.candidate(f"detach {names} where the step takes it in", *_without_retaining(case, here, changed))
    for name in handed_on:
        yield from _otherwise(case, here, line, name)


def _handed_on(source: Source, line: Line) -> dict[str, list[cst.BaseExpression]]:
    """What a statement computes from its own last value: the places of this on the right side."""
    found: dict[str, list[cst.BaseExpression]] = {}
    for assign in source.all(cst.Assign, inside=line):
        names = source.bound(assign)
        for node in source.all(cst.Name, cst.Attribute, inside=assign.value):
            if isinstance(node, cst.Name | cst.Attribute) and source.code(node) in names and not _is_part(source, node):
                found.setdefault(source.code(node), []).append(node)
    return found


def _is_part(source: Source, node: cst.BaseExpression) -> bool:
    """Whether a name is only asked for an attribute, or is the name of one or of an argument."""
    above = source.parent(node)
    return isinstance(above, cst.Attribute) or (isinstance(above, cst.Arg) and above.keyword is node)


def _with_cuts(source: Source, handed_on: dict[str, list[cst.BaseExpression]]) -> Editing:
    editing = Editing(source)
    for name, places in handed_on.items():
        for place in places:
            editing.replace(place, f"{name}.detach()")
    return editing


def _without_retaining(case: Case, source: Source, editing: Editing) -> list[Editing]:
    """The backward that went through earlier steps need not keep their graphs any more."""
    place = case.related("backward runs through")
    there = case.source(place)
    call = there.at(place, cst.Call) if there is not None else None
    argument = named_argument(call, "retain_graph") if call is not None else None
    if there is None or call is None or argument is None:
        return [editing]
    other = editing if there is source else Editing(there)
    other.withhold(call, argument)
    return [editing] if other is editing else [editing, other]


def _otherwise(case: Case, source: Source, line: Line, name: str) -> Iterator[Candidate]:
    """For what may be several tensors, or nothing before the first step."""
    parts, whole = f"tuple(part.detach() for part in {name})", f"{name}.detach()"
    place = case.related("backward runs through")
    backward = source.line_at(place) if case.source(place) is source else None
    if backward is None or source.function(backward) is not source.function(line):
        changed = Editing(source).before(line, f"{name} = {parts}")
        yield case.candidate(
            f"detach the parts of `{name}` before each step", *_without_retaining(case, source, changed)
        )
        return
    for code, what in ((parts, f"the parts of `{name}`"), (whole, f"`{name}`")):
        changed = Editing(source).after(backward, f"{name} = {code}")
        yield case.candidate(f"detach {what} after the backward", *_without_retaining(case, source, changed))


def _updates(case: Case, source: Source, line: Line) -> Iterator[Candidate]:
    """New values of parameters: without a graph, or each as a new leaf."""
    editing = Editing(source)
    header = f"with {editing.torch()}.no_grad():"
    yield case.candidate(f"put the update into `{header}`", editing.wrap([line], header), keeps=True)
    value = source.at(case.finding.location, cst.BinaryOperation)
    if value is not None:
        leaf = f"({source.code(value)}).detach().requires_grad_()"
        yield case.candidate("make each new value a leaf", Editing(source).replace(value, leaf), keeps=True)


def _listed(names: dict[str, list[cst.BaseExpression]]) -> str:
    return ", ".join(f"`{name}`" for name in names)


FIXER = Fixer(codes=("AD303",), candidates=candidates)
