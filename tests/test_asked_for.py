"""Whether a person or a library asked torch for something."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import check_program

LIBRARY = """
class Engine:
    def own_idea(self, loss):
        loss.backward(retain_graph=True)

    def passes_on(self, loss, **kwargs):
        self._inner(loss, kwargs)

    def _inner(self, loss, options):
        loss.backward(**options)

    def named(self, loss, retain_graph=False):
        loss.backward(retain_graph=retain_graph)
"""
PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import torch
from engine_of_somebody import Engine
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
engine = Engine()
for _ in range(10):
    x = torch.randn(16, 8)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    {backward}
    optimizer.step()
"""

LEAF = """
    def penalty(self):
        if not hasattr(self, "zero"):
            self.zero = torch.tensor(0.0).requires_grad_()
        return self.zero
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "engine_of_somebody.py").write_text(LIBRARY)
    return folder


@pytest.mark.parametrize(
    ("backward", "codes"),
    [
        ("engine.own_idea(loss)", []),
        ("engine.passes_on(loss, retain_graph=True)", ["AD304"]),
        ("engine.named(loss, retain_graph=True)", ["AD304"]),
        ("loss.backward(retain_graph=True)", ["AD304"]),
        ("torch.autograd.backward([loss], retain_graph=True)", ["AD304"]),
        ("torch.autograd.functional.vjp(lambda w: w.square().sum(), model[0].weight); loss.backward()", []),
    ],
)
def test_only_what_the_person_can_leave_out_is_told(library: Path, backward: str, codes: list[str]) -> None:
    report = check_program(PROGRAM.format(folder=str(library), backward=backward))
    assert [finding.code for finding in report.findings] == codes


@pytest.mark.parametrize(("own", "codes"), [(True, ["AD220"]), (False, [])])
def test_a_leaf_that_nothing_uses_is_told_of_those_who_made_it(library: Path, own: bool, codes: list[str]) -> None:
    program = PROGRAM.format(folder=str(library), backward="(loss + engine.penalty()).backward()")
    if own:
        program = "import torch\nclass Own:" + LEAF + program.replace("engine = Engine()", "engine = Own()")
    else:
        engine = library / "engine_of_somebody.py"
        engine.write_text("import torch\n" + LIBRARY + LEAF)
    report = check_program(program)
    assert [finding.code for finding in report.findings] == codes
