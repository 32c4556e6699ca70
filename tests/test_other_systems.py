"""What other systems lack, switched off one by one and all at once: a check runs all the same, from end to end."""

from __future__ import annotations

import ast
import json
import mmap
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from autograd_doctor import system
from tests.harness import PATIENCE, ROOT

WITHOUT = ROOT / "tests" / "without"
WINDOWS = (
    "proc prctl fcntl pty termios tty resource getuid killpg getsid register_at_fork sysconf chown fchmod O_NOFOLLOW "
    "SIGHUP SIGUSR2 SIGKILL SIGALRM register pass_fds"
)
PROGRAM = """
import os, torch
from pathlib import Path
from torch import nn
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
    torch.save(model.state_dict(), "new.pt")
Path("old.txt").write_text("changed")
Path("made").mkdir()
"""
OURS = ("fcntl", "msvcrt", "pty", "resource", "termios", "tty")
ATTRIBUTES = {
    "os": "getuid geteuid killpg getpgid setpgid getpgrp getsid setsid register_at_fork sysconf chown fchown fchmod "
    "uname O_CLOEXEC O_NOFOLLOW O_BINARY",
    "signal": "SIGHUP SIGKILL SIGUSR1 SIGUSR2 SIGALRM alarm setitimer",
    "errno": "EDQUOT",
    "faulthandler": "register",
    "ctypes": "CDLL",
}


def checked(folder: Path, without: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A check of `train.py` in an environment that lacks all of that, in the parent, the child and the guardian."""
    (folder / "train.py").write_text(PROGRAM)
    (folder / "old.txt").write_text("as it was")
    path = os.pathsep.join(map(str, [WITHOUT, ROOT]))
    return subprocess.run(
        [sys.executable, "-m", "autograd_doctor", "check", "--isolated", "--seconds", "0", *options, "train.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "WITHOUT": without, "XDG_STATE_HOME": str(folder / "state")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize(
    "without",
    [*["fcntl", "resource", "proc", "prctl", "getuid", "killpg", "register_at_fork", "pass_fds"], WINDOWS],
    ids=lambda without: "all" if without == WINDOWS else without,
)
def test_a_check_needs_nothing_that_other_systems_lack(tmp_path: Path, without: str) -> None:
    """It finds the same, puts the same back, and leaves nothing."""
    done = checked(tmp_path, without, "--output-format", "json")
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert (done.returncode, [finding["code"] for finding in report["findings"]]) == (1, ["AD101"])
    assert report["run"]["steps"] == 4
    assert (tmp_path / "old.txt").read_text() == "as it was"
    assert {each.name for each in tmp_path.iterdir()} == {"train.py", "old.txt", "state"}
    left = {each.name for each in (tmp_path / "state" / "autograd_doctor").iterdir()}
    assert left <= {".autograd_doctor_claims"}


def test_what_is_hidden_is_hidden(tmp_path: Path) -> None:
    """Otherwise the tests above would prove nothing."""
    program = (
        "from autograd_doctor import system, screen\n"
        "print(system._fcntl, system._resource, system._getuid, system._killpg, system._getsid, system._at_fork)\n"
        "print(system._prctl, system.PROCESSES.exists(), system._ask_for_stacks, system.CAN_PASS_ON, screen._pty)\n"
        "import os, signal, fcntl\nos.getuid(), os.killpg, signal.SIGUSR2\n"
    )
    path = os.pathsep.join(map(str, [WITHOUT, ROOT]))
    environment = {**os.environ, "PYTHONPATH": path, "WITHOUT": WINDOWS}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"None", "False"}


def test_one_module_asks_for_what_not_every_system_has() -> None:
    found = []
    for path in sorted((ROOT / "autograd_doctor").rglob("*.py")):
        if path.name == "system.py" or "rules" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found += [f"{path.name}: {name}" for name in names if name in OURS]
            if isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES.get(ast.unparse(node.value), "").split():
                found.append(f"{path.name}: {ast.unparse(node)}")
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("/proc/self"):
                found.append(f"{path.name}: {node.value}")
    assert found == []


def test_shared_memory_is_told_from_that_of_one_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with mmap.mmap(-1, 4096) as shared, memoryview(shared) as view:
        own, between = np.zeros(8), np.frombuffer(view, np.uint8)
        assert (system.may_be_shared(own.ctypes.data), system.may_be_shared(between.ctypes.data)) == (False, True)
        monkeypatch.setattr(system, "PROCESSES", tmp_path)
        assert system.may_be_shared(own.ctypes.data), "where the system does not tell"
        del between
