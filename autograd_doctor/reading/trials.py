"""Calls of copies of modules, by which something is tried out: nobody else sees them, and they can be repeated."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import nn

from autograd_doctor.reading.mode_stack import default_device, modes_on_stack, restack
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.tensor_facts import read_together
from autograd_doctor.reading.torch_versions import seed_generators
from autograd_doctor.reading.unnoticed import unnoticed
from autograd_doctor.reading.without_running import remade

Mode = Callable[[], contextlib.AbstractContextManager[Any]]
"""What makes blocks in which a copy is called."""
TOLERANCE = 1e-4
"""Relative to the largest value: rounding of float32 in sums of a thousand terms in another order is below 1e-5."""


class Undecided(Exception):
    """The trial tells nothing."""


@contextlib.contextmanager
def alone(seed: int = 0) -> Iterator[None]:
    """A block in which a copy is called: without modes of the program, and with the same random numbers for a seed."""
    with unnoticed(), torch._C._EnableTorchFunction(), _without_modes():
        seed_generators(seed)
        random.seed(seed)
        if numpy := sys.modules.get("numpy"):
            numpy.random.seed(seed)
        yield


def autocast_now(module: nn.Module) -> Mode:
    """What makes blocks under the same autocast as the caller, for the device of a module that has parameters."""
    kind = next(parameters_in(module))[1].device.type
    return partial(torch.autocast, kind, dtype=torch.get_autocast_dtype(kind), enabled=torch.is_autocast_enabled(kind))


@contextlib.contextmanager
def _without_modes() -> Iterator[None]:
    """A block without function modes, but for torch's default device: those of the program are to see nothing."""
    modes = modes_on_stack()
    restack(modes[: default_device(modes)])
    try:
        yield
    finally:
        restack(modes)


def fresh(value: Any) -> Any:
    """Arguments with copies of their tensors: a forward may write to what it is given."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if type(value) in (list, tuple):
        return type(value)(map(fresh, value))
    if type(value) is dict:
        return {key: fresh(each) for key, each in value.items()}
    record = remade(value, fresh)
    return value if record is None else record


def apart(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference between two tensors of one shape, relative to the largest value; 0 where it is NaN."""
    if not a.numel():
        return 0.0
    if a.dtype == torch.bool or a.is_complex():
        return float(not torch.equal(a, b))
    a, b = a.double(), b.double()
    one, other, difference = read_together([a.abs().max(), b.abs().max(), (a - b).abs().max()])
    scale = max(one, other)
    return difference / scale if scale > 0 and difference == difference else 0.0
