"""The page on gates keeps its promises: its programs are written, and its commands run, in the order of the page."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from harness import PATIENCE, ROOT

from tests.commands import doctor

PAGE = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (?P<name>[\w.-]+)\n")
_EXIT_CODE = re.compile(r"  # exit code (\d+)$")
_FOR_A_SHELL = frozenset("|&;<>$*")


@pytest.fixture
def doctor_on_path(tmp_path: Path) -> dict[str, str]:
    """An environment in which `doctor` is the one of this checkout, and checks are short."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "doctor"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m autograd_doctor "$@"\n')
    command.chmod(0o755)
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "AUTOGRAD_DOCTOR_SECONDS": "0"}


def _typed(line: str, home: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = shlex.split(line, comments=True)
    if words[0] == "doctor" and not _FOR_A_SHELL.intersection(line):
        return doctor(*words[1:], cwd=home, env=environment)
    return subprocess.run(line, shell=True, cwd=home, env=environment, capture_output=True, text=True, timeout=PATIENCE)


def test_the_session_of_the_page(tmp_path: Path, doctor_on_path: dict[str, str]) -> None:
    home = tmp_path / "repository"
    (home / ".git").mkdir(parents=True)
    ran = 0
    for block in _BLOCK.finditer(PAGE.partition("\n## GitHub\n")[0]):
        named = _FILE.match(block["text"])
        if named:
            (home / named["name"]).write_text(block["text"])
        for line in block["text"].splitlines() if block["language"] == "console" else ():
            implied = _EXIT_CODE.search(line)
            done = _typed(line, home, doctor_on_path)
            assert done.returncode == int(implied[1] if implied else 0), f"{line}\n{done.stdout}{done.stderr}"
            assert "Traceback" not in done.stderr
            ran += 1
    assert ran > 12
    for written in ("autograd_doctor.yaml", ".github/workflows/doctor.yml", ".autograd_doctor/baseline.json"):
        assert (home / written).is_file()


@pytest.mark.parametrize("text", [block["text"] for block in _BLOCK.finditer(PAGE) if block["language"] == "yaml"])
def test_settings_and_workflows_of_the_page_are_yaml(text: str) -> None:
    assert isinstance(yaml.safe_load(text), dict)
