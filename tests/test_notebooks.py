"""Whole notebooks in many styles: checked as `doctor check` does, with findings at cell and line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograd_doctor import recording
from autograd_doctor.notebook.cells import cells
from autograd_doctor.plan import Target
from autograd_doctor.renderers import render
from tests.harness import PATIENCE, ROOT, assert_healthy, plan_for, record, summary
from tests.notebooks import check_notebook, expected, found, write
from tests.test_bitwise import _measured, _run_plainly, _run_watched

SET_UP = """
import torch
from torch import nn
torch.manual_seed(0)
inputs = torch.randn(64, 4)
targets = inputs.sum(1, keepdim=True)
"""
MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))

model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model
"""
HEALTHY = """
for step in range(20):
    rows = torch.randperm(64)[:16]
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs[rows]), targets[rows])
    loss.backward()
    optimizer.step()
loss.item()
"""
PILING_UP = """
for step in range(20):
    rows = torch.randperm(64)[:16]
    loss = nn.functional.mse_loss(model(inputs[rows]), targets[rows])
    loss.backward()
    optimizer.step()  # expect: AD101
"""
MAGICS = """
%matplotlib inline
%load_ext autoreload
!pip install -q torchinfo
from math import (
    pi,
)
%env ADDED=some thing
model?
"""
WITH_MAGICS = """
%%time
assert __import__("os").environ["ADDED"] == "some thing"
files = !ls
assert files == []
for step in range(20):
    rows = torch.randperm(64)[:16]
    loss = nn.functional.mse_loss(model(inputs[rows]), targets[rows])
    %time loss.backward()
    optimizer.step()  # expect: AD101
"""
KEPT = """
history = []
for step in range(20):
    rows = torch.randperm(64)[:16]
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs[rows]), targets[rows])
    loss.backward()
    optimizer.step()
    history.append(loss)  # expect: AD301
"""
BROADCAST = """
def compare(predicted, wanted):
    return nn.functional.mse_loss(predicted, wanted)  # expect: AD604
"""
BROADCASTING = """
for step in range(20):
    rows = torch.randperm(64)[:16]
    optimizer.zero_grad()
    loss = compare(model(inputs[rows]), targets[rows].squeeze(1))
    loss.backward()
    optimizer.step()
"""
DATASET = """
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return inputs[index], targets[index]

loader = DataLoader(Rows(), batch_size=16, shuffle=True, num_workers=1, multiprocessing_context="fork")
"""
EPOCHS = """
for epoch in range(4):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""
ASYNC = """
import asyncio

async def step(rows):
    await asyncio.sleep(0)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs[rows]), targets[rows])
    loss.backward()
    optimizer.step()
"""
AWAITING = """
for number in range(20):
    await step(torch.randperm(64)[:16])
_ = [await each for each in [asyncio.sleep(0)]]
"""
GUARDED = """
import sys
from pathlib import Path

assert sys.path[0] == "" and Path("train.ipynb").is_file(), (sys.path, Path.cwd())
assert "__file__" not in globals()
display(model, "shown")
get_ipython().run_line_magic("matplotlib", "inline")
get_ipython().events.register("post_execute", print)
if __name__ == "__main__":
    print("guarded")
"""

SICK = {
    "no zero_grad": (SET_UP, MODEL, PILING_UP),
    "magics": (SET_UP, MODEL, MAGICS, WITH_MAGICS),
    "losses kept in a global list": (SET_UP, MODEL, KEPT),
    "a function of an earlier cell": (SET_UP, MODEL, BROADCAST, BROADCASTING),
}
FINE = {
    "one cell": (SET_UP + MODEL + HEALTHY,),
    "several cells": (SET_UP, MODEL, HEALTHY),
    "a dataset of a cell in a worker": (SET_UP, MODEL, DATASET, EPOCHS),
    "async": (SET_UP, MODEL, ASYNC, AWAITING),
    "what Jupyter has": (SET_UP, MODEL, GUARDED, HEALTHY),
}


@pytest.mark.parametrize("cells", SICK.values(), ids=SICK)
def test_a_fault_is_found_at_its_cell_and_line(cells: tuple[str, ...], tmp_path: Path) -> None:
    report = check_notebook(write(tmp_path, *cells, markdown=("# A notebook",)))
    wanted = expected(*cells)
    assert found(report)[: len(wanted)] == wanted, summary(report)
    assert not [each for each in report.findings[len(wanted) :] if each.severity == "error"], summary(report)


@pytest.mark.parametrize("cells", FINE.values(), ids=FINE)
def test_a_healthy_notebook_is_left_in_peace(cells: tuple[str, ...], tmp_path: Path) -> None:
    report = check_notebook(write(tmp_path, *cells, "", markdown=("# A notebook", "$x$")))
    assert_healthy(report)
    assert report.run.stopped_by == "finished"
    assert report.target.notebook == str(tmp_path / "train.ipynb")


def test_what_runs_otherwise_than_in_jupyter_is_said(tmp_path: Path) -> None:
    report = check_notebook(write(tmp_path, *SICK["magics"]))
    for said in (
        "IPython-only code was skipped: `%matplotlib inline` (cell 3), `%load_ext autoreload` (cell 3), `model?`",
        "shell commands were not run: `!pip install -q torchinfo` (cell 3), `files = !ls` (cell 4)",
        "code to be timed was run once, without timing: `%%time` (cell 4), `%time` (cell 4)",
    ):
        assert any(note.startswith(said) for note in report.notes), report.notes


def test_training_in_a_module_beside_the_notebook(tmp_path: Path) -> None:
    body = "".join(f"    {line}\n" for line in PILING_UP.strip().splitlines())
    module = f"import torch\nfrom torch import nn\n\ndef fit(model, optimizer, inputs, targets):\n{body}"
    (tmp_path / "training.py").write_text(module)
    calling = "from training import fit\nfit(model, optimizer, inputs, targets)"
    report = check_notebook(write(tmp_path, SET_UP, MODEL, calling))
    first = report.findings[0]
    assert (first.code, first.location and first.location.cell) == ("AD101", 0)
    assert first.location is not None
    assert first.location.path == str(tmp_path / "training.py")
    assert "optimizer.step()" in first.location.snippet


def test_a_script_that_is_run_gives_its_names(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    script = "import sys\nassert __name__ == '__main__'\nassert sys.argv == ['made.py', '3']\nadded = len(__file__)\n"
    (tmp_path / "lib" / "made.py").write_text(script)
    cells = (SET_UP, "folder = 'lib'\n%cd {folder}\n%run made.py 3\nassert added\n%cd nowhere", MODEL, HEALTHY)
    assert_healthy(check_notebook(write(tmp_path, *cells)))


def _crashed(tmp_path: Path, *cells: str) -> tuple[str, str]:
    """What a notebook wrote, and the first line of the finding that says where it died."""
    path = write(tmp_path, *cells)
    plan = replace(plan_for(path, tmp_path), target=Target("notebook", str(path)))
    assert record(plan, cwd=tmp_path, log=tmp_path / "log").exit_code == 1
    crash = recording.load(Path(plan.trace)).crash
    assert crash is not None
    return (tmp_path / "log").read_text(), f"{crash.frames[-1].location.path}:{crash.frames[-1].location.line}"


def test_an_exception_names_cell_and_line(tmp_path: Path) -> None:
    output, where = _crashed(tmp_path, SET_UP, "def fail():\n    raise KeyError('lr')", "x = 1\nfail()")
    assert where == f"{tmp_path}/train.ipynb#cell-2:2"
    assert f'File "{tmp_path}/train.ipynb#cell-3", line 2, in <module>\n    fail()' in output
    assert "autograd_doctor" not in output
    assert output.endswith("KeyError: 'lr'\n")


def test_an_exception_in_an_awaited_function_leads_through_cells_only(tmp_path: Path) -> None:
    output, where = _crashed(tmp_path, SET_UP, "async def fail():\n    raise KeyError('lr')", "await fail()")
    assert where == f"{tmp_path}/train.ipynb#cell-2:2"
    assert output.count("File") == 2, output
    assert "cell-3" in output


def test_a_crash_is_reported_in_every_format(tmp_path: Path) -> None:
    path = write(tmp_path, SET_UP, MODEL, HEALTHY, "x = 1\n%time model[0]")
    report = check_notebook(path)
    assert found(report) == [("AD599", 4, 2)], summary(report)
    drawn = {name: render(name, report, width=90, color=False, unicode=True) for name in ("full", "concise", "json")}
    assert f"--> {path}:cell 4:2:7" in drawn["full"]
    assert "%time model[0]\n" in drawn["full"]
    assert drawn["concise"].startswith(f"{path}:cell 4:2:7: AD599 ")
    place = json.loads(drawn["json"])["findings"][0]["location"]
    assert (place["path"], place["cell"], place["line"], place["column"]) == (str(path), 4, 2, 7)
    assert place["snippet"] == "%time model[0]"


def test_a_cell_that_may_raise_is_no_end(tmp_path: Path) -> None:
    report = check_notebook(write(tmp_path, "1 / 0", SET_UP, MODEL, HEALTHY, tags={1: "raises-exception"}))
    assert_healthy(report)


def test_comments_in_cells_silence(tmp_path: Path) -> None:
    """A comment holds for its own cell, not for the same line of another, unless it is for the whole file."""
    of_line = PILING_UP.replace("# expect: AD101", "# doctor: ignore[AD101] on purpose")
    report = check_notebook(write(tmp_path, SET_UP, MODEL, of_line))
    assert not report.findings
    assert report.suppressed[0].suppressed is not None
    assert report.suppressed[0].suppressed.reason == "on purpose"
    elsewhere = "\n\n\nx = 1  # doctor: ignore[AD101]\ny = 2  # doctor: ignore[AD101]"
    report = check_notebook(write(tmp_path, elsewhere, SET_UP, MODEL, PILING_UP))
    assert [each.code for each in report.findings] == ["AD101"]
    assert any("train.ipynb:cell 1:1 silences nothing" in note for note in report.notes), report.notes
    report = check_notebook(write(tmp_path, "# doctor: file-ignore[AD101]\nx = 1", SET_UP, MODEL, PILING_UP))
    assert not report.findings


def test_the_sample() -> None:
    report = check_notebook(ROOT / "sample_models" / "classifier.ipynb")
    sample = cells((ROOT / "sample_models" / "classifier.ipynb").read_bytes(), "")
    assert found(report) == expected(*(cell.source for cell in sample)) != [], summary(report)


def test_fingerprints_outlive_new_cells(tmp_path: Path) -> None:
    one = check_notebook(write(tmp_path, SET_UP, MODEL, PILING_UP))
    two = check_notebook(write(tmp_path, SET_UP, "added = 1", MODEL, PILING_UP))
    assert found(one) != found(two)
    assert one.findings[0].fingerprint.isalnum()
    # The folder is the same, and so is everything else.
    assert [each.fingerprint for each in one.findings] == [each.fingerprint for each in two.findings]


def test_a_long_training_is_stopped(tmp_path: Path) -> None:
    endless = HEALTHY.replace("range(20)", "range(10**9)")
    report = check_notebook(write(tmp_path, SET_UP, MODEL, endless, "raise SystemError"), steps=15)
    assert_healthy(report)
    assert report.run.stopped_by == "steps"


def test_weights_are_those_of_a_script(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("\n".join([SET_UP, MODEL, HEALTHY, KEPT]))
    notebook = write(tmp_path, SET_UP, MODEL, f"%%time\n{HEALTHY.strip()}", KEPT)
    plain = _measured(_run_plainly, script, tmp_path / "plain")
    assert plain["steps"] == 40
    assert _measured(_run_watched, notebook, tmp_path / "watched") == plain


# --------------------------------------------------------------------------------------------------------- the command


def test_the_command_shows_paths_from_where_it_was_typed(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub", SET_UP, MODEL, PILING_UP)
    command = ("check", "--isolated", "--seconds", "0", "--output-format", "concise")
    done = subprocess.run(
        [sys.executable, "-m", "autograd_doctor", *command, "--output-format", "json:report.json", "sub/train.ipynb"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1, done.stderr
    assert "sub/train.ipynb:cell 3:5:5: AD101 " in done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    place = report["findings"][0]["location"]
    assert (report["target"]["notebook"], place["path"], place["cell"]) == ("sub/train.ipynb", "sub/train.ipynb", 3)


def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "train.ipynb").write_text("{}")
    done = subprocess.run(
        [sys.executable, "-m", "autograd_doctor", "check", "--isolated", "train.ipynb"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: train.ipynb: not a notebook: `nbformat` is missing\n"
