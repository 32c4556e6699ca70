"""AD604, AD616: give two tensors of as many values the same shape before they meet."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.losses import PairsReduced
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.shapes import extra_dimension
from autograd_doctor.fixing.source_tree import Source, Statement, operand


def candidates(case: Case) -> Iterator[Candidate]:
    """Take the dimension of size one away from one operand, or give it to the other."""
    here, pairs = case.here(), _pairs(case)
    if here is None or pairs is None:
        return
    left, right = _operands(here, here.at(case.finding.location, cst.Call, cst.BinaryOperation, cst.Comparison))
    if left is None or right is None:
        return
    sides = [(left, pairs.left.shape, pairs.right.shape), (right, pairs.right.shape, pairs.left.shape)]
    changes = [
        (expression, dim) for expression, own, other in sides if (dim := extra_dimension(own, other)) is not None
    ]
    for expression, dim in changes:
        yield from _changed(case, here, expression, f"squeeze({dim})")
    for expression, own, other in sides:
        if (dim := extra_dimension(other, own)) is not None:
            yield from _changed(case, here, expression, f"unsqueeze({dim})")
    for expression, dim in changes:
        made = _assigned(case, here, expression)
        if made is not None:
            code = f"{here.code(expression)} = {here.code(expression)}.squeeze({dim})"
            yield case.candidate(f"set `{code}` where it is made", Editing(here).after(made, code))


def _assigned(case: Case, here: Source, expression: cst.BaseExpression) -> Statement | None:
    """The statement of the same function in which a variable was seen to get the tensor that it holds."""
    if not isinstance(expression, cst.Name):
        return None
    made = [each.location for each in case.finding.related if "this has shape" in each.message]
    statements = [here.statement(place) for place in made if case.source(place) is here]
    for each in statements:
        is_same = each is not None and here.function(each) is here.function(expression)
        if is_same and isinstance(each, cst.SimpleStatementLine) and here.bound(each) == {expression.value}:
            return each
    return None


def _pairs(case: Case) -> PairsReduced | None:
    """What the finding is about, where the operands had dimensions alike whenever they were seen."""
    place = case.finding.location
    seen = [each for each in case.trace.of(PairsReduced) if case.begins_at(each.location, place)]
    ranks = {
        (extra_dimension(each.left.shape, each.right.shape), extra_dimension(each.right.shape, each.left.shape))
        for each in seen
    }
    return seen[0] if len(ranks) == 1 else None


def _operands(here: Source, node: cst.CSTNode | None) -> tuple[cst.BaseExpression | None, cst.BaseExpression | None]:
    """The two tensors that an operator, a method or a function takes, as they are written."""
    if isinstance(node, cst.BinaryOperation):
        return node.left, node.right
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        return node.left, node.comparisons[0].comparator
    if not isinstance(node, cst.Call):
        return None, None
    given = [each for each in node.args if each.keyword is None and not each.star]
    named = {each.keyword.value: each.value for each in node.args if each.keyword is not None}
    values = [each.value for each in given]
    if len(values) < len([each for each in node.args if each.keyword is None]):
        return None, None
    if len(values) == 1 and not {"input", "target", "other"} & named.keys() and isinstance(node.func, cst.Attribute):
        return node.func.value, values[0]
    values += [named[name] for name in ("input", "target", "other") if name in named]
    return (values[0], values[1]) if len(values) > 1 else (None, None)


def _changed(case: Case, here: Source, expression: cst.BaseExpression, call: str) -> Iterator[Candidate]:
    """Wherever the statement has it as an operand, for it is the same tensor there; then in this one place."""
    code = operand(here.code(expression))
    said = f"give both operands the same shape: `{code}.{call}`"
    uses = _uses(here, expression)
    if len(uses) > 1:
        editing = Editing(here)
        for each in uses:
            editing.replace(each, f"{code}.{call}")
        yield case.candidate(f"{said} in {len(uses)} places", editing)
    yield case.candidate(said, Editing(here).replace(expression, f"{code}.{call}"))


def _uses(here: Source, expression: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Operands and arguments of the same statement that are written like this one, itself among them; none where what
    it calls may give another tensor each time."""
    statement = here.statement_of(expression)
    if statement is None or isinstance(statement, cst.BaseCompoundStatement):
        return []
    if next(here.all(cst.Call, inside=expression), None) is not None:
        return []
    alike = (each for each in here.all(type(expression), inside=statement) if here.code(each) == here.code(expression))
    return [each for each in alike if _is_operand(each, here.parent(each))]


def _is_operand(node: cst.BaseExpression, above: cst.CSTNode | None) -> bool:
    return isinstance(above, cst.BinaryOperation) or (isinstance(above, cst.Arg) and above.value is node)


FIXER = Fixer(codes=("AD604", "AD616"), candidates=candidates, of_operation=True)
