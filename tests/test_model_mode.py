"""Model mode: the doctor's own loop trains what a file defines, and mistakes are told with their file and key."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import msgspec
import pytest
import torch

from autograd_doctor import recording
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt, ParameterSeen
from autograd_doctor.own_python import own_python
from autograd_doctor.plan import Build, DataPlan, LossPlan, ModelPlan, Plan, Target, TensorPlan
from autograd_doctor.runner import synthetic
from autograd_doctor.trace import Trace
from tests.harness import ROOT, record

NET = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, width=8, classes=3):
            super().__init__()
            self.body = nn.Linear(4, width)
            self.head = nn.Linear(width, classes)
        def forward(self, values):
            return self.head(torch.relu(self.body(values)))
"""
DATA = DataPlan(inputs=[TensorPlan(shape=[4])], targets=[TensorPlan(classes=3)], batch_size=5, batches=2)
WHOLE = ModelPlan(model=Build("Net"), losses=[LossPlan("CrossEntropyLoss")], data=DATA, config="doctor.yaml")

Checked = Callable[..., tuple[int | None, str, Trace]]


@pytest.fixture
def check(tmp_path: Path) -> Checked:
    def run(source: str, plan: ModelPlan, **options: Any) -> tuple[int | None, str, Trace]:
        (tmp_path / "nets.py").write_text("".join(map(dedent, (NET, source))))
        (tmp_path / "scratch").mkdir()
        target = Target("model", "nets.py")
        paths = {"trace": str(tmp_path / "trace"), "scratch": str(tmp_path / "scratch")}
        whole = Plan(target=target, model=plan, **{"needs": [], "steps": 4, **options}, **paths)
        outcome = record(whole, cwd=tmp_path, log=tmp_path / "output.txt")
        return outcome.exit_code, (tmp_path / "output.txt").read_text(), recording.load(Path(whole.trace))

    return run


def changed(plan: ModelPlan = WHOLE, **fields: Any) -> ModelPlan:
    return ModelPlan(**{**{name: getattr(plan, name) for name in plan.__struct_fields__}, **fields})


# ------------------------------------------------------------------------------------------------------- what it runs


def test_a_class_is_trained_under_its_own_names(check: Checked) -> None:
    code, output, trace = check("", WHOLE)
    assert (code, output) == (0, "")
    assert len(trace.of(OptimizerStepped)) == 4
    assert trace.of(OptimizerBuilt)[0].kind == "AdamW"
    assert {seen.name for seen in trace.of(ParameterSeen)} == {
        "model.body.weight",
        "model.body.bias",
        "model.head.weight",
        "model.head.bias",
    }


def test_our_loop_is_nobodys_line(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(dedent(NET))
    paths = {"trace": str(tmp_path / "trace"), "scratch": str(tmp_path)}
    plan = Plan(target=Target("model", "nets.py"), model=WHOLE, steps=4, needs=["BackwardRan"], **paths)
    (tmp_path / "plan.json").write_bytes(msgspec.json.encode(plan))
    command = own_python("autograd_doctor.runner.entry", "plan.json")
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, timeout=100)
    trace = recording.load(Path(plan.trace))
    assert len(trace.of(BackwardRan)) == 4
    assert {event.location for event in (*trace.of(BackwardRan), *trace.of(OptimizerStepped))} == {None}


def test_a_factory_an_optimizer_and_a_functional_loss_are_called_with_their_arguments(check: Checked) -> None:
    source = """
        def make(width):
            return Net(width=width)
    """
    plan = changed(
        model=Build("make", {"width": 16}),
        factory=True,
        optimizer=Build("SGD", {"lr": 0.5}),
        losses=[LossPlan("cross_entropy", {"label_smoothing": 0.1})],
    )
    code, output, trace = check(source, plan)
    assert (code, output) == (0, "")
    (built,) = trace.of(OptimizerBuilt)
    assert (built.kind, built.groups[0].lr) == ("SGD", 0.5)
    assert [16, 4] in [seen.shape for seen in trace.of(ParameterSeen)]


def test_functions_of_the_file_win(check: Checked) -> None:
    source = """
        def training_step(model, batch):
            return model(batch).pow(2).mean()
        def configure_optimizers(model):
            return [torch.optim.SGD(model.body.parameters(), lr=0.1), torch.optim.Adam(model.head.parameters())]
        def batches():
            print("pass", flush=True)
            yield torch.ones(2, 4)
            yield torch.zeros(2, 4)
    """
    functions = ["training_step", "configure_optimizers", "batches"]
    code, output, trace = check(source, changed(losses=[], data=None, functions=functions))
    assert (code, output) == (0, "pass\npass\n")
    assert [built.kind for built in trace.of(OptimizerBuilt)] == ["SGD", "Adam"]
    assert trace.end is not None
    assert trace.end.step == 4


def test_train_is_called_with_what_its_parameters_name(check: Checked) -> None:
    source = """
        def train(model, optimizer, steps, note="as it is"):
            print(type(model).__name__, type(optimizer).__name__, steps, note)
    """
    code, output, _ = check(source, changed(functions=["train"]))
    assert (code, output) == (0, "Net AdamW 4 as it is\n")


def test_a_guarded_main_does_not_run(check: Checked) -> None:
    code, output, _ = check('if __name__ == "__main__":\n    print("trained by itself")\n', WHOLE)
    assert (code, output) == (0, "")


def test_synthetic_data_leaves_the_models_random_numbers_alone() -> None:
    before = torch.get_rng_state()
    plan = DataPlan(
        inputs=[TensorPlan(shape=[2, 3], range=(-1.0, 1.0)), TensorPlan(shape=[3], dtype="bool", name="mask")],
        targets=[TensorPlan(classes=5), TensorPlan(shape=[3], dtype="float64")],
        batch_size=7,
        batches=3,
    )
    batches = list(synthetic.batches(plan))
    assert torch.equal(torch.get_rng_state(), before)
    assert len(batches) == 3
    (values,), (classes, others) = batches[0].inputs, batches[0].targets
    assert (values.shape, values.dtype) == ((7, 2, 3), torch.float32)
    assert values.abs().max() <= 1
    assert batches[0].named_inputs["mask"].dtype == torch.bool
    assert (classes.shape, classes.dtype) == ((7,), torch.int64)
    assert int(classes.max()) < 5
    assert others.dtype == torch.float64
    assert not torch.equal(values, batches[1].inputs[0])


# ----------------------------------------------------------------------------------------------------------- mistakes

MISTAKES = [
    (
        changed(optimizer=Build("AdamWW")),
        "doctor.yaml: model.optimizer: `torch.optim` has no `AdamWW`; did you mean `AdamW`?",
    ),
    (
        changed(optimizer=Build("SGD", {"rate": 1})),
        "doctor.yaml: model.optimizer.arguments: `torch.optim.SGD` does not accept them: "
        "SGD.__init__() got an unexpected keyword argument 'rate'",
    ),
    (
        changed(losses=[LossPlan("CrossEntropyLos")]),
        "doctor.yaml: model.loss: neither nets.py nor `torch.nn` nor `torch.nn.functional` has `CrossEntropyLos`; "
        "did you mean `CrossEntropyLoss`?",
    ),
    (
        changed(model=Build("Net", {"depth": 3})),
        "doctor.yaml: model.arguments: `Net` does not accept them: "
        "Net.__init__() got an unexpected keyword argument 'depth'",
    ),
    (changed(model=Build("Nets")), "doctor.yaml: model.class: nets.py defines no `Nets`; did you mean `Net`?"),
    (
        changed(model=Build("number"), factory=True),
        "doctor.yaml: model.factory: `number` made a `int`, not an `nn.Module`",
    ),
    (
        changed(functions=["configure_optimizers"]),
        "nets.py: configure_optimizers: expected an optimizer or a list of them, found `str`",
    ),
    (changed(functions=["train"]), "nets.py: train: there is no argument `resolution` to pass"),
    (changed(functions=["batches"]), "doctor.yaml: model.data: it gave no batch"),
]


@pytest.mark.parametrize(("plan", "message"), MISTAKES, ids=lambda value: value[:40] if isinstance(value, str) else "")
def test_a_mistake_is_one_line_and_exit_code_2(check: Checked, plan: ModelPlan, message: str) -> None:
    source = """
        def number():
            return 3
        def configure_optimizers(model):
            return "SGD"
        def train(model, resolution):
            raise AssertionError
        def batches():
            return []
    """
    code, output, trace = check(source, plan)
    assert (code, output) == (2, f"error: {message}\n")
    assert trace.crash is None
    assert trace.end is not None
    assert (trace.end.reason, trace.end.exit_code) == ("exited", 2)


def test_targets_that_do_not_fit_are_told_with_their_shapes(check: Checked) -> None:
    targets = DataPlan(inputs=[TensorPlan(shape=[4])], targets=[TensorPlan(shape=[7])], batch_size=5)
    code, output, _ = check("", changed(losses=[LossPlan("CrossEntropyLoss")], data=targets))
    assert code == 2
    assert output.startswith(
        "error: doctor.yaml: model.loss: it cannot be computed from an output of shape (5, 3) and dtype float32 "
        "and targets of shape (5, 7) and dtype float32: "
    )
    assert output.count("\n") == 1


def test_an_error_in_the_users_code_is_a_crash_of_the_program(check: Checked) -> None:
    source = """
        class Broken(Net):
            def __init__(self):
                raise KeyError("weights")
    """
    code, output, trace = check(source, changed(model=Build("Broken")))
    assert code == 1
    assert output.endswith("KeyError: 'weights'\n")
    assert trace.crash is not None
    assert trace.crash.frames[-1].location.function == "Broken.__init__"
    assert "autograd_doctor" not in output


def test_inputs_of_the_wrong_shape_show_the_line_of_the_forward(check: Checked) -> None:
    wrong = DataPlan(inputs=[TensorPlan(shape=[9])], targets=[TensorPlan(classes=3)])
    code, _, trace = check("", changed(data=wrong))
    assert code == 1
    assert trace.crash is not None
    (frame,) = [frame for frame in trace.crash.frames if frame.own]
    assert frame.location.function == "Net.forward"
    assert {tensor.name: tensor.shape for tensor in frame.tensors} == {"values": [16, 9]}
