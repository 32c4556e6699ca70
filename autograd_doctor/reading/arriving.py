"""Doing something right after a module is first imported, without importing it for that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

Arrival = Callable[[ModuleType], None]


def on_import(arrivals: Mapping[str, Arrival]) -> Callable[[], None]:
    """Call each function with its module: at once if it has been imported, otherwise when the program imports it.

    Returns what ends the waiting.
    """
    waiting = dict(arrivals)
    for name in [name for name in waiting if name in sys.modules]:
        waiting.pop(name)(sys.modules[name])
    finder = _Finder(waiting)
    sys.meta_path.insert(0, finder)
    return finder.leave


class _Finder(MetaPathFinder):
    """Finds the awaited modules through the other finders, and lets a function of ours have the last word."""

    def __init__(self, waiting: dict[str, Arrival]) -> None:
        self._waiting = waiting
        self._finding: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._waiting or name in self._finding:
            return None
        self._finding.add(name)
        try:
            spec = find_spec(name)
        finally:
            self._finding.discard(name)
        if spec is not None and spec.loader is not None:
            self._run_after_execution(spec.loader, name)
        return spec

    def leave(self) -> None:
        """Wait no more, also for what was found and not executed yet."""
        self._waiting.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def _run_after_execution(self, loader: Loader, name: str) -> None:
        """The loader stays the one that the module would have had; only this instance gets its own `exec_module`.

        A program may look for a module without importing it, so the function waits until the module was executed.
        """
        original = loader.exec_module
        of_another = loader.__dict__.get("exec_module")  # who waits for the same module

        def exec_module(module: ModuleType) -> None:
            del loader.__dict__["exec_module"]
            if of_another is not None:
                loader.__dict__["exec_module"] = of_another
            original(module)
            arrival = self._waiting.pop(name, None)
            if arrival is not None:
                arrival(module)

        loader.__dict__["exec_module"] = exec_module
