"""Notebook files and their magics: what is read, what is refused, and what Python is made of a cell."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd_doctor import target
from autograd_doctor.mistakes import Mistake
from autograd_doctor.notebook import cell_file, parted, spoken
from autograd_doctor.notebook.cells import Cell, cells
from autograd_doctor.notebook.magics import Said, translate
from tests.harness import ROOT
from tests.notebooks import notebook, write

# ------------------------------------------------------------------------------------------------------------ the file


def test_cells_are_numbered_as_jupyter_numbers_them() -> None:
    data = notebook("a = 1", "", "  \n", "b = 2", markdown=("# title",)).encode()
    assert cells(data, "n.ipynb") == [Cell(1, "a = 1"), Cell(2, "b = 2")]


def test_a_source_may_be_one_text_and_may_have_any_line_ends() -> None:
    cell = {"cell_type": "code", "source": "a = 1\r\nb = 2"}
    assert cells(json.dumps({"nbformat": 4, "cells": [cell]}).encode(), "n")[0].source == "a = 1\nb = 2"


def test_tags_that_jupyter_knows() -> None:
    data = notebook("1 / 0", "2", "3", tags={1: "raises-exception", 2: "skip-execution", 3: "mine"}).encode()
    assert cells(data, "n") == [Cell(1, "1 / 0", may_raise=True), Cell(2, ""), Cell(3, "3")]


_OLD = {"nbformat": 3, "worksheets": [{"cells": []}]}
_IN_R = notebook("x <- 1", metadata={"language_info": {"name": "R"}})
_IN_JULIA = notebook("x = 1", metadata={"kernelspec": {"language": "julia", "name": "julia-1.9"}})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{", "not a notebook: its JSON is broken (Expecting property name enclosed in double quotes"),
        ("", "not a notebook: its JSON is broken"),
        ("[" * 100_000, "not a notebook: its JSON is broken"),
        (b"\xff\xfe\x00", "not a notebook: its JSON is broken"),
        ("[1]", "not a notebook: `nbformat` is missing"),
        ('{"a": 1}', "not a notebook: `nbformat` is missing"),
        (json.dumps(_OLD), "a notebook of the old format 3 (`jupyter nbconvert --to notebook"),
        ('{"nbformat": 5}', "a notebook of format 5, but only 4 is supported"),
        ('{"nbformat": 4}', "not a notebook: `cells` is missing"),
        ('{"nbformat": 4, "cells": [1]}', "not a notebook: the entry of `cells` at position 1 is not a cell"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code", "source": 1}]}', "a cell without `source`, at position 1"),
        (notebook(markdown=("# only prose",)), "the notebook holds no code"),
        (notebook("", "  "), "the notebook holds no code"),
        (_IN_R, "a notebook in R, not in Python"),
        (_IN_JULIA, "a notebook in julia, not in Python"),
    ],
)
def test_what_is_no_notebook_of_python(tmp_path: Path, data: str | bytes, said: str) -> None:
    path = tmp_path / "n.ipynb"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(Mistake) as caught:
        target.notebook(str(path), [])
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("metadata", [None, [], {"kernelspec": None}, {"language_info": {"name": "python"}}])
def test_a_notebook_that_says_little_is_in_python(metadata: Any) -> None:
    data = json.loads(notebook("x = 1"))
    assert cells(json.dumps({**data, "metadata": metadata}).encode(), "n") == [Cell(1, "x = 1")]


def test_a_syntax_error_names_cell_and_line(tmp_path: Path) -> None:
    path = write(tmp_path, "x = 1", "%matplotlib inline\ny = 2\nif x\n    pass")
    with pytest.raises(Mistake, match=r"train\.ipynb:cell 2:3:5: not valid Python: expected ':'$") as caught:
        target.notebook(str(path), [])
    assert caught.value.detail == "   |\n 3 | if x\n   |     ^"


def test_await_and_an_import_of_the_future_are_python(tmp_path: Path) -> None:
    path = write(tmp_path, "from __future__ import annotations\nimport asyncio", "await asyncio.sleep(0)")
    assert target.notebook(str(path), ["a"]).arguments == ["a"]


def test_names_of_cells() -> None:
    assert parted(cell_file("/a/n.ipynb", 12)) == ("/a/n.ipynb", 12)
    assert cell_file("/a/n.ipynb", 0) == "/a/n.ipynb"
    assert parted("/a/train.py#cell-1") == ("/a/train.py#cell-1", 0)
    assert spoken("seen at n.ipynb#cell-3:5, and n.py#cell-3") == "seen at n.ipynb:cell 3:5, and n.py#cell-3"
    assert parted(cell_file("", 12)) == ("", 12)
    assert spoken(f"seen at {cell_file('', 3)}:5") == "seen at cell 3:5"


# ---------------------------------------------------------------------------------------------------------- the magics


@pytest.mark.parametrize(
    ("source", "python"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("x = 1\n!pip install a \\\n    b\ny = 2", "x = 1\npass\n\ny = 2"),
        (
            "if x:\n    !ls\n    %who\nelse:\n    %cd data",
            "if x:\n    pass\n    pass\nelse:\n    get_ipython().run_line_magic('cd', 'data')",
        ),
        ("%time y = f(x)", "0    ;y = f(x)"),
        ("%timeit -n 3 -r1 f(x)", "0               ;f(x)"),
        ("z = %time f(x)", "z =       f(x)"),
        ("%time for i in x: f(i)", "for i in x: f(i)"),
        ("%time", "pass"),
        ("files = !ls data", "files = []"),
        ("made = %sql select 1", "made = None"),
        ("model?", "pass"),
        ("model.fit??", "pass"),
        ("?model", "pass"),
        ("pip install torch", "pass"),
        ("cd data", "get_ipython().run_line_magic('cd', 'data')"),
        ("%run other.py --lr 3", "get_ipython().run_line_magic('run', 'other.py --lr 3')"),
        ("%%time\nx = 1\n!ls", "\nx = 1\npass"),
        ("\n%%capture out --no-stderr\n%%time\nx = 1", "\nout = get_ipython().captured()\n\nx = 1"),
        ("%%capture\nx = 1", "\nx = 1"),
        ("%%timeit -n 2 x = 1\nx + 1", "0            ;x = 1\nx + 1"),
        ("%%bash\nrm -r /\n", "\n\n"),
        ("%%writefile a.py\nx = 1", "\n"),
        ("x = 3 +\n%load_ext a", "x = 3 +\npass"),
    ],
)
def test_what_python_is_made_of_a_cell(source: str, python: str) -> None:
    assert translate(source).source == python


@pytest.mark.parametrize(
    "source",
    [
        "x = 1",
        "y = (a\n% b)",
        'text = """\n%matplotlib inline\n!ls\n%%bash\n"""',
        "a %= 3",
        "await f()",
        "x != y",
        "x = y if z else \\\n    w",
        "x = '?'  # why?",
        "",
    ],
)
def test_python_is_never_changed(source: str) -> None:
    assert translate(source) == (source, ())


def test_what_looks_like_a_magic_in_a_string_or_bracket_stays_beside_real_ones() -> None:
    text = 'text = """\n%matplotlib inline\n!ls\nmodel?\n"""\ny = (a\n% b)\nz = a \\\n% b\n'
    assert translate(f"%pylab\n{text}").source == f"pass\n{text}"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("!ls \\\n  -l", [Said("shell", "!ls -l")]),
        ("%pip install torch", [Said("shell", "%pip install torch")]),
        ("%%bash\nls", [Said("shell", "%%bash")]),
        ("%load_ext a", [Said("skipped", "%load_ext a")]),
        ("model?", [Said("skipped", "model?")]),
        ("%%html\n<b>", [Said("skipped", "%%html")]),
        ("%%time\n%prun f()", [Said("timed", "%%time"), Said("timed", "%prun")]),
        ("%cd a\n%env A=1\n%run b.py", []),
    ],
)
def test_what_is_said_of_it(source: str, said: list[Said]) -> None:
    assert list(translate(source).said) == said


PLAIN = [
    "x = 1",
    "def f(a,\n      b):\n    return a % b",
    'text = """\n%time\n!ls\n"""',
    "for i in range(3):\n    x = (i\n         % 2)\n",
    "# %time or !ls",
    "async def g():\n    await h()",
    "y = x \\\n    % 3",
    "@decorated\nclass A:\n    '''?'''\n\n    z = f'''\n%who {x}\n'''",
    "",
]
MAGICS = [
    "%matplotlib inline",
    "!pip install \\\n  a",
    "x?",
    "%time f(\n)".replace("\n", ""),
    "%cd ..",
    "v = !ls",
    "?x",
]
blocks = st.lists(st.sampled_from(PLAIN) | st.sampled_from(MAGICS), min_size=1, max_size=8)


@given(blocks)
def test_lines_keep_their_numbers_and_plain_ones_their_text(parts: list[str]) -> None:
    source = "\n".join(parts)
    python = translate(source).source
    ast.parse(python)
    before, after = source.split("\n"), python.split("\n")
    assert len(before) == len(after)
    line = 0
    for part in parts:
        count = part.count("\n") + 1
        if part in PLAIN:
            assert after[line : line + count] == before[line : line + count]
        line += count


@pytest.mark.parametrize("path", sorted((ROOT / "sample_models").glob("*.py")), ids=lambda path: path.stem)
def test_a_program_stays_as_it_is_below_a_magic(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert translate(source) == (source, ())
    assert translate(f"%matplotlib inline\n{source}").source == f"pass\n{source}"


@given(st.text(alphabet="%!?x =()'\"\\\n #:", max_size=40))
@settings(max_examples=300)
def test_any_text_keeps_its_number_of_lines(source: str) -> None:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        assert translate(source).source.count("\n") == source.count("\n")
    else:
        assert translate(source).source == source
