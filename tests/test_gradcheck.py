"""`doctor gradcheck`: one custom function judged on inputs from the command line or the settings."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

from autograd_doctor import engine, recording
from autograd_doctor.command.gradchecking import check_is_there, find
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import FunctionPlan, InputPlan, Plan, Target
from autograd_doctor.renderers import render
from autograd_doctor.report import Report
from autograd_doctor.rules import all_rules
from autograd_doctor.settings import function_inputs, selection
from tests import commands
from tests.harness import ROOT, record

OPS = """
    import torch
    from torch.autograd import Function
    from torch.autograd.function import once_differentiable

    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3
        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

    class MissingFactor(Cube):
        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x**2

    class Detached(Cube):
        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x.detach() ** 2

    class Once(Cube):
        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

    class Multiply(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b
        @staticmethod
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad * b, grad * a

    class Swapped(Multiply):
        @staticmethod
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad * a, grad * b

    class TooFew(Multiply):
        @staticmethod
        def backward(ctx, grad):
            return grad

    class WrongShape(Multiply):
        @staticmethod
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad * b, (grad * a).sum(0)

    class Round(Function):
        @staticmethod
        def forward(ctx, x):
            return torch.round(x)
        @staticmethod
        def backward(ctx, grad):
            return grad

    class Noise(Function):
        @staticmethod
        def forward(ctx, x):
            return x * torch.rand_like(x)
        @staticmethod
        def backward(ctx, grad):
            return grad

    class Lookup(Function):
        @staticmethod
        def forward(ctx, weight, index, scale=1.0, mode="plain"):
            assert index.dtype == torch.int64 and mode in ("plain", "other")
            ctx.save_for_backward(index)
            ctx.rows, ctx.scale = weight.shape[0], scale
            return weight[index] * scale
        @staticmethod
        def backward(ctx, grad):
            (index,) = ctx.saved_tensors
            rows = grad.new_zeros(ctx.rows, grad.shape[1]).index_add(0, index, grad)
            return rows * ctx.scale, None, None, None

    class Distance(Function):
        @staticmethod
        def forward(x, target):
            return (x - target).pow(2).sum()
        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
        @staticmethod
        def backward(ctx, grad):
            x, target = ctx.saved_tensors
            return 2 * grad * (x - target), None

    class InPlace(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)
        @staticmethod
        def backward(ctx, grad):
            return 2 * grad

    class Together(Function):
        @staticmethod
        def forward(ctx, *parts):
            return torch.stack(parts).sum(0)
        @staticmethod
        def backward(ctx, grad):
            return grad, grad

    class Broken(Function):
        @staticmethod
        def forward(ctx, x):
            raise KeyError("weights")

    class Endless(Cube):
        @staticmethod
        def forward(ctx, x):
            while True:
                pass

    class Meant(MissingFactor):
        @staticmethod
        def backward(ctx, grad):  # doctor: ignore[AD507] tried out
            return grad

    class Kept(Cube):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            return x**3
        @staticmethod
        def backward(ctx, grad):
            return grad * 3 * ctx.x**2

    class Holder:
        Inner = Cube

    cube = Cube.apply

    def helper(x):
        return x
"""


class Judged(NamedTuple):
    report: Report
    printed: str

    @property
    def found(self) -> list[tuple[str, str]]:
        return [(finding.code, finding.severity) for finding in self.report.findings]


Judge = Callable[..., Judged]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """The report on a function of `OPS` and what the child printed, in a process that has torch imported already."""

    def run(name: str, *words: str, double: bool = False, max_seconds: float = 60.0) -> Judged:
        where = "ops.py" if ":" not in name else ""
        target = Target("function", f"{where}:{name}" if where else name)
        if not (tmp_path / "ops.py").exists():
            (tmp_path / "ops.py").write_text(dedent(OPS))
        (tmp_path / "scratch").mkdir()
        rules = selection.about_functions(all_rules())
        plan = Plan(
            target=target,
            trace=str(tmp_path / "trace"),
            scratch=str(tmp_path / "scratch"),
            needs=sorted({event.__name__ for rule in rules for event in rule.needs}),
            max_seconds=max_seconds,
            function=function_inputs.plan(words, "--input", double=double),
        )
        outcome = record(plan, cwd=tmp_path, log=tmp_path / "output.txt")
        trace = recording.load(Path(plan.trace))
        report = engine.judge(trace, rules, {}, target=target, fail_on="error", min_steps=1, outcome=outcome)
        return Judged(report, (tmp_path / "output.txt").read_text())

    return run


# ---------------------------------------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("name", "words", "inputs"),
    [
        ("Cube", ["3,4"], "`x` (shape (3, 4), float64)"),
        ("Cube", ["scalar:float32:0.1..2"], "`x` (shape (), float64)"),
        ("Cube", ["64,9"], "`x` (shape (7, 6), float64)"),
        ("cube", ["3"], "`x` (shape (3,), float64)"),
        ("Holder.Inner", ["3"], "`x` (shape (3,), float64)"),
        ("Multiply", ["3,1", "1,2"], "`a` (shape (3, 1), float64) and `b` (shape (1, 2), float64)"),
        ("Lookup", ["9,2", "5:int64:0..8"], "`weight` (shape (9, 2), float64) and `index` (shape (5,), int64)"),
        (
            "Lookup",
            ["mode=other", "9,2", "5:int64:0..8"],
            "`weight` (shape (9, 2), float64) and `index` (shape (5,), int64)",
        ),
        ("Distance", ["4", "4:no_grad"], "`x` (shape (4,), float64) and `target` (shape (4,), float64)"),
        ("InPlace", ["4"], "`x` (shape (4,), float64)"),
        ("Together", ["4", "4"], "`parts[0]` (shape (4,), float64) and `parts[1]` (shape (4,), float64)"),
    ],
)
def test_a_right_function_passes_with_the_inputs_it_was_judged_on(
    judge: Judge, name: str, words: list[str], inputs: str
) -> None:
    judged = judge(name, *words)
    assert (judged.report.verdict, judged.report.exit_code, judged.found, judged.printed) == ("passed", 0, [], "")
    assert judged.report.exit_reason == f"its gradient agrees with finite differences on {inputs}"
    assert judged.report.target.function == f"ops.py:{name}"


@pytest.mark.parametrize(
    ("name", "words", "says"),
    [
        ("MissingFactor", ["3,4"], "all of it is 0.3333 times the derivative"),
        ("Swapped", ["3,4", "3,4"], "the gradients of inputs 1 and 2 are swapped"),
        ("TooFew", ["3,4", "3,4"], "returned an incorrect number of gradients (expected 2, got 1)"),
        ("WrongShape", ["3,4", "3,4"], "returned an invalid gradient at index 1"),
        ("Distance", ["4", "4"], "for input 2: it returned 0, but "),
    ],
)
def test_a_wrong_function_is_a_finding_on_its_backward(judge: Judge, name: str, words: list[str], says: str) -> None:
    judged = judge(name, *words)
    assert (judged.report.verdict, judged.report.exit_code) == ("faults", 1)
    assert judged.found == [("AD507", "error")]
    (finding,) = judged.report.findings
    assert says in "\n".join([finding.message, *finding.notes])
    assert finding.location is not None
    assert (finding.location.path, finding.location.snippet.strip()) == ("ops.py", "def backward(ctx, grad):")
    assert judged.printed == ""


def test_a_surrogate_gradient_is_named_and_passes(judge: Judge) -> None:
    judged = judge("Round", "3,4")
    assert (judged.report.exit_code, judged.found) == (0, [("AD507", "info")])
    assert "agrees" not in render("full", judged.report)
    assert "1 info in ops.py:Round" in render("concise", judged.report)


def test_what_ctx_keeps_is_told_as_well(judge: Judge) -> None:
    judged = judge("Kept", "3")
    assert (judged.report.exit_code, judged.found) == (0, [("AD308", "warning")])
    assert judged.report.exit_reason.startswith("its gradient agrees")


def test_second_derivatives_are_judged_when_asked_for(judge: Judge) -> None:
    judged = judge("Cube", "3", double=True)
    assert (judged.report.exit_code, judged.found) == (0, [])
    assert judged.report.exit_reason.startswith("first and second derivatives agree with finite differences on `x`")


def test_a_backward_without_a_second_derivative_is_fine_until_that_is_asked_for(judge: Judge) -> None:
    assert judge("Detached", "3").report.exit_code == 0


@pytest.mark.parametrize(
    ("name", "says"),
    [("Detached", "does not agree with its own finite differences"), ("Once", "it is marked `@once_differentiable`")],
)
def test_a_missing_second_derivative_fails_when_asked_for(judge: Judge, name: str, says: str) -> None:
    judged = judge(name, "3", double=True)
    assert (judged.report.exit_code, judged.found) == (1, [("AD508", "error")])
    assert says in judged.report.findings[0].message
    assert "create_graph" not in judged.report.findings[0].message


def test_what_was_not_judged_is_never_green(judge: Judge) -> None:
    judged = judge("Noise", "30")
    assert (judged.report.verdict, judged.report.exit_code, judged.found) == ("not-judged", 4, [])
    assert judged.report.exit_reason == "its result differs from call to call"
    assert "ops.py:Noise was not judged: its result differs from call to call" in render("full", judged.report)


def test_a_function_without_an_end_is_not_judged(judge: Judge) -> None:
    judged = judge("Endless", "3", max_seconds=0.5)
    assert (judged.report.exit_code, judged.report.exit_reason) == (4, "it took too long")


def test_a_silenced_finding_is_not_called_right(judge: Judge) -> None:
    judged = judge("Meant", "3")
    assert (judged.report.exit_code, judged.found) == (0, [])
    assert judged.report.exit_reason == "no finding at or above `error`"
    assert [finding.code for finding in judged.report.suppressed] == ["AD507"]


def test_a_function_that_fails_is_a_crash_with_its_line(judge: Judge) -> None:
    judged = judge("Broken", "3")
    assert (judged.report.verdict, judged.report.exit_code) == ("program-failed", 3)
    assert judged.found == [("AD599", "error")]
    assert judged.printed.endswith("KeyError: 'weights'\n")
    assert "autograd_doctor" not in judged.printed


def test_a_file_of_a_package_may_import_its_neighbours(judge: Judge, tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "base.py").write_text(dedent(OPS))
    (tmp_path / "pkg" / "more.py").write_text("from .base import Cube\nclass Same(Cube): pass\n")
    assert judge("pkg/more.py:Same", "3").report.exit_code == 0


# ---------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("name", "words", "line"),
    [
        ("Cubee", ["3"], "ops.py:Cubee: there is no `Cubee` in ops.py; did you mean `Cube`?"),
        ("Holder.Iner", ["3"], "ops.py:Holder.Iner: there is no `Iner` in ops.py; did you mean `Inner`?"),
        ("Cube", [], "ops.py:Cube: no value for `x` (`forward` takes `x`)"),
        ("Multiply", ["3"], "ops.py:Multiply: no value for `b` (`forward` takes `a`, `b`)"),
        ("Distance", ["3"], "ops.py:Distance: no value for `target` (`forward` takes `x`, `target`)"),
        ("Cube", ["3", "3"], "ops.py:Cube: 2 inputs are given, but `forward` takes `x`"),
        ("Cube", ["3:int64"], "ops.py:Cube: no input can have a gradient"),
        ("Lookup", ["3", "scal=2"], "ops.py:Lookup: `forward` has no parameter `scal`; did you mean `scale`?"),
    ],
)
def test_a_mistake_that_only_the_child_can_see_is_one_line(
    judge: Judge, name: str, words: list[str], line: str
) -> None:
    judged = judge(name, *words)
    assert judged.printed.startswith(f"error: {line}")
    assert judged.printed.count("\n") == 1
    assert judged.report.run.program_exit == 2


def test_what_is_no_function_is_told_with_those_that_there_are(judge: Judge) -> None:
    assert judge("helper", "3").printed.startswith(
        "error: ops.py:helper: `helper` is not a subclass of `torch.autograd.Function` (there is `Cube`, "
        "`MissingFactor`, "
    )


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("3,,4", "expected a shape such as `3,4`, or `scalar`, or a value such as `factor=0.5`, found `3,,4`"),
        ("0,4", "expected sizes >= 1, found `0,4`"),
        ("100000,100000", "expected at most 10,000,000 elements, found `100000,100000`"),
        ("3:in64", "expected a dtype, a range or `no_grad`, found `in64`; did you mean `int64`?"),
        ("3:9..0", "expected a range such as `0..9`, the smaller first, found `9..0`"),
        ("3:0..x", "expected a range such as `0..9`, the smaller first, found `0..x`"),
        ("3:int64:0..1.5", "expected a range of whole numbers for this dtype, found `1.5`"),
        ("a b=3", "expected a parameter name before `=`, found `a b=3`"),
        ("a={1: 2}", "`a` can be a number, text, None, or a tuple of these, not `{1: 2}`"),
        ("a=1e999", "`a` can be a number, text, None, or a tuple of these, not `1e999`"),
    ],
)
def test_an_input_that_cannot_be_read_is_a_mistake(word: str, line: str) -> None:
    with pytest.raises(Mistake) as caught:
        function_inputs.plan([word], "--input", double=False)
    assert str(caught.value) == f"--input: {line}"


def test_words_become_tensors_and_values() -> None:
    words = ["3,4", "2:int8:-1..5", "scalar:float32:no_grad", "a=0.5", "b=mean", "c=(1, [True, None])", "d="]
    assert function_inputs.plan(words, "--input", double=True) == FunctionPlan(
        inputs=[
            InputPlan(shape=[3, 4], dtype="float64"),
            InputPlan(shape=[2], dtype="int8", range=(-1.0, 5.0)),
            InputPlan(shape=[], dtype="float32", requires_grad=False),
        ],
        values={"a": 0.5, "b": "mean", "c": (1, [True, None]), "d": ""},
        double=True,
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("ops.py", "ops.py: expected MODULE:FUNCTION, as in `ops.py:Cube` or `package.ops:Cube`"),
        (":Cube", ":Cube: expected MODULE:FUNCTION, as in `ops.py:Cube` or `package.ops:Cube`"),
        ("ops.py:", "ops.py:: expected MODULE:FUNCTION, as in `ops.py:Cube` or `package.ops:Cube`"),
        ("opz.py:Cube", "opz.py: no such file; did you mean `ops.py`?"),
        ("opz:Cube", "opz: no such module; did you mean `ops`?"),
        ("broken.py:Cube", "broken.py:1:5: not valid Python: expected ':'"),
    ],
)
def test_a_target_that_is_not_there_is_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ops.py").touch()
    (tmp_path / "broken.py").write_text("if x")
    with pytest.raises(Mistake) as caught:
        check_is_there(find(name)[0])
    assert str(caught.value).startswith(line)


# ------------------------------------------------------------------------------------------------------- the command


def doctor(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return commands.doctor(*arguments, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_the_command_judges_and_its_trace_is_judged_again(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(dedent(OPS))
    formats = ["--output-format", "json", "--save-trace", "t.trace"]
    done = doctor(tmp_path, "gradcheck", "ops:Swapped", "--input", "3", "--input", "3", *formats)
    report: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (1, "")
    assert report["target"]["function"] == "ops:Swapped"
    assert report["target"]["argv"] == ["ops:Swapped", "--input", "3", "--input", "3"]
    assert [finding["code"] for finding in report["findings"]] == ["AD507"]
    again = doctor(tmp_path, "report", "t.trace", "--output-format", "json")
    assert (again.returncode, json.loads(again.stdout)) == (1, report)


def test_inputs_of_the_settings_are_used_and_their_selection_is_not(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(dedent(OPS))
    (tmp_path / "autograd_doctor.yaml").write_text("select: [AD1]\ngradcheck: {Lookup: ['9,2', '5:int64:0..8']}\n")
    done = doctor(tmp_path, "gradcheck", "ops.py:Lookup")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ops.py:Lookup passed: its gradient agrees with finite differences on `weight`" in done.stdout
    mistaken = doctor(tmp_path, "gradcheck", "ops.py:Lookupp", "--input", "3")
    assert (mistaken.returncode, mistaken.stdout) == (2, "")
    assert mistaken.stderr == "error: ops.py:Lookupp: there is no `Lookupp` in ops.py; did you mean `Lookup`?\n"


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ("{Cube: 3}", "gradcheck.Cube: expected a list of inputs, found `3`"),
        ("{Cube: [3]}", 'gradcheck.Cube: expected inputs as text, such as "3,4", found `3`'),
        ("{'ops.py:Cube': ['3:x']}", "gradcheck.ops.py:Cube: expected a dtype, a range or `no_grad`, found `x`"),
    ],
)
def test_a_mistake_in_the_settings_names_file_and_key(tmp_path: Path, section: str, line: str) -> None:
    (tmp_path / "ops.py").touch()
    (tmp_path / "autograd_doctor.yaml").write_text(f"gradcheck: {section}")
    done = doctor(tmp_path, "gradcheck", "ops.py:Cube")
    assert (done.returncode, done.stderr) == (2, f"error: autograd_doctor.yaml: {line}\n")
