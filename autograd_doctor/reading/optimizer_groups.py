"""The parameters that an optimizer was given."""

from __future__ import annotations

import torch
from torch.optim import Optimizer


def parameters_of(optimizer: Optimizer) -> list[torch.Tensor]:
    """Those of all groups, in order."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
