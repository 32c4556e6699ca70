"""Looking without being noticed: what we do of our own neither changes nor stops the program, nor is seen by it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Protocol
from weakref import WeakSet

import torch
from torch.utils._python_dispatch import _disable_current_modes

from autograd_doctor.clock import CLOCK
from autograd_doctor.signals.attention import Attention
from autograd_doctor.system import after_fork

# Asked for in every look: found here, not by way of modules.
_DisableTorchFunction = torch._C.DisableTorchFunction
_get_tracing_state = torch._C._get_tracing_state
_len_torch_dispatch_stack = torch._C._len_torch_dispatch_stack
_profiler_enabled = torch._C._autograd._profiler_enabled
_set_grad_enabled = torch._C._set_grad_enabled
_now = CLOCK.perf_counter

Failed = Callable[[object, str, Exception], None]
"""Told of whose look failed, which look, and how."""

_guards: WeakSet[Guard] = WeakSet()


def _after_fork() -> None:
    for guard in _guards:
        guard.forked = True


after_fork(after_in_child=_after_fork)


class Nap(Protocol):
    """Who decides, while only the pulse of a run is taken, of which backwards and steps anybody hears: of the next ones
    in any case where somebody wakes it. sleeps: nobody hears of the present step.
    """

    sleeps: bool

    def wake(self) -> None: ...
    def passes(self, roots: Sequence[Any]) -> bool: ...
    def stepped(self, optimizer: torch.optim.Optimizer) -> bool: ...


class Guard:
    """What all signals of one run share.

    `forked`: this is a forked child of the program, such as the worker of a loader, and is not watched. `muted` counts
    the reasons for which operations are not signalled at the moment. `attention`: how closely the program is watched;
    `attention_turned` are called when that has changed. `clock` knows how long looks take, where somebody asks. `nap`:
    only the pulse is taken, and this knows of what to tell.
    """

    def __init__(self, failed: Failed) -> None:
        self.failed = failed
        self.forked = False
        self.muted = 0
        self.attention = Attention.CLOSE
        self.attention_turned: list[Callable[[], None]] = []
        self.clock: LookClock | None = None
        self.nap: Nap | None = None
        self.thread = Thread()
        self.deferred: list[Callable[[], None]] = []
        _guards.add(self)

    @property
    def busy(self) -> bool:
        """Whether the current thread is inside one of our own looks."""
        return self.thread.depth > 0

    @property
    def idle(self) -> bool:
        """Whether a signal given now would be heard: neither inside a look, nor in a forked child."""
        return not (self.forked or self.thread.depth)

    def looking(self) -> Looking:
        """A block in which we read tensors: no graph, no modes of the program, no tracer or profiler, no signals."""
        return Looking(self.thread)

    @contextlib.contextmanager
    def unheard(self) -> Iterator[None]:
        """A block in which torch works on behalf of others: no signal of it is heard."""
        self.thread.depth += 1
        try:
            yield
        finally:
            self.thread.depth -= 1

    def attend(self, attention: Attention) -> None:
        """Let those who listen at this attention hear from now on."""
        if attention is not self.attention:
            self.attention = attention
            for turned in self.attention_turned:
                turned()

    def defer(self, action: Callable[[], None]) -> None:
        """Run this after the present look, as if the program had done it; it may raise."""
        self.deferred.append(action)

    def run_deferred(self) -> None:
        """Run what was deferred, unless a look is still going on in this thread."""
        while self.deferred and not self.busy:
            self.deferred.pop(0)()


class LookClock:
    """Adds up the seconds that the signals of a run take, looks and all."""

    __slots__ = ("_looked", "_since", "_thread")

    def __init__(self) -> None:
        self._looked = 0.0
        self._since: float | None = None
        self._thread = threading.get_ident()

    def begin(self) -> bool:
        """A signal is sent; False if that happens inside another one, or on another thread."""
        if self._since is not None or threading.get_ident() != self._thread:
            return False
        self._since = _now()
        return True

    def end(self) -> None:
        """The signal that began has been heard by all."""
        if self._since is not None:
            self._looked += _now() - self._since
            self._since = None

    def counting(self, action: Callable[[], None]) -> None:
        """Do what counts as the program's own, also in a look: waiting for what it has asked a device for."""
        began = _now()
        action()
        if self._since is not None:
            self._looked -= _now() - began

    def seconds(self) -> float:
        """The time, in seconds from no particular moment, as if no look had ever taken any."""
        now = _now()
        return now - self._looked - (now - self._since if self._since is not None else 0.0)


class Thread(threading.local):
    """What is kept of each thread."""

    depth = 0
    """How many looks the current thread is inside of."""


class Looking:
    """Switches gradients, function modes, and all that observes operations off, below the seams that are watched."""

    __slots__ = ("_gradients", "_observers", "_thread", "_untraced")

    def __init__(self, thread: Thread) -> None:
        self._thread = thread

    def __enter__(self) -> None:
        self._thread.depth += 1
        self._untraced = _DisableTorchFunction()
        self._untraced.__enter__()
        self._gradients = torch.is_grad_enabled()
        if self._gradients:
            _set_grad_enabled(False)
        self._observers = hide_from_observers()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._observers is not None:
            show_to_observers(self._observers)
        _set_grad_enabled(self._gradients)
        self._untraced.__exit__(None, None, None)
        self._thread.depth -= 1


Observers = tuple[contextlib.AbstractContextManager[Any] | None, Any, bool]
"""What was hidden from: dispatch modes, the state of a tracer, and whether a profiler was recording."""


def hide_from_observers() -> Observers | None:
    """Step out of the sight of dispatch modes, `torch.jit.trace` and profilers; None where there are none."""
    profiling, tracing, dispatching = _profiler_enabled(), _get_tracing_state(), _len_torch_dispatch_stack()
    if not (dispatching or profiling or tracing is not None):
        return None
    modes = _disable_current_modes() if dispatching else None
    if modes is not None:
        modes.__enter__()
    if tracing is not None:
        torch._C._set_tracing_state(None)  # type: ignore[attr-defined]
    if profiling:
        torch._C._autograd._enable_record_function(False)
    return modes, tracing, profiling


def show_to_observers(observers: Observers) -> None:
    """Undo `hide_from_observers`."""
    modes, tracing, profiling = observers
    if profiling:
        torch._C._autograd._enable_record_function(True)
    if tracing is not None:
        torch._C._set_tracing_state(tracing)  # type: ignore[attr-defined]
    if modes is not None:
        modes.__exit__(None, None, None)
