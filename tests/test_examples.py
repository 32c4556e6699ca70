"""Every rule keeps its promise on its own examples, and stays silent on those of all the others."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import pytest
from _pytest.mark.structures import ParameterSet

from autograd_doctor.report import Report
from autograd_doctor.rules import Example, Rule, all_rules
from tests.harness import assert_findings, assert_healthy, body_of, check_program, marks, profile_program, summary

EVERY = int(os.environ.get("ALONE_EVERY", "4"))
"""Of the bad examples behind the first of a rule, those that are tried with this rule alone: one in so many."""
_MORE_TRIES = 5
_KEY = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def _cases(kind: str) -> list[ParameterSet]:
    return [
        pytest.param(rule, example, id=f"{rule.code}-{example.__name__}")
        for rule in all_rules()
        for example in getattr(rule, kind)
    ]


def _cases_alone() -> list[ParameterSet]:
    """The first bad example of each rule, and some of the others."""
    firsts = {f"{rule.code}-{rule.bad[0].__name__}" for rule in all_rules()}
    return [case for case in _cases("bad") if case.id in firsts or crc32(str(case.id).encode()) % EVERY == 0]


@pytest.mark.parametrize(("rule", "example"), _cases("bad"))
def test_bad_example_is_found_on_its_marked_line_before_anything_else(
    rule: Rule, example: Example, tmp_path: Path
) -> None:
    source = body_of(example)
    report = _report(rule, _script(tmp_path, source))
    assert_findings(report, marks(source), slack=0)
    keys = {key for finding in report.findings for key in finding.evidence}
    assert not {key for key in keys if not _KEY.fullmatch(key)}, "keys of evidence are snake_case"


@pytest.mark.parametrize(("rule", "example"), _cases_alone())
def test_bad_example_is_found_when_its_rule_is_selected_alone(rule: Rule, example: Example, tmp_path: Path) -> None:
    """What a rule needs is its events, whoever else is watching."""
    source = body_of(example)
    report = _report(rule, _script(tmp_path, source), rules=[rule])
    found = [(finding.code, finding.location.line) for finding in report.findings if finding.location]
    assert [mark for mark in marks(source) if mark[0] == rule.code] == found[:1], summary(report)


@pytest.mark.parametrize(("rule", "example"), _cases("good"))
def test_good_example_gets_no_finding_but_the_infos_it_states(rule: Rule, example: Example, tmp_path: Path) -> None:
    script = _script(tmp_path, body_of(example))
    assert_healthy(check_program(script))
    if rule.profiles:
        assert_healthy(profile_program(script))


def _report(rule: Rule, script: Path, **options: Sequence[Rule]) -> Report:
    """What is saved is told where it stands out from the noise of the machine, and a busy one is asked again."""
    if not rule.profiles:
        return check_program(script, **options)
    report = profile_program(script, **options)
    for _ in range(_MORE_TRIES):
        if any(finding.code == rule.code for finding in report.findings):
            break
        report = profile_program(script, **options)
    return report


def _script(folder: Path, source: str) -> Path:
    script = folder / "train.py"
    script.write_text(source, encoding="utf-8")
    return script
