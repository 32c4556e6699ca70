"""What people have accepted: ignores in comments and settings, and baselines, on findings made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reports import at, finding_rule, judged, rule, training

from autograd_doctor.accepted import Accepted, Ignored, Known, KnownBefore
from autograd_doctor.events.event import Event
from autograd_doctor.events.run import ProgramRaised, RunEnded
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.findings import ExitCode
from autograd_doctor.judging.known import Keys, gathered
from autograd_doctor.renderers import render
from autograd_doctor.report import Report, ReportedFinding

WHERE = "autograd_doctor.yaml:3"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "train.py"


def kinds(report: Report) -> list[str]:
    return [finding.suppressed.kind for finding in report.suppressed if finding.suppressed]


# ------------------------------------------------------------------------------------------- comments of no use

LOOP = """def main():
    setup()  # doctor: ignore[AD101]
    if rare():
        other()  # doctor: ignore[AD101]
    for _ in range(3):
        # doctor: ignore[AD101] in the loop
        step()
        last()
    done()  # doctor: ignore[AD101]

def never():
    a()  # doctor: ignore[AD101]
"""


def stepped(script: Path, line: int) -> list[Event]:
    happened = training(cwd=str(script.parent))
    return [*happened[:-1], OptimizerStepped(step=29, optimizer=1, location=at(script, line)), happened[-1]]


@pytest.mark.parametrize(
    ("seen", "noted"), [(2, [2]), (3, [2]), (4, [2, 4]), (7, [2, 6]), (8, [2, 6]), (9, [2, 9]), (12, [12])]
)
def test_a_comment_of_no_use_is_noted_if_its_statement_ran(script: Path, seen: int, noted: list[int]) -> None:
    script.write_text(LOOP, encoding="utf-8")
    report = judged(stepped(script, seen), rule("AD101"))
    assert report.notes == [f"`doctor: ignore[AD101]` at train.py:{line} silences nothing" for line in noted]


def test_a_comment_is_not_of_no_use_if_its_rule_did_not_judge(script: Path) -> None:
    script.write_text(LOOP, encoding="utf-8")
    assert judged(stepped(script, 9), rule("AD102")).notes == []
    assert judged(stepped(script, 9), rule("AD101", needs_phases=("evaluation",))).notes == []


@pytest.mark.parametrize(("seen_in", "noted"), [("train.py", True), ("other.py", False)])
def test_a_file_that_was_not_seen_keeps_its_ignores(script: Path, seen_in: str, noted: bool) -> None:
    script.write_text("# doctor: file-ignore[AD101]\na()\n", encoding="utf-8")
    report = judged(stepped(script.with_name(seen_in), 2), rule("AD101"))
    assert bool(report.notes) is noted


def test_source_that_is_no_python_any_more_is_not_judged(script: Path) -> None:
    script.write_text("a()  # doctor: ignore[AD101]\nb(\n", encoding="utf-8")
    assert judged(stepped(script, 1), rule("AD101")).notes == []


# --------------------------------------------------------------------------------------------------------- settings


def ignoring(folder: Path, **fields: Any) -> Accepted:
    return Accepted(ignored=[(Ignored(**{"code": "AD101", **fields}), WHERE)], folder=folder)


def found(script: Path, accepted: Accepted, **fields: Any) -> Report:
    made = {"subject": "backbone.0.weight", "location": at(script, 1), **fields}
    return judged(training(cwd=str(script.parent)), finding_rule("AD101", made), accepted=accepted)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"code": "AD1"},
        {"code": "fault-ad101"},
        {"subject": "backbone.*"},
        {"path": "train.py"},
        {"path": "tr*"},
        {"subject": "*.weight", "path": "*.py"},
    ],
)
def test_settings_silence_by_rule_subject_and_file(script: Path, fields: dict[str, str]) -> None:
    report = found(script, ignoring(script.parent, reason="frozen", **fields))
    assert kinds(report) == ["settings"]
    assert [each.suppressed.reason for each in report.suppressed if each.suppressed] == ["frozen"]
    assert (report.exit_code, report.findings) == (ExitCode.OK, [])


@pytest.mark.parametrize(
    "fields",
    [{"code": "AD102"}, {"subject": "head.*"}, {"path": "other.py"}, {"path": "train"}, {"subject": "Backbone*"}],
)
def test_settings_silence_nothing_else(script: Path, fields: dict[str, str]) -> None:
    assert kinds(found(script, ignoring(script.parent, **fields))) == []


def test_a_file_is_named_from_the_settings_on(script: Path) -> None:
    above = script.parent.parent
    assert kinds(found(script, ignoring(above, path=f"{script.parent.name}/*.py"))) == ["settings"]
    assert kinds(found(script, ignoring(above, path="train.py"))) == []


@pytest.mark.parametrize(
    ("fields", "described"),
    [
        ({}, "AD101"),
        ({"code": "fault-ad101"}, "fault-ad101"),
        ({"subject": "head.*"}, "AD101, subject `head.*`"),
        ({"path": "train.py"}, "AD101, path `train.py`"),
        ({"subject": "unheard.*"}, None),
        ({"path": "other.py"}, None),
        ({"code": "AD202"}, None),
    ],
)
def test_settings_of_no_use_are_noted_where_they_were_seen_to_apply(
    script: Path, fields: dict[str, str], described: str | None
) -> None:
    seen = ParameterSeen(parameter=1, name="head.bias", shape=[3], dtype="float32", requires_grad=True)
    report = judged([*stepped(script, 1), seen], rule("AD101"), accepted=ignoring(script.parent, **fields))
    assert report.notes == ([f"{WHERE} ({described}) silences nothing"] if described else [])


# --------------------------------------------------------------------------------------------------------- baselines


def known(script: Path, report: Report) -> list[Known]:
    return gathered(report.findings, Keys(str(script.parent), script.parent))


def against(script: Path, findings: list[Known], *places: dict[str, Any], **more: Any) -> Report:
    before = KnownBefore(".autograd_doctor/baseline.json", script.parent, findings)
    accepted = Accepted(baseline=before, strict=more.pop("strict", False))
    return judged(training(cwd=str(script.parent)), finding_rule("AD101", *places, **more), accepted=accepted)


def in_main(script: Path, line: int, **fields: Any) -> dict[str, Any]:
    return {"location": at(script, line, 5, 9, function="main"), "subject": "model", **fields}


def written(script: Path, *places: dict[str, Any]) -> list[Known]:
    return known(script, judged(training(cwd=str(script.parent)), finding_rule("AD101", *places)))


def test_what_a_baseline_holds(script: Path) -> None:
    script.write_text("def main():\n    a( 1)   # why\n", encoding="utf-8")
    assert written(script, in_main(script, 2)) == [
        Known(code="AD101", path="train.py", function="main", subject="model", source="a( 1)", count=1)
    ]


def test_known_findings_do_not_count_and_are_said_to_be_known(script: Path) -> None:
    script.write_text("def main():\n    a()\n    b()\n", encoding="utf-8")
    report = against(script, written(script, in_main(script, 2)), in_main(script, 2), in_main(script, 3))
    assert kinds(report) == ["baseline"]
    assert [each.location.line for each in report.findings if each.location] == [3]
    assert report.exit_code == ExitCode.FINDINGS
    assert report.baseline is not None
    assert (report.baseline.matched, report.baseline.stale) == (1, 0)
    assert "new: 1 error in 30 steps of training, 12.3 s; 1 known from .autograd_doctor" in render("concise", report)


def test_without_a_baseline_nothing_is_called_new(script: Path) -> None:
    script.write_text("a()\n", encoding="utf-8")
    report = judged(training(cwd=str(script.parent)), finding_rule("AD101", in_main(script, 1)))
    assert report.baseline is None
    assert "new" not in render("full", report) + render("concise", report)


def test_edits_elsewhere_in_the_file_change_nothing(script: Path) -> None:
    script.write_text("def main():\n    a()\n", encoding="utf-8")
    findings = written(script, in_main(script, 2, message="it was 3.5"))
    script.write_text('"""Now with prose."""\nimport os\n\n\ndef other(): ...\n\n\nasync def main():\n  a()  # so\n')
    report = against(script, findings, in_main(script, 9, message="it was 7.1", step_first=4), severity="warning")
    assert (kinds(report), report.findings) == (["baseline"], [])


@pytest.mark.parametrize(
    "change", [{"subject": "head"}, {"location": at("train.py", 2, function="other")}, {"location": None}]
)
def test_another_subject_or_function_is_new(script: Path, change: dict[str, Any]) -> None:
    script.write_text("def main():\n    a()\n", encoding="utf-8")
    report = against(script, written(script, in_main(script, 2)), in_main(script, 2, **change))
    assert (kinds(report), len(report.findings)) == ([], 1)


def test_findings_that_are_alike_are_counted(script: Path) -> None:
    script.write_text("def main():\n    a()\n    a()\n    a()\n", encoding="utf-8")
    findings = written(script, in_main(script, 2), in_main(script, 3))
    assert [each.count for each in findings] == [2]
    report = against(script, findings, *(in_main(script, line) for line in (2, 3, 4)))
    assert (kinds(report), len(report.findings)) == (["baseline"] * 2, 1)


def test_what_did_not_come_again_is_said_and_fails_only_a_strict_gate(script: Path) -> None:
    script.write_text("def main():\n    a()\n", encoding="utf-8")
    findings = [*written(script, in_main(script, 2)), Known(code="AD101", function="gone", count=2)]
    report = against(script, findings, in_main(script, 2))
    said = "2 findings of .autograd_doctor/baseline.json are stale, fixed or ignored by now (AD101 in gone)"
    assert [note.partition(":")[0] for note in report.notes] == [said]
    assert (report.exit_code, report.verdict) == (ExitCode.OK, "passed")
    strict = against(script, findings, in_main(script, 2), strict=True)
    assert (strict.exit_code, strict.verdict) == (ExitCode.FINDINGS, "faults")
    assert "healthy" not in render("full", strict)
    assert render("concise", strict).startswith("stale: 2 findings of .autograd_doctor/baseline.json (`--strict")


def test_what_was_not_judged_is_not_stale(script: Path) -> None:
    script.write_text("a()\n", encoding="utf-8")
    findings = [Known(code="AD202", function="gone"), Known(code="AD101", function="gone")]
    report = against(script, findings, strict=True, needs_phases=("evaluation",))
    assert report.baseline is not None
    assert (report.baseline.stale, report.exit_code, report.notes) == (0, ExitCode.OK, [])


def test_what_the_program_died_of_is_never_known(script: Path) -> None:
    script.write_text("a()\n", encoding="utf-8")
    crash = ProgramRaised(kind="RuntimeError", message="boom", frames=[])
    ended = RunEnded(step=3, reason="raised", exit_code=1)
    happened = [*training(3, cwd=str(script.parent), reason=None), crash, ended]
    died = finding_rule("AD599", in_main(script, 1))
    findings = [Known(code="AD599", path="train.py", function="main", subject="model", source="a()")]
    accepted = Accepted(baseline=KnownBefore("b.json", script.parent, findings))
    report = judged(happened, died, accepted=accepted)
    assert (report.exit_code, kinds(report)) == (ExitCode.FINDINGS, [])
    assert known(script, report) == []


def test_a_library_has_the_same_path_everywhere(tmp_path: Path) -> None:
    def path(cwd: str, library: str) -> str:
        report = judged(training(cwd=cwd), finding_rule("AD101", {"location": at(library, 3)}))
        (entry,) = gathered(report.findings, Keys(cwd, Path(cwd)))
        return entry.path

    one = path("/home/me/project", "/usr/lib/python3.11/site-packages/timm/loss.py")
    assert one == path(str(tmp_path), str(tmp_path / "venv/lib/python3.13/site-packages/timm/loss.py"))
    assert one == "site-packages/timm/loss.py"


@settings(max_examples=60)
@given(
    before=st.lists(st.sampled_from(["a()", "b()", "c(1)"]), max_size=5),
    after=st.lists(st.sampled_from(["a()", "b()", "c(1)"]), max_size=5),
    above=st.integers(0, 3),
)
def test_known_and_new_findings_add_up(script: Path, before: list[str], after: list[str], above: int) -> None:
    """As multisets of lines: what is matched is their meeting, what is new the rest."""
    findings = _found_on(script, before, 0, None).findings
    report = _found_on(script, after, above, gathered(findings, Keys(str(script.parent), script.parent)))
    again = sum(min(before.count(line), after.count(line)) for line in set(before))
    assert len(report.suppressed) == again
    assert len(report.findings) == len(after) - again
    assert report.baseline is not None
    assert (report.baseline.matched, report.baseline.stale) == (again, len(before) - again)


def _found_on(script: Path, lines: list[str], above: int, known: list[Known] | None) -> Report:
    script.write_text("\n" * above + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    places = [in_main(script, number) for number, _ in enumerate(lines, above + 1)]
    found = finding_rule("AD101", *places) if places else rule("AD101")
    before = KnownBefore("b.json", script.parent, known) if known is not None else None
    return judged(training(cwd=str(script.parent)), found, accepted=Accepted(baseline=before))


def test_nothing_is_silenced_twice_or_where_nothing_is_accepted(script: Path) -> None:
    script.write_text("a()  # doctor: ignore[AD101] so\n", encoding="utf-8")
    place = in_main(script, 1)
    findings = written(script, place) or [
        Known(code="AD101", path="train.py", function="main", subject="model", source="a()")
    ]
    assert kinds(against(script, findings, place)) == ["comment"]
    report = judged(training(cwd=str(script.parent)), finding_rule("AD101", place), accepted=Accepted(comments=False))
    assert _codes(report.findings) == ["AD101"]


def _codes(findings: list[ReportedFinding]) -> list[str]:
    return [finding.code for finding in findings]
