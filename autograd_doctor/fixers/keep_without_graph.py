"""AD301, AD302: keep results, and add them up, without their graphs."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement, operand


def candidates(case: Case) -> Iterator[Candidate]:
    """`detach()`, not `item()`: what reads it later finds a tensor as before, of whatever shape.

    What is added may be a plain number in other steps, which has no `detach()`: then `float()` takes both.
    """
    here = case.here()
    statement = here.statement(case.finding.location) if here is not None else None
    if here is not None and statement is not None:
        adds = case.finding.code == "AD302"
        found = list(_added(case, here, statement) if adds else _stored(case, here, statement))
        for expression in found:
            yield _kept(case, here, expression, f"{operand(here.code(expression))}.detach()")
        for expression in found[:1] if adds else ():
            yield _kept(case, here, expression, f"float({here.code(expression)})")
    if case.finding.code == "AD301":
        yield from _handed_on(case)


def _kept(case: Case, source: Source, expression: cst.BaseExpression, code: str) -> Candidate:
    description = f"keep `{code}` instead of `{source.code(expression)}`"
    return case.candidate(description, Editing(source).replace(expression, code), keeps=True)


def _stored(case: Case, source: Source, statement: Statement) -> Iterator[cst.BaseExpression]:
    """What a statement puts into a container: all of it, or of a tuple, a list or a dictionary the part that was seen
    to be made with a graph."""
    for part in source.all(cst.Expr, cst.Assign, cst.AugAssign, inside=statement):
        value = _only_argument(part) if isinstance(part, cst.Expr) else getattr(part, "value", None)
        if isinstance(value, cst.Tuple | cst.List | cst.Dict):
            yield from _made(case, source, value)
        elif isinstance(value, cst.BaseExpression):
            yield value


def _only_argument(part: cst.Expr) -> cst.BaseExpression | None:
    call = part.value
    if not isinstance(call, cst.Call) or len(call.args) != 1 or call.args[0].star:
        return None
    return call.args[0].value


def _made(case: Case, source: Source, value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Within a display: the variable to which the line that made the tensors gave them, or the only element."""
    made = (
        source.statement(case.related("are made here"))
        if source is case.source(case.related("are made here"))
        else None
    )
    bound = source.bound(made) if made is not None else set()
    elements = [each.value for each in getattr(value, "elements", ())]
    yield from (name for name in source.all(cst.Name, inside=value) if name.value in bound)
    if len(elements) == 1:
        yield elements[0]


def _handed_on(case: Case) -> Iterator[Candidate]:
    """Where the tensors are made and handed on in one expression, or given back among others by the function."""
    place = case.related("are made here")
    source = case.source(place)
    made = source.at(place, cst.BaseExpression) if source is not None else None  # type: ignore[type-abstract]
    if source is None or made is None:
        return
    found = [made] if isinstance(source.parent(made), cst.Arg | cst.BaseElement | cst.BaseDictElement) else []
    statement, function = source.statement_of(made), source.function(made)
    bound = source.bound(statement) if statement is not None else set()
    for given in source.all(cst.Return, inside=function) if function is not None else ():
        if isinstance(given.value, cst.Tuple | cst.List | cst.Dict):
            found += [name for name in source.all(cst.Name, inside=given.value) if name.value in bound]
    for expression in found:
        code = f"{operand(source.code(expression))}.detach()"
        yield case.candidate(f"hand on `{code}`", Editing(source).replace(expression, code), keeps=True)


def _added(case: Case, source: Source, statement: Statement) -> Iterator[cst.BaseExpression]:
    """What is added to the total: by the statement, or by one before it in its block that changes what is named."""
    block = source.block(statement)
    before = block[: block.index(statement)] if statement in block else []
    for each in (statement, *reversed(before)):
        for part in source.all(cst.AugAssign, cst.Assign, inside=each):
            if each is statement or _is_part_of(source, part, case.finding.subject):
                yield from _summand(source, part)


def _is_part_of(source: Source, part: cst.BaseSmallStatement, total: str) -> bool:
    """Whether a statement changes the total, or an element of the container that is named for it."""
    return any(
        _plain(target) == _plain(total) or _plain(target).startswith(f"{_plain(total)}[")
        for target in source.bound(part)
    )


def _plain(code: str) -> str:
    return code.replace('"', "'")


def _summand(source: Source, part: cst.BaseSmallStatement) -> Iterator[cst.BaseExpression]:
    if isinstance(part, cst.AugAssign) and not isinstance(part.value, cst.BaseNumber):
        yield part.value
    elif isinstance(part, cst.Assign) and len(part.targets) == 1:
        total = source.code(part.targets[0].target)
        if isinstance(part.value, cst.BinaryOperation) and source.code(part.value.left) == total:
            yield part.value.right
        if source.depends(part.value, {total}):
            yield part.value


FIXER = Fixer(codes=("AD301", "AD302"), candidates=candidates)
