"""Events of models that several ranks hold the same of."""

from __future__ import annotations

from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location


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
