"""Findings point at the line that a person would edit, and name that of the effect beside it."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.harness import PROGRAMS, check_program

LOOP = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(12):
    x = torch.randn(16, 4)
    loss = (model(x) - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

UNUSED = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 1)
        self.spare = nn.Linear(4, 4)  # edit

    def forward(self, x):
        return self.body(x)

model = Model()
"""

HIDDEN = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4)]  # edit
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.layers[0](x))

model = Model()
"""

HIDDEN_BLOCKS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x):
        return x + self.body(x)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = {  # edit
            name: Block() for name in "ab"
        }
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        for block in self.blocks.values():
            x = block(x)
        return self.head(x)

model = Model()
"""

INFERENCE = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

    def features(self, x):
        with torch.inference_mode():  # edit
            return self.body(x)

    def forward(self, x):
        return self.head(self.features(x))

model = Model()
"""

FROZEN = """
import torch
from torch import nn

model = nn.Sequential(
    nn.Linear(4, 4),  # edit
    nn.Linear(4, 1),
)
model[0].requires_grad_(False)
"""


@pytest.mark.parametrize(
    ("code", "model"),
    [("AD203", UNUSED), ("AD206", FROZEN)],
)
def test_the_line_to_edit_is_named_beside(code: str, model: str) -> None:
    source = dedent(model).strip() + LOOP
    edit = next(number for number, line in enumerate(source.splitlines(), 1) if line.endswith("# edit"))
    (finding,) = (finding for finding in check_program(source).findings if finding.code == code)
    assert edit in [related.location.line for related in finding.related if related.location is not None]


@pytest.mark.parametrize(
    ("code", "model", "use"),
    [
        ("AD207", HIDDEN, "self.layers[0](x)"),
        ("AD207", HIDDEN_BLOCKS, "block(x)"),
        ("AD213", INFERENCE, "self.head(self.features(x))"),
    ],
)
def test_the_finding_is_at_the_line_to_edit(code: str, model: str, use: str) -> None:
    source = dedent(model).strip() + LOOP
    lines = source.splitlines()
    (finding,) = (finding for finding in check_program(source).findings if finding.code == code)
    assert finding.location is not None
    assert lines[finding.location.line - 1].endswith("# edit")
    assert any(use in lines[related.location.line - 1] for related in finding.related if related.location is not None)


def test_where_training_and_evaluation_share_a_function_its_call_is_named() -> None:
    program = PROGRAMS / "connectivity" / "ad209_shared_epoch_function.py"
    source = program.read_text(encoding="utf-8").splitlines()
    (finding,) = check_program(program).findings
    (related,) = finding.related
    assert related.location is not None
    assert "run_epoch(model, held_out" in source[related.location.line - 1]


ANEW = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 1)

    def forward(self, x):
        return self.body(nn.Linear(4, 4)(x))

model = Model()
"""


@pytest.mark.parametrize(("model", "words"), [(HIDDEN, "nn.ModuleList"), (ANEW, "build the module once")])
def test_help_fits_the_cause(model: str, words: str) -> None:
    report = check_program(dedent(model).strip() + LOOP)
    (finding,) = (finding for finding in report.findings if finding.code == "AD207")
    assert words in finding.help


def test_what_a_helper_in_another_file_froze_is_told_at_its_call(tmp_path: Path) -> None:
    helper = "def freeze(module):\n    for p in module.parameters():\n        p.requires_grad = False\n"
    (tmp_path / "helpers.py").write_text(helper, encoding="utf-8")
    model = "model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))\nfreeze(model[0])  # call"
    source = f"import torch\nfrom torch import nn\nfrom helpers import freeze\n{model}{LOOP}"
    (tmp_path / "train.py").write_text(source, encoding="utf-8")
    (finding,) = check_program(tmp_path / "train.py").findings
    assert finding.location is not None
    assert source.splitlines()[finding.location.line - 1].endswith("# call")


PARAMETRIZED = """
import torch
from torch import nn
from torch.nn.utils.parametrize import register_parametrization

class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        for layer in (self.first, self.second):
            register_parametrization(layer, "weight", Symmetric())

    def forward(self, x):
        return self.head(self.second(self.first(x)))

model = Model()
"""


def test_parametrized_weights_are_named_by_their_paths() -> None:
    (finding,) = check_program((PARAMETRIZED + LOOP).replace("optimizer.zero_grad()", "pass")).findings
    names = finding.evidence["parameters"]
    assert isinstance(names, list)
    assert [name for name in names if "original" in name] == [
        "model.first.parametrizations.weight.original",
        "model.second.parametrizations.weight.original",
    ]
