"""Every fixer on the bad examples of its rules: a change is made, the example runs again, and nothing is left.

Of each rule the first example is tried, and one of `EVERY` of the others; of the sick programs one of `EVERY_PROGRAM`.
`FIXERS_EVERY=1` tries them all.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest

from autograd_doctor.fixers import all_fixers
from autograd_doctor.rules import Example, Rule, all_rules
from tests.changes import changed, tried_in
from tests.harness import body_of, check_program, marks, programs

NOT_FIXED = {
    "AD204 bad_backbone_that_is_not_frozen": "whether the backbone is to learn, or to be frozen, nothing tells",
    "AD511 bad": "how the classes are to be numbered is the person's choice",
    "AD511 bad_blank": "which class is to be the blank is the person's choice",
    "AD501 bad_step_before_the_second_backward": "both losses share a forward: of which weights is the person's choice",
}
"""Bad examples without a change that could be proven, and why."""


ASKED = os.environ.get("FIXERS_EVERY")
EVERY, EVERY_PROGRAM = (int(ASKED or 4), int(ASKED or 40))


def _is_tried(name: str, every: int) -> bool:
    return crc32(name.encode()) % every == 0


def _examples() -> Iterator[tuple[Rule, Example]]:
    codes = {code for fixer in all_fixers() for code in fixer.codes}
    for rule in (rule for rule in all_rules() if rule.code in codes):
        for number, example in enumerate(rule.bad):
            if not number or _is_tried(f"{rule.code} {example.__name__}", EVERY):
                yield rule, example


def _name(value: Rule | Example) -> str:
    return value.code if isinstance(value, Rule) else value.__name__


@pytest.mark.parametrize(("rule", "example"), list(_examples()), ids=_name)
def test_a_proven_change_removes_the_fault_of_a_bad_example(rule: Rule, example: Example) -> None:
    series = changed(body_of(example))
    told = [(each.finding.code, each.fix.description, each.fix.proof) for each in series.trials]
    is_fixed = rule.code not in {finding.code for finding in series.now.report.findings}
    assert is_fixed == (f"{rule.code} {example.__name__}" not in NOT_FIXED), told
    assert not [finding.code for finding in series.now.report.findings if is_fixed], told


SICK = [path for path in programs() if marks(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    "path", [path for path in SICK if _is_tried(path.name, EVERY_PROGRAM)], ids=lambda path: path.stem
)
def test_a_program_with_the_proven_changes_written_is_as_it_was_seen(path: Path, tmp_path: Path) -> None:
    script = Path(shutil.copy(path, tmp_path))
    _, series = tried_in(script)
    assert not series.failed
    for file, data in series.now.sources.changed.items():
        Path(file).write_bytes(data)
    report = check_program(script)
    assert [each.code for each in report.findings] == [each.code for each in series.now.report.findings]


def test_each_fixer_names_rules_that_there_are() -> None:
    known = {rule.code for rule in all_rules()}
    for fixer in all_fixers():
        assert set(fixer.codes) <= known
