"""How wrong gradients are that were computed from values changed behind autograd: both are computed, and compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.autograd.function import BackwardCFunction

from autograd_doctor.reading.graph_walk import GraphWalk
from autograd_doctor.reading.tensor_facts import norms

_MOST_NODES = 2_000
"""Two more backwards are run through the graph: those of a small network cost milliseconds."""


def relative_error(
    walk: GraphWalk, root: torch.Tensor, saved: torch.Tensor, original: torch.Tensor, *, hooked: bool
) -> float | None:
    """‖found − true‖ / ‖true‖ over all leaves, where the true gradient is that of the original values.

    None where a second backward could be noticed: gradient hooks of the program, custom functions, losses of more than
    one element. `original` has the shape of `saved`. Call it in a look.
    """
    quiet = not hooked and not any(isinstance(node, BackwardCFunction) for node in walk.nodes.values())
    leaves = [leaf for leaf in walk.leaves.values() if leaf.requires_grad]
    if not quiet or root.numel() != 1 or len(walk.nodes) > _MOST_NODES or not leaves:
        return None
    found = _gradients(root, leaves)
    with _holding(saved, original):
        true = _gradients(root, leaves)
    pairs = [(mine, right) for mine, right in zip(found, true, strict=True) if mine is not None and right is not None]
    size = sum(norm**2 for norm in norms([right for _, right in pairs]))
    off = sum(norm**2 for norm in norms([mine - right for mine, right in pairs]))
    return float((off / size) ** 0.5) if size > 0 else None


def _gradients(root: torch.Tensor, leaves: list[torch.Tensor]) -> tuple[torch.Tensor | None, ...]:
    return torch.autograd.grad(root, leaves, retain_graph=True, allow_unused=True)


@contextmanager
def _holding(saved: torch.Tensor, original: torch.Tensor) -> Iterator[None]:
    """Put other values into a saved tensor for a while; through `.data`, so that its version stays as it is."""
    changed = saved.detach().clone()
    saved.data.copy_(original)
    try:
        yield
    finally:
        saved.data.copy_(changed)
