"""AD501: compute a loss with the weights that the step before its backward has made."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement


def candidates(case: Case) -> Iterator[Candidate]:
    """Move the statement that computes it behind the step, where that means the same for all others."""
    here, needed = case.here(), case.related("needed by this backward")
    step = here.statement(case.finding.location) if here is not None else None
    backward = here.at(needed, cst.Call) if here is not None and case.source(needed) is here else None
    if here is None or step is None or backward is None or case.finding.evidence.get("operation") != "step":
        return
    root = backward.func.value if isinstance(backward.func, cst.Attribute) else None
    block = here.block(step)
    before = block[: block.index(step)] if step in block else []
    made = [each for each in before if isinstance(root, cst.Name) and here.bound(each) == {root.value}]
    if made and _can_move(here, made[-1], before[before.index(made[-1]) + 1 :]):
        name = f"`{here.code(root)}`" if root is not None else "the loss"
        yield case.candidate(f"compute {name} behind the step", Editing(here).move(made[-1], after=step))


def _can_move(here: Source, statement: Statement, between: list[Statement]) -> bool:
    """Whether a single assignment neither makes what statements behind it ask for, nor asks for what they make."""
    is_plain = isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], cst.Assign)
    used = any(here.depends(each, here.bound(statement)) for each in between)
    return is_plain and not used and not here.depends(statement, here.bound(*between))


FIXER = Fixer(codes=("AD501",), candidates=candidates)
