"""Programs spelt otherwise: `x * a` is `torch.multiply(x, a)`, `x.sum(1)` is `torch.sum(x, 1)`.

Whether an operand is a tensor, no source tells: the program runs once, and what stood there is what counts.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import torch

Span = tuple[int, int, int, int]

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "pow", ast.MatMult: "matmul",
}  # fmt: skip
_AFTER_A_NUMBER: dict[type[ast.AST], str] = {ast.Add: "add", ast.Sub: "rsub", ast.Mult: "multiply"}
_OTHER_NAMES = {
    "abs": "absolute", "cat": "concat", "clamp": "clip", "div": "divide", "log1p": "special.log1p",
    "log_softmax": "special.log_softmax", "logsumexp": "special.logsumexp", "movedim": "moveaxis", "mul": "multiply",
    "neg": "negative", "sigmoid": "special.expit", "softmax": "special.softmax", "sub": "subtract",
    "transpose": "swapaxes",
}  # fmt: skip
"""What torch calls the same."""
_METHODS = frozenset({
    "add", "all", "amax", "amin", "any", "argmax", "argmin", "argsort", "bmm", "chunk", "clamp_min", "clone", "cos",
    "cumsum", "detach", "diag", "dot", "eq", "exp", "flatten", "gather", "ge", "gt", "index_select", "isfinite",
    "isnan", "le", "lerp", "log", "log10", "log2", "lt", "masked_fill", "matmul", "max", "mean", "median", "min", "mm",
    "ne", "norm", "outer", "pow", "prod", "relu", "roll", "rsqrt", "select", "sign", "sin", "sort", "split", "sqrt",
    "square", "squeeze", "std", "sum", "t", "tanh", "topk", "tril", "triu", "unbind", "unsqueeze", "var",
})  # fmt: skip
"""What is a function and a method of a tensor, with the same arguments."""
_HOMES = ("torch", "F", "functional", "nn.functional", "torch.nn.functional")
_SEEN = "_seen_here"


def respelt(source: str) -> str:
    """A source in which operations on tensors are spelt otherwise, each on the line that it stands on; raises what the
    program raises."""
    kinds: dict[Span, set[bool]] = defaultdict(set)

    def seen(span: Span, value: Any) -> Any:
        kinds[span].add(isinstance(value, torch.Tensor))
        return value

    watched = ast.fix_missing_locations(_Watching().visit(ast.parse(source)))
    exec(compile(watched, "train.py", "exec"), {"__name__": "__main__", _SEEN: seen})
    spelling = _Spelling({span for span, found in kinds.items() if found == {True}})
    lines = source.split("\n")
    for expression in sorted(_whole_on_a_line(ast.parse(source)), key=span_of, reverse=True):
        line, first, _, last = span_of(expression)
        new = ast.unparse(spelling.visit(expression))
        if spelling.has_changed():
            written = lines[line - 1].encode()
            lines[line - 1] = (written[:first] + new.encode() + written[last:]).decode()
    return "\n".join(lines)


class _Watching(ast.NodeTransformer):
    """Has each operand pass by."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        left, right = _passing(node.left), _passing(node.right)
        self.generic_visit(node)
        node.left, node.right = left(node.left), right(node.right)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        operand = _operand(node)
        passing = _passing(operand) if operand is not None else None
        self.generic_visit(node)
        if passing is not None and _home(node) is not None:
            node.args[0] = passing(node.args[0])
        elif passing is not None and isinstance(node.func, ast.Attribute):
            node.func.value = passing(node.func.value)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node  # parts of it say nothing of where they stand


class _Spelling(ast.NodeTransformer):
    """Writes operations otherwise. tensors: where operands stand that were tensors whenever the program came there."""

    def __init__(self, tensors: set[Span]) -> None:
        self._tensors = tensors
        self._changes = 0

    def has_changed(self) -> bool:
        """Since it was last asked."""
        changes, self._changes = self._changes, 0
        return changes > 0

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        kind = type(node.op)
        is_tensor = [span_of(side) in self._tensors for side in (node.left, node.right)]
        is_constant = isinstance(node.left, ast.Constant)
        self.generic_visit(node)
        if is_tensor[0] and kind in _OPERATORS:
            return self._call(_OPERATORS[kind], node.left, node.right)
        if is_tensor[1] and is_constant and kind in _AFTER_A_NUMBER:
            return self._call(_AFTER_A_NUMBER[kind], node.right, node.left)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        operand, home = _operand(node), _home(node)
        is_tensor = operand is not None and span_of(operand) in self._tensors
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute):
            return node
        name = node.func.attr
        if name in _OTHER_NAMES and (is_tensor or home == "torch"):
            return self._call(
                _OTHER_NAMES[name], *([] if home else [node.func.value]), *node.args, keywords=node.keywords
            )
        if name in _METHODS and is_tensor and home:
            self._changes += 1
            return ast.Call(ast.Attribute(node.args[0], name), node.args[1:], node.keywords)
        if name in _METHODS and is_tensor:
            return self._call(name, node.func.value, *node.args, keywords=node.keywords)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def _call(self, name: str, *operands: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.Call:
        self._changes += 1
        return ast.Call(ast.parse(f"torch.{name}", mode="eval").body, list(operands), keywords or [])


def _operand(call: ast.Call) -> ast.expr | None:
    """What a method is of, or a function of torch is first given."""
    if _home(call) is not None:
        return call.args[0] if call.args and not isinstance(call.args[0], ast.Starred) else None
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _home(call: ast.Call) -> str | None:
    """The namespace of a function of torch, as it is written."""
    home = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else None
    return home if home in _HOMES else None


def _passing(node: ast.expr) -> Any:
    span = ast.Tuple([ast.Constant(each) for each in span_of(node)], ast.Load())
    return lambda value: ast.Call(ast.Name(_SEEN, ast.Load()), [span, value], [])


def span_of(node: ast.expr | ast.stmt) -> Span:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _whole_on_a_line(node: ast.AST) -> Iterator[ast.expr]:
    """The largest expressions that begin and end on one line."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and child.lineno == child.end_lineno:
            if not isinstance(child, ast.Name | ast.Constant | ast.JoinedStr):
                yield child
        else:
            yield from _whole_on_a_line(child)
