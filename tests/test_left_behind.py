"""Nothing is left behind by a check: no process, no scratch folder, no changed file, whoever was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests.checks import Check, is_gone, marked_below, soon
from tests.harness import ROOT

TRAIN = """
    import os, subprocess, sys, time
    open("kept.txt", "w").write("new")
    os.makedirs("made/deep")
    helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
    forked = os.fork()
    if forked == 0:
        os.setsid()
        time.sleep(300)
        os._exit(0)
    print("processes", helper.pid, forked, os.getpid(), flush=True)
"""
SLEEP = "    time.sleep(300)\n"
STEPS = """
    import torch
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    while True:
        optimizer.zero_grad()
        weight.pow(2).sum().backward()
        optimizer.step()
"""


@pytest.fixture
def check(tmp_path: Path) -> Iterator[Check]:
    yield Check(tmp_path)
    for process in marked_below(tmp_path):
        os.kill(process, signal.SIGKILL)


def processes(started: subprocess.Popen[str]) -> list[int]:
    """The numbers that the program prints when it has come far enough."""
    assert started.stdout is not None
    for line in started.stdout:
        if line.startswith("processes"):
            return [int(word) for word in line.split()[1:]]
    raise AssertionError(started.communicate()[1])


def test_what_it_started_ends_with_a_stop(check: Check) -> None:
    out, _ = check.run(TRAIN + STEPS, "--steps", "5")
    helpers = [int(word) for line in out.splitlines() if line.startswith("processes") for word in line.split()[1:]]
    assert len(helpers) == 3
    assert all(is_gone(process) for process in helpers)
    assert check.is_clean()
    assert "removed after the run, since the program wrote it: `made`" in out
    assert "restored after the run, since the program changed it: `kept.txt`" in out


DISGUISED = """
    import subprocess
    said = "sleep 1; echo new > kept.txt; echo new > late.txt; sleep 300"
    options = dict(env={"PATH": "/bin:/usr/bin"}, start_new_session=True)
    helper = subprocess.Popen(["sh", "-c", said], **options)
    below = subprocess.run(["sh", "-c", f"({said}) > /dev/null 2>&1 & echo $!"], stdout=subprocess.PIPE, **options)
    print("processes", helper.pid, int(below.stdout), flush=True)
"""


def test_what_it_started_in_disguise_ends_with_it_too(check: Check) -> None:
    bystander = subprocess.Popen(["sleep", "300"], env={}, start_new_session=True)
    out, _ = check.run(DISGUISED)
    numbers = [int(word) for line in out.splitlines() if line.startswith("processes") for word in line.split()[1:]]
    assert len(numbers) == 2
    assert all(map(is_gone, numbers))
    time.sleep(1.5)
    assert check.is_clean(), "nobody writes any more"
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_a_check_from_within_ends_no_child_of_the_callers(tmp_path: Path) -> None:
    program = f"""
        import subprocess
        before = subprocess.Popen(["sleep", "300"], start_new_session=True)
        from autograd_doctor import check
        (open("train.py", "w")).write({dedent(DISGUISED)!r})
        check("train.py", seconds=0)
        print(before.poll())
        before.kill()
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(program)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stdout.splitlines()[-1] == "None", done.stderr


def test_a_killed_check_is_cleaned_up_at_once(check: Check) -> None:
    started = check.start(TRAIN + SLEEP)
    numbers = processes(started)
    assert not check.is_clean()
    started.kill()
    assert soon(check.is_clean)
    assert soon(lambda: all(map(is_gone, numbers)))
    started.communicate()


def test_the_next_check_puts_back_what_nobody_could_and_only_that(check: Check) -> None:
    started = check.start(TRAIN + SLEEP)
    numbers = processes(started)
    _, errors = check.run("print('next')")
    assert "an earlier check" not in errors
    assert (check.folder / "kept.txt").read_text() == "new", "the first check is still alive"
    for guardian in _guardians(numbers[2]):
        os.kill(guardian, signal.SIGKILL)
    started.kill()
    started.wait()
    assert soon(lambda: is_gone(numbers[2])), "the child goes on without its parent"
    assert not check.is_clean()
    _, errors = check.run("print('next')")
    started.communicate()
    assert check.is_clean()
    assert all(map(is_gone, numbers))
    assert "note: an earlier check was killed; what its program had changed has been restored, 3 paths" in errors


def _guardians(child: int) -> list[int]:
    lines = subprocess.run(
        ["ps", "-ewwo", "pid=,args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [int(line.split()[0]) for line in lines if "keeping.guardian" in line and f" {child} " in line]


@pytest.mark.parametrize("deaf", [False, True])
def test_four_quick_interrupts_leave_a_report_and_no_traceback(check: Check, deaf: bool) -> None:
    ignoring = "    import signal\n    signal.signal(signal.SIGINT, signal.SIG_IGN)\n" if deaf else ""
    started = check.start(ignoring + TRAIN + SLEEP, "--output-format", "json")
    assert started.stderr is not None
    assert any(line.startswith("processes") for line in iter(started.stderr.readline, ""))
    for _ in range(4):
        started.send_signal(signal.SIGINT)
        time.sleep(0.03)
    out, errors = started.communicate(timeout=60)
    assert started.returncode == 130
    assert json.loads(out)["verdict"]
    assert "autograd_doctor" not in errors
    assert check.is_clean()


def test_a_killed_program_is_put_back_and_what_others_wrote_is_told(check: Check) -> None:
    others = "    os.system('echo new > n.txt')\n    import signal\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    out, _ = check.run(TRAIN + others, "--output-format", "json")
    notes = json.loads(out[out.index("{") :])["notes"]
    assert "changed during the run by native code or by another process, and not restored: `n.txt`" in notes
    (check.folder / "n.txt").unlink()
    assert check.is_clean()


def test_without_politeness_files_stay_as_the_program_leaves_them(check: Check) -> None:
    out, _ = check.run("open('kept.txt', 'w').write('new')\nopen('n.txt', 'w')\n", "--no-polite")
    assert (check.folder / "kept.txt").read_text() == "new"
    assert (check.folder / "n.txt").exists()
    assert "put back" not in out
