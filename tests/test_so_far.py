"""Claims that something never happens, or always: what is said of them before the program has ended."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from autograd_doctor.events.run import RunEnded
from autograd_doctor.rules import SO_FAR, Rule, all_rules
from autograd_doctor.trace import Trace
from autograd_doctor.views.so_far import has_ended, may_learn_later
from tests.harness import body_of, recorded

CLAIMS = [(rule, example) for rule in all_rules() if rule.lasting for example in rule.bad]


def left_early(trace: Trace) -> Trace:
    """The same run, as if the program had gone on."""
    return Trace(tuple(replace(e, reason="steps") if isinstance(e, RunEnded) else e for e in trace.events))


@pytest.mark.parametrize(("rule", "example"), CLAIMS, ids=[f"{rule.code}-{bad.__name__}" for rule, bad in CLAIMS])
def test_what_may_still_change_is_no_certain_error(rule: Rule, example: Callable[[], None]) -> None:
    with recorded(body_of(example), rules=[rule]) as (trace, _, _):
        ended = list(rule.examine(trace, rule.defaults))
        early = left_early(trace)
        for finding in rule.examine(early, rule.defaults):
            hedged = SO_FAR in finding.notes
            assert hedged or not may_learn_later(early, finding.parameters)
            assert not hedged or (finding.severity != "error" and finding.confidence != "high")
    assert not (has_ended(trace) and any(SO_FAR in finding.notes for finding in ended))


def test_who_makes_such_claims_asks_for_the_end() -> None:
    assert CLAIMS
    for rule, _ in CLAIMS:
        assert RunEnded in rule.needs, rule.code
