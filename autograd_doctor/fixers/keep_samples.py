"""AD712: make new values of a sample, and leave those that are stored as they are."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement, operand

_OPERATORS = {
    cst.AddAssign: "+",
    cst.SubtractAssign: "-",
    cst.MultiplyAssign: "*",
    cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//",
    cst.ModuloAssign: "%",
    cst.PowerAssign: "**",
}


def candidates(case: Case) -> Iterator[Candidate]:
    """Where only operators write to a variable, new values take its name; else it is copied before the first write.
    The function must hand it on: who gave it waits for no change of it, then."""
    here = case.here()
    statement = here.statement(case.finding.location) if here is not None else None
    function = here.function(statement) if here is not None and statement is not None else None
    name = _written(here, statement) if here is not None and statement is not None else None
    if here is None or function is None or not name:
        return
    writes = [each for each in _statements(here, function) if _written(here, each) == name]
    if not _is_returned(here, function, name, writes[-1]):
        return
    plain = [each for each in writes if _otherwise(here, each, name)]
    if plain == writes:
        editing = Editing(here)
        for each in writes:
            editing.rewrite(each, _otherwise(here, each, name))
        yield case.candidate(f"make new values for `{name}`: `{_otherwise(here, writes[0], name)}`", editing)
    first = writes[0]
    if here.home(first) is function.body:
        for copy in ("clone", "copy"):
            code = f"{name} = {name}.{copy}()"
            yield case.candidate(f"copy the sample first: `{code}`", Editing(here).before(first, code))


def _statements(here: Source, function: cst.FunctionDef) -> Iterator[Statement]:
    for each in here.all(cst.AugAssign, cst.Expr, cst.Assign, inside=function):
        yield here.unit(each)


def _is_returned(here: Source, function: cst.FunctionDef, name: str, last: Statement) -> bool:
    """Whether what is returned, or yielded, behind a statement is made of a variable."""
    handed_on = (each for each in here.all(cst.Return, cst.Yield, inside=function) if here.span(each) > here.span(last))
    return any(here.code(used) == name for each in handed_on for used in here.all(cst.Name, inside=each))


def _part(statement: Statement) -> cst.CSTNode:
    return statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else statement


def _written(here: Source, statement: Statement) -> str:
    """The variable into whose values a statement writes: by an operator, by index, or by methods that end so; "" if it
    is none."""
    part = _part(statement)
    target: cst.CSTNode | None = None
    if isinstance(part, cst.AugAssign):
        target = part.target
    elif isinstance(part, cst.Assign) and isinstance(part.targets[0].target, cst.Subscript):
        target = part.targets[0].target
    elif isinstance(part, cst.Expr):
        target = part.value if isinstance(part.value, cst.Call) else None
    while isinstance(target, cst.Subscript | cst.Call):
        target = target.value if isinstance(target, cst.Subscript) else _changed(target)
    return here.code(target) if isinstance(target, cst.Name) else ""


def _changed(call: cst.Call) -> cst.BaseExpression | None:
    """What a method of torch changes that ends in an underscore."""
    method = call.func if isinstance(call.func, cst.Attribute) else None
    return method.value if method is not None and method.attr.value.endswith("_") else None


def _otherwise(here: Source, statement: Statement, name: str) -> str:
    """The same without writing to what was there, "" where there is no operator for it."""
    part = _part(statement)
    sign = _OPERATORS.get(type(part.operator)) if isinstance(part, cst.AugAssign) else None
    if sign is None or not isinstance(part, cst.AugAssign) or not isinstance(part.target, cst.Name):
        return ""
    value = here.code(part.value)
    return f"{name} = {name} {sign} {value if isinstance(part.value, cst.BaseNumber) else operand(value)}"


FIXER = Fixer(codes=("AD712",), candidates=candidates)
