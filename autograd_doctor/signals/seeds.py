"""Seeds that the program gives to the generators of random numbers of torch, Python and NumPy."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal

import torch

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

try:
    import numpy
except ImportError:  # torch does without
    numpy = None  # type: ignore[assignment]

Generator = Literal["torch", "Python", "NumPy"]


@dataclass(eq=False, slots=True)
class Seeding:
    """A global generator has been given a seed. seed: None where it is drawn from the system."""

    generator: Generator
    seed: Any


class Seeds(Seam):
    """`given` after a seed was set."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.given: Signal[Seeding] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        seeding = self._seeding("torch", torch.manual_seed)
        patches.replace(torch, "manual_seed", seeding)
        patches.replace(torch.random, "manual_seed", seeding)
        patches.replace(random, "seed", self._seeding("Python", random.seed))
        if numpy is not None:
            patches.replace(numpy.random, "seed", self._seeding("NumPy", numpy.random.seed))

    def _seeding(self, generator: Generator, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def seed(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self.given.send(Seeding(generator, next(iter((*args, *kwargs.values())), None)))
            return result

        return seed
