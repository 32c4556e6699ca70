"""How often torch itself holds a tensor and its memory."""

from __future__ import annotations

from typing import NamedTuple

import torch

from autograd_doctor.reading.subclasses import version_of

_TELLS = hasattr(torch.Tensor, "_use_count") and hasattr(torch._C, "_storage_Use_Count")


class Held(NamedTuple):
    """What changes where something else gets hold of a tensor, or writes to it: a graph that saves it, a view of it, a
    parameter over its memory. version: of its values. learns: it requires grad.
    """

    uses: int
    storage_uses: int
    version: int
    learns: bool

    def is_beyond(self, before: Held) -> bool:
        """Whether anything has got hold of it, or written to it, since then."""
        grown = self.uses > before.uses or self.storage_uses > before.storage_uses
        return grown or self.version != before.version or self.learns != before.learns


def held(tensor: torch.Tensor) -> Held | None:
    """None where an older torch does not tell, or a tensor has no storage of its own."""
    storage = storage_of(tensor)
    if not _TELLS or storage is None:
        return None
    count = torch._C._storage_Use_Count(storage._cdata)
    return Held(tensor._use_count(), count, version_of(tensor), tensor.requires_grad)  # type: ignore[attr-defined]


def storage_of(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    """The memory of a tensor; None for kinds without one, such as sparse tensors."""
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None
