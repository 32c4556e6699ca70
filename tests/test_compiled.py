"""Programs whose models torch compiles, which `--no-polite` lets them do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.commands import doctor
from tests.harness import ROOT

TRAINS = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
{compiled}
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    x = torch.randn(16 + {larger}, 8)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(compiled(x), x.sum(1, keepdim=True))
    loss.backward()
    optimizer.step()
print("weights", sum(p.double().sum().item() for p in model.parameters()))
"""
COMPILED = 'compiled = torch.compile(model, backend="aot_eager")'


def check(program: str, home: Path) -> tuple[dict[str, Any], str]:
    """The report, and what the program wrote."""
    (home / "train.py").write_text(program)
    always = {**os.environ, "AUTOGRAD_DOCTOR_SECONDS": "0", "PYTHONPATH": str(ROOT)}
    done = doctor(
        "check", "--isolated", "--no-polite", "--steps", "99", "--output-format", "json", "train.py", env=always
    )
    return json.loads(done.stdout), done.stderr


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("compiled", "larger"),
    [
        (COMPILED, "0"),
        (COMPILED, "step % 3"),
        ('compiled = model\nmodel.compile(backend="aot_eager")', "0"),
        ('compiled = torch.compile(lambda x: model(x) * 1.0, backend="aot_eager")', "0"),
    ],
    ids=["a model", "sizes that change", "in place", "a function"],
)
def test_what_is_compiled_computes_the_same_and_is_said_to_be_unseen(compiled: str, larger: str, home: Path) -> None:
    program = TRAINS.format(compiled=compiled, larger=larger)
    report, err = check(program, home)
    assert (report["verdict"], report["findings"]) == ("passed", [])
    assert "the program compiles its model: what is computed inside of that is not seen" in str(report["notes"])
    assert "AD101" in report["checks"]["ran"]
    assert "inside of a compiled model" in str(report["checks"]["skipped"])
    alone = subprocess.run([sys.executable, "train.py"], capture_output=True, text=True, check=True)
    assert alone.stdout in err


def test_gradients_that_pile_up_around_it_are_found(home: Path) -> None:
    program = TRAINS.format(compiled=COMPILED, larger="0").replace("    optimizer.zero_grad()\n", "")
    report, _ = check(program, home)
    assert [finding["code"] for finding in report["findings"]] == ["AD101"]


def test_what_is_listed_of_an_object_is_there(home: Path) -> None:
    """torch's compiler, and people, ask for all that `dir` lists."""
    lists = """
for thing in (model, optimizer):
    for name in dir(thing):
        getattr(thing, name)
assert "lr" not in dir(optimizer)
optimizer.lr = 0.5
assert "lr" in dir(optimizer)
"""
    program = TRAINS.format(compiled="compiled = model", larger="0").replace("for step", f"{lists}for step")
    report, _ = check(program, home)
    assert "AD599" not in [finding["code"] for finding in report["findings"]]
    assert report["run"]["steps"] == 40


def test_nothing_stays_of_what_stood_in_the_way() -> None:
    before = (torch.compile, nn.Module.__dir__, torch.Tensor.__dir__, "__dir__" in vars(torch.optim.Optimizer))
    from tests.test_signals import Heard

    with Heard("compiled"):
        assert torch.compile is not before[0]
    with Heard("flags"):
        assert "require_grad" not in dir(nn.Linear(1, 1))
    assert before == (torch.compile, nn.Module.__dir__, torch.Tensor.__dir__, "__dir__" in vars(torch.optim.Optimizer))
