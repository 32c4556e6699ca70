"""Programs for the CPU moved to the stand-in as people write it: `.to("stand_in")` behind what is to lie there.

What that is, no source tells: the program runs once, with modules on the device, and where a tensor meets those of the
device, it is moved where the program hands it on.
"""

from __future__ import annotations

import ast
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from tests.respelt import Span, span_of

_PROGRAM = "train.py"
_DEVICE = "stand_in"
_TO_IT, _FROM_IT = f".to('{_DEVICE}')", ".cpu()"  # quotes that most f-strings leave free
_PASSED = "_passed_here"
_SECONDS = 10.0
"""What a program has not come to by then stays as it is."""
_CHOOSE = frozenset({"accelerate", "lightning", "pytorch_lightning", "transformers"})
"""Libraries that choose a device by themselves."""
_GOES_BETWEEN = {
    *("to", "cpu", "copy_", "set_", "__get__", "__set__", "__setitem__", "type", "type_as"),
    "_has_compatible_shallow_copy_type",
}
"""Functions that take tensors of two devices."""
_NEEDS_THE_HOST = {"numpy", "__array__"}
_ATOMS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)


def moved(source: str) -> str:
    """A source whose models, and tensors that meet them, are moved to the device, as far as the program comes."""
    from tests.stand_in import device as _  # noqa: F401  (in a process of its own, where it stays)

    tree = ast.parse(source)
    if _CHOOSE.intersection(_imported(tree)):
        return source
    sys.argv = [_PROGRAM]
    passing = ast.fix_missing_locations(_Passing().visit(ast.parse(source)))
    moves = _Moves(tree)
    with moves, contextlib.suppress(Exception, SystemExit):  # what it raises is a matter of its check
        exec(compile(passing, _PROGRAM, "exec"), {"__name__": "__main__", _PASSED: moves.passed})
    return _with(source, moves.changes())


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (name.partition(".")[0] for name in names)


class Passed(NamedTuple):
    """Where a tensor was handed on, and in the `forward` of how many modules."""

    span: Span
    depth: int


class _Passing(ast.NodeTransformer):
    """Has what is handed on pass by: operands, arguments, and whatever a call returns."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        ours = [child for child in ast.iter_child_nodes(node) if _is_handed_on(node, child)]
        spans = {id(child): span_of(child) for child in ours}
        super().generic_visit(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                value[:] = [self._passing(each, spans) for each in value]
            elif isinstance(value, ast.expr):
                setattr(node, name, self._passing(value, spans))
        return node

    def _passing(self, node: Any, spans: dict[int, Span]) -> Any:
        if id(node) not in spans:
            return node
        span = ast.Tuple([ast.Constant(each) for each in spans[id(node)]], ast.Load())
        return ast.Call(ast.Name(_PASSED, ast.Load()), [span, node], [])


def _is_handed_on(parent: ast.AST, node: ast.AST) -> bool:
    if not isinstance(node, (*_ATOMS, ast.BinOp, ast.UnaryOp, ast.Compare)):
        return False
    if isinstance(getattr(node, "ctx", ast.Load()), ast.Store | ast.Del) or isinstance(parent, ast.Delete):
        return False
    if isinstance(parent, ast.Call) and node is parent.func and not isinstance(node, ast.Call):
        return False  # a method, and its tensor is what passes
    return not isinstance(parent, ast.FunctionDef | ast.ClassDef | ast.AnnAssign | ast.arg | ast.Assign) or (
        isinstance(node, ast.Call) and isinstance(parent, ast.Assign)
    )


class _Moves(TorchFunctionMode):
    """Moves what must lie on the device, and remembers where it was written."""

    def __init__(self, program: ast.Module) -> None:
        super().__init__()
        self._written = {span_of(node): node for node in ast.walk(program) if isinstance(node, ast.expr)}
        self._operands = {
            span_of(node): set(map(span_of, _operands(node)))
            for node in ast.walk(program)
            if isinstance(node, ast.expr | ast.AugAssign)
        }
        self._until = time.monotonic() + _SECONDS
        self._found: dict[Span, str] = {}

    def changes(self) -> dict[Span, str]:
        """What is to stand behind an expression."""
        return self._found

    def passed(self, span: Span, value: Any) -> Any:
        if time.monotonic() > self._until:
            raise SystemExit
        if isinstance(value, nn.Module) and isinstance(self._written[span], ast.Call) and not _within_a_module():
            return self._module(span, value)
        if isinstance(value, torch.Tensor):
            if value.device.type == "cpu" and value.is_leaf and value.requires_grad and not _within_a_module():
                value = self._leaf(span, value)
            value.__dict__.setdefault("_passed", []).append(Passed(span, _depth()))
        return value

    def _module(self, span: Span, module: nn.Module) -> nn.Module:
        tensors = [*module.parameters(), *module.buffers()]
        parts = [each for each in self._found if _is_within(each, span)]
        if parts or any(each.device.type == "cpu" for each in tensors):
            for part in parts:
                del self._found[part]
            self._found[span] = _TO_IT
            module.to(_DEVICE)
        return module

    def _leaf(self, span: Span, leaf: torch.Tensor) -> torch.Tensor:
        """A tensor that learns must be made there: moved, it would be another."""
        call = self._written[span]
        if not isinstance(call, ast.Call):
            return leaf
        if call.args and ast.unparse(call.func).endswith("Parameter"):
            self._found[span_of(call.args[0])] = _TO_IT
        elif any(keyword.arg == "requires_grad" for keyword in call.keywords):
            self._found[span] = f", device='{_DEVICE}')"
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "requires_grad_":
            self._found[span_of(call.func.value)] = _TO_IT
        else:
            return leaf
        there = leaf.detach().to(_DEVICE)
        return nn.Parameter(there) if isinstance(leaf, nn.Parameter) else there.requires_grad_()

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any = (), keywords: Any = None
    ) -> Any:
        keywords = keywords or {}
        name = getattr(function, "__name__", "")
        tensors = list(_tensors((arguments, keywords)))
        on_it = [each for each in tensors if each.device.type == _DEVICE]
        if on_it and name in _NEEDS_THE_HOST:
            return function(*self._brought(arguments, on_it, _FROM_IT), **keywords)
        rest = [each for each in tensors if each.device.type == "cpu" and each.dim() > 0]
        if name == "__getitem__" and arguments[0].device.type == _DEVICE:
            return function(*arguments, **keywords)  # indices may lie on the host
        if not on_it or not rest or name in _GOES_BETWEEN:
            return function(*arguments, **keywords)
        if arguments[0] is rest[0] and (name.endswith("_") or name == "__getitem__"):
            return function(*self._brought(arguments, on_it, _FROM_IT), **self._brought(keywords, on_it, _FROM_IT))
        return function(*self._brought(arguments, rest, _TO_IT), **self._brought(keywords, rest, _TO_IT))

    def _brought(self, values: Any, chosen: list[torch.Tensor], way: str) -> Any:
        """The same with the chosen tensors elsewhere, which is noted where they were handed on."""
        if isinstance(values, torch.Tensor) and any(values is each for each in chosen):
            if span := self._last(values.__dict__.get("_passed", [])):
                self._found[span] = way
            return values.cpu() if way == _FROM_IT else values.to(_DEVICE)
        if isinstance(values, dict):
            return {key: self._brought(value, chosen, way) for key, value in values.items()}
        if type(values) in (list, tuple):
            return type(values)(self._brought(value, chosen, way) for value in values)
        return values

    def _last(self, passed: list[Passed]) -> Span | None:
        """Where a tensor was handed to the operation, or the outermost module, that the program is in."""
        frames = list(_frames())
        outside = next(frame for frame in frames if _depth(frame) == 0)
        operands = self._operands.get(_current(outside), set())
        found = [each for each in passed if each.span in operands] or [each for each in passed if each.depth]
        return found[-1].span if found else None


def _operands(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword | ast.Tuple | ast.List):
            yield from _operands(child)
        elif isinstance(child, ast.expr):
            yield child
            if isinstance(child, ast.Attribute):
                yield child.value  # a method is of what stands before the dot


def _current(frame: FrameType) -> Span:
    """Where the expression stands that a frame is evaluating."""
    line, end_line, column, end_column = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    return line or 0, column or 0, end_line or 0, end_column or 0


def _is_within(inner: Span, outer: Span) -> bool:
    return inner != outer and outer[:2] <= inner[:2] and inner[2:] <= outer[2:]


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, dict):
        yield from _tensors(list(values.values()))
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _tensors(value)


def _frames(innermost: FrameType | None = None) -> Iterator[FrameType]:
    """Of the program, the innermost first."""
    frame = innermost or sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == _PROGRAM:
            yield frame
        frame = frame.f_back


def _depth(innermost: FrameType | None = None) -> int:
    """How many modules the program is in the `forward` of."""
    return sum(_is_method(frame, "forward") for frame in _frames(innermost))


def _within_a_module() -> bool:
    """Whether a module of the program is being built."""
    return any(_is_method(frame, "__init__") for frame in _frames())


def _is_method(frame: FrameType, name: str) -> bool:
    return frame.f_code.co_name == name and isinstance(frame.f_locals.get("self"), nn.Module)


def _with(source: str, changes: dict[Span, str]) -> str:
    """The source with texts behind expressions; one that begins with a comma goes into the brackets of a call."""
    kinds = {span_of(node): node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.expr)}
    texts: list[tuple[int, int, int, str]] = []  # line, column, and what decides between texts at the same place
    for span, text in changes.items():
        line, column, end_line, end_column = span
        if text.startswith(","):
            texts.append((end_line, end_column - 1, 0, text[:-1]))
        elif isinstance(kinds[span], _ATOMS):
            texts.append((end_line, end_column, -line * 1000 - column, text))
        else:
            texts.append((end_line, end_column, -line * 1000 - column, f"){text}"))
            texts.append((line, column, 0, "("))
    lines = source.split("\n")
    for line, column, _, text in sorted(texts, reverse=True):
        written = lines[line - 1].encode()
        lines[line - 1] = (written[:column] + text.encode() + written[column:]).decode()
    return "\n".join(lines)
