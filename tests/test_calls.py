"""`doctor check pkg.train:main --set epochs=1`: what is called, with what, and what is refused before it runs."""

from __future__ import annotations

import enum
import inspect
import math
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd_doctor import engine, recording
from autograd_doctor.calling import bound
from autograd_doctor.command.running import was_refused
from autograd_doctor.launch import Recording
from autograd_doctor.mistakes import Mistake
from autograd_doctor.report import Report
from autograd_doctor.rules import all_rules
from autograd_doctor.settings import calls
from tests.commands import doctor
from tests.harness import ROOT, assert_healthy, plan_for, record, summary

TRAINING = """
import torch
from torch import nn

EPOCHS = 20


def main(epochs: int = 20, lr: float = 0.1, clear: bool = True, sizes: list[int] = [8], *, name: str = "a"):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, sizes[0]), nn.ReLU(), nn.Linear(sizes[0], 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True)
    for epoch in range(epochs):
        if clear:
            optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y + 0.1 * torch.randn(64, 1)).backward()
        optimizer.step()  # expect: AD101


def wanted(epochs, lr, /, *rest, depth):
    main(epochs, lr)


async def later(epochs: int):
    import asyncio
    await asyncio.sleep(0)
    main(epochs)


class Trainer:
    rate = 0.1

    def fit(self, epochs=20):
        main(epochs, self.rate)

    @staticmethod
    def run(epochs=20):
        main(epochs)

    @classmethod
    def go(cls, epochs=20):
        cls().fit(epochs)


def wrapped(function):
    import functools

    @functools.wraps(function)
    def inner(settings=None):
        return function(20)

    return inner


@wrapped
def decorated(config):
    main(config)


def anything(**given):
    main(**given)


if __name__ == "__main__":
    raise SystemError("guarded")
"""


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pkg").mkdir()
    Path("pkg/__init__.py").touch()
    Path("pkg/train.py").write_text(TRAINING)
    Path("pkg/again.py").write_text("from .train import main\n\ndef start(epochs=20):\n    main(epochs)\n")
    Path("plain.py").write_text(TRAINING)


def check(name: str, *sets: str) -> Report:
    """Along the path of `doctor check`, in the folder that the test is in."""
    target, call = calls.call(name, sets)
    plan = plan_for(Path(name), Path.cwd(), target=target, call=call)
    outcome = record(plan, cwd=Path.cwd(), log=Path("log"))
    tunables = {rule.code: rule.defaults for rule in all_rules()}
    trace = recording.load(Path(plan.trace))
    return engine.judge(trace, all_rules(), tunables, target=target, fail_on="error", min_steps=1, outcome=outcome)


@pytest.mark.parametrize(
    ("name", "sets"),
    [
        ("pkg.train:main", ["epochs=12"]),
        ("pkg/train.py:main", ["epochs=12", "lr=1e-1", "sizes=[6, 2]", "name=12"]),
        ("plain.py:main", ["epochs=12"]),
        ("plain:main", ["epochs=12"]),
        ("pkg.again:start", ["epochs=12"]),
        ("pkg/again.py:start", ["epochs=12"]),
        ("pkg.again:main", ["epochs=12"]),
        ("plain.py:later", ["epochs=12"]),
        ("plain.py:Trainer.run", ["epochs=12"]),
        ("plain.py:Trainer.go", ["epochs=12"]),
        ("plain.py:anything", ["epochs=12"]),
        ("plain.py:wanted", ["epochs=12", "lr=0.1", "depth=3"]),
    ],
)
def test_a_function_is_called_with_what_is_given(name: str, sets: list[str]) -> None:
    report = check(name, *sets)
    assert_healthy(report)
    assert report.run.steps == 12
    assert report.target.call == name
    assert report.target.argv == [name, *(word for each in sets for word in ("--set", each))]


def test_a_decorated_function_takes_what_its_wrapper_takes() -> None:
    assert_healthy(check("plain.py:decorated"))


def test_a_fault_is_found_at_its_line() -> None:
    report = check("pkg.train:main", "clear=false")
    first = report.findings[0]
    assert first.location is not None
    line = TRAINING.splitlines().index("        optimizer.step()  # expect: AD101") + 1
    assert (first.code, first.location.path, first.location.line) == ("AD101", "pkg/train.py", line), summary(report)


# ------------------------------------------------------------------------------------- refused before the child starts


@pytest.mark.parametrize(
    ("name", "sets", "said"),
    [
        ("pkg.train:main", ["epoch=1"], "`main` has no parameter `epoch`; did you mean `epochs`?"),
        ("pkg.train:main", ["epochs=abc"], "--set epochs: expected a whole number (`int`), found `abc`"),
        ("pkg.train:main", ["lr=fast"], "--set lr: expected a number (`float`), found `fast`"),
        ("pkg.train:main", ["clear=3"], "--set clear: expected true or false (`bool`), found `3`"),
        ("pkg.train:main", ["sizes=3"], "--set sizes: expected a list such as `[1, 2]`, found `3`"),
        ("pkg.train:main", ["epochs"], "--set: expected NAME=VALUE, as in `epochs=1`, found `epochs`"),
        ("pkg.train:main", ["lr=1", "lr=2"], "--set: the same parameter is given twice"),
        ("pkg.train:wanted", ["lr=1"], "`wanted` needs `epochs`, `depth`: pass --set epochs=… --set depth=…"),
        ("pkg.train:Trainer.fit", [], "`Trainer.fit` is called on an object: name a function, or a static or class"),
        ("pkg.train:Trainer.go", ["cls=1"], "`Trainer.go` has no parameter `cls` (it takes `epochs`)"),
        ("pkg.train:mian", [], "pkg.train: there is no `mian`; did you mean `main`?"),
        ("pkg.trian:main", [], "pkg.trian: no such module; did you mean `pkg.train`?"),
        ("pkg/trian.py:main", [], "pkg/trian.py: no such file; did you mean `train.py`?"),
    ],
)
def test_a_mistake_is_one_line(name: str, sets: list[str], said: str) -> None:
    with pytest.raises(Mistake) as caught:
        calls.call(name, sets)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("name", ["pkg.again:main", "plain.py:decorated", "plain.py:Trainer", "plain.py:EPOCHS"])
def test_what_only_running_can_tell_is_left_to_the_child(name: str) -> None:
    calls.call(name, ["whatever=1"])


@pytest.mark.parametrize(
    ("name", "sets", "said"),
    [
        ("pkg.again:main", ["epoch=1"], "error: `main` has no parameter `epoch`; did you mean `epochs`?\n"),
        ("plain.py:EPOCHS", [], "error: plain.py:EPOCHS: expected a function, found a value of type `int`\n"),
        ("plain.py:Trainer.runs", [], "error: plain.py: there is no `runs`; did you mean `run`?\n"),
    ],
)
def test_the_child_says_it_in_one_line_too(name: str, sets: list[str], said: str) -> None:
    target, call = calls.call(name, sets)
    plan = plan_for(Path(name), Path.cwd(), target=target, call=call)
    assert record(plan, cwd=Path.cwd(), log=Path("log")).exit_code == 2
    assert Path("log").read_text() == said


def test_a_function_that_trained_and_exits_with_2_was_not_refused() -> None:
    Path("leaves.py").write_text("import sys\nfrom plain import main\n\ndef start():\n    main()\n    sys.exit(2)\n")
    for name, refused in (("leaves.py:start", False), ("plain.py:EPOCHS", True)):
        target, call = calls.call(name, [])
        plan = plan_for(Path(name), Path(tempfile.mkdtemp(dir=".")), target=target, call=call)
        outcome = record(plan, cwd=Path.cwd(), log=Path("log"))
        run = Recording(recording.load(Path(plan.trace)), outcome)
        assert outcome.exit_code == 2
        assert was_refused(run, target) is refused


@pytest.mark.parametrize(
    ("name", "yes"),
    [
        ("pkg.train:main", True),
        ("pkg/train.py:Trainer.run", True),
        ("train.py", False),
        ("pkg.train:", False),
        (":main", False),
        (r"C:\work\train.py", False),
        ("train.py:12", False),
        ("odd:name", False),
    ],
)
def test_what_is_a_function(name: str, yes: bool) -> None:
    Path("odd:name").write_text("print(1)")
    assert calls.is_call(name) is yes


# -------------------------------------------------------------------------------------------------------- conversions


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = 2


def _takes(kind: Any) -> inspect.Signature:
    return inspect.Signature([inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY, annotation=kind)])


def _given(kind: Any, text: str) -> Any:
    return bound(_takes(kind), {"x": calls.written(text)}, "f").kwargs["x"]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (inspect.Parameter.empty, "1e-3", 0.001),
        (inspect.Parameter.empty, "[1, a]", [1, "a"]),
        (inspect.Parameter.empty, "null", None),
        (inspect.Parameter.empty, "a: [", "a: ["),
        (Any, "true", True),
        (int, "1e3", 1000),
        (float, "3", 3.0),
        (float, ".inf", math.inf),
        (inspect.Parameter.empty, "9" * 30, 10**30 - 1),
        (str, "1e-3", "1e-3"),
        (str, "'a b'", "a b"),
        (str, "", ""),
        (Path, "runs/1", Path("runs/1")),
        (Optional[int], "null", None),  # noqa: UP045
        (int | None, "3", 3),
        (str | None, "null", None),
        (str | int, "3", 3),
        (str | int, "three", "three"),
        (Literal["sgd", 2], "sgd", "sgd"),
        (Literal["sgd", 2], "2", 2),
        (list[float], "[1, 2.5]", [1.0, 2.5]),
        (tuple[int, str], "[1, 2]", (1, "2")),
        (tuple[int, ...], "[1, 2]", (1, 2)),
        (Sequence[str], "[1, b]", ["1", "b"]),
        (dict[str, int], "{a: 1}", {"a": 1}),
        (Mode, "FAST", Mode.FAST),
        (Mode, "fast", Mode.FAST),
        (Callable[[], int], "3", 3),
    ],
)
def test_values_become_what_the_annotation_wants(kind: Any, text: str, value: Any) -> None:
    found = _given(kind, text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        (int, "1.5", "a whole number (`int`)"),
        (int, ".inf", "a whole number (`int`)"),
        (int, ".nan", "a whole number (`int`)"),
        (int, "true", "a whole number (`int`)"),
        (bool, "1", "true or false (`bool`)"),
        (int | None, "a", "a whole number (`int`)"),
        (int | bool, "a", "a whole number (`int`) or true or false (`bool`)"),
        (Literal["sgd", "adam"], "sdg", "one of `sgd`, `adam`"),
        (list[int], "[1, a]", "a whole number (`int`)"),
        (tuple[int, int], "[1]", "a list of 2"),
        (Mode, "QUICK", "one of `FAST`, `SLOW`"),
        (dict, "3", "a mapping such as `{a: 1}` (`dict`)"),
    ],
)
def test_values_of_another_type_are_refused(kind: Any, text: str, said: str) -> None:
    with pytest.raises(Mistake) as caught:
        _given(kind, text)
    assert str(caught.value) == f"--set x: expected {said}, found `{text}`"


@given(st.text(max_size=20))
def test_any_text_is_text(text: str) -> None:
    assert isinstance(_given(str, text), str)


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_come_back(number: float) -> None:
    assert _given(type(number), repr(number)) == number


# --------------------------------------------------------------------------------------------------------- the command


def _command(*words: str) -> subprocess.CompletedProcess[str]:
    return doctor("check", *words, env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_the_command_takes_options_on_both_sides_of_a_function() -> None:
    done = _command("--isolated", "pkg.train:main", "--set", "epochs=15", "--set", "clear=no", "--seconds", "0")
    assert done.returncode == 1, done.stderr
    assert "doctor check pkg.train:main --set epochs=15 --set clear=no" in " ".join(done.stdout.split())
    assert "error[AD101]" in done.stdout
    assert "--> pkg/train.py:" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pkg.train:main", "--set", "epoch=1"], "`main` has no parameter `epoch`; did you mean `epochs`?"),
        (["pkg.train:main", "3"], "pkg.train:main: pass arguments to a function with `--set NAME=VALUE`"),
        (["-m", "pkg.train:main"], "pkg.train:main: `-m` runs a module, but this names a function in a module"),
        (
            ["--set", "epochs=1", "plain.py"],
            "--set: passes arguments to a function, as in `doctor check pkg.train:main",
        ),
    ],
)
def test_the_command_refuses_in_one_line(words: list[str], said: str) -> None:
    done = _command("--isolated", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {said}")
    assert done.stderr.count("\n") == 1
