"""An operation that gives a prediction its last form: found by what was seen of it, taken out, or told of its users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from autograd_doctor.events.losses import LossComputed, Shaping
from autograd_doctor.findings import Location
from autograd_doctor.fixing.called_layers import built, called, input_of
from autograd_doctor.fixing.candidate import Case, path_of
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, operand
from autograd_doctor.fixing.value_paths import Flow, Lost
from autograd_doctor.report import Place

_LAYERS = {
    "Softmax": "softmax", "Softmin": "softmin", "LogSoftmax": "log_softmax", "Sigmoid": "sigmoid", "ReLU": "relu",
    "ReLU6": "relu6", "Tanh": "tanh", "Hardtanh": "hardtanh", "Hardsigmoid": "hardsigmoid", "Softsign": "softsign",
}  # fmt: skip
"""The classes of torch that call these functions."""
_OF_ORDER = frozenset({"argmax", "argsort", "device", "dtype", "shape", "size", "dim", "numel"})
"""What is asked of scores that is the same for all that grows with them."""


@dataclass(frozen=True)
class Squashing:
    """A call that ends in an operation on the prediction, and where the layer was built that it is of, if any.

    losses: where a loss, or what comes between, was seen to take the result.
    """

    source: Source
    call: cst.Call
    layer: cst.Call | None
    operation: str
    losses: frozenset[tuple[str, int, int]]
    events: tuple[LossComputed, ...]

    def uses(self) -> list[cst.BaseExpression]:
        """Where results of all calls of it go. Raises `Lost`."""
        flow = Flow(self.source)
        calls = [self.call] if self.layer is None else self._calls(flow, self.layer)
        return [use for call in calls for use in flow.uses(call)]

    def _calls(self, flow: Flow, layer: cst.Call) -> list[cst.Call]:
        """The calls of the module that holds a layer."""
        module: cst.CSTNode | None = layer
        while module is not None and module is not self.source.value_of(self.call.func):
            module = self.source.around(module, cst.Call)
        if not isinstance(module, cst.Call):
            raise Lost
        return flow.calls_of_instance(module)

    def goes_into_losses(self) -> bool:
        """Whether nothing but losses takes the result, and what asks for the order of scores alone."""
        try:
            uses = self.uses()
        except Lost:
            return False
        return any(map(self.is_loss, uses)) and all(self.is_loss(use) or _is_of_order(self.source, use) for use in uses)

    def is_loss(self, use: cst.BaseExpression) -> bool:
        """Whether a use is an argument of a loss that was seen, or of the same function elsewhere."""
        argument = self.source.parent(use)
        call = self.source.parent(argument) if isinstance(argument, cst.Arg) else None
        if not isinstance(call, cst.Call):
            return False
        seen = [each for each in self.source.all(cst.Call) if self._at(each) in self.losses]
        return call in seen or self.source.code(call.func) in {self.source.code(each.func) for each in seen}

    def _at(self, node: cst.Call) -> tuple[str, int, int]:
        return self.source.path, *self.source.span(node)[0]

    def without(self) -> Editing | None:
        """Take the operation out: the call, with a layer that nothing else calls, or the last of a `Sequential`."""
        editing, layer = Editing(self.source), self.layer
        is_own = layer is not None and layer is self.source.value_of(self.call.func)
        if layer is None or is_own:
            argument = self.source.argument(self.call, 0, "input")
            given = input_of(self.source, self.call) if layer is None else argument.value if argument else None
            if given is None:
                return None
            code = self.source.code(given)
            dotted = isinstance(self.source.parent(self.call), cst.Attribute | cst.Subscript)
            editing.replace(self.call, operand(code) if dotted else code)
            self._remove(editing, layer)
            return editing
        argument = self.source.around(layer, cst.Arg)
        module = self.source.around(layer, cst.Call)
        return editing.withhold(module, argument) if module is not None and argument is not None else None

    def _remove(self, editing: Editing, layer: cst.Call | None) -> None:
        """Take the line out that builds a layer, if it does nothing else."""
        statement = self.source.statement_of(layer) if layer is not None else None
        part = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        named = self.source.code(self.call.func)
        asked = [each for each in self.source.all(cst.Attribute, cst.Name) if self.source.code(each) == named]
        if statement is not None and isinstance(part, cst.Assign) and part.value is layer and len(asked) == 2:
            editing.remove(statement)


def squashing(case: Case, place: Place | None) -> Squashing | None:
    """The operation that a finding says shaped a prediction at a place."""
    source = case.source(place)
    call = source.at(place, cst.Call) if source is not None else None
    if source is None or call is None or place is None:
        return None
    key = path_of(place, case.cwd), place.line, place.column
    events = [each for each in case.trace.of(LossComputed) if key in map(_key, _shapings(each))]
    operations = {shaping.operation for each in events for shaping in _shapings(each) if _key(shaping) == key}
    if len(operations) != 1:
        return None
    (operation,) = operations
    layer = built(source, call, {name for name, function in _LAYERS.items() if function == operation})
    if layer is None and called(call) != operation:
        return None
    losses = {_of(each.location) for each in events}
    losses |= {_key(shaping) for each in events for shaping in _above(each, key)}
    return Squashing(source, call, layer, operation, frozenset(losses), tuple(events))


def _shapings(event: LossComputed) -> Iterator[Shaping]:
    shaping = event.prediction.shaping
    while shaping is not None:
        yield shaping
        shaping = shaping.behind


def _above(event: LossComputed, key: tuple[str, int, int]) -> Iterator[Shaping]:
    """What shaped the prediction further, after an operation."""
    for shaping in _shapings(event):
        if _key(shaping) == key:
            return
        yield shaping


def _key(shaping: Shaping) -> tuple[str, int, int]:
    return _of(shaping.location)


def _of(location: Location | None) -> tuple[str, int, int]:
    return (location.path, location.line, location.column) if location is not None else ("", 0, 0)


def _is_of_order(source: Source, use: cst.BaseExpression) -> bool:
    """Whether a use asks which score is the highest: `x.argmax(1)`, `torch.argmax(x, 1)`, `x.max(1)[1]`."""
    above = source.parent(use)
    if isinstance(above, cst.Attribute):
        call = source.parent(above)
        is_max = above.attr.value == "max" and isinstance(call, cst.Call) and _is_place_alone(source, call)
        return above.attr.value in _OF_ORDER or is_max
    call = source.parent(above) if isinstance(above, cst.Arg) else None
    if not isinstance(call, cst.Call) or not source.is_imported(call.func) or call.args[0] is not above:
        return False
    return called(call) == "argmax" or (called(call) == "max" and _is_place_alone(source, call))


def _is_place_alone(source: Source, call: cst.Call) -> bool:
    """Whether of the highest values and their places the places alone are taken."""
    above = source.parent(call)
    if isinstance(above, cst.Attribute):
        return above.attr.value == "indices"
    if isinstance(above, cst.Subscript):
        return source.code(above).endswith("[1]")
    target = above.targets[0].target if isinstance(above, cst.Assign) else None
    if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
        return False
    values = target.elements[0].value
    return isinstance(values, cst.Name) and not source.references(values)
