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


class ReplicasMet(Event, frozen=True):
    """Parameters that are stepped together, and that other ranks may hold the same of.

    replicas: the number by which readings refer to them. model: the name of the wrapper that keeps them alike, "" where
    they have none. names: in the wrapper, or as the program calls them. sizes: how many values each has. ranks: those
    that the wrapper keeps alike, or all. trained: somebody steps them; else they merely belong to the same wrapper.
    unsent: positions of those whose gradients the wrapper does not send, as they did not learn when it was made.
    sharded: each rank holds a part of each of them (`fully_shard`), which is never read.
    """

    replicas: int
    model: str
    names: list[str]
    sizes: list[int]
    ranks: list[int]
    trained: bool = True
    unsent: list[int] = []
    sharded: bool = False


class ReplicasRead(Event, frozen=True):
    """What they held before a step of their own, and the gradients that it was to use.

    taken: the steps of their own before it. bits: equal where all values are, and hardly ever elsewhere; norms: how
    long they are; both also of gradients, with None where there is none. backwards: how many ran since the step before;
    ran: in all. sent_last: in the last one the wrapper was not told to send nothing (`no_sync()`). hooked: a hook of
    the program replaces what the wrapper communicates. stepped_at: where the step is taken.
    """

    replicas: int
    taken: int
    bits: list[int | None]
    norms: list[float]
    gradient_bits: list[int | None] = []
    gradient_norms: list[float] = []
    backwards: int = 0
    ran: int = 0
    sent_last: bool = True
    hooked: bool = False
    stepped_at: Location | None = None


class GradientsChangedAfterStep(Event, frozen=True):
    """Gradients that a step had used were others when they were cleared: of `taken` steps, as `ReplicasRead` has it."""

    replicas: int
    taken: int
    gradient_bits: list[int | None]
    gradient_norms: list[float]


class RatesSet(Event, frozen=True):
    """Replicas are stepped with other learning rates than before, after `taken` steps of their own.

    rates: of each group of the optimizer that holds some of them, None for what is no plain number. location: the step
    of a scheduler that set them, or the step that uses them.
    """

    replicas: int
    taken: int
    rates: list[float | None]
    location: Location | None


class BuffersEvaluated(Event, frozen=True):
    """What a model of replicas is evaluated with besides its parameters, after `taken` steps of their own.

    names: of the buffers with real numbers that its state holds, as the program may call them. bits, norms: as
    `ReplicasRead` has them. location: where the model was called.
    """

    replicas: int
    taken: int
    names: list[str]
    bits: list[int | None]
    norms: list[float]
    location: Location | None


class StateTaken(Event, frozen=True):
    """The program took the `state_dict()` of a model of replicas at this line, after `taken` steps of their own."""

    replicas: int
    taken: int
    location: Location | None


class EpochsInOneOrder(Event, frozen=True):
    """A distributed sampler that shuffles gave out its samples in the same order in each pass that one model was
    trained in, and came to the same samples.

    location: where the first pass began. sampler: its name. epoch: the number of the epoch that it was in, in each.
    replicas: among how many it deals out the samples. passes: how many have begun. batches: in all of them.
    """

    location: Location | None
    sampler: str
    epoch: int | None
    replicas: int | None
    passes: int
    batches: int


class WholeSetTrained(Event, frozen=True):
    """A model of replicas was trained on passes over a loader that goes through all samples of its data set.

    location: where the first pass began. stored: a number for some of the samples, equal where they are. shuffles: they
    come in another order in each pass. passes: that came to their end. ended: the last one did.
    """

    replicas: int
    location: Location | None
    loader: str
    samples: int
    stored: int
    shuffles: bool
    passes: int
    ended: bool


class BatchTrained(Event, frozen=True):
    """What a step of a model came from, in numbers that are the same on two ranks if all values are, in any order.

    replicas, taken: as `ReplicasRead` has it. location: where the pass over the loader began, or, without one, where
    the first module was called. given: data that modules were called with, also inner ones. drawn: what a loader gave
    and a backward came after, None where there was none that can be read. loss: the roots of its backwards, loss_size:
    their norms. is_random: a layer drops values out; beside: what operations took from then on together with values
    that have a graph. shared: ranks met in a collective on the way from data to loss. sent: a collective was given
    gradients of the model.
    """

    replicas: int
    taken: int
    location: Location | None
    loader: str
    given: int
    drawn: int | None
    loss: int | None
    loss_size: float = 0.0
    beside: int = 0
    is_random: bool = False
    shared: bool = False
    sent: bool = False
