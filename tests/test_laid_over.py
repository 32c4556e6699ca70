"""Sources that take the place of files: every process of the program reads them, and no file is another."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from autograd_doctor.plan import Target
from tests.harness import plan_for, record
from tests.notebooks import notebook

MAIN = """\
import inspect
import multiprocessing
import subprocess
import sys

import helper


def which(_):
    return helper.VALUE


if __name__ == "__main__":
    print("main", 1)
    print("imported", helper.VALUE)
    print("quoted", inspect.getsource(helper.told).split("return ")[1].strip())
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(method, *pool.map(which, [0]))
    try:
        helper.fail()
    except ValueError:
        import traceback
        print("shown", traceback.format_exc().split("raise ")[1].split("\\n")[0])
"""
HELPER = """\
VALUE = 1


def told():
    return "one"


def fail():
    raise ValueError("one")
"""


def _output(script: Path, overlay: dict[str, bytes]) -> list[str]:
    folder = script.parent / "work"
    folder.mkdir()
    plan = plan_for(script, folder, overlay=overlay)
    record(plan, cwd=script.parent, log=folder / "output.txt")
    return (folder / "output.txt").read_text().splitlines()


def test_every_process_reads_what_is_laid_over(tmp_path: Path) -> None:
    script, helper = tmp_path / "train.py", tmp_path / "helper.py"
    script.write_text(MAIN)
    helper.write_text(HELPER)
    laid = {
        str(script): MAIN.replace('"main", 1', '"main", 2').encode(),
        str(helper): HELPER.replace("VALUE = 1", "VALUE = 2").replace("one", "two").encode(),
    }
    assert _output(script, laid) == [
        "main 2",
        "imported 2",
        'quoted "two"',
        "fork 2",
        "spawn 2",
        'shown ValueError("two")',
    ]
    assert (script.read_text(), helper.read_text()) == (MAIN, HELPER)
    assert not list(tmp_path.rglob("helper*.pyc"))


def test_a_notebook_is_read_whole(tmp_path: Path) -> None:
    script = tmp_path / "train.ipynb"
    script.write_text(notebook("a = 1", "print('cell', a)"))
    folder = tmp_path / "work"
    folder.mkdir()
    plan = plan_for(script, folder, overlay={str(script): notebook("a = 2", "print('cell', a)").encode()})
    plan = replace(plan, target=Target("notebook", str(script)))
    record(plan, cwd=tmp_path, log=folder / "output.txt")
    assert (folder / "output.txt").read_text() == "cell 2\n"
