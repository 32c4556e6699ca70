"""Changes to one file: statements that come, go or are wrapped, and expressions that are written otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import libcst as cst

from autograd_doctor.fixing.line_edits import carried_over
from autograd_doctor.fixing.source_tree import Source, Statement

_Line = cst.SimpleStatementLine | cst.SimpleStatementSuite
_SPACE = cst.SimpleWhitespace(" ")
_Replacement = cst.CSTNode | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNode]


@dataclass
class _Change:
    """What becomes of a node."""

    before: list[cst.CSTNode] = field(default_factory=list)
    after: list[cst.CSTNode] = field(default_factory=list)
    instead: cst.CSTNode | None = None
    goes: bool = False
    above: list[cst.EmptyLine] = field(default_factory=list)
    decorated: list[cst.Decorator] = field(default_factory=list)


class Editing:
    """Collects changes, and writes the file with them. Comments and layout of all else stay as they are."""

    def __init__(self, source: Source) -> None:
        self.path = source.path
        self._source = source
        self._changes: dict[cst.CSTNode, _Change] = {}

    def before(self, statement: Statement, code: str) -> Editing:
        """Insert statements in front of one, in its block."""
        self._change(statement).before += self._parsed(statement, code)
        return self

    def after(self, statement: Statement, code: str) -> Editing:
        """Insert statements behind one, in its block."""
        self._change(statement).after += self._parsed(statement, code)
        return self

    def replace(self, expression: cst.BaseExpression, code: str) -> Editing:
        """Write an expression otherwise."""
        self._change(expression).instead = self._expression(code)
        return self

    def give(self, call: cst.Call, keyword: str, code: str) -> Editing:
        """Call with an argument of this name: in the place of one that is there, or as the last one."""
        value = cst.parse_expression(code, self._config)
        named = named_argument(call, keyword)
        if named is not None:
            return self._with_arguments(call, [a.with_changes(value=value) if a is named else a for a in call.args])
        plain = cst.SimpleWhitespace("")
        new = cst.Arg(value, keyword=cst.Name(keyword), equal=cst.AssignEqual(plain, plain))
        if not call.args:
            return self._with_arguments(call, [new])
        *others, last = call.args
        comma = others[-1].comma if others else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        new = new.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
        return self._with_arguments(call, [*others, last.with_changes(comma=comma, whitespace_after_arg=plain), new])

    def withhold(self, call: cst.Call, argument: cst.Arg) -> Editing:
        """Call without one of its arguments."""
        kept = [each for each in call.args if each is not argument]
        if not kept:
            self._change(call).instead = call.with_changes(args=(), whitespace_before_args=cst.SimpleWhitespace(""))
            return self
        if argument is call.args[-1]:
            comma, space = _ending(kept[-1].comma, argument.comma), argument.whitespace_after_arg
            kept[-1] = kept[-1].with_changes(comma=comma, whitespace_after_arg=space)
        return self._with_arguments(call, kept)

    def name_argument(self, argument: cst.Arg, name: str) -> Editing:
        """Give an argument for another parameter."""
        self._change(argument).instead = argument.with_changes(keyword=cst.Name(name))
        return self

    def _with_arguments(self, call: cst.Call, arguments: Sequence[cst.Arg]) -> Editing:
        self._change(call).instead = call.with_changes(args=arguments)
        return self

    def rewrite(self, statement: Statement, code: str) -> Editing:
        """Write a statement otherwise; comments above it, and in its last line, stay."""
        (new,) = self._parsed(statement, code)
        self._change(statement).instead = _with_leading(new, statement)
        return self

    def remove(self, statement: Statement) -> Editing:
        """Take a statement out, with the comments above it; an empty line above it stays."""
        self._change(statement).goes = True
        siblings = self._source.block(statement)
        following = siblings[siblings.index(statement) + 1 :]
        if following and not _empty_above(following[0]):
            self._change(following[0]).above += _empty_above(statement)
        return self

    def move(self, statement: Statement, *, before: Statement | None = None, after: Statement | None = None) -> Editing:
        """Put a statement elsewhere, with the comments above it.

        Raises `TypeError` where a compound one is to share a line.
        """
        self.remove(statement)
        if before is not None:
            self._change(before).before += _fitting(statement, before)
        if after is not None:
            self._change(after).after += _fitting(statement, after)
        return self

    def wrap(self, statements: Sequence[Statement], header: str) -> Editing:
        """Put statements that follow one another into a block, such as `with torch.no_grad():`."""
        first, *others = statements
        wrapper = cst.ensure_type(cst.parse_statement(f"{header}\n    pass\n", self._config), cst.With)
        bare = first.with_changes(leading_lines=()) if hasattr(first, "leading_lines") else first
        inside = cst.IndentedBlock(body=[bare, *others])  # type: ignore[list-item]
        self._change(first).instead = _with_leading(wrapper.with_changes(body=inside), first)
        for other in others:
            self._change(other).goes = True
        return self

    def unwrap(self, block: cst.With) -> Editing:
        """Take the header of a block away: its statements stand in its place."""
        body = list(block.body.body)
        above = [*block.leading_lines, *getattr(body[0], "leading_lines", ())]
        body[0] = body[0].with_changes(leading_lines=above) if hasattr(body[0], "leading_lines") else body[0]
        change = self._change(block)
        change.goes, change.after = True, list(body)
        return self

    def end_before(self, block: cst.With, statement: Statement) -> Editing:
        """Let a block end in front of one of its statements, which follow it instead."""
        body: list[cst.CSTNode] = list(block.body.body)
        first = body.index(statement)
        change = self._change(block)
        change.instead = block.with_changes(body=block.body.with_changes(body=body[:first]))
        change.after = body[first:]
        return self

    def take(self, function: cst.FunctionDef, name: str) -> Editing:
        """Let a function take one more argument, behind those that must be given."""
        taken = function.params.params
        first = next((number for number, each in enumerate(taken) if each.default is not None), len(taken))
        new = [*taken[:first], cst.Param(cst.Name(name)), *taken[first:]]
        self._change(function.params).instead = function.params.with_changes(params=new)
        return self

    def decorate(self, function: cst.FunctionDef, decorator: str) -> Editing:
        """Give a function a decorator, the innermost: others, as `@staticmethod`, may make something else of it."""
        self._change(function).decorated.append(cst.Decorator(cst.parse_expression(decorator, self._config)))
        return self

    def undecorate(self, function: cst.FunctionDef, decorator: cst.Decorator) -> Editing:
        """Take a decorator away."""
        self._change(decorator).goes = True
        return self

    def torch(self) -> str:
        """The name of torch in this file, which is imported if need be."""
        name = self._source.torch()
        if name:
            return name
        return self.imported("import torch", "torch")

    def nn(self) -> str:
        """The name of `torch.nn` in this file."""
        return self._source.name_of("torch", "nn") or f"{self.torch()}.nn"

    def known(self, module: str, name: str) -> str:
        """How this file calls what a module holds; it is imported if need be."""
        called = self._source.name_of(module, name)
        if called:
            return called
        if module in self._source.bound(self._source.module):
            return self.imported(f"from {module} import {name}", name)
        return f"{self.imported(f'import {module}', module)}.{name}"

    def imported(self, statement: str, name: str) -> str:
        """A name that an import at the top of the file brings."""
        body = self._source.module.body
        imports = [line for line in body if _imports(line)]
        if imports or _is_docstring(body):
            self.after(imports[-1] if imports else body[0], statement)
        elif body:
            self.before(body[0], statement)
        return name

    def text(self) -> str:
        """The file with all changes."""
        changed = self._source.module.visit(_Changing(self._changes))
        return carried_over(self._source.text, self._source.python, changed.code)

    @property
    def _config(self) -> cst.PartialParserConfig:
        return self._source.module.config_for_parsing

    def _expression(self, code: str) -> cst.BaseExpression:
        """Code that may hold line breaks, as where it is taken out of parentheses."""
        found = cst.parse_expression(f"({code}\n)", self._config)
        return found.with_changes(lpar=found.lpar[1:], rpar=found.rpar[:-1])

    def _change(self, node: cst.CSTNode) -> _Change:
        return self._changes.setdefault(node, _Change())

    def _parsed(self, beside: Statement, code: str) -> list[cst.CSTNode]:
        """Lines, or where the other statement shares a line, parts of that."""
        lines = cst.parse_module(code, self._config).body
        if isinstance(beside, cst.BaseSmallStatement):
            return [part for line in lines for part in cst.ensure_type(line, cst.SimpleStatementLine).body]
        return list(lines)


class _Changing(cst.CSTTransformer):
    def __init__(self, changes: dict[cst.CSTNode, _Change]) -> None:
        super().__init__()
        self._changes = changes

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> _Replacement:  # type: ignore[override]
        if isinstance(original_node, _Line):
            updated_node = self._ended(original_node, updated_node)
        change = self._changes.get(original_node)
        if change is None:
            return updated_node
        if isinstance(updated_node, cst.FunctionDef):
            updated_node = updated_node.with_changes(decorators=[*updated_node.decorators, *change.decorated])
        kept = [] if change.goes else [_with_lost_parentheses(change.instead, updated_node) or updated_node]
        if kept and change.above:
            kept = [kept[0].with_changes(leading_lines=[*change.above, *getattr(kept[0], "leading_lines", ())])]
        nodes = [*change.before, *kept, *change.after]
        if change.before and kept:
            nodes[0], nodes[len(change.before)] = _separated(nodes[0], kept[0])
        if not nodes:
            return cst.RemoveFromParent()
        return nodes[0] if len(nodes) == 1 else cst.FlattenSentinel(nodes)

    def _ended(self, line: _Line, updated: cst.CSTNode) -> cst.CSTNode:
        """A line without the semicolon in front of what was taken from its end."""
        last = self._changes.get(line.body[-1])
        if last is None or not last.goes or not isinstance(updated, _Line) or not updated.body:
            return updated
        return updated.with_changes(body=[*updated.body[:-1], _alone(updated.body[-1])])


def _with_lost_parentheses(new: cst.CSTNode | None, old: cst.CSTNode) -> cst.CSTNode | None:
    """What takes the place of an expression in parentheses stands in them, too: they may hold a line break."""
    if not isinstance(new, cst.BaseExpression) or not isinstance(old, cst.BaseExpression) or new.lpar:
        return new
    return new.with_changes(lpar=old.lpar, rpar=old.rpar)


def _with_leading(new: cst.CSTNode, old: cst.CSTNode) -> cst.CSTNode:
    """What takes the place of a statement has the comments and empty lines that stand above it."""
    if not hasattr(old, "leading_lines") or not hasattr(new, "leading_lines"):
        return new
    if isinstance(new, cst.SimpleStatementLine) and isinstance(old, cst.SimpleStatementLine):
        new = new.with_changes(trailing_whitespace=old.trailing_whitespace)
    return new.with_changes(leading_lines=old.leading_lines)


def _empty_above(statement: cst.CSTNode) -> list[cst.EmptyLine]:
    """The empty lines above a statement and its comments."""
    return list(takewhile(lambda line: line.comment is None, getattr(statement, "leading_lines", ())))


def _fitting(statement: Statement, beside: Statement) -> list[cst.CSTNode]:
    """A statement as it stands beside another: on a line of its own, without empty lines above it, or on that one's."""
    parts = statement.body if isinstance(statement, cst.SimpleStatementLine) else [statement]
    if isinstance(beside, cst.BaseSmallStatement):
        return [_alone(part) for part in parts]
    if isinstance(statement, cst.BaseSmallStatement):
        return [cst.SimpleStatementLine([_alone(statement)])]
    lines = list(getattr(statement, "leading_lines", ()))
    return [statement.with_changes(leading_lines=lines[len(_empty_above(statement)) :])]


def _alone(part: cst.CSTNode) -> cst.BaseSmallStatement:
    """A part of a line without the semicolon behind it."""
    if not isinstance(part, cst.BaseSmallStatement):
        raise TypeError("a compound statement has its lines for itself")
    return part.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)


def _separated(new: cst.CSTNode, old: cst.CSTNode) -> tuple[cst.CSTNode, cst.CSTNode]:
    """Empty lines above a statement go above the one that comes in front of it; its comments stay with it."""
    lines = list(getattr(old, "leading_lines", ()))
    empty = next((number for number, line in enumerate(lines) if line.comment is not None), len(lines))
    if not empty or not hasattr(new, "leading_lines"):
        return new, old
    return new.with_changes(leading_lines=[*lines[:empty], *getattr(new, "leading_lines", ())]), old.with_changes(
        leading_lines=lines[empty:]
    )


def _ending(comma: cst.Comma | cst.MaybeSentinel, last: cst.Comma | cst.MaybeSentinel) -> cst.Comma | cst.MaybeSentinel:
    """The comma of what becomes the last argument: the line goes on where that of the last one did, and it keeps its
    comment."""
    if not isinstance(comma, cst.Comma):
        return last
    own = comma.whitespace_after
    if not isinstance(last, cst.Comma):
        if not isinstance(own, cst.ParenthesizedWhitespace) or own.first_line.comment is None:
            return last
        closed = own.with_changes(indent=True, last_line=cst.SimpleWhitespace(""))
        return comma.with_changes(whitespace_after=closed)
    ending = last.whitespace_after
    if isinstance(own, cst.ParenthesizedWhitespace) and isinstance(ending, cst.ParenthesizedWhitespace):
        return last.with_changes(whitespace_after=ending.with_changes(first_line=own.first_line))
    return last


def named_argument(call: cst.Call, keyword: str) -> cst.Arg | None:
    """The argument that a call gives by this name."""
    return next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == keyword), None)


def _is_docstring(body: Sequence[cst.BaseStatement]) -> bool:
    """Whether a module begins with one."""
    parts = body[0].body if body and isinstance(body[0], cst.SimpleStatementLine) else ()
    return len(parts) == 1 and isinstance(parts[0], cst.Expr) and isinstance(parts[0].value, cst.BaseString)


def _imports(line: cst.CSTNode) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], cst.Import | cst.ImportFrom)
