"""`doctor watch`: a run that is being recorded, followed on a terminal and elsewhere."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from autograd_doctor.command import following, run_view
from autograd_doctor.command.request import Request
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.numerics import LossesFollowed
from autograd_doctor.events.run import CellRan, CloseLookEnded, RecordingStarted
from autograd_doctor.events.steps import BackwardRan, MemoryMeasured, OptimizerStepped
from autograd_doctor.findings import Location
from autograd_doctor.mistakes import Mistake
from autograd_doctor.monitoring.folder import About, Found, RankFolder, rank_folder
from autograd_doctor.monitoring.poll import Poll, Seen
from autograd_doctor.plan import Target
from autograd_doctor.recording import FORMAT_LINE, encoded
from autograd_doctor.renderers import Options
from autograd_doctor.renderers.canvas import Canvas
from tests.harness import PATIENCE, ROOT
from tests.reports import sick

BEGAN = 1_000_000.0
LINE = Location(path="/here/train.py", line=16)


def about(**changed: object) -> About:
    """Of a run that goes on in this process."""
    facts: dict[str, object] = {
        "tool": "0",
        "target": Target("block", "train.py:8"),
        "process": os.getpid(),
        "host": socket.gethostname(),
        "cwd": "/here",
        "began": BEGAN,
    }
    return About(**(facts | changed))  # type: ignore[arg-type]


def begun(path: Path, *events: Event, **changed: object) -> RankFolder:
    """A run in its first chapter."""
    told = about(**changed)
    folder = rank_folder(path, told.rank)
    folder.begin(told)
    write(folder, 1, RecordingStarted(tool="0", began=told.began), *events)
    return folder


def write(folder: RankFolder, chapter: int, *events: Event) -> None:
    """Record more of a chapter."""
    file = folder.chapter(chapter)
    head = b"" if file.exists() else FORMAT_LINE
    with file.open("ab") as stream:
        stream.write(head + b"".join(map(encoded, events)))


def losses(step: int, last: float, at: float, line: Location = LINE) -> LossesFollowed:
    return LossesFollowed(
        location=line, first=step - 9, backwards=10, opening=last, last=last, low=last, high=last, step=step, time=at
    )


def told(number: int, step: int, *, is_told: bool = True) -> Found:
    finding = sick().findings[number]
    return Found(chapter=1, step=step, at=BEGAN + 1, told=is_told, finding=finding)


def look(path: Path, now: float = BEGAN + 90) -> Seen:
    (seen,) = Poll(path, lambda: now).look()
    return seen


# ------------------------------------------------------------------------------------------------------ what is known


def test_only_what_is_new_is_read_chapter_after_chapter(tmp_path: Path) -> None:
    folder = begun(tmp_path, losses(10, 4.0, 1.0))
    poll = Poll(tmp_path, lambda: BEGAN + 90)
    (seen,) = poll.look()
    assert (seen.phase, seen.close, seen.chapter, seen.numbers.step) == ("training", True, 1, 10)
    write(folder, 1, CloseLookEnded(step=20), losses(30, 2.0, 3.0))
    (seen,) = poll.look()
    assert (seen.close, seen.numbers.loss, seen.pace) == (False, 2.0, 10.0)
    write(folder, 2, RecordingStarted(tool="0", began=BEGAN + 4), losses(70, 1.0, 1.0))
    os.unlink(folder.chapter(1))
    (seen,) = poll.look()
    assert (seen.close, seen.chapter, seen.pace, seen.lasted) == (True, 2, 15.0, 90)
    assert seen.curves == [("train.py:16", [10, 30, 70], [4.0, 2.0, 1.0])]


def test_numbers_are_the_latest(tmp_path: Path) -> None:
    begun(
        tmp_path,
        BackwardRan(backward=1, location=LINE, kind="backward", root=TensorFacts(shape=(), dtype="float32"), loss=3.0),
        OptimizerStepped(optimizer=1, location=LINE, learning_rates=[0.1, 0.01], step=0),
        MemoryMeasured(resident=0, allocated=2**20, step=1),
    )
    seen = look(tmp_path)
    assert (seen.numbers.loss, seen.numbers.learning_rate, seen.numbers.memory) == (3.0, 0.1, 2**20)
    assert seen.curves == [("train.py:16", [1], [3.0])]


def test_a_curve_stays_small_and_keeps_its_ends(tmp_path: Path) -> None:
    begun(tmp_path, *(losses(step, float(step), step / 10) for step in range(1, 2001)))
    ((_, steps, values),) = look(tmp_path).curves
    assert len(steps) <= 512
    assert (steps[0], steps[-1]) == (1, 2000)
    assert values == [float(step) for step in steps]


def test_lines_in_cells_are_named_by_cells(tmp_path: Path) -> None:
    line = Location(path="/tmp/ipykernel_1/2.py", line=3)
    begun(tmp_path, losses(10, 1.0, 1.0, line), CellRan(file=line.path, number=7, text=""))
    assert [curve.line for curve in look(tmp_path).curves] == ["cell 7:3"]


def test_a_process_that_is_no_longer_there_is_gone_on_this_machine_only(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    begun(tmp_path / "here", losses(10, 1.0, 2.0), process=ended.pid)
    begun(tmp_path / "there", losses(10, 1.0, 2.0), process=ended.pid, host="elsewhere")
    here, there = look(tmp_path / "here"), look(tmp_path / "there")
    assert (here.gone, here.is_over, here.lasted) == (True, True, 2.0)
    assert (there.gone, there.is_over, there.lasted) == (False, False, 2.0)


def test_a_run_that_begins_again_in_the_folder_is_another_one(tmp_path: Path) -> None:
    begun(tmp_path, losses(500, 1.0, 1.0))
    poll = Poll(tmp_path, lambda: BEGAN + 200)
    poll.look()
    begun(tmp_path, losses(10, 4.0, 1.0), began=BEGAN + 100)
    (seen,) = poll.look()
    assert (seen.numbers.step, seen.lasted) == (10, 100)


def test_a_folder_without_a_run_and_a_trace_of_another_version_are_mistakes(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="no run is recorded here"):
        Poll(tmp_path, time.time)
    folder = begun(tmp_path)
    folder.chapter(1).write_bytes(b"autograd_doctor trace 999\n")
    with pytest.raises(Mistake, match="a trace of version 999"):
        look(tmp_path)


# ------------------------------------------------------------------------------------------------------ what is shown


def lines(run: Sequence[Seen], height: int = 40, width: int = 110) -> list[str]:
    canvas = Canvas(Options(width=width, unicode=False))
    return [line.plain.rstrip() for line in run_view.picture(canvas, Path("run.trace"), run, height)]


def test_the_picture(tmp_path: Path) -> None:
    events = [
        CloseLookEnded(step=10),
        OptimizerStepped(optimizer=1, location=LINE, learning_rates=[0.01], step=9, time=1.0),
        *(losses(step, 100.0 / step, step / 10) for step in range(10, 1010, 10)),
        MemoryMeasured(resident=3 * 2**30, step=1000),
    ]
    folder = begun(tmp_path, *events)
    folder.write([told(0, 400, is_told=False), told(0, 800)])
    shown = lines([look(tmp_path)])
    assert shown == [
        "train.py:8 - run.trace",
        f"  running for 90 s - training - taking the pulse - process {os.getpid()}",
        "",
        "    step              1,000   10 a second",
        "    loss              #%*+==-----.......______________  10 in step 10, 0.1 in step 1000",
        "    learning rate     0.01",
        "    memory            3.0 GiB",
        "",
        f"error[AD101] missing-zero-grad: {told(0, 1).finding.title}",
        "  --> train.py:14, told in step 800",
    ]


def test_several_ranks_are_told_apart_and_their_findings_are_one(tmp_path: Path) -> None:
    for rank in range(2):
        folder = begun(tmp_path, losses(10 + rank, 2.0, 1.0), rank=rank, size=2)
        folder.write([told(0, 8)])
    shown = lines(Poll(tmp_path, lambda: BEGAN + 5).look())
    assert "    rank 1            training, step 11, loss 2" in shown
    assert sum("AD101" in line for line in shown) == 1


def test_what_there_is_no_room_for_is_cut(tmp_path: Path) -> None:
    folder = begun(tmp_path, losses(10, 2.0, 1.0))
    folder.write([told(0, 8)])
    shown = lines([look(tmp_path)], height=6)
    assert len(shown) == 6
    assert shown[-1] == "  ..."


@pytest.mark.parametrize(("time", "said"), [(42.9, "42 s"), (725.0, "12 min 5 s"), (3600 * 31 + 245.0, "31 h 4 min")])
def test_how_long_it_lasts(time: float, said: str) -> None:
    assert run_view.lasted(time) == said


# --------------------------------------------------------------------------------------------------------- the command

PROGRAM = """
import autograd_doctor, torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
with autograd_doctor.monitor("run.trace"):
    for _ in range(60):
        x = torch.randn(8, 4)
        (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
WATCH = [sys.executable, "-m", "autograd_doctor", "watch", "--isolated"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sick program whose run is over."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "train.py").write_text(PROGRAM)
    subprocess.run([sys.executable, "train.py"], cwd=folder, env=ENVIRONMENT, check=True, timeout=PATIENCE)
    return folder


@pytest.fixture
def running(recorded: Path, tmp_path: Path) -> Path:
    """The same, as if it went on in this process."""
    folder = tmp_path / "running"
    shutil.copytree(recorded, folder)
    change(folder, ended=0.0, process=os.getpid())
    return folder


def change(folder: Path, **changed: object) -> None:
    rank = rank_folder(folder / "run.trace", 0)
    known = rank.about()
    assert known is not None
    rank.say(msgspec.structs.replace(known, **changed))


def test_a_run_that_is_over_is_told_with_the_exit_code_of_its_report(recorded: Path) -> None:
    done = subprocess.run(
        WATCH, cwd=recorded, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    first, second, *rest = done.stdout.splitlines()
    assert re.match(r"train\.py:10:9: AD101 .* \[error\]$", first)
    assert re.match(r"\d+ s: over, step 60, loss .*, 1 finding$", second)
    assert rest[0].startswith("the recording has ended after ")
    assert rest[1].startswith("1 error in 60 steps of training")
    assert rest[2:] == ["`doctor report run.trace` shows it in full"]
    report = [sys.executable, "-m", "autograd_doctor", "report", "--isolated", "run.trace"]
    reported = subprocess.run(report, cwd=recorded, env=ENVIRONMENT, capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (reported.returncode, "") == (1, "")


def test_elsewhere_there_is_a_line_each_minute(
    running: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [1000.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds
        if now[0] >= 1130:
            change(running, ended=time.time(), how="it was over")

    passing = SimpleNamespace(time=time.time, monotonic=lambda: now[0], sleep=sleep)
    monkeypatch.setattr(following, "time", passing)
    assert following.watch(Request(str(running / "run.trace"))) == 1
    first, *others = capsys.readouterr().out.splitlines()
    assert ": AD101 " in first
    assert [line.partition(",")[0].partition(": ")[2] for line in others[:4]] == ["training"] * 3 + ["over"]
    assert others[4].startswith("the recording has ended after ")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("run.tracee", "error: run.tracee: no such folder; did you mean `run.trace`?\n"),
        ("train.py", "error: train.py: a file, not the folder of a run that is monitored"),
        (".", "error: .: no run is recorded here\n"),
    ],
)
def test_bad_input_is_one_line(recorded: Path, name: str, said: str) -> None:
    done = subprocess.run(
        [*WATCH, name], cwd=recorded, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


class Terminal:
    """`doctor watch` on a terminal of 100 by 30 cells."""

    def __init__(self, folder: Path) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.process = subprocess.Popen(
            WATCH, cwd=folder, env=ENVIRONMENT, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        """Read on until the text was shown."""
        until = time.monotonic() + PATIENCE
        while text not in self.shown:
            assert time.monotonic() < until, self.shown
            if not self._read():
                break
        assert text in self.shown

    def ended(self) -> int:
        """Read on until it is over; gives the exit code."""
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    def _read(self) -> bool:
        if not select.select([self._master], [], [], 0.5)[0]:
            return self.process.poll() is None
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            data = b""
        self.shown += data.decode()
        return bool(data)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.fixture
def terminal(running: Path) -> Iterator[Terminal]:
    opened = Terminal(running)
    yield opened
    opened.close()


def test_on_a_terminal_the_picture_follows_the_run_to_its_end(running: Path, terminal: Terminal) -> None:
    terminal.wait_for("error[AD101]")
    assert "running for " in terminal.shown
    assert "\x1b[1A" not in terminal.shown.partition("error[AD101]")[0]
    change(running, ended=time.time(), how="it was over")
    assert terminal.ended() == 1
    last = terminal.shown.rpartition("\x1b[1A")[2]
    assert "the recording has ended after " in last
    assert "`doctor report run.trace` shows it in full" in last
    assert "\x1b[?25h" in last, "the cursor is there again"


def test_ctrl_c_ends_the_watching_alone(terminal: Terminal) -> None:
    terminal.wait_for("error[AD101]")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.ended() == 130
    assert "Traceback" not in terminal.shown
    assert "\x1b[?25h" in terminal.shown


def test_a_process_that_goes_without_a_word_is_told(running: Path, terminal: Terminal) -> None:
    terminal.wait_for("running for ")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    change(running, process=ended.pid)
    terminal.wait_for(f"process {ended.pid} is gone without a word")
    assert terminal.ended() == 1
