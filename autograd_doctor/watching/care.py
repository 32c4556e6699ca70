"""Looking with care: what a probe does of its own must neither change nor stop the program."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

import torch

from autograd_doctor.events import InstrumentFailed
from autograd_doctor.watching.watch import Watch


class _HasWatch(Protocol):
    _watch: Watch


P = ParamSpec("P")
R = TypeVar("R")
Probe = TypeVar("Probe", bound=_HasWatch)

_told: WeakKeyDictionary[Watch, set[str]] = WeakKeyDictionary()


def careful(look: Callable[Concatenate[Probe, P], R]) -> Callable[Concatenate[Probe, P], R | None]:
    """Run a method of a probe under `watch.looking()`; if it fails, say so once and let the program go on."""

    @wraps(look)
    def looked(self: Probe, *args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            with self._watch.looking():
                return look(self, *args, **kwargs)
        except Exception as error:
            _tell(self._watch, look, error)
            return None

    return looked  # type: ignore[return-value]


def contained(look: Callable[Concatenate[Probe, P], R]) -> Callable[Concatenate[Probe, P], R | None]:
    """As `careful`, for what runs inside a function mode, where torch has switched the mode off already: once per
    operation, what `watch.looking()` does would cost more than the look itself."""

    @wraps(look)
    def looked(self: Probe, *args: P.args, **kwargs: P.kwargs) -> R | None:
        gradients = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        try:
            return look(self, *args, **kwargs)
        except Exception as error:
            _tell(self._watch, look, error)
            return None
        finally:
            torch._C._set_grad_enabled(gradients)

    return looked  # type: ignore[return-value]


def _tell(watch: Watch, look: Callable[..., object], error: Exception) -> None:
    folder, _, file = look.__module__.rpartition(".")
    told = _told.setdefault(watch, set())
    what = f"{file}.{look.__name__}"
    if what not in told:
        told.add(what)
        instrument = file if folder.endswith(".probes") else folder.rpartition(".")[2]
        said = f"{type(error).__name__}: {error}"
        watch.emit(InstrumentFailed(step=watch.step, instrument=instrument, look=what, error=said))


@contextlib.contextmanager
def unnoticed() -> Iterator[None]:
    """Call the program's code with gradients on, and leave random state, output and warnings as they were."""
    numpy = sys.modules.get("numpy")
    states = random.getstate(), numpy.random.get_state() if numpy else None
    output = io.StringIO()
    try:
        with (
            torch.random.fork_rng(),
            torch.enable_grad(),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(states[0])
        if numpy:
            numpy.random.set_state(states[1])
