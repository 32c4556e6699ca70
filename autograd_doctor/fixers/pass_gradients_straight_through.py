"""AD202: let gradients go straight through what has derivative zero everywhere."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, operand
from autograd_doctor.operations import STEPS


def candidates(case: Case) -> Iterator[Candidate]:
    """`x + (x.round() - x).detach()`; what would be computed three times so is given to the variable first."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    if here is None or call is None or case.finding.evidence.get("operation") not in STEPS:
        return
    rounded = _operand(here, call)
    if rounded is None:
        return
    code = here.code(rounded)
    if next(here.all(cst.Call, cst.Await, cst.NamedExpr, inside=rounded), None) is None:
        told = _through(code, here.code(call))
        whole = told if isinstance(here.parent(call), cst.Assign | cst.Return | cst.Arg) else f"({told})"
        yield case.candidate(f"pass `{told}` on", Editing(here).replace(call, whole))
        return
    assign = here.parent(call)
    statement = here.line_of(call)
    is_alone = isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1
    if isinstance(assign, cst.Assign) and statement is not None and is_alone and len(assign.targets) == 1:
        name = here.code(assign.targets[0].target)
        if isinstance(assign.targets[0].target, cst.Name):
            told = _through(name, here.code(call).replace(code, name, 1))
            yield case.candidate(
                f"pass `{told}` on", Editing(here).replace(call, code).after(statement, f"{name} = {told}")
            )


def _operand(source: Source, call: cst.Call) -> cst.BaseExpression | None:
    """What is rounded: the tensor whose method it is, or the first argument."""
    if not isinstance(call.func, cst.Attribute):
        return None
    if source.code(call.func.value) != source.torch():
        return call.func.value if not call.args else None
    return call.args[0].value if len(call.args) == 1 and call.args[0].keyword is None else None


def _through(code: str, step: str) -> str:
    return f"{code} + ({step} - {operand(code)}).detach()"


FIXER = Fixer(codes=("AD202",), candidates=candidates)
