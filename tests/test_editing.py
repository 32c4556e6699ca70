"""Changes to a file: what comes, goes or is wrapped, and all else as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import libcst as cst
import pytest

from autograd_doctor.fixing.changed_sources import Sources, is_editable
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source, Statement, operand
from autograd_doctor.report import Place
from tests.notebooks import notebook

Change = Callable[[Editing, Statement], object]


def place(line: int, column: int = 0, end_line: int = 0, end_column: int = 0) -> Place:
    return Place(
        path="train.py",
        line=line,
        column=column,
        end_line=end_line or line,
        end_column=end_column,
        function="",
        snippet="",
    )


def changed(text: str, line: int, change: Change, column: int = 0) -> str:
    source = Source("train.py", text, text)
    statement = source.statement(place(line, column))
    assert statement is not None
    editing = Editing(source)
    change(editing, statement)
    return editing.text()


def test_a_statement_comes_below_empty_lines_and_above_comments() -> None:
    text = "for x in y:\n    a()\n\n    # why\n    b()\n"
    assert changed(text, 5, lambda e, s: e.before(s, "new()")) == (
        "for x in y:\n    a()\n\n    new()\n    # why\n    b()\n"
    )


def test_a_statement_comes_behind_another_with_its_remark() -> None:
    assert changed("a()  # first\nb()\n", 1, lambda e, s: e.after(s, "new()")) == "a()  # first\nnew()\nb()\n"


def test_several_statements_of_a_line_stay_in_it() -> None:
    assert changed("if x: a(); b()\n", 1, lambda e, s: e.after(s, "new()"), column=7) == "if x: a(); new(); b()\n"


def test_tabs_and_line_ends_are_those_of_the_file() -> None:
    text = "def f():\r\n\tif x:\r\n\t\ta()\r\n"
    assert changed(text, 3, lambda e, s: e.before(s, "new()")) == "def f():\r\n\tif x:\r\n\t\tnew()\r\n\t\ta()\r\n"


def test_statements_are_wrapped_with_their_comments_and_strings() -> None:
    text = 'def f():\n    # why\n    a = """x\n  y"""\n    b()\n    c()\n'
    source = Source("train.py", text, text)
    first = source.statement(place(3))
    assert first is not None
    made = Editing(source).wrap(source.block(first)[:2], "with torch.no_grad():").text()
    assert made == ('def f():\n    # why\n    with torch.no_grad():\n        a = """x\n  y"""\n        b()\n    c()\n')


def test_a_block_is_unwrapped() -> None:
    text = "with torch.no_grad():\n    a()\n    # why\n    b()\nc()\n"
    source = Source("train.py", text, text)
    block = next(source.all(cst.With))
    assert Editing(source).unwrap(block).text() == "a()\n# why\nb()\nc()\n"


def test_an_expression_keeps_the_parentheses_that_hold_its_line_break() -> None:
    text = "loss = (\n    f(x)\n)\n"
    source = Source("train.py", text, text)
    call = source.at(place(2, 5, 2, 9), cst.Call)
    assert call is not None
    assert Editing(source).replace(call, "f(x).mean()").text() == "loss = (\n    f(x).mean()\n)\n"


@pytest.mark.parametrize(
    ("code", "said"), [("x", "x"), ("a + b", "(a + b)"), ("f(x)[0].y", "f(x)[0].y"), ("-x", "(-x)")]
)
def test_an_operand_stands_in_parentheses_where_it_must(code: str, said: str) -> None:
    assert operand(code) == said


def test_torch_goes_by_the_name_that_the_file_has_for_it() -> None:
    for text, name in (("import torch as t\n", "t"), ("import os, torch\n", "torch"), ("import torchvision\n", "")):
        assert Source("train.py", text, text).torch() == name


def test_torch_is_imported_where_it_is_not() -> None:
    text = '"""Doc."""\nimport os\nfrom torch import nn\n\nf()\n'
    source = Source("train.py", text, text)
    editing = Editing(source)
    assert editing.torch() == "torch"
    assert editing.text() == '"""Doc."""\nimport os\nfrom torch import nn\nimport torch\n\nf()\n'


def test_what_was_observed_is_found_by_its_span() -> None:
    text = "a = f(g(x)); b = h(x)\n"
    source = Source("train.py", text, text)
    found = source.at(place(1, 7, 1, 11), cst.Call)
    assert found is not None
    assert source.code(found) == "g(x)"
    assert source.at(place(1, 7, 1, 12), cst.Call) is None
    second = source.statement(place(1, 18, 1, 22))
    assert second is not None
    assert source.code(second) == "b = h(x)"


# ---------------------------------------------------------------------------------------------------------------- files


def test_a_file_keeps_its_encoding_its_mark_and_its_line_ends(tmp_path: Path) -> None:
    for data in (b"# -*- coding: latin-1 -*-\r\nx = 'caf\xe9'\r\n", b"\xef\xbb\xbfx = 'caf\xc3\xa9'\n"):
        file = tmp_path / "train.py"
        file.write_bytes(data)
        sources = Sources()
        source = sources.get(str(file))
        assert source is not None
        statement = source.statement(place(1 if data.startswith(b"\xef") else 2))
        assert statement is not None
        text = Editing(source).after(statement, "y = 1").text()
        end = b"\r\n" if b"\r" in data else b"\n"
        assert sources.with_text(str(file), text).changed == {str(file): data + b"y = 1" + end}
        assert file.read_bytes() == data


def test_a_cell_is_changed_and_no_other_byte_of_its_notebook(tmp_path: Path) -> None:
    file = tmp_path / "train.ipynb"
    file.write_text(notebook("%matplotlib inline\nimport torch", "!ls\na = 1\nb = 2"), encoding="utf-8")
    before = file.read_bytes()
    sources = Sources()
    source = sources.get(f"{file}#cell-2")
    assert source is not None
    statement = source.statement(place(2))
    assert statement is not None
    text = Editing(source).after(statement, "new()").text()
    (after,) = sources.with_text(f"{file}#cell-2", text).changed.values()
    assert after == before.replace(b'"a = 1\\n", ', b'"a = 1\\n", "new()\\n", ')


def test_a_cell_knows_what_cells_before_it_have_imported(tmp_path: Path) -> None:
    file = tmp_path / "train.ipynb"
    file.write_text(notebook("%pylab\nimport torch as t", "from torch import nn", "a = 1"), encoding="utf-8")
    source = Sources().get(f"{file}#cell-3")
    assert source is not None
    assert (source.torch(), source.name_of("torch", "nn")) == ("t", "nn")
    first = Sources().get(f"{file}#cell-1")
    assert first is not None
    assert first.name_of("torch", "nn") == "t.nn"


def test_what_many_cells_import_is_looked_for_once_in_each(tmp_path: Path) -> None:
    file = tmp_path / "train.ipynb"
    file.write_text(notebook("import torch", *["a = 1"] * 40), encoding="utf-8")
    source = Sources().get(f"{file}#cell-41")
    assert source is not None
    assert source.torch() == "torch"


def test_a_notebook_laid_out_in_a_way_that_cannot_be_kept_is_not_changed(tmp_path: Path) -> None:
    file = tmp_path / "train.ipynb"
    file.write_text(notebook("a = 1").replace('"cells"', '   "cells"'), encoding="utf-8")
    with pytest.raises(ValueError, match="layout"):
        Sources().with_text(f"{file}#cell-1", "b = 1")


def test_libraries_and_what_may_not_be_written_are_nobodys_to_change(tmp_path: Path) -> None:
    import libcst

    file = tmp_path / "train.py"
    file.write_text("a = 1\n")
    assert is_editable(str(file))
    assert not is_editable(str(libcst.__file__))
    assert not is_editable(str(Path(pytest.__file__)))
    assert not is_editable(str(tmp_path / "gone.py"))
    assert not is_editable(str(tmp_path))
