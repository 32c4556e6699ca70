"""Training in cells of IPython, with and without Jupyter's names for them: which cell is named, and what is shown."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autograd_doctor import recording
from autograd_doctor.engine import judge
from autograd_doctor.events.run import CellRan
from autograd_doctor.plan import Outcome, Target
from autograd_doctor.rules import all_rules
from tests.harness import PATIENCE, ROOT

pytest.importorskip("IPython")

SESSION = '''
import json, sys, tempfile
from IPython.core.compilerop import CachingCompiler
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


class OfJupyter(CachingCompiler):
    """Names cells as ipykernel does: by their text, in a temporary folder that it never makes."""

    def get_code_name(self, raw_code, transformed_code, number):
        return f"{tempfile.gettempdir()}/ipykernel_1/{abs(hash(raw_code))}.py"


shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
if sys.argv[1] == "jupyter":
    shell.compile = OfJupyter()
for cell in json.loads(sys.stdin.read()):
    ran = shell.run_cell(cell, store_history=True)
    ran.raise_error()
said = shell.display_formatter.format(ran.result)[0]
print("\\n" + json.dumps([said, shell.user_ns["told"]]))
'''
BUILDING = """import autograd_doctor, torch
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)"""
STEPPING = """def step():
    loss = (model(x := torch.randn(8, 3)) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    optimizer.step()"""
WATCHING = """with autograd_doctor.watch() as watched:
    for _ in range(12):
        step()"""
TELLING = """import msgspec
told = [watched.report.target.name, *map(msgspec.to_builtins, watched.report.findings)]
watched"""
KINDS = pytest.mark.parametrize("kind", ["terminal", "jupyter"])


def _session(kind: str, folder: Path, *cells: str) -> tuple[dict[str, str], list[Any]]:
    """What the value of the last cell is shown as, and the variable `told`."""
    (folder / "session.py").write_text(SESSION, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "session.py", kind],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder / "ipython")},
        input=json.dumps(cells),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said, told = json.loads(done.stdout.splitlines()[-1])
    return said, told


@KINDS
def test_cells_are_named_by_their_numbers_and_quoted(kind: str, tmp_path: Path) -> None:
    said, (name, finding) = _session(kind, tmp_path, BUILDING, STEPPING, WATCHING, TELLING)
    assert name == "cell 3"
    place = finding["location"]
    assert (finding["code"], place["path"], place["cell"], place["line"]) == ("AD101", "", 2, 4)
    assert place["snippet"] == "    optimizer.step()"
    assert said["text/plain"] == "<watch at cell 3: faults, 1 finding in 12 steps>"
    page = html.unescape(said["text/html"])
    assert "cell 2:4:5 in step()" in page
    assert "watched cell 3" in page
    assert "ipykernel" not in page
    assert "ipython-input" not in page


def test_a_watch_in_a_function_is_in_the_cell_that_defines_it(tmp_path: Path) -> None:
    defining = "def train():\n    with autograd_doctor.watch() as watched:\n        for _ in range(3):\n"
    defining += "            step()\n    return watched"
    _, (name,) = _session("jupyter", tmp_path, BUILDING, STEPPING, defining, "1", "told = [train().report.target.name]")
    assert name == "cell 3"


def test_a_cell_that_ran_again_has_its_latest_number(tmp_path: Path) -> None:
    _, (name, finding) = _session("jupyter", tmp_path, BUILDING, STEPPING, STEPPING, WATCHING, WATCHING, TELLING)
    assert (name, finding["location"]["cell"]) == ("cell 5", 3)


def test_a_comment_in_a_cell_silences(tmp_path: Path) -> None:
    silenced = STEPPING.replace("optimizer.step()", "optimizer.step()  # doctor: ignore[AD101] on purpose")
    _, (_, *findings) = _session("jupyter", tmp_path, BUILDING, silenced, WATCHING, TELLING)
    assert findings == []


def test_a_timed_cell_has_the_name_that_ipython_gives_it(tmp_path: Path) -> None:
    timed = f"%%time\n{WATCHING.replace('step()', 'loss()')}\n        optimizer.step()"
    defining = STEPPING.replace("step()", "loss()", 1).replace("    optimizer.step()", "")
    _, (name, finding) = _session("jupyter", tmp_path, BUILDING, defining, timed, TELLING)
    assert name == "<timed exec>:1"
    assert (finding["code"], finding["location"]["path"], finding["location"]["line"]) == ("AD101", "<timed exec>", 4)


def test_what_a_cell_was_is_known_elsewhere(tmp_path: Path) -> None:
    """The trace of a kernel that is gone holds the cells that it names."""
    monitoring = "with autograd_doctor.monitor('run.trace'):\n    for _ in range(60):\n        step()\ntold = []"
    _session("jupyter", tmp_path, BUILDING, STEPPING, monitoring)
    first, *_ = sorted(tmp_path.glob("run.trace/rank-0/*.trace"))
    trace = recording.load(first)
    assert {(cell.number, cell.text) for cell in trace.of(CellRan)} == {(2, STEPPING + "\n"), (3, monitoring + "\n")}
    report = judge(
        trace,
        [rule for rule in all_rules() if rule.code == "AD101"],
        {},
        target=Target("block", "cell 3"),
        fail_on="error",
        min_steps=1,
        outcome=Outcome(exit_code=0),
    )
    (finding,) = report.findings
    assert finding.location is not None
    assert (finding.location.cell, finding.location.snippet) == (2, "    optimizer.step()")


def test_every_format_names_the_cell(tmp_path: Path) -> None:
    telling = f"told = [watched.report.render(name) for name in {FORMATS!r}]"
    _, texts = _session("jupyter", tmp_path, BUILDING, STEPPING, WATCHING, telling)
    for name, text in zip(FORMATS, texts, strict=True):
        assert re.search(r"cell\W{0,3}2", text), name
        assert "ipykernel" not in text, name


FORMATS = ["agent", "concise", "full", "github", "gitlab", "html", "junit", "markdown", "sarif"]


def test_a_report_of_a_program_is_shown_too(tmp_path: Path) -> None:
    program = ROOT / "sample_models" / "gradients_pile_up.py"
    checking = f"import autograd_doctor\ntold = []\nautograd_doctor.check({str(program)!r}, seconds=0, steps=5)"
    said, _ = _session("terminal", tmp_path, checking)
    assert re.fullmatch(rf"<report on {re.escape(str(program))}: faults, 1 finding in \d+ steps>", said["text/plain"])
    assert said["text/html"].startswith("<iframe ")
