"""A forward and a backward of a copy of a model, with and without checkpoints of some of its blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograd_doctor.clock import CLOCK
from autograd_doctor.reading.graph_bytes import saved_bytes
from autograd_doctor.reading.module_tree import buffers_in, children_of, modules_in, parameters_in
from autograd_doctor.reading.paired_runs import Rounds, seconds_in_turn
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.trials import Mode, Undecided, alone, apart, fresh
from autograd_doctor.reading.without_running import attribute, attributes

_ROUNDS = Rounds(5, 15)
_MOST_GROUPS = 3


class Blocks(NamedTuple):
    """Modules of one class that a module holds side by side. path: of the module that holds them; paths: theirs.

    alone: it holds no others.
    """

    path: str
    kind: str
    paths: tuple[str, ...]
    alone: bool


class Call(NamedTuple):
    """What a model is called with, and the autocast in which it is."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    autocast: Mode = nullcontext


@dataclass
class Tried:
    """What a way keeps for the backward, in bytes, and how long forward and backward took in each round.

    differs: how far gradients are from those without checkpoints, relative to the largest; 0 where they are the same
    to the last bit. moved: buffers that are changed more often than without.
    """

    saved: int = 0
    seconds: list[float] = field(default_factory=list)
    differs: float = 0.0
    moved: list[str] = field(default_factory=list)


def groups(root: nn.Module) -> list[Blocks]:
    """Blocks that could be checkpointed, those with most parameters first, and none within others."""
    found: list[tuple[int, Blocks]] = []
    taken: list[str] = []
    modules = dict(modules_in(root))
    for path, module in modules.items():
        if any(path == each or path.startswith(f"{each}.") for each in taken):
            continue
        for same in _alike(module, path, modules):
            held = sum(each.numel() for name in same.paths for _, each in parameters_in(modules[name]))
            if held:
                found.append((held, same))
                taken += same.paths
    return [blocks for _, blocks in sorted(found, key=lambda each: -each[0])[:_MOST_GROUPS]]


def _alike(module: nn.Module, path: str, modules: Mapping[str, nn.Module]) -> Iterator[Blocks]:
    """modules: all of the model, by their paths. One that has several is taken under the first."""
    named = {f"{path}.{name}" if path else name: child for name, child in children_of(module).items()}
    children = {name: child for name, child in named.items() if name in modules}
    by_kind: defaultdict[type[nn.Module], list[str]] = defaultdict(list)
    for name, child in children.items():
        if children_of(child) and _can_be_called(child):  # a layer alone keeps little but what it is given
            by_kind[type(child)].append(name)
    for kind, paths in by_kind.items():
        if len(paths) > 1:
            yield Blocks(path, kind.__name__, tuple(paths), len(paths) == len(children))


def _can_be_called(module: nn.Module) -> bool:
    """Not if it only holds others, as a `ModuleList` does."""
    return attribute(type(module), "forward") is not nn.Module.forward


def predicted(saved: Mapping[str, float], blocks: Collection[str], given: Mapping[str, int]) -> tuple[int, int]:
    """Bytes that a model keeps for the backward, and those that it would keep with some blocks under checkpoints.

    saved: by path of the module that keeps them. given: to each block, without what one before it was given.
    """
    before = sum(saved.values())
    inside = sum(size for path, size in saved.items() if any(f"{path}.".startswith(f"{each}.") for each in blocks))
    return round(before), round(before - inside + sum(given.get(each, 0) for each in blocks))


def tried(copied: nn.Module, call: Call, ways: Sequence[Sequence[str]], seconds: float) -> list[Tried]:
    """Each way of checkpointing, a set of paths, run in turn; the first is to be the empty one.

    seconds: what all that may take. Raises `Undecided` where the copy cannot be run, or learns nothing.
    """
    results = [Tried() for _ in ways]
    began = CLOCK.perf_counter()
    reference = _looked_at(copied, call, (), results[0])
    left = _buffers_after(copied, call, ())
    for way, result in zip(ways[1:], results[1:], strict=True):
        found = _looked_at(copied, call, way, result)
        result.differs = max((apart(a, b) for a, b in zip(reference, found, strict=True)), default=0.0)
        found_after = _buffers_after(copied, call, way)
        result.moved = [name for name, value in found_after.items() if not torch.equal(value, left[name])]
    one = (CLOCK.perf_counter() - began) / 2
    runs = [partial(_forward_and_backward, copied, call, way) for way in ways]
    for result, taken in zip(results, seconds_in_turn(runs, _ROUNDS, one=one, budget=seconds), strict=True):
        result.seconds = taken
    return results


def _looked_at(copied: nn.Module, call: Call, way: Sequence[str], result: Tried) -> list[torch.Tensor]:
    with _run(copied, call, way) as outputs:
        result.saved = saved_bytes(outputs).bytes
        return _gradients(copied, outputs)


def _forward_and_backward(copied: nn.Module, call: Call, way: Sequence[str]) -> None:
    with _run(copied, call, way) as outputs:
        _gradients(copied, outputs)


def _buffers_after(copied: nn.Module, call: Call, way: Sequence[str]) -> dict[str, torch.Tensor]:
    """What a forward and a backward leave in the buffers, which then get back what they held."""
    before = {name: buffer.clone() for name, buffer in buffers_in(copied)}
    _forward_and_backward(copied, call, way)
    after = dict(buffers_in(copied))
    for path, module in modules_in(copied):
        for name in attributes(module)["_buffers"]:
            full = f"{path}.{name}" if path else name
            if full in before:
                attributes(module)["_buffers"][name] = before[full]
    return after


@contextmanager
def _run(copied: nn.Module, call: Call, way: Sequence[str]) -> Iterator[list[torch.Tensor]]:
    """The outputs that learn, of a call with the same random numbers each time."""
    args, kwargs = fresh((call.args, call.kwargs))
    with alone(), torch.enable_grad(), _checkpointed(copied, way):
        with call.autocast():
            result = copied(*args, **kwargs)
        outputs = [tensor for tensor in tensors_in([result], EVERYTHING) if has_graph(tensor)]
        if not outputs:
            raise Undecided("its output has no graph")
        yield outputs


def _gradients(copied: nn.Module, outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    learning = [parameter for _, parameter in parameters_in(copied) if parameter.requires_grad]
    seeds = [torch.ones_like(output) for output in outputs]
    found = torch.autograd.grad(outputs, learning, seeds, allow_unused=True)
    return [gradient for gradient in found if gradient is not None]


@contextmanager
def _checkpointed(copied: nn.Module, way: Sequence[str]) -> Iterator[None]:
    blocks = [module for path, module in modules_in(copied) if path in way]
    for block in blocks:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)
    try:
        yield
    finally:
        for block in blocks:
            del block.forward
