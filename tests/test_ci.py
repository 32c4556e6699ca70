"""Where gates run: what `doctor init` writes, the action, the hook of pre-commit, the problem matcher."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from harness import PATIENCE, ROOT
from reports import REPORTS

from autograd_doctor import config_file
from autograd_doctor.command import starting
from autograd_doctor.mistakes import Mistake
from autograd_doctor.renderers import formats, render
from autograd_doctor.settings import target_list

SICK = """import sys, torch
from torch import nn
print("::error::forged", sys.argv[1:])
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
"""
DEFINES = "import torch\nclass Net(torch.nn.Module): ...\n"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
MATCHERS = json.loads((ROOT / ".github" / "problem-matcher.json").read_text(encoding="utf-8"))["problemMatcher"]
MATCHER = MATCHERS[0]
HOOK = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))[0]
PINNED = re.compile(r"[\w-]+(/[\w-]+)+@[0-9a-f]{40}")


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()


# ----------------------------------------------------------------------------------------------------- doctor init


def test_init_writes_the_default_settings_and_a_workflow() -> None:
    Path("train.py").write_text(SICK)
    said = starting.start(Path(), "", "github")
    assert said.startswith(
        "wrote autograd_doctor.yaml\nwrote .github/workflows/doctor.yml\nnext\n  write under `targets`"
    )
    default = (ROOT / "configs" / "default.yaml").read_text()
    target = 'targets:\n  - {script: "train.py", arguments: []}\n'
    assert Path("autograd_doctor.yaml").read_text() == default.replace("#targets: []\n", target)
    assert config_file.read(Path("autograd_doctor.yaml")) == {"targets": [{"script": "train.py", "arguments": []}]}
    assert starting.settings([]) == default


@pytest.mark.parametrize(
    ("there", "content", "line"),
    [
        ("autograd_doctor.yaml", "", "autograd_doctor.yaml: already has settings; nothing was written"),
        (".autograd_doctor.yaml", "", ".autograd_doctor.yaml: already has settings; nothing was written"),
        ("pyproject.toml", "[tool.autograd_doctor]", "pyproject.toml: already has settings; nothing was written"),
        (
            ".github/workflows/doctor.yml",
            "x",
            ".github/workflows/doctor.yml: already exists; nothing was written",
        ),
    ],
)
def test_init_writes_over_nothing(there: str, content: str, line: str) -> None:
    Path(there).parent.mkdir(parents=True, exist_ok=True)
    Path(there).write_text(content)
    before = sorted(Path().rglob("*"))
    with pytest.raises(Mistake, match=f"^{re.escape(line)}$"):
        starting.start(Path(), "", "github")
    assert (sorted(Path().rglob("*")), Path(there).read_text()) == (before, content)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"train.py": SICK, "model.py": DEFINES, "setup.py": "print(1)", "broken.py": "def ("}, ["train.py"]),
        ({"b.py": SICK, "a.py": SICK}, ["a.py", "b.py"]),
        ({"model.py": DEFINES}, []),
        ({"main.py": "from torch import nn\nif __name__ == '__main__':\n    print(nn)\n"}, ["main.py"]),
        ({"near.py": "from .torch import x\nprint(x)\n"}, []),
    ],
)
def test_programs_are_what_imports_torch_and_does_something(files: dict[str, str], found: list[str]) -> None:
    for name, text in files.items():
        Path(name).write_text(text)
    assert list(starting.candidates(Path())) == found
    said = starting.start(Path(), "", "none")
    assert [each.typed for each in target_list.listed(Path("autograd_doctor.yaml").absolute())] == found
    assert ("what to check" in said) == (not found)


def test_mistakes_of_init() -> None:
    Path("train.py").write_text(SICK)
    with pytest.raises(Mistake, match=r"^trian.py: no such file; did you mean `train.py`\?$"):
        starting.start(Path(), "trian.py", "github")
    with pytest.raises(Mistake, match=r"found `gitlb`; did you mean `gitlab`\?$"):
        starting.start(Path(), "", "gitlb")
    assert not Path("autograd_doctor.yaml").exists()


def test_no_workflow_where_none_is_wanted() -> None:
    starting.start(Path(), "", "none")
    assert {path.name for path in Path().iterdir()} == {".git", "autograd_doctor.yaml"}


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"requirements.txt": "torch\n"}, "python -m pip install -r requirements.txt"),
        ({"pyproject.toml": "[project]\nname = 'x'\n"}, "python -m pip install ."),
        ({"pyproject.toml": "[tool.ruff]\n"}, "echo"),
    ],
)
@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_requirements_are_installed_from_the_file_that_is_there(files: dict[str, str], command: str, ci: str) -> None:
    for name, text in files.items():
        Path(name).write_text(text)
    text = starting.workflow(Path(), ci, 'odd "name"==1.0')
    assert "%" not in text
    assert command in text
    document = yaml.safe_load(text)
    values = document["env"] if ci == "github" else document["doctor"]["variables"]
    assert values["DOCTOR"] == 'odd "name"==1.0'


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        (None, "autograd-doctor==9.9"),
        ({"url": "file:///home/me", "dir_info": {}}, ""),
        (
            {"url": "https://host/doctor", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "autograd-doctor @ git+https://host/doctor@abc",
        ),
    ],
)
def test_ci_installs_what_is_installed_here(
    monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any] | None, said: str
) -> None:
    class Installed:
        version = "9.9"

        def read_text(self, name: str) -> str | None:
            return json.dumps(origin) if origin and name == "direct_url.json" else None

    monkeypatch.setattr(starting.metadata, "distribution", lambda name: Installed())
    assert starting.requirement() == said


def test_the_workflow_is_pinned_and_asks_for_no_more_than_it_needs() -> None:
    workflow = yaml.safe_load(starting.workflow(Path(), "github", "autograd-doctor==1.0"))
    job = workflow["jobs"]["doctor"]
    uses = [step["uses"] for step in job["steps"] if "uses" in step]
    assert all(PINNED.fullmatch(action) for action in uses)
    assert workflow["permissions"] == {"contents": "read"}
    assert job["permissions"] == {"contents": "read", "security-events": "write"}
    upload = next(step for step in job["steps"] if "upload-sarif" in step.get("uses", ""))
    assert upload["if"].startswith("always() && hashFiles('doctor.sarif') != ''")
    assert upload["with"]["sarif_file"] == "doctor.sarif"
    assert not [step for step in job["steps"] if "${{" in step.get("run", "")]
    assert [set(document) - {True} for document in [workflow]] == [{"name", "permissions", "env", "jobs"}]


def test_what_is_not_filled_in_stops_the_job() -> None:
    workflow = yaml.safe_load(starting.workflow(Path(), "github", ""))
    steps = [step["run"] for step in workflow["jobs"]["doctor"]["steps"] if "run" in step]
    (run,) = [step for step in steps if "${DOCTOR:?" in step]
    done = subprocess.run(["bash", "-c", run], env={**os.environ, **workflow["env"]}, capture_output=True, text=True)
    assert done.returncode != 0
    assert "where pip finds it" in done.stderr
    starting.start(Path(), "", "none")
    done = _bash("doctor check --fail-on error", {})
    assert done.returncode == 2
    assert "autograd_doctor.yaml lists no `targets`" in done.stderr


def test_the_check_of_the_workflows_is_understood() -> None:
    if not {"sarif", "gitlab"} <= set(formats()):
        pytest.skip("these formats are not there")
    Path("train.py").write_text(SICK)
    Path("pretrain.py").write_text("import sys\nassert sys.argv[1:] == ['--epochs', '1']\n" + SICK)
    starting.start(Path(), "", "none")
    written = Path("autograd_doctor.yaml").read_text()
    wanted = written.replace('"pretrain.py", arguments: []', '"pretrain.py", arguments: [--epochs, "1"], seconds: 0')
    Path("autograd_doctor.yaml").write_text(wanted)
    for ci, report in (("github", "doctor.sarif"), ("gitlab", "gl-code-quality-report.json")):
        document = yaml.safe_load(starting.workflow(Path(), ci, "x"))
        steps = (
            [step.get("run", "") for step in document["jobs"]["doctor"]["steps"]]
            if ci == "github"
            else document["doctor"]["script"]
        )
        (command,) = [step for step in steps if step.startswith("doctor check")]
        done = _bash(command, {"AUTOGRAD_DOCTOR_SECONDS": "0"})
        assert done.returncode == 1, done.stdout + done.stderr
        assert "2 targets: 2 with 1 error" in done.stdout
        assert Path(report).is_file()


# --------------------------------------------------------------------------------------------------------- the action


def _bash(script: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A step as GitHub's runner runs one with `shell: bash`."""
    commands = Path("bin").resolve()
    commands.mkdir(exist_ok=True)
    for name, call in (("python", '"$@"'), ("doctor", '-m autograd_doctor "$@"')):
        if not (commands / name).exists():
            (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {call}\n')
            (commands / name).chmod(stat.S_IRWXU)
    Path("step.sh").write_text(script)
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "step.sh"],
        env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def _step(number: int, **inputs: str) -> subprocess.CompletedProcess[str]:
    """A step of the action with its inputs, in the environment that GitHub sets."""
    step = ACTION["runs"]["steps"][number]
    given = {name: str(about.get("default", "")) for name, about in ACTION["inputs"].items()} | inputs
    known = {f"inputs.{name}": value for name, value in given.items()} | {"github.action_path": str(ROOT)}
    environment = {
        name: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: known[match[1]], value)
        for name, value in step["env"].items()
    }
    assert step["shell"] == "bash"
    workspace = Path.cwd()
    environment |= {"GITHUB_OUTPUT": str(workspace / "output"), "GITHUB_WORKSPACE": str(workspace)}
    environment |= {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(workspace / "summary.md"), "CI": "true"}
    return _bash(step["run"], {**environment, "AUTOGRAD_DOCTOR_SECONDS": "0"})


def test_inputs_of_the_action_reach_the_shell_as_variables_alone() -> None:
    assert set(ACTION["inputs"]) == {"script", "args", "fail-on", "sarif-file", "version"}
    assert not [step for step in ACTION["runs"]["steps"] if "${{" in step["run"]]


def test_the_action_checks_says_where_and_ends_with_the_code() -> None:
    Path("train.py").write_text(SICK)
    done = _step(1, script="train.py", args='--name "a b" $(touch pwned) ; `touch pwned`')
    assert done.returncode == 1, done.stderr
    assert not Path("pwned").exists()
    words = ["--name", "a b", "$(touch", "pwned)", ";", "`touch", "pwned`"]
    assert f"::error::forged {words}" in done.stdout + done.stderr
    assert Path("output").read_text() == "exit-code=1\n"
    rows = done.stdout.splitlines()
    token = rows[0].removeprefix("::stop-commands::")
    assert re.fullmatch("[0-9a-f]{32}", token)
    assert [row for row in rows if token in row] == [f"::stop-commands::{token}", f"::{token}::"] * 2
    found = [match for row in rows if (match := re.match(MATCHER["pattern"][0]["regexp"], row))]
    assert [match.group(1, 2, 3, 4) for match in found] == [("train.py", "8", "5", "AD101")]
    listening = rows.index(f"::add-matcher::{ROOT}/.github/problem-matcher.json"), len(rows) - 1
    assert rows[-1] == "::remove-matcher owner=autograd_doctor::"
    assert listening[0] < rows.index(found[0].string) < listening[1]


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"fail-on": "never"}, 0),
        ({"fail-on": "eror"}, 2),
        ({"args": "'open"}, 1),
        ({"script": "train.py; touch pwned"}, 2),
        ({"script": "--exit-zero"}, 2),
    ],
    ids=str,
)
def test_inputs_of_the_action(inputs: dict[str, str], code: int) -> None:
    Path("train.py").write_text(SICK)
    done = _step(1, **{"script": "train.py", **inputs})
    assert done.returncode == code, done.stdout + done.stderr
    assert not Path("pwned").exists()
    if "args" in inputs:
        assert "No closing quotation" in done.stderr
    else:
        assert Path("output").read_text() == f"exit-code={code}\n"


def test_the_action_writes_sarif() -> None:
    if "sarif" not in formats():
        pytest.skip("the format is not there")
    Path("train.py").write_text(SICK)
    assert _step(1, script="train.py", **{"sarif-file": "a b.sarif"}).returncode == 1
    assert Path("output").read_text() == "exit-code=1\nsarif-file=a b.sarif\n"
    assert json.loads(Path("a b.sarif").read_text())["version"] == "2.1.0"


@pytest.mark.parametrize(
    ("version", "has_torch", "installed"),
    [
        ("", True, [str(ROOT)]),
        ("1.2", True, ["autograd-doctor==1.2"]),
        ("1.2; touch pwned", True, ["autograd-doctor==1.2; touch pwned"]),
        ("1.2", False, ["torch --index-url https://download.pytorch.org/whl/cpu", "autograd-doctor==1.2"]),
    ],
)
def test_the_action_installs(version: str, has_torch: bool, installed: list[str]) -> None:
    Path("bin").mkdir()
    Path("bin/python").write_text(f'#!/bin/sh\n[ "$1" = -c ] && exit {int(not has_torch)}\necho "$@" >> pip\n')
    Path("bin/python").chmod(stat.S_IRWXU)
    assert _step(0, version=version).returncode == 0
    begin = "-m pip install --disable-pip-version-check "
    assert Path("pip").read_text().splitlines() == [begin + each for each in installed]
    assert not Path("pwned").exists()


# ------------------------------------------------------------------------------------------------ hook and matcher


def test_the_hook_runs_in_the_environment_of_the_program() -> None:
    assert (HOOK["language"], HOOK["pass_filenames"], HOOK["require_serial"]) == ("system", False, True)
    assert HOOK["stages"] == ["pre-push", "manual"]
    Path("train.py").write_text(SICK)
    Path("autograd_doctor.yaml").write_text("targets: [{script: train.py}]")
    for words in ("train.py", ""):
        assert _bash(f"{HOOK['entry']} {words}", {"AUTOGRAD_DOCTOR_SECONDS": "0"}).returncode == 1


def test_the_action_checks_the_targets_of_the_settings() -> None:
    Path("train.py").write_text(SICK)
    Path("autograd_doctor.yaml").write_text("targets: [{script: train.py}, {script: train.py, name: again}]")
    done = _step(1)
    assert done.returncode == 1, done.stderr
    assert "2 targets: 2 with 1 error" in done.stdout
    found = [row for row in done.stdout.splitlines() if re.match(MATCHER["pattern"][0]["regexp"], row)]
    assert len(found) == 2


@pytest.mark.parametrize(
    "line",
    [
        "train.py:3:1: AD301 a container",
        "train.py:3:1: AD301 a container [fatal]",
        "1 error in 40 steps of training, 2.8 s",
        "note: assumed model: `Classifier()`",
        "Error: train.py:3:1: something else",
    ],
)
def test_the_matcher_takes_nothing_else(line: str) -> None:
    assert _taken(line) == []


def _taken(line: str) -> list[dict[str, str | None]]:
    """What the matchers make of a line, of each that takes it."""
    found = []
    for matcher in MATCHERS:
        (pattern,) = matcher["pattern"]
        if match := re.match(pattern["regexp"], line):
            fields = {name: match[group] for name, group in pattern.items() if name != "regexp"}
            found.append({"severity": matcher.get("severity"), **fields})
    return found


@pytest.mark.parametrize("name", REPORTS)
def test_the_matcher_takes_every_finding_as_severe_as_it_is(name: str) -> None:
    report = REPORTS[name]()
    *lines, last = render("concise", report).splitlines()
    assert _taken(last) == []
    for line, finding in zip(lines, report.findings, strict=True):
        (taken,) = _taken(line)
        place = finding.location
        assert taken["severity"] == finding.severity.replace("info", "notice")
        assert (taken["code"], taken["file"]) == (finding.code, place.path if place else report.target.name)
        in_file = place is not None and not place.cell
        assert (taken["line"], taken["column"]) == ((str(place.line), str(place.column)) if in_file else (None, None))
        cell = f"cell {place.cell}:{place.line}:{place.column}: " if place and place.cell else ""
        assert taken["message"] == f"{cell}{finding.code} {' '.join(finding.message.split())}"


def test_the_reports_of_the_matcher_are_of_all_kinds() -> None:
    found = [finding for made in REPORTS.values() for finding in made().findings]
    assert {finding.severity for finding in found} == {"error", "warning", "info"}
    assert {bool(finding.location and finding.location.cell) for finding in found} == {True, False}
    assert any(finding.location is None for finding in found)


def test_the_action_takes_each_matcher_back() -> None:
    run = ACTION["runs"]["steps"][1]["run"]
    assert [f"owner={matcher['owner']}::" in run for matcher in MATCHERS] == [True] * len(MATCHERS)
