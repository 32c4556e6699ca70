"""One file as a tree of LibCST, in which what was observed at a place is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar, cast

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider

from autograd_doctor.report import Place

N = TypeVar("N", bound=cst.CSTNode)
Statement = cst.BaseStatement | cst.BaseSmallStatement
Loop = cst.For | cst.While
_Line = tuple[int, int]


class Source:
    """A file, or a cell of a notebook. `python` is its text with magics made Python, line by line.

    Raises `libcst.ParserSyntaxError` for what is no Python.
    """

    def __init__(self, path: str, text: str, python: str) -> None:
        self.path = path
        self.text = text
        self.python = python
        self.module = cst.parse_module(python)
        self._wrapper = MetadataWrapper(self.module, unsafe_skip_copy=True)

    @cached_property
    def _positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        return self._wrapper.resolve(PositionProvider)

    @cached_property
    def _parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        return self._wrapper.resolve(ParentNodeProvider)

    # ------------------------------------------------------------------------------------------------------ looking

    def span(self, node: cst.CSTNode) -> tuple[_Line, _Line]:
        """Line and column, both from 1, at which a node begins, and behind which it ends."""
        found = self._positions[node]
        return (found.start.line, found.start.column + 1), (found.end.line, found.end.column + 1)

    def line(self, node: cst.CSTNode) -> int:
        """The line at which a node begins."""
        return self._positions[node].start.line

    def code(self, node: cst.CSTNode) -> str:
        """A node as it is written."""
        return self.module.code_for_node(node)

    def all(self, *kinds: type[N], inside: cst.CSTNode | None = None) -> Iterator[N]:
        """The nodes of some kinds in the order in which they begin."""
        waiting: list[cst.CSTNode] = [inside or self.module]
        while waiting:
            node = waiting.pop()
            if isinstance(node, kinds):
                yield node
            waiting.extend(reversed(node.children))

    def at(self, place: Place | None, *kinds: type[N]) -> N | None:
        """What was observed at a place: the node of one of these kinds that has its span; else the outermost one that
        begins in its line, where the place has no columns."""
        if place is None:
            return None
        found = [node for node in self.all(*kinds) if node in self._positions and self.line(node) == place.line]
        if place.column:
            span = (place.line, place.column), (place.end_line, place.end_column)
            return next((node for node in found if self.span(node) == span), None)
        return found[0] if found else None

    def inside(self, place: Place | None, *kinds: type[N]) -> list[N]:
        """The nodes of some kinds within the span of a place, the outermost first."""
        if place is None:
            return []
        first = (place.line, place.column or 1)
        last = (place.end_line, place.end_column) if place.column else (place.end_line + 1, 0)
        return [
            n for n in self.all(*kinds) if n in self._positions and first <= self.span(n)[0] and self.span(n)[1] <= last
        ]

    # --------------------------------------------------------------------------------------------------- what is around

    def around(self, node: cst.CSTNode, *kinds: type[N], within: type[cst.CSTNode] | None = None) -> N | None:
        """The innermost node of one of these kinds that holds a node; none beyond one of the kind `within`."""
        above: cst.CSTNode | None = self._parents.get(node)
        while above is not None and not (within and isinstance(above, within)):
            if isinstance(above, kinds):
                return above
            above = self._parents.get(above)
        return None

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds another."""
        return self._parents.get(node)

    def statement(self, place: Place | None) -> Statement | None:
        """The innermost statement that holds the beginning of a place; without a column, the first of its line."""
        if place is None:
            return None
        if not place.column:
            return next((self.unit(each) for each in self._statements() if self.line(each) == place.line), None)
        held = [each for each in self._statements() if self._holds(each, (place.line, place.column))]
        return self.unit(held[-1]) if held else None

    def statement_of(self, node: cst.CSTNode) -> Statement | None:
        """The statement that holds a node."""
        found: cst.CSTNode | None = node
        while found is not None and not isinstance(found, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            found = self._parents.get(found)
        return None if found is None else self.unit(found)

    def _statements(self) -> Iterator[cst.BaseSmallStatement | cst.BaseCompoundStatement]:
        for node in self.all(cst.CSTNode):  # type: ignore[type-abstract]
            if isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
                yield node

    def _holds(self, node: cst.CSTNode, at: _Line) -> bool:
        first, last = self.span(node)
        return first <= at < last

    def unit(self, statement: Statement) -> Statement:
        """A statement together with its line, where it has the line for itself."""
        line = self._parents.get(statement)
        return line if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else statement

    def block(self, statement: Statement) -> list[Statement]:
        """The statements of the block that one is in, itself included."""
        above = self._parents.get(statement)
        body = getattr(above, "body", ())
        return list(body) if isinstance(body, list | tuple) else []

    def loop(self, node: cst.CSTNode) -> Loop | None:
        """The innermost loop around a node in its function."""
        found: Any = self.around(node, cst.For, cst.While, within=cst.FunctionDef)
        return cast(Loop | None, found)

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The function that a node is in."""
        return self.around(node, cst.FunctionDef)

    def torch(self) -> str:
        """The name by which this file knows torch, "" if it does not."""
        for statement in self.all(cst.Import):
            for alias in statement.names:
                if self.code(alias.name) == "torch":
                    return self.code(alias.asname.name) if alias.asname else "torch"
        return ""


def operand(code: str) -> str:
    """An expression to which a dot or an operator may be added: in parentheses, unless it needs none."""
    node = cst.parse_expression(code)
    plain = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Tuple, cst.List)
    return code if node.lpar or isinstance(node, plain) else f"({code})"
