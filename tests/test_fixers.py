"""Every fixer on the bad examples of its rules: a change is made, the example runs again, and nothing is left."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograd_doctor.fixers import all_fixers
from autograd_doctor.rules import Example, Rule, all_rules
from tests.changes import changed
from tests.harness import body_of

NOT_FIXED: dict[str, str] = {
    "AD401 bad_empty_softmax": "what stands for a row in which all is masked is the person's choice",
    "AD402 bad_in_a_backward_of_its_own": "an exponential overflows: the slope has to be written otherwise",
    "AD501 bad_step_before_the_second_backward": "both losses share a forward: of which weights is the person's choice",
    "AD609 bad_objective": "whether the weights are gains or costs, and so which bound is meant, is not seen",
}
"""Bad examples without a change that could be proven, and why."""


def _examples() -> Iterator[tuple[Rule, Example]]:
    codes = {code for fixer in all_fixers() for code in fixer.codes}
    for rule in all_rules():
        if rule.code in codes:
            yield from ((rule, example) for example in rule.bad)


def _name(value: Rule | Example) -> str:
    return value.code if isinstance(value, Rule) else value.__name__


@pytest.mark.parametrize(("rule", "example"), _examples(), ids=_name)
def test_a_proven_change_removes_the_fault_of_a_bad_example(rule: Rule, example: Example) -> None:
    series = changed(body_of(example))
    told = [(each.finding.code, each.fix.description, each.fix.proof) for each in series.trials]
    is_fixed = rule.code not in {finding.code for finding in series.now.report.findings}
    assert is_fixed == (f"{rule.code} {example.__name__}" not in NOT_FIXED), told
    assert not [finding.code for finding in series.now.report.findings if is_fixed], told


def test_each_fixer_names_rules_that_there_are() -> None:
    known = {rule.code for rule in all_rules()}
    for fixer in all_fixers():
        assert set(fixer.codes) <= known
