"""AD202, AD217: join tensors, instead of making a new one of their values."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, operand
from autograd_doctor.report import Place


def candidates(case: Case) -> Iterator[Candidate]:
    """In the place of the `torch.tensor` that took them, or took a list into which they went."""
    place = case.related("the graph ends here", "left the graph here") or case.finding.location
    here = case.source(place)
    if here is None or place is None or case.finding.confidence == "low":
        return
    for call in _rebuilds(here, place):
        if _is_plain(call) and not here.serves_several(call) and next(here.all(cst.Comment, inside=call), None) is None:
            yield from _joined(case, here, place, call)
            return


def _joined(case: Case, source: Source, place: Place, call: cst.Call) -> Iterator[Candidate]:
    """By `stack`, which is right for scalars; tensors of one element in a list need `cat`."""
    taken = call.args[0].value
    module = source.code(call.func).removesuffix("tensor")
    stack = f"{module}stack"
    joined = _stacked(source, taken, stack)
    for how in (stack, f"{module}cat"):
        editing = Editing(source)
        for appended in _appended(source, place, taken):
            editing.replace(appended, _stacked(source, appended, stack))
        inner = joined.removeprefix(f"{stack}(").removesuffix(")") if joined.startswith(f"{stack}(") else joined
        yield case.candidate(f"join the tensors by `{how}`", editing.replace(call, f"{how}({inner})"))


def _rebuilds(source: Source, place: Place) -> Iterator[cst.Call]:
    """The calls of `torch.tensor` at a place, around it, or on a list to which a statement there adds."""
    at = source.at(place, cst.Call)
    if at is None:
        return
    around: cst.CSTNode | None = at
    while around is not None and not isinstance(around, cst.BaseCompoundStatement):
        if isinstance(around, cst.Call) and _is_tensor(source, around):
            yield around
            return
        around = source.parent(around)
    name = _list_added_to(source, at)
    inside = source.function(at) or source.module
    for call in source.all(cst.Call, inside=inside):
        if name and _is_tensor(source, call) and _is_plain(call) and source.code(call.args[0].value) == name:
            yield call


def _is_plain(call: cst.Call) -> bool:
    """Whether a call gives nothing but what is joined; that it is to require a gradient goes without saying then."""
    if not call.args or call.args[0].star or call.args[0].keyword is not None:
        return False
    return all(arg.keyword is not None and arg.keyword.value == "requires_grad" for arg in call.args[1:])


def _is_tensor(source: Source, call: cst.Call) -> bool:
    return source.code(call.func) in source.names_of("torch", "tensor")


def _list_added_to(source: Source, node: cst.CSTNode) -> str:
    """The list to which the statement of a node appends what it holds, "" if it does not."""
    statement = source.around(node, cst.Expr)
    call = statement.value if statement is not None else None
    is_append = isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "append"
    if not is_append or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return ""
    return source.code(call.func.value) if len(call.args) == 1 else ""


def _appended(source: Source, place: Place, taken: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What is added to the list that is taken."""
    at = source.at(place, cst.Call)
    statement = source.around(at, cst.Expr) if at is not None else None
    if (
        at is not None
        and statement is not None
        and isinstance(taken, cst.Name)
        and _list_added_to(source, at) == taken.value
    ):
        call = cst.ensure_type(statement.value, cst.Call)
        yield call.args[0].value


def _stacked(source: Source, node: cst.BaseExpression, stack: str) -> str:
    """Lists, however deep, as tensors; and what is taken out of tensors as it was there."""
    if isinstance(node, cst.List):
        inner = ", ".join(_stacked(source, each.value, stack) for each in node.elements)
        return f"{stack}([{inner}])"
    if isinstance(node, cst.ListComp):
        return f"{stack}([{_stacked(source, node.elt, stack)}{source.code(node.for_in)}])"
    return _with_graph(source, node)


def _with_graph(source: Source, node: cst.BaseExpression) -> str:
    """An expression without the `.item()` of what it holds."""
    code = source.code(node)
    taken = [call for call in source.all(cst.Call, inside=node) if _takes_out(call)]
    for call in taken:
        kept = cst.ensure_type(call.func, cst.Attribute).value
        code = code.replace(source.code(call), operand(source.code(kept)))
    return code


def _takes_out(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "item" and not call.args


FIXER = Fixer(codes=("AD202", "AD217"), candidates=candidates, of_operation=True)
