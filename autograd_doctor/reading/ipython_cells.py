"""Cells that IPython has run in this process: Python knows each by a file name of IPython's, a person by its number."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from autograd_doctor.reading.places import own_files

_NUMBERED = re.compile(r"<ipython-input-(\d+)-\w+>")
"""Without ipykernel the name says it."""
_LABEL = re.compile(r"In\[(\d+)\]")


class RanCell(NamedTuple):
    """file: as code objects name it. number: of its latest execution, as in `In [3]`. text: as Python got it."""

    file: str
    number: int
    text: str


def cell_number(file: str) -> int:
    """The number of a cell in the order of execution, 0 for what is no cell of IPython's."""
    numbered = _NUMBERED.fullmatch(file)
    if numbered:
        return int(numbered[1])
    label = _LABEL.fullmatch(_label(file))
    return int(label[1]) if label else 0


def ran_cells() -> Iterator[RanCell]:
    """The cells in which places of the program were looked for so far."""
    for file in own_files():
        if number := cell_number(file):
            yield RanCell(file, number, "".join(linecache.getlines(file)))


def _label(file: str) -> str:
    """What IPython shows in place of a file name, in the tracebacks of the program."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    ask = getattr(getattr(shell, "compile", None), "format_code_name", None)
    named = ask(file) if ask is not None else None
    return named[1] if named else ""
