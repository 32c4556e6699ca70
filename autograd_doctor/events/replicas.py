"""Events of training on several ranks: models that they hold the same of, and the collectives in which they meet."""

from __future__ import annotations

from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location


class CollectiveCalled(Event, frozen=True):
    """The program called a collective on all ranks, after `step` steps: the first such call of a line in that step."""

    collective: str
    location: Location | None


class ModelWrapped(Event, frozen=True):
    """`DistributedDataParallel` was given a model at this line.

    reduced: the parameters whose gradients it averages, as torch counts them. finds_unused: it looks in each step for
    those that took no part.
    """

    location: Location | None
    reduced: list[int]
    finds_unused: bool


class ReplicasRead(Event, frozen=True):
    """The parameters of a model that `DistributedDataParallel` keeps alike, read after `step` steps.

    names: as the wrapper calls them, the same on all ranks. bits: equal where all values are, and hardly ever
    elsewhere. norms: how long they are. ranks: those that the wrapper keeps alike. apart: they are not meant to be
    alike at present, because a hook of the program replaces what is communicated, or the last forward was without it.
    stepped_at: where the last step was taken.
    """

    model: str
    names: list[str]
    bits: list[int]
    norms: list[float]
    ranks: list[int]
    apart: bool = False
    stepped_at: Location | None = None
