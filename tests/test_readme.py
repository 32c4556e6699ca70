"""The pages keep their promises: the rule works, commands run, the screen is a real one, links lead somewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from autograd_doctor import cli
from autograd_doctor.command import checking, fixing
from autograd_doctor.command.request import Request
from autograd_doctor.renderers import formats
from autograd_doctor.rules import Rule, all_rules
from tests.harness import PATIENCE, ROOT, assert_findings, body_of, check_program, marks, summary

README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE, OUTPUT, IN_PYTHON, WRITE_A_RULE = (
    (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("guide", "output", "python", "write-a-rule")
)
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE_SETTINGS = sorted((ROOT / "configs").glob("*.yaml"))

_FILE = re.compile(r"[\w./-]+\.(?:py|yaml|json|trace)(?::\w+)?")
_NEEDS_A_FILE = ("watch", "check", "compare", "fix", "gradcheck", "init", "profile", "report")


def _blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def _commands() -> list[str]:
    """Every `doctor …` that a page or the head of an example of settings tells to type."""
    lines = [line for path in EXAMPLE_SETTINGS for line in re.findall(r"^#   (.+)$", path.read_text(), re.MULTILINE)]
    typed: list[str] = []
    for page in (path.read_text(encoding="utf-8") for path in PAGES):
        lines += [line for block in _blocks(page, "console") for line in block.splitlines()]
        typed += re.findall(r"`(doctor [^`]+)`", page)
    typed += [part for line in lines for part in line.partition("  #")[0].split(" && ")]
    return sorted({command.strip() for command in typed if command.startswith("doctor ")})


def _can_be_run(command: str) -> bool:
    """Whether it needs no file that only the reader has, and is more than the name of a command."""
    words = command.split()[1:]
    files = [word for word in words if _FILE.fullmatch(word)]
    if words[0] in _NEEDS_A_FILE:
        return bool(files) and all((ROOT / file).is_file() for file in files)
    return words[0] == "rules" or len(words) > 1


def _implied_exit_code(command: str) -> int:
    """1 for a check of a program that says of itself that it has a fault, else 0; what is said to be mended is."""
    if command.startswith(("doctor profile ", "doctor fix ")):
        return 0
    programs = [ROOT / word for word in command.split() if word.endswith(".py")]
    return int(any(marks(program.read_text(encoding="utf-8")) for program in programs))


def _run(command: str, columns: int = 100) -> subprocess.CompletedProcess[str]:
    _, *words = shlex.split(command)
    return subprocess.run(
        [sys.executable, "-m", "autograd_doctor", *words],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": str(columns)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


# ------------------------------------------------------------------------------------------------------------ commands


def test_commands_are_found() -> None:
    assert len(_commands()) > 10
    assert sum(map(_can_be_run, _commands())) > 4


@pytest.mark.parametrize("command", [each for each in _commands() if _can_be_run(each)])
def test_command_ends_as_the_page_implies(command: str) -> None:
    done = _run(command)
    assert done.returncode == _implied_exit_code(command), done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def _options_in_tables() -> list[str]:
    return [f"doctor check {option} train.py" for option in re.findall(r"^\| `(--[^`]+)` \|", GUIDE, re.MULTILINE)]


@pytest.mark.parametrize(
    "command",
    [
        *(each for each in _commands() if each.startswith(("doctor check ", "doctor fix ", "doctor profile "))),
        *_options_in_tables(),
    ],
)
def test_command_line_of_a_check_is_understood(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[Request] = []
    monkeypatch.setattr(checking, "check", lambda request: requests.append(request) or 0)
    monkeypatch.setattr(fixing, "fix", lambda request, **how: requests.append(request) or 0)
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as exited:
        cli.main()
    assert exited.value.code == 0
    assert len(requests) == 1


def test_the_table_of_formats_has_a_command_for_each() -> None:
    shown = re.findall(r"^\| `([\w-]+)` \| .* \| `doctor check (.*)` \|$", OUTPUT, re.MULTILINE)
    assert sorted(name for name, _ in shown) == list(formats())
    assert all(f"--output-format {name}" in command for name, command in shown if name != "full")


def test_screen_is_a_real_one() -> None:
    shown = next(block for block in _blocks(README, "") if block.startswith("$ doctor check"))
    command, _, screen = shown.removeprefix("$ ").partition("\n")
    assert _without_what_varies(_run(command, columns=92).stdout) == _without_what_varies(screen)


def _without_what_varies(screen: str) -> str:
    screen = re.sub(r"torch \S+ on \S+ · Python \S+", "torch · Python", screen)
    return re.sub(r"\d+\.\d+", "0.0", screen)


# ----------------------------------------------------------------------------------------------------------- the rules


def test_the_families_of_rules_are_as_large_as_the_table_says() -> None:
    said = re.findall(r"^\| \[(AD\d)xx\]\(.*?\) \| .* \| (\d+) \| .*\[(AD\d{3})\]\(.*\) \|$", README, re.MULTILINE)
    codes = [rule.code for rule in all_rules()]
    assert {family: int(number) for family, number, _ in said} == Counter(code[:3] for code in codes)
    assert all(shown in codes and shown.startswith(family) for family, _, shown in said)
    assert re.findall(r"^(\d+) rules, each with", README, re.MULTILINE) == [str(len(codes))]


def test_the_changes_name_the_first_and_the_last_rule_of_each_family() -> None:
    changes = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    families: dict[str, list[str]] = {}
    for rule in all_rules():
        families.setdefault(rule.code[:3], []).append(rule.code)
    families["AD5"].remove("AD599")  # crashes stand apart
    ends = [(codes[0], codes[-1]) for codes in families.values() if len(codes) > 1]
    assert re.findall(r"\((AD\d{3}) to (AD\d{3})\)", changes) == ends
    assert all(f"({codes[0]})" in changes for codes in families.values() if len(codes) == 1)


# ------------------------------------------------------------------------------------------------------------ the rule


@pytest.fixture
def shown_rule(tmp_path: Path) -> Rule:
    """The rule of "Write a rule in ten minutes", loaded from a file as those of the project are."""
    path = tmp_path / "log_of_softmax.py"
    path.write_text(_blocks(WRITE_A_RULE, "python")[0], encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rule: Rule = module.RULE
    return rule


def test_shown_rule_finds_its_bad_example_on_the_marked_line(shown_rule: Rule) -> None:
    for example in shown_rule.bad:
        expected = marks(body_of(example))
        assert [code for code, _ in expected] == [shown_rule.code]
        report = check_program(body_of(example), rules=(*all_rules(), shown_rule))
        assert_findings(report, expected, slack=0)


def test_shown_rule_leaves_its_good_example_in_peace(shown_rule: Rule) -> None:
    for example in shown_rule.good:
        report = check_program(body_of(example), rules=(*all_rules(), shown_rule))
        assert report.run.steps > 0
        assert not report.findings, summary(report)


def test_shown_rule_has_a_free_code_and_prose_for_its_page(shown_rule: Rule) -> None:
    assert shown_rule.code not in {rule.code for rule in all_rules()}
    assert all(len(text) > 10 for text in (shown_rule.observes, shown_rule.why, shown_rule.fix, shown_rule.fine))


# ----------------------------------------------------------------------------------------------------------- in Python


def test_python_shown_runs_and_passes_the_test_shown(tmp_path: Path) -> None:
    watching, saving, testing, checking_another = _blocks(IN_PYTHON, "python")[:4]
    (tmp_path / "sample_models").symlink_to(ROOT / "sample_models")
    (tmp_path / "test_shown.py").write_text(
        f"import pytest\n{watching}\nassert watched.report.verdict == 'passed'\n{saving}\n"
        "@pytest.fixture\ndef doctor():\n    return autograd_doctor\n\n"
        f"{testing}\n{checking_another}\nassert report.verdict == 'faults'\n"
        "assert report.exit_reason == '1 of 1 finding at or above `error`'\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shown.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


# --------------------------------------------------------------------------------------------------------------- links


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_to_files_of_the_project(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
