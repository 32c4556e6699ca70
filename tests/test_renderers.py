"""What people and machines read: golden pages, and properties that hold for any finding at any width.

`pytest --bless tests/test_renderers.py` writes the golden files and the schema anew; read the difference.
"""

from __future__ import annotations

import json
import re
import tempfile
import unicodedata
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from any_report import findings, sources, texts
from golden_files import check_golden
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from reports import GOLDEN, REPORTS, at, finding_rule, healthy, judged, rule, sick, training
from rich.cells import cell_len

from autograd_doctor import renderers
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import ExitCode, Related
from autograd_doctor.renderers import catalogue, formats, render, shows_unicode
from autograd_doctor.renderers.json_ import schema
from autograd_doctor.renderers.remarks import doubts
from autograd_doctor.report import Place, Report, ReportedFinding, Run, Verdict
from autograd_doctor.reports import Reports
from autograd_doctor.rules import Tunable

SCHEMA = Path(renderers.__file__).parent / "report.schema.json"
OF_SEVERAL = Path(renderers.__file__).parent / "reports.schema.json"
ANSI = re.compile(r"\x1b\[[0-9;]*m")


# ----------------------------------------------------------------------------------------------------------- golden


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", REPORTS)
def test_full(name: str, width: int) -> None:
    check_golden(GOLDEN / f"{name}.{width}.txt", render("full", REPORTS[name](), width=width))


def test_full_in_ascii() -> None:
    text = render("full", sick(), width=80, unicode=False)
    assert text.isascii()
    check_golden(GOLDEN / "sick.ascii.txt", text)


@pytest.mark.parametrize("name", REPORTS)
def test_concise(name: str) -> None:
    check_golden(GOLDEN / f"{name}.concise.txt", render("concise", REPORTS[name](), width=40))


def documented() -> Any:
    def bad() -> None:
        import torch

        loss = torch.ones(1)  # <- AD101
        print(loss)

    def bad_in_a_loop() -> None:
        print("another")

    def good() -> None:
        # a comment comes first
        print("all is well")

    def good_with_accumulation() -> None:
        print("well too")

    return rule(
        name="missing-zero-grad",
        title="gradients of earlier steps are still there",
        observes="What each backward wrote,\nand what each step used\n\nNothing else.",
        needs=(BackwardRan,),
        tunables={"share": Tunable(0.5, "smallest share of dead units", "measured: healthy models have less")},
        bad=(bad, bad_in_a_loop),
        good=(good, good_with_accumulation),
    )


def test_catalogue() -> None:
    rules = [documented(), rule("AD201", severity="warning"), rule("AD102", severity="info")]
    check_golden(GOLDEN / "rules.txt", catalogue.rules_text(rules, width=80))
    check_golden(GOLDEN / "explain.txt", catalogue.explain_text(documented(), width=80))


def test_catalogue_in_json() -> None:
    (entry,) = json.loads(catalogue.rules_json([documented()]))
    assert entry["code"] == "AD101"
    share = {"default": 0.5, "meaning": "smallest share of dead units", "source": "measured: healthy models have less"}
    assert entry["tunables"] == {"share": share}
    (page,) = json.loads(catalogue.explain_json([documented()]))
    assert page["needs"] == ["BackwardRan"]
    assert page["bad"][0] == "import torch\n\nloss = torch.ones(1)  # <- AD101\nprint(loss)\n"
    assert page["good"][0] == '# a comment comes first\nprint("all is well")\n'


# ----------------------------------------------------------------------------------------------------------- plainly


def test_formats_are_found_by_walking_the_folder() -> None:
    assert {"full", "concise", "json"} <= set(formats())
    with pytest.raises(KeyError):
        render("no such format", healthy())


@pytest.mark.parametrize("name", REPORTS)
def test_colour_adds_nothing_but_colour(name: str) -> None:
    colored = render("full", REPORTS[name](), color=True)
    assert ANSI.search(colored)
    assert ANSI.sub("", colored) == render("full", REPORTS[name](), color=False)


def test_streams_that_cannot_show_unicode() -> None:
    assert shows_unicode("utf-8")
    assert not shows_unicode("ascii")
    assert not shows_unicode("latin-1")
    assert not shows_unicode("no such encoding")
    assert not shows_unicode(None)


def test_a_healthy_run_is_told_in_a_few_lines() -> None:
    text = render("full", healthy())
    assert text.startswith("✓ nothing wrong seen in 30 steps of train.py (2 checks, 12.3 s);")
    assert len(text.splitlines()) <= 7


@pytest.mark.parametrize("format_name", ["full", "concise"])
def test_a_healthy_run_says_how_many_checks_could_not_look(format_name: str) -> None:
    assert (
        "nothing wrong seen in 30 steps of train.py (2 checks, 12.3 s); 1 not checked: no evaluation was seen\n"
        in render(format_name, healthy(), width=200)
    )
    assert json.loads(render("json", healthy()))["checks"]["skipped"] == {"AD211": "no evaluation was seen"}


def test_a_clean_loop_in_a_program_that_fails_is_no_healthy_program() -> None:
    report = judged([*training(5, reason=None), RunEnded(reason="exited", exit_code=7, seconds=1.0)], rule())
    wanted = "program failed: the program exited with 7 after 5 steps, which no rule explains (1.0 s)"
    assert render("concise", report) == wanted + "\n"


def framed(tmp_path: Path, line: str, column: int, end_column: int, *, width: int = 60, **changes: Any) -> str:
    """The source line and the line of carets below it, as rendered."""
    (tmp_path / "train.py").write_bytes(line.encode())
    found = {"location": at(tmp_path / "train.py", 1, column, end_column), "message": "here"}
    report = judged(training(cwd=str(tmp_path)), finding_rule("AD101", found))
    lines = render("full", report, width=width, **changes).splitlines()
    start = next(number for number, text in enumerate(lines) if text.startswith(" 1 "))
    return "\n".join(text[5:] for text in lines[start : start + 2])


def test_carets_stand_below_what_they_mean(tmp_path: Path) -> None:
    assert framed(tmp_path, "a = b + c", 5, 6) == "a = b + c\n    ^ here"
    assert framed(tmp_path, "    a = b\r\n", 9, 10) == "a = b\n    ^ here"
    assert framed(tmp_path, "\ta =\tb", 6, 7) == "a = b\n    ^ here"
    assert framed(tmp_path, "x = '日本' + b", 13, 14) == "x = '日本' + b\n              ^ here"
    assert framed(tmp_path, "a = b", 0, 0) == "a = b\n^^^^^ here"
    assert framed(tmp_path, "a = b", 5, 3) == "a = b\n    ^ here"
    assert framed(tmp_path, "a = b", 99, 120) == "a = b\n     ^ here"


def test_carets_stand_right_in_ascii_too(tmp_path: Path) -> None:
    assert framed(tmp_path, "x = '日本' + b", 13, 14, unicode=False) == "x = '????' + b\n              ^ here"


def test_long_lines_are_cut_around_the_span(tmp_path: Path) -> None:
    source, carets = framed(tmp_path, "x = " + "a + " * 100 + "culprit" + " + b" * 100, 405, 412, width=40).split("\n")
    assert cell_len(source) <= 35
    assert source.startswith("…")
    assert source.endswith("…")
    assert source[carets.index("^") : carets.rindex("^") + 1] == "culprit"


def test_a_file_that_is_gone_leaves_the_quoted_line(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("a = 1\nb = 2\n", encoding="utf-8")
    report = judged(training(cwd=str(tmp_path)), finding_rule("AD101", {"location": at(script, 2, 1, 2)}))
    assert " 1 │ a = 1\n 2 │ b = 2\n   │ ^ it went wrong\n" in render("full", report)
    script.unlink()
    assert " 2 │ b = 2\n   │ ^ it went wrong\n" in render("full", report)
    script.write_text("something\nelse\n", encoding="utf-8")
    assert " 2 │ b = 2\n   │ ^ it went wrong\n" in render("full", report)


def test_a_place_that_is_not_in_its_file_still_has_its_label(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("a = 1\nb = 2\n", encoding="utf-8")
    found = {"location": at(script, 9), "related": (Related("made here", at(script, 1, 1, 2)),)}
    text = render("full", judged(training(cwd=str(tmp_path)), finding_rule("AD101", found)))
    assert " 1 │ a = 1\n   │ - made here\n" in text
    assert "\n   it went wrong\n" in text


def test_what_is_said_of_one_place_is_said_together(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("a = 1\nb = 2\n", encoding="utf-8")
    made, saved = Related("made here", at(script, 1, 1, 2)), Related("saved here", at(script, 1, 1, 2))
    found = {"location": at(script, 2, 1, 2), "related": (made, saved)}
    text = render("full", judged(training(cwd=str(tmp_path)), finding_rule("AD101", found)))
    assert " 1 │ a = 1\n   │ - made here; saved here\n 2 │ b = 2\n" in text


def test_a_finding_without_a_place_says_its_message() -> None:
    text = render("full", judged(training(), finding_rule("AD101", {"message": "seen nowhere"})))
    assert "seen nowhere" in text
    assert "-->" not in text


# ------------------------------------------------------------------------------------------------------------- JSON


def test_the_schema_is_that_of_the_reports_types() -> None:
    for file, made in ((SCHEMA, schema()), (OF_SEVERAL, schema(Reports))):
        check_golden(file, json.dumps(made, indent=2, ensure_ascii=False) + "\n")
        Draft7Validator.check_schema(made)


def test_the_schema_refuses_what_is_no_report() -> None:
    validator = Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    value = json.loads(render("json", sick()))
    assert validator.is_valid(value)
    assert not validator.is_valid({**value, "verdict": "fine"})
    assert not validator.is_valid({key: part for key, part in value.items() if key != "exit_code"})
    value["findings"][0]["evidence"]["a"] = None
    assert not validator.is_valid(value)


@pytest.mark.parametrize("name", REPORTS)
def test_json_can_be_read_again(name: str) -> None:
    report = REPORTS[name]()
    text = render("json", report)
    Draft7Validator(schema()).validate(json.loads(text))
    assert msgspec.json.decode(text, type=Report) == report


def test_the_page_on_output_knows_every_format_exit_code_and_field() -> None:
    page = (GOLDEN.parents[1] / "docs" / "output.md").read_text(encoding="utf-8")
    fields = {*Report.__struct_fields__, *Run.__struct_fields__, *ReportedFinding.__struct_fields__, *formats()}
    assert not [name for name in sorted(fields | set(Place.__struct_fields__)) if f"`{name}`" not in page]
    assert not [verdict for verdict in get_args(Verdict) if f"`{verdict}`" not in page]
    assert not [code for code in ExitCode if f"| {int(code)} | " not in page]


# ------------------------------------------------------------------------------------------- whatever a finding holds


@settings(max_examples=150)
@given(st.lists(findings, max_size=3), sources, texts, st.integers(1, 220), st.booleans(), st.booleans())
def test_any_finding_renders_at_any_width(
    found: list[dict[str, Any]], text: str, title: str, width: int, color: bool, unicode: bool
) -> None:
    for number, fields in enumerate(found):
        fields["message"] = f"m{number}q {fields['message']}"
        fields["subject"] = f"{fields['subject']}{number}"  # those of one subject at one place are one
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_bytes(text.encode(errors="replace"))
        report = judged(training(2, cwd=folder), finding_rule("AD101", *found, title=title) if found else rule())
        drawn = {name: render(name, report, width=width, color=color, unicode=unicode) for name in formats()}
    value = json.loads(drawn["json"])
    Draft7Validator(schema()).validate(value)
    assert [each["message"] for each in value["findings"]] == [each.message for each in report.findings]
    assert len(drawn["concise"].splitlines()) == len(report.findings) + 1
    plain = ANSI.sub("", drawn["full"])
    assert not [character for character in plain if unicodedata.category(character) == "Cc" and character != "\n"]
    assert unicode or plain.isascii()
    assert all(f"m{number}q" in plain for number in range(len(found)))
    for line in plain.split("\n"):
        assert cell_len(line) <= max(width, 40) or "-->" in line or ":::" in line


@pytest.mark.parametrize(
    ("count", "in_full", "steps", "said"),
    [
        (4, 12, 80, "in at least 4 steps, first in step 2 (12 of 80 recorded in full)"),
        (40, 12, 80, "in 40 steps, first in step 2"),
        (4, 80, 80, "in 4 steps, first in step 2"),
    ],
)
def test_a_claim_says_of_which_steps_it_is(count: int, in_full: int, steps: int, said: str) -> None:
    report = sick()
    run = msgspec.structs.replace(report.run, steps=steps, steps_in_full=in_full)
    finding = msgspec.structs.replace(report.findings[0], step_count=count)
    assert ("seen", said) in list(doubts(finding, run))
