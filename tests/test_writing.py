"""What is written to files that a person has named: never over what is not ours, and whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from any_report import reports
from hypothesis import given, settings
from reports import REPORTS

from autograd_doctor.command import writing
from autograd_doctor.mistakes import Mistake
from autograd_doctor.renderers import formats, render
from tests.harness import ROOT

REFUSED = "not written: it already exists and is not a report that may be replaced"

THEIRS = {
    "train.py": "print('hello')",
    "empty.py": "",
    "notes.txt": "doctor check train.py\nthen look at the loss\n",
    "README.md": "# A project\n\n`doctor check train.py` says `train.py is healthy`.\n",
    "config.json": '{"lr": 0.1}',
    "list.json": "[1, 2]",
    "results.xml": '<?xml version="1.0"?>\n<testsuites tests="1"><testsuite name="pytest"/></testsuites>\n',
    "page.html": "<!doctype html>\n<title>autograd_doctor</title>",
    "other.sarif": '{"$schema": "x", "version": "2.1.0", "runs": [{"tool": {"driver": {"name": "ruff"}}}]}',
    "pyproject.toml": "[tool.autograd_doctor]\nsteps = 3\n",
    "log.txt": "3 tests failed: 2 errors in 1.0 s\nepoch 1 passed: loss 0.3\n",
    "metrics.jsonl": '{"code":"x","name":"y"}\n',
    "weights.pt": "PK\x03\x04\x00\x80binary",
    "data.csv": "a,b\n1,2\n",
    "a.trace": "autograd_doctor trace 2\n",
}


@pytest.mark.parametrize("name", THEIRS)
def test_what_is_not_ours_is_never_replaced(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(THEIRS[name])
    with pytest.raises(Mistake, match=REFUSED):
        writing.check(file, "report")
    link = tmp_path / "report.html"
    link.symlink_to(file)
    if file.suffix != ".py" or THEIRS[name]:
        with pytest.raises(Mistake, match=REFUSED):
            writing.check(link, "report")


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("format_name", formats())
@pytest.mark.parametrize("look", [{}, {"width": 30}, {"unicode": False}, {"color": True}], ids=str)
def test_an_older_report_is_known(format_name: str, name: str, look: dict[str, int]) -> None:
    text = render(format_name, REPORTS[name](), **look)
    assert not text or writing.is_report(text.encode()[: writing.HEAD])


@settings(max_examples=50)
@given(reports())
def test_whatever_a_report_is_about_it_is_known(report: object) -> None:
    for format_name in formats():
        text = render(format_name, report)  # type: ignore[arg-type]
        assert not text or writing.is_report(text.encode()[: writing.HEAD]), (format_name, text[:500])


@pytest.mark.parametrize("said", ["2 errors in loss, 12.3 s", "1 error, 2 info in my.package.loss, 1 min"])
def test_a_summary_about_a_function_is_known(said: str) -> None:
    assert writing.is_report(f"{said}\n".encode())


# ---------------------------------------------------------------------------------------------------- how it is written


def test_a_file_is_replaced_as_a_whole_and_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    file, link = tmp_path / "report.json", tmp_path / "latest.json"
    writing.write(file, b"old")
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~_umask()
    file.chmod(0o640)
    link.symlink_to("report.json")
    before = file.stat().st_ino
    writing.write(link, b"new")
    assert (file.read_bytes(), link.is_symlink(), stat.S_IMODE(file.stat().st_mode)) == (b"new", True, 0o640)
    assert file.stat().st_ino != before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest.json", "report.json"]


def _umask() -> int:
    before = os.umask(0)
    os.umask(before)
    return before


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report.json"
    file.write_bytes(b"old")
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) < 4:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:4])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(Mistake, match=r"report.json: cannot be written: No space left on device"):
        writing.write(file, b"a new one")
    monkeypatch.undo()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_a_file_that_cannot_be_replaced_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report.json"
    file.write_bytes(b"a longer old one")

    def busy(*_: object) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(Path, "replace", busy)
    writing.write(file, b"new")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"new"]


def test_a_pipe_takes_a_report_again_and_again(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for said in (b"one", b"two"):
        heard: list[bytes] = []
        reader = threading.Thread(target=lambda heard=heard: heard.append(pipe.read_bytes()))
        reader.start()
        writing.check(pipe, "report")
        writing.write(pipe, said)
        reader.join(10)
        assert heard == [said]
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_by_name_goes_on_where_it_is(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log.txt"
    log.write_text("before\n")
    said = f"from autograd_doctor.command import writing; from pathlib import Path; file = Path({name!r})"
    said += "; writing.check(file, 'report'); writing.write(file, b'report'); print(' after')"
    with log.open("a") as stream:
        subprocess.run([sys.executable, "-c", said], cwd=ROOT, stdout=stream, check=True)
    assert log.read_text() == "before\nreport after\n"
    assert list(tmp_path.iterdir()) == [log]
