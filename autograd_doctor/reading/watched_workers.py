"""What workers of a trial do: what would be seen outside of them is refused, and told to the process that tries."""

from __future__ import annotations

import mmap
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.util import Finalize
from typing import Any

from torch.utils.data import get_worker_info

from autograd_doctor.reading.trials import Undecided

_EFFECTS = (
    ("writes files", frozenset({
        "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink",
        "os.truncate", "os.utime",
    })),
    ("takes a lock on a file", frozenset({"fcntl.flock", "fcntl.lockf"})),
    ("uses the network", frozenset({"socket.bind", "socket.connect", "socket.sendmsg", "socket.sendto"})),
    ("starts other programs", frozenset({
        "os.exec", "os.fork", "os.posix_spawn", "os.system", "subprocess.Popen",
    })),
)  # fmt: skip
"""What others would notice, and the events by which Python tells audit hooks of it."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_EFFECT, _ASKED = 0, 1
"""Places in the memory that is shared: the number of the first effect, and whether somebody asked."""
_PATIENCE = 20
"""Seconds to wait for one batch."""
_FIRST = 1_000
"""Of what a process does when it ends, such as removing its own temporary files."""


class Refused(Exception):
    """Something outside of the worker would have been changed."""


class WatchedWorkers:
    """Give `options` to a loader; the `worker_init_fn` among them calls the one that the program gave.

    refusal: what a worker was about to do that would have been seen outside, and was not done; "" without any. asked:
    a worker asked `get_worker_info` which one it is.
    """

    def __init__(self, worker_init_fn: Callable[[int], Any] | None) -> None:
        self._init = worker_init_fn
        self._seen = mmap.mmap(-1, 2)
        """Workers share it with the process that they are forked from."""

    @property
    def refusal(self) -> str:
        number = self._seen[_EFFECT]
        return f"reading {_EFFECTS[number - 1][0]}, so that they were not tried" if number else ""

    @property
    def asked(self) -> bool:
        return bool(self._seen[_ASKED])

    @property
    def options(self) -> dict[str, Any]:
        """For the loader whose workers these are."""
        return {"timeout": _PATIENCE, "worker_init_fn": self.begin, "multiprocessing_context": "fork"}

    def begin(self, worker: int) -> None:
        """In a worker. It is gone after the trial, and what is changed in it is, too."""
        reading = [threading.get_ident()]
        Finalize(None, reading.clear, exitpriority=_FIRST)
        sys.dont_write_bytecode = True

        def refuse(event: str, arguments: tuple[Any, ...]) -> None:
            effect = _effect(event, arguments)
            if effect and threading.get_ident() in reading:
                self._seen[_EFFECT] = effect
                raise Refused(event)

        sys.addaudithook(refuse)
        self._tell_when_asked()
        if self._init is not None:
            self._init(worker)

    def _tell_when_asked(self) -> None:
        info: Any = get_worker_info()
        kind, seen = type(info), self._seen

        class Telling(kind):  # type: ignore[misc,valid-type]
            __slots__ = ()

            def __getattribute__(self, name: str) -> Any:
                if name in ("id", "num_workers"):
                    seen[_ASKED] = 1
                return super().__getattribute__(name)

        object.__setattr__(info, "__class__", Telling)


def _effect(event: str, arguments: tuple[Any, ...]) -> int:
    """The number of the effect that an event tells of, from 1 on; 0 where it tells of none."""
    if event == "open":
        path, _, flags = arguments
        return int(path != os.devnull and bool(flags & _WRITING))
    return next((number for number, (_, events) in enumerate(_EFFECTS, 1) if event in events), 0)


@contextmanager
def undecided_if_workers_fail(watched: WatchedWorkers) -> Iterator[None]:
    """A block in which workers read. Raises `Undecided` where they fail, or were refused anything."""
    try:
        yield
    except Undecided:
        raise
    except Exception as error:
        raise Undecided(watched.refusal or f"workers fail: {type(error).__name__}") from None
    if watched.refusal:
        raise Undecided(watched.refusal)
