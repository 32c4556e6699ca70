"""Turns at the journal: processes that keep files at the same time, and those that are forked meanwhile."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from autograd_doctor.keeping import journal as module
from autograd_doctor.keeping.journal import Journal
from tests.harness import ROOT

PRELUDE = """
    import os, sys, threading
    from pathlib import Path
    from autograd_doctor.keeping.journal import Journal
    scratch = Path(sys.argv[1])
    def fork():
        process = os.fork()
        if process == 0:
            with Journal(scratch).turn():
                os._exit(0)
        return process
"""
FORKS_IN_A_TURN = """
    begun, forked = threading.Event(), threading.Event()
    def take():
        with Journal(scratch).turn():
            begun.set()
            forked.wait()
    threading.Thread(target=take).start()
    begun.wait()
    process = fork()
    forked.set()
    os.waitpid(process, 0)
"""
FORKS_OFTEN = """
    over = threading.Event()
    def take():
        journal = Journal(scratch)
        while not over.is_set():
            with journal.turn():
                pass
    threading.Thread(target=take).start()
    for _ in range(500):
        os.waitpid(fork(), 0)
    over.set()
"""


@pytest.mark.parametrize("program", [FORKS_IN_A_TURN, FORKS_OFTEN], ids=["once", "500 times"])
def test_a_process_that_is_forked_in_a_turn_holds_nobody_up(tmp_path: Path, program: str) -> None:
    command = [sys.executable, "-c", dedent(PRELUDE) + dedent(program), str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)


def test_a_turn_ends_with_its_process(tmp_path: Path) -> None:
    program = "import signal\nwith Journal(scratch).turn():\n    os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", dedent(PRELUDE) + program, str(tmp_path)], cwd=ROOT, timeout=60)
    with Journal(tmp_path).turn():
        pass


def test_nobody_waits_for_ever_for_a_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONGEST_TURN", 0.0)
    ready, said = os.pipe()
    process = os.fork()
    if process == 0:
        with (tmp_path / "turns").open("ab") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            os.write(said, b"held")
            signal.pause()
        os._exit(0)
    try:
        assert os.read(ready, 4) == b"held"
        with pytest.raises(TimeoutError, match="another process"), Journal(tmp_path).turn():
            pass
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
