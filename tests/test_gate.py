"""The gate on the command line: options and their names in the environment, baselines, completion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from reports import at, finding_rule, training

from autograd_doctor import cli, recording
from autograd_doctor.accepted import Baseline, Known
from autograd_doctor.command import baselines, checking, completion, job
from autograd_doctor.command.request import Request, load_settings
from autograd_doctor.config import ENVIRONMENT_PREFIX, Invocation, Settings, known_options
from autograd_doctor.events.run import CheckEnded
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import Outcome, Target
from autograd_doctor.renderers import formats
from autograd_doctor.rules import all_rules
from autograd_doctor.trace import Trace

ROOT = Path(__file__).parent.parent
Doctor = Callable[..., "Printed"]


class Printed(tuple[int, str, str]):
    """Exit code, standard output, standard error."""

    code = property(lambda self: self[0])
    out = property(lambda self: self[1])
    err = property(lambda self: self[2])


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Doctor:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def run(*arguments: str) -> Printed:
        monkeypatch.setattr(sys, "argv", ["doctor", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capfd.readouterr()
        return Printed((int(ended.value.code or 0), printed.out, printed.err))

    return run


# ------------------------------------------------------------------------------------------- options and their names


def commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(cli.app)
    return group.commands


OF_THE_TARGET = {"script", "arguments", "is_module", "sets", "help"}


def test_every_option_of_a_check_is_a_setting_or_asked_of_one_call() -> None:
    options = {parameter.name: parameter for parameter in commands()["check"].params}
    assert set(options) - OF_THE_TARGET == set(known_options()) - {"rules", "model", "gradcheck", "targets"}
    for name in set(options) - OF_THE_TARGET:
        assert f"--{name.replace('_', '-')}" in options[name].opts, name


@pytest.mark.parametrize("command", ["report", "gradcheck"])
def test_commands_that_judge_share_those_options(command: str) -> None:
    options = {each.name for each in commands()[command].params if each.param_type_name == "option"}
    assert options - {"against", "inputs", "double", "help"} <= set(known_options())


@pytest.mark.parametrize("name", sorted(set(known_options()) - {"rules", "model", "gradcheck", "targets"}))
def test_every_option_can_be_set_in_the_environment(name: str, doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[Request] = []
    monkeypatch.setattr(checking, "check", lambda request: requests.append(request) or 0)
    kind = next(kind for kind in (Settings, Invocation) if name in kind.__struct_fields__)
    default = getattr(kind(), name)
    values: dict[type, tuple[str, Any]] = {bool: ("false" if default is True else "true", default is not True)}
    values |= {int: ("7", 7), float: ("7", 7.0), list: ("AD1,AD2", ["AD1", "AD2"]), type(None): ("a.file", "a.file")}
    choices = {"fail_on": ("warning", "warning"), "color": ("never", "never"), "nproc_per_node": ("2", 2)}
    text, value = choices.get(name) or values[type(default)]
    monkeypatch.setenv(ENVIRONMENT_PREFIX + name.upper(), text)
    assert doctor("check", "train.py").code == 0
    request = requests[0]
    loaded = load_settings(request._replace(asked=Invocation()))
    assert getattr(request.asked if kind is Invocation else loaded.settings, name) == value


def test_a_wrong_value_in_the_environment_is_one_line(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("train.py").write_text("")
    monkeypatch.setenv("AUTOGRAD_DOCTOR_FAIL_ON", "eror")
    expected = "expected `error` or `warning` or `info` or `never`, found `eror`; did you mean `error`?"
    assert doctor("check", "train.py") == (2, "", f"error: AUTOGRAD_DOCTOR_FAIL_ON: {expected}\n")
    monkeypatch.delenv("AUTOGRAD_DOCTOR_FAIL_ON")
    monkeypatch.setenv("AUTOGRAD_DOCTOR_EXIT_ZERO", "perhaps")
    said = "error: AUTOGRAD_DOCTOR_EXIT_ZERO: expected `true` or `false`, found `perhaps`\n"
    assert doctor("check", "train.py") == (2, "", said)


# --------------------------------------------------------------------------------------------------------- baselines


@pytest.fixture
def trace(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A saved trace in which the only rule finds something at the given lines of `train.py`."""

    def saved(*lines: int, steps: int = 30) -> str:
        places = [{"location": at(Path.cwd() / "train.py", line, function="main")} for line in lines]
        made = finding_rule("AD101", *places) if lines else silent_rule()
        monkeypatch.setattr(job, "all_rules", lambda: (made,))
        happened = training(steps, cwd=str(Path.cwd()))
        with open("run.trace", "wb") as file:
            ended = CheckEnded(target=Target("script", "train.py"), outcome=Outcome(exit_code=0))
            recording.save(Trace(tuple(happened)), file, ended)
        return "run.trace"

    return saved


def silent_rule() -> Any:
    from reports import rule

    return rule("AD101")


def stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(".autograd_doctor/baseline.json").read_text())["checks"]
    return found


def test_a_baseline_is_written_read_and_pruned(doctor: Doctor, trace: Callable[..., str]) -> None:
    Path("train.py").write_text("a()\nb()\n")
    assert doctor("report", trace(1, 2)).code == 1
    printed = doctor("report", "--write-baseline", trace(1, 2))
    assert (printed.code, printed.err) == (0, "note: .autograd_doctor/baseline.json holds 2 findings of train.py\n")
    assert [each["source"] for each in stored()["train.py"]] == ["a()", "b()"]
    Path("train.py").write_text("import os\n\na()\nb()\nc()\n")
    assert doctor("report", trace(3, 4)).code == 0
    assert doctor("report", trace(3, 4, 5)).code == 1
    assert doctor("report", "--no-ignores", trace(3)).code == 1
    assert doctor("report", "--isolated", trace(3)).code == 1
    assert doctor("report", "--strict-baseline", trace(3)).code == 1
    assert "1 finding of .autograd_doctor/baseline.json is stale, fixed or ignored by now" in " ".join(
        doctor("report", trace(3)).out.split()
    )
    assert doctor("report", "--prune-baseline", trace(3)).code == 0
    assert [each["source"] for each in stored()["train.py"]] == ["a()"]
    assert doctor("report", "--strict-baseline", trace(3)).code == 0
    assert doctor("report", "--prune-baseline", trace()).code == 0
    assert stored() == {}


def test_pruning_adds_nothing(doctor: Doctor, trace: Callable[..., str]) -> None:
    Path("train.py").write_text("a()\nb()\n")
    doctor("report", "--write-baseline", trace(1))
    assert doctor("report", "--prune-baseline", trace(1, 2)).code == 1
    assert [each["source"] for each in stored()["train.py"]] == ["a()"]


def test_what_is_known_of_other_targets_and_rules_stays(doctor: Doctor, trace: Callable[..., str]) -> None:
    Path("train.py").write_text("a()\n")
    others = {"train.py": [Known(code="AD999", subject="x")], "-m other": [Known(code="AD101", subject="y")]}
    Path(".autograd_doctor").mkdir()
    Path(".autograd_doctor/baseline.json").write_bytes(msgspec.json.encode(Baseline(checks=others)))
    doctor("report", "--write-baseline", trace(1))
    assert {key: [each["code"] for each in known] for key, known in stored().items()} == {
        "-m other": ["AD101"],
        "train.py": ["AD101", "AD999"],
    }


def test_a_run_that_was_not_judged_changes_no_baseline(doctor: Doctor, trace: Callable[..., str]) -> None:
    Path("train.py").write_text("a()\n")
    doctor("report", "--write-baseline", trace(1))
    before = Path(".autograd_doctor/baseline.json").read_bytes()
    printed = doctor("report", "--prune-baseline", trace(steps=0))
    assert printed.code == 4
    assert "baseline.json was not changed: no training step was seen" in printed.err
    assert Path(".autograd_doctor/baseline.json").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--baseline", "b.json"], "--baseline: b.json: no such baseline; did you mean `base.json`?"),
        (["--baseline", "c/d.json"], "--baseline: c/d.json: no such baseline (`--write-baseline` writes it)"),
        (["--prune-baseline"], "--prune-baseline: .autograd_doctor/baseline.json: no such baseline (`--write-base"),
        (["--baseline", "base.json"], "base.json: not a baseline: Input data was truncated"),
        (
            ["--baseline", "old.json"],
            "old.json: a baseline of version 9, but this version of the doctor reads 1: rewrite it with",
        ),
        (["--baseline", "odd.json"], "odd.json: not a baseline: Object contains unknown field `finds`"),
        (["--write-baseline", "--prune-baseline"], "`--write-baseline` and `--prune-baseline` cannot be used together"),
        (["--write-baseline", "--no-ignores"], "`--write-baseline` and `--no-ignores` cannot be used together"),
        (
            ["--write-baseline", "--baseline", "train.py/b.json"],
            "train.py/b.json: cannot be written: train.py is in th",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_about_baselines(doctor: Doctor, trace: Callable[..., str], options: list[str], line: str) -> None:
    Path("train.py").write_text("a()\n")
    Path("base.json").write_text("{")
    Path("old.json").write_text('{"schema_version": 9}')
    Path("odd.json").write_text('{"finds": 9}')
    printed = doctor("report", *options, trace(1))
    assert (printed.code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert printed.err.startswith(f"error: {line}")


def test_a_baseline_of_the_settings_lies_beside_them(doctor: Doctor, trace: Callable[..., str]) -> None:
    Path("train.py").write_text("a()\n")
    Path("ci").mkdir()
    Path("ci/doctor.yaml").write_text("baseline: known.json\n")
    assert doctor("report", "--config", "ci/doctor.yaml", "--write-baseline", trace(1)).code == 0
    assert json.loads(Path("ci/known.json").read_text())["checks"]["../train.py"][0]["path"] == "../train.py"
    assert doctor("report", "--config", "ci/doctor.yaml", trace(1)).code == 0


def test_a_baseline_is_found_upward_and_no_further_than_the_repository(tmp_path: Path) -> None:
    inner = tmp_path / "repository" / "package"
    (tmp_path / ".autograd_doctor").mkdir()
    (tmp_path / ".autograd_doctor" / "baseline.json").write_text("{}")
    inner.mkdir(parents=True)
    assert baselines.find(inner) == tmp_path / ".autograd_doctor" / "baseline.json"
    (tmp_path / "repository" / ".git").mkdir()
    assert baselines.find(inner) is None
    assert baselines.default(inner, None) == tmp_path / "repository" / ".autograd_doctor" / "baseline.json"
    beside = baselines.default(inner, inner / "autograd_doctor.yaml")
    assert beside == inner / ".autograd_doctor" / "baseline.json"


@pytest.mark.parametrize(
    ("target", "key"),
    [
        (Target("script", "train.py"), "pkg/train.py"),
        (Target("script", "../main.py"), "main.py"),
        (Target("module", "pkg.train"), "-m pkg.train"),
        (Target("call", "pkg.train:main"), "pkg.train:main"),
        (Target("call", "train.py:main"), "pkg/train.py:main"),
        (Target("notebook", "a.ipynb"), "pkg/a.ipynb"),
    ],
)
def test_a_target_has_one_key_from_wherever_it_is_named(tmp_path: Path, target: Target, key: str) -> None:
    file = tmp_path / ".autograd_doctor" / "baseline.json"
    assert baselines.shelf(file, target, str(tmp_path / "pkg")).key == key


_TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
_KNOWN = st.builds(Known, code=_TEXT, path=_TEXT, function=_TEXT, subject=_TEXT, source=_TEXT, count=st.integers(1, 9))


@settings(max_examples=60)
@given(checks=st.dictionaries(_TEXT, st.lists(_KNOWN, min_size=1, max_size=4), max_size=3))
def test_a_baseline_survives_its_file(tmp_path: Path, checks: dict[str, list[Known]]) -> None:
    shelf = baselines.Shelf(tmp_path / "b.json", "train.py", Baseline(checks=checks))
    baselines.write(shelf)
    once = shelf.file.read_bytes()
    again = baselines.shelf(shelf.file, Target("script", "train.py"), str(tmp_path))
    assert again.baseline == shelf.baseline
    baselines.write(again)
    assert shelf.file.read_bytes() == once


@settings(max_examples=80)
@given(data=st.binary(max_size=40) | st.text(max_size=40).map(lambda text: json.dumps({"checks": text}).encode()))
def test_any_file_is_a_baseline_or_a_mistake(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "b.json"
    file.write_bytes(data)
    said = ""
    try:
        baselines.shelf(file, Target("script", "train.py"), str(tmp_path))
    except Mistake as mistake:
        said = str(mistake)
    assert said == "" or "b.json: " in said


# -------------------------------------------------------------------------------------------------------- completion


def completed(*words: str) -> list[str]:
    """What bash would be offered for the last word, as it asks for it."""
    environment = {
        **os.environ,
        "_DOCTOR_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["doctor", *words]),
        "COMP_CWORD": str(len(words)),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-c", "from autograd_doctor.cli import app; app(prog_name='doctor')"]
    return subprocess.run(command, env=environment, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("explain", "AD10"), {"AD101", "AD109"}),
        (("explain", "missing-z"), {"missing-zero-grad"}),
        (("check", "--select", "AD21"), {"AD210", "AD219"}),
        (("check", "--ignore", "AD101,AD21"), {"AD101,AD210"}),
        (("check", "--extend-select", "graph-c"), {"graph-cut"}),
        (("check", "--fail-on", ""), {"error", "warning", "info", "never"}),
        (("check", "--output-format", "js"), {"json"}),
        (("check", "--color", "a"), {"auto", "always"}),
        (("che",), {"check"}),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_the_shell_completes(words: tuple[str, ...], offered: set[str]) -> None:
    assert offered <= set(completed(*words))


def test_what_is_completed_is_all_there_is() -> None:
    names = {word for rule in all_rules() for word in (rule.code, rule.name)}
    assert {word for word, _ in completion._rules()} == names
    assert {word for word, _ in completion.rules("")} == {rule.code for rule in all_rules()}
    assert {word for word, _ in completion.formats("")} == set(formats())
    assert completion.rules("nothing-like-it") == []


def test_completion_loads_neither_torch_nor_the_rules() -> None:
    program = "from autograd_doctor import cli\nfrom autograd_doctor.command import completion as c\nimport sys\n"
    program += "c.rules('AD'), c.formats(''), c.severities(''), c.colors('')\n"
    unwanted = ("torch", "autograd_doctor.rules", "autograd_doctor.renderers", "rich")
    program += f"print(*(name for name in {unwanted} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
