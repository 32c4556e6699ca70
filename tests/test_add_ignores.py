"""`--add-ignore`: comments go where statements end, and the program stays what it is."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import at, finding_rule, judged, training

from autograd_doctor import cli
from autograd_doctor.command import checking
from autograd_doctor.command.add_ignores import add_ignores, with_comments
from autograd_doctor.command.request import Request
from autograd_doctor.report import Report


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        ("a()\nb()\n", 2, "a()\nb()  # doctor: ignore[AD101] why\n"),
        ("a()   \n", 1, "a()  # doctor: ignore[AD101] why\n"),
        ("a()", 1, "a()  # doctor: ignore[AD101] why"),
        ("a()\r\nb()\r\n", 1, "a()  # doctor: ignore[AD101] why\r\nb()\r\n"),
        ("a(\n    b,  # here\n)\n", 2, "a(\n    b,  # here\n)  # doctor: ignore[AD101] why\n"),
        ("x = '''\n# one\n'''\n", 2, "x = '''\n# one\n'''  # doctor: ignore[AD101] why\n"),
        ("x = 1 + \\\n    2\n", 1, "x = 1 + \\\n    2  # doctor: ignore[AD101] why\n"),
        ("for x in y:\n    a()\n", 1, "for x in y:  # doctor: ignore[AD101] why\n    a()\n"),
        ("if x: a()\n", 1, "if x: a()  # doctor: ignore[AD101] why\n"),
        ("a()  # noqa: E1\n", 1, "a()  # noqa: E1  # doctor: ignore[AD101] why\n"),
        ("a()  # doctor: ignore[AD202] so\n", 1, "a()  # doctor: ignore[AD202, AD101] so\n"),
        ("a()  # doctor: ignore[AD202, AD101]\n", 1, "a()  # doctor: ignore[AD202, AD101]\n"),
        ("é = 'ü'; a()  # doctor: ignore[AD202]\n", 1, "é = 'ü'; a()  # doctor: ignore[AD202, AD101]\n"),
        ("@d\ndef f(): ...\n", 1, "@d  # doctor: ignore[AD101] why\ndef f(): ...\n"),
    ],
)
def test_a_comment_goes_to_the_end_of_the_statement(before: str, line: int, after: str) -> None:
    assert with_comments(before, {line: ["AD101"]}, "why") == after


@pytest.mark.parametrize(("text", "line"), [("a()\n\nb()\n", 2), ("a(\n", 1), ("", 1), ("# only a comment\n", 1)])
def test_where_no_statement_is_nothing_is_written(text: str, line: int) -> None:
    assert with_comments(text, {line: ["AD101"]}, "") is None


def test_findings_of_one_statement_share_a_comment() -> None:
    both = with_comments("a(\n  b)\nc()\n", {1: ["AD301"], 2: ["AD101", "AD301"]}, "")
    assert both == "a(\n  b)  # doctor: ignore[AD301, AD101]\nc()\n"


_STATEMENTS = [
    "a()",
    "x = (1,\n  2)",
    "s = '''\n# doctor: ignore[AD1]\n'''",
    "if a:\n    b()  # c",
    "y = 1 \\\n  + 2  # d",
]


@given(st.lists(st.sampled_from(_STATEMENTS), min_size=1, max_size=5), st.data(), st.text(max_size=10))
def test_the_program_stays_the_same_and_once_is_enough(parts: list[str], data: st.DataObject, reason: str) -> None:
    text = "\n".join(parts) + "\n"
    line = data.draw(st.integers(1, text.count("\n")))
    once = with_comments(text, {line: ["AD101"]}, reason)
    assert once is not None
    assert ast.dump(ast.parse(once)) == ast.dump(ast.parse(text))
    assert once.count("\n") == text.count("\n")
    assert with_comments(once, {line: ["AD101"]}, "other") == once


def report_on(folder: Path, path: str) -> Report:
    return judged(training(cwd=str(folder)), finding_rule("AD101", {"location": at(folder / path, 1)}))


def test_what_was_written_silences(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes("# coding: latin-1\nz = 'ü'\n".encode("latin-1"))
    (tmp_path / "train.py").chmod(0o755)
    made = finding_rule("AD101", {"location": at(tmp_path / "train.py", 2)})
    report = judged(training(cwd=str(tmp_path)), made)
    (said,) = add_ignores(report, tmp_path, "on purpose")
    assert said.startswith("`doctor: ignore[AD101]` was written for ")
    text = (tmp_path / "train.py").read_text(encoding="latin-1")
    assert text == "# coding: latin-1\nz = 'ü'  # doctor: ignore[AD101] on purpose\n"
    assert (tmp_path / "train.py").stat().st_mode & 0o777 == 0o755
    assert judged(training(cwd=str(tmp_path)), made).findings == []
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


@pytest.mark.parametrize("path", ["venv/lib/site-packages/timm.py", "../beside.py", "a.ipynb#cell-1", "a.txt"])
def test_files_of_others_are_left_alone(tmp_path: Path, path: str) -> None:
    home = tmp_path / "home"
    file = home / path
    home.mkdir()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("a()\n")
    assert [said.startswith("AD101 got no comment") for said in add_ignores(report_on(home, path), home, "")] == [True]
    assert file.read_text() == "a()\n"


@pytest.mark.parametrize(
    ("typed", "reason", "arguments"),
    [
        (["--add-ignore", "train.py", "--lr", "3"], "", ["--lr", "3"]),
        (["--add-ignore=for now", "train.py"], "for now", []),
        (["--add-ignore", "train.py", "--add-ignore"], "", ["--add-ignore"]),
        (["train.py", "--add-ignore", "x"], None, ["--add-ignore", "x"]),
    ],
)
def test_the_reason_is_optional(
    monkeypatch: pytest.MonkeyPatch, typed: list[str], reason: str | None, arguments: list[str]
) -> None:
    requests: list[Request] = []
    monkeypatch.setattr(checking, "check", lambda request: requests.append(request) or 0)
    monkeypatch.setattr(sys, "argv", ["doctor", "check", *typed])
    with pytest.raises(SystemExit):
        cli.main()
    (request,) = requests
    assert (request.asked.add_ignore, request.name, list(request.arguments)) == (reason, "train.py", arguments)
