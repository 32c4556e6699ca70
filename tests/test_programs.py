"""Training programs in many people's styles: the sick ones are found out, the healthy ones left in peace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import ROOT, assert_findings, assert_healthy, check_program, marks

PROGRAMS = sorted((ROOT / "tests" / "programs").glob("*.py"))
LATE = sorted((ROOT / "tests" / "programs" / "late").glob("*.py"))
"""Programs that show what they are only after the steps that a check looks at by default."""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_verdict_on_program(program: Path) -> None:
    assert_verdict(program)


@pytest.mark.parametrize("program", LATE, ids=lambda path: path.stem)
def test_verdict_on_program_that_is_seen_to_its_end(program: Path) -> None:
    assert_verdict(program, steps=10_000, batches_per_epoch=0)


def assert_verdict(program: Path, **plan: object) -> None:
    expected = marks(program.read_text(encoding="utf-8"))
    report = check_program(program, **plan)
    if expected:
        assert_findings(report, expected, slack=2)
    else:
        assert_healthy(report)


def test_names_say_whether_a_program_is_sick() -> None:
    for program in [*PROGRAMS, *LATE]:
        codes = {code for code, _ in marks(program.read_text(encoding="utf-8"))}
        assert codes or program.stem.startswith("healthy_"), program.name
        assert not codes or program.stem[:5].upper() in codes, program.name
