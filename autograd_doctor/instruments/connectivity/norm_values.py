"""Whether the weights of frozen normalisations stay as they are: those of an average of trained ones do not."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.tensor_facts import fingerprints
from autograd_doctor.reading.without_running import attributes, is_a


class NormValues(Instrument):
    """Compares them with what they were at first, for whoever has seen their statistics move."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._first: IdentityTable[int | None] = IdentityTable()
        self._changed: IdentityTable[bool] = IdentityTable()

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


def _frozen_parameters(norm: nn.Module) -> list[torch.Tensor]:
    """Its own parameters, if none requires a gradient."""
    own = [kept for kept in attributes(norm)["_parameters"].values() if is_a(kept, torch.Tensor)]
    return [] if any(parameter.requires_grad for parameter in own) else own
