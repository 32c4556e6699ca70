"""What the engine makes of a trace: findings, consequences, suppressions, verdicts, skipped rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from reports import at, finding_rule, judged, rule, training

from autograd_doctor.events.event import Event
from autograd_doctor.events.run import (
    InstrumentAttached,
    InstrumentFailed,
    InstrumentLimited,
    Noted,
    ProgramRaised,
    RecordingStarted,
    RunEnded,
)
from autograd_doctor.events.steps import ForwardRan, OptimizerStepped
from autograd_doctor.findings import Edit, ExitCode, Finding, Fix, Related
from autograd_doctor.judging.presentation import Presenter
from autograd_doctor.notebook import cell_file
from autograd_doctor.plan import Outcome, Target
from autograd_doctor.report import Report, to_json
from autograd_doctor.rules import Tunable, Tunables
from autograd_doctor.trace import Trace

EVALUATED = ForwardRan(module=1, location=None, training=False, grad_enabled=False)
CRASH = ProgramRaised(kind="RuntimeError", message="boom", frames=[])


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


# ------------------------------------------------------------------------------------------------ rules and phases


def test_a_healthy_run_passes() -> None:
    report = judged(training(), rule("AD102"), rule("AD101"))
    assert (report.verdict, report.exit_code) == ("passed", ExitCode.OK)
    assert report.checks.ran == ["AD101", "AD102"]
    assert report.checks.skipped == {}


def test_a_rule_gets_its_defaults_and_the_tunables_that_replace_them() -> None:
    seen: list[Tunables] = []

    def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
        seen.append(dict(tunables))
        yield from ()

    own = {"steps": Tunable(3, "fewest steps", "chosen: why"), "share": Tunable(0.5, "smallest share", "chosen: why")}
    judged(training(), rule(examine=examine, tunables=own), tunables={"AD101": {"steps": 7}})
    assert seen == [{"steps": 7, "share": 0.5}]


def test_a_rule_whose_phase_was_not_seen_is_skipped_with_the_reason() -> None:
    report = judged(training(), finding_rule("AD211", needs_phases=("evaluation",)), rule("AD101"))
    assert report.checks.skipped == {"AD211": "no evaluation was seen"}
    assert report.checks.ran == ["AD101"]
    assert report.findings == []
    assert report.run.phases_not_seen == ["evaluation", "training after evaluation"]


def test_a_phase_that_was_seen_lets_the_rule_judge() -> None:
    report = judged([EVALUATED, *training()], finding_rule("AD211", needs_phases=("evaluation",)))
    assert codes(report) == ["AD211"]
    assert report.checks.skipped == {}


def test_rules_for_training_may_explain_a_crash_before_training() -> None:
    report = judged([*training(0, reason=None), CRASH], finding_rule("AD511"), rule("AD101"))
    assert codes(report) == ["AD511"]
    assert report.checks.ran == ["AD511"]
    assert report.checks.skipped == {"AD101": "no training was seen"}


def test_a_rule_that_crashes_is_reported_and_the_others_stand() -> None:
    def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
        yield from ()
        raise ZeroDivisionError("by zero")

    report = judged(training(), rule("AD101", examine), finding_rule("AD102"))
    assert codes(report) == ["AD102", "AD000"]
    crashed = report.findings[1]
    assert (crashed.name, crashed.severity) == ("rule-crashed", "info")
    assert crashed.message == "`AD101` fault-ad101 raised `ZeroDivisionError`: by zero"
    assert report.checks.skipped == {"AD101": "the rule crashed"}
    assert report.checks.ran == ["AD102"]


# --------------------------------------------------------------------------------------------------- what had watched


def attached(name: str, *emits: type[Event], requires: Sequence[str] = ()) -> InstrumentAttached:
    return InstrumentAttached(instrument=name, emits=[kind.__name__ for kind in emits], requires=list(requires))


def failed(name: str, look: str = "step") -> InstrumentFailed:
    return InstrumentFailed(instrument=name, look=look, error="ValueError: no such thing")


STEPS = rule("AD101", needs=(OptimizerStepped,))
NOISY = finding_rule("AD102", needs=(OptimizerStepped,), severity="warning")


def test_a_rule_ran_if_an_instrument_stated_what_it_needs() -> None:
    report = judged([attached("steps", OptimizerStepped, requires=["names"]), attached("names"), *training()], STEPS)
    assert (report.checks.ran, report.exit_code) == (["AD101"], ExitCode.OK)


def test_a_rule_whose_events_nobody_stated_is_not_even_asked() -> None:
    both = finding_rule("AD103", needs=(OptimizerStepped, ForwardRan))
    report = judged([attached("steps", OptimizerStepped), *training()], STEPS, both)
    assert report.checks.ran == ["AD101"]
    assert report.checks.skipped == {"AD103": "`ForwardRan` was not recorded"}
    assert report.findings == []


def test_rules_that_were_not_selected_when_the_program_ran_are_named_so() -> None:
    header = RecordingStarted(tool="1", began=1.0, rules=["AD101"])
    happened = [header, attached("steps", OptimizerStepped), *training()]
    report = judged(happened, STEPS, rule("AD103", needs=(ForwardRan,)))
    assert report.checks.skipped == {"AD103": "not recorded: other rules were selected when the program ran"}
    assert report.exit_code == ExitCode.OK


@pytest.mark.parametrize("broken", ["steps", "names", "tables"])
def test_a_failure_anywhere_below_a_rule_leaves_it_unchecked(broken: str) -> None:
    watching = [
        attached("steps", OptimizerStepped, requires=["names"]),
        attached("names", requires=["tables"]),
        attached("tables"),
        attached("other", ForwardRan),
    ]
    report = judged([*watching, failed(broken), *training()], STEPS, rule("AD103", needs=(ForwardRan,)))
    assert report.checks.ran == ["AD103"]
    assert report.checks.skipped == {"AD101": f"`{broken}` failed: ValueError: no such thing"}
    assert (report.verdict, report.exit_code) == ("not-judged", ExitCode.NOT_JUDGED)
    assert report.exit_reason == f"`{broken}` failed: ValueError: no such thing, so AD101 could not be checked"


def test_an_instrument_that_could_not_be_attached_is_named() -> None:
    report = judged([failed("steps", "attach"), *training()], STEPS)
    assert report.exit_reason.startswith("`steps` failed: ")
    lacking = judged([attached("steps", OptimizerStepped, requires=["names"]), *training()], STEPS)
    assert lacking.exit_reason == "`names` was not attached, so AD101 could not be checked"


def test_what_a_rule_found_stands_although_its_instrument_failed() -> None:
    report = judged([attached("steps", OptimizerStepped), failed("steps"), *training()], STEPS, NOISY)
    assert codes(report) == ["AD102"]
    assert report.checks.ran == []
    assert report.exit_code == ExitCode.NOT_JUDGED
    assert judged([attached("s", OptimizerStepped), failed("s"), *training()], NOISY).exit_code == ExitCode.OK
    assert (
        judged([attached("s", OptimizerStepped), failed("s"), *training()], STEPS, NOISY, fail_on="warning").exit_code
        == 1
    )


def test_an_instrument_that_gave_way_only_lists_its_rules() -> None:
    gave_way = InstrumentLimited(instrument="steps", reason="the model is too large")
    report = judged([attached("steps", OptimizerStepped), gave_way, *training()], STEPS, rule("AD104"))
    assert report.checks.skipped == {"AD101": "the model is too large"}
    assert (report.exit_code, report.checks.ran) == (ExitCode.OK, ["AD104"])


def test_what_one_rank_did_not_see_was_not_seen() -> None:
    second = [msgspec.structs.replace(event, rank=1) for event in (attached("other"), *training())]
    report = judged([attached("steps", OptimizerStepped), *training(), *second], STEPS)
    assert report.checks.skipped == {"AD101": "`OptimizerStepped` was not recorded"}


# ---------------------------------------------------------------------------------------------------- what is missing


def test_a_run_of_which_something_is_missing_is_never_green() -> None:
    report = judged(training(reason=None), rule())
    assert (report.verdict, report.exit_code) == ("not-judged", ExitCode.NOT_JUDGED)
    assert report.exit_reason == "the end of the run was not recorded"
    assert judged(training(reason=None), finding_rule("AD101")).exit_code == ExitCode.FINDINGS


def test_a_crash_of_a_rule_is_a_failure_of_the_doctors() -> None:
    def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
        yield from ()
        raise ZeroDivisionError

    report = judged(training(), rule("AD101", examine), rule("AD102"))
    assert (report.verdict, report.exit_code) == ("doctor-failed", ExitCode.USAGE)
    assert report.exit_reason == "the rule AD101 crashed, which is a bug of autograd_doctor"


def test_a_program_may_fail_on_its_way_out() -> None:
    for outcome, exit_code in ((Outcome(exit_code=7), 7), (Outcome(exit_code=None, signal=11), None)):
        report = judged(training(reason="finished"), rule(), outcome=outcome)
        assert (report.exit_code, report.run.program_exit) == (ExitCode.PROGRAM_FAILED, exit_code)
    assert judged(training(reason="steps"), rule(), outcome=Outcome(exit_code=7)).exit_code == ExitCode.OK


def test_a_fix_and_the_ranks_come_along(tmp_path: Path) -> None:
    edit = Edit(path=str(tmp_path / "train.py"), line=1, column=1, end_line=1, end_column=2, content="b")
    fix = Fix(applicability="safe", description=f"change {tmp_path}/train.py", edits=(edit,))
    found = finding_rule("AD101", {"fix": fix})
    report = judged(training(cwd=str(tmp_path)), found)
    assert msgspec.json.decode(to_json(report))["findings"][0]["fix"] == {
        "applicability": "safe",
        "description": "change train.py",
        "edits": [
            {"path": "train.py", "line": 1, "column": 1, "end_line": 1, "end_column": 2, "content": "b", "cell": 0}
        ],
        "diff": "",
        "proof": None,
    }
    assert report.findings[0].ranks == ()


def test_a_fix_of_a_cell_names_the_notebook_and_the_cell(tmp_path: Path) -> None:
    path = cell_file(str(tmp_path / "train.ipynb"), 3)
    edit = Edit(path=path, line=1, column=1, end_line=1, end_column=2, content="b")
    fix = Fix(applicability="safe", description=f"change {path}:1", edits=(edit,))
    shown = judged(training(cwd=str(tmp_path)), finding_rule("AD101", {"fix": fix})).findings[0].fix
    assert shown is not None
    assert shown.description == "change train.ipynb:cell 3:1"
    assert (shown.edits[0].path, shown.edits[0].cell) == ("train.ipynb", 3)


# ------------------------------------------------------------------------------------------------------------ order


def test_findings_come_most_important_first_whatever_the_order_of_the_rules() -> None:
    rules = [
        finding_rule("AD901", severity="info"),
        finding_rule("AD902", severity="warning"),
        finding_rule("AD903", {"confidence": "low"}),
        finding_rule("AD904", {"step_first": 5}),
        finding_rule("AD905", {"step_first": 2}),
        finding_rule("AD906", {"step_first": 2}),
    ]
    wanted = ["AD905", "AD906", "AD904", "AD903", "AD902", "AD901"]
    assert codes(judged(training(), *rules)) == wanted
    assert codes(judged(training(), *reversed(rules))) == wanted


def test_what_explains_a_crash_comes_before_other_findings_of_its_rank() -> None:
    rules = [
        finding_rule("AD101", {"step_first": 1}),
        finding_rule("AD504", {"step_first": 3}, folds=("AD599",)),
        finding_rule("AD599", {"step_first": 3}),
    ]
    report = judged([*training(reason=None), CRASH], *rules)
    assert codes(report) == ["AD504", "AD101"]
    assert [finding.explains_crash for finding in report.findings] == [True, False]


# ----------------------------------------------------------------------------------------------------- consequences


def test_a_consequence_becomes_a_note_of_its_cause() -> None:
    cause = finding_rule("AD202", {"parameters": (1, 2)}, folds=("AD410",))
    consequence = finding_rule(
        "AD410", {"message": "zero in 3 steps", "parameters": (2,), "location": at("train.py", 7)}
    )
    report = judged(training(), cause, consequence)
    assert codes(report) == ["AD202"]
    assert report.findings[0].notes == ["as a consequence, zero in 3 steps (`AD410` fault-ad410 at train.py:7)"]
    assert report.statistics.by_rule == {"AD202": 1}


def test_what_a_line_does_to_several_objects_of_one_name_is_one_finding() -> None:
    place = {"location": at("train.py", 7), "subject": "optimizer"}
    first = {**place, "parameters": (1,), "step_first": 2, "step_count": 3}
    again = {**place, "parameters": (2,), "step_first": 20, "step_count": 4}
    report = judged(training(), finding_rule("AD101", again, first))
    (found,) = report.findings
    assert (found.step_first, found.step_count, found.notes) == (2, 7, ["seen again from step 20 on"])
    many = ({**again, "step_first": 20 + number // 2} for number in range(16))
    (found,) = judged(training(), finding_rule("AD101", first, *many)).findings
    assert (found.step_count, found.notes) == (67, ["seen again from step 20, 21, 22, 23, 24 … on"])
    others = {**again, "subject": "other"}, {**again, "location": at("train.py", 8)}, {**again, "location": None}
    assert len(judged(training(), finding_rule("AD101", first, *others)).findings) == 4
    unplaced = {**first, "location": None}
    assert len(judged(training(), finding_rule("AD101", unplaced, unplaced)).findings) == 2


def test_a_finding_about_other_parameters_is_no_consequence() -> None:
    cause = finding_rule("AD202", {"parameters": (1,)}, folds=("AD410",))
    assert codes(judged(training(), cause, finding_rule("AD410", {"parameters": (2,)}))) == ["AD202", "AD410"]
    assert codes(judged(training(), cause, finding_rule("AD410"))) == ["AD202"]


def test_consequences_of_consequences_belong_to_the_first_cause() -> None:
    rules = [
        finding_rule("AD201", folds=("AD506",)),
        finding_rule("AD506", {"message": "no graph"}, folds=("AD599",)),
        finding_rule("AD599", {"message": "it died"}),
    ]
    report = judged(training(), *rules)
    assert codes(report) == ["AD201"]
    assert [note.split(" (")[0] for note in report.findings[0].notes] == [
        "as a consequence, no graph",
        "this crashed the program",
    ]


def test_rules_that_fold_each_other_leave_the_more_important_one() -> None:
    first = finding_rule("AD201", folds=("AD202",), severity="warning")
    second = finding_rule("AD202", folds=("AD201", "AD202"))
    assert codes(judged(training(), first, second)) == ["AD202"]


def test_a_cause_is_as_severe_as_what_followed_from_it() -> None:
    cause = finding_rule("AD406", severity="warning", folds=("AD401",))
    report = judged(training(), cause, finding_rule("AD401"))
    assert [(each.code, each.severity) for each in report.findings] == [("AD406", "error")]
    assert report.exit_code == ExitCode.FINDINGS


def test_what_is_only_worth_knowing_causes_no_fault() -> None:
    remark = finding_rule("AD406", severity="info", folds=("AD401",))
    report = judged(training(), remark, finding_rule("AD401"))
    assert [(each.code, each.severity) for each in report.findings] == [("AD401", "error"), ("AD406", "info")]
    assert codes(judged(training(), remark, finding_rule("AD401", severity="info"))) == ["AD406"]


# ----------------------------------------------------------------------------------------------------- suppressions


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "train.py"


def suppressed_by(script: Path, text: str, *, line: int, end_line: int | None = None) -> Report:
    script.write_text(text, encoding="utf-8")
    found = finding_rule("AD101", {"location": at(script, line, end_line=end_line or line)})
    return judged(training(cwd=str(script.parent)), found, rule("AD203"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("loss.backward()  # doctor: ignore[AD101] on purpose\n", 1),
        ("# doctor: ignore[AD101] on purpose\nloss.backward()\n", 2),
        ("# doctor: ignore[AD101] on purpose\n\n# why\nloss.backward()\n", 4),
        ("loss = f(\n    x,  # doctor: ignore[AD101] on purpose\n    y,\n)\n", 1),
        ("loss = f(\n    x,\n    y,\n)  # doctor: ignore[AD203,AD101] on purpose\n", 2),
        ("loss.backward()  #doctor:ignore[fault-ad101] on purpose\n", 1),
        ("# doctor: ignore[AD101] on purpose\nx = 1\ndef broken(:\n", 2),
        ("loss.backward()  # noqa: E501  # doctor: ignore[AD101] on purpose\n", 1),
    ],
)
def test_a_comment_on_the_statement_or_above_it_suppresses(script: Path, text: str, line: int) -> None:
    report = suppressed_by(script, text, line=line)
    assert report.findings == []
    assert [(each.code, each.suppressed and each.suppressed.reason) for each in report.suppressed] == [
        ("AD101", "on purpose")
    ]
    assert report.exit_code == ExitCode.OK


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a()  # doctor: ignore[AD101]\nloss.backward()\n", 2),
        ("loss.backward()  # doctor: ignore[AD102]\n", 1),
        ("loss.backward()  # doctor: ignore\n", 1),
        ("s = '# doctor: ignore[AD101]'\n", 1),
        ("s = '''\n# doctor: ignore[AD101]\n'''\n", 2),
        ("if a:  # doctor: ignore[AD101]\n    loss.backward()\n", 2),
    ],
)
def test_other_comments_do_not(script: Path, text: str, line: int) -> None:
    report = suppressed_by(script, text, line=line)
    assert codes(report) == ["AD101"]
    assert report.suppressed == []


def test_a_whole_file_can_be_ignored(script: Path) -> None:
    report = suppressed_by(script, "x = 1\ny = 2\n# doctor: file-ignore[AD101] generated\n", line=1)
    assert [each.suppressed and each.suppressed.kind for each in report.suppressed] == ["file-comment"]


def test_a_comment_at_a_related_place_counts(script: Path) -> None:
    script.write_text("a()\nb()  # doctor: ignore[AD101]\n", encoding="utf-8")
    found = finding_rule("AD101", {"location": at(script, 1), "related": (Related("here too", at(script, 2)),)})
    assert judged(training(cwd=str(script.parent)), found).findings == []


def test_a_comment_that_names_no_rule_is_noted(script: Path) -> None:
    script.write_text("# doctor: file-ignore[missing-zero-grd]\n", encoding="utf-8")
    report = judged(training(cwd=str(script.parent)), rule("AD101"))
    note = "`doctor: file-ignore[missing-zero-grd]` at train.py:1 names no rule; did you mean `missing-zero-grad`?"
    assert report.notes == [note]


# ---------------------------------------------------------------------------------------------- verdict and exit code


@pytest.mark.parametrize(
    ("severity", "fail_on", "exit_code"),
    [
        ("error", "error", 1),
        ("warning", "error", 0),
        ("warning", "warning", 1),
        ("info", "warning", 0),
        ("info", "info", 1),
        ("error", "never", 0),
    ],
)
def test_findings_at_or_above_the_threshold_fail(severity: str, fail_on: str, exit_code: int) -> None:
    report = judged(training(), finding_rule("AD101", severity=severity), fail_on=fail_on)
    assert report.exit_code == exit_code
    assert report.verdict == ("faults" if exit_code else "passed")


def ended(reason: str, exit_code: int = 0, steps: int = 0) -> list[object]:
    happened = training(steps, reason=None)
    return [*happened, RunEnded(reason=reason, exit_code=exit_code)]  # type: ignore[arg-type]


def test_no_step_is_never_green() -> None:
    report = judged(training(0, reason="finished"), rule())
    assert (report.verdict, report.exit_code) == ("not-judged", ExitCode.NOT_JUDGED)
    assert report.exit_reason == "no training step was seen"
    assert judged(training(0, reason="finished"), rule(), min_steps=0).exit_code == ExitCode.NOT_JUDGED
    assert judged(training(0, reason="finished"), finding_rule("AD101", severity="info")).exit_code == 4


def test_too_few_steps_are_not_judged() -> None:
    report = judged(training(2), rule(), min_steps=3)
    assert report.exit_code == ExitCode.NOT_JUDGED
    assert report.exit_reason == "only 2 steps of training seen, 3 are needed"
    assert judged(training(3), rule(), min_steps=3).exit_code == ExitCode.OK


def test_one_step_is_enough_only_for_a_program_that_takes_no_more() -> None:
    assert judged(training(1, reason="finished"), rule()).exit_code == ExitCode.OK
    report = judged(training(1, reason="time"), rule())
    assert (report.exit_code, report.exit_reason) == (4, "only 1 step of training seen, 2 are needed")
    assert judged(training(2, reason="time"), rule()).exit_code == ExitCode.OK


def test_findings_count_even_in_too_few_steps() -> None:
    assert judged(training(0), finding_rule("AD104", needs_phases=())).exit_code == ExitCode.FINDINGS


def test_a_program_that_failed_before_its_first_step() -> None:
    crash = [*training(0, reason=None), CRASH, RunEnded(reason="raised", exit_code=1)]
    assert judged(crash, rule()).exit_code == ExitCode.PROGRAM_FAILED
    assert judged(crash, finding_rule("AD599")).exit_code == ExitCode.PROGRAM_FAILED
    assert judged(crash, finding_rule("AD511")).exit_code == ExitCode.FINDINGS
    assert judged(ended("exited", 2), rule()).exit_reason == "the program exited with 2 before any training step"
    assert judged(ended("exited", 0), rule()).exit_code == ExitCode.NOT_JUDGED


def test_a_crash_after_a_step_is_a_finding() -> None:
    crash = [*training(3, reason=None), CRASH, RunEnded(reason="raised", exit_code=1)]
    assert judged(crash, finding_rule("AD599")).exit_code == ExitCode.FINDINGS


def test_a_killed_program_is_never_green() -> None:
    for steps in (0, 5):
        report = judged(training(steps, reason=None), rule(), outcome=Outcome(exit_code=None, signal=11, seconds=3.0))
        assert report.exit_code == ExitCode.PROGRAM_FAILED
        assert "killed by SIGSEGV" in report.exit_reason
        assert (report.run.stopped_by, report.run.program_exit, report.run.seconds) == ("killed", None, 3.0)


def test_a_program_that_hung_is_never_green() -> None:
    hung = Outcome(exit_code=None, signal=9, timed_out=True, stacks='File "train.py", line 3\n')
    assert judged(training(0, reason=None), rule(), outcome=hung).exit_code == ExitCode.NOT_JUDGED
    report = judged(training(5, reason=None), rule(), outcome=hung)
    assert (report.exit_code, report.verdict) == (ExitCode.PROGRAM_FAILED, "program-failed")
    assert "hung after 5 steps" in report.exit_reason
    assert report.notes == ['the program hung and was terminated; this was running:\nFile "train.py", line 3']


def test_an_interrupted_check_keeps_its_findings() -> None:
    report = judged(training(5, reason=None), finding_rule("AD101"), outcome=Outcome(interrupted=True))
    assert (report.verdict, report.exit_code) == ("interrupted", ExitCode.INTERRUPTED)
    assert codes(report) == ["AD101"]


# ---------------------------------------------------------------------------------------------- the report's own shape


def test_paths_are_relative_to_the_programs_folder(tmp_path: Path) -> None:
    inside = {"location": at(tmp_path / "pkg" / "train.py", 1), "message": f"see {tmp_path}/pkg/train.py:1"}
    outside = {"location": at("/elsewhere/lib.py", 3)}
    report = judged(training(cwd=str(tmp_path)), finding_rule("AD101", inside, outside))
    assert {each.location.path for each in report.findings if each.location} == {"pkg/train.py", "/elsewhere/lib.py"}
    assert Presenter("/a/b").text("/a/b/x.py, /z/a/b/y.py and `/a/b/`") == "x.py, /z/a/b/y.py and ``"
    assert "see pkg/train.py:1" in [each.message for each in report.findings]


def test_snippets_quote_the_span(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(b"a = 1\r\n\tb = f(\r\n\t\tx)\r\n")
    span = {"location": at(tmp_path / "train.py", 2, end_line=3)}
    report = judged(training(cwd=str(tmp_path)), finding_rule("AD101", span))
    assert report.findings[0].location is not None
    assert report.findings[0].location.snippet == "\tb = f(\n\t\tx)"


def test_snippets_are_decoded_as_python_would(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes("# coding: latin-1\nx = 'é\x0c'\ny = 2\n".encode("latin-1"))
    report = judged(training(cwd=str(tmp_path)), finding_rule("AD101", {"location": at(tmp_path / "train.py", 2)}))
    assert report.findings[0].location is not None
    assert report.findings[0].location.snippet == "x = 'é\x0c'"


def test_the_fingerprint_outlives_moved_lines_and_other_numbers(tmp_path: Path) -> None:
    def print_of(text: str, line: int, **fields: object) -> str:
        (tmp_path / "train.py").write_text(text, encoding="utf-8")
        found = {"location": at(tmp_path / "train.py", line), "subject": "model", **fields}
        return judged(training(cwd=str(tmp_path)), finding_rule("AD101", found)).findings[0].fingerprint

    first = print_of("loss.backward()\n", 1, message="3 times")
    assert print_of("\n\nif x:\n    loss.backward()\n", 4, message="4 times", step_first=2) == first
    assert print_of("loss.backward()\n", 1, subject="other") != first
    assert print_of("mean.backward()\n", 1) != first


def test_evidence_that_json_cannot_hold_becomes_text() -> None:
    evidence = {"a": math.nan, "b": math.inf, "c": -math.inf, "d": 0.5, "e": ["x"], "f": True, "g": None}
    report = judged(training(), finding_rule("AD101", {"evidence": evidence}))
    decoded = msgspec.json.decode(to_json(report))
    wanted = {"a": "nan", "b": "inf", "c": "-inf", "d": 0.5, "e": ["x"], "f": "yes", "g": "None"}
    assert decoded["findings"][0]["evidence"] == wanted


def test_run_and_environment_say_what_happened() -> None:
    report = judged([*training(3), Noted(text="saves are redirected"), Noted(text="saves are redirected")], rule())
    assert (report.run.steps, report.run.micro_batches, report.run.stopped_by) == (3, 3, "steps")
    assert [(each.name, each.kind, each.parameters, each.steps) for each in report.run.optimizers] == [
        ("optimizer", "AdamW", 2, 3)
    ]
    assert (report.environment.torch, report.environment.device) == ("2.13.0", "cpu")
    assert report.notes == ["saves are redirected"]


@pytest.mark.parametrize("kind", ["script", "module", "model"])
def test_the_target_is_named_by_its_kind(kind: str) -> None:
    target = Target(kind=kind, name="thing", arguments=["--lr", "3"])  # type: ignore[arg-type]
    about = msgspec.json.decode(to_json(judged(training(), rule(), target=target)))["target"]
    assert about == {kind: "thing", "argv": ["thing", "--lr", "3"], "cwd": "/home/me/project"}


def test_a_trace_of_nothing_still_gives_a_report() -> None:
    report = judged([], rule(), outcome=Outcome(exit_code=1))
    assert report.exit_code == ExitCode.PROGRAM_FAILED
    assert report.environment.torch == ""
