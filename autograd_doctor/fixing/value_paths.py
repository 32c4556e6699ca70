"""Where the result of an expression goes within its file: through variables, views, and functions that return it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.called_layers import called
from autograd_doctor.fixing.source_tree import Source
from autograd_doctor.operations import MOVES

_SAME_MODULE = frozenset({"to", "cuda", "cpu", "train", "eval", "float", "double", "half", "requires_grad_"})
_DEEPEST = 16


class Lost(Exception):
    """A value goes where it cannot be followed."""


class Flow:
    """Follows values in one file. All that it cannot tell raises `Lost`."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def uses(self, node: cst.BaseExpression, depth: int = 0) -> list[cst.BaseExpression]:
        """The expressions as which a value is used at last: with a dot behind them, or as an argument."""
        above = self._source.parent(node)
        if depth > _DEEPEST:
            raise Lost
        if isinstance(above, cst.Attribute):
            call = self._source.parent(above)
            moves = isinstance(call, cst.Call) and call.func is above and above.attr.value in MOVES
            return self.uses(call, depth + 1) if moves and isinstance(call, cst.Call) else [node]
        if isinstance(above, cst.Subscript) and above.value is node:
            return self.uses(above, depth + 1)
        if isinstance(above, cst.Arg):
            return self._of_argument(node, above, depth)
        if isinstance(above, cst.Assign):
            return [use for each in above.targets for use in self._of_target(each.target, above, depth)]
        if isinstance(above, cst.Return):
            return [use for call in self.calls_of(above) for use in self.uses(call, depth + 1)]
        if isinstance(above, cst.Element):
            return self._of_element(above, depth)
        raise Lost

    def _of_argument(self, node: cst.BaseExpression, argument: cst.Arg, depth: int) -> list[cst.BaseExpression]:
        """Into a function of this file; else the argument is the use."""
        call = self._source.parent(argument)
        functions = [each.name.value for each in self._source.all(cst.FunctionDef)]
        is_own = isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value in functions
        if not is_own or not isinstance(call, cst.Call):
            return [node]
        name, body = self._parameter(call, argument)
        function = self._source.function(body)
        if function is None or name.value in self._source.bound(function.body):
            raise Lost
        return [use for each in self._source.references(name, body) for use in self.uses(each, depth + 1)]

    def _of_target(self, target: cst.CSTNode, assign: cst.Assign, depth: int) -> list[cst.BaseExpression]:
        if not isinstance(target, cst.Name):
            raise Lost
        return [use for name in self._asked(target, assign) for use in self.uses(name, depth + 1)]

    def _asked(self, target: cst.Name, assign: cst.Assign) -> list[cst.Name]:
        """Where a variable is asked for while it holds what an assignment gave it."""
        source, name = self._source, target.value
        function = source.function(assign)
        others = [each for each in self._setting(name, function) if each is not assign]
        asked = source.references(target)
        parameters = function.params.children if function is not None else ()
        is_parameter = any(isinstance(each, cst.Param) and each.name.value == name for each in parameters)
        if not others and not is_parameter:
            return asked
        if any(source.function(each) is not function for each in asked):
            raise Lost
        end = source.span(assign)[1]
        after = [each for each in asked if source.span(each)[0] >= end]
        before = [each for each in asked if source.span(each)[0] < end]
        later = [each for each in others if source.span(each)[0] >= end]
        loop = source.loop(assign)
        in_loop = [each for each in before if loop is not None and self._is_inside(each, loop)]
        earlier = [each for each in others if loop is not None and self._is_inside(each, loop) and each not in later]
        statement = source.statement_of(assign)
        block = source.block(statement) if statement is not None else []
        if (in_loop and not earlier) or any(source.statement_of(each) not in block for each in later):
            raise Lost
        return [each for each in after if not any(source.span(last)[1] <= source.span(each)[0] for last in later)]

    def _setting(self, name: str, function: cst.FunctionDef | None) -> Iterator[cst.CSTNode]:
        """What gives a variable of a function a value."""
        kinds = cst.Assign, cst.AugAssign, cst.AnnAssign, cst.For, cst.NamedExpr, cst.AsName
        for node in self._source.all(*kinds, inside=function):
            header = node.with_changes(body=cst.IndentedBlock([])) if isinstance(node, cst.For) else node
            if self._source.function(node) is function and name in self._source.bound(header):
                yield node

    def _is_inside(self, node: cst.CSTNode, loop: cst.CSTNode) -> bool:
        return self._source.span(loop)[0] <= self._source.span(node)[0] < self._source.span(loop)[1]

    def _of_element(self, element: cst.Element, depth: int) -> list[cst.BaseExpression]:
        """One of several that a function returns, or that are set together."""
        holder = self._source.parent(element)
        if not isinstance(holder, cst.Tuple):
            raise Lost
        place, above = list(holder.elements).index(element), self._source.parent(holder)
        if isinstance(above, cst.Return):
            return [use for call in self.calls_of(above) for use in self._unpacked(call, place, depth)]
        return self._unpacked(holder, place, depth)

    def _unpacked(self, value: cst.BaseExpression, place: int, depth: int) -> list[cst.BaseExpression]:
        assign = self._source.parent(value)
        target = assign.targets[0].target if isinstance(assign, cst.Assign) and len(assign.targets) == 1 else None
        if not isinstance(target, cst.Tuple) or not isinstance(assign, cst.Assign) or len(target.elements) <= place:
            raise Lost
        if any(isinstance(each, cst.StarredElement) for each in target.elements):
            raise Lost
        return self._of_target(target.elements[place].value, assign, depth)

    # ------------------------------------------------------------------------------------------------------ calls

    def calls_of(self, inside: cst.CSTNode) -> list[cst.Call]:
        """The calls of the function that a node is in: of a `forward`, those of the instances of its class."""
        function = self._source.function(inside)
        if function is None:
            raise Lost
        block = self._source.home(function)
        above = self._source.parent(block) if block is not None else None
        if isinstance(above, cst.ClassDef) and function.name.value == "forward":
            return self.calls_of_class(above)
        if isinstance(above, cst.ClassDef):
            return self._calls_of_method(function)
        return [self._call_of(name) for name in self._source.references(function.name)]

    def _call_of(self, name: cst.BaseExpression) -> cst.Call:
        above = self._source.parent(name)
        if not isinstance(above, cst.Call) or above.func is not name:
            raise Lost
        return above

    def _calls_of_method(self, function: cst.FunctionDef) -> list[cst.Call]:
        name = function.name.value
        same = [each for each in self._source.all(cst.FunctionDef) if each.name.value == name]
        if len(same) > 1:
            raise Lost
        found = [each for each in self._source.all(cst.Attribute) if each.attr.value == name]
        return [self._call_of(each) for each in found]

    def calls_of_class(self, cls: cst.ClassDef) -> list[cst.Call]:
        """The calls of all instances of a class of modules."""
        found = [each for each in self._source.all(cst.Call) if self._is_self(each.func, cls)]
        for name in self._source.references(cls.name):
            above = self._source.parent(name)
            if isinstance(above, cst.Arg) and self._is_super(above):
                continue
            found += self.calls_of_instance(self._call_of(name))
        return found

    def _is_self(self, expression: cst.BaseExpression, cls: cst.ClassDef) -> bool:
        inside = self._source.around(expression, cst.ClassDef) is cls
        return inside and isinstance(expression, cst.Name) and expression.value == "self"

    def _is_super(self, argument: cst.Arg) -> bool:
        call = self._source.parent(argument)
        return isinstance(call, cst.Call) and called(call) == "super"

    def calls_of_instance(self, built: cst.BaseExpression) -> list[cst.Call]:
        """The calls of what an expression builds, by the variables that hold it."""
        above = self._source.parent(built)
        while isinstance(above, cst.Attribute):
            call = self._source.parent(above)
            if not isinstance(call, cst.Call) or above.attr.value not in _SAME_MODULE:
                raise Lost
            built, above = call, self._source.parent(call)
        holder = above
        if isinstance(above, cst.Element):
            pair = self._source.parent(above)
            assign = self._source.parent(pair) if pair is not None else None
            target = assign.targets[0].target if isinstance(assign, cst.Assign) else None
            if not isinstance(pair, cst.Tuple) or not isinstance(target, cst.Tuple):
                raise Lost
            return self._calls_of_variable(target.elements[list(pair.elements).index(above)].value, built)
        if not isinstance(holder, cst.Assign) or len(holder.targets) != 1:
            raise Lost
        return self._calls_of_variable(holder.targets[0].target, built)

    def _calls_of_variable(self, target: cst.BaseExpression, built: cst.BaseExpression) -> list[cst.Call]:
        if isinstance(target, cst.Name):
            if self._source.value_of(target) is not built:
                raise Lost
            return [call for name in self._source.references(target) for call in self._calls_by(name)]
        if isinstance(target, cst.Attribute) and self._source.value_of(target) is built:
            same = [each for each in self._source.all(cst.Attribute) if each.attr.value == target.attr.value]
            return [call for each in same if each is not target for call in self._calls_by(each)]
        raise Lost

    def _calls_by(self, name: cst.BaseExpression) -> Iterator[cst.Call]:
        """Calls that a name of a module stands for: its own, those of the parameter to which it is given, or none."""
        above = self._source.parent(name)
        if isinstance(above, cst.Attribute) and above.value is name:
            if above.attr.value == "forward":
                raise Lost
            return
        if isinstance(above, cst.Call) and above.func is name:
            yield above
            return
        call = self._source.parent(above) if isinstance(above, cst.Arg) else None
        if isinstance(call, cst.Call) and isinstance(above, cst.Arg):
            for each in self._source.references(*self._parameter(call, above)):
                yield from self._calls_by(each)
            return
        raise Lost

    def _parameter(self, call: cst.Call, argument: cst.Arg) -> tuple[cst.Name, cst.CSTNode]:
        """The parameter of a function of this file that an argument is given for, and the body of the function."""
        functions = [
            each
            for each in self._source.all(cst.FunctionDef)
            if isinstance(call.func, cst.Name) and each.name.value == call.func.value
        ]
        if len(functions) != 1 or any(each.star for each in call.args):
            raise Lost
        body = functions[0].body.body[0]
        parameters = [*functions[0].params.posonly_params, *functions[0].params.params]
        if argument.keyword is not None:
            named = [each.name for each in parameters if each.name.value == argument.keyword.value]
            if named:
                return named[0], body
            raise Lost
        place = list(call.args).index(argument)
        if place >= len(parameters):
            raise Lost
        return parameters[place].name, body
