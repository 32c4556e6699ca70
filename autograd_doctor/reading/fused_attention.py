"""Attention written out, step by step, and as one call: what each keeps for the backward, and how long it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import torch
from torch.nn.functional import scaled_dot_product_attention

from autograd_doctor.clock import CLOCK
from autograd_doctor.reading.graph_bytes import saved_bytes
from autograd_doctor.reading.paired_runs import Rounds, seconds_in_turn
from autograd_doctor.reading.trials import Undecided, alone, apart

_ROUNDS = Rounds(5, 25)
_SAME = 0.01
"""How far the results of both may be apart, relative to the largest: half precision rounds each weight by 0.001."""


class Attention(NamedTuple):
    """What went into it: queries, keys and values, what scores are multiplied by, and what is hidden of them.

    mask: of bools, which scores count; of others, what is added. result: what came out, None where dropout took part.
    """

    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    scale: float
    mask: torch.Tensor | None
    result: torch.Tensor | None

    @property
    def is_causal(self) -> bool:
        """Whether each position sees those before it and itself, and no others."""
        mask = self.mask
        if mask is None or mask.dtype is not torch.bool or mask.shape[-1] != mask.shape[-2]:
            return False
        return bool((mask == torch.ones_like(mask).tril()).all())


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


def compared(attention: Attention, seconds: float) -> Compared:
    """Both ways in turn. seconds: what that may take. Raises `Undecided` where they do not compute the same."""
    stepwise, fused = Ran(), Ran()
    with alone(), torch.enable_grad():
        one, other = _stepwise(attention), _fused(attention)
        if attention.result is not None and apart(one, attention.result) > _SAME:
            raise Undecided("it computes more than was understood")
        if (differs := apart(one, other)) > _SAME:
            raise Undecided("the fused call computes something else")
        began = CLOCK.perf_counter()
        for ran, way in ((stepwise, _stepwise), (fused, _fused)):
            given = _learning(attention)
            result = way(given)
            ran.saved = saved_bytes([result], given[:3]).bytes
            _backward(given, result)
        round_took = CLOCK.perf_counter() - began
        runs = [partial(_forward_and_backward, attention, way) for way in (_stepwise, _fused)]
        stepwise.seconds, fused.seconds = seconds_in_turn(runs, _ROUNDS, one=round_took, budget=seconds)
    return Compared(stepwise, fused, differs)


def _forward_and_backward(attention: Attention, way: Callable[[Attention], torch.Tensor]) -> None:
    given = _learning(attention)
    _backward(given, way(given))


def _learning(attention: Attention) -> Attention:
    queries, keys, values = (each.detach().requires_grad_() for each in attention[:3])
    return attention._replace(queries=queries, keys=keys, values=values)


def _backward(attention: Attention, result: torch.Tensor) -> None:
    torch.autograd.grad(result, [attention.queries, attention.keys, attention.values], torch.ones_like(result))


def _stepwise(attention: Attention) -> torch.Tensor:
    scores = attention.queries @ attention.keys.transpose(-2, -1) * attention.scale
    if attention.mask is not None:
        hides = attention.mask.dtype is torch.bool
        scores = scores.masked_fill(~attention.mask, -torch.inf) if hides else scores + attention.mask
    return scores.softmax(-1) @ attention.values


def _fused(attention: Attention) -> torch.Tensor:
    causal = attention.is_causal
    mask = None if causal or attention.mask is None else attention.mask
    if mask is not None and mask.dtype is not torch.bool:
        mask = mask.to(attention.queries.dtype)
    return scaled_dot_product_attention(*attention[:3], attn_mask=mask, is_causal=causal, scale=attention.scale)
