"""What distributions of the program say of themselves, without running anything of theirs."""

from __future__ import annotations

from typing import Any

import torch
from torch.distributions import Distribution, Independent

from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.without_running import attribute, attributes, is_a


def can_be_differentiated(distribution: Distribution) -> bool:
    """Whether it has `rsample`; one that is made of another, and asks that one, has it if the other does."""
    said = attribute(distribution, "has_rsample")
    base: Any = attributes(distribution).get("base_dist")
    if type(said) is property and is_a(base, Distribution):
        return can_be_differentiated(base)
    return said is True


def tensors_of(distribution: Distribution) -> list[torch.Tensor]:
    """What it keeps: its parameters, also those of the distributions and transforms that it is made of."""
    return tensors_in((distribution,), EVERYTHING)


def kind_of(distribution: Distribution) -> str:
    """The name of its class, or of the one whose dimensions it only declares to be independent."""
    base: Any = attributes(distribution).get("base_dist")
    if type(distribution) is Independent and is_a(base, Distribution):
        return kind_of(base)
    return type(distribution).__name__
