"""What an optimizer was given: parameters, and the rates of their groups."""

from __future__ import annotations

import torch
from torch.optim import Optimizer


def parameters_of(optimizer: Optimizer) -> list[torch.Tensor]:
    """Those of all groups, in order."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def rates_at_hand(optimizer: Optimizer) -> list[float | None]:
    """Learning rates of the groups, as far as they are plain numbers: tensors would have to be waited for."""
    rates = [group.get("lr") for group in optimizer.param_groups]
    return [rate if type(rate) is float else None for rate in rates]
