"""`doctor fix`: what proves a change, what it writes, and what it leaves as it was."""

from __future__ import annotations

import json
import marshal
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from reports import sick

from autograd_doctor.command import fixing
from autograd_doctor.findings import Fix, Proof
from autograd_doctor.fixing.changed_sources import Sources
from autograd_doctor.mistakes import Mistake
from autograd_doctor.proving.trying import confirmed
from autograd_doctor.renderers import render
from autograd_doctor.report import Fixing, Tried
from tests.changes import changed, proof_of, tried_in
from tests.commands import doctor

PILES_UP = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(12):
    x = torch.randn(32, 4)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    loss.backward()
    optimizer.step()
"""
_PYC_HEAD = 16
"""Bytes before the code, since Python 3.7 (PEP 552)."""
CLEARED = "    optimizer.zero_grad()\n    loss.backward()\n"


def _cleared(text: str) -> str:
    return text.replace("    loss.backward()\n", CLEARED)


def test_a_change_that_removes_the_fault_and_nothing_else_is_proven() -> None:
    proof = proof_of(PILES_UP, _cleared, "AD101")
    assert proof.proven
    assert proof.said[0] == "`AD101` was looked for and is gone in 12 steps from the same random numbers"
    assert proof.steps == (12, 12)
    assert proof.before[0].values != proof.after[0].values


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text + "print()\n", "`AD101` is still there"),
        (lambda text: _cleared(text).replace("range(12)", "range(5)"), "took 5 steps, before it were 12"),
        (lambda text: _cleared(text) + "raise KeyError\n", "raises `KeyError` in step 13"),
        (lambda text: _cleared(text).replace("model(x), x", "model(x).softmax(1), x"), "it brings `AD601`"),
        (
            lambda text: _cleared(text).replace("model.parameters()", "model[2].parameters()"),
            "these learned before, and no more: `model.0.bias`, `model.0.weight`",
        ),
        (lambda text: _cleared(text).replace("lr=0.05", "lr=float('inf')"), "its loss does not stay finite"),
    ],
    ids=["left", "shorter", "crash", "other fault", "learns less", "not finite"],
)
def test_a_change_that_does_harm_is_not_proven(change: object, said: str) -> None:
    assert callable(change)
    proof = proof_of(PILES_UP, change, "AD101")
    assert not proof.proven
    assert any(said in each for each in proof.said), proof.said


def test_what_must_compute_the_same_is_compared_to_the_last_bit() -> None:
    keeps = "held = []\n" + PILES_UP.replace("    loss.backward()\n", CLEARED + "    held.append(loss)\n")

    def number(text: str) -> str:
        return text.replace("append(loss)", "append(loss.item())")

    proof = proof_of(keeps, number, "AD301", keeps=True)
    assert proof.proven, proof.said
    assert "losses and weights are the same to the last bit" in proof.said
    other = proof_of(keeps, lambda text: number(text).replace("lr=0.05", "lr=0.050001"), "AD301", keeps=True)
    assert not other.proven
    assert other.said[0].startswith("it changes what is computed: ")


PLANNED_IN_UPDATES = """\
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
rows = torch.randn(624, 6)
updates = 6 * 39 // 3


def rate(update):
    return min((update + 1) / 30, (updates - update) / (updates - 30))


schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: max(0.0, rate(update)))
for epoch in range(6):
    for number, x in enumerate(rows[torch.randperm(624)].split(16)):
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean() / 3
        loss.backward()
        if number % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
        schedule.step()
    print(epoch)
"""


def _per_epoch(text: str) -> str:
    return text.replace("        schedule.step()\n", "    schedule.step()\n")


def test_a_change_after_which_the_loss_ends_clearly_higher_is_not_proven() -> None:
    proof = proof_of(PLANNED_IN_UPDATES, _per_epoch, "AD115", same_loss=True, steps=200)
    assert not proof.proven
    assert "ends clearly higher" in proof.said[0]
    assert proof_of(PLANNED_IN_UPDATES, _per_epoch, "AD115", steps=200).proven, "where the loss may be another one"


def test_a_schedule_planned_in_updates_is_stepped_with_each_of_them() -> None:
    series = changed(PLANNED_IN_UPDATES, steps=200)
    assert [(each.finding.code, each.is_proven) for each in series.trials] == [("AD115", True)]
    assert not series.now.report.findings
    (text,) = series.now.sources.changed.values()
    assert b"            optimizer.step()\n            schedule.step()\n" in text


TWICE_IN_A_LINE = """\
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(5, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
prices = torch.rand(48, 5)
paid = prices.sum(1)
for _ in range(12):
    lots = torch.randint(0, 48, (16,))
    guess = net(prices[lots])
    loss = torch.maximum(guess - paid[lots], 0.5 * (paid[lots] - guess)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_an_operand_is_changed_wherever_its_statement_has_it() -> None:
    series = changed(TWICE_IN_A_LINE)
    assert [(each.finding.code, each.is_proven) for each in series.trials] == [("AD604", True)]
    (text,) = series.now.sources.changed.values()
    (line,) = [line for line in text.decode().splitlines() if "loss =" in line]
    assert line.count("guess.squeeze(1)") == 2
    assert not series.now.report.findings


def test_a_step_that_an_accelerator_skips_is_told_and_not_taken_a_second_time(tmp_path: Path) -> None:
    program = Path(__file__).parent / "programs" / "cycle" / "ad104_accumulated_out_of_step.py"
    script = Path(shutil.copy(program, tmp_path))
    first, series = tried_in(script)
    (finding,) = first.report.findings
    assert "`tuner.step()` was called 16 times, behind backwards 2, 5, 8, …" in finding.message
    assert "it would step behind backwards 3, 6, 9, …" in finding.message
    assert not series.trials


FIVE_FAULTS = """\
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(6, 16), nn.Linear(16, 1)]
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.layers[1](torch.relu(self.layers[0](x))) * self.scale


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
data = torch.randn(200, 6)
labels = (data.sum(1) > 0).float()
for epoch in range(6):
    total = 0
    for i in range(0, 200, 20):
        x, y = data[i : i + 20], labels[i : i + 20]
        prediction = torch.sigmoid(net(x))
        loss = nn.functional.binary_cross_entropy_with_logits(prediction, y)
        loss.backward()
        opt.step()
        total += loss
"""


def test_faults_behind_a_crash_are_mended_one_after_the_other() -> None:
    series = changed(FIVE_FAULTS)
    proven = [each.finding.code for each in series.trials if each.fix.proof is not None and each.fix.proof.proven]
    assert proven == ["AD511", "AD207", "AD602", "AD101", "AD302"]
    assert not series.now.report.findings
    (first, *_) = series.trials
    assert first.fix.proof is not None
    assert first.fix.proof.said[-1].startswith("because the program comes further, it shows `AD207`")


def test_what_helps_only_sometimes_goes_with_all_that_was_built_on_it() -> None:
    """Of two proven changes the second came back with other numbers; and the first, which takes both along."""
    twice = "history = []\n" + PILES_UP + "    history.append(loss)\n"
    series = changed(twice)
    assert [each.finding.code for each in series.trials if each.is_proven] == ["AD101", "AD301"]
    first, second = series.trials
    assert confirmed(series, series.now) is series
    later = confirmed(series, second.base)
    assert [each.is_proven for each in later.trials] == [True, False]
    assert later.now is second.base
    assert later.trials[1].fix.proof is not None
    assert later.trials[1].fix.proof.said[0] == "with other random numbers `AD301` came back"
    earlier = confirmed(series, first.base)
    assert [each.is_proven for each in earlier.trials] == [False, False]
    assert earlier.now is first.base
    assert not earlier.now.sources.changed


# ---------------------------------------------------------------------------------------------------------------- files


def test_what_has_changed_meanwhile_is_not_written_to(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("a = 1\n")
    before = Sources()
    after = before.with_text(str(file), "a = 2\n")
    file.write_text("a = 3\n")
    with pytest.raises(Mistake, match="something else has written to it"):
        fixing.write(before, after)
    assert file.read_text() == "a = 3\n"


def test_the_command_from_the_fault_to_a_patch_that_git_takes(tmp_path: Path) -> None:
    """Of a package in another encoding, with line ends of another system: nothing but the change is another byte."""
    loop = (
        b"# -*- coding: latin-1 -*-\r\ndef fit(model, loss_fn, opt, batches):\r\n    for x, y in batches:\r\n"
        b"        loss = loss_fn(model(x), y)  # caf\xe9\r\n        loss.backward()\r\n        opt.step()\r\n"
    )
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "loop.py").write_bytes(loop)
    (package / "loop.py").chmod(0o640)
    (tmp_path / "train.py").write_text(
        "import torch\nfrom torch import nn\nfrom pkg.loop import fit\n\ntorch.manual_seed(0)\n"
        "model = nn.Linear(4, 1)\nopt = torch.optim.SGD(model.parameters(), lr=0.01)\nx = torch.randn(256, 4)\n"
        "fit(model, nn.MSELoss(), opt, [(each, each.sum(1, keepdim=True)) for each in x.split(16)])\n"
    )
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.py")}
    done = doctor("fix", "--diff", "p.diff", "--output-format", "json", "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [each["fix"]["proof"]["proven"] for each in report["fixing"]["tried"]] == [True]
    assert report["fixing"]["left"] == []
    assert report["findings"][0]["fix"]["edits"][0]["path"] == "pkg/loop.py"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.py")} == before
    for path in tmp_path.rglob("*.pyc"):  # of the first run; what was tried leaves none
        source = path.parent.parent / f"{path.name.partition('.')[0]}.py"
        assert marshal.loads(path.read_bytes()[_PYC_HEAD:]) == compile(
            source.read_bytes(), str(source), "exec", dont_inherit=True
        )
    subprocess.run(["git", "apply", "p.diff"], cwd=tmp_path, check=True)
    mended = loop.replace(b"        loss.backward()", b"        opt.zero_grad()\r\n        loss.backward()")
    assert (package / "loop.py").read_bytes() == mended
    (package / "loop.py").write_bytes(loop)
    (package / "loop.py").chmod(0o640)
    done = doctor("fix", "--apply", "train.py", cwd=tmp_path)
    assert "1 change tried, 1 proven, written to pkg/loop.py" in done.stdout, done.stdout
    assert (package / "loop.py").read_bytes() == mended
    assert (package / "loop.py").stat().st_mode & 0o777 == 0o640


# ------------------------------------------------------------------------------------------------------------- formats


@pytest.mark.parametrize("name", ["full", "agent", "markdown", "html"])
def test_every_change_is_shown_with_its_diff(name: str) -> None:
    """That for a finding, and that for what came to light after it; once each."""
    proof = Proof(proven=True, said=("it is gone",), steps=(3, 3))
    fixes = [
        Fix(applicability="unsafe", description=f"do {n}", diff=f"--- a/x.py\n-old {n}\n+new {n}\n", proof=proof)
        for n in (1, 2)
    ]
    report = sick()
    first = msgspec.structs.replace(report.findings[0], fix=fixes[0])
    tried = [
        Tried(code=each.code, name=each.name, title=each.title, fingerprint=key, place="x.py:7", fix=fix, later=later)
        for each, key, fix, later in ((first, first.fingerprint, fixes[0], False), (first, "0", fixes[1], True))
    ]
    shown = render(
        name,
        msgspec.structs.replace(
            report,
            findings=[first, *report.findings[1:]],
            fixing=Fixing(tried=tried, diff="", left=[], exit_code=0),
        ),
        width=100,
    )
    for n in (1, 2):
        assert shown.count(f"+new {n}") == 1
        assert f"do {n}" in shown
    assert shown.index("+new 1") < shown.lower().index("came to light") < shown.index("+new 2")
