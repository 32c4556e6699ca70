"""`assert_healthy` and the fixture, in a project of somebody else's: what a team sees when its training step breaks."""

from __future__ import annotations

import os
import tomllib

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

import autograd_doctor
from autograd_doctor.renderers import render
from tests.harness import ROOT

pytest_plugins = ["pytester"]

PROJECT = """
import pytest
import torch
from torch import nn
from torch.nn import functional as F


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def batch():
    x = torch.randn(16, 4)
    return x, x.sum(1, keepdim=True)


def healthy_step(model, optimizer):
    x, y = batch()
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    optimizer.step()


def sick_step(model, optimizer):
    x, y = batch()
    F.mse_loss(model(x), y).backward()
    optimizer.step()


def test_healthy(doctor, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    report = doctor.assert_healthy(lambda: healthy_step(model, optimizer), calls=12)
    assert report.run.steps == 12
"""
SICK = """

def test_sick(doctor, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    doctor.assert_healthy(lambda: sick_step(model, optimizer), calls=12)
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project in whose environment the package is installed, as far as entry points go."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pytest11"]
    installed = pytester.path / "site" / "autograd_doctor_elsewhere-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: autograd-doctor-elsewhere\nVersion: 1\n")
    lines = "".join(f"{name} = {module}\n" for name, module in declared.items())
    (installed / "entry_points.txt").write_text(f"[pytest11]\n{lines}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(installed.parent), str(ROOT)]))
    monkeypatch.setenv("COLUMNS", "100")
    return pytester


def test_a_healthy_step_passes_and_a_sick_one_fails_with_the_report(project: pytest.Pytester) -> None:
    source = (PROJECT + SICK).strip()
    project.makepyfile(test_training=source)
    result = project.runpytest_subprocess("-p", "no:cacheprovider", "--color=no")
    result.assert_outcomes(passed=1, failed=1)
    failure = [line.removeprefix("E").strip() for line in result.outlines if line.startswith("E ")]
    line = 1 + next(n for n, text in enumerate(source.splitlines()) if "def sick_step" in text) + 3
    assert failure[0] == "AssertionError: training is not healthy: 1 of 1 finding at or above `error`"
    assert "error[AD101] missing-zero-grad: gradients of earlier work were still there when the" in failure
    assert f"--> test_training.py:{line}:5 in sick_step()" in failure
    assert "= help: call `optimizer.zero_grad()` before `backward()`, or right after the step" in failure
    assert max(len(line) for line in result.outlines if line.startswith("E ")) <= 100
    shown = "\n".join(result.outlines)
    assert "asserting.py" not in shown
    assert "watching.py" not in shown


def test_a_model_that_outlives_the_tests_is_no_trouble(project: pytest.Pytester) -> None:
    """What it is known by goes with the interpreter, when names of modules are gone already."""
    project.makepyfile(
        test_training="""
        import torch

        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

        def step():
            (model(torch.randn(16, 4)) - 1).square().mean().backward()
            optimizer.step()

        def test_step(doctor):
            doctor.assert_healthy(step, calls=20)
        """
    )
    result = project.runpytest_subprocess("-p", "no:cacheprovider", "--color=no")
    result.assert_outcomes(failed=1)
    result.stderr.no_fnmatch_line("*Exception ignored*")


def test_the_plugin_works_under_xdist(project: pytest.Pytester) -> None:
    project.makepyfile(test_training=PROJECT + SICK)
    result = project.runpytest_subprocess("-n", "2", "-p", "no:cacheprovider", "--color=no")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E*AssertionError: training is not healthy: 1 of 1 finding at or above `error`"])


def test_without_the_plugin_there_is_no_fixture(project: pytest.Pytester) -> None:
    project.makepyfile(test_training=PROJECT)
    result = project.runpytest_subprocess("-p", "no:autograd_doctor", "-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'doctor' not found*"])


def test_a_project_that_does_not_use_the_fixture_loads_nothing(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys

        def test_nothing_is_loaded(request):
            assert request.config.pluginmanager.has_plugin("autograd_doctor")
            ours = {name for name in sys.modules if name.startswith("autograd_doctor")}
            assert ours == {"autograd_doctor", "autograd_doctor.pytest_plugin"}
            assert "torch" not in sys.modules
        """
    )
    project.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_the_plugin_is_no_dependency() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert not any(name.startswith("pytest") for name in declared["dependencies"])
    assert "Framework :: Pytest" in declared["classifiers"]


# ------------------------------------------------------------------------------------------------------ assert_healthy


class Training:
    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def step(self, *, clear: bool = True) -> None:
        x = torch.randn(16, 4)
        if clear:
            self.optimizer.zero_grad()
        F.mse_loss(self.model(x), x.sum(1, keepdim=True)).backward()
        self.optimizer.step()

    def sick(self) -> None:
        self.step(clear=False)


def test_the_message_is_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "88")
    with pytest.raises(AssertionError) as caught:
        autograd_doctor.assert_healthy(Training().sick, calls=8)
    headline, _, text = str(caught.value).partition("\n\n")
    assert headline == "training is not healthy: 1 of 1 finding at or above `error`"
    assert text.startswith("watched tests/test_pytest_plugin.py:")
    assert "error[AD101] missing-zero-grad" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


def test_a_loop_is_called_once_and_the_report_returned() -> None:
    training, calls = Training(), []

    def train() -> None:
        calls.append(1)
        for _ in range(9):
            training.step()

    report = autograd_doctor.assert_healthy(train, steps=5)
    assert (calls, report.run.steps, report.verdict) == ([1], 5, "passed")
    assert render("full", report)


def test_what_took_no_step_is_not_healthy() -> None:
    with pytest.raises(AssertionError, match="training is not healthy: no training step was seen"):
        autograd_doctor.assert_healthy(lambda: None)


def test_rules_and_the_threshold_are_chosen() -> None:
    autograd_doctor.assert_healthy(Training().sick, calls=8, ignore=["AD101"])
    autograd_doctor.assert_healthy(Training().sick, calls=8, select=["AD2"])
    autograd_doctor.assert_healthy(Training().sick, calls=8, fail_on="never")
    with pytest.raises(autograd_doctor.Mistake, match="did you mean `ignore`"):
        autograd_doctor.assert_healthy(Training().step, ignored=["AD101"])


def test_what_training_raises_is_raised_with_what_was_found() -> None:
    training, error = Training(), ValueError("out of data")

    def train() -> None:
        for _ in range(6):
            training.sick()
        raise error

    with pytest.raises(ValueError, match="out of data") as caught:
        autograd_doctor.assert_healthy(train)
    assert caught.value is error
    assert "error[AD101] missing-zero-grad" in caught.value.__notes__[0]


def test_a_skipped_test_is_skipped() -> None:
    with pytest.raises(pytest.skip.Exception):
        autograd_doctor.assert_healthy(lambda: pytest.skip("no data here"))
