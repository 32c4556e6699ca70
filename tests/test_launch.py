"""The child process: started as the parent was, listened to, ended when it hangs, and always giving its trace."""

from __future__ import annotations

import ast
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent
from unittest import mock

import pytest

from autograd_doctor import launch
from autograd_doctor.command.progress import Progress
from autograd_doctor.config import Settings
from autograd_doctor.events.event import Event
from autograd_doctor.events.run import Noted, RecordingDamaged, RunEnded
from autograd_doctor.launch import Recording
from autograd_doctor.plan import Plan, Target
from autograd_doctor.screen import Screen

PRELUDE = """
import faulthandler, os, signal, subprocess, sys, time
import msgspec
from pathlib import Path
from autograd_doctor.events.run import Noted, RunEnded
from autograd_doctor.handing_over import received
from autograd_doctor.plan import Plan, STACKS
from autograd_doctor.recording import TraceWriter
plan = msgspec.json.decode(received(sys.argv[1]), type=Plan)
trace = open(plan.trace, "ab")
write = TraceWriter(trace).write
def note_stacks():
    faulthandler.register(signal.SIGUSR2, file=open(Path(plan.scratch, STACKS), "w"), all_threads=True)
"""


class Stage:
    """Runs a few lines in place of the runner, so that a child starts in a tenth of a second and does one odd thing."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.setattr(launch, "_MODULE", "stand_in_runner")
        paths = [str(folder), str(Path(__file__).parent.parent)]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))

    def plan(self, body: str) -> Plan:
        (self.folder / "stand_in_runner.py").write_text(f"{PRELUDE}def main():\n{indent(body, '    ')}\n")
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        target = Target(kind="script", name="train.py", arguments=["--lr", "3"])
        return Plan(target=target, trace=str(self.folder / "trace"), scratch=str(scratch), needs=["BatchDrawn"])

    def play(self, body: str, timeout: float | None = 30) -> Recording:
        return launch.record(self.plan(body), timeout=timeout)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def texts(recording: Recording) -> list[str]:
    return [event.text for event in recording.trace.of(Noted)]


# --------------------------------------------------------------------------------------------------- the usual ends


def test_events_and_the_exit_code_come_back(stage: Stage) -> None:
    recording = stage.play("write(Noted(text=' '.join(plan.target.arguments)))\nsys.exit(7)")
    assert texts(recording) == ["--lr 3"]
    assert (recording.outcome.exit_code, recording.outcome.signal) == (7, None)
    assert not recording.outcome.timed_out
    assert recording.outcome.seconds > 0


def test_events_arrive_while_the_child_runs(stage: Stage) -> None:
    arrived: list[tuple[Event, bool]] = []
    body = "write(Noted(text='early'))\nwhile not Path(plan.scratch, 'seen').exists(): time.sleep(0.01)"
    plan = stage.plan(body)

    def on_event(event: Event) -> None:
        arrived.append((event, child._process.poll() is None))
        Path(plan.scratch, "seen").touch()

    with launch.Child() as child:
        child.watch(plan, timeout=30, on_event=on_event)
    assert arrived == [(Noted(text="early"), True)]


def test_leaving_without_a_plan_ends_the_child(stage: Stage) -> None:
    stage.plan("raise SystemExit('it had no plan')")
    with pytest.raises(ZeroDivisionError), launch.Child() as child:
        raise ZeroDivisionError
    assert child._process.returncode == -signal.SIGKILL


def test_a_child_that_is_dead_before_it_gets_its_plan(stage: Stage) -> None:
    plan = stage.plan("")
    (stage.folder / "stand_in_runner.py").write_text("raise SystemExit(5)")
    with launch.Child() as child:
        child._process.wait()
        recording = child.watch(plan, timeout=30)
    assert (recording.trace.events, recording.outcome.exit_code) == ((), 5)


def test_a_killed_child_leaves_what_it_wrote(stage: Stage) -> None:
    recording = stage.play("write(Noted(text='before'))\nos.kill(os.getpid(), signal.SIGKILL)")
    assert texts(recording) == ["before"]
    assert (recording.outcome.exit_code, recording.outcome.signal) == (None, signal.SIGKILL)


def test_a_hard_exit_leaves_what_it_wrote(stage: Stage) -> None:
    recording = stage.play("write(Noted(text='before'))\nos._exit(3)")
    assert (texts(recording), recording.outcome.exit_code) == (["before"], 3)


def test_an_unfinished_record_is_left_out(stage: Stage) -> None:
    recording = stage.play("write(Noted(text='whole'))\ntrace.write(b'\\x40\\0\\0\\0half'); trace.flush()")
    assert texts(recording) == ["whole"]
    (damage,) = recording.trace.of(RecordingDamaged)
    assert damage.reason.endswith("it is cut off in the middle of a record, 8 bytes into it")


def test_what_follows_a_damaged_record_is_given_up(stage: Stage) -> None:
    damage = "trace.write(b'\\x02\\0\\0\\0\\0\\0\\0\\0??')"
    recording = stage.play(f"write(Noted(text='whole'))\n{damage}\nwrite(Noted(text='lost'))")
    assert texts(recording) == ["whole"]
    assert [event.reason.partition(" a ")[2] for event in recording.trace.of(RecordingDamaged)] == ["record is damaged"]


def test_a_flood_of_output_does_not_block(stage: Stage, capfd: pytest.CaptureFixture[str]) -> None:
    recording = stage.play("sys.stdout.write('x' * 5_000_000)\nwrite(Noted(text='after'))")
    assert texts(recording) == ["after"]
    assert len(capfd.readouterr().out) == 5_000_000


def test_interpreter_flags_are_passed_on() -> None:
    code = "from autograd_doctor.own_python import own_python; print(own_python('json'))"
    command = [sys.executable, "-O", "-X", "dev", "-W", "error::FutureWarning", "-c", code]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
    assert {"-O", "-Werror::FutureWarning", "-X", "dev"} <= set(ast.literal_eval(printed.stdout))


# ------------------------------------------------------------------------------------------------- hangs and Ctrl-C


def test_a_hang_shows_its_stacks_and_is_ended(stage: Stage) -> None:
    body = "note_stacks()\nwrite(Noted(text='before'))\ndef wait_for_ever():\n    time.sleep(100)\nwait_for_ever()"
    recording = stage.play(body, timeout=1)
    assert texts(recording) == ["before"]
    assert recording.outcome.timed_out
    assert "in wait_for_ever" in recording.outcome.stacks
    assert "stand_in_runner.py" in recording.outcome.stacks
    assert "own_python" not in recording.outcome.stacks
    assert recording.outcome.signal == signal.SIGTERM


def test_a_hang_that_ignores_termination_is_killed_with_its_children(stage: Stage) -> None:
    body = (
        "note_stacks()\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal, time; "
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(100)'])\n"
        "write(Noted(text=str(child.pid)))\ntime.sleep(100)"
    )
    recording = stage.play(body, timeout=1)
    assert recording.outcome.signal == signal.SIGKILL
    assert _is_gone(int(texts(recording)[0]))


def test_own_frames_and_threads_are_left_out_of_the_stacks(tmp_path: Path) -> None:
    ours = Path(launch.__file__).parent
    file = tmp_path / "stacks"
    file.write_text(
        "Thread 0x1 (most recent call first):\n"
        '  File "/lib/threading.py", line 331 in wait\n'
        f'  File "{ours}/runner/stopping.py", line 1 in _watch_time\n'
        '  File "/lib/threading.py", line 982 in run\n\n'
        "Current thread 0x2 (most recent call first):\n"
        '  File "/lib/socket.py", line 5 in accept\n'
        '  File "/home/train.py", line 6 in <module>\n'
        f'  File "{ours}/probes/data.py", line 7 in __next__\n'
        '  File "/home/train.py", line 7 in <module>\n'
        f'  File "{ours}/runner/program.py", line 1 in execute\n'
    )
    assert launch._program_stacks(file) == (
        "Current thread 0x2 (most recent call first):\n"
        '  File "/lib/socket.py", line 5 in accept\n'
        '  File "/home/train.py", line 6 in <module>\n'
        '  File "/home/train.py", line 7 in <module>'
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_of_the_parent_reaches_the_program(stage: Stage, number: signal.Signals) -> None:
    body = (
        "try:\n    write(Noted(text='ready'))\n    time.sleep(100)\n"
        "except KeyboardInterrupt:\n    write(RunEnded(reason='interrupted', exit_code=130)); sys.exit(130)"
    )
    plan = stage.plan(body)

    def on_event(event: Event) -> None:
        if isinstance(event, Noted):
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    recording = launch.record(plan, timeout=30, on_event=on_event)
    assert recording.outcome.interrupted
    assert recording.outcome.exit_code == 130
    assert [event.reason for event in recording.trace.of(RunEnded)] == ["interrupted"]
    assert signal.getsignal(number) is before


def test_a_second_interrupt_does_not_wait(stage: Stage) -> None:
    body = "signal.signal(signal.SIGINT, signal.SIG_IGN)\nwrite(Noted(text='ready'))\ntime.sleep(100)"
    plan = stage.plan(body)

    def on_event(_: Event) -> None:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        os.kill(os.getpid(), signal.SIGINT)

    began = time.monotonic()
    recording = launch.record(plan, on_event=on_event)
    assert recording.outcome.interrupted
    assert recording.outcome.signal == signal.SIGKILL
    assert time.monotonic() - began < 8


def _is_gone(process: int) -> bool:
    """Whether a process ended within a second; an orphan may stay as a zombie until it is reaped."""
    until = time.monotonic() + 1
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


# ------------------------------------------------------------------------------------------------------- the terminal


@contextmanager
def terminal(kind: str = "xterm") -> Iterator[int]:
    """A terminal in place of our standard output and error; gives what it shows."""
    shown, ours = pty.openpty()
    kept = [os.dup(1), os.dup(2)]
    os.dup2(ours, 1)
    os.dup2(ours, 2)
    try:
        with mock.patch.dict(os.environ, TERM=kind):
            yield shown
    finally:
        for number, file in enumerate(kept, start=1):
            os.dup2(file, number)
            os.close(file)
        os.close(shown)
        os.close(ours)


def test_the_status_line_and_the_output_do_not_tear_each_other(stage: Stage) -> None:
    body = (
        "print(sys.stdout.isatty(), sys.stderr.isatty(), flush=True)\ntime.sleep(0.2)\n"
        "sys.stderr.write('\\rbar 1'); time.sleep(0.2); sys.stderr.write('\\rbar 2\\n')\ntime.sleep(0.2)\n"
        "print('no end of line', end='')"
    )
    with terminal() as screen:
        launch.record(stage.plan(body), timeout=30, screen=Screen(lambda: "STATUS"))
        shown = _shown(screen).replace("\r\n", "\n").replace("\r\n", "\n")
    drawn, wipe = "\x1b[2mSTATUS\x1b[0m", "\r\x1b[K"
    assert shown.replace(drawn + wipe, "") == "True True\n\rbar 1\rbar 2\nno end of line\n"
    assert 1 <= shown.count(drawn) <= 3


def _shown(screen: int) -> str:
    """What the terminal shows, however many pieces it comes in."""
    shown = b""
    while select.select([screen], [], [], 0.2)[0]:
        shown += os.read(screen, 1 << 16)
    return shown.decode()


def test_a_screen_needs_a_terminal_that_can_wipe_a_line() -> None:
    with terminal():
        possible = Screen.is_possible()
    with terminal("dumb"):
        dumb = Screen.is_possible()
    with terminal(), open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        redirected = Screen.is_possible()
    assert (possible, dumb, redirected) == (True, False, False)


def test_progress_says_what_is_done_how_far_and_how_long() -> None:
    from autograd_doctor.events.facts import TensorFacts
    from autograd_doctor.events.run import RunEnded, RunStarted
    from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped

    seconds = 0.0

    def at(time: float) -> str:
        nonlocal seconds
        seconds = time
        return progress.line()

    progress = Progress(Settings(), clock=lambda: seconds)
    assert at(1) == "starting · 1 s"
    progress(RunStarted(target="t", arguments=[], cwd="/", python="", torch="", device="cpu"))
    assert at(2) == "before the first step · 2 s"
    root = TensorFacts(shape=[], dtype="float32")
    progress(BackwardRan(backward=0, location=None, kind="backward", root=root, loss=0.73412))
    progress(OptimizerStepped(step=11, optimizer=0, location=None))
    progress(OptimizerStepped(step=12, optimizer=0, location=None, skipped=True))
    assert at(5) == "training · step 12 of 30 · 3 of 10 s · loss 0.7341"
    progress(ForwardRan(step=12, module=0, location=None, training=False, grad_enabled=False))
    assert at(6) == "evaluation · step 12 of 30 · 4 of 10 s · loss 0.7341"
    progress(OptimizerStepped(step=29, optimizer=0, location=None))
    assert at(7) == "training · step 30 of 30 · 5 of 10 s · loss 0.7341"
    progress(OptimizerStepped(step=161, optimizer=0, location=None))
    assert at(13) == "training · step 162 · 11 s of at most 60 · loss 0.7341"
    assert at(52) == "training · step 162 · 50 s of at most 60 · no step for 45 s"
    progress(RunEnded(reason="finished"))
    assert at(70) == "judging · step 162 · 68 s · loss 0.7341"
    assert Progress(Settings(), "second run", clock=lambda: 0.0).line() == "second run · starting · 0 s"


# -------------------------------------------------------------------------------------------------------- for real


def test_the_real_runner_answers_a_hang_with_the_programs_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, ready = tmp_path / "hang.py", tmp_path / "ready"
    script.write_text(f"import time\ndef stuck():\n    open({str(ready)!r}, 'w'); time.sleep(100)\nstuck()\n")
    wait = launch.Child._wait

    def wait_from_ready(child: launch.Child, *arguments: object) -> bool:
        while not ready.exists() and child._process.poll() is None:
            time.sleep(0.05)
        return wait(child, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(launch.Child, "_wait", wait_from_ready)
    with launch.workspace() as workspace:
        target = Target(kind="script", name=str(script))
        plan = Plan(target=target, trace=workspace.trace, scratch=workspace.scratch, needs=[])
        recording = launch.record(plan, timeout=1)
    assert recording.outcome.timed_out
    assert recording.outcome.stacks.splitlines()[1:] == [
        f'  File "{script}", line 3 in stuck',
        f'  File "{script}", line 4 in <module>',
    ]
    assert not Path(workspace.scratch).exists()
