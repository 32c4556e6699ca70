"""What an input might be, as it is tried out; and how it is said in the settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch

from autograd_doctor.plan import TensorPlan
from autograd_doctor.runner.synthetic import made_up, whole_shape

BATCH = 12
"""Samples in a batch: a number that models rarely have for anything else."""
LENGTH = 10
"""Of sequences, likewise."""
SIDES = (32, 28, 64, 16, 48, 96, 128, 224, 256, 299, 384, 512, 8, 572)
"""Widths and heights of images that models are made for, those of the smallest cost first."""
_LARGEST = 10**6
"""Values of a sample."""
LENGTHS = (10, 16, 32, 8, 5, 4, 64, 100, 128, 256, 512, 1024, 16000)


@dataclass(frozen=True)
class Guess:
    """One input. shape: of a sample. classes: whole numbers below this; 0: floating point. name: as a keyword."""

    shape: tuple[int, ...]
    classes: int = 0
    batch_axis: int | None = 0
    name: str = ""

    def with_shape(self, *shape: int) -> Guess:
        return replace(self, shape=shape)

    def called(self, name: str) -> Guess:
        """The same as a keyword."""
        return replace(self, name=name)

    @property
    def is_possible(self) -> bool:
        """Whether there are such tensors, and one can be afforded."""
        return all(size > 0 for size in self.shape) and math.prod(self.shape) <= _LARGEST

    @property
    def plan(self) -> TensorPlan:
        return TensorPlan(shape=list(self.shape), classes=self.classes or None, batch_axis=self.batch_axis)

    def made(self, batch: int, device: str) -> torch.Tensor:
        """A tensor as guessed; its numbers are always the same."""
        shape = whole_shape(self.plan, batch)
        if device == "meta":
            return torch.empty(shape, dtype=torch.int64 if self.classes else torch.float32, device="meta")
        return made_up(self.plan, shape, torch.Generator().manual_seed(0))

    def settings(self) -> dict[str, Any]:
        """As it is written under `inputs`."""
        said: dict[str, Any] = {"name": self.name} if self.name else {}
        said["shape"] = list(self.shape)
        if self.classes:
            said["classes"] = self.classes
        if self.batch_axis != 0:
            said["batch_axis"] = self.batch_axis
        return said


Guesses = tuple[tuple[str, Guess], ...]
"""A guess for each input that is given, under the name of its parameter, in their order."""


def changed(guesses: Guesses, name: str, guess: Guess) -> Guesses:
    return tuple((each, guess if each == name else old) for each, old in guesses)
