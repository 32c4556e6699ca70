"""Training programs in many people's styles: the sick ones are found out, the healthy ones left in peace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import ROOT, assert_findings, assert_healthy, check_program, marks

PROGRAMS = sorted((ROOT / "tests" / "programs").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_verdict_on_program(program: Path) -> None:
    source = program.read_text(encoding="utf-8")
    expected = marks(source)
    report = check_program(program)
    if expected:
        assert_findings(report, expected, slack=2)
    else:
        assert_healthy(report)


def test_names_say_whether_a_program_is_sick() -> None:
    for program in PROGRAMS:
        codes = {code for code, _ in marks(program.read_text(encoding="utf-8"))}
        assert codes or program.stem.startswith("healthy_"), program.name
        assert not codes or program.stem[:5].upper() in codes, program.name
