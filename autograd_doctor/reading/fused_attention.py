"""Attention written out, step by step, and as one call: what each keeps for the backward, and how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import torch
from torch.nn.functional import dropout, scaled_dot_product_attention

from autograd_doctor.clock import CLOCK
from autograd_doctor.reading.counted_storages import CountedStorages
from autograd_doctor.reading.graph_bytes import saved_by, savers
from autograd_doctor.reading.graph_structure import nodes_of
from autograd_doctor.reading.paired_runs import Rounds, seconds_in_turn
from autograd_doctor.reading.subclasses import storage_address, storages_of
from autograd_doctor.reading.trials import Undecided, alone, apart

_Way = Callable[["Attention"], torch.Tensor]
_ROUNDS = Rounds(5, 25)
_SAME = 0.01
"""How far the results of both may be apart, relative to the largest: half precision rounds each weight by 0.001."""


class Attention(NamedTuple):
    """What went into it: queries, keys and values, what scores are multiplied by, and what is hidden of them.

    mask: of bools, which scores count; of others, what is added. result: what came out, None where dropout took part.
    dropped: at which rate. kept: whether queries, keys and values stay until the backward in any case.
    """

    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    scale: float
    mask: torch.Tensor | None
    result: torch.Tensor | None
    dropped: float = 0.0
    kept: tuple[bool, ...] = (False, False, False)

    @property
    def is_causal(self) -> bool:
        """Whether each position sees those before it and itself, and no others."""
        mask = self.mask
        if mask is None or mask.dtype is not torch.bool or mask.shape[-1] != mask.shape[-2]:
            return False
        return bool((mask == torch.ones_like(mask).tril()).all())

    @property
    def batch(self) -> list[int]:
        """The sizes of all axes but the last two, once each of the three is expanded to those of the others."""
        return list(torch.broadcast_shapes(*(each.shape[:-2] for each in self[:3])))

    @property
    def expands(self) -> list[int]:
        """The arguments that `expand` has need of for these axes, none where it has none."""
        sizes = [size if {each.shape[at] for each in self[:3]} != {size} else -1 for at, size in enumerate(self.batch)]
        return sizes if max(sizes, default=-1) > 0 else []


@dataclass
class Ran:
    """Bytes that a way keeps for the backward, and the seconds of forward and backward in each round."""

    saved: int = 0
    seconds: list[float] = field(default_factory=list)


class Compared(NamedTuple):
    """Step by step, and as one call; differs: how far the results are apart, relative to the largest."""

    stepwise: Ran
    fused: Ran
    differs: float


def copies(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Copies that lie in memory as these do: what a product copies, and what is kept, depends on that."""
    whole: dict[int, torch.Tensor] = {}
    return [_copy(each.detach(), whole) for each in tensors]


def _copy(tensor: torch.Tensor, whole: dict[int, torch.Tensor]) -> torch.Tensor:
    address, size = next(storages_of(tensor))
    if address not in whole:
        whole[address] = tensor.as_strided((size // tensor.element_size(),), (1,), 0).clone()
    return whole[address].as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def kept_anyway(tensors: Sequence[torch.Tensor]) -> tuple[bool, ...]:
    """Of each, whether it stays until the backward, whatever is done with it: the graph that made them keeps it, or
    it is a leaf."""
    behind = {address for _, address, _ in savers(tensors)}
    bases = [each if each._base is None else each._base for each in tensors]
    return tuple(each.is_leaf or storage_address(each) in behind for each in bases)


def compared(attention: Attention, seconds: float) -> Compared:
    """Both ways in turn. seconds: what that may take. Raises `Undecided` where they do not compute the same.

    Their bytes are of all storages that are kept, queries, keys and values among them, but what is kept in any case,
    the mask, and the result: what comes next keeps that.
    """
    stepwise, fused = Ran(), Ran()
    with alone(), torch.enable_grad():
        differs = _difference(attention._replace(dropped=0.0))
        began = CLOCK.perf_counter()
        hidden = _hidden(attention)
        ways: list[_Way] = [partial(_stepwise, hidden=hidden), _fused]
        for ran, way in zip((stepwise, fused), ways, strict=True):
            given = _learning(attention)
            result = way(given)
            anyway = [each for each, kept in zip(given[:3], given.kept, strict=True) if kept]
            ran.saved = _saved(result, [*anyway, result, *(each for each in (hidden, given.mask) if each is not None)])
            _backward(given, result)
        round_took = CLOCK.perf_counter() - began
        runs = [partial(_forward_and_backward, attention, way) for way in ways]
        stepwise.seconds, fused.seconds = seconds_in_turn(runs, _ROUNDS, one=round_took, budget=seconds)
    return Compared(stepwise, fused, differs)


def _difference(attention: Attention) -> float:
    one, other = _stepwise(attention, _hidden(attention)), _fused(attention)
    if not bool((one.isfinite() & other.isfinite()).all()):
        raise Undecided("results are not finite")
    if attention.result is not None and apart(one, attention.result) > _SAME:
        raise Undecided("it computes more than was understood")
    if (differs := apart(one, other)) > _SAME:
        raise Undecided("the fused call computes something else")
    return differs


def _saved(result: torch.Tensor, anyway: Iterable[torch.Tensor]) -> int:
    counted = CountedStorages()
    counted.add(anyway)
    return counted.add(each for node in nodes_of([result]) for each in saved_by(node))


def _forward_and_backward(attention: Attention, way: _Way) -> None:
    given = _learning(attention)
    _backward(given, way(given))


def _learning(attention: Attention) -> Attention:
    queries, keys, values = (each.detach().requires_grad_() for each in attention[:3])
    return attention._replace(queries=queries, keys=keys, values=values)


def _backward(attention: Attention, result: torch.Tensor) -> None:
    torch.autograd.grad(result, [attention.queries, attention.keys, attention.values], torch.ones_like(result))


def _hidden(attention: Attention) -> torch.Tensor | None:
    mask = attention.mask
    return ~mask if mask is not None and mask.dtype is torch.bool else None


def _stepwise(attention: Attention, hidden: torch.Tensor | None) -> torch.Tensor:
    scores = attention.queries @ attention.keys.transpose(-2, -1) * attention.scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    elif attention.mask is not None:
        scores = scores + attention.mask
    weights = scores.softmax(-1)
    return (dropout(weights, attention.dropped) if attention.dropped else weights) @ attention.values


def _fused(attention: Attention) -> torch.Tensor:
    """Fused kernels take four axes: one of heads is put in where there are three."""
    lacks_heads = attention.queries.dim() == 3
    queries, keys, values = (each.expand(*attention.batch, *each.shape[-2:]) for each in attention[:3])
    causal = attention.is_causal
    mask = None if causal or attention.mask is None else attention.mask
    if mask is not None and mask.dtype is not torch.bool:
        mask = mask.to(attention.queries.dtype)
    if lacks_heads:
        queries, keys, values = queries[:, None], keys[:, None], values[:, None]
        mask = mask[:, None] if mask is not None and mask.dim() == 3 else mask
    rate, scale = attention.dropped, attention.scale
    found = scaled_dot_product_attention(queries, keys, values, mask, rate, causal, scale=scale)
    return found[:, 0] if lacks_heads else found
