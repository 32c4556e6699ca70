"""Which rank of how many this process is, once it is known; no collective is called for it."""

from __future__ import annotations

import os
import sys

from autograd_doctor.events.run import RankJoined
from autograd_doctor.ranks import local_rank, this_rank


class Joined:
    """Says it again only when it has changed."""

    def __init__(self) -> None:
        self._said: RankJoined | None = None

    def news(self) -> RankJoined | None:
        """What is known, None if that is what was known before, or if this is no rank."""
        now = _now()
        if now is None or now == self._said:
            return None
        self._said = now
        return now


def _now() -> RankJoined | None:
    """As the group of processes says, whose rank is a number that it knows by itself; or else the launcher."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        rank, size = distributed.get_rank(), distributed.get_world_size()
    elif (told := this_rank(os.environ)).are_several:
        rank, size = told.rank, told.size
    else:
        return None
    return RankJoined(joined=rank, world_size=size, local_rank=local_rank(os.environ))
