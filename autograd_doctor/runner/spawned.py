"""What processes that `multiprocessing` starts anew, and not by a fork, do before anything else."""

from __future__ import annotations

import functools
import multiprocessing.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograd_doctor.lent import lent_here
from autograd_doctor.own_python import LOADS_PACKAGE

_STARTS = ("from multiprocessing.spawn ", "from multiprocessing.forkserver ")
_FIRST = """
try:
    exec({loads_package!r}, {{}})
    {what}
except ImportError:
    pass
"""
_WITNESS = "from autograd_doctor.runner.spawned import witness_here; witness_here({scratch!r}, *{own!r})"
_LENT = "from autograd_doctor.lent import lend; lend({name!r}, {folder!r})"
_first: list[str] = []


def watch_spawned(scratch: Path, *own: Path) -> None:
    """From now on, whatever Python program `multiprocessing` starts keeps the files that it changes as well."""
    do_first(_WITNESS.format(scratch=str(scratch.absolute()), own=[str(each.absolute()) for each in own]))


def do_first(what: str) -> None:
    """From now on, whatever Python program `multiprocessing` starts does this first, in one line."""
    if not _first:
        multiprocessing.util.spawnv_passfds = _spawning(multiprocessing.util.spawnv_passfds)
        _first.extend(_LENT.format(name=name, folder=folder) for name, folder in lent_here())
    _first.append(what)


def _spawning(start: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(start)
    def spawnv_passfds(path: Any, args: Any, passfds: Any) -> int:
        first = _FIRST.format(loads_package=LOADS_PACKAGE, what="\n    ".join(_first))
        args = [first + arg if isinstance(arg, str) and arg.startswith(_STARTS) else arg for arg in args]
        return start(path, args, passfds)

    return spawnv_passfds


def witness_here(scratch: str, *own: str) -> None:
    """In such a process: it writes into the same journal."""
    from autograd_doctor.runner.keeper import Keeper
    from autograd_doctor.runner.native_writers import announce_native_writers
    from autograd_doctor.runner.witness import Witness

    witness = Witness(Keeper(Path(scratch), own=tuple(map(Path, own))), _unsaid)
    announce_native_writers(witness, _unsaid)
    witness.listen()


def _unsaid(_: str) -> None:
    """Nothing is printed from here."""
