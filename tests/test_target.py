"""Targets and model files: what is found wrong with them before a child process is started."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from autograd_doctor import config, config_file, target
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import Build, DataPlan, LossPlan, ModelPlan, TensorPlan
from autograd_doctor.settings import model_file, model_section
from autograd_doctor.settings.written import to_fill_in, written


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()


def write(name: str, text: str = "") -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return name


def mistake(call: object, *arguments: object) -> str:
    with pytest.raises(Mistake) as caught:
        call(*arguments)  # type: ignore[operator]
    return str(caught.value)


# ----------------------------------------------------------------------------------------------------------- scripts


def test_a_script_is_kept_as_typed() -> None:
    write("sub/train.py", "print(1)")
    found = target.script("./sub/../sub/train.py", ["--lr", "3"])
    assert (found.kind, found.name, found.arguments) == ("script", "./sub/../sub/train.py", ["--lr", "3"])


def test_a_file_that_is_not_there_has_a_nearest_one() -> None:
    write("sub/train.py")
    assert mistake(target.script, "sub/trian.py", []) == "sub/trian.py: no such file; did you mean `train.py`?"
    assert mistake(target.script, "nowhere/train.py", []) == "nowhere/train.py: no such file"


def test_a_module_without_its_flag() -> None:
    write("pkg/train.py")
    assert mistake(target.script, "pkg.train", []) == "pkg.train: no such file; did you mean `-m pkg.train`?"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.ipynb", "a.ipynb: a notebook, not a Python program (`jupyter nbconvert --to script` converts it)"),
        ("a.yaml", "a.yaml: a settings file, not a Python program (give it with `--config`)"),
    ],
)
def test_files_of_other_kinds(name: str, line: str) -> None:
    assert mistake(target.script, write(name), []) == line


def test_a_syntax_error_shows_its_place() -> None:
    write("train.py", "x = 1\nif x\n    pass\n")
    with pytest.raises(Mistake, match=r"^train\.py:2:5: not valid Python: expected ':'$") as caught:
        target.script("train.py", [])
    assert caught.value.detail == "   |\n 2 | if x\n   |     ^"


@pytest.mark.parametrize("source", [b"x = '\xff'", b"\0", b"(" * 1000], ids=["encoding", "null", "nesting"])
def test_what_cannot_be_compiled_is_one_line(source: bytes) -> None:
    Path("train.py").write_bytes(source)
    said = mistake(target.script, "train.py", [])
    assert said.startswith("train.py")
    assert "not valid Python: " in said
    assert "\n" not in said


def test_folders_and_zip_files_need_a_main() -> None:
    write("app/__main__.py", "print(1)")
    write("other/train.py")
    assert target.script("app", []).name == "app"
    assert mistake(target.script, "other", []) == ("other: the folder has no `__main__.py`; did you mean `train.py`?")
    for name, inner in (("good.zip", "__main__.py"), ("bad.zip", "train.py")):
        with zipfile.ZipFile(name, "w") as archive:
            archive.writestr(inner, "print(1)")
    assert target.script("good.zip", []).kind == "script"
    assert mistake(target.script, "bad.zip", []) == "bad.zip: the zip file has no `__main__.py`"


# ----------------------------------------------------------------------------------------------------------- modules


def test_a_module_is_found_without_being_imported() -> None:
    write("pkg_of_test/__init__.py", "raise RuntimeError")
    write("pkg_of_test/sub/train.py", "raise RuntimeError")
    found = target.module("pkg_of_test.sub.train", ["--lr"])
    assert (found.kind, found.name, found.arguments) == ("module", "pkg_of_test.sub.train", ["--lr"])
    assert not any(name.startswith("pkg_of_test") for name in sys.modules)


def test_modules_that_cannot_be_run() -> None:
    write("pkg/__init__.py")
    write("pkg/train.py", "x = (")
    said = mistake(target.module, "pkg.trian", [])
    assert said == "pkg.trian: no such module; did you mean `pkg.train`?"
    assert mistake(target.module, "pkg", []) == "pkg: a package without `__main__.py` cannot be run"
    assert mistake(target.module, "pkg.train.x", []) == ("pkg.train.x: no such module; did you mean `pkg.train`?")
    assert mistake(target.module, "pkg.train", []).endswith("train.py:1:5: not valid Python: '(' was never closed")
    assert mistake(target.module, "pkg/train", []) == "pkg/train: not a module name"
    assert mistake(target.module, "pkg/train.py", []) == (
        "pkg/train.py: `-m` takes a module, but this is a file (leave `-m` out)"
    )
    write("pkg/__main__.py")
    assert target.module("pkg", []).name == "pkg"
    assert target.module("json.tool", []).name == "json.tool"


# ------------------------------------------------------------------------------------------------------- model files

MODEL = """
import torch
from torch import nn

WIDTH = 8
device = torch.device("cpu")

class Net(nn.Module):
    def __init__(self, width, *, depth=2): ...

class Small(nn.Module):
    def __init__(self): ...

def build(layers): return Net(layers)
def my_loss(output, target): return 0
def stream(): yield 1
"""

DATA = "data: {inputs: {shape: [4]}, targets: {classes: 3}}"


@pytest.mark.parametrize(
    ("source", "only_defines"),
    [
        (MODEL, True),
        ("'''doc'''\nimport os\nx: int = len('a')\nPATH = Path('a')", True),
        ("def main(): ...\nmain()", False),
        ("def main(): ...\nx = main()", False),
        ("from other import run_training\nresult = run_training()", False),
        ("import pytorch_lightning as pl\ntrainer = pl.Trainer().fit(1)", False),
        ("for i in range(3): pass", False),
        ("if __name__ == '__main__': print(1)", False),
        ("model = factories['a']()", False),
    ],
)
def test_only_definitions_imports_and_assignments_run_nothing(source: str, only_defines: bool) -> None:
    assert model_file.look(write("model.py", source)).only_defines is only_defines


def test_modules_that_need_no_arguments() -> None:
    assert model_file.look(write("model.py", MODEL)).modules == ["Small"]


def planned(section: str, source: str = MODEL) -> ModelPlan:
    write("c.yaml", f"model: {{{section}}}")
    loaded = config.load({}, folder=Path(), environment={}, file=Path("c.yaml"))
    assert loaded.settings.model is not None
    return model_section.plan(model_file.look(write("model.py", source)), loaded.settings.model, "c.yaml")


def test_a_whole_section() -> None:
    plan = planned(
        "class: Net, arguments: {width: 8}, loss: my_loss, optimizer: {name: SGD, arguments: {lr: 1e-2}}, "
        "data: {inputs: [{name: a, shape: [4], range: [0, 1]}, {name: b, classes: 5}], targets: {classes: 3}, "
        "batch_size: 2, batches: 3}"
    )
    assert plan == ModelPlan(
        model=Build("Net", {"width": 8}),
        losses=[LossPlan("my_loss")],
        optimizer=Build("SGD", {"lr": 0.01}),
        data=DataPlan(
            inputs=[TensorPlan(name="a", shape=[4], range=(0.0, 1.0)), TensorPlan(name="b", classes=5)],
            targets=[TensorPlan(classes=3)],
            batch_size=2,
            batches=3,
        ),
        config="c.yaml",
    )


def test_what_the_file_defines_need_not_be_said() -> None:
    assert planned(f"loss: MSELoss, {DATA}").model == Build("Small")
    own = "def training_step(model, batch): ...\ndef batches(): ...\ndef configure_optimizers(model): ..."
    plan = planned("factory: build, arguments: {layers: 2}", MODEL + own)
    assert (plan.factory, plan.model) == (True, Build("build", {"layers": 2}))
    assert plan.functions == ["training_step", "configure_optimizers", "batches"]
    assert planned("", "def train(): ...").functions == ["train"]


def test_batches_of_a_function() -> None:
    assert planned("loss: MSELoss, data: {batches: stream}").data == DataPlan(function="stream")


SECTION_MISTAKES = {
    "class: Nett": "class: model.py defines no `Nett`; did you mean `Net`?",
    "class: build": "class: `build` is a function of model.py; did you mean `factory: build`?",
    "factory: Net": "factory: `Net` is a class of model.py; did you mean `class: Net`?",
    "loss: [MSELoss, training_step], "
    + DATA: "loss: `training_step` computes the whole loss, but other losses are given",
    "data: {inputs: {shape: [2]}, targets: {input: 1}}": "data.targets.input: expected 0 to 0, found `1`",
    "data: {inputs: {shape: [2], batch_axis: 2}}": "data.inputs.batch_axis: expected 0 to 1, found `2`",
    "class: Net, factory: build": "factory: expected either `class` or `factory`, found both",
    "class: Net, arguments: {widht: 3}": "arguments.widht: no such argument; did you mean `width`?",
    "class: Net": "arguments: the argument `width` is missing",
    "class: Small, arguments: {a: 1}": "arguments.a: no such argument",
    "class: Net, arguments: {width: .nan}": "arguments.width: expected a finite number, found `nan`",
    "loss: MSELoss": "expected the key `data`, or a function `batches` in model.py",
    DATA: "expected the key `loss`, or a function `training_step` in model.py",
    "loss: MSELoss, data: {batches: steam}": "data.batches: model.py defines no `steam`; did you mean `stream`?",
    "data: {inputs: {shape: [0]}}": "data.inputs.shape: expected whole numbers >= 1, found `0`",
    "data: {inputs: {range: [1, 0]}}": "data.inputs.range: expected two numbers, the smaller first, found `[1, 0]`",
    "data: {targets: {classes: 2, range: [0, 1]}}": "data.targets.range: expected either `classes` or `range`, "
    "found both",
    "data: {targets: {classes: 0}}": "data.targets.classes: expected a whole number >= 1, found `0`",
    "data: {targets: {dtype: float23}}": "data.targets.dtype: no such dtype: `float23`; did you mean `float32`?",
}


@pytest.mark.parametrize("section", SECTION_MISTAKES)
def test_mistakes_of_the_section(section: str) -> None:
    said = SECTION_MISTAKES[section]
    assert mistake(planned, section) in (f"c.yaml: model.{said}", f"c.yaml: model: {said}")


def test_a_model_that_cannot_be_guessed() -> None:
    source = "from torch import nn\nclass A(nn.Module): ...\nclass B(nn.Module): ..."
    assert mistake(planned, f"loss: MSELoss, {DATA}", source) == (
        "c.yaml: model: expected the key `class` or `factory`: "
        "model.py defines 2 `nn.Module` classes that need no arguments"
    )


def test_a_star_import_may_define_anything() -> None:
    assert planned(f"class: Far, loss: MSELoss, {DATA}", "from other import *").model == Build("Far")


def test_a_file_whose_functions_say_everything_needs_no_settings() -> None:
    step = "from torch import nn\nclass A(nn.Module): ...\ndef training_step(model, batch): ...\n"
    assert not model_section.needs_nothing(model_file.look(write("model.py", step)))
    assert model_section.needs_nothing(model_file.look(write("model.py", step + "def batches(): ...")))
    assert model_section.needs_nothing(model_file.look(write("model.py", "def train(): ...")))


def test_a_train_for_data_of_its_own_is_not_called() -> None:
    plan = planned(
        f"loss: MSELoss, {DATA}", "from torch import nn\nclass A(nn.Module): ...\ndef train(model, files): ..."
    )
    assert plan.functions == []
    assert planned("", "def train(model, steps, rate=1): ...").functions == ["train"]


SECTIONS = [
    {},
    {"class": "Net", "arguments": {"width": "<int>", "note": "two words", "deep": None}},
    {"factory": "make", "loss": [{"name": "MSELoss", "output": "0.mean"}, "output"], "data": {"batch_size": 3}},
    {"class": "A", "data": {"inputs": {"shape": [2, 4], "classes": 3, "batch_axis": None}, "targets": {"input": 0}}},
]


@pytest.mark.parametrize("section", SECTIONS, ids=str)
def test_a_section_is_written_as_it_is_read(section: dict[str, Any]) -> None:
    write("whole.yaml", to_fill_in(section))
    read = config_file.read(Path("whole.yaml"))["model"]
    assert {key: read[key] for key in section if key != "data"} == {k: v for k, v in section.items() if k != "data"}
    assert section.get("data", {}).items() <= read["data"].items()
    assert {"loss", "data"} <= read.keys()
    write("part.yaml", written({"class": "Net", **section}))
    assert config_file.read(Path("part.yaml"))["model"] == {"class": "Net", **section}
