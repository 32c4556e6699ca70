"""Checks that run at the same time, of programs that write the same files: one waits for the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checks import Check, marked_below, soon

DOCTOR = Path(sys.executable).with_name("doctor")
WRITES = """
    import time, torch
    from pathlib import Path
    torch.nn.Linear(1, 1)(torch.ones(1)).backward()
    def told(name):
        until = time.monotonic() + 30
        while not (told := Path(name)).exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert told.exists(), name
"""
FIRST = (
    WRITES
    + """
    open("kept.txt", "w").write("first")
    open("first-has-begun", "w").close()
    told("../go-on")
    assert open("kept.txt").read() == "first"
    open("kept.txt", "a").write(" again")
"""
)
SECOND = (
    WRITES
    + """
    assert open("kept.txt").read() == "first"
    open("kept.txt", "a").write(" second")
    print("found", open("kept.txt").read())
"""
)
WAITS = "this one waits until that check ends"


@pytest.fixture
def check(tmp_path: Path) -> Iterator[Check]:
    yield Check(tmp_path)
    for process in marked_below(tmp_path):
        os.kill(process, signal.SIGKILL)


def _let_first_go_on(check: Check, second: subprocess.Popen[str]) -> str:
    """Once the second waits, which it says; returns that line."""
    assert second.stderr is not None
    line = next(line for line in second.stderr if "another check" in line)
    (check.folder.parent / "go-on").touch()
    return line


def _begun(check: Check, name: str = "first-has-begun") -> None:
    assert soon(lambda: (check.folder / name).exists())


def _clean(check: Check, *programs: str) -> bool:
    for name in programs:
        (check.folder / name).unlink()
    return check.is_clean()


def test_the_second_waits_and_finds_what_was_there_before_the_first(check: Check) -> None:
    first = check.start(FIRST)
    _begun(check)
    second = check.start(SECOND, "--max-seconds", "1", name="second.py")
    assert WAITS in _let_first_go_on(check, second)
    assert "restored after the run, since the program changed it: `kept.txt`" in first.communicate(timeout=100)[0]
    out, _ = second.communicate(timeout=100)
    assert "found before second" in out
    assert "native code" not in out
    assert "hung" not in out
    assert _clean(check, "second.py")


def test_what_a_first_has_made_is_waited_for_and_nothing_else(check: Check) -> None:
    first = check.start(WRITES + "    Path('runs').mkdir(); Path('first-has-begun').touch(); told('../go-on')")
    _begun(check)
    free = check.start("open('own.txt', 'w').write('x'); open('kept.txt', 'a').write('x')", name="free.py")
    _, errors = free.communicate(timeout=100)
    assert WAITS not in errors
    second = check.start("import os; os.makedirs('runs', exist_ok=True); open('runs/b', 'w')", name="second.py")
    assert "runs" in _let_first_go_on(check, second)
    first.communicate(timeout=100)
    second.communicate(timeout=100)
    assert _clean(check, "second.py", "free.py")


def test_a_first_that_is_killed_is_waited_for_no_longer(check: Check) -> None:
    first = check.start(FIRST)
    _begun(check)
    second = check.start(SECOND, name="second.py")
    assert second.stderr is not None
    assert any(WAITS in line for line in second.stderr)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    out, _ = second.communicate(timeout=100)
    assert "found before second" in out
    assert _clean(check, "second.py")


def test_two_that_want_what_the_other_has_do_not_wait_for_ever(check: Check) -> None:
    (check.folder / "own.txt").write_text("before")
    source = (
        WRITES
        + """
    open(MINE, "w").write("x"); open(MINE + ".begun", "w").close()
    told(OTHER + ".begun")
    try:
        open(OTHER, "w").write("x"); print("had both")
    except PermissionError as error:
        print("refused", error)
"""
    )
    both = [
        check.start(source.replace("MINE", repr(mine)).replace("OTHER", repr(other)), name=name)
        for mine, other, name in (("kept.txt", "own.txt", "train.py"), ("own.txt", "kept.txt", "second.py"))
    ]
    said = [each.communicate(timeout=100)[0] for each in both]
    assert sorted("had both" in out for out in said) == [False, True], said
    assert sum("waits for a file that this check has changed" in out for out in said) == 1
    assert (check.folder / "own.txt").read_text() == "before"
    assert _clean(check, "second.py", "own.txt")


@pytest.mark.parametrize("doctor", [[sys.executable, "-m", "autograd_doctor"], [str(DOCTOR)]], ids=["module", "script"])
def test_a_check_within_a_checked_program_does_not_wait_for_it(check: Check, doctor: list[str]) -> None:
    (check.folder / "inner.py").write_text("open('kept.txt', 'a').write(' inner'); print(open('kept.txt').read())")
    command = [*doctor, "check", "--isolated", "inner.py"]
    source = f"""
        import subprocess
        open("kept.txt", "w").write("outer")
        subprocess.run({command}, check=False)
        print("found", open("kept.txt").read())
    """
    out, errors = check.run(source)
    assert "outer inner" in out
    assert "found outer\n" in out
    assert WAITS not in errors
    assert _clean(check, "inner.py")


def test_ranks_of_one_launch_do_not_wait_for_each_other(tmp_path: Path) -> None:
    from autograd_doctor.keeping.claims import Claims, note_family
    from autograd_doctor.keeping.journal import Claimed, Journal
    from autograd_doctor.keeping.workspace import workspace

    with workspace() as one, workspace() as other:
        for place, mark in ((one, "a"), (other, "b")):
            note_family(Path(place.scratch), mark, "launch")
        path = str(tmp_path / "model.pt")
        Journal(Path(other.scratch)).add(Claimed(path, False))
        assert Claims(Path(one.scratch)).holder(path, with_all_below=False) is None
        note_family(Path(other.scratch), "b", "another launch")
        assert Claims(Path(one.scratch)).holder(path, with_all_below=False) == Path(other.scratch)
        Journal(Path(other.scratch)).close()
        assert Claims(Path(one.scratch)).holder(path, with_all_below=False) is None
