"""What follows values from operation to operation says the same of a program that is written in place."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import pytest

from autograd_doctor.instruments.instrument import Instrument
from autograd_doctor.instruments.session import needed_for
from autograd_doctor.report import Report
from autograd_doctor.rules import Rule, all_rules
from tests.harness import answered, body_of, check_program, summary
from tests.in_place import in_place, learn_the_same

SAME = [
    ("x = f(a) * 2  # <- AD101", "x = (f(a)); x *= (2)  # <- AD101"),
    ("x = x - g(y)", "x -= (g(y))"),
    ("x = a + b + c", "x = (a + b); x += (c)"),
    ("if y: x = f(1) ** (2 +\n 1)", "if y: x = (f(1)); x **= (2 +\n 1)"),
    ("é = 'é'; x = f(é) / 3; y = f(x) / 4", "é = 'é'; x = (f(é)); x /= (3); y = (f(x)); y /= (4)"),
]
OTHERS = ["x = a * 2", "x = f(a) + x", "x, y = f(a) * 2", "x.y = f(a) * 2", "x = f(a) @ b", "x = -f(a)", "x = 2 * f(a)"]


@pytest.mark.parametrize(("source", "written"), SAME)
def test_new_values_are_changed_in_place_on_the_same_line(source: str, written: str) -> None:
    assert in_place(source) == written


@pytest.mark.parametrize("source", OTHERS)
def test_what_may_belong_to_another_name_is_left(source: str) -> None:
    assert in_place(source) == source


def _follows_values(rule: Rule) -> bool:
    return any(_has_value_table(kind) for kind in needed_for(event.__name__ for event in rule.needs))


@cache
def _has_value_table(kind: type[Instrument]) -> bool:
    return "value_table(" in inspect.getsource(kind)


def _twins() -> list[Any]:
    """Examples of rules that follow values, with the same in place."""
    examples = [(rule, each) for rule in all_rules() if _follows_values(rule) for each in (*rule.bad, *rule.good)]
    sources = [(f"{rule.code}-{each.__name__}", body_of(each)) for rule, each in examples]
    return [pytest.param(source, twin, id=name) for name, source in sources if (twin := in_place(source)) != source]


@pytest.mark.parametrize(("source", "twin"), _twins())
def test_the_same_is_found_in_a_program_that_is_written_in_place(source: str, twin: str) -> None:
    """Or torch does not let it be written so, and both the program and the test end there."""
    are_equal = answered(learn_the_same, source, twin)
    assert are_equal in (None, True)
    if are_equal:
        expected, found = check_program(source), check_program(twin)
        assert _said(found) == _said(expected), summary(found)


def _said(report: Report) -> list[tuple[str, int]]:
    return sorted((finding.code, finding.location.line if finding.location else 0) for finding in report.findings)
