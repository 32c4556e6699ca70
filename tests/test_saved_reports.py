"""`doctor report` on saved reports, where reports go, and what GitHub is told of them."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from reports import REPORTS, healthy, sick, unjudged

from autograd_doctor import cli
from autograd_doctor import report as report_module
from autograd_doctor.command import checking, outputs, workflow
from autograd_doctor.command.outputs import Output
from autograd_doctor.command.request import Request
from autograd_doctor.config import Invocation
from autograd_doctor.mistakes import Mistake
from autograd_doctor.renderers import formats as all_formats
from autograd_doctor.renderers import render
from autograd_doctor.report import SCHEMA_VERSION, Report, ReportError, from_json, to_json, writable

Doctor = Callable[..., tuple[int, str, str]]


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Doctor:
    """`doctor report`, run in this process in an empty folder: its code, and what it printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["doctor", "report", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capfd.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


def saved(name: str = "run.json", report: Report | None = None, **changes: Any) -> Path:
    """A report in a file, with fields of it replaced."""
    Path(name).write_text(json.dumps(edited(report or sick(), changes)), encoding="utf-8")
    return Path(name)


def edited(report: Report, changes: dict[str, Any]) -> dict[str, Any]:
    """What the JSON of a report holds, with fields of it replaced."""
    fields: dict[str, Any] = json.loads(to_json(report))
    for path, value in changes.items():
        *parents, last = path.split("__")
        held = fields
        for parent in parents:
            held = held[int(parent) if parent.isdigit() else parent]
        held[last] = value
    return fields


# ----------------------------------------------------------------------------------------------------- rendered again


@pytest.mark.parametrize("format_name", all_formats())
def test_a_saved_report_is_written_in_any_format(report: Doctor, format_name: str) -> None:
    saved()
    assert report("run.json", "--output-format", format_name) == (1, render(format_name, sick(), width=100), "")


@pytest.mark.parametrize("name", REPORTS)
def test_a_saved_report_keeps_its_exit_code(report: Doctor, name: str) -> None:
    made = REPORTS[name]()
    saved(report=made)
    assert report("run.json", "--output-format", "json")[:2] == (made.exit_code, render("json", made))
    assert report("run.json", "--exit-zero")[0] == (0 if made.exit_code == 1 else made.exit_code)


def test_several_outputs_at_once(report: Doctor) -> None:
    saved()
    words = ["--output-format", "concise", "--output-format", "sarif:a.sarif", "--output-format", "junit:b.xml"]
    assert report("run.json", *words)[1] == render("concise", sick())
    assert Path("a.sarif").read_text(encoding="utf-8") == render("sarif", sick())
    assert Path("b.xml").read_text(encoding="utf-8") == render("junit", sick())
    assert report("run.json", "--output-format", "github", "-o", "c.txt")[1] == ""
    assert Path("c.txt").read_text(encoding="utf-8") == render("github", sick())


def test_fields_of_a_later_doctor_are_left_out() -> None:
    fields = edited(sick(), {"colour": "red", "run__weather": "fine"})
    fields["checksum"] = report_module.checksum(json.dumps(fields).encode())
    assert from_json(json.dumps(fields).encode()) == sick()


# -------------------------------------------------------------------------------------------------- edited afterwards

_EDITS: list[dict[str, Any]] = [
    {"verdict": "passed", "exit_code": 0},
    {"findings__0__severity": "info"},
    {
        "findings": [],
        "statistics__by_severity": {"error": 0, "warning": 0, "info": 0},
        "verdict": "passed",
        "exit_code": 0,
    },
    {"run__steps": 1000},
    {"checks__skipped": {}},
    {"checksum": ""},
    {"course__steps": 31},
    {"target__script": "other.py"},
    {"more": 1},
]


@pytest.mark.parametrize("change", _EDITS)
def test_an_edited_report_is_refused(report: Doctor, change: dict[str, Any]) -> None:
    saved(**change)
    said = "changed after it was written: its `checksum` does not match its content"
    assert report("run.json", "--exit-zero") == (2, "", f"error: run.json: {said}\n")


def test_a_report_whose_checksum_was_taken_out_is_refused(report: Doctor) -> None:
    fields = edited(sick(), {})
    del fields["checksum"]
    Path("run.json").write_text(json.dumps(fields))
    assert report("run.json")[0] == 2


def test_other_programs_may_lay_a_report_out_anew() -> None:
    fields = edited(sick(), {})
    assert any(isinstance(value, float) for value in fields["findings"][0]["evidence"].values())
    fields["findings"][0]["evidence"]["steps"] = 3.0
    fields["checksum"] = report_module.checksum(json.dumps(fields).encode())
    again = json.dumps(dict(reversed(fields.items())), indent=7, ensure_ascii=False).replace(" 3.0", " 3")
    assert " 3.0" in json.dumps(fields)
    assert from_json(again.encode()).findings[0].evidence["steps"] == 3


def of_version_1(**changes: Any) -> Path:
    fields = edited(sick(), {"schema_version": 1, **changes})
    del fields["checksum"]
    Path("run.json").write_text(json.dumps(fields))
    return Path("run.json")


def test_a_report_without_a_checksum_is_read_as_far_as_its_parts_say_the_same(report: Doctor) -> None:
    of_version_1()
    note = "note: run.json: has no checksum, as reports of older versions: edits cannot be detected\n"
    assert report("run.json", "--output-format", "concise") == (1, render("concise", sick()), note)
    assert report("run.json", "--output-format", "json:again.json")[0] == 1
    assert from_json(Path("again.json").read_bytes()).schema_version == 1
    of_version_1(exit_code=0)
    said = "its `exit_code` is 0, but the verdict `faults` has 1"
    assert report("run.json") == (2, "", f"error: run.json: changed after it was written: {said}\n")
    of_version_1(findings=[])
    assert report("run.json")[2].endswith("its `statistics` do not match its findings\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": 99}, f"a report of version 99, but this version of the doctor reads {SCHEMA_VERSION}"),
        ({"findings__0__location__line": "x"}, "Expected `int`, got `str` - at `$.findings[0].location.line`"),
        ({"verdict": "fine"}, "Invalid enum value 'fine' - at `$.verdict`"),
        ({"run__steps": None}, "Expected `int`, got `null` - at `$.run.steps`"),
    ],
)
def test_a_wrong_field_is_named(report: Doctor, change: dict[str, Any], said: str) -> None:
    saved(**change)
    code, out, err = report("run.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.json", b"", "its JSON is broken"),
        ("a.json", b"not json", "its JSON is broken"),
        ("a.json", b'{"schema_version": 1', "its JSON is broken (Input data was truncated)"),
        ("a.json", b"[]", "Expected `object`, got `array`"),
        ("a.json", b"{}", "Object missing required field `schema_version`"),
        ("a.json", b'{"schema_version": 1}', "Object missing required field `tool`"),
        ("a.json", b'{"schema_version": 1, "tool": "\xff"}', "not a saved report"),
        ("a.json", b"[" * 100_000, "not a saved report"),
        ("a", b' {"schema_version": true}', "Expected `int`, got `bool` - at `$.schema_version`"),
        ("a", b"words", "not a saved trace"),
    ],
)
def test_what_is_no_report_is_one_line(report: Doctor, name: str, data: bytes, said: str) -> None:
    Path(name).write_bytes(data)
    code, out, err = report(name)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {name}: ")
    assert said in err


def test_a_report_that_was_cut_anywhere_is_refused() -> None:
    data = to_json(sick())
    for end in range(0, len(data) - 1, 97):
        with pytest.raises(ReportError):
            from_json(data[:end])


def test_what_is_not_there(report: Doctor) -> None:
    assert report("gone.json") == (2, "", "error: gone.json: no such file\n")
    assert report(".") == (2, "", "error: .: no traces of ranks here (`doctor check --rank-reports .` writes them)\n")


@pytest.mark.parametrize(
    "option", [("--select", "AD1"), ("--ignore", "AD1"), ("--fail-on", "info"), ("--min-steps", "3")]
)
def test_a_saved_report_is_not_judged_again(report: Doctor, option: tuple[str, str]) -> None:
    saved()
    code, out, err = report("run.json", *option)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {option[0]}: a saved report cannot be judged again")


# ------------------------------------------------------------------------------------------------------ where they go


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["json:a.json", "sarif:./a.json"], "two output formats go to `a.json`"),
        (["json:a.json", "sarif:sub/../a.json"], "two output formats go to `a.json`"),
        (["json", "sarif"], "two output formats go to standard output"),
        (["json:"], "`json:`: the file is missing, as in `json:report.txt`"),
        (["json:gone/a.json"], "gone/a.json: cannot be written: no such folder `gone`"),
        (["json:sub"], "sub: cannot be written: it is a folder"),
        (["canvas"], "`canvas`: no such output format"),
        (["markdwon"], "`markdwon`: no such output format; did you mean `markdown`?"),
    ],
)
def test_outputs_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    with pytest.raises(Mistake, match=f"^{re.escape(said)}"):
        outputs.parse(words, None)


def test_no_report_overwrites_what_it_is_about(report: Doctor) -> None:
    before = saved().read_bytes()
    assert report("run.json", "-o", "./run.json")[2] == "error: run.json: the report would overwrite `run.json`\n"
    assert Path("run.json").read_bytes() == before


def test_no_check_overwrites_its_program_or_its_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import torch")
    (tmp_path / ".git").mkdir()
    asked = Invocation(save_trace="a.trace")
    for word, said in (("json:train.py", "is not a report"), ("json:a.trace", "would overwrite `a.trace`")):
        with pytest.raises(Mistake, match=said):
            checking.check(Request("train.py", options={"output_format": [word]}, asked=asked))
    assert Path("train.py").read_text() == "import torch"


def test_what_machines_read_is_utf_8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="ascii", errors="backslashreplace"))
    report = msgspec.structs.replace(healthy(), notes=["größer"])
    outputs.write(report, [Output("json")], "never")
    assert from_json(buffer.getvalue()) == report


def test_what_no_file_can_hold_is_spelt_out() -> None:
    report = msgspec.structs.replace(healthy(), notes=["caf\udce9.py"])
    assert writable(report).notes == ["caf\\udce9.py"]
    assert from_json(to_json(writable(report))) == writable(report)
    assert writable(healthy()) == healthy()


# ------------------------------------------------------------------------------------------------------------- GitHub


def test_the_summary_of_a_job_grows(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("before\n", encoding="utf-8")
    workflow.summarize(sick(), {"GITHUB_STEP_SUMMARY": str(file)})
    assert file.read_text(encoding="utf-8") == "before\n\n" + render("markdown", sick())


def test_no_summary_without_its_variable(capsys: pytest.CaptureFixture[str]) -> None:
    workflow.summarize(sick(), {})
    workflow.summarize(sick(), {"GITHUB_STEP_SUMMARY": ""})
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("room", "said"), [(2500, "it has no room for the details of "), (100, "it is full and lacks the report")]
)
def test_a_summary_stays_within_what_github_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], room: int, said: str
) -> None:
    file = tmp_path / "summary.md"
    file.write_bytes(b"." * (1024 * 1024 - room))
    workflow.summarize(sick(), {"GITHUB_STEP_SUMMARY": str(file)})
    assert file.stat().st_size <= 1024 * 1024
    assert said in capsys.readouterr().err
    assert file.read_bytes().isascii() == (room == 100)


def test_a_summary_that_cannot_be_written_spoils_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workflow.summarize(unjudged(), {"GITHUB_STEP_SUMMARY": str(tmp_path / "gone" / "summary.md")})
    assert capsys.readouterr().err.startswith("note: the summary of the job (GITHUB_STEP_SUMMARY): cannot be written")


def test_on_github_the_program_commands_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with workflow.only_output():
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    with workflow.only_output():
        print("::error::forged", file=sys.stderr)
    stop, forged, _, resume, _ = capsys.readouterr().err.split("\n")
    assert forged == "::error::forged"
    assert stop == f"::stop-commands::{resume.strip(':')}"
    assert len(resume) > 30


def test_a_check_summarizes_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "nothing.py").write_text("print('::error::forged')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    wanted = {"output_format": ["json:report.json"]}
    code = checking.check(Request("nothing.py", options=wanted))
    assert code == 4
    made = from_json((tmp_path / "report.json").read_bytes())
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == render("markdown", made)
    assert os.environ["GITHUB_STEP_SUMMARY"]


# ------------------------------------------------------------------------------------------------------- side by side


def test_two_reports_side_by_side(report: Doctor) -> None:
    saved("before.json"), saved("after.json", healthy())
    code, out, err = report("after.json", "--against", "before.json")
    assert (code, err) == (0, "")
    assert "since" in out
    assert "before.json: " in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["after.json", "--against", "befor.json"], "befor.json: no such file; did you mean `before.json`?"),
        (["after.json", "--against", "broken.json"], "broken.json: not a saved report: its JSON is broken"),
        (["after.json", "--against", "before.json", "--output-format", "sarif"], "`sarif` shows a single report"),
        (["after.json", "--against", "before.json", "-o", "before.json"], "would overwrite `before.json`"),
        (["run.trace", "--against", "before.json"], "--against: run.trace is a trace"),
    ],
)
def test_mistakes_in_what_to_compare(report: Doctor, arguments: list[str], said: str) -> None:
    saved("before.json"), saved("after.json", healthy())
    Path("broken.json").write_text("{")
    Path("run.trace").write_text("autograd_doctor trace 3\n")
    code, out, err = report(*arguments)
    assert (code, out) == (2, "")
    assert said in err
