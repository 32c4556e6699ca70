"""AD204, AD205: build the optimizer when the model has its final form."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement
from autograd_doctor.fixing.training import trains
from autograd_doctor.report import Place


def candidates(case: Case) -> Iterator[Candidate]:
    """Behind the last statement, before training, that makes something of the model; with what is made of it."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    line = here.line_of(call) if here is not None and call is not None else None
    if here is None or call is None or not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return
    following, moved = _until_used(case, here, line)
    changing = [each for each in following if each not in moved and _changes(case, here, call, each)]
    if not changing or case.finding.severity == "info":
        return
    last = changing[-1]
    behind = following.index(last)
    editing = Editing(here)
    staying = [each for each in following[: behind + 1] if each not in moved]
    made = [each for each in _made_for(here, call, line) if not _is_used(here, each, line, staying)]
    for each in (*made, line, *(each for each in following[:behind] if each in moved)):
        editing.move(each, after=last)
    yield case.candidate(f"build the optimizer after `{here.title(last)}`", editing)


def _until_used(case: Case, source: Source, line: Statement) -> tuple[list[Statement], list[Statement]]:
    """The statements behind one in its block, up to what trains or uses what was built; and those that make something
    of it."""
    block = source.block(line)
    places = [each.location for each in case.finding.related if "runs the module" in each.message]
    found: list[Statement] = []
    built: list[Statement] = []
    for each in block[block.index(line) + 1 :]:
        depends = source.depends(each, source.bound(line, *built))
        if trains(case, source, each) or any(_holds(case, source, each, place) for place in places):
            break
        if depends and not _assigns(each):
            break
        found.append(each)
        built += [each] * depends
    return found, built


def _made_for(source: Source, call: cst.Call, line: Statement | None) -> list[Statement]:
    """The statement before one, in its block, that makes the list of parameters which it takes."""
    given = call.args[0].value if call.args else None
    if line is None or not isinstance(given, cst.Name):
        return []
    block = source.block(line)
    before = [each for each in block[: block.index(line)] if given.value in source.bound(each)]
    return [each for each in before[-1:] if _assigns(each)]


def _is_used(source: Source, made: Statement, line: Statement, staying: list[Statement]) -> bool:
    """Whether something but a line needs what is made before it: what lies between them, or stays behind it."""
    block = source.block(line)
    between = block[block.index(made) + 1 : block.index(line)]
    return any(source.depends(each, source.bound(made)) for each in (*between, *staying))


def _assigns(statement: Statement) -> bool:
    parts = statement.body if isinstance(statement, cst.SimpleStatementLine) else [statement]
    return all(isinstance(part, cst.Assign | cst.AnnAssign) for part in parts)


def _changes(case: Case, source: Source, call: cst.Call, statement: Statement) -> bool:
    """Whether parameters were seen to be made in a statement, or, where others took their place, it asks for what the
    optimizer was built from."""
    made = [each.location for each in case.finding.related if " made " in each.message]
    if any(_holds(case, source, statement, place) for place in made):
        return True
    asked = [*(arg.value for arg in call.args[:1]), *_made_for(source, call, source.line_of(call))]
    names = {name.value for each in asked for name in source.all(cst.Name, inside=each)}
    return case.finding.code == "AD205" and any(name.value in names for name in source.all(cst.Name, inside=statement))


def _holds(case: Case, source: Source, statement: Statement, place: Place) -> bool:
    return case.source(place) is source and source.holds(statement, place)


FIXER = Fixer(codes=("AD204", "AD205"), candidates=candidates, same_loss=True)
