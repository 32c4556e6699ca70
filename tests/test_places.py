"""Places in the user's source: which files are the user's own, and where in a line something stands."""

from __future__ import annotations

import dis
import json
import linecache
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
import torch

import autograd_doctor
from autograd_doctor.reading import places
from autograd_doctor.reading.places import here, is_own, lines_of, locate, own_frame, own_frames, place

TORCH = str(torch.__file__)
FOLDER = str(Path(TORCH).parent)


def compiled(source: str, path: str) -> CodeType:
    """A code object whose source can be read."""
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    return compile(source, path, "exec")


def line_of(where: str) -> int:
    """The number of the line of this file that ends with a mark."""
    return next(i for i, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.endswith(f"# {where}"))


@pytest.fixture
def targets() -> Iterator[None]:
    yield
    places.set_target_folder(None)


# --------------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("path", "own"),
    [
        (__file__, True),
        ("/home/me/train.py", True),
        ("<string>", True),
        ("<ipython-input-1>", True),
        ("<timed exec>", True),
        ("<__array_function__ internals>", False),
        ("<frozen importlib._bootstrap>", False),
        ("/elsewhere/site-packages/lightning/loop.py", False),
        ("/usr/lib/python3/dist-packages/numpy/core.py", False),
        (TORCH, False),
        (str(json.__file__), False),
        (str(Path(str(autograd_doctor.__file__)).parent / "cli.py"), False),
    ],
)
def test_which_files_are_the_users_own(path: str, own: bool) -> None:
    assert is_own(path) is own


@pytest.mark.usefixtures("targets")
def test_a_library_that_is_the_target_is_the_users_own() -> None:
    assert not is_own(TORCH)
    places.set_target_folder(f"{FOLDER}/")
    assert is_own(TORCH)
    assert not is_own(f"{FOLDER}vision/ops.py")
    places.set_target_folder(None)
    assert not is_own(TORCH)


@pytest.mark.usefixtures("targets")
def test_the_doctor_is_nobodys_target() -> None:
    folder = Path(str(autograd_doctor.__file__)).parent
    places.set_target_folder(str(folder.parent))
    assert not is_own(str(folder / "cli.py"))


# -------------------------------------------------------------------------------------------------------------- frames


def test_frames_go_outwards_from_the_innermost() -> None:
    def inner() -> list[FrameType]:
        return list(own_frames())

    found = inner()
    assert [frame.f_code.co_name for frame in found[:2]] == ["inner", "test_frames_go_outwards_from_the_innermost"]


def test_frames_may_begin_further_out() -> None:
    def called() -> FrameType:
        return next(own_frames(sys._getframe(1)))

    assert called() is sys._getframe()


class Decoder(json.JSONDecoder):
    def decode(self, *_: Any) -> list[FrameType]:
        return list(own_frames())


def test_frames_of_libraries_are_passed_over() -> None:
    found = json.loads("[]", cls=Decoder)
    assert [frame.f_code.co_name for frame in found[:2]] == ["decode", "test_frames_of_libraries_are_passed_over"]


def test_the_innermost_frame_is_where_the_program_stands() -> None:
    assert own_frame() is sys._getframe()
    found = place()
    assert found is not None
    assert found[0] is sys._getframe().f_code
    assert found[1] > 0
    where = here()  # stands here
    assert where is not None
    assert (where.path, where.line, where.function) == (
        __file__, line_of("stands here"), "test_the_innermost_frame_is_where_the_program_stands"
    )  # fmt: skip
    assert (where.column, where.end_line, where.end_column) == (13, where.line, 19)


def test_a_thread_of_a_library_stands_nowhere() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(own_frame).result() is None
        assert pool.submit(place).result() is None
        assert pool.submit(here).result() is None


# --------------------------------------------------------------------------------------------------------------- lines


def test_columns_count_characters() -> None:
    code = compiled("größe = [über]\n", "umlauts.py")
    offset = next(each.offset for each in dis.get_instructions(code) if each.argval == "über")
    where = locate((code, offset))
    assert where is not None
    assert (where.path, where.line, where.column, where.end_line, where.end_column) == ("umlauts.py", 1, 10, 1, 14)
    assert where.function == ""


def test_an_expression_of_several_lines_ends_where_it_ends() -> None:
    code = compiled("x = max(\n    1,\n    2,\n)\n", "several.py")
    offset = next(each.offset for each in dis.get_instructions(code) if each.opname.startswith("CALL"))
    where = locate((code, offset))
    assert where is not None
    assert (where.line, where.column, where.end_line, where.end_column) == (1, 5, 4, 2)


def test_functions_go_by_their_qualified_names() -> None:
    def function() -> object:
        return locate(place())

    assert getattr(function(), "function", "").endswith("<locals>.function")


def test_an_unknown_offset_is_at_the_beginning_of_its_function() -> None:
    code = test_columns_count_characters.__code__
    where = locate((code, 1_000_000))
    assert where is not None
    assert (where.line, where.column, where.end_line, where.end_column) == (
        code.co_firstlineno, 0, code.co_firstlineno, 0
    )  # fmt: skip


def test_an_instruction_without_line_is_at_the_beginning_of_its_function() -> None:
    code = test_columns_count_characters.__code__.replace(co_linetable=b"", co_firstlineno=7)
    where = locate((code, 0))
    assert where is not None
    assert (where.line, where.end_line) == (7, 7)


def test_equal_code_of_two_files_is_told_apart() -> None:
    paths = ["original.py", "copy.py"]
    codes = [compiled("x = 1\n", path) for path in paths]
    assert codes[0] == codes[1]
    assert [getattr(locate((code, 2)), "path", "") for code in codes] == paths


def test_nowhere_has_no_location() -> None:
    assert locate(None) is None


def test_a_line_reaches_from_its_first_instruction_to_its_last() -> None:
    code = compiled("a = 1\nif a:  \n    über = a; x = [über]  \ny = max(\n    1)\n", "statements.py")
    where = lines_of(code, 3)
    assert (where.path, where.line, where.column, where.end_line, where.end_column) == ("statements.py", 3, 5, 3, 25)
    assert where.function == ""
    one = lines_of(code, 4)
    assert (one.column, one.end_column) == (1, 8)


def test_a_line_without_instructions_has_no_columns() -> None:
    where = lines_of(test_columns_count_characters.__code__, 1)
    assert (where.column, where.end_column, where.function) == (0, 0, "test_columns_count_characters")


def test_columns_of_a_source_that_cannot_be_read_are_those_of_its_bytes() -> None:
    code = compile("x = y\n", "/no/such/file.py", "exec")
    where = lines_of(code, 1)
    assert (where.column, where.end_column) == (1, 6)
