"""A forward of a copy of a module with gradients, under `no_grad` and under `inference_mode`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn

from autograd_doctor.clock import CLOCK
from autograd_doctor.reading.graph_bytes import saved_bytes
from autograd_doctor.reading.module_tree import buffers_in, parameters_in
from autograd_doctor.reading.paired_runs import Rounds, seconds_in_turn
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.trials import Mode, Undecided, alone, apart, fresh

_ROUNDS = Rounds(5, 60)


class Compared(NamedTuple):
    """saved: bytes that a graph keeps until the output is gone.

    recording: seconds with gradients and under `no_grad`, in as many alternating runs; inference: under `no_grad` and
    under `inference_mode`. differs: how far results are from those under `no_grad`, relative to the largest, with
    gradients and under `inference_mode`.
    """

    saved: int
    recording: tuple[list[float], list[float]]
    inference: tuple[list[float], list[float]]
    differs: tuple[float, float]


def compared(copied: nn.Module, given: Any, seconds: float, autocast: Mode = nullcontext) -> Compared:
    """seconds: what all runs may take. Raises `Undecided` where runs would not be alike.

    Ways are compared two by two: what one with gradients has freed, the next one has to ask the system for again.
    """
    args, kwargs = fresh(given)

    def forward() -> Any:
        with autocast():
            return copied(*args, **kwargs)

    tensors = tensors_in([args, kwargs], EVERYTHING)
    versions = [version_of(tensor) for tensor in tensors]
    began = CLOCK.perf_counter()
    expected = _outputs(forward, torch.no_grad)
    recorded = _outputs(forward, torch.enable_grad)
    saved = saved_bytes([each for each in recorded if has_graph(each)], [*tensors, *_held(copied)]).bytes
    inferred = _outputs(forward, torch.inference_mode)
    if _apart(expected, _outputs(forward, torch.no_grad)):
        raise Undecided("its output is another one each time")
    if versions != [version_of(tensor) for tensor in tensors]:
        raise Undecided("it writes to what it is given")
    differs = _apart(expected, recorded), _apart(expected, inferred)
    del expected, recorded, inferred
    one = (CLOCK.perf_counter() - began) / 2
    recording, inference = (
        _in_turn(forward, modes, one, seconds / 2)
        for modes in ((torch.enable_grad, torch.no_grad), (torch.no_grad, torch.inference_mode))
    )
    return Compared(saved, recording, inference, differs)


def _held(copied: nn.Module) -> list[torch.Tensor]:
    return [tensor for _, tensor in (*parameters_in(copied), *buffers_in(copied))]


def _outputs(forward: Callable[[], Any], mode: Mode) -> list[torch.Tensor]:
    with alone(), mode():
        return tensors_in([forward()], EVERYTHING)


def _apart(expected: list[torch.Tensor], found: list[torch.Tensor]) -> float:
    if [each.shape for each in expected] != [each.shape for each in found]:
        raise Undecided("its output is another one each time")
    return max((apart(one.detach(), other.detach()) for one, other in zip(expected, found, strict=True)), default=0.0)


def _in_turn(
    forward: Callable[[], Any], modes: tuple[Mode, Mode], one: float, budget: float
) -> tuple[list[float], list[float]]:
    with alone():
        first, second = seconds_in_turn(
            [partial(_run, forward, each) for each in modes], _ROUNDS, one=one, budget=budget
        )
    return first, second


def _run(forward: Callable[[], Any], mode: Mode) -> None:
    """The result is gone when it ends, and with it the graph."""
    with mode():
        forward()
