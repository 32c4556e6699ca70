"""AD609: minimise a loss that was maximised."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, operand
from autograd_doctor.fixing.value_paths import Flow, Lost

_READS = frozenset({"backward", "item"})


def candidates(case: Case) -> Iterator[Candidate]:
    """Take away the minus that was seen, or the optimizer's `maximize`; where it may be meant, words must do."""
    here, place = case.here(), case.finding.location
    if here is None or case.finding.severity != "error":
        return
    built = here.at(place, cst.Call)
    minus, difference = here.at(place, cst.UnaryOperation), here.at(place, cst.BinaryOperation)
    if built is not None:
        yield from _descending(case, here, built)
    elif minus is not None and isinstance(minus.operator, cst.Minus):
        yield from _without_minus(case, here, minus, here.code(minus.expression))
    elif difference is not None and isinstance(difference.operator, cst.Subtract):
        yield from _without_minus(case, here, difference, _turned(here, difference))


def _without_minus(case: Case, here: Source, node: cst.BaseExpression, code: str) -> Iterator[Candidate]:
    """There, where its sign is nothing to others; else where it goes backward."""
    is_term = isinstance(here.parent(node), cst.BinaryOperation)
    try:
        uses = [] if is_term else Flow(here).uses(node)
    except Lost:
        return
    asked = {use: _asked(here, use) for use in uses}
    if set(asked.values()) <= _READS:
        yield case.candidate(f"minimise `{code}`", Editing(here).replace(node, code))
    roots = [use for use, what in asked.items() if what == "backward"]
    if len(roots) == 1:
        negated = f"(-{operand(here.code(roots[0]))})"
        yield case.candidate(f"call backward on `{negated}`", Editing(here).replace(roots[0], negated))


def _asked(here: Source, use: cst.BaseExpression) -> str:
    above = here.parent(use)
    return above.attr.value if isinstance(above, cst.Attribute) else ""


def _descending(case: Case, here: Source, built: cst.Call) -> Iterator[Candidate]:
    given = next((each for each in built.args if each.keyword is not None and each.keyword.value == "maximize"), None)
    if given is not None and here.code(given.value) == "True":
        yield case.candidate("leave `maximize=True` out", Editing(here).withhold(built, given))


def _turned(here: Source, difference: cst.BinaryOperation) -> str:
    """A difference that is to be small: what the loss is taken from is a number, or another term, which stays."""
    left, right = here.code(difference.left), here.code(difference.right)
    if isinstance(difference.left, cst.Integer | cst.Float):
        return f"{right} - {left}"
    return f"{left} + {operand(right)}"


FIXER = Fixer(codes=("AD609",), candidates=candidates, of_operation=True)
