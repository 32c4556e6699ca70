"""`import autograd_doctor` and `autograd_doctor.check`: the command, for programs that want the report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import autograd_doctor
from autograd_doctor import Mistake, Report
from autograd_doctor.command import checking
from tests.harness import PATIENCE, ROOT, marks, summary
from tests.reports import unjudged

SICK = ROOT / "sample_models" / "gradients_pile_up.py"

TRAINING = """
import sys
import torch
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=float(sys.argv[1]))
for _ in range(12):
    x = torch.randn(8, 3)
    optimizer.zero_grad()
    (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
    optimizer.step()
"""


@pytest.fixture
def training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A healthy program whose learning rate is its argument, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / ".git").mkdir()
    (tmp_path / "training.py").write_text(TRAINING)
    return tmp_path / "training.py"


def _python(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "asking.py").write_text(program)
    return subprocess.run(
        [sys.executable, "asking.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def test_importing_the_package_loads_nothing_else(tmp_path: Path) -> None:
    done = _python(
        "import sys\nbefore = {*sys.modules}\nimport autograd_doctor\nprint({*sys.modules} - before)", tmp_path
    )
    assert done.stdout == "{'autograd_doctor'}\n"


def test_every_name_is_there_and_no_other() -> None:
    for name in autograd_doctor.__all__:  # type: ignore[attr-defined]
        assert getattr(autograd_doctor, name).__doc__
        assert name in dir(autograd_doctor)
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        _ = autograd_doctor.chekc  # type: ignore[attr-defined]


def test_a_faulty_program_is_reported_and_nothing_printed(capfd: pytest.CaptureFixture[str]) -> None:
    report = autograd_doctor.check(SICK, seconds=0, ignore=["AD211"])
    assert isinstance(report, Report)
    code, line = marks(SICK.read_text("utf-8"))[0]
    first = report.findings[0]
    assert first.location is not None
    assert (first.code, first.location.line) == (code, line), summary(report)
    assert (report.verdict, report.exit_code) == ("faults", 1)
    printed = capfd.readouterr()
    assert all(line.startswith("epoch ") for line in printed.out.splitlines())
    assert printed.err == ""


def test_what_belongs_to_the_program_reaches_it(training: Path) -> None:
    report = autograd_doctor.check("training", arguments=["0.01"], is_module=True, seconds=0, steps=5)
    assert (report.verdict, report.run.steps) == ("passed", 5), summary(report)
    assert report.target.module == "training"
    assert autograd_doctor.check(training, steps=5).verdict == "program-failed"


def test_a_script_asks_about_another(training: Path) -> None:
    asking = (
        "import sys, autograd_doctor\n"
        "if __name__ == '__main__':\n"
        "    report = autograd_doctor.check('training.py', arguments=['0.01'], seconds=0)\n"
        "    print(report.verdict, 'torch' in sys.modules)\n"
    )
    done = _python(asking, training.parent)
    assert (done.stdout, done.stderr) == ("passed False\n", "")


def test_a_program_that_checks_itself_does_not_do_so_for_ever(training: Path) -> None:
    done = _python("import autograd_doctor\nprint(autograd_doctor.check(__file__).exit_reason)\n", training.parent)
    assert done.stdout == "the program crashed before any training step\n", done.stderr
    assert "called by a program that is being checked" in done.stderr


def test_the_settings_file_beside_the_target_counts_and_arguments_win(training: Path) -> None:
    (training.parent / "autograd_doctor.yaml").write_text(
        "steps: 7\nseconds: 0\noutput_format: [full, json:out.json]\n"
    )
    assert autograd_doctor.check(training, arguments=["0.01"]).run.steps == 7
    assert autograd_doctor.check(training, arguments=["0.01"], steps=4, select=("AD1",)).run.steps == 4
    assert not (training.parent / "out.json").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"stepz": 3}, "check(): stepz: no such key; did you mean `steps`?"),
        ({"steps": 0}, "check(): steps: "),
        ({"steps": "many"}, "check(): steps: expected a whole number, found the text `many`"),
        ({"select": ["AD1000"]}, "check(): select: "),
        ({"output_format": ["json"]}, "check(): output_format: nothing is printed"),
        ({"color": "always"}, "check(): color: nothing is printed"),
    ],
)
def test_mistakes_are_raised_before_anything_runs(training: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(Mistake) as caught:
        autograd_doctor.check(training, **settings)
    assert str(caught.value).startswith(said)


def test_a_target_that_is_not_there_is_a_mistake(training: Path) -> None:
    with pytest.raises(Mistake, match=r"trainin\.py: no such file; did you mean"):
        autograd_doctor.check("trainin.py")


def test_ctrl_c_is_the_callers(monkeypatch: pytest.MonkeyPatch, training: Path) -> None:
    interrupted = replace(unjudged(), verdict="interrupted")
    monkeypatch.setattr(checking, "examined", lambda request: interrupted)
    with pytest.raises(KeyboardInterrupt):
        autograd_doctor.check(training)


def test_what_the_child_refuses_is_a_mistake(monkeypatch: pytest.MonkeyPatch, training: Path) -> None:
    monkeypatch.setattr(checking, "examined", lambda request: None)
    with pytest.raises(Mistake, match="was not run"):
        autograd_doctor.check(training)


def test_reports_are_rendered_in_any_format() -> None:
    report = unjudged()
    assert json.loads(autograd_doctor.render(report, "json"))["verdict"] == "not-judged"
    assert autograd_doctor.render(report).startswith("doctor check train.py")
    assert autograd_doctor.render(report, "html").startswith("<!doctype html>")
    with pytest.raises(
        autograd_doctor.Mistake, match="render\\(\\): `htm`: no such output format; did you mean `html`"
    ):
        autograd_doctor.render(report, "htm")


def test_a_report_is_shown_in_a_line_printed_in_full_and_rendered() -> None:
    report = Report.of(unjudged())
    assert repr(report) == "<report on train.py: not judged, 0 findings in 0 steps>"
    assert str(report) + "\n" == autograd_doctor.render(unjudged())
    assert report.render("json") == autograd_doctor.render(unjudged(), "json")


@pytest.mark.parametrize(
    ("name", "output_format"),
    [
        ("r.html", "html"),
        ("r.json", "json"),
        ("r.jsonl", "json-lines"),
        ("r.md", "markdown"),
        ("r.sarif", "sarif"),
        ("r.sarif.json", "sarif"),
        ("r.txt", "full"),
        ("r.xml", "junit"),
    ],
)
def test_a_report_is_saved_in_the_format_of_the_suffix(tmp_path: Path, name: str, output_format: str) -> None:
    report = Report.of(unjudged())
    report.save(tmp_path / name)
    report.save(str(tmp_path / name))
    assert (tmp_path / name).read_text("utf-8") == report.render(output_format)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("r.docx", "save(): r.docx: no format is known by the end of this name (known: `.html`, "),
        ("report", "save(): report: no format is known"),
        ("nowhere/r.md", "nowhere/r.md: cannot be written: no such folder `nowhere`"),
        ("notes.md", "notes.md: not written: it already exists and is not a report that may be replaced"),
    ],
)
def test_what_cannot_be_saved_is_a_mistake(training: Path, name: str, said: str) -> None:
    (training.parent / "notes.md").write_text("# Notes\n")
    with pytest.raises(Mistake) as caught:
        Report.of(unjudged()).save(name)
    assert str(caught.value).startswith(said)
