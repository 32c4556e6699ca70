"""Real checks of programs in folders of their own, and what they leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

from autograd_doctor.keeping.descendants import MARK
from tests.harness import ROOT


class Check:
    """A real `doctor check` of a program in a folder of its own, with a temporary folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.temporary = folder / "project", folder / "temporary"
        self.folder.mkdir()
        self.temporary.mkdir()
        (self.folder / "kept.txt").write_text("before")

    def start(self, source: str, *options: str, name: str = "train.py") -> subprocess.Popen[str]:
        (self.folder / name).write_text(dedent(source))
        command = ["check", "--isolated", "--seconds", "0", *options, name]
        return subprocess.Popen(
            [sys.executable, "-m", "autograd_doctor", *command],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(self.temporary), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def run(self, source: str, *options: str) -> tuple[str, str]:
        """What a whole check wrote to standard output and error."""
        return self.start(source, *options).communicate(timeout=100)

    def is_clean(self) -> bool:
        left = sorted(path.name for path in self.folder.iterdir())
        as_before = (self.folder / "kept.txt").read_text() == "before" and left == ["kept.txt", "train.py"]
        # unlike `rglob`, a walk goes on where a folder is removed meanwhile
        there = (name for _, folders, files in os.walk(self.temporary) for name in (*folders, *files))
        return as_before and not any(name.startswith("autograd-doctor-") for name in there)


def marked_below(folder: Path) -> list[int]:
    """Children of checks that are left in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and MARK.encode() in (entry / "environ").read_bytes():
                found += [int(entry.name)] if str((entry / "cwd").readlink()).startswith(str(folder)) else []
        except OSError:
            continue
    return found


def is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def soon(what: Callable[[], bool]) -> bool:
    until = time.monotonic() + 15
    while not what() and time.monotonic() < until:
        time.sleep(0.05)
    return what()
