"""Processes that `multiprocessing` starts anew, and not by a fork, have the files that they change kept as well."""

from __future__ import annotations

import functools
import multiprocessing.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograd_doctor.runner.keeper import Keeper
from autograd_doctor.runner.witness import Witness

_STARTS = ("from multiprocessing.spawn ", "from multiprocessing.forkserver ")
_FIRST = """
import sys
sys.path.insert(0, {folder!r})
try:
    from autograd_doctor.runner.spawned import witness_here
    witness_here({scratch!r}, {trace!r})
except ImportError:
    pass
finally:
    sys.path.remove({folder!r})
"""
_FOLDER = str(Path(__file__).parents[2])


def watch_spawned(scratch: Path, trace: Path) -> None:
    """From now on, whatever Python program `multiprocessing` starts does this first."""
    start: Callable[..., int] = multiprocessing.util.spawnv_passfds
    first = _FIRST.format(folder=_FOLDER, scratch=str(scratch.absolute()), trace=str(trace.absolute()))

    @functools.wraps(start)
    def spawnv_passfds(path: Any, args: Any, passfds: Any) -> int:
        args = [first + arg if isinstance(arg, str) and arg.startswith(_STARTS) else arg for arg in args]
        return start(path, args, passfds)

    multiprocessing.util.spawnv_passfds = spawnv_passfds


def witness_here(scratch: str, trace: str) -> None:
    """In such a process: it writes into the same journal."""
    from autograd_doctor.runner.native_writers import announce_native_writers

    witness = Witness(Keeper(Path(scratch), own=(Path(trace),)), _unsaid)
    announce_native_writers(witness, _unsaid)
    witness.listen()


def _unsaid(_: str) -> None:
    """Nothing is printed from here."""
