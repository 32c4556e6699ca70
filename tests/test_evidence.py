"""Green only on evidence: whole programs, through the real command, that end in every way but the good one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from autograd_doctor import recording
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.judging import run_summary
from tests.commands import check_by_command, doctor
from tests.harness import ROOT, check_program, recorded

TRAINS = """
    import os, sys, threading, time, traceback
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, TensorDataset
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    def step():
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
    def train(steps=6):
        for _ in range(steps):
            step()
"""
Checked = tuple[dict[str, Any], int]


@pytest.fixture
def checked(tmp_path: Path) -> Callable[..., Checked]:
    """The JSON report and the exit code of the command on a program that trains, and goes on as told."""

    def check(then: str, *options: str) -> Checked:
        script = tmp_path / "train.py"
        script.write_text(dedent(TRAINS) + dedent(then))
        return check_by_command(script, *options)

    return check


def program(then: str) -> str:
    return dedent(TRAINS) + dedent(then)


# --------------------------------------------------------------------------------------------------- hangs and time

STUCK_WORKER = """
    class Stuck(Dataset):
        def __len__(self):
            return 100
        def __getitem__(self, index):
            if index > 8:
                time.sleep(1000)
            return torch.randn(4)
    if __name__ == "__main__":
        for batch in DataLoader(Stuck(), batch_size=2, num_workers=1):
            step()
"""
LOCK = """
    def wait(lock):
        lock.acquire()
    train()
    lock = threading.Lock()
    lock.acquire()
    wait(lock)
"""


@pytest.mark.parametrize(
    ("hang", "line", "seconds"),
    [(LOCK, "in wait", "8"), (STUCK_WORKER, "train.py", "16")],  # a worker imports torch, too, before it begins
    ids=["lock", "worker"],
)
def test_a_hang_in_training_is_told_from_the_end_of_the_time(
    checked: Callable[..., Checked], hang: str, line: str, seconds: str
) -> None:
    report, code = checked(hang, "--max-seconds", seconds)
    assert (code, report["verdict"], report["run"]["stopped_by"]) == (3, "program-failed", "hung")
    assert f"hung after {report['run']['steps']} steps" in report["exit_reason"]
    (note,) = [note for note in report["notes"] if "hung" in note]
    assert line in note
    assert "autograd_doctor" not in note


LEAVES_WHEN_IT_IS_ENDED = {
    "SIGTERM": """
        import signal
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        train(25)
        while not os.path.exists("never"):
            time.sleep(0.01)
    """,
    "SIGUSR2": """
        import signal
        signal.signal(signal.SIGUSR2, lambda *_: sys.exit(0))
        train(25)
        while not os.path.exists("never"):
            time.sleep(0.01)
    """,
    "woken": "import ctypes\ntrain(25)\nctypes.PyDLL(None).pause()",
}


@pytest.mark.parametrize("name", LEAVES_WHEN_IT_IS_ENDED)
def test_a_program_that_outlives_the_time_limit_is_never_green(checked: Callable[..., Checked], name: str) -> None:
    report, code = checked(LEAVES_WHEN_IT_IS_ENDED[name], "--max-seconds", "100", "--timeout", "12", "--steps", "1000")
    assert (code, report["verdict"], report["run"]["stopped_by"]) == (3, "program-failed", "timeout")


def test_a_program_that_sleeps_when_the_time_is_up_does_not_hang(checked: Callable[..., Checked]) -> None:
    report, code = checked("train()\ntime.sleep(100)\ntrain()", "--max-seconds", "6")
    assert (code, report["verdict"], report["run"]["stopped_by"]) == (0, "passed", "time")
    line = len((dedent(TRAINS) + "train()\n").splitlines()) + 1
    (note,) = [note for note in report["notes"] if "slept" in note]
    assert note.startswith("time ran out while the program slept in ")
    assert note.endswith(f"train.py:{line}")
    assert "6 of the 30 requested steps were seen: time ran out after 6 s (`--max-seconds`)" in report["notes"]


SERVES = """
    import http.server
    train()
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, name="the server").start()
"""
A_THREAD_TRAINS_AND_HANGS = """
    def run():
        train()
        threading.Lock().acquire()
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    threading.Thread(target=run).start()
"""
SLEEPS_AT_EXIT = """
    import atexit
    train()
    atexit.register(time.sleep, 100)
"""


def test_a_program_that_serves_when_it_has_trained_has_finished(checked: Callable[..., Checked]) -> None:
    report, code = checked(SERVES, "--max-seconds", "50")
    assert (code, report["verdict"], report["run"]["stopped_by"]) == (0, "passed", "finished")
    said = "the program finished, but threads that it had started kept running and were stopped: `the server`"
    assert said in report["notes"]


def test_a_thread_that_trains_and_hangs_when_the_program_has_ended_is_a_hang(checked: Callable[..., Checked]) -> None:
    report, code = checked(A_THREAD_TRAINS_AND_HANGS, "--max-seconds", "5")
    assert (code, report["run"]["stopped_by"]) == (3, "hung")


def test_a_process_that_outlives_its_program_takes_nothing_from_what_was_seen(checked: Callable[..., Checked]) -> None:
    report, code = checked(SLEEPS_AT_EXIT, "--timeout", "12")
    assert (code, report["verdict"], report["run"]["stopped_by"]) == (0, "passed", "finished")
    (note,) = [note for note in report["notes"] if "its process did not exit" in note]
    assert note.startswith("the program finished")


MOVING = {
    "torch": "train()\nbig = torch.randn(1500, 1500)\nwhile True:\n    big @ big",
    "python": "train()\nwhile True:\n    sum(range(1000))",
    "one call": "train()\nsum(i * i for i in iter(int, 1))",
    "another process": """
        import subprocess
        train()
        subprocess.run([sys.executable, "-c", "while True: pass"])
    """,
}


@pytest.mark.parametrize("name", MOVING)
def test_a_program_that_moves_is_stopped_in_time_and_healthy(checked: Callable[..., Checked], name: str) -> None:
    report, code = checked(MOVING[name], "--max-seconds", "5", "--select", "AD1")
    assert (code, report["run"]["stopped_by"]) == (0, "time"), report["exit_reason"]


def test_waiting_that_the_program_got_over_before_is_no_hang() -> None:
    from autograd_doctor.runner import standstill
    from autograd_doctor.runner.standstill import Standstill

    quiet = standstill._Used(seconds=0.0, wakes=0, ticks={}, waits=False)
    still = Standstill(0.0, max_seconds=60.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standstill, "_used", lambda: quiet)
        for now in range(1, 12):
            still.look(float(now))
        assert (still.is_hang(10.9), still.is_hang(11.1)) == (False, True)
        still.signalled(8.0)
        assert not still.is_hang(60.0)
        assert still.is_hang(80.0)


@pytest.mark.parametrize(("taken", "still", "reason"), [(0, 1, "hung"), (1, 1, "time"), (0, 0, "time")])
def test_who_takes_no_notice_of_the_stop_and_does_not_move_hangs(
    monkeypatch: pytest.MonkeyPatch, taken: int, still: int, reason: str
) -> None:
    from autograd_doctor.instruments.instrument import Site
    from autograd_doctor.instruments.session import Session
    from autograd_doctor.instruments.spine.course import Course
    from autograd_doctor.instruments.spine.late_values import LateValues
    from autograd_doctor.runner import stopping

    raised: list[Any] = []
    ended: list[Any] = []
    monkeypatch.setattr(stopping, "_raise_in_main_thread", raised.append)
    session = Session(lambda event: None)
    guard = session.signals.guard
    stopper = stopping.Stopper(guard, 30, 0.0, 60.0, 0, end_hard=lambda: ended.append(stopper.reason))
    stopper._trained(Course(site := Site(session.signals, session.emit), LateValues(site)))
    monkeypatch.setattr(stopper._standstill, "is_hang", lambda now: bool(still))
    stopper._stop_between_steps(time.monotonic())
    if taken:
        raised[0]()
    stopper._give_up(time.monotonic())
    assert ended == [reason]


def test_whoever_uses_the_processor_moves() -> None:
    from autograd_doctor.runner.standstill import _Used

    before = _Used(seconds=1.0, wakes=100, ticks={7: 3}, waits=False)
    assert not before._replace(seconds=1.005, wakes=110, ticks={7: 4}).shows_movement(before, 1.0, by_wakes=True)
    appeared = {"ticks": {7: 3, 8: 0}}
    for change in ({"seconds": 1.1}, {"wakes": 150}, {"ticks": {7: 5}}, {"ticks": {}}, appeared, {"waits": True}):
        assert before._replace(**change).shows_movement(before, 1.0, by_wakes=True)
    assert not before._replace(wakes=150).shows_movement(before, 1.0, by_wakes=False)


# ------------------------------------------------------------------------------------------------- a lost recording


def test_a_full_disk_is_never_green(checked: Callable[..., Checked]) -> None:
    full = "import resource\ntrain()\nresource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))\ntrain()"
    report, code = checked(full)
    assert (code, report["verdict"]) == (4, "not-judged")
    assert report["exit_reason"].startswith("the recording is damaged: ") or "was not recorded" in report["exit_reason"]


def test_a_program_that_closes_all_descriptors_loses_nothing_of_its_own_or_ours(tmp_path: Path) -> None:
    then = """
        train()
        os.closerange(3, 256)
        file = open("mine.txt", "w")
        train()
        file.write("mine")
        file.close()
        print(open("mine.txt").read(), flush=True)
        train()
    """
    with recorded(program(then)) as (trace, plan, outcome):
        assert run_summary.run_facts(trace, outcome).steps == 18
        assert recording.missing(trace) == []
        assert (Path(plan.trace).parent / "output.txt").read_text().splitlines()[-1] == "mine"
        assert outcome.exit_code == 0


def test_a_trace_that_was_cut_or_of_another_version(tmp_path: Path) -> None:
    script, saved = tmp_path / "train.py", tmp_path / "run.trace"
    script.write_text(program("train()"))
    whole, code = check_by_command(script, "--save-trace", str(saved), "--select", "AD1")
    assert code == 0
    data = saved.read_bytes()
    again = _report(saved, "--select", "AD1")
    assert again.returncode == 0

    unselected = _report(saved, "--output-format", "concise")
    assert (
        "not recorded: other rules were selected when the program ran" in unselected.stdout.partition("not checked")[2]
    )
    assert f"{len(whole['checks']['ran'])} checks" not in unselected.stdout.partition("not checked")[0]

    saved.write_bytes(data[: int(0.6 * len(data))])
    cut = _report(saved, "--select", "AD1")
    assert cut.returncode == 4
    assert "the recording is damaged" in cut.stdout
    saved.write_bytes(data.replace(b"trace 3\n", b"trace 4\n", 1))
    other = _report(saved)
    assert (other.returncode, other.stdout) == (2, "")
    assert other.stderr == f"error: {saved}: a trace of version 4, but this version of the doctor reads 3\n"


def _report(saved: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "1000"}
    return doctor("report", "--isolated", *options, saved, env=environment)


# ------------------------------------------------------------------------------------- ends with a code other than 0

CAUGHT = {
    "print_exc": "traceback.print_exc(); sys.exit(1)",
    "silently": "sys.exit(1)",
    "from None": "raise SystemExit(1) from None",
    "os._exit": "os._exit(1)",
    "logging": "import logging; logging.exception('it failed'); failed = True",
    "format_exc": "print(traceback.format_exc()); failed = True",
}


@pytest.mark.parametrize("how", CAUGHT)
def test_an_error_that_the_program_caught_and_ended_with_is_its_crash(how: str) -> None:
    then = f"""
        def fail():
            x = torch.ones(2, 3)
            return x @ x
        failed = False
        train()
        try:
            fail()
        except Exception:
            {CAUGHT[how]}
        if failed:
            sys.exit(1)
    """
    source = program(then)
    line = source.splitlines().index("    return x @ x") + 1
    report = check_program(source)
    crash = report.findings[0]
    assert (report.exit_code, crash.code, crash.explains_crash) == (1, "AD512", True), report.exit_reason
    assert crash.location is not None
    assert crash.location.line == line
    assert report.run.program_exit == 1


def test_an_error_after_which_training_went_on_did_not_end_the_program() -> None:
    then = """
        try:
            {}["missing"]
        except KeyError:
            traceback.print_exc()
        train()
        sys.exit(5)
    """
    with recorded(program(then)) as (trace, _, _):
        assert not trace.of(ProgramRaised)


def test_an_exception_of_its_own_by_which_a_program_leaves_its_loop_is_no_crash() -> None:
    then = """
        class Interrupted(Exception):
            pass
        try:
            train()
            raise Interrupted
        except Interrupted:
            sys.exit(75)
    """
    with recorded(program(then)) as (trace, _, _):
        assert not trace.of(ProgramRaised)


@pytest.mark.parametrize("end", ["sys.exit(7)", "os._exit(7)", "import atexit; atexit.register(os._exit, 7)"])
def test_an_exit_code_that_nothing_explains_fails(checked: Callable[..., Checked], end: str) -> None:
    report, code = checked(f"train()\n{end}", "--select", "AD1")
    assert (code, report["verdict"]) == (3, "program-failed")
    assert report["exit_reason"] == "the program exited with 7 after 6 steps, which no rule explains"


def test_of_a_kill_in_light_steps_no_exact_count_is_told(checked: Callable[..., Checked]) -> None:
    report, code = checked(
        "train(200)\nimport signal\nos.kill(os.getpid(), signal.SIGKILL)", "--select", "AD101", "--steps", "10000"
    )
    steps = report["run"]["steps"]
    assert (code, 0 < report["run"]["steps_in_full"] < steps <= 200) == (3, True)
    assert (
        report["exit_reason"]
        == f"the program was killed by SIGKILL after at least {steps} steps, which no rule explains"
    )


@pytest.mark.parametrize("end", ["sys.exit(0)", "os._exit(0)", "sys.exit()"])
def test_an_exit_on_purpose_is_fine(end: str) -> None:
    assert check_program(program(f"train()\n{end}")).exit_code == 0


def test_a_crash_that_no_selected_rule_looks_for_is_not_green(checked: Callable[..., Checked]) -> None:
    report, code = checked("train()\n{}['missing']", "--select", "AD101")
    assert (code, report["exit_reason"]) == (3, "the program crashed after 6 steps, which no rule explains")


# ---------------------------------------------------------------------------------------------- training elsewhere


def test_training_in_other_processes_is_judged() -> None:
    then = """
        if __name__ == "__main__":
            workers = [torch.multiprocessing.get_context("fork").Process(target=train) for _ in range(3)]
            [worker.start() for worker in workers]
            [worker.join() for worker in workers]
    """
    report = check_program(program(then))
    assert (report.exit_code, len(report.run.ranks), report.run.processes_started) == (0, 3, 0)


def test_processes_that_nothing_watches_are_named() -> None:
    report = check_program(program("import subprocess\n" + "subprocess.run([sys.executable, '-c', ''])\n" * 2))
    assert (report.exit_code, report.run.processes_started) == (4, 2)
    assert "no training step was seen in this process, and the program started 2 other processes" in report.exit_reason


def test_a_python_command_counts_as_a_process_and_others_do_not() -> None:
    then = "import subprocess\nsubprocess.run([sys.executable, '-c', ''])\nsubprocess.run(['true'])"
    assert check_program(program(then)).run.processes_started == 1


# ----------------------------------------------------------------------------------- crashes after a pass was cut

TOO_SHORT = """
    inputs = torch.randn(40, 4)
    outputs = []
    for (batch,) in DataLoader(TensorDataset(inputs), batch_size=2):
        train(1)
        outputs.append(model(batch))
    assert len(torch.cat(outputs)) == len(inputs), "too few outputs"
"""


def test_a_crash_that_cutting_made_is_not_the_programs(checked: Callable[..., Checked]) -> None:
    report, code = checked(TOO_SHORT, "--select", "AD1,AD599")
    assert (code, report["findings"], report["run"]["stopped_by"]) == (0, [], "finished")
    wanted = "in the first run, the program raised `AssertionError` (too few outputs) after passes over its loaders"
    assert any(note.startswith(wanted) for note in report["notes"])


def test_a_crash_that_remains_without_cuts_is_the_programs(checked: Callable[..., Checked]) -> None:
    report, code = checked(TOO_SHORT + "\n    raise LookupError('always')", "--select", "AD599")
    assert (code, [finding["subject"] for finding in report["findings"]]) == (1, ["LookupError"])


def test_a_second_run_that_goes_on_past_the_crash_is_judged_by_itself(checked: Callable[..., Checked]) -> None:
    report, code = checked(TOO_SHORT + "\n    train(10**6)", "--select", "AD1")
    assert (code, report["verdict"], report["run"]["stopped_by"]) == (0, "passed", "steps")
    assert any(note.startswith("in the first run, the program raised") for note in report["notes"])


def test_a_crash_that_a_second_run_does_not_reach_is_not_judged(checked: Callable[..., Checked]) -> None:
    endless = TOO_SHORT.replace("torch.randn(40, 4)", "torch.randn(10**6, 4)")
    report, code = checked(endless, "--max-seconds", "4", "--select", "AD599")
    assert (code, report["verdict"]) == (4, "not-judged")
    assert report["exit_reason"].endswith("a second run, with whole passes, did not get as far")


# ----------------------------------------------------------------------------------------- whatever escapes is one line


def _command(*arguments: str | bytes, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "autograd_doctor", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment, **options)


def _is_one_line(done: subprocess.CompletedProcess[str]) -> bool:
    return (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and done.stderr.startswith("error: ")


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    script = os.fsencode(tmp_path / "train") + b"\xff.py"
    Path(os.fsdecode(script)).write_text("print('ran')")
    done = _command(b"check", script)
    assert _is_one_line(done), done
    assert "must be UTF-8" in done.stderr


@pytest.mark.parametrize("arguments", [("check", "train.py"), ("check", "-m", "train"), ("report", "x"), ("config",)])
def test_a_working_folder_that_is_gone(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    words = " ".join(("-m", "autograd_doctor", *arguments))
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} {words}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=environment)
    assert _is_one_line(done), done
    assert "itself failed" not in done.stderr


def test_a_failure_of_the_doctors_own_is_one_line(tmp_path: Path) -> None:
    code = "from autograd_doctor import cli, engine\nfrom autograd_doctor.command import saved\n"
    code += "saved.report = lambda request, against: {}['a\\nb']\ncli.main()"
    done = subprocess.run([sys.executable, "-c", code, "report", "x"], capture_output=True, text=True, cwd=ROOT)
    assert _is_one_line(done), done
    assert "KeyError" in done.stderr
