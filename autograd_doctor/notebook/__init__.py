"""Notebooks: which cells they hold, what Python makes of their magics, and how a place in a cell is named.

Each cell counts its lines from 1, so each is a file of its own wherever a path is asked for: in code objects,
tracebacks and locations it is called `train.ipynb#cell-3`. A person reads `train.ipynb:cell 3`.

The notebook that is running in IPython is no file that anybody knows: its path is empty, and its cells are numbered as
they ran. They are called `<cell 3>`, and a person reads `cell 3`.
"""

from __future__ import annotations

import re

_CELL = re.compile(r"(?P<path>.*\.ipynb)#cell-(?P<number>\d+)", re.DOTALL)
_RUNNING = re.compile(r"<cell (?P<number>\d+)>")
_IN_TEXT = re.compile(r"\.ipynb#cell-(\d+)")


def cell_file(path: str, number: int) -> str:
    """The name under which Python knows a cell; `path` itself for 0, which is no cell."""
    if not number:
        return path
    return f"{path}#cell-{number}" if path else f"<cell {number}>"


def parted(file: str) -> tuple[str, int]:
    """The path of a file on disk, and the number of the cell in it, 0 if it is no notebook's."""
    if running := _RUNNING.fullmatch(file):
        return "", int(running["number"])
    match = _CELL.fullmatch(file)
    return (match["path"], int(match["number"])) if match else (file, 0)


def spoken(text: str) -> str:
    """A text in which cells are named as a person reads them."""
    return _RUNNING.sub(r"cell \g<number>", _IN_TEXT.sub(r".ipynb:cell \1", text))
