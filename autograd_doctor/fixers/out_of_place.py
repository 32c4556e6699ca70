"""AD501, AD503: make a new tensor instead of changing one that backward needs."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.called_layers import called
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source
from autograd_doctor.operations import VIEWS

_FILLING = frozenset({
    "bernoulli_", "cauchy_", "copy_", "detach_", "exponential_", "fill_", "geometric_", "index_put_", "log_normal_",
    "normal_", "random_", "requires_grad_", "uniform_", "zero_",
})  # fmt: skip
"""Changes of which there is no form that returns a new tensor, or another one."""
_ALIASES = VIEWS | {"chunk", "detach", "expand", "narrow", "select", "split", "t", "unbind", "view_as"}
_SIMPLE = cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BaseNumber, cst.UnaryOperation


def candidates(case: Case) -> Iterator[Candidate]:
    """The form of the operation that returns a new tensor, or a copy that is changed."""
    here, place = case.here(), case.finding.location
    if here is None or case.is_about_a_parameter:
        return
    augmented = here.at(place, cst.AugAssign)
    call, written = here.at(place, cst.Call), here.at(place, cst.Subscript)
    if augmented is not None:
        yield from _augmented(case, here, augmented)
    elif call is not None:
        yield from _called(case, here, call)
    elif written is not None:
        yield from _copied(case, here, written.value)


def _augmented(case: Case, here: Source, node: cst.AugAssign) -> Iterator[Candidate]:
    """`x += y` as `x = x + y`."""
    statement = here.statement_of(node)
    if isinstance(node.target, cst.Subscript):
        yield from _copied(case, here, node.target.value)
    elif statement is not None and _is_own(here, node.target):
        target, sign = here.code(node.target), here.code(node.operator).strip().removesuffix("=")
        value = here.code(node.value)
        if not isinstance(node.value, _SIMPLE) and not node.value.lpar:
            value = f"({value})"
        code = f"{target} = {target} {sign} {value}"
        yield case.candidate(f"make a new tensor: `{code}`", Editing(here).rewrite(statement, code))


def _called(case: Case, here: Source, call: cst.Call) -> Iterator[Candidate]:
    """`x.mul_(y)` as `x = x.mul(y)`, and a layer or a function that works in place without that."""
    flag = _in_place(here, call)
    if flag is not None and (flag[0] is not call or _is_set_anew(here, call)):
        yield case.candidate("leave `inplace=True` out", Editing(here).withhold(*flag))
    whole = call
    while (after := _applied_to(here, whole)) is not None:
        whole = after
    base = _base(whole)
    statement = here.parent(whole)
    if base is None or not isinstance(statement, cst.Expr):
        return
    target = _without_data(base)
    names = [called(each) for each in _chain(whole)]
    if _is_own(here, target) and not _FILLING.intersection(names):
        code = f"{here.code(target)} = {here.code(target)}{_new(here, whole)}"
        yield case.candidate(f"make a new tensor: `{code}`", Editing(here).rewrite(here.unit(statement), code))
    else:
        yield from _copied(case, here, base)


def _in_place(here: Source, call: cst.Call) -> tuple[cst.Call, cst.Arg] | None:
    """The argument by which a function, or the layer that is called, works in place."""
    for node in (call, here.value_of(call.func)):
        given = here.argument(node, 1, "inplace") if isinstance(node, cst.Call) else None
        if isinstance(node, cst.Call) and given is None and node is not call:
            given = here.argument(node, 0, "inplace")
        if isinstance(node, cst.Call) and given is not None and here.code(given.value) == "True":
            return node, given
    return None


def _is_set_anew(here: Source, call: cst.Call) -> bool:
    """Whether the variable that was changed is set to what the call returns, so that nobody sees it unchanged."""
    given, statement = here.argument(call, 0, "input"), here.statement_of(call)
    if given is None or statement is None:
        return False
    return not isinstance(given.value, cst.Name) or given.value.value in here.bound(statement)


def _applied_to(here: Source, call: cst.Call) -> cst.Call | None:
    """The call of a method on what a call returned."""
    attribute = here.parent(call)
    above = here.parent(attribute) if isinstance(attribute, cst.Attribute) else None
    return above if isinstance(above, cst.Call) and above.func is attribute else None


def _chain(call: cst.Call) -> list[cst.Call]:
    """The calls of methods, one on what the other returned, the first one first."""
    inner = call.func.value if isinstance(call.func, cst.Attribute) else None
    return [*(_chain(inner) if isinstance(inner, cst.Call) else []), call]


def _base(call: cst.Call) -> cst.BaseExpression | None:
    first = _chain(call)[0]
    base = first.func.value if isinstance(first.func, cst.Attribute) else None
    return base if isinstance(base, cst.Name | cst.Attribute | cst.Subscript) else None


def _new(here: Source, call: cst.Call) -> str:
    """The same calls of methods, each in the form that returns a new tensor."""
    found = ""
    for each in _chain(call):
        name = called(each)
        arguments = here.code(each).removeprefix(here.code(each.func))
        found += f".{name.removesuffix('_') if not name.endswith('__') else name}{arguments}"
    return found


def _copied(case: Case, here: Source, base: cst.BaseExpression) -> Iterator[Candidate]:
    """Change a copy: with `.data` left out, so that gradients are those of the new values, or as it is."""
    while isinstance(base, cst.Subscript):
        base = base.value
    target, statement = _without_data(base), here.statement_of(base)
    if statement is None or not _is_own(here, target):
        return
    code = f"{here.code(target)} = {here.code(target)}.clone()"
    if target is not base:
        changed = Editing(here).before(statement, code).replace(base, here.code(target))
        yield case.candidate(f"change a copy, in view of autograd: `{code}`", changed)
    yield case.candidate(f"change a copy: `{code}`", Editing(here).before(statement, code))


def _without_data(expression: cst.BaseExpression) -> cst.BaseExpression:
    is_data = isinstance(expression, cst.Attribute) and expression.attr.value == "data"
    return expression.value if is_data and isinstance(expression, cst.Attribute) else expression


def _is_own(here: Source, target: cst.BaseExpression) -> bool:
    """Whether nothing but a variable, or an attribute, is known to hold the tensor, so that another may take its place:
    no part of a larger one, nothing that the caller would look at."""
    if isinstance(target, cst.Attribute):
        return not here.is_imported(target)
    function = here.function(target)
    if not isinstance(target, cst.Name):
        return False
    before = [each for each in here.all(cst.Assign, inside=function) if _sets(here, each, target)]
    earlier = [each for each in before if here.span(each)[0] < here.span(target)[0]]
    if not earlier:
        return _is_returned(here, target)
    value = earlier[-1].value
    if isinstance(value, cst.Call):
        return called(value) not in _ALIASES
    return isinstance(value, cst.BinaryOperation | cst.UnaryOperation)


def _sets(here: Source, assign: cst.Assign, target: cst.Name) -> bool:
    return target.value in here.bound(assign) and here.function(assign) is here.function(target)


def _is_returned(here: Source, target: cst.Name) -> bool:
    """Whether a function gives back what was made of its argument."""
    function = here.function(target)
    returned = here.all(cst.Return, inside=function) if function is not None else iter(())
    return any(here.depends(each, {target.value}) for each in returned)


FIXER = Fixer(codes=("AD501", "AD503"), candidates=candidates, of_operation=True)
