"""The command line from outside: grammar, exit codes, formats, and a parent that never imports torch."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from reports import REPORTS, unjudged

from autograd_doctor import cli
from autograd_doctor.command import checking, outputs
from autograd_doctor.command.job import target_of
from autograd_doctor.command.outputs import Output
from autograd_doctor.command.request import Request, load_settings
from autograd_doctor.config import Invocation
from autograd_doctor.interpreter import OWN
from autograd_doctor.renderers import render
from autograd_doctor.report import to_json
from autograd_doctor.rules import all_rules
from tests import commands

ROOT = Path(__file__).parent.parent


class Printed(NamedTuple):
    code: int
    out: str
    err: str


Doctor = Callable[..., Printed]


@pytest.fixture
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("_TYPER_FORCE_DISABLE_TERMINAL", "1")


@pytest.fixture
def doctor(_in_a_folder: None) -> Doctor:
    """The command, in a folder of its own."""

    def run(*arguments: str) -> Printed:
        done = commands.doctor(*arguments)
        return Printed(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def here(_in_a_folder: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Doctor:
    """The same in this process, where it can be laid hands on; a program that it starts has one of its own."""

    def run(*arguments: str) -> Printed:
        monkeypatch.setattr(sys, "argv", ["doctor", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capfd.readouterr()
        return Printed(int(ended.value.code or 0), printed.out, printed.err)

    return run


HEALTHY = """
import sys, torch
from torch import nn
print("the program says", sys.argv[1:])
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
"""
SICK = HEALTHY.replace("    optimizer.zero_grad()\n", "")
MODEL = "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
MODEL += "        self.layer = nn.Linear(4, 4)\n    def forward(self, x):\n        return self.layer(x)\n"


# ---------------------------------------------------------------------------------------------------- without torch


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["check", "--help"],
        ["rules"],
        ["rules", "--output-format", "json"],
        ["explain", "AD101"],
        ["explain", "missing-zero-grad", "--output-format", "json"],
        ["config", "--show"],
        ["init", "--ci", "none"],
        ["version"],
        ["env"],
        ["report", "saved.trace"],
        ["report", "saved.json"],
        ["report", "saved.json", "--output-format", "sarif"],
        ["check", "nowhere.py"],
    ],
    ids=" ".join,
)
def test_the_parent_never_imports_torch(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was imported')")
    (tmp_path / "saved.trace").write_bytes(_saved_trace())
    (tmp_path / "saved.json").write_bytes(to_json(unjudged()))
    command = [sys.executable, "-m", "autograd_doctor", *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert "torch was imported" not in done.stderr
    expected = {"report": 4, "check": 2 if "nowhere.py" in arguments else 0}
    assert done.returncode == expected.get(arguments[0], 0)
    assert done.stdout or arguments[-1] == "nowhere.py"


_AGAIN = "report saved.json --output-format"


@pytest.mark.parametrize(
    ("command", "wanted", "unwanted"),
    [
        (
            "explain AD101",
            "rules.cycle.missing_zero_grad",
            ["rules.connectivity.unused_parameter", "config", "engine", "yaml"],
        ),
        ("explain missing-zero-grad", "rules.cycle.missing_zero_grad", ["rules.numerics.loss_diverges", "pygments"]),
        ("rules", "rules.cycle.missing_zero_grad", ["config", "engine", "pygments", "renderers.full"]),
        (f"{_AGAIN} concise", "renderers.concise", ["renderers.full", "engine"]),
        (f"{_AGAIN} junit", "renderers.junit", ["renderers.sarif", "engine", "rich.console"]),
    ],
)
def test_a_command_loads_no_more_than_it_needs(tmp_path: Path, command: str, wanted: str, unwanted: list[str]) -> None:
    (tmp_path / "saved.json").write_bytes(to_json(unjudged()))
    program = (
        "import sys\nfrom autograd_doctor import cli\ntry: cli.main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    typed = [sys.executable, "-c", program, *command.split()]
    done = subprocess.run(typed, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)}, cwd=tmp_path)
    loaded = {name.removeprefix("autograd_doctor.") for name in done.stderr.split()}
    assert wanted in loaded
    assert not loaded.intersection(unwanted)


def test_the_version_is_an_option_too(here: Doctor) -> None:
    asked, told = here("--version"), here("version")
    assert asked == told
    assert asked.out.startswith("autograd_doctor ")


def test_help_names_no_value_beside_a_flag(here: Doctor) -> None:
    for command in ([], ["check"], ["report"], ["gradcheck"], ["explain"]):
        printed = here(*command, "--help")
        assert printed.code == 0
        assert "bool" not in printed.out
    assert "doctor check train.py" in here("--help").out


def test_the_beginning_of_codes_lists_a_family(here: Doctor) -> None:
    printed = here("explain", "ad71")
    assert set(re.findall(r"AD\d{3}", printed.out)) == {rule.code for rule in all_rules() if "AD71" in rule.code}
    listed = json.loads(here("explain", "AD71", "--output-format", "json").out)
    assert [each["code"] for each in listed] == sorted(each["code"] for each in listed)
    assert here("explain", "AD98").code == 2


def test_where_all_reports_go_to_files_the_verdict_is_said(doctor: Doctor) -> None:
    Path("train.py").write_text(HEALTHY)
    printed = doctor(
        "check", "--seconds", "0", "--output-format", "json:a.json", "--output-format", "html:b.html", "train.py"
    )
    assert (printed.code, printed.out) == (0, "the program says []\n")
    assert re.fullmatch(r"nothing wrong seen in .* of train.py .*; wrote a.json, b.html\n", printed.err)
    on_screen = doctor(
        "check", "--seconds", "0", "--output-format", "json:a.json", "--output-format", "concise", "train.py"
    )
    assert "wrote" not in on_screen.err + on_screen.out


def _printed_to(stdout: int, name: str) -> Printed:
    command = [sys.executable, "-m", "autograd_doctor", name]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env={"PYTHONPATH": str(ROOT)})
    return Printed(done.returncode, "", done.stderr)


@pytest.mark.parametrize("command", ["rules", "version", "config"])
def test_a_reader_may_stop_reading(command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    assert _printed_to(writer, command) == (0, "", "")
    os.close(writer)


@pytest.mark.parametrize("command", ["rules", "version", "config"])
def test_a_full_disk_is_a_mistake_and_no_finding(command: str) -> None:
    with open("/dev/full", "wb") as full:
        printed = _printed_to(full.fileno(), command)
    assert (printed.code, printed.err) == (2, "error: standard output: cannot be written: No space left on device\n")


def _saved_trace() -> bytes:
    from autograd_doctor.events.run import RunEnded
    from autograd_doctor.recording import TraceWriter

    file = io.BytesIO()
    TraceWriter(file).write(RunEnded(reason="finished"))
    return file.getvalue()


# ----------------------------------------------------------------------------------------------------------- grammar


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """What `doctor check` was asked for, with nothing run."""
    requests: list[Request] = []
    monkeypatch.setattr(checking, "check", lambda request: requests.append(request) or 0)
    return requests


@pytest.mark.parametrize(
    ("typed", "name", "arguments", "is_module"),
    [
        (["train.py", "--lr", "3", "--help", "--", "-m", "x"], "train.py", ["--lr", "3", "--help", "--", "-m", "x"], 0),
        (["-m", "pkg.train", "--steps", "3"], "pkg.train", ["--steps", "3"], 1),
        (["--steps", "5", "-m", "pkg.train", "-m"], "pkg.train", ["-m"], 1),
        (["--", "train.py", "--lr"], "train.py", ["--lr"], 0),
        (["train.py"], "train.py", [], 0),
    ],
)
def test_what_follows_the_target_is_the_programs(
    here: Doctor, asked: list[Request], typed: list[str], name: str, arguments: list[str], is_module: bool
) -> None:
    assert here("check", *typed).code == 0
    assert [(one.name, list(one.arguments), one.is_module) for one in asked] == [(name, arguments, bool(is_module))]


def test_options_become_settings(here: Doctor, asked: list[Request]) -> None:
    here("check", "--steps", "5", "--select", "AD1,AD2", "--select", "AD3", "--no-polite", "--exit-zero", "train.py")
    given = {key: value for key, value in asked[0].options.items() if value is not None}
    assert given == {"steps": 5, "select": ["AD1", "AD2", "AD3"], "polite": False}
    assert asked[0].asked == Invocation(exit_zero=True)


def test_an_unknown_option_is_not_taken_for_the_script(here: Doctor, asked: list[Request]) -> None:
    printed = here("check", "--stepz", "3", "train.py")
    assert printed.code == 2
    assert "--stepz" in printed.err
    assert asked == []


@pytest.mark.parametrize("arguments", [["check"], ["check", "-m"], ["explain"], ["explain", "--all", "AD101"], ["x"]])
def test_bad_usage_is_2(here: Doctor, arguments: list[str]) -> None:
    assert here(*arguments).code == 2


def test_options_may_follow_a_file_that_only_defines(here: Doctor, asked: list[Request]) -> None:
    Path("model.py").write_text(MODEL)
    here("check", "--steps", "3", "model.py", "--config", "c.yaml", "--min-steps", "2")
    here("check", "--config", "c.yaml", "model.py")
    assert [(one.name, list(one.arguments), one.config) for one in asked] == [("model.py", [], Path("c.yaml"))] * 2
    assert (asked[0].options["steps"], asked[0].options["min_steps"]) == (3, 2)


# ---------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["trian.py"], "error: trian.py: no such file; did you mean `train.py`?\n"),
        (["--steps", "0", "train.py"], "error: --steps: expected a whole number >= 1, found `0`\n"),
        (["--fail-on", "warn", "train.py"], "did you mean `warning`?\n"),
        (["--config", "c.yaml", "train.py"], "error: c.yaml: no such settings file\n"),
        (["--select", "AD1O1", "train.py"], "error: --select: no such rule: `AD1O1`; did you mean `AD101`?\n"),
        (["--output-format", "jsn", "train.py"], "error: `jsn`: no such output format; did you mean `json`?\n"),
        (["--select", "ad1", "train.py"], "error: --select: no such rule: `ad1`; did you mean `AD101`?\n"),
        ([""], "error: the name of the program is empty\n"),
        (["--output-format", "json:r.json", "-o", "all", "train.py"], "--output-file: no format left for `all`"),
        (["-o", "no/where", "train.py"], "error: no/where: cannot be written: no such folder `no`\n"),
        (
            ["-o", "train.py", "train.py"],
            "error: train.py: not written: it already exists and is not a report that may be replaced\n",
        ),
        (
            ["--output-format", "json:./train.py", "train.py"],
            "error: train.py: not written: it already exists and is not a report that may be replaced\n",
        ),
        (
            ["--save-trace", "train.py", "-m", "train"],
            "error: train.py: not written: it already exists and is not a report that may be replaced\n",
        ),
        (["--save-trace", ".", "train.py"], "error: .: cannot be written: it is a folder\n"),
        (["--ignore", "ALL", "train.py"], "error: no rules left to check: `select` and `ignore` exclude all of them\n"),
        (["--output-format", "full", "--output-format", "json", "train.py"], "go to standard output"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_mistake_is_one_line_and_2_before_anything_runs(doctor: Doctor, arguments: list[str], line: str) -> None:
    Path("train.py").write_text("raise SystemExit('it ran')")
    printed = doctor("check", *arguments)
    assert (printed.code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert line in printed.err


def test_options_that_went_to_the_program_are_noted_unless_it_knows_them(doctor: Doctor) -> None:
    Path("train.py").write_text("import sys\nmax_seconds = 3\nsys.exit(0)")
    printed = doctor("check", "train.py", "--steps=3", "--max-seconds", "9", "--lr", "1", "-o", "x")
    notes = [line for line in printed.err.splitlines() if line.startswith("note: ")]
    assert notes == [
        "note: `--steps` comes after train.py and is passed to it; the doctor's own options come before it"
    ]


def test_a_model_that_needs_arguments_gets_the_settings_to_fill_in(doctor: Doctor) -> None:
    Path("model.py").write_text(MODEL.replace("__init__(self)", "__init__(self, width: int, depth=2)"))
    printed = doctor("check", "model.py")
    assert printed.code == 2
    said, _, settings = printed.err.partition("\n\n")
    last = said.splitlines()[-2]
    assert last == "error: model.py: does not train, and defines the model `Net`, which needs `width`"
    assert "doctor check model.py --config model.yaml" in said
    Path("model.yaml").write_text(settings.replace("<int>", "3"))
    loaded = load_settings(Request("model.py", asked=Invocation(config="model.yaml")))
    target, plan = target_of(Request("model.py", asked=Invocation(config="model.yaml")), loaded, OWN)
    assert target.kind == "model"
    assert plan is not None
    assert plan.model is not None
    assert (plan.model.name, plan.model.arguments) == ("Net", {"width": 3, "depth": 2})


def test_a_report_needs_a_trace(here: Doctor) -> None:
    assert here("report", "t.trace").err == "error: t.trace: no such file\n"
    Path("t.trace").write_bytes(b"\2\0\0\0ab")
    assert (
        here("report", "t.trace").err
        == "error: t.trace: not a saved trace, or saved by an older version of the doctor\n"
    )
    Path("t.trace").write_bytes(b"")
    assert here("report", "t.trace") == (2, "", "error: t.trace: not a saved trace: it holds no event\n")


def test_config_shows_what_is_in_force_and_why(here: Doctor) -> None:
    Path("autograd_doctor.yaml").write_text("steps: 7")
    shown = here("config", "--show").out.splitlines()
    assert [line.split() for line in shown if "default" not in line] == [["steps:", "7", "#", "autograd_doctor.yaml:1"]]


def test_an_unknown_rule_has_a_nearest_one(here: Doctor) -> None:
    printed = here("explain", "missing-zero-grd")
    assert (printed.code, printed.err) == (
        2,
        "error: `missing-zero-grd`: no such rule; did you mean `missing-zero-grad`?\n",
    )


# ---------------------------------------------------------------------------------------------------------- real runs


def test_a_sick_program_from_check_to_report(doctor: Doctor) -> None:
    Path("train.py").write_text(SICK)
    formats = ["--output-format", "json", "--output-format", "concise:found.txt"]
    printed = doctor("check", "--select", "AD1", *formats, "--save-trace", "t.trace", "train.py", "--lr", "3")
    assert printed.code == 1
    report = json.loads(printed.out)
    assert "the program says ['--lr', '3']\n" in printed.err
    assert [finding["code"] for finding in report["findings"]] == ["AD101"]
    assert (report["exit_code"], report["target"]["argv"]) == (1, ["train.py", "--lr", "3"])
    assert Path("found.txt").read_text().startswith("train.py:9:5: AD101 ")

    again = doctor("report", "--select", "AD1", "--output-format", "json", "t.trace")
    assert (again.code, json.loads(again.out)) == (1, report)
    assert doctor("report", "--exit-zero", "t.trace").code == 0
    assert doctor("report", "--fail-on", "never", "t.trace").code == 0
    assert doctor("report", "--select", "AD1", "--ignore", "AD101", "t.trace").code == 0
    assert doctor("report", "--min-steps", "100", "--select", "AD1", "--ignore", "AD101", "t.trace").code == 4


@pytest.mark.parametrize("option", ["--exit-zero", "--fail-on=never"])
@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("import torch", 4),
        ("raise RuntimeError('no data')", 3),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", 3),
        ("def (", 2),
    ],
)
def test_only_findings_are_let_pass(doctor: Doctor, option: str, program: str, code: int) -> None:
    Path("train.py").write_text(program)
    assert doctor("check", option, "train.py").code == code


def test_a_healthy_program_keeps_standard_output(doctor: Doctor) -> None:
    Path("train.py").write_text(HEALTHY)
    Path("autograd_doctor.yaml").write_text("steps: 2\nseconds: 0\nselect: [AD1]")
    printed = doctor("check", "-m", "train")
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.startswith("the program says []\n")
    assert "2 steps" in printed.out
    assert "\x1b" not in printed.out


@pytest.mark.parametrize(
    ("source", "code"),
    [("print('no training')", 4), ("import nowhere", 3), ("raise SystemExit(9)", 3), ("import os; os._exit(0)", 4)],
)
def test_what_cannot_be_judged_is_never_green(doctor: Doctor, source: str, code: int) -> None:
    Path("train.py").write_text(source)
    assert doctor("check", "train.py").code == code


def test_model_mode(doctor: Doctor) -> None:
    model, config = ROOT / "sample_models" / "model_only.py", ROOT / "configs" / "model_mode.yaml"
    printed = doctor(
        "check", str(model), "--config", str(config), "--steps", "3", "--select", "AD1", "--output-format", "json"
    )
    assert printed.code == 0
    report = json.loads(printed.out)
    assert report["target"]["model"] == str(model)
    assert (report["run"]["steps"], report["findings"]) == (3, [])


def test_a_file_that_defines_its_own_training_needs_no_settings(doctor: Doctor) -> None:
    body = "\n".join(f"    {line}" for line in HEALTHY.replace("sys.argv[1:]", "None").splitlines())
    Path("model.py").write_text(f"def train():\n{body}\n")
    printed = doctor("check", "model.py", "--select", "AD1", "--output-format", "json")
    report = json.loads(printed.out)
    assert (printed.code, report["target"]["model"], report["run"]["steps"]) == (0, "model.py", 4)


def test_a_mistake_that_only_the_child_can_see_is_2(doctor: Doctor) -> None:
    Path("model.py").write_text(MODEL)
    Path("c.yaml").write_text("model: {loss: MSELos, data: {inputs: {shape: [4]}, targets: {shape: [4]}}}")
    printed = doctor("check", "model.py", "--config", "c.yaml")
    assert (printed.code, printed.out) == (2, "")
    assert printed.err.startswith("error: c.yaml: model.loss: ")
    assert "did you mean `MSELoss`?" in printed.err


def test_a_child_that_cannot_start_is_2(here: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("train.py").write_text(HEALTHY)
    Path("torch.py").write_text("raise ImportError('no torch here')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.getcwd(), str(ROOT)]))
    printed = here("check", "train.py")
    assert printed.code == 2
    assert printed.err.endswith("error: the program was not started: its process exited with 1\n")
    assert "no torch here" in printed.err


# ----------------------------------------------------------------------------------------------------------- outputs


def test_a_format_goes_to_its_file_or_to_the_one_of_the_option() -> None:
    assert outputs.parse(["full", "json:a.json"], None) == [Output("full"), Output("json", Path("a.json"))]
    assert outputs.parse(["json"], Path("a.json")) == [Output("json", Path("a.json"))]


def test_only_a_person_may_read_the_program_beside_the_report() -> None:
    assert not outputs.owns_stdout([Output("full"), Output("json", Path("a"))])
    assert outputs.owns_stdout([Output("json"), Output("full", Path("a"))])


@pytest.mark.parametrize(
    ("mode", "environment", "terminal", "colored"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colors(mode: str, environment: dict[str, str], terminal: bool, colored: bool) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    assert outputs.colored(mode, Stream(), environment) is colored


INTERRUPTED = """
import atexit, os, signal, sys
from autograd_doctor import cli

def app():
    {ends}

signal.signal(signal.SIGINT, signal.default_int_handler)
atexit.register(os.kill, os.getpid(), signal.SIGINT)
cli.app = app
cli.main()
"""


@pytest.mark.parametrize("ends", ["raise KeyboardInterrupt", "sys.exit(130)"])
def test_a_further_interrupt_while_python_shuts_down_is_not_heard(ends: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED.format(ends=ends)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "")


# ---------------------------------------------------------------------------------------------------- where it writes


@pytest.mark.parametrize(
    "options",
    [
        ("check", "--save-trace", "tests/test_data.py", "train.py"),
        ("check", "-o", "tests/test_data.py", "train.py"),
        ("check", "--output-format", "sarif:tests/test_data.py", "train.py"),
        ("report", "run.json", "--output-format", "sarif:tests/test_data.py"),
        ("report", "run.json", "-o", "autograd_doctor.yaml"),
        ("report", "run.json", "-o", "train.py"),
        ("check", "--save-trace", "run.json", "train.py"),
        ("check", "--write-baseline", "--baseline", "run.json", "train.py"),
        ("check", "--write-baseline", "--baseline", "tests/test_data.py", "train.py"),
    ],
    ids=" ".join,
)
def test_no_command_writes_over_what_is_not_ours_or_of_another_kind(doctor: Doctor, options: tuple[str, ...]) -> None:
    Path("tests").mkdir()
    files = {
        "train.py": "raise SystemExit('it ran')",
        "tests/test_data.py": "data = 1",
        "autograd_doctor.yaml": "",
        "run.json": render("json", REPORTS["sick"]()),
    }
    for name, text in files.items():
        Path(name).write_text(text)
    printed = doctor(*options)
    assert (printed.code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert re.search("is not a (report|trace) that may be replaced|not a baseline", printed.err)
    assert {name: Path(name).read_text() for name in files} == files


def test_what_cannot_be_written_costs_nothing_else(doctor: Doctor) -> None:
    Path("train.py").write_text("import subprocess\nsubprocess.run(['rmdir', 'gone'], check=True)")
    Path("gone").mkdir()
    outputs = ("json:/dev/full", "markdown:report.md", "concise")
    options = [word for output in outputs for word in ("--output-format", output)]
    printed = doctor("check", "--isolated", "--seconds", "0", *options, "--save-trace", "gone/a.trace", "train.py")
    assert printed.code == 2
    assert printed.out
    assert Path("report.md").read_text().startswith("## autograd_doctor")
    assert [line for line in printed.err.splitlines() if line.startswith("error")] == [
        "error: gone/a.trace: cannot be written: No such file or directory",
        "error: /dev/full: cannot be written: No space left on device",
    ]
