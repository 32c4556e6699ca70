"""Functions of native code that write files of which Python does not hear: they are announced to the witness."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter
from types import ModuleType
from typing import Any, NamedTuple

from autograd_doctor.reading.arriving import on_import
from autograd_doctor.runner.stashes import LARGEST_COPY
from autograd_doctor.runner.witness import Witness


class _Writer(NamedTuple):
    """A function of native code that writes a file of which Python does not hear, and where it takes the path."""

    function: str
    position: int
    keyword: str
    mode: int | None = None
    """Where it takes a mode; `r`, which is also the default, writes nothing."""
    shared: int | None = None
    """Where it takes whether what is written is to reach the file, which is not the default."""


_NATIVE = {
    "torch": [
        _Writer("_C.PyTorchFileWriter.__init__", 1, "file_name"),
        _Writer("_C.ScriptModule.save", 1, "filename"),
        _Writer("_C.ScriptModule._save_for_mobile", 1, "filename"),
        _Writer("_C.ScriptFunction.save", 1, "filename"),
        _Writer("from_file", 0, "filename", shared=1),
    ],
    "safetensors._safetensors_rust": [_Writer("serialize_file", 1, "filename")],
    "torchvision.io.image": [_Writer("write_file", 0, "filename")],
    "cv2": [_Writer("imwrite", 0, "filename")],
    "h5py._hl.files": [_Writer("File.__init__", 1, "name", mode=2)],
}


def announce_native_writers(witness: Witness, say: Callable[[str], None]) -> None:
    """Also those of libraries that the program has not imported yet."""

    def arrived(module: ModuleType) -> None:
        for writer in _NATIVE[module.__name__]:
            owner, _, name = writer.function.rpartition(".")
            with suppress(AttributeError):
                holder = attrgetter(owner)(module) if owner else module
                setattr(holder, name, _announcing(getattr(holder, name), writer, witness))

    on_import({**dict.fromkeys(_NATIVE, arrived), "numpy": lambda numpy: _map_privately(numpy, say)})


def _announcing(original: Callable[..., Any], writer: _Writer, witness: Witness) -> Callable[..., Any]:
    @functools.wraps(original)
    def announcing(*args: Any, **kwargs: Any) -> Any:
        reads = _argument(args, kwargs, writer.mode, "mode", "w" if writer.mode is None else "r") == "r"
        if not reads and _argument(args, kwargs, writer.shared, "shared", writer.shared is None):
            witness.announce(_argument(args, kwargs, writer.position, writer.keyword, None))
        return original(*args, **kwargs)

    return announcing


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], position: int | None, keyword: str, default: Any) -> Any:
    return args[position] if position is not None and len(args) > position else kwargs.get(keyword, default)


def _map_privately(numpy: Any, say: Callable[[str], None]) -> None:
    """Large files that are mapped to be written, which is the default even where they are only read, stay as they are.

    The array can be written to all the same: it is mapped for this process alone.
    """
    original = numpy.memmap.__new__

    @functools.wraps(original)
    def __new__(kind: Any, filename: Any, dtype: Any = numpy.uint8, mode: Any = "r+", *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if mode in ("r+", "readwrite") and _is_large(filename):
            say(f"`{os.fsdecode(filename)}` was memory-mapped copy-on-write: nothing written reaches the file")
            mode = "c"
        return original(kind, filename, dtype, mode, *args, **kwargs)

    numpy.memmap.__new__ = __new__


def _is_large(file: Any) -> bool:
    try:
        return os.path.getsize(file) > LARGEST_COPY
    except (OSError, TypeError):
        return False
