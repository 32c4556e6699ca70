"""From the source of a cell to Python, line for line: what IPython adds to the language is translated or left out.

A cell that is Python already stays as it is. In any other, only the lines at which a statement begins are looked at;
the others belong to strings and brackets that were opened before.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple

Kind = Literal["skipped", "shell", "timed"]

TOP_LEVEL_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
DONE_BY_THE_SHELL = ("cd", "env", "set_env", "run")
"""Line magics that the notebook's own shell carries out."""
TIMED = ("time", "timeit", "prun")
"""Magics that run code to measure it: here it is run once, and not measured."""
OF_A_SHELL = ("bash", "sh", "script", "system", "sx", "cmd", "perl", "ruby", "pip", "conda", "mamba", "uv")
_CAPTURE = "capture"

_SPECIAL = re.compile(r"(?P<indent>\s*)(?P<to>[\w.,\[\] ]+=\s*)?(?P<mark>%|!!?|\?\??)(?P<rest>.*)", re.DOTALL)
_HELP = re.compile(r"(?P<indent>\s*)[%\w.*\[\]'\"]+\?\??\s*;?\s*(#.*)?")
_PLAIN_COMMAND = re.compile(r"(?P<indent>\s*)(?P<name>pip|conda|mamba|cd)\s+(?P<rest>[^=(\s].*)", re.DOTALL)
"""What IPython takes for a magic although the `%` is missing."""
_CELL_MAGIC = re.compile(r"%%(?P<name>\w+)(?P<rest>.*)")
_TIMING_OPTIONS = re.compile(r"\s*(?:-[nrp]\s*\d+\s+|-[a-z]\s+)*")


class Said(NamedTuple):
    """Something of a cell that does not run as IPython would run it."""

    kind: Kind
    text: str


class Translated(NamedTuple):
    """The Python of a cell, with as many lines, and what is to be said of it."""

    source: str
    said: tuple[Said, ...] = ()


def translate(source: str) -> Translated:
    """The cell as Python. What is neither Python nor known to IPython stays, for Python to complain of."""
    if _is_python(source):
        return Translated(source)
    lines = source.split("\n")
    first = next(number for number, line in enumerate(lines) if line.strip())
    match = _CELL_MAGIC.match(lines[first])
    return _cell(lines, first, match["name"], match["rest"]) if match else _lines(lines)


def _is_python(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<cell>", "exec", ast.PyCF_ONLY_AST | TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError:
        return False
    except (ValueError, RecursionError, MemoryError):
        return True  # no magic would make it better
    return True


# -------------------------------------------------------------------------------------------------------- whole cells


def _cell(lines: Sequence[str], first: int, name: str, rest: str) -> Translated:
    """A cell that begins with `%%name`: its body is run, or all of it is left out."""
    magic = f"%%{name}{rest}".strip()
    if name not in (*TIMED, _CAPTURE):
        return Translated("\n" * (len(lines) - 1), (Said("shell" if name in OF_A_SHELL else "skipped", magic),))
    said = (Said("timed", f"%%{name}"),) if name in TIMED else ()
    head = _captured(rest) if name == _CAPTURE else _set_up(name, rest)
    body = "\n".join(lines[first + 1 :])
    translated = translate(body) if body.strip() else Translated(body)
    source = "\n".join([*lines[:first], head, translated.source][: len(lines)])
    return Translated(source, (*said, *translated.said))


def _set_up(name: str, rest: str) -> str:
    """The statement that `%%timeit` runs before its body."""
    code = _TIMING_OPTIONS.sub("", f"{rest} ", count=1).rstrip()
    return _kept_in_place(" " * (len(rest) + 2 + len(name) - len(code)), code) if name == "timeit" and code else ""


def _captured(rest: str) -> str:
    """`%%capture out` binds a name to what was written, which is shown here instead."""
    name = next((word for word in rest.split() if not word.startswith("-")), "")
    return f"{name} = get_ipython().captured()" if name.isidentifier() else ""


# ------------------------------------------------------------------------------------------------------- single lines


def _lines(lines: Sequence[str]) -> Translated:
    done: list[str] = []
    said: list[Said] = []
    while len(done) < len(lines):
        start = len(done)
        found = _special(lines, start)
        if found is None:
            done += lines[start : _end_of_statement(lines, start)]
        else:
            done += [found.line] + [""] * (found.lines - 1)
            said += found.said
    return Translated("\n".join(done), tuple(said))


class _Replaced(NamedTuple):
    """The line of Python in place of something of IPython's, and how many lines that took."""

    line: str
    lines: int
    said: list[Said]


def _special(lines: Sequence[str], start: int) -> _Replaced | None:
    """What is to be done about the statement that begins at a line, None if that is up to Python."""
    if match := _HELP.fullmatch(lines[start]):
        return _Replaced(f"{match['indent']}pass", 1, [Said("skipped", lines[start].strip())])
    end = start + 1
    while lines[end - 1].endswith("\\") and end < len(lines):
        end += 1
    text = "\n".join(lines[start:end])
    if (match := _PLAIN_COMMAND.fullmatch(text)) and not _is_python(text.strip()):
        line = _magic(match["indent"], "", match["name"], match["rest"], text)
        return _Replaced(line, end - start, _about("%", match["name"], text))
    if (match := _SPECIAL.fullmatch(text)) is None:
        return None
    indent, to, rest = match["indent"], match["to"] or "", match["rest"]
    if match["mark"] == "%":
        name, _, rest = rest.replace("\t", " ").partition(" ")
        return _Replaced(_magic(indent, to, name, rest, text), end - start, _about("%", name, text))
    return _Replaced(f"{indent}{to}[]" if to else f"{indent}pass", end - start, _about(match["mark"], "", text))


def _magic(indent: str, to: str, name: str, rest: str, text: str) -> str:
    """What runs in place of `%name rest`; measured code keeps its columns."""
    if name in TIMED:
        code = _TIMING_OPTIONS.sub("", rest, count=1)
        before = text[len(indent + to) : len(text) - len(code)]
        return indent + (f"{to}{' ' * len(before)}{code}" if to else _kept_in_place(before, code))
    if name in DONE_BY_THE_SHELL:
        return f"{indent}{to}get_ipython().run_line_magic({name!r}, {_joined(rest)!r})"
    return f"{indent}{to}None" if to else f"{indent}pass"


def _about(mark: str, name: str, text: str) -> list[Said]:
    said = " ".join(_joined(text).split())
    if mark.startswith("!") or name in OF_A_SHELL:
        return [Said("shell", said)]
    if name in TIMED:
        return [Said("timed", f"%{name}")]
    return [] if name in DONE_BY_THE_SHELL else [Said("skipped", said)]


def _kept_in_place(before: str, code: str) -> str:
    """Code that keeps its columns although what stood before it is gone, if it can follow a `;`."""
    padded = f"0{' ' * (len(before) - 2)};{code}"
    if not code.strip():
        return "pass"
    return padded if len(before) > 1 and _is_python(padded) else code


def _joined(text: str) -> str:
    return text.replace("\\\n", " ").strip()


def _end_of_statement(lines: Sequence[str], start: int) -> int:
    """The line after the statement that begins on this one."""
    for end in range(start + 1, len(lines)):
        if _is_whole("\n".join(lines[start:end]) + "\n"):
            return end
    return len(lines)


def _is_whole(text: str) -> bool:
    """Whether nothing is left open: no bracket, no string, no line that goes on."""
    if text.endswith("\\\n"):
        return False
    try:
        for _ in tokenize.generate_tokens(io.StringIO(text).readline):
            pass
    except (tokenize.TokenError, SyntaxError) as error:
        return not any(word in str(error) for word in ("EOF in multi-line", "triple-quoted"))
    return True
