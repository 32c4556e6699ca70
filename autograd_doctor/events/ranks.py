"""Events of ranks that meet in collectives, and of how each of them ended."""

from __future__ import annotations

from typing import Literal

from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location


class CollectiveCalled(Event, frozen=True):
    """The program called a collective on all ranks, after `step` steps: the first such call of a line in that step."""

    collective: str
    location: Location | None


class RankStood(Event, frozen=True):
    """How a rank ended, or where it stood when all were ended because none went on; stated when ranks are compared.

    how: "waits" in a collective, or for gradients of others; "works" at something else; "lost" a peer while it waited;
    "aborted" by a library, as where what two ranks send one another does not fit; "ended" well; "broke off" otherwise.
    """

    how: Literal["waits", "works", "lost", "aborted", "ended", "broke off"]
    location: Location | None = None
