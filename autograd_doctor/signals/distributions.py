"""What is drawn from distributions of `torch.distributions`, and the log-probabilities and entropies asked of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar

import torch
from torch._C import _functorch
from torch.distributions import Distribution

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

P = TypeVar("P")


@dataclass(eq=False, slots=True)
class Draw:
    """`distribution.sample(…)` has returned. grad_enabled: whether its caller had gradients on."""

    distribution: Distribution
    grad_enabled: bool
    result: Any


@dataclass(eq=False, slots=True)
class Evaluation:
    """`distribution.log_prob(value)` has returned."""

    distribution: Distribution
    value: Any
    result: Any


@dataclass(eq=False, slots=True)
class Entropy:
    """`distribution.entropy()` has returned."""

    distribution: Distribution
    result: Any


class _Depth(threading.local):
    calls = 0
    """How many methods of distributions are running in this thread, one inside the other."""


class Distributions(Seam):
    """`drawn` after `sample`, `evaluated` after `log_prob`, `measured` after `entropy`, where they returned.

    A distribution that is made of others calls theirs: only the outermost call is signalled. Calls under transforms of
    functions are not.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.drawn: Signal[Draw] = Signal(guard, self)
        self.evaluated: Signal[Evaluation] = Signal(guard, self)
        self.measured: Signal[Entropy] = Signal(guard, self)
        self._depth = _Depth()

    def patch(self, patches: Patches) -> None:
        for kind in _kinds(Distribution):
            self._replace(patches, kind, "sample", self.drawn, _drawn)
            self._replace(patches, kind, "log_prob", self.evaluated, _evaluated)
            self._replace(patches, kind, "entropy", self.measured, _measured)

    def _replace(
        self, patches: Patches, kind: type[Distribution], name: str, signal: Signal[P], told: Callable[..., P]
    ) -> None:
        original = vars(kind).get(name)
        if type(original) is FunctionType:
            patches.replace(kind, name, self._telling(original, signal, told))

    def _telling(self, original: Callable[..., Any], signal: Signal[P], told: Callable[..., P]) -> Callable[..., Any]:
        @wraps(original)
        def call(distribution: Distribution, *args: Any, **kwargs: Any) -> Any:
            if not signal or self._depth.calls or _functorch.peek_interpreter_stack() is not None:
                return original(distribution, *args, **kwargs)
            self._depth.calls += 1
            try:
                result = original(distribution, *args, **kwargs)
            finally:
                self._depth.calls -= 1
            signal.send(told(distribution, result, *args, **kwargs))
            return result

        return call


def _drawn(distribution: Distribution, result: Any, *args: Any, **kwargs: Any) -> Draw:
    return Draw(distribution, torch.is_grad_enabled(), result)


def _evaluated(distribution: Distribution, result: Any, *args: Any, **kwargs: Any) -> Evaluation:
    return Evaluation(distribution, next(iter((*args, *kwargs.values())), None), result)


def _measured(distribution: Distribution, result: Any) -> Entropy:
    return Entropy(distribution, result)


def _kinds(kind: type) -> Iterator[type]:
    """A class and all that inherit from it so far, each once."""
    found: dict[type, None] = {kind: None}
    waiting = [kind]
    while waiting:
        below: list[type] = type.__subclasses__(waiting.pop())
        waiting += (each for each in below if each not in found)
        found.update(dict.fromkeys(below))
    return iter(found)
