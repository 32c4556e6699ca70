"""Frozen normalisations: whether their weights stay as they are, and whether there was ever anything to keep."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensor_facts import fingerprints, is_remote, readable
from autograd_doctor.reading.without_running import attributes, is_a

_WRITES_OF_BUILDING = 1
"""How often a weight is written to when a norm is built; what is loaded into it later is one write more."""


class NormValues(Instrument):
    """Compares them with what they were at first, for whoever has seen their statistics move."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._first: IdentityTable[int | None] = IdentityTable()
        self._changed: IdentityTable[bool] = IdentityTable()
        self._new: IdentityTable[bool] = IdentityTable()

    def changed(self, norms: Iterable[nn.Module]) -> list[nn.Module]:
        """Those that are frozen and were seen with other values before, now or at an earlier look."""
        frozen = [(norm, own) for norm in norms if (own := _frozen_parameters(norm))]
        weights = [(norm, parameter) for norm, own in frozen for parameter in own if norm not in self._changed]
        values = fingerprints([parameter for _, parameter in weights])
        for (norm, parameter), value in zip(weights, values, strict=True):
            if parameter not in self._first:
                self._first.put(parameter, value)
            elif self._first.get(parameter) != value:
                self._changed.put(norm, True)
        return [norm for norm, _ in frozen if norm in self._changed]

    def new(self, norms: Iterable[nn.Module]) -> list[nn.Module]:
        """Those that are frozen and hold no more than they are built with, but for statistics of their first call, and
        into which nothing was loaded.

        They are seen right after it; on an accelerator, they would have to be waited for.
        """
        frozen = [norm for norm in norms if _frozen_parameters(norm)]
        for norm in frozen:
            if norm not in self._new:
                self._new.put(norm, _is_as_built(norm))
        return [norm for norm in frozen if self._new.get(norm)]


def _is_as_built(norm: nn.Module) -> bool:
    kept = attributes(norm)
    calls = kept["_buffers"].get("num_batches_tracked")
    weight, bias = (kept["_parameters"].get(name) for name in ("weight", "bias"))
    known = all(is_a(each, torch.Tensor) and readable(each) and not is_remote(each) for each in (calls, weight, bias))
    if not known or max(map(version_of, (weight, bias))) > _WRITES_OF_BUILDING:
        return False
    return int(calls) == 1 and bool((weight == 1).all() and (bias == 0).all())


def _frozen_parameters(norm: nn.Module) -> list[torch.Tensor]:
    """Its own parameters, if none requires a gradient."""
    own = [kept for kept in attributes(norm)["_parameters"].values() if is_a(kept, torch.Tensor)]
    return [] if any(parameter.requires_grad for parameter in own) else own
