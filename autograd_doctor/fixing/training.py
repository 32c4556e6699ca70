"""What a run has shown of the places in a file: where it trained, and where modules ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.findings import Location
from autograd_doctor.fixing.candidate import Case
from autograd_doctor.fixing.source import Source, Statement
from autograd_doctor.report import Place


def place_of(location: Location) -> Place:
    """A place of a trace as a report has it; its path holds the cell of a notebook."""
    return Place(
        path=location.path,
        line=location.line,
        column=location.column,
        end_line=location.end_line,
        end_column=location.end_column,
        function=location.function,
        snippet="",
    )


def training_passes(case: Case, module: int) -> Iterator[ForwardRan]:
    """The passes of a module, or of a root that holds it, that a backward may have come through."""
    for event in case.trace.of(ForwardRan):
        if event.module == module and event.builds_graph and not case.trace.is_evaluation(event):
            yield event


def trains(case: Case, source: Source, node: cst.CSTNode) -> bool:
    """Whether a backward or a step of the run was at a line of a node."""
    events: Iterable[BackwardRan | OptimizerStepped] = (*case.trace.of(BackwardRan), *case.trace.of(OptimizerStepped))
    places = {event.location for event in events if event.location is not None}
    return any(source.holds(node, place_of(each)) for each in places if case.source(place_of(each)) is source)


def ran_in(case: Case, source: Source, node: cst.CSTNode) -> Iterator[ForwardRan]:
    """The passes that lines of a node called for."""
    for event in case.trace.of(ForwardRan):
        place = None if event.location is None else place_of(event.location)
        if place is not None and case.source(place) is source and source.holds(node, place):
            yield event


def apart(case: Case, source: Source, node: cst.CSTNode) -> Statement | None:
    """The outermost loop around a node, within its function, that does not train; else the line of the node.

    None where that cannot stand in a block, as behind a colon.
    """
    found = source.line_of(node)
    if found is None or trains(case, source, found):
        return None
    for loop in source.loops(node):
        if trains(case, source, loop):
            break
        found = loop
    return found
