"""Directional derivatives of a custom `autograd.Function`: cheap at any size, where single entries are too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from autograd_doctor.reading.finite_differences import Case

DIRECTIONS = 3
"""Along which a function is tried before it counts as right."""

_STEP = 1e-6
_RELATIVE, _OF_NORM = 1e-2, 1e-3
"""How far apart slopes may be, as for single entries (`finite_differences.near`)."""


@dataclass(frozen=True)
class Gradients:
    """What backward returned for each leaf as a random gradient, `incoming`, came in."""

    case: Case
    leaves: Sequence[torch.Tensor]
    incoming: torch.Tensor
    returned: Sequence[torch.Tensor]

    def off_by(self, index: int, direction: torch.Tensor) -> float:
        """By how much more than rounding the outputs change otherwise than said, as one leaf moves that way."""

        def reached(by: float) -> torch.Tensor:
            moved = [leaf.detach() for leaf in self.leaves]
            moved[index] = moved[index] + by * direction
            return self.case.values(moved)

        returned = self.returned[index] * (direction != 0)
        slope = float((returned * direction).sum())
        measured = float(((reached(_STEP) - reached(-_STEP)) @ self.incoming) / (2 * _STEP))
        return abs(slope - measured) - _RELATIVE * max(abs(slope), abs(measured)) - _OF_NORM * float(returned.norm())


def gradients(case: Case, leaves: Sequence[torch.Tensor]) -> Gradients:
    """What backward returns for leaves, zeros where it returns nothing, for random gradients of all outputs."""
    outputs = case.run(*leaves)
    weights = [torch.randn_like(out) for out in outputs]
    carrying = [(out, weight) for out, weight in zip(outputs, weights, strict=True) if out.requires_grad]
    found = torch.autograd.grad(
        [out for out, _ in carrying], leaves, [weight for _, weight in carrying], allow_unused=True
    )
    returned = [
        torch.zeros_like(leaf) if each is None else each.double() for leaf, each in zip(leaves, found, strict=True)
    ]
    return Gradients(case, leaves, torch.cat([weight.reshape(-1).double() for weight in weights]), returned)
