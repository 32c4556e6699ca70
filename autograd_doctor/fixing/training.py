"""What a run has shown of the places in a file: where it trained, and where modules ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.findings import Location
from autograd_doctor.fixing.candidate import Case
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Line, Source
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


def passes_at(case: Case, place: Place | None) -> list[ForwardRan]:
    """The passes of root modules that a call led to."""
    source = case.source(place)
    call = source.at(place, cst.Call) if source is not None else None
    return [] if source is None or call is None else list(ran_in(case, source, call))


def training_passes(case: Case, module: int) -> list[ForwardRan]:
    """The passes of a root module that training was made of."""
    passes = (event for event in case.trace.of(ForwardRan) if event.module == module and event.builds_graph)
    return [event for event in passes if not case.trace.is_evaluation(event)]


def wakes_only_what_learns(case: Case, module: int) -> bool:
    """Whether `train()` on a root sets no part to train mode that is to rest: none did while the root trained in train
    mode, and where it never did, none is frozen."""
    in_train = [event for event in training_passes(case, module) if event.training]
    if in_train:
        return not any(event.in_eval for event in in_train)
    return case.trace.frozen.isdisjoint(case.trace.module_parameters(module))


def called_module(source: Source, place: Place | None) -> str:
    """What is called at a place, as it is written, where that is a variable or an attribute; else ""."""
    call = source.at(place, cst.Call)
    named = call.func if call is not None else None
    while isinstance(named, cst.Attribute):
        named = named.value
    return source.code(call.func) if call is not None and isinstance(named, cst.Name) else ""


def switched_before_training(case: Case, module: int, *begun: Editing) -> list[Editing]:
    """The files with `train()` in front of each line whose passes of a module trained; none where one is not known.

    begun: files that are being changed already.
    """
    edited = {editing.path: editing for editing in begun}
    done: set[cst.CSTNode] = set()
    for event in training_passes(case, module):
        place = None if event.location is None else place_of(event.location)
        source = case.source(place)
        name = called_module(source, place) if source is not None else ""
        call = source.at(place, cst.Call) if source is not None else None
        line = source.line_of(call) if source is not None and call is not None else None
        if source is None or line is None or not name:
            return []
        if line not in done:
            done.add(line)
            edited.setdefault(source.path, Editing(source)).before(line, f"{name}.train()")
    return list(edited.values())


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


def apart(case: Case, source: Source, node: cst.CSTNode) -> Line | None:
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
