"""The sample models are judged as their marks say, through the harness and through the command itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import check_by_command
from tests.harness import ROOT, assert_findings, assert_healthy, check_program, marks

SAMPLES = sorted(path for path in (ROOT / "sample_models").glob("*.py") if path.stem != "model_only")


@pytest.mark.parametrize("program", SAMPLES, ids=lambda path: path.stem)
def test_verdict_on_sample(program: Path) -> None:
    source = program.read_text(encoding="utf-8")
    expected = marks(source)
    report = check_program(program)
    if expected:
        assert_findings(report, expected, slack=0)
    else:
        assert_healthy(report)


def test_half_of_the_samples_are_sick() -> None:
    sick = [program for program in SAMPLES if marks(program.read_text(encoding="utf-8"))]
    assert abs(2 * len(sick) - len(SAMPLES)) <= 2


def test_command_finds_a_sick_sample() -> None:
    program = ROOT / "sample_models" / "gradients_pile_up.py"
    report, exit_code = check_by_command(program)
    first = report["findings"][0]
    assert [(first["code"], first["location"]["line"])] == marks(program.read_text(encoding="utf-8"))
    assert exit_code == report["exit_code"] == 1


def test_every_instrument_works_without_numpy(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError('No module named numpy', name='numpy')\n")
    program = ROOT / "sample_models" / "gradients_pile_up.py"
    report, exit_code = check_by_command(program, before=[tmp_path])
    assert [finding["code"] for finding in report["findings"]] == ["AD101"]
    assert exit_code == 1
    said = [*report["notes"], *report["checks"]["skipped"].values()]
    assert not [words for words in said if "failed" in words]


def test_command_passes_a_healthy_sample() -> None:
    report, exit_code = check_by_command(ROOT / "sample_models" / "spiral_classifier.py")
    assert [finding["code"] for finding in report["findings"] if finding["severity"] != "info"] == []
    assert exit_code == report["exit_code"] == 0
