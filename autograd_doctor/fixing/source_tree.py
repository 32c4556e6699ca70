"""One file as a tree of LibCST, in which what was observed at a place is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, cast

import libcst as cst
from libcst.metadata import (
    BaseAssignment,
    BuiltinAssignment,
    CodeRange,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    Scope,
    ScopeProvider,
)

from autograd_doctor.findings import Location
from autograd_doctor.report import Place

N = TypeVar("N", bound=cst.CSTNode)
Statement = cst.BaseStatement | cst.BaseSmallStatement
Loop = cst.For | cst.While
Line = cst.SimpleStatementLine | cst.BaseCompoundStatement
_Line = tuple[int, int]


class Source:
    """A file, or a cell of a notebook. `python` is its text with magics made Python, line by line.

    earlier: the cells before it, which have imported what this one may use. Raises `libcst.ParserSyntaxError` for what
    is no Python.
    """

    def __init__(self, path: str, text: str, python: str, earlier: Sequence[Source] = ()) -> None:
        self.path = path
        self.text = text
        self.python = python
        self._earlier = earlier
        self.module = cst.parse_module(python)
        self._wrapper = MetadataWrapper(self.module, unsafe_skip_copy=True)

    @cached_property
    def _positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        return self._wrapper.resolve(PositionProvider)

    @cached_property
    def _parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        return self._wrapper.resolve(ParentNodeProvider)

    @cached_property
    def _scopes(self) -> Mapping[cst.CSTNode, Scope | None]:
        return self._wrapper.resolve(ScopeProvider)

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

    def title(self, statement: Statement) -> str:
        """The first line of a statement as it is written, without comments around it."""
        bare = statement.with_changes(leading_lines=()) if hasattr(statement, "leading_lines") else statement
        if isinstance(bare, cst.SimpleStatementLine):
            bare = bare.with_changes(trailing_whitespace=cst.TrailingWhitespace())
        return self.code(bare).strip().split("\n")[0].rstrip("; ")

    def all(self, *kinds: type[N], inside: cst.CSTNode | None = None) -> Iterator[N]:
        """The nodes of some kinds in the order in which they begin."""
        nodes = self._nodes if inside is None else _below(inside)
        return (node for node in nodes if isinstance(node, kinds))

    @cached_property
    def _nodes(self) -> list[cst.CSTNode]:
        return list(_below(self.module))

    @cached_property
    def _by_line(self) -> Mapping[int, list[cst.CSTNode]]:
        """The nodes that begin in each line, in their order."""
        found: dict[int, list[cst.CSTNode]] = {}
        for node in self._nodes:
            if node in self._positions:
                found.setdefault(self.line(node), []).append(node)
        return found

    def seen(self, location: Location | None, *kinds: type[N]) -> N | None:
        """What an event happened at, None where that is in another file."""
        return self.at(location, *kinds) if location is not None and location.path == self.path else None

    def at(self, place: Place | Location | None, *kinds: type[N]) -> N | None:
        """What was observed at a place: the node of one of these kinds that has its span; else the outermost one that
        begins in its line, where the place has no columns."""
        if place is None:
            return None
        found = [node for node in self._by_line.get(place.line, ()) if isinstance(node, kinds)]
        if place.column:
            span = (place.line, place.column), (place.end_line, place.end_column)
            return next((node for node in found if self.span(node) == span), None)
        return found[0] if found else None

    def holds(self, node: cst.CSTNode, place: Place) -> bool:
        """Whether a place begins within a node."""
        first, _ = self.span(node)
        return self._spans(node, (place.line, place.column or first[1]))

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
        held = [each for each in self._statements() if self._spans(each, (place.line, place.column))]
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

    def _spans(self, node: cst.CSTNode, at: _Line) -> bool:
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

    def is_within(self, node: cst.CSTNode, other: cst.CSTNode) -> bool:
        """Whether a node is another, or part of it."""
        return other in self._above(node)

    def loops(self, node: cst.CSTNode) -> Iterator[Loop]:
        """The loops around a node in its function, the innermost first."""
        inner = self.loop(node)
        while inner is not None:
            yield inner
            inner = self.loop(inner)

    def line_of(self, node: cst.CSTNode) -> Line | None:
        """The innermost statement around a node that has its lines for itself: a compound one, or a line of simple
        ones."""
        found: cst.CSTNode | None = node
        while found is not None and not isinstance(self._parents.get(found), cst.IndentedBlock | cst.Module):
            found = self._parents.get(found)
        return found if isinstance(found, cst.SimpleStatementLine | cst.BaseCompoundStatement) else None

    def line_at(self, place: Place | None) -> Line | None:
        """The statement at a place that has its lines for itself."""
        statement = self.statement(place)
        return None if statement is None else self.line_of(statement)

    def home(self, statement: cst.CSTNode) -> cst.CSTNode | None:
        """The block, or the module, that a statement is in; that of its line, where it shares one."""
        above = self._parents.get(statement)
        return self._parents.get(above) if isinstance(above, cst.SimpleStatementLine) else above

    def beside(self, node: cst.CSTNode, other: Statement) -> Statement | None:
        """The statement in the block of another that holds a node, None where it is not behind that block's header."""
        home = self.home(other)
        while (above := self._parents.get(node)) is not None and above is not home:
            node = above
        return cast(Statement, node) if above is not None and home is not None else None

    def whole(self, statement: Statement, *kinds: type[cst.CSTNode]) -> Statement:
        """A statement with the loops, conditions and contexts (or those of these kinds) around it that hold nothing
        else."""
        while isinstance(around := self._holder(statement), kinds or cst.BaseCompoundStatement):
            statement = around
        return statement

    def _holder(self, statement: Statement) -> Statement | None:
        block = self.home(statement)
        above = self._parents.get(block) if block is not None else None
        if (
            not isinstance(above, cst.For | cst.If | cst.With)
            or above.body is not block
            or len(self._parts(block)) != 1
        ):
            return None
        is_branch = isinstance(above, cst.If) and isinstance(self._parents.get(above), cst.If)
        return None if is_branch or getattr(above, "orelse", None) is not None else above

    def _parts(self, block: cst.CSTNode) -> list[cst.CSTNode]:
        """The statements of a block, those that share a line one by one."""
        lines = cast(Sequence[cst.CSTNode], getattr(block, "body", ()))
        return [part for line in lines for part in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])]

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The function that a node is in."""
        return self.around(node, cst.FunctionDef)

    def is_movable(self, statement: Statement, beside: Statement) -> bool:
        """Whether a statement means the same beside another one of its function: nothing that it asks for is given
        another value on the way, or by a loop that only one of them is in."""
        if self.function(statement) is not self.function(beside):
            return False
        if isinstance(beside, cst.BaseSmallStatement) and isinstance(statement, cst.BaseCompoundStatement):
            return False
        one, other = (
            {each for each in self._above(node)[1:] if isinstance(each, Loop)} for node in (statement, beside)
        )
        first, last = sorted((self.span(statement)[0], self.span(beside)[0]))
        between = [each for each in self._statements() if first <= self.span(each)[0] < last and each is not beside]
        on_the_way = [
            each for each in between if each not in self._above(statement) and not self.is_within(each, statement)
        ]
        return not self.depends(statement, self.bound(*(one ^ other), *on_the_way) - self.bound(statement))

    def argument(self, call: cst.Call, position: int, name: str) -> cst.Arg | None:
        """What a call gives for a parameter, by its name or by its position; None where a star may hide it."""
        for number, each in enumerate(call.args):
            if each.star or (each.keyword is not None and each.keyword.value == name):
                return None if each.star else each
            if each.keyword is None and number == position:
                return each
        return None

    def _above(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """A node and all that it is in."""
        found = [node]
        while (above := self._parents.get(found[-1])) is not None:
            found.append(above)
        return found

    # ------------------------------------------------------------------------------------------------------ names

    def value_of(self, expression: cst.CSTNode) -> cst.BaseExpression | None:
        """What a variable was set to, where one assignment of its scope sets it, or an attribute of an instance, where
        one of its class does."""
        if isinstance(expression, cst.Name):
            found = self._assignments(expression.value, expression)
            return self._value_at(next(iter(found))) if len(found) == 1 else None
        if not isinstance(expression, cst.Attribute):
            return None
        cls = self._class_of_instance(self._assignments(self.code(expression.value), expression))
        written = self.code(expression)
        targets = [] if cls is None else [t for t in self._targets(cls) for t in self._leaves(t)]
        same = [target for target in targets if self.code(target) == written]
        return self._value_at(same[0]) if len(same) == 1 else None

    def _value_at(self, target: cst.CSTNode) -> cst.BaseExpression | None:
        above = self._parents.get(target)
        if isinstance(above, cst.AnnAssign):
            return above.value
        if isinstance(above, cst.AssignTarget):
            assign = self._parents.get(above)
            return assign.value if isinstance(assign, cst.Assign) else None
        pair = self._parents.get(above) if isinstance(above, cst.Element) else None
        values = self._value_at(pair) if isinstance(pair, cst.Tuple | cst.List) else None
        if isinstance(pair, cst.Tuple | cst.List) and isinstance(values, cst.Tuple | cst.List):
            same_length = len(pair.elements) == len(values.elements)
            return values.elements[pair.elements.index(above)].value if same_length else None
        return None

    def references(self, name: cst.Name, at: cst.CSTNode | None = None) -> list[cst.Name]:
        """Where a variable is asked for, in its scope (that of the name, or of another node) and those within, in the
        order in which that is written."""
        scope = self._scopes.get(at or name)
        assigned = scope[name.value] if scope is not None else set()
        found = {access.node for each in assigned for access in each.references}
        return sorted((each for each in found if isinstance(each, cst.Name)), key=lambda each: self.span(each)[0])

    def is_imported(self, expression: cst.CSTNode) -> bool:
        """Whether a name, or what its dots begin with, comes from an import, as `torch.softmax` does."""
        while isinstance(expression, cst.Attribute):
            expression = expression.value
        if not isinstance(expression, cst.Name):
            return False
        found = self._assignments(expression.value, expression)
        return bool(found) and all(isinstance(each, cst.Import | cst.ImportFrom) for each in found)

    def bound(self, *nodes: cst.CSTNode) -> set[str]:
        """What statements give a value to, as it is written: `x`, `self.x`."""
        return {self.code(target) for node in nodes for each in self._targets(node) for target in self._leaves(each)}

    def _targets(self, inside: cst.CSTNode) -> Iterator[cst.CSTNode]:
        for node in self.all(cst.CSTNode, inside=inside):  # type: ignore[type-abstract]
            if isinstance(
                node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.For | cst.CompFor | cst.NamedExpr
            ):
                yield node.target
            elif isinstance(node, cst.AsName | cst.FunctionDef | cst.ClassDef):
                yield node.name
            elif isinstance(node, cst.Del):
                yield node.target

    def _leaves(self, target: cst.CSTNode) -> Iterator[cst.CSTNode]:
        if isinstance(target, cst.Tuple | cst.List):
            for element in target.elements:
                yield from self._leaves(element.value)
        else:
            yield target

    def serves_several(self, node: cst.CSTNode) -> bool:
        """Whether several statements compute with what the statement of a node gives a value to."""
        statement = self.statement_of(node)
        bound = self.bound(statement) if statement is not None else set()
        inside = self.function(node) or self.module
        asked = (
            each for each in self.all(cst.Name, cst.Attribute, cst.Subscript, inside=inside) if self.code(each) in bound
        )
        uses = [self.statement_of(each) for each in asked if not isinstance(self._parents.get(each), cst.AssignTarget)]
        return len({id(use) for use in uses if use is not None and use is not statement and not _is_call(use)}) > 1

    def depends(self, node: cst.CSTNode, bound: set[str]) -> bool:
        """Whether an expression, or a statement, asks for something that is given another value."""
        kinds = cst.Name, cst.Attribute, cst.Subscript
        return any(self.code(each) in bound for each in self.all(*kinds, inside=node))

    def is_known(self, expression: cst.CSTNode, there: cst.CSTNode) -> bool:
        """Whether an expression means the same at another node: its names are the same variables there, or the
        instance of the same class."""
        return all(self._is_same(name, there) for name in self.variables(expression))

    def is_taken(self, name: str, node: cst.CSTNode) -> bool:
        """Whether a name stands for something at a node."""
        return bool(self._assignments(name, node))

    def variables(self, expression: cst.CSTNode) -> list[cst.Name]:
        """The names of an expression that stand for values, but for those that it gives a value to itself."""
        own = self.bound(expression)
        return [n for n in self.all(cst.Name, inside=expression) if self._is_variable(n) and n.value not in own]

    def knows(self, name: str, node: cst.CSTNode) -> bool:
        """Whether a variable has been given a value above a node."""
        nodes = [each for each in self._assignments(name, node) if isinstance(each, cst.CSTNode)]
        return any(self.line(each) < self.line(node) for each in nodes if each in self._positions)

    def is_given(self, expression: cst.CSTNode, there: cst.CSTNode) -> bool:
        """Whether all that an expression asks for has its value at another node of its function: given above it, or
        elsewhere, and by no loop that is not around both."""
        loops = set(self.loops(expression)).difference(self.loops(there))
        if self.depends(expression, self.bound(*loops)):
            return False
        return all(
            self.knows(each.value, there) or self._comes_from_elsewhere(each, there)
            for each in self.variables(expression)
        )

    def _comes_from_elsewhere(self, name: cst.Name, there: cst.CSTNode) -> bool:
        inside = self.function(there)
        given = self._assignments(name.value, there)
        return any(not isinstance(each, cst.CSTNode) or self.function(each) is not inside for each in given)

    def _is_variable(self, name: cst.Name) -> bool:
        above = self._parents.get(name)
        if isinstance(above, cst.Attribute):
            return above.value is name
        return not (isinstance(above, cst.Arg) and above.keyword is name)

    def _is_same(self, name: cst.Name, there: cst.CSTNode) -> bool:
        one, other = (self._assignments(name.value, node) for node in (name, there))
        if one and one == other:
            return True
        classes = [self._class_of_instance(each) for each in (one, other)]
        return classes[0] is not None and classes[0] is classes[1]

    def _assignments(self, name: str, node: cst.CSTNode) -> set[Any]:
        """What a name stands for at a node: where it is given its values, or which builtin it is."""
        scope = self._scopes.get(node)
        found: set[BaseAssignment] = set(scope[name]) if scope is not None else set()
        return {each.name if isinstance(each, BuiltinAssignment) else getattr(each, "node", each) for each in found}

    def _class_of_instance(self, assignments: set[Any]) -> cst.ClassDef | None:
        """The class of whose methods a name is the first parameter."""
        only = next(iter(assignments)) if len(assignments) == 1 else None
        method = self.around(only, cst.FunctionDef) if isinstance(only, cst.Param) else None
        if method is None or only not in (*method.params.posonly_params, *method.params.params)[:1]:
            return None
        block = self._parents.get(self.home(method) or method)
        return block if isinstance(block, cst.ClassDef) else None

    def torch(self) -> str:
        """The name by which this file knows torch, "" if it does not."""
        return self._modules.get("torch", "")

    def name_of(self, module: str, name: str) -> str:
        """How this file calls what a module holds, by its own name if it has one; "" if it does not know it."""
        return next(self.names_of(module, name), "")

    def names_of(self, module: str, name: str) -> Iterator[str]:
        """All that this file may call what a module holds."""
        own = self._imported_from(module).get(name), self._modules.get(f"{module}.{name}")
        yield from filter(None, (*own, self._by_module(module, name)))

    def _by_module(self, module: str, name: str) -> str:
        return f"{self._modules[module]}.{name}" if module in self._modules else ""

    @cached_property
    def _modules(self) -> Mapping[str, str]:
        """The modules that the whole file knows, with the names by which it does; `import a.b` brings `a`."""
        found: dict[str, str] = {}
        for statement in self._everywhere(cst.Import):
            for alias in statement.names:
                name = self.code(alias.name)
                found[name] = self.code(alias.asname.name) if alias.asname is not None else name
        return found

    def _imported_from(self, module: str) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for line in self._everywhere(cst.ImportFrom):
            if (
                line.module is not None
                and self.code(line.module) == module
                and not isinstance(line.names, cst.ImportStar)
            ):
                found |= {self.code(each.name): self.code((each.asname or each).name) for each in line.names}
        return found

    def _everywhere(self, kind: type[N]) -> Iterator[N]:
        """Those that are not of one function alone."""
        for cell in (*self._earlier, self):
            yield from (each for each in cell.all(kind) if cell.around(each, cst.FunctionDef) is None)


def renamed(expression: cst.BaseExpression, names: Mapping[cst.Name, str]) -> str:
    """An expression in which some names are replaced by other expressions."""
    changed = expression.visit(_Renaming(names))
    return cst.Module([]).code_for_node(cst.ensure_type(changed, cst.BaseExpression))  # type: ignore[type-abstract]


class _Renaming(cst.CSTTransformer):
    def __init__(self, names: Mapping[cst.Name, str]) -> None:
        super().__init__()
        self._names = names

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:  # noqa: N802
        code = self._names.get(original_node)
        if code is None:
            return updated_node
        new = cst.parse_expression(code)
        return new if isinstance(new, cst.BaseNumber) else cst.parse_expression(operand(code))


def _is_call(statement: Statement) -> bool:
    """Whether a statement keeps nothing of what it computes, as `print(x)` does."""
    parts = statement.body if isinstance(statement, cst.SimpleStatementLine) else [statement]
    return all(isinstance(part, cst.Expr) for part in parts)


def _below(top: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all that it holds, in the order in which they begin."""
    waiting = [top]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def operand(code: str) -> str:
    """An expression to which a dot or an operator may be added: in parentheses, unless it needs none."""
    node = cst.parse_expression(code)
    plain = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Tuple, cst.List)
    return code if node.lpar or isinstance(node, plain) else f"({code})"
