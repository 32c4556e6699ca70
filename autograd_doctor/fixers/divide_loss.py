"""AD114: divide the loss by the number of backwards that a step sums up."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.cycle import ScalerUsed
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, operand


def candidates(case: Case) -> Iterator[Candidate]:
    """The number is that of the loop or of the condition by which the program steps; what is divided by another one
    already is divided by this one instead."""
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    loss = _loss(case, here, call) if here is not None and call is not None else None
    if here is None or call is None or loss is None:
        return
    for number in _numbers(case, here, call):
        if case.finding.evidence.get("divisor") == 1:
            divided = f"{operand(here.code(loss))} / {here.code(number)}"
            is_owner = isinstance(call.func, cst.Attribute) and loss is call.func.value
            editing = Editing(here).replace(loss, f"({divided})" if is_owner else divided)
            yield case.candidate(f"divide `{here.code(loss)}` by `{here.code(number)}` before `backward()`", editing)
        elif (division := _division(here, call, loss)) is not None:
            said = f"divide by `{here.code(number)}` instead of `{here.code(division.right)}`"
            yield case.candidate(said, Editing(here).replace(division.right, here.code(number)))


def _loss(case: Case, here: Source, call: cst.Call) -> cst.BaseExpression | None:
    """What goes backward, before a scaler scales it."""
    owner = call.func.value if isinstance(call.func, cst.Attribute) else None
    plain = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    roots = {ran.root.name for ran in case.trace.of(BackwardRan) if case.is_at(ran.location, case.finding.location)}
    found = owner if not plain or (owner is not None and here.code(owner) in roots) else plain[0]
    scaled = {use.location for use in case.trace.of(ScalerUsed) if use.call == "scale"}
    if (
        isinstance(found, cst.Call)
        and any(here.seen(location, cst.Call) is found for location in scaled)
        and found.args
    ):
        return found.args[0].value
    return found


def _numbers(case: Case, here: Source, call: cst.Call) -> Iterator[cst.BaseExpression]:
    """How many rounds come before a step, as the program says it where both are known."""
    place = case.related("the sum is used by this step")
    step = here.statement(place) if case.source(place) is here else None
    if step is None or here.function(step) is not here.function(call):
        return
    around = here.beside(call, step)
    if isinstance(around, cst.For) and isinstance(around.iter, cst.Call) and len(around.iter.args) == 1:
        yield from _fitting(case, here, around.iter.args[0].value, call)
    node = here.parent(step)
    while node is not None and not isinstance(node, cst.For | cst.While | cst.FunctionDef):
        if isinstance(node, cst.If):
            for operation in here.all(cst.BinaryOperation, inside=node.test):
                if isinstance(operation.operator, cst.Modulo):
                    yield from _fitting(case, here, operation.right, call)
            for compared in here.all(cst.ComparisonTarget, inside=node.test):
                if isinstance(compared.operator, cst.Equal):
                    yield from _fitting(case, here, compared.comparator, call)
        node = here.parent(node)


def _fitting(case: Case, here: Source, number: cst.BaseExpression, call: cst.Call) -> Iterator[cst.BaseExpression]:
    """A number that is known at the backward, and is not another one than was counted."""
    if isinstance(number, cst.Integer):
        known = number.evaluated_value == case.finding.evidence.get("micro_batches")
    else:
        is_named = isinstance(number, cst.Name | cst.Attribute)
        known = is_named and here.is_known(number, call) and here.is_given(number, call)
    if known:
        yield number


def _division(here: Source, call: cst.Call, loss: cst.BaseExpression) -> cst.BinaryOperation | None:
    """The only division on the way of the loss: in the call itself, or in what its variable is given."""
    made = [loss]
    for assign in here.all(cst.Assign):
        targets = [here.code(each.target) for each in assign.targets]
        if here.code(loss) in targets and here.function(assign) is here.function(call) and here.is_known(loss, assign):
            made.append(assign.value)
    found = [each for each in made if isinstance(each, cst.BinaryOperation) and isinstance(each.operator, cst.Divide)]
    return found[0] if len(found) == 1 else None


FIXER = Fixer(codes=("AD114",), candidates=candidates)
