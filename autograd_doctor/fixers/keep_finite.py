"""AD401, AD402: keep the operand of an operation away from where it, or its slope, is not finite.

Only where it came to that very point, as probabilities and distances come to 0: where numbers are far beyond it,
something else is wrong, and so it is where what was divided by 0 is not 0 itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import libcst as cst

from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.numerics import NonFiniteProduced
from autograd_doctor.events.steps import NonFiniteGradient
from autograd_doctor.fixing.called_layers import called, input_of, is_method
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, operand
from autograd_doctor.fixing.value_paths import Flow, Lost
from autograd_doctor.operations import ADDING, MOVES
from autograd_doctor.tape import Op, source_of

_PROBABILITY = "1e-8"
"""Far below the probabilities, shares and deviations that anything is told by."""
_SQUARE = "1e-12"
"""Of which the root, 1e-6, is far below what distances and deviations are told apart by."""
_ROUNDING = 1e-5
"""Relative to the largest of the values: sums of float32 are off by that much, and what is meant is 0."""
_HALF = ("float16", "bfloat16")
_Event = NonFiniteProduced | NonFiniteGradient


def candidates(case: Case) -> Iterator[Candidate]:
    """By the operation that was seen."""
    here, event = case.here(), _event(case)
    node = here.at(case.finding.location, cst.Call, cst.BinaryOperation, cst.AugAssign) if here is not None else None
    if here is None or node is None or event is None or any(each.dtype.endswith(_HALF) for each in event.operands):
        return
    for names, made in _CHANGES:
        if event.operation.strip("_") in names and event.operands:
            yield from made(case, here, node, event)
    if isinstance(node, cst.Call) and event.operation.endswith(".step"):
        yield from _optimizer(case, here, node)


def _event(case: Case) -> _Event | None:
    """What the finding is about, but not a line of somebody's `backward`, which is what it is."""
    where = case.finding.location
    if case.finding.code == "AD401":
        produced = case.trace.of(NonFiniteProduced)
        return next(
            (each for each in produced if case.is_at(each.location, where) or each.operation.endswith(".step")), None
        )
    spoiled = (each for each in case.trace.of(NonFiniteGradient) if each.applied_at is None)
    return next((each for each in spoiled if case.is_at(each.location, where)), None)


def _logarithm(case: Case, here: Source, node: cst.CSTNode, event: _Event) -> Iterator[Candidate]:
    given = input_of(here, node) if isinstance(node, cst.Call) else None
    if given is None or not isinstance(node, cst.Call) or not _may_be_bounded(event, 0.0):
        return
    recorded = [op for tape in case.trace.tapes for op in tape.named("log") if op.location == event.location]
    softmax = _softmax(case, here, recorded)
    if softmax is not None and called(node) == "log" and _only_use(here, softmax, node) is given:
        yield case.candidate("take the logarithm of the softmax at once", _at_once(here, softmax, node, given))
    if not any(_is_of_softmax(op) and op.values[0].learns and not _is_weighed(op) for op in recorded):
        yield _bounded(case, here, given, _PROBABILITY)


def _softmax(case: Case, here: Source, logarithms: Sequence[Op]) -> cst.Call | None:
    """The call that made what logarithms were taken of, where it is in the same file."""
    made = {source_of(op.values[0], MOVES).by for op in logarithms if _is_of_softmax(op)}
    places = {
        op.location for op in made if op is not None and op.location is not None and op.location.path == here.path
    }
    spans = {((place.line, place.column), (place.end_line, place.end_column)) for place in places}
    calls = [each for each in here.all(cst.Call) if called(each) == "softmax" and here.span(each) in spans]
    return calls[0] if len(calls) == 1 else None


def _is_of_softmax(op: Op) -> bool:
    made = source_of(op.values[0], MOVES).by
    return made is not None and made.name == "softmax"


def _is_weighed(op: Op) -> bool:
    """Whether a logarithm is multiplied by what it is of, so that it counts for nothing where that is 0.

    Else those who are most wrong have no gradient, once they are bounded.
    """
    reached = [op.output]
    for value in reached:
        for use in value.uses:
            if use.name == "mul" and op.values[0] in use.values:
                return True
            if use.name in ADDING:
                reached += use.outputs
    return False


def _only_use(here: Source, softmax: cst.Call, logarithm: cst.Call) -> cst.BaseExpression | None:
    """The one thing that a softmax goes into, where nothing else goes into that."""
    flow, function = Flow(here), here.function(logarithm)
    try:
        uses = flow.uses(softmax)
        alone = function is here.function(softmax) or len(flow.calls_of(logarithm)) == 1
    except Lost:
        return None
    return uses[0] if len(uses) == 1 and alone else None


def _at_once(here: Source, softmax: cst.Call, logarithm: cst.Call, given: cst.BaseExpression) -> Editing:
    function = here.code(softmax.func).removesuffix("softmax") + "log_softmax"
    code = function + here.code(softmax).removeprefix(here.code(softmax.func))
    if given is softmax:
        return Editing(here).replace(logarithm, code)
    return Editing(here).replace(softmax.func, function).replace(logarithm, here.code(given))


def _root(case: Case, here: Source, node: cst.CSTNode, event: _Event) -> Iterator[Candidate]:
    given, facts = input_of(here, node) if isinstance(node, cst.Call) else None, event.operands[0]
    if given is None or not _may_be_bounded(event, -_ROUNDING * (facts.high or 0.0)):
        return
    yield _bounded(case, here, given, _SQUARE)


def _power(case: Case, here: Source, node: cst.CSTNode, event: _Event) -> Iterator[Candidate]:
    """A power below 1: of 0, its slope is infinite. Others take numbers below 0 as well."""
    base = exponent = None
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Power):
        base, exponent = node.left, node.right
    elif isinstance(node, cst.Call):
        base = input_of(here, node)
        given = here.argument(node, 0 if is_method(here, node) else 1, "exponent")
        exponent = given.value if given is not None else None
    is_root = isinstance(exponent, cst.Float) and 0 < float(exponent.value) < 1
    if base is not None and isinstance(event, NonFiniteGradient) and (is_root or _touches_zero(event.operands[0])):
        yield _bounded(case, here, base, _SQUARE)


def _quotient(case: Case, here: Source, node: cst.CSTNode, event: _Event) -> Iterator[Candidate]:
    """0 by 0, which is meant to be 0; what is not 0 would become as large as it could be."""
    if not isinstance(event, NonFiniteProduced) or event.output.inf or len(event.operands) < 2:
        return
    divisor = (
        node.right if isinstance(node, cst.BinaryOperation) else node.value if isinstance(node, cst.AugAssign) else None
    )
    if divisor is None or not _touches_zero(event.operands[1]):
        return
    made = here.value_of(divisor) if isinstance(divisor, cst.Name) else divisor
    if isinstance(made, cst.Call) and called(made) == "sqrt" and (squared := input_of(here, made)) is not None:
        yield _bounded(case, here, squared, _SQUARE)
    yield _bounded(case, here, divisor, _PROBABILITY)


def _angle(case: Case, here: Source, node: cst.CSTNode, event: _Event) -> Iterator[Candidate]:
    """Cosines that rounding brought to 1, or beyond."""
    facts, given = event.operands[0], input_of(here, node) if isinstance(node, cst.Call) else None
    if given is None or facts.low is None or facts.high is None:
        return
    if max(-facts.low, facts.high) <= 1 + _ROUNDING:
        code = f"{operand(here.code(given))}.clamp(-1 + 1e-6, 1 - 1e-6)"
        yield case.candidate(f"keep the cosine inside its range: `{code}`", Editing(here).replace(given, code))


def _deviation(case: Case, here: Source, node: cst.CSTNode, event: _Event) -> Iterator[Candidate]:
    """Of one value, which has none; of equal ones, where its slope is infinite."""
    if not isinstance(node, cst.Call) or not is_method(here, node) or called(node) != "std":
        return
    if isinstance(event, NonFiniteProduced):
        if not any(each.keyword is not None for each in node.args):
            editing = Editing(here).give(node, "correction", "0")
            yield case.candidate("take the deviation of the values there are: `correction=0`", editing)
    elif isinstance(node.func, cst.Attribute):
        arguments = here.code(node).removeprefix(here.code(node.func))
        code = f"{here.code(node.func.value)}.var{arguments}.clamp_min({_SQUARE}).sqrt()"
        yield case.candidate(f"keep the variance above 0: `{code}`", Editing(here).replace(node, code))


def _optimizer(case: Case, here: Source, node: cst.Call) -> Iterator[Candidate]:
    """One that was built to divide by what may be 0."""
    given = next((each for each in node.args if each.keyword is not None and each.keyword.value == "eps"), None)
    if given is not None and isinstance(given.value, cst.Integer | cst.Float) and float(given.value.value) == 0:
        code = here.code(given.with_changes(comma=cst.MaybeSentinel.DEFAULT))
        yield case.candidate(f"leave `{code}` out", Editing(here).withhold(node, given))


_Change = Callable[[Case, Source, cst.CSTNode, _Event], Iterator[Candidate]]
_CHANGES: Sequence[tuple[frozenset[str], _Change]] = (
    (frozenset({"log", "log2", "log10"}), _logarithm),
    (frozenset({"sqrt"}), _root),
    (frozenset({"pow"}), _power),
    (frozenset({"div", "true_divide", "truediv", "itruediv"}), _quotient),
    (frozenset({"acos", "arccos", "asin", "arcsin"}), _angle),
    (frozenset({"std"}), _deviation),
)


def _touches_zero(facts: TensorFacts) -> bool:
    return facts.low == 0 and not facts.nan


def _may_be_bounded(event: _Event, lowest: float) -> bool:
    """Whether nothing that counts lies below 0: where the loss was finite, what does was left out."""
    facts = event.operands[0]
    if isinstance(event, NonFiniteGradient):
        return True
    return facts.low is not None and lowest <= facts.low <= 0 and (facts.high or 0.0) > 0 and not facts.nan


def _bounded(case: Case, here: Source, expression: cst.BaseExpression, least: str) -> Candidate:
    """Nothing below that: where a bound of 0 is there already, by that."""
    bound = _bound_of_zero(here, expression)
    if bound is not None:
        what = f"keep `{here.code(expression)}` above 0: {least}"
        return case.candidate(what, Editing(here).replace(bound, least))
    code = f"{operand(here.code(expression))}.clamp_min({least})"
    return case.candidate(f"keep it above 0: `{code}`", Editing(here).replace(expression, code))


def _bound_of_zero(here: Source, expression: cst.BaseExpression) -> cst.BaseExpression | None:
    if not isinstance(expression, cst.Call) or called(expression) not in ("clamp", "clamp_min", "clip"):
        return None
    given = here.argument(expression, 0 if is_method(here, expression) else 1, "min")
    is_zero = given is not None and isinstance(given.value, cst.Integer | cst.Float) and float(given.value.value) == 0
    return given.value if given is not None and is_zero else None


FIXER = Fixer(codes=("AD401", "AD402"), candidates=candidates, of_operation=True)
