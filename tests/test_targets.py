"""The targets of the settings: what they may say, and a bare `doctor check` that checks them all."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
import yaml
from any_report import reports
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from reports import crashed, healthy, sick, unjudged
from test_formats import GITLAB, JUNIT, SARIF

from autograd_doctor import cli, config
from autograd_doctor.command import checking
from autograd_doctor.command.checking import Judged, Settled
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import Ranks
from autograd_doctor.renderers import formats, render_several, wrote
from autograd_doctor.renderers.json_ import schema
from autograd_doctor.renderers.markdown import several_within
from autograd_doctor.report import Report, ReportError
from autograd_doctor.reports import Named, Reports, closing, reports_from_json, reports_to_json, together
from autograd_doctor.settings import target_list
from tests import commands

ROOT = Path(__file__).parent.parent
Doctor = Callable[..., tuple[int, str, str]]

HEALTHY = """
import torch
from torch import nn
def main(steps=4):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
if __name__ == "__main__":
    main()
"""
SICK = HEALTHY.replace("        optimizer.zero_grad()\n", "")
MODEL = "from torch import nn\nclass Net(nn.Linear):\n    def __init__(self):\n        super().__init__(4, 4)\n"
NEEDS_ARGUMENTS = HEALTHY.replace(
    "    main()\n",
    "    import argparse\n    parser = argparse.ArgumentParser()\n"
    "    parser.add_argument('--steps', type=int, required=True)\n    main(parser.parse_args().steps)\n",
)
PACKAGE = """
[tool.autograd_doctor]
seconds = 0

[[tool.autograd_doctor.targets]]
script = "pretrain.py"
arguments = ["--steps", "6"]

[[tool.autograd_doctor.targets]]
script = "sick.py"
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / ".git").mkdir()
    for name, source in {"pretrain": NEEDS_ARGUMENTS, "sick": SICK, "healthy": HEALTHY}.items():
        Path(f"{name}.py").write_text(source)


@pytest.fixture
def doctor(programs: None) -> Doctor:
    """In a process of its own."""

    def run(*arguments: str) -> tuple[int, str, str]:
        done = commands.doctor(*arguments)
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def doctor_here(programs: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Doctor:
    """In this process, where what it does may be replaced."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["doctor", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capfd.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


def answering(monkeypatch: pytest.MonkeyPatch, made: Mapping[str, Callable[[], Report | None]]) -> list[str]:
    """Nothing is run: each target is answered as it is told to; returns the names of those that were asked for."""
    asked: list[str] = []

    def judge(settled: Settled) -> Judged:
        asked.append(settled.what.name)
        return Judged(made[settled.what.name](), [])

    monkeypatch.setattr(checking, "judge", judge)
    return asked


def listing(*entries: dict[str, Any], **more: Any) -> None:
    Path("autograd_doctor.yaml").write_text(yaml.safe_dump({"targets": list(entries), **more}))


# ----------------------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("targets: 3", "c.yaml: targets: expected a list, found `3`"),
        ("targets: [a]", "c.yaml: targets[0]: expected a mapping, found the text `a`"),
        ("targets: [{scrpt: a.py}]", "c.yaml: targets[0].scrpt: no such key; did you mean `script`?"),
        ("targets: [{script: a.py, stpes: 3}]", "c.yaml: targets[0].stpes: no such key; did you mean `steps`?"),
        (
            "targets: [{script: a.py}, {script: b.py, steps: x}]",
            "c.yaml: targets[1].steps: expected a whole number, found the text `x`",
        ),
        (
            "targets: [{script: a.py, fail_on: warnin}]",
            "c.yaml: targets[0].fail_on: expected `error` or `warning` or `info` or `never`, found `warnin`; "
            "did you mean `warning`?",
        ),
        ("targets: [{script: a.py, color: never}]", "c.yaml: targets[0].color: no such key"),
        (
            "targets: [{script: a.py, arguments: --lr}]",
            "c.yaml: targets[0].arguments: expected a list, found the text `--lr`",
        ),
        (
            "targets: [{name: a}]",
            "c.yaml: targets[0]: expected one of the keys `script`, `module` and `function`, found none of them",
        ),
        (
            "targets: [{script: a.py, module: a}]",
            "c.yaml: targets[0]: expected one of the keys `script`, `module` and `function`, "
            "found `script` and `module`",
        ),
        ("targets: [{script: ''}]", "c.yaml: targets[0].script: expected text, found an empty string"),
        ("targets: [{script: a.py, name: ''}]", "c.yaml: targets[0].name: expected text, found an empty string"),
        ("targets: [{function: main}]", "c.yaml: targets[0].function: `function` takes MODULE:FUNCTION, found `main`"),
        (
            "targets: [{script: 'a:main'}]",
            "c.yaml: targets[0].script: a function goes under `function`, found `a:main`",
        ),
        (
            "targets: [{script: x/a.py}, {script: y/a.py}]",
            "c.yaml: targets[0].name: expected a name for each target, found `a` 2 times",
        ),
    ],
)
def test_mistakes_name_file_key_expectation_and_the_nearest_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(text)
    with pytest.raises(Mistake) as caught:
        target_list.listed(Path("c.yaml").absolute())
    assert str(caught.value) == line


_KEYS = [*target_list.KINDS, "name", "arguments", "steps", "ignore", "baseline", "model", "color", "x"]
_VALUES = st.one_of(
    st.none(),
    st.integers(),
    st.text(max_size=6),
    st.sampled_from(["a.py", "pkg.a:main"]),
    st.lists(st.text(max_size=3)),
)


@settings(max_examples=200)
@given(entries=st.lists(st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=4), max_size=3))
def test_any_targets_are_told_apart_or_one_line(tmp_path: Path, entries: list[dict[str, Any]]) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(yaml.safe_dump({"targets": entries}))
    said = ""
    try:
        found = target_list.listed(file)
    except Mistake as mistake:
        said = str(mistake)
    if said:
        assert "c.yaml: targets[" in said
        assert "\n" not in said
    else:
        assert len({each.name for each in found}) == len(found) == len(entries)
        assert all(each.typed for each in found)


def test_the_nearest_word_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = {"steps": 7, "min_steps": 2, "fail_on": "info", "ignore": ["AD209", {"code": "AD301"}], "baseline": "b.json"}
    listing({"script": "a.py", **own}, steps=5, max_seconds=9, ignore=[{"code": "AD202"}])
    (one,) = target_list.listed(Path("autograd_doctor.yaml").absolute())
    environment = {"AUTOGRAD_DOCTOR_MIN_STEPS": "3", "AUTOGRAD_DOCTOR_FAIL_ON": "warning"}
    loaded = config.load({"fail_on": "never"}, folder=tmp_path, environment=environment, section=one.section)
    found = loaded.settings
    assert (found.steps, found.max_seconds, found.min_steps, found.fail_on) == (7, 9, 3, "never")
    assert found.baseline == str(tmp_path / "b.json")
    assert loaded.ignored_rules == ["AD209"]
    places = [(entry.code, place) for entry, place in loaded.ignored_findings]
    assert [code for code, _ in places] == ["AD202", "AD301"]
    lines = Path("autograd_doctor.yaml").read_text().splitlines()
    assert all(code in lines[int(place.rpartition(":")[2]) - 1] for code, place in places)
    assert loaded.where("steps") == "autograd_doctor.yaml: targets[0].steps"


def test_paths_count_from_the_file_that_lists_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ci").mkdir()
    monkeypatch.chdir(tmp_path)
    entries = [
        {"script": "../a.py"},
        {"module": "pkg.a", "name": "m"},
        {"function": "b.py:main"},
        {"function": "pkg.b:f"},
    ]
    Path("ci/c.yaml").write_text(yaml.safe_dump({"targets": entries}))
    found = target_list.listed(Path("ci/c.yaml").absolute())
    assert [(each.name, each.typed) for each in found] == [
        ("a", "a.py"),
        ("m", "pkg.a"),
        ("main", "ci/b.py:main"),
        ("f", "pkg.b:f"),
    ]


# -------------------------------------------------------------------------------------------------------- the command


def test_a_bare_check_checks_a_package(doctor: Doctor) -> None:
    Path("pyproject.toml").write_text(PACKAGE)
    code, out, err = doctor("check", "--output-format", "full", "--output-format", "json:all.json")
    assert code == 1
    assert out.index("target 1 of 2: pretrain") < out.index("6 steps of pretrain.py") < out.index("target 2 of 2: sick")
    assert out.index("sick.py:9:9") < out.index("2 targets: 1 healthy, 1 with 1 error\n") == len(out) - 37
    assert err == "note: target 1 of 2: pretrain\nnote: target 2 of 2: sick\n"
    kept = json.loads(Path("all.json").read_text())
    assert kept["verdict"] == "faults"
    assert [(each["name"], each["report"]["exit_code"]) for each in kept["reports"]] == [("pretrain", 0), ("sick", 1)]
    for name in formats():
        code, out, _ = doctor("report", "all.json", "--output-format", name)
        assert (code, wrote(out)) == (1, True), name
    assert doctor("report", "all.json", "--exit-zero")[0] == 0


def test_one_target_is_reported_as_it_is_by_itself(doctor: Doctor) -> None:
    Path("pyproject.toml").write_text(PACKAGE)
    code, out, err = doctor("check", "--target", "sick", "--output-format", "json")
    report = json.loads(out)
    assert (code, err, report["target"]["script"], report["schema_version"]) == (1, "", "sick.py", 2)
    code, out, _ = doctor("check", "--seconds", "0", "healthy.py")
    assert (code, "target" in out) == (0, False), "a program on the command line is checked instead"


def test_two_targets_of_one_program_have_baselines_of_their_own(doctor: Doctor) -> None:
    here = {"script": "sick.py", "seconds": 0}
    listing({**here, "name": "short"}, {"function": "sick.py:main", "arguments": ["steps=9"], "seconds": 0}, here)
    assert doctor("check")[0] == 1
    assert doctor("check", "--write-baseline")[0] == 0
    kept = json.loads(Path(".autograd_doctor/baseline.json").read_text())["checks"]
    assert sorted(kept) == ["sick.py", "sick.py (short)", "sick.py:main"]
    code, out, _ = doctor("check", "--strict-baseline")
    assert (code, out.count("1 known from")) == (0, 3)
    Path("sick.py").write_text(HEALTHY)
    assert doctor("check", "--strict-baseline")[0] == 1
    assert doctor("check", "--prune-baseline", "--target", "short")[0] == 0
    kept = json.loads(Path(".autograd_doctor/baseline.json").read_text())["checks"]
    assert sorted(kept) == ["sick.py", "sick.py:main"]


def test_comments_are_added_for_every_target(doctor: Doctor) -> None:
    Path("other.py").write_text(SICK)
    listing({"script": "sick.py"}, {"script": "other.py"}, seconds=0)
    assert doctor("check", "--add-ignore=later")[0] == 0
    assert ["doctor: ignore[AD101] later" in Path(name).read_text() for name in ("sick.py", "other.py")] == [True] * 2
    assert doctor("check")[0] == 0


@pytest.mark.parametrize(
    ("entries", "arguments", "line"),
    [
        (None, [], "nothing to check: give a program (`doctor check train.py`), or list `targets` in the settings"),
        ([], [], "nothing to check: autograd_doctor.yaml lists no `targets`; give a program"),
        (["sick"], ["--target", "sikc"], "autograd_doctor.yaml: no such target: `sikc`; did you mean `sick`?"),
        (["sick"], ["--target", "xyz"], "autograd_doctor.yaml: no such target: `xyz` (there are `sick`)"),
        (
            ["sick"],
            ["--target", "sick", "sick.py"],
            "--target: names a target of the settings, and sick.py is a target itself: give one of the two",
        ),
        (["sick"], ["-m"], "-m: for which target?"),
        (["sick"], ["--set", "a=1"], "--set: for which target?"),
        (
            ["sick", "healthy"],
            ["--save-trace", "t"],
            "--save-trace: a trace holds one target: choose it with `--target`",
        ),
        (["healthy", "nowhere"], [], "nowhere.py: no such file"),
        (["healthy", "sick"], ["--output-format", "json:sick.py"], "sick.py: not written: it already exists"),
    ],
)
def test_a_mistake_is_one_line_before_anything_runs(
    doctor_here: Doctor, monkeypatch: pytest.MonkeyPatch, entries: list[str] | None, arguments: list[str], line: str
) -> None:
    asked = answering(monkeypatch, {})
    if entries is not None:
        listing(*({"script": f"{name}.py"} for name in entries))
    code, out, err = doctor_here("check", *arguments)
    assert (code, out, err.count("\n"), asked) == (2, "", 1, [])
    assert err.startswith(f"error: {line}")


def test_the_targets_of_a_folder_above_are_checked_there(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    listing({"script": "sick.py"})
    Path("below").mkdir()
    above = Path.cwd()
    monkeypatch.chdir("below")
    code, _, err = doctor("check")
    assert (code, err.count("\n")) == (2, 1)
    assert f"are checked from its folder, {above}" in err


def test_a_mistake_that_only_a_run_shows_keeps_no_other_from_being_checked(doctor: Doctor) -> None:
    Path("model.py").write_text(MODEL)
    wrong = {"class": "Net", "loss": "MSELos", "data": {"inputs": {"shape": [4]}, "targets": {"shape": [4]}}}
    listing({"script": "model.py", "model": wrong}, {"script": "healthy.py"}, seconds=0)
    code, out, err = doctor("check")
    assert code == 2
    assert "error: autograd_doctor.yaml: targets[0]: model.loss: " in err
    assert out.endswith("2 targets: 1 healthy, 1 not checked (model)\n")


def test_an_interrupt_ends_the_check_and_what_was_judged_is_told(
    doctor_here: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)

    asked = answering(monkeypatch, {"sick.py": sick, "healthy.py": interrupted})
    listing({"script": "sick.py"}, {"script": "healthy.py"}, {"script": "healthy.py", "name": "never"})
    code, out, _ = doctor_here("check", "--output-format", "full", "--output-format", "json:all.json")
    assert (code, asked) == (130, ["sick.py", "healthy.py"])
    assert out.endswith("2 not checked (healthy, never)\n")
    assert json.loads(Path("all.json").read_text())["verdict"] == "interrupted"
    assert doctor_here("report", "all.json")[0] == 130


def test_mistakes_are_told_whole_where_they_show(doctor_here: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken() -> None:
        raise Mistake("of this target", f"  what would be right, {len(asked)}")

    def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)

    asked = answering(monkeypatch, {"sick.py": mistaken, "healthy.py": interrupted})
    listing({"script": "sick.py"}, {"script": "sick.py", "name": "again"}, {"script": "healthy.py"})
    code, _, err = doctor_here("check")
    assert code == 130
    first, again, last = (err.index(f"note: target {number} of 3") for number in (1, 2, 3))
    told = "error: of this target\n  what would be right, {}\n"
    assert first < err.index(told.format(1)) < again < err.index(told.format(2)) < last


def test_a_report_that_cannot_be_written_is_told_after_an_interrupt(
    doctor_here: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("reports").mkdir()

    def interrupted() -> None:
        Path("reports").rmdir()
        signal.raise_signal(signal.SIGINT)

    answering(monkeypatch, {"sick.py": sick, "healthy.py": interrupted})
    listing({"script": "sick.py"}, {"script": "healthy.py"})
    code, _, err = doctor_here("check", "--output-format", "json:reports/all.json")
    assert code == 130
    assert "error: reports/all.json: cannot be written: No such file or directory\n" in err


def test_settings_are_not_shown_of_targets_that_are_mistaken(doctor: Doctor) -> None:
    listing({"scrpt": "sick.py"})
    code, out, err = doctor("config", "--show")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "targets[0].scrpt: no such key; did you mean `script`?" in err


def test_the_summary_of_a_job_has_all_targets(
    doctor_here: Doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answering(monkeypatch, {"sick.py": sick, "healthy.py": healthy})
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    listing({"script": "sick.py"}, {"script": "healthy.py"})
    doctor_here("check", "--output-format", "json:a.json")
    said = (tmp_path / "summary.md").read_text()
    assert said.startswith("# autograd_doctor: 2 targets")
    assert (said.count("target 1 of 2: sick"), said.count("target 2 of 2: healthy")) == (1, 1)


def test_the_environment_chooses_targets(doctor_here: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch, {"sick.py": sick, "healthy.py": healthy, "pretrain.py": healthy})
    listing({"script": "sick.py"}, {"script": "healthy.py"}, {"script": "pretrain.py"})
    monkeypatch.setenv("AUTOGRAD_DOCTOR_TARGET", "healthy,pretrain")
    assert doctor_here("check", "-o", os.devnull)[0] == 0
    assert asked == ["healthy.py", "pretrain.py"]


# -------------------------------------------------------------------------------------------------------- the document


def of(*made: Report, not_checked: tuple[str, ...] = (), interrupted: bool = False) -> Reports:
    named = [Named(f"target {number}", report) for number, report in enumerate(made)]
    return together(named, not_checked, interrupted=interrupted)


@pytest.mark.parametrize(
    ("codes", "code"),
    [([0, 0], 0), ([4, 0], 4), ([1, 4, 0], 1), ([3, 1, 4], 3), ([0, 2, 3, 1], 2), ([2, 130, 1], 130)],
)
def test_the_worst_exit_code_is_that_of_all(codes: list[int], code: int) -> None:
    made = of(*(msgspec.structs.replace(healthy(), exit_code=each) for each in codes))
    assert made.exit_code() == code
    assert made.exit_code(exit_zero=True) == {1: 4}.get(code, code)


def test_what_was_not_checked_is_never_green() -> None:
    assert of(healthy(), not_checked=("b",)).exit_code(exit_zero=True) == 2
    assert of(healthy(), not_checked=("b",), interrupted=True).exit_code() == 130


def test_one_line_counts_the_targets_that_are_alike() -> None:
    assert closing(of(healthy(), healthy(), sick())).startswith("3 targets: 2 healthy, 1 with ")
    assert (
        closing(of(healthy(), unjudged(), not_checked=("b",)))
        == "3 targets: 1 healthy, 1 not judged, 1 not checked (b)"
    )


_NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)


@settings(max_examples=30)
@given(
    st.lists(reports(), min_size=1, max_size=3),
    st.lists(_NAMES, min_size=5, max_size=5, unique=True),
    st.integers(0, 2),
)
def test_any_reports_are_one_document_in_every_format(several: list[Report], names: list[str], left: int) -> None:
    names, not_checked = names[: len(several)], names[3 : 3 + left]
    made = together([Named(name, report) for name, report in zip(names, several, strict=True)], not_checked)
    text = {name: render_several(name, made) for name in formats()}
    assert reports_from_json(text["json"].encode()) == made
    Draft7Validator(schema(Reports)).validate(json.loads(text["json"]))
    log = json.loads(text["sarif"])
    SARIF.validate(log)
    ids = [run["automationDetails"]["id"] for run in log["runs"]]
    assert len(set(ids)) == len(several)
    GITLAB.validate(json.loads(text["gitlab"]))
    JUNIT.validate(text["junit"])
    root = ElementTree.fromstring(text["junit"].encode())
    assert len(root) == made.total
    assert int(root.attrib["tests"]) == len(list(root.iter("testcase")))
    assert [json.loads(line)["target"] for line in text["json-lines"].split("\n")[:-1]] == [
        name for name, each in zip(names, several, strict=True) for _ in (*each.findings, *each.suppressed)
    ]
    assert text["markdown"].count("**target ") == len(several)
    assert text["html"].count('data-report="t') == len(several)
    assert all(wrote(text[name]) for name in text if text[name])


def test_github_takes_ten_annotations_however_many_targets_there_are() -> None:
    many = [*sick().findings] * 6
    assert len(many) >= 12
    report = msgspec.structs.replace(sick(), findings=many)
    lines = render_several("github", of(report, report)).splitlines()
    assert max(sum(line.startswith(f"::{kind} ") for line in lines) for kind in ("error", "warning", "notice")) == 10


def test_a_summary_of_several_stays_within_its_room() -> None:
    made = of(sick(), crashed(), sick())
    whole = several_within(made, None)
    least = several_within(made, 0)
    assert (whole.left_out, least.left_out) == (0, sum(len(each.report.findings) for each in made.reports))
    for room in range(len(least.text.encode()), len(whole.text.encode()), 500):
        assert len(several_within(made, room).text.encode()) <= room


def test_reports_that_were_edited_are_refused() -> None:
    fields = json.loads(reports_to_json(of(healthy(), sick())))
    without = {**fields, "reports": fields["reports"][:1]}
    for edited in (without, {**fields, "verdict": "passed"}, {**fields, "not_checked": ["x"]}):
        with pytest.raises(ReportError, match="changed after it was written"):
            reports_from_json(json.dumps(edited).encode())
    with pytest.raises(ReportError, match="of version 9"):
        reports_from_json(json.dumps({**fields, "schema_version": 9}).encode())
    with pytest.raises(ReportError, match="not a saved report: Object missing required field"):
        reports_from_json(b'{"reports": []}')
    assert reports_from_json(json.dumps(fields).encode()) == of(healthy(), sick())


def test_reports_on_several_targets_side_by_side(doctor: Doctor) -> None:
    Path("before.json").write_bytes(reports_to_json(of(sick(), healthy())))
    Path("after.json").write_bytes(reports_to_json(of(healthy(), sick())))
    Path("one.json").write_text(render_several("json", of(sick())))
    code, out, err = doctor("report", "after.json", "--against", "before.json")
    assert (code, err, out.count("since")) == (1, "", 2)
    assert out.index("fixed") < out.index("target 2 of 2") < out.index("new ")
    Path("single.json").write_text(json.dumps(json.loads(Path("one.json").read_text())["reports"][0]["report"]))
    code, out, err = doctor("report", "after.json", "--against", "single.json")
    assert (code, out) == (2, "")
    assert "after.json has reports on several targets, and single.json on one" in err


def test_what_a_rank_has_recorded_is_left_although_its_launcher_ends_it(
    doctor_here: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave = checking.leave

    def ended(folder: Path, trace: bytes, ranks: Ranks) -> None:
        signal.raise_signal(signal.SIGTERM)
        leave(folder, trace, ranks)

    monkeypatch.setattr(checking, "leave", ended)
    code, _, err = doctor_here("check", "--rank-reports", "left", "--seconds", "0", "healthy.py")
    assert (code, [file.suffix for file in Path("left").iterdir()]) == (0, [".trace"]), err
