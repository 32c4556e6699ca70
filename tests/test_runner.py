"""The runner: programs run as Python would run them, are stopped when enough was seen, and leave a readable trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from autograd_doctor import recording
from autograd_doctor.clock import Clock
from autograd_doctor.events.run import Noted, ProgramRaised, RunEnded, RunStarted
from autograd_doctor.events.steps import BatchDrawn, LengthShortened, OptimizerStepped
from autograd_doctor.instruments.session import Session
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.own_python import own_python
from autograd_doctor.plan import STACKS, Plan, Target
from autograd_doctor.runner import stopping
from autograd_doctor.trace import Trace
from tests.harness import ROOT, record

ONE_STEP = """
    import torch
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    def step():
        optimizer.zero_grad()
        weight.sum().backward()
        optimizer.step()
"""
LOADER = """
    from torch.utils.data import DataLoader, TensorDataset
    loader = DataLoader(TensorDataset(torch.arange(40.0)), batch_size=2)
"""
TRAINING = """
    from torch.utils.data import DataLoader, TensorDataset, default_collate
    def collate(rows):
        step()
        return default_collate(rows)
    loader = DataLoader(TensorDataset(torch.arange(40.0)), batch_size=2, collate_fn=collate)
"""
"""A loader with whose every batch comes a step."""


class Ran:
    """A program that was run under the runner in a folder of its own."""

    def __init__(self, folder: Path, source: str = "", *, arguments: Sequence[str] = (), **plan: Any) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self.scratch.mkdir(exist_ok=True)
        if source:
            (folder / "train.py").write_text(source)
        defaults = {"target": Target("script", "train.py", list(arguments)), "needs": [], "seconds": 0.0}
        self.plan = Plan(**{**defaults, "trace": str(folder / "trace"), "scratch": str(self.scratch), **plan})

    def forked(self) -> Ran:
        """Run in a process that has torch imported already."""
        outcome = record(self.plan, cwd=self.folder, log=self.folder / "output.txt")
        self.code, self.output = outcome.exit_code, (self.folder / "output.txt").read_text()
        return self

    def start(self, **options: Any) -> subprocess.Popen[str]:
        """Start as the parent does."""
        plan = self.folder / "plan.json"
        plan.write_bytes(msgspec.json.encode(self.plan))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        command = own_python("autograd_doctor.runner.entry", str(plan))
        return subprocess.Popen(command, cwd=self.folder, env=environment, text=True, **options)

    def started(self) -> Ran:
        process = self.start(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.stdout, self.stderr = process.communicate(timeout=100)
        self.code = process.returncode
        return self

    @property
    def trace(self) -> Trace:
        return recording.load(Path(self.plan.trace))

    @property
    def end(self) -> RunEnded:
        end = self.trace.end
        assert end is not None
        return end


@pytest.fixture
def ran(tmp_path: Path) -> Any:
    return lambda *source, **options: Ran(tmp_path, "".join(map(dedent, source)), **options).forked()


def plainly(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=100)


# -------------------------------------------------------------------------------------- the same program as in Python

LOOK = """
import sys
names = ("__name__", "__file__", "__package__", "__cached__", "__doc__", "__annotations__")
print({name: globals()[name] for name in names}, sorted(name for name in globals() if name.startswith("__")))
print(__spec__ and (__spec__.name, __spec__.origin), type(__loader__).__name__, type(__builtins__).__name__)
print(sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals())
"""


def test_a_script_sees_what_python_shows_it(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "look.py").write_text(LOOK)
    (tmp_path / "link.py").symlink_to("elsewhere/look.py")
    for name in ("elsewhere/look.py", str(tmp_path / "elsewhere" / "look.py"), "link.py"):
        arguments = ["--help", "--", "-m", "a b"]
        ran = Ran(tmp_path, target=Target("script", name, arguments)).forked()
        assert ran.output == plainly(tmp_path, name, *arguments).stdout
        (tmp_path / "output.txt").unlink()


def test_a_module_sees_what_python_shows_it(tmp_path: Path) -> None:
    (tmp_path / "package" / "sub").mkdir(parents=True)
    for file in ("package/__init__.py", "package/sub/__init__.py"):
        (tmp_path / file).touch()
    for file in ("package/train.py", "package/sub/__main__.py", "single.py"):
        (tmp_path / file).write_text(LOOK)
    for name in ("package.train", "package.sub", "single"):
        ran = Ran(tmp_path, target=Target("module", name, ["-x"])).forked()
        assert ran.output == plainly(tmp_path, "-m", name, "-x").stdout
        (tmp_path / "output.txt").unlink()


def test_a_folder_and_an_archive_see_what_python_shows_them(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text(LOOK)
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", LOOK)
    for name in ("folder", "archive.zip"):
        ran = Ran(tmp_path, target=Target("script", name)).forked()
        assert ran.output == plainly(tmp_path, name).stdout
        (tmp_path / "output.txt").unlink()


def test_spawned_workers_find_the_classes_of_the_script(ran: Any) -> None:
    source = """
        import torch
        from torch.utils.data import DataLoader

        class Item:
            def __init__(self, value):
                self.value = value

        class Items(torch.utils.data.Dataset):
            def __len__(self):
                return 4
            def __getitem__(self, index):
                return Item(index)

        def keep(items):
            return items

        if __name__ == "__main__":
            loader = DataLoader(Items(), num_workers=1, collate_fn=keep, multiprocessing_context="spawn")
            print([type(item) is Item and item.value for (item,) in loader])
    """
    done = ran(source)
    assert done.output == "[0, 1, 2, 3]\n"
    assert done.end.reason == "finished"


def test_the_traceback_is_that_of_python(tmp_path: Path) -> None:
    source = """
        import functools

        def fail(value):
            try:
                return {}[value]
            except KeyError as error:
                raise ValueError("no such value") from error

        functools.reduce(lambda a, b: fail(b), [1, 2])
    """
    ran = Ran(tmp_path, dedent(source)).forked()
    plain = plainly(tmp_path, "train.py")
    assert (ran.output, ran.code) == (plain.stderr, plain.returncode)
    crash = ran.trace.crash
    assert crash is not None
    assert (crash.kind, crash.message) == ("ValueError", "no such value")
    assert [(frame.location.function, frame.own) for frame in crash.frames] == [
        ("", True),
        ("<lambda>", True),
        ("fail", True),
    ]
    assert ran.end.reason == "raised"


def test_frames_of_ours_are_peeled_off(ran: Any) -> None:
    source = """
        class Broken(torch.utils.data.Dataset):
            def __len__(self):
                return 4
            def __getitem__(self, index):
                raise LookupError("gone")
        for batch in torch.utils.data.DataLoader(Broken()):
            pass
    """
    done = ran("import torch\n", source)
    assert "LookupError: gone" in done.output
    assert "autograd_doctor" not in done.output
    assert done.trace.crash.frames[-1].location.function == "Broken.__getitem__"


def test_a_crash_names_the_tensors_of_the_users_frames(ran: Any) -> None:
    done = ran("import torch\nleft, right = torch.ones(2, 3), torch.ones(4, 5)\nleft @ right\n")
    (frame,) = done.trace.crash.frames
    assert {tensor.name: tensor.shape for tensor in frame.tensors} == {"left": [2, 3], "right": [4, 5]}
    assert frame.location.line == 3
    assert not done.trace.crash.in_backward


def test_the_users_excepthook_is_respected(ran: Any) -> None:
    done = ran("import sys\nsys.excepthook = lambda kind, *rest: print('mine', kind.__name__)\n1 / 0\n")
    assert (done.output, done.code) == ("mine ZeroDivisionError\n", 1)


def test_a_syntax_error_reads_as_in_python(tmp_path: Path) -> None:
    ran = Ran(tmp_path, "x = (1,\ny = 2\n").forked()
    assert ran.output == plainly(tmp_path, "train.py").stderr
    assert ran.trace.crash is not None
    assert ran.trace.crash.frames[-1].location.line == 1


@pytest.mark.parametrize(
    ("statement", "code", "output"),
    [("sys.exit(7)", 7, ""), ("sys.exit()", 0, ""), ("sys.exit('why')", 1, "why\n"), ("raise SystemExit(None)", 0, "")],
)
def test_exit_codes_are_kept(ran: Any, statement: str, code: int, output: str) -> None:
    done = ran(f"import sys\n{statement}\n")
    assert (done.code, done.output) == (code, output)
    assert (done.end.reason, done.end.exit_code) == ("exited", code)


def test_an_abrupt_exit_leaves_the_trace_up_to_it(ran: Any) -> None:
    done = ran(ONE_STEP, "step()\nimport os\nos._exit(5)\n")
    assert done.code == 5
    assert len(done.trace.of(OptimizerStepped)) == 1
    assert (done.end.reason, done.end.exit_code) == ("exited", 5)


def test_an_exit_below_python_leaves_a_trace_without_an_end(ran: Any) -> None:
    done = ran(ONE_STEP, "step()\nimport ctypes\nctypes.CDLL(None)._exit(0)\n")
    assert done.code == 0
    assert recording.missing(done.trace) == ["the end of the run was not recorded"]


def test_exit_functions_and_threads_run_and_closed_output_does_no_harm(tmp_path: Path) -> None:
    source = """
        import atexit, sys, threading, time
        atexit.register(lambda: print("exit function", file=sys.stderr))
        threading.Thread(target=lambda: (time.sleep(0.3), print("thread", file=sys.stderr))).start()
        sys.stdout.close()
    """
    ran = Ran(tmp_path, dedent(source)).started()
    assert (ran.code, ran.stderr) == (0, "thread\nexit function\n")
    assert ran.end.reason == "finished"


def test_output_can_be_kept_out_of_the_report(tmp_path: Path) -> None:
    source = "import os\nprint('printed', flush=True)\nos.system('echo echoed')\n"
    ran = Ran(tmp_path, source, stdout_to_stderr=True).started()
    assert (ran.stdout, ran.stderr) == ("", "printed\nechoed\n")


@pytest.mark.parametrize("name", ["msgspec.py", "autograd_doctor/__init__.py", "torch/__init__.py"])
def test_what_lies_in_the_working_folder_shadows_nothing_of_ours(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("raise ImportError('shadowed')\n")
    ran = Ran(tmp_path, "print('ran')\n").started()
    assert ran.stdout == "ran\n"


def test_ctrl_c_is_told_and_keeps_the_trace(tmp_path: Path) -> None:
    ran = Ran(tmp_path, dedent(ONE_STEP) + "step()\nprint('ready', flush=True)\nimport time\ntime.sleep(60)\n")
    process = ran.start(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.endswith("KeyboardInterrupt\n")
    assert ran.end.reason == "interrupted"
    assert ran.trace.crash is None


def test_a_hang_shows_its_stacks_and_leaves_the_trace_readable(tmp_path: Path) -> None:
    hang = "def hang():\n    import time\n    print('ready', flush=True)\n    time.sleep(60)\nhang()\n"
    ran = Ran(tmp_path, dedent(ONE_STEP) + "step()\n" + hang)
    process = ran.start(stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGUSR2)
    stacks = ran.scratch / STACKS
    until = time.monotonic() + 20
    while "in hang" not in stacks.read_text() and time.monotonic() < until:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert "in hang" in stacks.read_text()
    assert len(ran.trace.of(OptimizerStepped)) == 1


def test_the_first_event_names_target_and_versions(ran: Any) -> None:
    done = ran("import os\nprint(os.environ['AUTOGRAD_DOCTOR'])\n", arguments=["--lr", "3"])
    (started,) = done.trace.of(RunStarted)
    assert (started.target, started.arguments) == ("train.py", ["--lr", "3"])
    assert started.packages["torch"].startswith(started.torch.partition("+")[0])
    assert done.output == "1\n"


# ----------------------------------------------------------------------------------------------------------- stopping


def test_it_goes_on_until_it_has_seen_the_seconds_asked_for_as_well(ran: Any) -> None:
    done = ran(ONE_STEP, "while True:\n    step()\n", steps=3, seconds=0.5, max_seconds=60.0)
    assert (done.end.reason, done.code) == ("steps", 0)
    assert done.end.seconds >= 0.5
    assert done.end.step > 3


def test_it_stops_after_the_steps_asked_for(ran: Any) -> None:
    done = ran(ONE_STEP, "while True:\n    step()\n", steps=5)
    assert (done.code, done.output) == (0, "")
    assert (done.end.reason, done.end.exit_code, done.end.step) == ("steps", 0, 5)


@pytest.mark.parametrize(("seconds", "steps"), [(0.01, 60), (0.0, 5)])
def test_a_program_that_is_nearly_through_is_watched_to_its_end(ran: Any, seconds: float, steps: int) -> None:
    """Unless no seconds were asked for: then the steps are enough."""
    loop = "import time\nfor epoch in range(60):\n    step()\n    time.sleep(0.001)\n"
    done = ran(ONE_STEP, loop, steps=5, seconds=seconds, max_seconds=60.0)
    assert (done.end.reason, done.end.step) == ("finished" if seconds else "steps", steps)


def test_a_program_that_will_not_come_to_its_end_in_time_is_not_waited_for(ran: Any) -> None:
    loop = "import time\nfor epoch in range(10**9):\n    step()\n    time.sleep(0.001)\n"
    done = ran(ONE_STEP, loop, steps=5, seconds=2.5, max_seconds=60.0)
    assert done.end.reason == "steps"
    assert done.end.seconds < 30.0


def test_except_exception_lets_the_stop_through_and_finally_runs(ran: Any) -> None:
    loop = """
        try:
            while True:
                try:
                    step()
                except Exception as error:
                    print("caught", error)
        finally:
            print("cleaned up", undefined)
    """
    done = ran(ONE_STEP, loop, steps=3)
    assert (done.code, done.output) == (0, "")
    assert done.end.step == 3


FREEZES_ALL_NAMES = """
    class Frozen:
        def __call__(self, *seconds):
            return 5.0
    real = {getattr(time, name) for name in ("monotonic", "perf_counter", "time", "sleep")}
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()):
            if type(value) is type(time.time) and value in real:
                setattr(module, name, Frozen())
"""
"""As freezegun does it, but for more than it would dare."""


def test_a_bare_except_is_stopped_again_and_then_ended_hard(ran: Any) -> None:
    loop = """
        caught = 0
        while True:
            try:
                step()
            except:
                caught += 1
                print("caught", caught, flush=True)
    """
    done = ran(ONE_STEP, loop, steps=3)
    assert (done.code, done.output) == (0, "caught 1\ncaught 2\ncaught 3\n")
    assert (done.end.reason, done.end.step) == ("steps", 6)


def test_a_program_that_never_steps_is_stopped_by_time(ran: Any) -> None:
    began = time.monotonic()
    done = ran("import time\nwhile True:\n    time.sleep(0.01)\n", max_seconds=0.5)
    assert (done.code, done.end.reason) == (0, "time")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "freezes",
    ["time.monotonic = time.perf_counter = lambda: 5.0\ntime.sleep = lambda seconds: None", FREEZES_ALL_NAMES],
    ids=["a patch", "every name of it"],
)
def test_a_program_that_freezes_its_clock_is_stopped_in_time(ran: Any, freezes: str) -> None:
    done = ran(
        "import sys, time\n" + dedent(freezes), ONE_STEP, "while True:\n    step()\n", steps=10**9, max_seconds=0.5
    )
    assert (done.code, done.end.reason) == (0, "time")


def test_training_has_its_seconds_whatever_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(stopping, "CLOCK", Clock(monotonic=lambda: clock.now))
    session = Session(lambda event: None)
    session.attach([Course])
    course, guard = session.find(Course), session.signals.guard
    assert course is not None

    def step() -> None:
        course.updated_by_hand([])
        guard.run_deferred()

    stopper = stopping.Stopper(
        guard, steps=1000, seconds=0.0, max_seconds=60.0, batches_per_epoch=0, end_hard=lambda: None
    )
    stopper.start(course)
    try:
        for clock.now in (110.0, 169.0):
            step()
        clock.now = 170.5
        with pytest.raises(stopping.Stop, match="time"):
            step()
    finally:
        stopper.over()
        session.close()


def test_a_training_thread_is_stopped_without_a_traceback(ran: Any) -> None:
    loop = """
        import threading
        def train():
            while True:
                step()
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
        print("joined")
    """
    done = ran(ONE_STEP, loop, steps=4)
    assert (done.code, done.output, done.end.reason) == (0, "joined\n", "steps")


def test_a_thread_that_outlives_the_main_program_is_stopped_as_well(ran: Any) -> None:
    loop = "import threading\ndef train():\n    while True:\n        step()\nthreading.Thread(target=train).start()\n"
    done = ran(ONE_STEP, loop, steps=4)
    assert (done.code, done.output, done.end.reason, done.end.step) == (0, "", "steps", 4)


def test_what_hangs_after_the_stop_is_ended_hard(ran: Any) -> None:
    loop = """
        import time
        try:
            while True:
                step()
        finally:
            print("hangs", flush=True)
            time.sleep(600)
    """
    done = ran(ONE_STEP, loop, steps=2)
    assert (done.code, done.output, done.end.reason) == (0, "hangs\n", "steps")


def test_a_forked_child_neither_records_nor_is_stopped(ran: Any) -> None:
    fork = """
        import os
        if os.fork() == 0:
            for _ in range(9):
                step()
            print("child trained", flush=True)
            os._exit(0)
        os.wait()
        step()
    """
    done = ran(ONE_STEP, fork, steps=3)
    assert done.output == "child trained\n"
    assert len(done.trace.of(OptimizerStepped)) == 1


def test_the_end_of_the_first_epoch_is_waited_for(ran: Any) -> None:
    loop = "while True:\n    for batch in loader:\n        step()\n"
    done = ran(ONE_STEP, LOADER, loop, steps=5, batches_per_epoch=10)
    assert done.end.step == 12


def test_the_wait_for_the_end_of_an_epoch_is_bounded(ran: Any) -> None:
    loop = "while True:\n    for batch in loader:\n        for _ in range(30):\n            step()\n"
    done = ran(ONE_STEP, LOADER, loop, steps=5)
    assert done.end.step == 20


# -------------------------------------------------------------------------------------------------- passes over loaders

COPING = [
    "sum(1 for _ in loader)",
    "len([batch for batch in loader])",
    "max(index for index, _ in enumerate(loader, 1))",
    "len([pair for pair in zip(loader, range(99))])",
    "len([*map(len, loader)])",
    "len([batch for batch in iter(loader)])",
    "len([batch for batch in through(loader)])",
    "len([pair for pair in (lambda numbered: numbered(loader))(enumerate)])",
]
WHOLE = [
    "drain(iter(loader))",
    "len(list(loader))",
    "len([*loader])",
    "drain(through(loader))",
    "(lambda enumerate: drain(enumerate(loader)))(iter)",
]
HELPERS = """
    def through(loader):
        for batch in loader:
            yield batch
    def drain(iterator):
        drawn = 0
        while next(iterator, None) is not None:
            drawn += 1
        return drawn
"""


@pytest.mark.parametrize(("expression", "batches"), [(each, 7) for each in COPING] + [(each, 20) for each in WHOLE])
def test_passes_are_cut_where_the_consumer_copes(ran: Any, expression: str, batches: int) -> None:
    done = ran(ONE_STEP, TRAINING, HELPERS, f"print({expression})\n", batches_per_epoch=6, steps=99)
    assert done.output == f"{batches}\n"
    first, *_, last = done.trace.of(BatchDrawn)
    assert (first.batches, first.ended, first.name, first.length) == (1, False, "loader", 20)
    assert (last.batches, last.ended, last.cut) == (batches, True, batches == 7)


def test_the_last_batch_of_a_pass_that_is_cut_is_the_programs_last(ran: Any) -> None:
    loop = """
        torch.manual_seed(1)
        short = DataLoader(TensorDataset(torch.arange(39.0)), batch_size=2, collate_fn=collate, shuffle=True)
        batches = [values.tolist() for values, in short]
        torch.manual_seed(1)
        whole = [values.tolist() for values, in [*DataLoader(TensorDataset(torch.arange(39.0)), 2, shuffle=True)]]
        print(len(batches), batches == [*whole[:4], whole[-1]], len(batches[-1]), torch.rand(()).item() == after)
    """
    random = """
        torch.manual_seed(1)
        _ = [*DataLoader(TensorDataset(torch.arange(39.0)), 2, shuffle=True)]
        after = torch.rand(()).item()
    """
    done = ran(ONE_STEP, TRAINING, random, loop, batches_per_epoch=4, steps=99)
    assert done.output == "5 True 1 True\n"
    assert "after 4 batches of 20, followed by its last batch" in done.trace.of(Noted)[-1].text


def test_a_pass_that_accumulates_reaches_its_steps(ran: Any) -> None:
    loop = """
        drawn = 0
        for batch in DataLoader(TensorDataset(torch.arange(200.0)), batch_size=2):
            drawn += 1
            if drawn % 16 == 0:
                step()
        print(drawn)
    """
    assert ran(ONE_STEP, LOADER, loop, batches_per_epoch=10, steps=99).output == "33\n"


def test_a_pass_that_does_not_train_is_left_whole(ran: Any) -> None:
    done = ran(ONE_STEP, LOADER, "print(sum(1 for _ in loader))\n", batches_per_epoch=6)
    assert done.output == "20\n"


def test_a_batch_beyond_a_cut_is_no_crash_of_the_program(ran: Any) -> None:
    draw = "batches = enumerate(loader)\nfor _ in range(20):\n    next(batches)\nprint('unreached')\n"
    done = ran(ONE_STEP, TRAINING, draw, batches_per_epoch=6, steps=99)
    assert (done.code, done.output, done.end.reason) == (0, "", "finished")
    assert not done.trace.of(ProgramRaised)
    assert "beyond the end of a pass that the doctor had cut" in done.trace.of(Noted)[-1].text


def test_a_pass_is_left_whole_where_cutting_is_off(ran: Any) -> None:
    done = ran(ONE_STEP, TRAINING, "print(sum(1 for _ in loader))\n", batches_per_epoch=0)
    assert done.output == "20\n"
    assert not done.trace.of(Noted)


def test_the_iterator_is_torchs_own(ran: Any) -> None:
    look = "iterator = iter(loader)\nprint(type(iterator).__name__, len(iterator), len(loader))\n"
    done = ran("import torch\n", LOADER, look, batches_per_epoch=6)
    assert done.output == "_SingleProcessDataLoaderIter 20 20\n"


@pytest.mark.parametrize("persistent", [True, False])
def test_workers_survive_or_end_after_a_cut(ran: Any, persistent: bool) -> None:
    epochs = f"""
        options = dict(num_workers=2, persistent_workers={persistent}, multiprocessing_context="fork")
        loader = DataLoader(TensorDataset(torch.arange(40.0)), 2, **options)
        for epoch in range(3):
            drawn = []
            for (values,) in loader:
                drawn.append(int(values[0]))
                step()
            print(drawn)
    """
    done = ran(ONE_STEP, LOADER, epochs, batches_per_epoch=4, steps=99)
    prefetched = [0, 2, 4, 6, 8, 10, 12, 14]
    assert done.output == f"{[*prefetched, 38]}\n" * 3
    assert [event.pass_number for event in done.trace.of(BatchDrawn) if event.cut and event.ended] == [1, 2, 3]


# ------------------------------------------------------------------------------------------------------------ polite


def test_compiled_models_run_eagerly(ran: Any) -> None:
    source = """
        import torch
        @torch.compile
        def double(value):
            seen.append(type(value).__name__)
            return value * 2
        seen = []
        print(double(torch.ones(1)).item(), double(torch.ones(1)).item(), seen)
    """
    done = ran(source)
    assert done.output == "2.0 2.0 ['Tensor', 'Tensor']\n"
    assert [note.text for note in done.trace.of(Noted)] == ["`torch.compile` was called, and the model was run eagerly"]


def test_without_politeness_everything_is_left_alone(tmp_path: Path) -> None:
    look = "import os, torch\ntorch.save(1, 'model.pt')\nprint(torch.save.__module__, 'WANDB_MODE' in os.environ)\n"
    ran = Ran(tmp_path, look, polite=False).forked()
    assert ran.output == "torch.serialization False\n"
    assert (tmp_path / "model.pt").exists()
    assert not ran.trace.of(Noted)


# -------------------------------------------------------------------------------------------------------- frameworks

LIGHTNING = """
    import warnings
    warnings.filterwarnings("ignore")
    import torch, lightning
    from torch.utils.data import DataLoader, TensorDataset

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Linear(4, 1)
        def training_step(self, batch, index):
            return self.net(batch[0]).pow(2).mean()
        def validation_step(self, batch, index):
            self.log("loss", self.net(batch[0]).pow(2).mean())
        def on_validation_epoch_end(self):
            print("validated after", self.global_step, flush=True)
        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    data = DataLoader(TensorDataset(torch.randn(80, 4)), batch_size=2)
    options = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", num_sanity_val_steps=0, **options)
    trainer.fit(Model(), data, data)
    print("ended after", trainer.global_step)
"""


def test_lightning_reaches_its_validation_and_its_end(ran: Any) -> None:
    done = ran(LIGHTNING, steps=20, batches_per_epoch=3)
    assert [line for line in done.output.splitlines() if "after" in line] == [
        "validated after 3",
        "validated after 6",
        "ended after 6",
    ]
    assert done.end.reason == "finished"
    (shortened,) = done.trace.of(LengthShortened)
    assert (shortened.loader, shortened.length, shortened.told) == ("data", 40, 3)


def test_lightning_lets_the_stop_through(ran: Any) -> None:
    done = ran(LIGHTNING, steps=4, batches_per_epoch=3)
    assert "ended after" not in done.output
    assert "Traceback" not in done.output
    assert (done.code, done.end.reason, done.end.step) == (0, "steps", 4)


def test_the_transformers_trainer_reaches_its_evaluation_and_its_end(tmp_path: Path) -> None:
    source = """
        import torch
        from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
        sizes = dict(n_layer=1, n_embd=16, n_head=2, vocab_size=64, n_positions=8, bos_token_id=0, eos_token_id=0)
        model = GPT2LMHeadModel(GPT2Config(**sizes))
        data = [{"input_ids": torch.arange(8), "labels": torch.arange(8)} for _ in range(80)]
        phases = dict(eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True)
        options = dict(per_device_train_batch_size=2, num_train_epochs=2, use_cpu=True, report_to=[], disable_tqdm=True)
        arguments = TrainingArguments(output_dir="out", **phases, **options)
        trainer = Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=data)
        trainer.train()
        print("ended after", trainer.state.global_step, sum("eval_loss" in log for log in trainer.state.log_history))
    """
    ran = Ran(tmp_path, dedent(source), steps=100, batches_per_epoch=3).forked()
    assert "ended after 10 2\n" in ran.output, ran.output
    assert not (tmp_path / "out").exists()


def test_accelerate_is_cut_in_loops_and_left_whole_otherwise(ran: Any) -> None:
    source = """
        import torch
        from accelerate import Accelerator
        from torch.utils.data import DataLoader, TensorDataset
        loader = Accelerator(cpu=True).prepare(DataLoader(TensorDataset(torch.randn(40, 4)), batch_size=2))
        drawn = 0
        for batch in loader:
            drawn += 1
            step()
        print(drawn, len(loader))
        iterator = iter(loader)
        print(len([next(iterator) for _ in range(20)]))
    """
    assert ran(ONE_STEP, source, batches_per_epoch=3, steps=99).output == "5 20\n20\n"


# ----------------------------------------------------------------------------------------------------------- honesty


def test_a_crash_after_the_stop_is_no_crash_of_the_program(ran: Any) -> None:
    loop = "try:\n    while True:\n        step()\nexcept BaseException:\n    raise RuntimeError('wrapped')\n"
    done = ran(ONE_STEP, loop, steps=2)
    assert (done.code, done.output, done.end.reason) == (0, "", "steps")
    assert not done.trace.of(ProgramRaised)
