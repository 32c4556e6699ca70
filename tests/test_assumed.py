"""`doctor check model.py` with nothing else: what is assumed of a file that only defines a model, and how it runs."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest
import torch
from msgspec.structs import replace

from autograd_doctor import engine, recording
from autograd_doctor.command.again import again
from autograd_doctor.command.assumed import trained
from autograd_doctor.config_file import read
from autograd_doctor.events.run import ModelAssumed
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import DataPlan, TensorPlan
from autograd_doctor.renderers import Options, concise, full
from autograd_doctor.report import Report
from autograd_doctor.rules import all_rules
from autograd_doctor.runner import synthetic
from autograd_doctor.runner.assuming import assume
from autograd_doctor.runner.model_outputs import entry, tensors
from tests.commands import check_by_command, doctor
from tests.harness import assert_findings, assert_healthy, marks, plan_for, record

MODELS = Path(__file__).parent / "models"
SICK = sorted(path.stem for path in MODELS.glob("*.py") if marks(path.read_text()))


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in {*sys.modules} - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "").parent == MODELS:
            del sys.modules[name]


# ------------------------------------------------------------------------------------------------- what is assumed


def image(*shape: int, **more: Any) -> dict[str, Any]:
    return {"shape": list(shape), **more}


def words(length: int, classes: int, **more: Any) -> dict[str, Any]:
    return {"shape": [length], "classes": classes, **more}


TOKENS = {"name": "CrossEntropyLoss", "classes_axis": -1}
WANTED: dict[str, tuple[Any, Any, Any]] = {
    "autoencoder": ("MSELoss", image(784, range=[0, 1]), {"input": 0}),
    "batch_norm": ("MSELoss", image(11), image()),
    "char_lstm": ({**TOKENS, "output": "0"}, words(10, 30), words(10, 30)),
    "config_object": (TOKENS, words(10, 40), words(10, 40)),
    "conv3d": ("CrossEntropyLoss", image(1, 16, 16, 16), {"classes": 2}),
    "dataclass_output": ({"name": "MSELoss", "output": "prediction"}, image(7), image(1)),
    "dcgan_generator": ("MSELoss", image(20, 1, 1), image(1, 16, 16, range=[-1, 1])),
    "dict_output": (
        [{"name": "CrossEntropyLoss", "output": "logits"}, {"name": "MSELoss", "output": "value"}],
        image(6),
        [{"classes": 3}, image()],
    ),
    "diffusion": ("MSELoss", [image(3, 32, 32), {"shape": [], "classes": 1000}], {"input": 0}),
    "edge_index": (
        "CrossEntropyLoss",
        [image(8), {"shape": [2, 20], "classes": 12, "batch_axis": None}],
        {"classes": 3},
    ),
    "factory": ("CrossEntropyLoss", image(3, 16, 16), {"classes": 5}),
    "gcn": ("NLLLoss", [image(24), image(12)], {"classes": 7}),
    "gpt": ({"name": "output", "output": "1"}, [words(10, 65), words(10, 65, name="targets")], None),
    "gpt_last_place": (
        {"name": "output", "output": "1"},
        [words(10, 30), words(10, 30, name="targets")],
        None,
    ),
    "hugging_face": (
        {"name": "output", "output": "loss"},
        [words(10, 100), {"name": "labels", "shape": [], "classes": 3}],
        None,
    ),
    "lazy": ("CrossEntropyLoss", image(3, 32, 32), {"classes": 10}),
    "lenet": ("CrossEntropyLoss", image(1, 28, 28), {"classes": 10}),
    "lit": ("training_step", image(784), {"classes": 10}),
    "lit_without_forward": ("training_step", [image(784), image(784)], None),
    "mlp": ("CrossEntropyLoss", image(20), {"classes": 5}),
    "moe": ({"name": "CrossEntropyLoss", "output": "0"}, image(16), {"classes": 4}),
    "own_loss": ("output", [image(10), image(10)], None),
    "pointnet": ("CrossEntropyLoss", image(16, 3), {"classes": 6}),
    "prints": ("BCELoss", image(6), {"shape": [2], "classes": 2, "dtype": "float32"}),
    "resnet": ("CrossEntropyLoss", image(3, 32, 32), {"classes": 7}),
    "rnn_time_first": ("CrossEntropyLoss", image(10, 9, batch_axis=1), {"classes": 5}),
    "seq2seq": (TOKENS, [words(10, 50), words(10, 40)], words(10, 40)),
    "siamese": ("MSELoss", [image(1, 32, 32), image(1, 32, 32)], image(1)),
    "token_encoder": ("CrossEntropyLoss", words(10, 200), {"classes": 3}),
    "translator": (TOKENS, [words(10, 60), words(10, 70)], words(10, 70)),
    "unet": ("CrossEntropyLoss", image(3, 32, 32), image(32, 32, classes=4)),
    "vae": ({"name": "MSELoss", "output": "0"}, image(1, 28, 28, range=[0, 1]), {"input": 0}),
    "vit": ("CrossEntropyLoss", image(3, 48, 48), {"classes": 10}),
    "wavenet": ("MSELoss", image(1, 64), {"input": 0}),
}
"""Loss, inputs and targets for each file."""


@pytest.mark.parametrize("name", WANTED)
def test_inputs_loss_and_targets_are_found(name: str) -> None:
    module = imported(MODELS / f"{name}.py")
    before = torch.get_rng_state()
    first, second = assume(module), assume(module)
    assert first is not None
    assert torch.equal(torch.get_rng_state(), before)
    assert first == second
    assert first.problem == ""
    data = first.section["data"]
    assert (first.section["loss"], data["inputs"], data.get("targets")) == WANTED[name]


PROBLEMS = {
    "required_args": "defines the model `Net`, which needs `in_dim`, `out_dim`",
    "two_models": "defines several models, `Generator`, `Discriminator`: name one of them as `class`",
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_is_lacking_is_said(name: str) -> None:
    assumption = assume(imported(MODELS / f"{name}.py"))
    assert assumption is not None
    assert assumption.problem == PROBLEMS[name]
    assert assumption.section["class"] in ("Net", "Generator")


def assumed_of(tmp_path: Path, source: str) -> Any:
    path = tmp_path / "some_model.py"
    path.write_text("import torch\nfrom torch import nn\n" + dedent(source))
    return assume(imported(path))


def test_inputs_that_cannot_be_made_up_are_left_to_the_person(tmp_path: Path) -> None:
    assumption = assumed_of(
        tmp_path,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(5, 2)
            def forward(self, batch):
                return self.layer(batch["values"])
        """,
    )
    assert assumption.problem.startswith(
        "found no inputs that `Net` accepts: its `forward` takes `batch`; it got furthest "
    )
    assert "raised at some_model.py:9: " in assumption.problem
    assert assumption.section["class"] == "Net"


def test_the_person_s_objects_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "some_model.py"
    path.write_text(
        dedent(
            """
            import torch
            from torch import nn
            made = []
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.norm = nn.BatchNorm1d(4)
                    self.layer = nn.Linear(4, 2)
                    made.append(self)
                def forward(self, x):
                    torch.manual_seed(3)
                    return self.layer(self.norm(x))
            model = Net()
            """
        )
    )
    module = imported(path)
    states, numbers = {key: value.clone() for key, value in module.model.state_dict().items()}, torch.get_rng_state()
    assumption = assume(module)
    assert assumption is not None
    assert assumption.section["class"] == "Net"
    assert torch.equal(torch.get_rng_state(), numbers)
    assert len(module.made) == 2
    for built in module.made:
        assert all(value.grad is None for value in built.parameters())
        assert int(built.norm.num_batches_tracked) == 0
    assert all(torch.equal(value, states[key]) for key, value in module.model.state_dict().items())


BLOCK = """
    class Block(nn.Module):
        def __init__(self, width=4):
            super().__init__()
            self.layer = nn.Linear(width, width)
        def forward(self, x):
            return self.layer(x)
"""


def test_a_part_of_a_model_that_needs_arguments_is_not_the_model(tmp_path: Path) -> None:
    source = (
        BLOCK
        + """
    class Net(nn.Module):
        def __init__(self, depth):
            super().__init__()
            self.layers = nn.Sequential(*[Block() for _ in range(depth)])
        def forward(self, x):
            return self.layers(x)
    """
    )
    assert assumed_of(tmp_path, source).problem == "defines the model `Net`, which needs `depth`"
    assert assumed_of(tmp_path, BLOCK).section["class"] == "Block"


def test_what_has_no_parameters_is_no_model(tmp_path: Path) -> None:
    source = """
    class Shuffle(nn.Module):
        def forward(self, x):
            return x.flip(1)
    """
    assert assumed_of(tmp_path, source) is None


def test_functions_that_say_that_they_return_something_else_are_not_called(tmp_path: Path) -> None:
    source = """
        class Net(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.layer = nn.Linear(3, width)
            def forward(self, x):
                return self.layer(x)
        def count() -> int:
            raise SystemExit(Net)
        def other():
            raise SystemExit("nothing of the file")
    """
    assert assumed_of(tmp_path, source).problem == "defines the model `Net`, which needs `width`"
    both = source + "    def build():\n            return Net(2)\n"
    assert assumed_of(tmp_path, both).section["factory"] == "build"


# ----------------------------------------------------------------------------------------------- the two runs of it


def checked(program: Path) -> tuple[Report, str]:
    """The report of `doctor check` on a file, and what its last run wrote; raises `Mistake`."""
    rules = all_rules()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = plan_for(program, folder, assumes=True)
        outcome = record(plan, cwd=folder, log=folder / "first.txt")
        trace, target = recording.load(Path(plan.trace)), plan.target
        if (found := trained(plan, trace)) is not None:
            target, plan = found.target, replace(found.plan, trace=f"{plan.trace} 2")
            outcome = record(plan, cwd=folder, log=folder / "second.txt")
            trace = recording.load(Path(plan.trace))
        assert again(plan, trace) is None
        tunables = {rule.code: rule.defaults for rule in rules}
        report = engine.judge(trace, rules, tunables, target=target, fail_on="error", min_steps=1, outcome=outcome)
        return report, (folder / "second.txt").read_text() if found else ""


@pytest.mark.parametrize("name", ["lenet", "vae", "char_lstm", "gcn", "gpt", "lazy", "dict_output", "moe", "factory"])
def test_healthy_models_are_trained_and_get_no_finding(name: str) -> None:
    report, output = checked(MODELS / f"{name}.py")
    assert_healthy(report)
    assert (report.run.steps, output) == (30, "")
    assert report.assumed is not None
    assert (
        report.checks.skipped["AD702"]
        == report.checks.skipped["AD101"]
        == "the doctor, not the program, chose how to train"
    )


@pytest.mark.parametrize("name", SICK)
def test_sick_models_get_their_finding_at_their_line(name: str) -> None:
    path = MODELS / f"{name}.py"
    report, _ = checked(path)
    assert report.assumed is not None
    expected = marks(path.read_text())
    if expected[0][0] == "AD203":
        # The optimizer is built, and the model called, in a line of nobody's: the harness puts one of its own for it.
        (finding,) = report.findings
        assert finding.related[0].location.line == expected[0][1]
    else:
        assert_findings(report, expected, slack=0)


def test_a_demonstration_that_does_not_train_is_no_training() -> None:
    report, output = checked(MODELS / "resnet.py")
    assert report.target.model == str(MODELS / "resnet.py")
    assert report.verdict == "passed"
    assert output == ""


@pytest.mark.parametrize(
    ("line", "trains"),
    [
        ("model(torch.randn(2, 4)).sum().backward()", True),
        ("torch.optim.SGD(model.parameters(), lr=0.1)", True),
        ("torch.func.grad(lambda w: (torch.ones(4) * w).sum())(torch.randn(4))", True),
        ("torch.func.vjp(torch.sin, torch.randn(4))[1](torch.ones(4))", True),
        ("raise SystemExit(0)", False),
        ("raise SystemExit(3)", True),
        ("raise KeyError", True),
        ("model(torch.randn(2, 4))", False),
    ],
)
def test_a_program_that_trains_or_fails_is_a_script_as_ever(tmp_path: Path, line: str, trains: bool) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = torch.nn.Linear(4, 2)\n"
        "    def forward(self, x):\n"
        "        return self.layer(x)\n"
        f"model = Net()\n{line}\n"
    )
    plan = plan_for(program, tmp_path, assumes=True)
    record(plan, cwd=tmp_path, log=tmp_path / "output.txt")
    trace = recording.load(Path(plan.trace))
    assert bool(trace.of(ModelAssumed)) is not trains
    assert trace.end is not None


def test_a_program_without_a_model_is_not_trained(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("from torch.nn import Linear\nlayer = Linear(3, 4)\n")
    plan = plan_for(program, tmp_path, assumes=True)
    record(plan, cwd=tmp_path, log=tmp_path / "output.txt")
    assert trained(plan, recording.load(Path(plan.trace))) is None


def test_settings_to_fill_in_come_with_what_was_found() -> None:
    with pytest.raises(Mistake) as raised:
        checked(MODELS / "two_models.py")
    assert str(raised.value).endswith("name one of them as `class`")
    assert raised.value.detail.endswith(
        "model:\n"
        "  class: Generator\n"
        "  loss: CrossEntropyLoss\n"
        "  data:\n"
        "    inputs: {shape: [16]}\n"
        "    targets: {classes: 2}\n"
        "    batch_size: 12\n"
    )


# ------------------------------------------------------------------------------------------------ through the command


@pytest.mark.parametrize(("name", "code"), [("seq2seq", 0), ("config_object", 0), ("sick_detached", 1)])
def test_the_settings_shown_give_the_same_run(tmp_path: Path, name: str, code: int) -> None:
    model = MODELS / f"{name}.py"
    report, exit_code = check_by_command(model)
    settings = tmp_path / "model.yaml"
    settings.write_text(report["assumed"]["settings"])
    same, same_code = check_by_command(model, "--config", str(settings))
    assert (exit_code, same_code) == (code, code)
    assert same["assumed"] is None
    where = [(one["code"], one["location"]["path"], one["location"]["line"]) for one in report["findings"]]
    assert where == [(one["code"], one["location"]["path"], one["location"]["line"]) for one in same["findings"]]
    assert where == [(code, str(model), line) for code, line in marks(model.read_text())]
    assert report["run"]["steps"] == same["run"]["steps"] == 30


def check_by_command_in(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    return doctor("check", "--isolated", "--seconds", "0", name, cwd=folder)


def test_what_cannot_be_assumed_exits_with_2_and_settings(tmp_path: Path) -> None:
    done = check_by_command_in(MODELS, "required_args.py")
    assert (done.returncode, done.stdout) == (2, "")
    message, _, settings = done.stderr.partition("\n\n")
    assert message.startswith("error: required_args.py: does not train, and defines the model `Net`, which needs ")
    (tmp_path / "filled.yaml").write_text(settings)
    section = read(tmp_path / "filled.yaml")["model"]
    assert section["arguments"] == {"in_dim": "<int>", "out_dim": "<value>", "width": 16, "activation": "<type>"}


def test_the_report_begins_with_what_was_assumed() -> None:
    report, _ = checked(MODELS / "mlp.py")
    lines = full.render(report, Options(color=False, unicode=True, width=100)).splitlines()
    assert lines[:13] == [
        "  assumed  model: `MLP()`, the only model of the file",
        "           inputs: `x` of shape (12, 20), normal numbers",
        "           training: CrossEntropyLoss for one of 5 classes; AdamW",
        "  the same as settings, to keep or change:",
        "    model:",
        "      class: MLP",
        "      loss: CrossEntropyLoss",
        "      data:",
        "        inputs: {shape: [20]}",
        "        targets: {classes: 5}",
        "        batch_size: 12",
        "",
        lines[12],
    ]
    (note, _) = concise.render(report, Options(color=False, unicode=True, width=100)).splitlines()
    assert note == (
        "note: assumed model: `MLP()`, the only model of the file; inputs: `x` of shape (12, 20), normal numbers; "
        "training: CrossEntropyLoss for one of 5 classes; AdamW"
    )
    assert json.loads(json.dumps(report.checks.skipped))["AD101"] == "the doctor, not the program, chose how to train"


# --------------------------------------------------------------------------------------------- batches and outputs


def test_targets_follow_from_the_inputs() -> None:
    plan = DataPlan(
        inputs=[TensorPlan(shape=[6], classes=20), TensorPlan(shape=[2, 4])],
        targets=[
            TensorPlan(shape=[6], classes=5),
            TensorPlan(shape=[3], range=(-1.0, 1.0)),
            TensorPlan(shape=[2], dtype="int64", range=(2, 4)),
            TensorPlan(input=1),
            TensorPlan(shape=[7], batch_axis=1),
            TensorPlan(classes=2),
        ],
        batch_size=40,
        batches=3,
    )
    first, *others = synthetic.batches(plan)
    tokens, bounded, whole, same, turned, classes = first.targets
    assert [tuple(target.shape) for target in first.targets] == [(40, 6), (40, 3), (40, 2), (40, 2, 4), (7, 40), (40,)]
    assert set(tokens.unique().tolist()) == set(range(5))
    assert bounded.abs().max() <= 1
    assert set(whole.unique().tolist()) == {2, 3, 4}
    assert same is first.inputs[1]
    assert set(classes.tolist()) == {0, 1}
    assert not any(torch.equal(turned, batch.targets[4]) for batch in others)
    again = next(synthetic.batches(plan))
    assert all(torch.equal(one, two) for one, two in zip(first.targets, again.targets, strict=True))


def test_a_batch_lies_where_it_is_said() -> None:
    inputs = [TensorPlan(shape=[5, 3], batch_axis=1), TensorPlan(shape=[2, 9], batch_axis=None, classes=4)]
    (batch,) = synthetic.batches(DataPlan(inputs=inputs, batch_size=7, batches=1))
    assert [tuple(value.shape) for value in batch.inputs] == [(5, 7, 3), (2, 9)]


def test_outputs_are_taken_apart() -> None:
    one, two = torch.zeros(1), torch.zeros(2)
    output = {"a": one, "b": [two, {"c": one}], "d": "text"}
    assert [path for path, _ in tensors(output)] == ["a", "b.0", "b.1.c"]
    assert entry(output, "b.1.c") is one
    assert entry(one, "") is one
    named = torch.return_types.max((one, two))
    assert entry(named, "indices") is two
