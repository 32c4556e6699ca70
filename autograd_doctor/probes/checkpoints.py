"""Activation checkpoints: does the segment compute the same when it is run again, and can gradients pass at all?"""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import torch
import torch.utils.checkpoint
from torch.overrides import TorchFunctionMode

from autograd_doctor.events import CheckpointRan, Event, ParameterSeen
from autograd_doctor.findings import Location
from autograd_doctor.watching.care import careful
from autograd_doctor.watching.lineage import tensors_in
from autograd_doctor.watching.naming import variable_name
from autograd_doctor.watching.patching import Patches
from autograd_doctor.watching.places import Place, locate, place
from autograd_doctor.watching.watch import Watch

_RUNS_PER_PLACE = 2
_SAMPLE = 4096
_ROUNDING = 1e-4
_IN_PLACE_COUNTERS = frozenset({"add_", "__iadd__", "copy_"})


@dataclass
class _Result:
    """What one operation gave in the first pass: a sample of its values, so that no tensor is kept alive."""

    operation: str
    values: torch.Tensor | None


@dataclass
class _Segment:
    """One checkpoint, from its forward pass to the end of its second."""

    at: Place | None
    reentrant: bool
    function: str
    cut_off: bool = False
    passes: int = 0
    results: list[_Result] = field(default_factory=list)
    leaves: dict[int, None] = field(default_factory=dict)
    statistics: Counter[str] = field(default_factory=Counter)
    difference: float | None = None
    magnitude: float | None = None
    operation: str = ""
    differs_at: Location | None = None


class _Pass(TorchFunctionMode):
    """Sees the operations of a segment: remembers them in the first pass, compares them in the second."""

    def __init__(self, watch: Watch, segment: _Segment) -> None:
        super().__init__()
        self._watch = watch
        self._segment = segment
        self._second = segment.passes > 1
        self._number = 0
        self._aligned = True

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if self._watch.busy:
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        mean = kwargs.get("running_mean", args[1] if len(args) > 1 else None) if name == "batch_norm" else None
        before = self._copy(mean)
        result = func(*args, **kwargs)
        self._look(name, (*args, *kwargs.values()), result)
        self._look_at_statistics(mean, before)
        return result

    @careful
    def _copy(self, mean: Any) -> torch.Tensor | None:
        return mean.clone() if isinstance(mean, torch.Tensor) else None

    @careful
    def _look_at_statistics(self, mean: Any, before: torch.Tensor | None) -> None:
        """Batch-norm moves its statistics without touching their version counter: only the values tell."""
        if before is not None and not torch.equal(mean, before):
            self._segment.statistics[_owner_name(self._watch, mean)] += 1

    @careful
    def _look(self, name: str, inputs: Sequence[Any], result: Any) -> None:
        self._note_parameters(inputs)
        for output in tensors_in([result]) if name not in _IN_PLACE_COUNTERS else ():
            if self._second:
                self._compare(name, output)
            else:
                self._segment.results.append(_Result(name, _sample(output)))

    def _note_parameters(self, inputs: Sequence[Any]) -> None:
        for tensor in tensors_in(inputs):
            if tensor.is_leaf and isinstance(tensor, torch.nn.Parameter) and tensor.requires_grad:
                self._segment.leaves[self._watch.parameters.number(tensor)] = None

    def _compare(self, name: str, output: torch.Tensor) -> None:
        """Compare with the operation of the same number in the first pass, as long as both go the same way."""
        segment = self._segment
        first = segment.results[self._number] if self._number < len(segment.results) else None
        self._number += 1
        self._aligned = self._aligned and first is not None and first.operation == name
        if not self._aligned or first is None or first.values is None or not output.requires_grad:
            return
        again = _sample(output)
        if again is None or again.shape != first.values.shape:
            return
        difference = float((again - first.values).abs().nan_to_num().max()) if again.numel() else 0.0
        magnitude = float(first.values.abs().nan_to_num().max()) if again.numel() else 0.0
        if segment.difference is None or _share(difference, magnitude) > _share(segment.difference, segment.magnitude):
            segment.difference, segment.magnitude = difference, magnitude
        if not segment.operation and _share(difference, magnitude) > _ROUNDING:
            segment.operation, segment.differs_at = name, locate(place())


class Checkpoints:
    """Wraps what runs a checkpoint, and the function that it is given."""

    yields: ClassVar[tuple[type[Event], ...]] = (CheckpointRan, ParameterSeen)

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._patches = Patches()
        self._runs: Counter[Place | None] = Counter()
        self._process = os.getpid()

    def __enter__(self) -> Self:
        module = torch.utils.checkpoint
        if hasattr(module, "_checkpoint_impl"):
            # From torch 2.14 on `checkpoint` makes decorators, too: both its forms end here.
            self._patches.replace(module, "_checkpoint_impl", self._checkpointing_impl(module._checkpoint_impl))
        else:
            self._patches.replace(module, "checkpoint", self._checkpointing(module.checkpoint))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def _checkpointing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def checkpoint(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            reentrant = kwargs.get("use_reentrant")
            return self._run(lambda body: original(body, *args, **kwargs), function, args, reentrant)

        return checkpoint

    def _checkpointing_impl(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def _checkpoint_impl(function: Callable[..., Any], args: Any, kwargs: Any, **options: Any) -> Any:
            reentrant = options.get("use_reentrant")
            return self._run(lambda body: original(body, args, kwargs, **options), function, args, reentrant)

        return _checkpoint_impl

    def _run(
        self, original: Callable[..., Any], function: Callable[..., Any], args: Sequence[Any], reentrant: bool | None
    ) -> Any:
        """Run one checkpoint of `function` by calling `original` with it, or with a version of it that is watched."""
        at = place()
        watched = torch.is_grad_enabled() and not self._watch.busy and os.getpid() == self._process
        if not watched or self._runs[at] >= _RUNS_PER_PLACE:
            return original(function)
        self._runs[at] += 1
        segment = _Segment(at, reentrant in (None, True), _name(function))
        segment.cut_off = segment.reentrant and not any(tensor.requires_grad for tensor in tensors_in(args))
        result = original(self._passing(function, segment))
        if segment.cut_off:
            self._say(segment)
        return result

    def _passing(self, function: Callable[..., Any], segment: _Segment) -> Callable[..., Any]:
        @functools.wraps(function, updated=())
        def run(*args: Any, **kwargs: Any) -> Any:
            segment.passes += 1
            if segment.passes > 2:
                return function(*args, **kwargs)
            try:
                with _Pass(self._watch, segment):
                    return function(*args, **kwargs)
            finally:
                if segment.passes == 2:
                    self._say(segment)

        return run

    @careful
    def _say(self, segment: _Segment) -> None:
        self._watch.parameters.introduce()
        self._watch.emit(
            CheckpointRan(
                step=self._watch.step,
                location=locate(segment.at),
                reentrant=segment.reentrant,
                no_input_requires_grad=segment.cut_off,
                parameters=sorted(segment.leaves),
                difference=segment.difference,
                magnitude=segment.magnitude,
                operation=segment.operation,
                differs_at=segment.differs_at,
                statistics_moved_twice=sorted(name for name, moves in segment.statistics.items() if moves > 1),
                function=segment.function,
            )
        )
        segment.results.clear()


def _share(difference: float, magnitude: float | None) -> float:
    return difference / max(magnitude or 0.0, 1e-12)


def _sample(tensor: torch.Tensor) -> torch.Tensor | None:
    """Values of a tensor at even distances, copied."""
    if not tensor.is_floating_point() or tensor.layout is not torch.strided or tensor.device.type == "meta":
        return None
    flat = tensor.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // _SAMPLE)].double()


def _owner_name(watch: Watch, mean: torch.Tensor) -> str:
    """The batch-norm that owns a running mean, under the user's name for it."""
    for number, module in watch.modules.living():
        path = next((path for path, buffer in module.named_buffers() if buffer is mean), "")
        if path:
            return ".".join(filter(None, (watch.modules.name(number), path.removesuffix("running_mean").rstrip("."))))
    return variable_name(mean).removesuffix(".running_mean") or "a batch-norm"


def _name(function: Callable[..., Any]) -> str:
    """What the user calls the segment."""
    if isinstance(function, torch.nn.Module):
        return variable_name(function) or type(function).__name__
    return getattr(function, "__qualname__", type(function).__name__).replace("<locals>.", "")


PROBE = Checkpoints
