"""The files of a program as text that can be changed: as they are on disk, and as changes have made them so far."""

from __future__ import annotations

import io
import os
import sysconfig
import tokenize
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import libcst

from autograd_doctor.fixing.source_tree import Source
from autograd_doctor.notebook import cell_file, parted
from autograd_doctor.notebook.cells import source_of, with_source
from autograd_doctor.notebook.magics import translate

_INSTALLED = frozenset(("site-packages", "dist-packages"))
_LIBRARY = {os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
_NOTHING: Mapping[str, bytes] = MappingProxyType({})


class Sources:
    """Files by their absolute paths; a cell of a notebook is a file of its own.

    changed: the files that are not as on disk, whole. largest: how many characters one may have to be looked at; None
    is no limit.
    """

    def __init__(self, largest: int | None = None) -> None:
        self._largest = largest
        self.changed: Mapping[str, bytes] = _NOTHING
        self.touched: frozenset[str] = frozenset()
        """Which files, or cells, have another text."""
        self._disk: dict[str, bytes] = {}
        self._parsed: dict[str, Source | None] = {}

    def get(self, path: str) -> Source | None:
        """A file, None where it is not the person's to change, or cannot be read as Python."""
        if path not in self._parsed:
            self._parsed[path] = self._parse(path) if is_editable(parted(path)[0]) else None
        return self._parsed[path]

    def text(self, path: str) -> str:
        """All of a file, or of a cell. Raises OSError, and ValueError for what is no text."""
        file, cell = parted(path)
        data = self.data(file)
        return source_of(data, cell) if cell else data.decode(_encoding(data))

    def with_text(self, path: str, text: str) -> Sources:
        """The same with another text for a file. Raises what `text` does, and ValueError for a notebook whose JSON is
        laid out in a way that could not be kept."""
        file, cell = parted(path)
        data = self.data(file)
        changed = with_source(data, cell, text) if cell else text.encode(_encoding(data))
        other = Sources(self._largest)
        other.changed = {**self.changed, file: changed}
        other.touched = self.touched | {path}
        other._disk = self._disk
        return other

    def data(self, file: str) -> bytes:
        """A file as it is with the changes, and else as it was when it was first looked at; raises OSError."""
        if file in self.changed:
            return self.changed[file]
        if file not in self._disk:
            self._disk[file] = Path(file).read_bytes()
        return self._disk[file]

    def _parse(self, path: str) -> Source | None:
        try:
            text, (file, cell) = self.text(path), parted(path)
            if self._largest is not None and len(text) > self._largest:
                return None
            earlier = (self.get(cell_file(file, number)) for number in range(1, cell))
            return Source(path, text, translate(text).source if cell else text, list(filter(None, earlier)))
        except (OSError, ValueError, SyntaxError, RecursionError, libcst.ParserSyntaxError):
            return None


def is_editable(file: str) -> bool:
    """Whether a person would change this file: it is no library's, it is there, and it may be written."""
    real = os.path.realpath(file)
    if not _INSTALLED.isdisjoint(Path(real).parts) or any(real.startswith(each + os.sep) for each in _LIBRARY):
        return False
    return file.endswith((".py", ".pyw", ".ipynb")) and os.path.isfile(real) and os.access(real, os.W_OK)


def _encoding(data: bytes) -> str:
    """The encoding that a file declares; one that begins with a mark keeps it."""
    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
