"""Texts compared line by line: edits lead from one to the other, diffs are what `git apply` takes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd_doctor.findings import Edit
from autograd_doctor.fixing.line_edits import carried_over, diff, edits, moved

LINES = st.lists(st.sampled_from(["a\n", "b\n", "  c\r\n", "\n", "d\r", "\x0ce\n"]), max_size=8)
TEXTS = st.builds(lambda lines, end: "".join(lines) + end, LINES, st.sampled_from(["", "end", "a"]))


def _applied(text: str, made: tuple[Edit, ...]) -> str:
    starts = [0]
    for position, character in enumerate(text):
        if character == "\n" or (character == "\r" and text[position + 1 : position + 2] != "\n"):
            starts.append(position + 1)
    starts.append(len(text))
    for edit in reversed(made):
        text = text[: starts[edit.line - 1]] + edit.content + text[starts[edit.end_line - 1] :]
    return text


@given(TEXTS, TEXTS)
def test_edits_make_the_second_text_of_the_first(before: str, after: str) -> None:
    assert _applied(before, edits("train.py", before, after)) == after


@given(TEXTS, TEXTS)
def test_lines_keep_their_order_and_none_is_two(before: str, after: str) -> None:
    there = list(moved(before, after).values())
    assert there == sorted(set(there))


def test_a_line_that_is_indented_or_written_otherwise_is_the_same_line() -> None:
    assert moved("a\nb\nc\n", "a\nwith x:\n    b\nd\n") == {1: 1, 2: 3, 3: 4}


@given(TEXTS, TEXTS)
def test_a_text_of_the_same_lines_takes_the_change(before: str, after: str) -> None:
    assert carried_over(before, before, after) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\nb", "a\nb\nc"),
        ("a\nb", "a\nb\n"),
        ("a\r\nb\r\n", "a\r\nnew\r\nb\r\n"),
        ("x = 'caf\xe9'\n", "x = 'caf\xe9'\ny = 1\n"),
        ("a\n" * 20 + "b\n" + "a\n" * 20, "a\n" * 20 + "c\n" + "a\n" * 20),
    ],
)
def test_git_takes_a_diff(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "train.py"
    file.write_bytes(before.encode())
    patch = diff("train.py", before, after).encode()
    subprocess.run(["git", "apply", "-"], input=patch, cwd=tmp_path, check=True)
    assert file.read_bytes() == after.encode()


def test_a_file_elsewhere_is_named_from_the_root() -> None:
    assert diff("/there/train.py", "a\n", "b\n").startswith("--- a/there/train.py\n+++ b/there/train.py\n")
