"""What an optimizer was given: parameters, and the rates of their groups."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.optim import Optimizer


def parameters_of(optimizer: Optimizer) -> list[torch.Tensor]:
    """Those of all groups, in order."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def rates_at_hand(optimizer: Optimizer, chosen: Callable[[torch.Tensor], bool] | None = None) -> list[float | None]:
    """Learning rates of the groups, as far as they are plain numbers: tensors would have to be waited for.

    chosen: of those groups alone that hold a parameter for which it is true.
    """
    groups = [each for each in optimizer.param_groups if chosen is None or any(map(chosen, each["params"]))]
    rates = [group.get("lr") for group in groups]
    return [rate if type(rate) is float else None for rate in rates]
