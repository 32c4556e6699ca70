"""AD502: change leaves in place where no graph is recorded."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement


def candidates(case: Case) -> Iterator[Candidate]:
    """Put the statement under `no_grad`, together with those behind it that do the same to other leaves."""
    here = case.here()
    first = here.statement(case.finding.location) if here is not None else None
    if here is None or not isinstance(first, cst.SimpleStatementLine) or not _is_all(here, first, case):
        return
    editing = Editing(here)
    together = [first, *_alike(here, first, _leaves(case))]
    names = ", ".join(f"`{target}`" for each in together for target in sorted(_changed(here, each)))
    header = f"with {editing.torch()}.no_grad():"
    yield case.candidate(f"change {names} under `no_grad`", editing.wrap(together, header))


def _is_all(here: Source, statement: cst.SimpleStatementLine, case: Case) -> bool:
    """Whether changing the leaf is all that a statement does, so that nothing else loses its graph."""
    node, place = statement.body[0], case.finding.location
    if isinstance(node, cst.AugAssign):
        return here.at(place, cst.AugAssign) is node
    return isinstance(node, cst.Expr | cst.Assign) and bool(_changed(here, statement))


def _leaves(case: Case) -> set[str]:
    """The leaves that require gradients, by the names that the line that raised has for them."""
    own = [frame for raised in case.trace.of(ProgramRaised) for frame in raised.frames if frame.own]
    return {each.name for frame in own[-1:] for each in frame.tensors if each.is_leaf and each.requires_grad}


def _alike(here: Source, first: Statement, leaves: set[str]) -> list[Statement]:
    """The statements behind one that change other leaves in place, with those between them that clear gradients."""
    found, waiting = list[Statement](), list[Statement]()
    block = here.block(first)
    for each in block[block.index(first) + 1 :]:
        waiting.append(each)
        changed = _changed(here, each)
        if changed & leaves:
            found += waiting
            waiting = []
        elif not _clears(here, each, leaves):
            break
    return found


def _changed(here: Source, statement: Statement) -> set[str]:
    """What a statement changes in place."""
    node = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1 else None
    if isinstance(node, cst.AugAssign):
        return {here.code(node.target)}
    if isinstance(node, cst.Assign):
        return {here.code(each.target.value) for each in node.targets if isinstance(each.target, cst.Subscript)}
    call = node.value if isinstance(node, cst.Expr) else None
    return (
        {here.code(call.func.value)} if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else set()
    )


def _clears(here: Source, statement: Statement, leaves: set[str]) -> bool:
    gradients = {f"{leaf}.grad" for leaf in leaves}
    is_clearing = bool(_changed(here, statement) & gradients) or bool(here.bound(statement) & gradients)
    return is_clearing and isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1


FIXER = Fixer(codes=("AD502",), candidates=candidates)
