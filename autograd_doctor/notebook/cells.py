"""The code cells of a notebook file: JSON of nbformat 4."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from autograd_doctor.mistakes import Mistake

_NBFORMAT = 4
_MAY_RAISE, _LEFT_OUT = "raises-exception", "skip-execution"
"""Tags of cells that Jupyter's own tools know: go on after an exception, and do not run."""


class Cell(NamedTuple):
    """A cell of code. `number` is what Jupyter shows as `[3]` after all cells were run: empty ones have none."""

    number: int
    source: str
    may_raise: bool = False


def cells(data: bytes, name: str) -> list[Cell]:
    """The cells to run, in order. Raises `Mistake` for what is no notebook of Python code."""
    notebook = _parsed(data, name)
    language = _language(notebook.get("metadata"))
    if not language.lower().startswith(("python", "ipython")):
        raise Mistake(f"{name}: a notebook in {language}, not in Python")
    found = [Cell(number, *code) for number, code in enumerate(_code(notebook["cells"], name), start=1)]
    if not found:
        raise Mistake(f"{name}: the notebook holds no code")
    return found


def _parsed(data: bytes, name: str) -> dict[str, Any]:
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise Mistake(f"{name}: not a notebook: its JSON is broken ({said})") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        raise Mistake(f"{name}: not a notebook: `nbformat` is missing")
    version = notebook["nbformat"]
    if version < _NBFORMAT:
        newer = "`jupyter nbconvert --to notebook --inplace` converts it"
        raise Mistake(f"{name}: a notebook of the old format {version} ({newer})")
    if version > _NBFORMAT:
        raise Mistake(f"{name}: a notebook of format {version}, but only {_NBFORMAT} is supported")
    if not isinstance(notebook.get("cells"), list):
        raise Mistake(f"{name}: not a notebook: `cells` is missing")
    return notebook


def _language(metadata: Any) -> str:
    """What the notebook says of its language; one that says nothing is in Python."""
    sections = [metadata.get(key) for key in ("language_info", "kernelspec")] if isinstance(metadata, Mapping) else []
    info, kernel = [section if isinstance(section, Mapping) else {} for section in sections] or [{}, {}]
    return str(info.get("name") or kernel.get("language") or "python")


def _code(found: list[Any], name: str) -> Iterator[tuple[str, bool]]:
    for position, cell in enumerate(found, start=1):
        if not isinstance(cell, Mapping):
            raise Mistake(f"{name}: not a notebook: the entry of `cells` at position {position} is not a cell")
        if cell.get("cell_type") != "code":
            continue
        source = _text(cell.get("source", ""))
        if source is None:
            raise Mistake(f"{name}: not a notebook: a cell without `source`, at position {position}")
        metadata = cell.get("metadata")
        tags = metadata.get("tags") if isinstance(metadata, Mapping) else None
        tags = tags if isinstance(tags, list) else []
        if source.strip():
            yield "" if _LEFT_OUT in tags else source, _MAY_RAISE in tags


def _text(source: Any) -> str | None:
    """A cell's source is one text, or its lines with their ends."""
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    return source.replace("\r\n", "\n").replace("\r", "\n") if isinstance(source, str) else None


def source_of(data: bytes, number: int) -> str:
    """The source of a cell, by its number. Raises ValueError where there is none."""
    return _text(_numbered(json.loads(data), number)["source"]) or ""


def with_source(data: bytes, number: int, source: str) -> bytes:
    """The notebook with another source for a cell, and every other byte as it was. Raises ValueError where its JSON is
    laid out in a way that cannot be kept."""
    notebook = json.loads(data)
    layout = next((each for each in _LAYOUTS if _laid_out(notebook, data, each) == data), None)
    if layout is None:
        raise ValueError("the layout of its JSON cannot be kept")
    cell = _numbered(notebook, number)
    cell["source"] = source if isinstance(cell["source"], str) else source.splitlines(keepends=True)
    return _laid_out(notebook, data, layout)


_LAYOUTS: tuple[dict[str, Any], ...] = tuple(
    {"indent": indent, "ensure_ascii": ascii_only, "separators": separators}
    for indent in (1, 2, 4, None, "\t")
    for ascii_only in (False, True)
    for separators in (None, (",", ":"))
)


def _laid_out(notebook: dict[str, Any], like: bytes, layout: dict[str, Any]) -> bytes:
    return json.dumps(notebook, **layout).encode() + (b"\n" if like.endswith(b"\n") else b"")


def _numbered(notebook: dict[str, Any], number: int) -> dict[str, Any]:
    """The cell of code that has this number: empty ones have none."""
    filled = (
        cell for cell in notebook["cells"] if cell.get("cell_type") == "code" and (_text(cell["source"]) or "").strip()
    )
    for count, cell in enumerate(filled, start=1):
        if count == number:
            found: dict[str, Any] = cell
            return found
    raise ValueError(f"no cell {number}")
