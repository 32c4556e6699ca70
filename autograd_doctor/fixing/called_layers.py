"""Calls of functions and of layers, by the call that was seen: which argument is what, and where a layer was built."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from autograd_doctor.fixing.source_tree import Source


def called(call: cst.Call) -> str:
    """The last name of what is called: "softmax" of `torch.softmax(x)`, and of `x.softmax()`."""
    func = call.func
    if isinstance(func, cst.Attribute):
        return func.attr.value
    return func.value if isinstance(func, cst.Name) else ""


def built(source: Source, call: cst.Call, names: Collection[str]) -> cst.Call | None:
    """Where the layer that a call of a module ended in was built: one of torch's classes with these names.

    It is the module itself, if nothing else calls it, or the last one of a `Sequential`.
    """
    found = _last(source, source.value_of(call.func), names)
    is_layer = found is not None and found is source.value_of(call.func)
    written = source.code(call.func)
    is_alone = [source.code(each.func) for each in source.all(cst.Call)].count(written) == 1
    return found if is_alone or not is_layer else None


def _last(source: Source, node: cst.CSTNode | None, names: Collection[str]) -> cst.Call | None:
    if not isinstance(node, cst.Call) or not source.is_imported(node.func):
        return None
    if called(node) in names:
        return node
    is_plain = node.args and not any(each.star or each.keyword for each in node.args)
    return _last(source, node.args[-1].value, names) if called(node) == "Sequential" and is_plain else None


def input_of(source: Source, call: cst.Call) -> cst.BaseExpression | None:
    """The tensor that an operation is called on, as a function, as a method, or as a layer with one argument."""
    if is_method(source, call):
        return call.func.value if isinstance(call.func, cst.Attribute) else None
    given = source.argument(call, 0, "input")
    return given.value if given is not None else None


def is_method(source: Source, call: cst.Call) -> bool:
    """Whether an operation is called as a method of the tensor: `x.softmax(1)`."""
    return isinstance(call.func, cst.Attribute) and not source.is_imported(call.func)
