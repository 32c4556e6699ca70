"""What never ran: backwards of the program's own files of which no event names a line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.plan import Target
from autograd_doctor.renderers.remarks import remarks
from autograd_doctor.report import Report
from tests.reports import at, judged, training

SOURCE = """\
def pretrain():
    for x in data:
        loss(x).backward()
        step()

class Tuner:
    def fit(self):
        with scaled():
            if late:
                accelerator.backward(loss())
            else:
                loss().backward()

class Cube(Function):
    def backward(ctx, grad):
        return Square.backward(ctx, grad)

def evaluate():
    return metric()

pretrain()
Tuner().fit()
try:
    loss().backward()
finally:
    save()
"""


def report_of(
    folder: Path,
    *lines: int,
    reason: str = "steps",
    source: str = SOURCE,
    kind: str = "script",
    others: Sequence[str] = (),
) -> Report:
    """Of a run in which backwards at these lines ran, and other files of the program were imported."""
    script = folder / "train.py"
    script.write_text(source)
    root = TensorFacts(shape=[], dtype="float32")
    ran = [BackwardRan(backward=n, location=at(script, n), kind="backward", root=root, wrote=[]) for n in lines]
    ended = RunEnded(reason=reason, seconds=1.0, files=[str(script), *(str(folder / other) for other in others)])  # type: ignore[arg-type]
    events = [*training(3, cwd=str(folder), reason=None), *ran, ended]
    return judged(events, target=Target(kind, "train.py"))  # type: ignore[arg-type]


def never(report: Report) -> list[tuple[str, int]]:
    return [(place.function, place.line) for place in report.run.not_reached]


def test_functions_and_the_files_own_statements_are_told_apart(tmp_path: Path) -> None:
    assert never(report_of(tmp_path, 3)) == [("Tuner.fit", 10), ("", 24)]
    assert never(report_of(tmp_path, 3, 12, 24)) == []


def test_a_later_statement_proves_those_before_it(tmp_path: Path) -> None:
    wrapped = "def train():\n    self.backward(loss)\n    optimizer.step()\n"
    assert never(report_of(tmp_path, 3, source=wrapped)) == []
    assert never(report_of(tmp_path, 1, source=wrapped)) == [("train", 2)]


def test_files_without_python_or_of_a_run_that_did_not_say_its_files(tmp_path: Path) -> None:
    assert never(report_of(tmp_path, 3, source="loss.backward(\n")) == []
    report = judged([*training(3, cwd=str(tmp_path)), RunEnded(reason="finished")])
    assert never(report) == []


def test_what_an_imported_file_would_do_as_a_script_is_not_missed(tmp_path: Path) -> None:
    demo = 'def fit():\n    loss().backward()\n\nif __name__ == "__main__":\n    loss().backward()\n'
    assert never(report_of(tmp_path, 2, source=demo)) == [("", 5)]
    (tmp_path / "layers.py").write_text(demo)
    assert never(report_of(tmp_path, 3, 12, 24, others=["layers.py"])) == [("fit", 2)]


@pytest.mark.parametrize("kind", ["block", "function", "model"])
def test_of_what_is_no_whole_program_nothing_is_missed(tmp_path: Path, kind: str) -> None:
    assert never(report_of(tmp_path, 3, kind=kind)) == []


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("steps", "no backward of these ran; raise `--steps` or `--seconds` to watch longer"),
        ("time", "no backward of these ran; raise `--max-seconds` to watch longer"),
        ("finished", "no backward of these ran"),
    ],
)
def test_what_would_reach_it_is_said(tmp_path: Path, reason: str, said: str) -> None:
    report = report_of(tmp_path, 3, reason=reason)
    assert dict(remarks(report))["not reached"] == f"`Tuner.fit` (train.py:10), train.py:24: {said}"
    alone = msgspec.structs.replace(report.run, not_reached=report.run.not_reached[:1])
    row = dict(remarks(msgspec.structs.replace(report, run=alone)))["not reached"]
    assert row == f"`Tuner.fit` (train.py:10): {said.replace('no backward of these ran', 'its backward never ran')}"
