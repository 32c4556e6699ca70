"""Programs written in place: `x = a op b` becomes `x = a; x op= b`, on the same line."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


def in_place(source: str) -> str:
    """A source in which each such assignment to a name is written in place, where that cannot change an object of
    another name: what is changed was just computed, or is called `x` itself, and the other operand does not ask for
    it. Whether torch takes the change is for a run to tell."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    written = source.encode()
    for node in sorted(_assignments(ast.parse(source)), key=lambda node: (-node.lineno, -node.col_offset)):
        target, value = node.targets[0], node.value
        assert isinstance(target, ast.Name)
        assert isinstance(value, ast.BinOp)
        left, right = (written[slice(*_span(side, starts))].decode() for side in (value.left, value.right))
        sign, name = _OPERATORS[type(value.op)], target.id
        before = "" if isinstance(value.left, ast.Name) else f"{name} = ({left}); "
        first, last = starts[node.lineno - 1] + node.col_offset, _span(node, starts)[1]
        written = written[:first] + f"{before}{name} {sign}= ({right})".encode() + written[last:]
    return written.decode()


def _span(node: ast.stmt | ast.expr, starts: list[int]) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset


def _assignments(tree: ast.Module) -> Iterator[ast.Assign]:
    """Assignments of one arithmetic operation to one name."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.value, ast.BinOp):
            continue
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name) or type(value.op) not in _OPERATORS:
            continue
        asked = {each.id for each in ast.walk(value.right) if isinstance(each, ast.Name)}
        is_itself = isinstance(value.left, ast.Name) and value.left.id == target.id
        is_new = isinstance(value.left, ast.Call | ast.BinOp)
        if target.id not in asked and (is_itself or is_new):
            yield node


def learn_the_same(source: str, twin: str) -> bool | None:
    """Whether a source and its twin end with the same values; None where torch does not let the twin be written so."""
    before, after = _learned(source), _learned(twin)
    return None if after is None else _are_equal(before, after)


def _learned(source: str) -> list[torch.Tensor] | None:
    """The tensors and parameters that a script ends with, None where it fails."""
    script: dict[str, Any] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, "train.py", "exec"), script)
        except Exception:
            return None
    modules = (each for each in script.values() if isinstance(each, nn.Module))
    return [
        *(each.detach() for each in script.values() if isinstance(each, torch.Tensor)),
        *(parameter.detach() for module in modules for parameter in module.parameters()),
    ]


def _are_equal(ones: list[torch.Tensor] | None, others: list[torch.Tensor]) -> bool:
    return ones is not None and len(ones) == len(others) and all(map(_is_same, ones, others))


def _is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))
