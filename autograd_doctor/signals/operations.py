"""Every operation of torch that the program calls on its main thread, through a `TorchFunctionMode`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch
from torch._C import _functorch
from torch.autograd.variable import VariableMeta
from torch.overrides import TorchFunctionMode

from autograd_doctor.clock import CLOCK
from autograd_doctor.reading.fused import PREFIX, one_by_one
from autograd_doctor.reading.mode_stack import default_device, modes_on_stack, restack
from autograd_doctor.reading.operation_kinds import Kind, classify, writes
from autograd_doctor.reading.places import place
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals.guard import Guard, hide_from_observers, show_to_observers
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Listener, NamedSignal, Seam, Signal

_PLAIN_TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
_WORKED_ON = ("input", "self", "tensors", "sequences")
_ENGINE = frozenset({torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad})
_DISABLED = torch._C._disabled_torch_function_impl
_set_grad_enabled = torch._C._set_grad_enabled
_FOR_THREADS = 0.5
_BETWEEN_LOOKS = 0.001


class Operation:
    """A call of a function of torch, at a place of the program.

    grad_enabled: whether the program had gradients on. args: the tensor that it works on comes first, also where the
    program gives it by keyword. result, error: at its end. found: the version of its first argument when it began, if
    that is a plain tensor.
    """

    __slots__ = (
        "_inputs", "args", "error", "found", "function", "grad_enabled", "kind", "kwargs", "name", "place", "result",
    )  # fmt: skip

    def __init__(
        self,
        function: Callable[..., Any],
        kind: Kind,
        name: str,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        grad_enabled: bool = True,
        result: Any = None,
        error: Exception | None = None,
    ) -> None:
        self.function = function
        self.kind = kind
        self.name = name
        if kwargs and not args:
            args, kwargs = _with_input_first(kwargs)
        self.args = args
        self.kwargs = kwargs
        self.grad_enabled = grad_enabled
        self.result = result
        self.error = error
        self.place = place()
        self.found = version_of(args[0]) if args and type(args[0]) in _PLAIN_TENSORS else None
        self._inputs: list[torch.Tensor] | None = None

    @property
    def inputs(self) -> Sequence[torch.Tensor]:
        """The tensors among its arguments, and those in lists and mappings there, one by one."""
        if self._inputs is None:
            self._inputs = tensors_in((*self.args, *self.kwargs.values()) if self.kwargs else self.args)
        return self._inputs


def written_by(operation: Operation) -> torch.Tensor | None:
    """The tensor whose values it changes."""
    values = (*operation.args, *operation.kwargs.values())
    target = next(iter(values), None) if writes(operation.name) else operation.kwargs.get("out")
    return target if isinstance(target, torch.Tensor) else None


def _with_input_first(kwargs: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    name = next((name for name in _WORKED_ON if name in kwargs), None)
    return ((), kwargs) if name is None else ((kwargs[name],), {key: kwargs[key] for key in kwargs if key != name})


class Operations(Seam):
    """`began`, then `ended` or `failed`. Functions that only tell something about a tensor are not signalled, but for
    `shown`, with a tensor that is about to be put into words.

    Those on lists of tensors are signalled one by one: `_foreach_mul_` as so many `mul_`.

    It stands aside while the guard is muted, under transforms of functions, and where the program has taken the mode
    off the stack. `torch.from_numpy`, `frombuffer` and `Variable`, which modes do not see, are signalled as operations.

    A mode costs every operation about as much as a small one takes. While the seam rests, it is off the stack. While
    it dozes, operations that concern nobody are not signalled: `concerns` is what a listener says of their arguments,
    and the first one that does concern it wakes the seam.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.began: NamedSignal[Operation] = NamedSignal(guard, self)
        self.ended: NamedSignal[Operation] = NamedSignal(guard, self)
        self.failed: Signal[Operation] = Signal(guard, self)
        self.shown: Signal[torch.Tensor] = Signal(guard, self)
        self.resting = False
        self.reasons_to_rest: set[str] = set()
        """Where there are any it signals nothing, also if it could not be taken off the stack yet."""
        self.inside = 0
        """How many functions are running for which torch itself has taken the mode off the stack."""
        self.dozing = False
        self.concerns: Callable[[Sequence[Any], dict[str, Any]], bool] = lambda args, kwargs: True
        self._told: Operation | None = None
        self._mode: _Mode | None = None
        self._thread = 0
        self._references = 0

    def patch(self, patches: Patches) -> None:
        for importing in (torch.from_numpy, torch.frombuffer):
            patches.replace(torch, importing.__name__, self._importing(importing))
        patches.replace(torch.overrides, "has_torch_function", _by_arguments(torch.overrides.has_torch_function))
        patches.replace(VariableMeta, "__call__", self._rewrapping(VariableMeta.__call__))
        self._mode, self._thread, self.resting = _Mode(self), threading.get_ident(), False
        self._references = sys.getrefcount(self._mode)
        _put_below(self._mode)
        patches.callback(self._remove)
        if self.reasons_to_rest:
            self._take_off()

    def _remove(self) -> None:
        """The last listener has left."""
        self._take_off()
        self._mode = None

    def await_threads(self) -> None:
        """Wait until no thread of torch's keeps the mode any more.

        What such a thread does for an operation it does under the modes of the operation, and to let go of them it
        needs Python's lock. A group of processes waits for its threads when it goes, and may keep the lock meanwhile.
        """
        until = CLOCK.monotonic() + _FOR_THREADS
        on_stack = int(self._mode is not None and self._is_on_stack())
        while self._mode is not None and sys.getrefcount(self._mode) > self._references + on_stack:
            if CLOCK.monotonic() > until:
                return
            CLOCK.sleep(_BETWEEN_LOOKS)

    def rest(self, reason: str) -> None:
        """Signal no operations until this reason and all others are gone; one that is running is not cut off."""
        self.reasons_to_rest.add(reason)
        self._take_off()

    def resume(self, reason: str) -> None:
        """A reason to rest is gone. Operations are signalled again on the thread on which they were before."""
        self.reasons_to_rest.discard(reason)
        if self.reasons_to_rest or not self.resting:
            return
        if self._mode is not None and threading.get_ident() == self._thread:
            _put_below(self._mode)
            self.resting = False

    def _take_off(self) -> None:
        if self._mode is not None and not self.resting and self._is_on_stack():
            _take_out(self._mode)
            self.resting = True

    @property
    def in_place(self) -> bool:
        """Whether the mode is where it was put: nobody has displaced it in this thread."""
        return self._mode is None or bool(self.reasons_to_rest) or self.inside > 0 or self._is_on_stack()

    def _is_on_stack(self) -> bool:
        return any(mode is self._mode for mode in modes_on_stack())

    @contextmanager
    def inside_backward(self) -> Iterator[None]:
        """A block in which operations are signalled although torch has switched the mode off.

        `Tensor.backward` is a function of torch itself: what runs inside it runs inside the mode.
        """
        if self._mode is None or self.resting or self._is_on_stack():
            yield
        else:
            with self._mode:
                yield

    def run_unheard(self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run a function of torch without signals; in a hook of a backward, a step may end all reasons to rest."""
        self.inside += 1
        try:
            return function(*args, **kwargs)
        finally:
            self.inside -= 1

    def version_found(self, tensor: torch.Tensor) -> int:
        """The version of a tensor, but of what the operation that is being told of has changed, the one before."""
        told = self._told
        if told is not None and told.found is not None and told.args[0] is tensor:
            return told.found
        return version_of(tensor)

    def tell(
        self, signal: Signal[Operation], listeners: Sequence[Listener], operation: Operation, *, plain: bool
    ) -> None:
        """Send from inside the mode, where torch has switched function modes off already.

        What a look does beside that would cost more than the look itself; only the overrides of subclasses of tensors
        must not see it, so that operations on these get a whole one.
        """
        outer, self._told = self._told, operation
        try:
            if not plain:
                signal.send(operation)
                return
            clock = self.guard.clock if self.guard.clock is not None and self.guard.clock.begin() else None
            self._tell_plainly(signal, listeners, operation)
            if clock is not None:
                clock.end()
        finally:
            self._told = outer

    def _tell_plainly(self, signal: Signal[Operation], listeners: Sequence[Listener], operation: Operation) -> None:
        if operation.grad_enabled:
            _set_grad_enabled(False)
        observers = hide_from_observers()
        try:
            signal.relay(operation, listeners)
        finally:
            if observers is not None:
                show_to_observers(observers)
            _set_grad_enabled(operation.grad_enabled)
        if self.guard.deferred:
            self.guard.run_deferred()

    def _importing(self, original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        @wraps(original)
        def imported(*args: Any, **kwargs: Any) -> torch.Tensor:
            result = original(*args, **kwargs)
            self._tell_import(original, original.__name__, args, kwargs, result)
            return result

        return imported

    def _rewrapping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(cls: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            result = original(cls, *args, **kwargs)
            if isinstance(result, torch.Tensor):
                self._tell_import(original, "Variable", args, kwargs, result)
            return result

        return __call__

    def _tell_import(
        self, function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        if self.ended and self.guard.nap is None:  # in a nap, no operation is heard of
            gradients = torch.is_grad_enabled()
            self.ended.send(Operation(function, Kind.OPERATION, name, args, kwargs, gradients, result))


class _Mode(TorchFunctionMode):
    def __init__(self, seam: Operations) -> None:
        super().__init__()
        self._seam = seam
        self._kinds: dict[Any, tuple[Kind, str]] = {}

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        kind, name = self._kinds.get(func) or self._kinds.setdefault(func, classify(func))
        seam = self._seam
        if kind is Kind.QUIET and func not in _ENGINE:
            return func(*args, **kwargs)
        if seam.reasons_to_rest:
            return seam.run_unheard(func, args, kwargs)
        if kind is Kind.SHOW:
            seam.shown.send(args[0])
            return func(*args, **kwargs)
        if seam.guard.muted or not seam.guard.idle or _functorch.peek_interpreter_stack() is not None:
            return func(*args, **kwargs)
        if seam.dozing:
            if not seam.concerns(args, kwargs):
                return func(*args, **kwargs)
            seam.dozing = False
        seam.inside += 1
        try:
            if func in _ENGINE:  # backwards have signals of their own
                return func(*args, **kwargs)
            if name.startswith(PREFIX) and args:
                return self._run_fused(func, kind, name.removeprefix(PREFIX), args, kwargs)
            operation = Operation(func, kind, name, args, kwargs, torch.is_grad_enabled())
            plain = not types or _PLAIN_TENSORS.issuperset(types)
            listeners = seam.began.hearing_of(name)
            if listeners:
                seam.tell(seam.began, listeners, operation, plain=plain)
            try:
                operation.result = result = func(*args, **kwargs)
            except Exception as error:
                operation.error = error
                if seam.failed.listeners:
                    seam.failed.send(operation)
                raise
            listeners = seam.ended.hearing_of(name)
            if listeners:
                operation.grad_enabled = torch.is_grad_enabled()
                seam.tell(seam.ended, listeners, operation, plain=plain)
            return result
        finally:
            seam.inside -= 1

    def _run_fused(
        self, func: Callable[..., Any], kind: Kind, name: str, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        """A call on lists of tensors is told of as so many calls, so that nobody need know of both."""
        seam, gradients = self._seam, torch.is_grad_enabled()
        operations = [Operation(func, kind, name, each, kwargs, gradients) for each in one_by_one(args)]
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            if seam.failed.listeners:
                seam.failed.send(Operation(func, kind, name, args, kwargs, gradients, error=error))
            raise
        listeners = seam.ended.hearing_of(name)
        for operation, made in zip(operations, args[0] if result is None else result, strict=False):
            operation.result = made
            if listeners:
                seam.tell(seam.ended, listeners, operation, plain=False)
        return result


def _put_below(mode: TorchFunctionMode) -> None:
    """Put a mode below those of the program, which take theirs from the top; torch wants its default device lowest."""
    others = modes_on_stack()
    restack([*others[: default_device(others)], mode, *others[default_device(others) :]])


def _take_out(mode: TorchFunctionMode) -> None:
    restack([other for other in modes_on_stack() if other is not mode])


def _by_arguments(original: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Answer as if our mode were not there: in evaluation, attention takes its fast path only if nothing overrides."""

    def has_torch_function(relevant_args: Any) -> bool:
        if len(modes_on_stack()) > 1:
            return original(relevant_args)
        kinds = {type(argument) for argument in relevant_args} - {torch.Tensor, torch.nn.Parameter}
        return any(getattr(kind, "__torch_function__", _DISABLED) is not _DISABLED for kind in kinds)

    return has_torch_function
