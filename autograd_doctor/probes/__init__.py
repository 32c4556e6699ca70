"""The probes: one file per seam of PyTorch, found by walking this folder.

A probe is a context manager built from the shared `Watch`; the file binds its class to `PROBE`. It patches on entry and
restores exactly what it patched on exit. Probes know no rules; they only state events.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from autograd_doctor.events import Event, InstrumentAttached

if TYPE_CHECKING:
    from autograd_doctor.watching.watch import Watch


@cache
def providers() -> dict[str, frozenset[str]]:
    """Per probe file, the names of the events that it may emit.

    Read from the `yields` tuple in its source, because importing a probe imports torch and the parent must not.
    """
    found: dict[str, frozenset[str]] = {}
    for entry in pkgutil.iter_modules(__path__):
        source = Path(__path__[0], f"{entry.name}.py").read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.AnnAssign | ast.Assign) and _target_name(node) == "yields" and node.value:
                names = [name.id for name in ast.walk(node.value) if isinstance(name, ast.Name)]
                found[entry.name] = frozenset(names)
    return found


def _target_name(node: ast.AnnAssign | ast.Assign) -> str:
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def probes_for(needs: Iterable[type[Event]]) -> list[str]:
    """The probe files that together emit the needed events, in alphabetical order."""
    wanted = {event.__name__ for event in needs}
    return sorted(name for name, events in providers().items() if events & wanted)


@contextmanager
def installed(watch: Watch, names: Iterable[str]) -> Iterator[None]:
    """Install probes, in the child only: this imports torch. They go by their `order` (0 by default), then by name."""
    watch.emit(InstrumentAttached(instrument="watching", emits=[]))
    classes = [(importlib.import_module(f"{__name__}.{name}").PROBE, name) for name in names]
    with ExitStack() as stack:
        for probe, name in sorted(classes, key=lambda entry: (getattr(entry[0], "order", 0), entry[1])):
            stack.enter_context(probe(watch))
            emits = [event.__name__ for event in probe.yields]
            watch.emit(InstrumentAttached(step=watch.step, instrument=name, emits=emits, requires=["watching"]))
        yield
