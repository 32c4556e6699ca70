"""Where the time and the memory of a training iteration went, as it was measured."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location

Activity = Literal[
    "data", "transfer", "forward", "no-grad forward", "loss", "backward", "clipping", "optimizer", "zeroing",
    "evaluation", "checkpoint", "synchronisation", "rest",
]  # fmt: skip
"""What a program is doing.

transfer: to another device. loss: whatever it does between the forward that learns and the backward. synchronisation:
the host asks for a value that an accelerator is still to compute.
"""

BESIDE: frozenset[Activity] = frozenset({"evaluation", "checkpoint"})
"""What only some iterations do, as a rule."""


class Spent(Struct, frozen=True, omit_defaults=True):
    """Seconds that went to an activity at a line, without what others took inside it, and without the doctor's own.

    times: how often it began there.
    """

    activity: Activity
    seconds: float
    location: Location | None = None
    times: int = 0


class IterationTimed(Event, frozen=True):
    """One turn of the training loop, from a step of an optimizer to the next one at the same line.

    samples, tokens: of the batches that the program drew, or gave to the first module, 0 where they do not tell.
    waited: an accelerator was waited for after each activity, so that the parts are known, and the whole is longer than
    else. recorded: operations were being recorded in it, which takes time of the program's own as well. starts: passes
    that began in it, over loaders with workers.
    """

    seconds: float
    spent: list[Spent]
    samples: int = 0
    tokens: int = 0
    waited: bool = False
    recorded: bool = False
    starts: int = 0


class ModuleTime(Struct, frozen=True):
    """A module in one iteration. seconds: in its forward; own: outside of the modules that it calls."""

    name: str
    kind: str
    calls: float
    seconds: list[float]
    own: list[float]


class ModulesTimed(Event, frozen=True):
    """The forwards with gradients of all modules, by iteration: as many numbers of each as there were iterations."""

    iterations: int
    modules: list[ModuleTime]


class LineCost(Struct, frozen=True):
    """What the operations at a line took: in the forward, in their part of the backward, and saved between the two.

    module: the innermost one that was running. operations: their names. waits: how often a value was asked for by
    `.item()` and the like. All are means over iterations; saved are bytes of storages that no line before has saved.
    """

    location: Location | None
    module: str
    operations: list[str]
    calls: float
    forward: float
    backward: float
    saved: float
    waits: float = 0.0


class LinesMeasured(Event, frozen=True):
    """Operation by operation, in so many iterations that were recorded."""

    iterations: int
    lines: list[LineCost]


class Peak(Struct, frozen=True):
    """The most bytes that were held at once, and where: at a line, or in the backward of what it computes."""

    bytes: int
    during: Literal["forward", "backward"]
    location: Location | None


class MemoryBudgeted(Event, frozen=True):
    """Bytes that training holds when a backward begins, each storage counted once.

    activations: what graphs keep for their backward. gradients, optimizer: those that are there when a step is over, or
    begins. highest: what the allocator of an accelerator had given out at most. peak: of an iteration, beside what is
    none of these and was there before.
    """

    parameters: int
    buffers: int
    gradients: int
    optimizer: int
    activations: int
    highest: int | None = None
    peak: Peak | None = None


class GraphMeasured(Event, frozen=True):
    """A graph when its backward began. nodes: how many; depth: of the longest chain of them. saved: bytes that it
    kept, each storage counted once; left: those that it still kept when the backward was over."""

    nodes: int
    depth: int
    saved: int
    left: int


class CheckpointsTried(Event, frozen=True):
    """Forward and backward of a copy of a model, with some of its blocks under `torch.utils.checkpoint` and without.

    model: its name. holder: the name of what holds the blocks, and nothing else if they are alone; kind: their class.
    blocks: how many there are; every: one in so many was checkpointed. saved: bytes kept for the backward, without and
    with; before, after: seconds of forward and backward in as many alternating runs. differs: how far gradients were
    apart, relative to the largest; 0 where they were the same to the last bit. moved: buffers that are changed twice.
    location: where the blocks are called. predicted: the bytes that would be kept, added up by line, without and with;
    None where blocks must not run twice. untried: why nothing was run, so that all else that was measured is missing.
    """

    model: str
    holder: str
    kind: str
    alone: bool
    blocks: int
    every: int
    saved: tuple[int, int] = (0, 0)
    before: list[float] = []
    after: list[float] = []
    differs: float = 0.0
    moved: list[str] = []
    location: Location | None = None
    predicted: tuple[int, int] | None = None
    untried: str = ""


Mask = Literal["", "hides", "keeps", "adds"]
Unfit = Literal["hidden rows", "derived twice", "looked at"]


class AttentionTried(Event, frozen=True):
    """Attention written out at a line, and the fused call in its place, on the same queries, keys and values.

    shape: of the queries; keys: how many there are. saved: bytes kept for the backward, step by step and fused; before,
    after: seconds of forward and backward in as many alternating runs. differs: how far the results were apart,
    relative to the largest. causal: each position sees those before it. mask: what the program masks scores with: what
    is hidden, as by `masked_fill`, or what counts, as by `where`, or what is added; mask_axes: how many it has.
    dropped: the rate of dropout on the weights. scale: what scores are multiplied by. calls: how many such there are at
    that line in an iteration, 0 where none was seen whole. expands: with which arguments for all axes but the last two
    the three were expanded.
    """

    location: Location | None
    shape: list[int]
    keys: int
    saved: tuple[int, int]
    before: list[float]
    after: list[float]
    differs: float
    causal: bool = False
    mask: Mask = ""
    mask_axes: int = 0
    dropped: float = 0.0
    scale: float = 1.0
    calls: int = 0
    expands: list[int] = []


class AttentionUnfit(Event, frozen=True):
    """Attention that was tried turned out to be none for the fused call.

    reason: a row of its mask hid all keys; its derivative was taken with `create_graph`; its weights or scores were
    used for something else.
    """

    location: Location | None
    reason: Unfit


class EvaluationTried(Event, frozen=True):
    """A forward of an evaluation, run on a copy with gradients, under `no_grad` and under `inference_mode`.

    module: its name. gradients: whether the program runs it with them, to no use. passes: how often it did; followed:
    of how many of these it was seen what became of what they made; within: how many of them were in so many iterations.
    saved: bytes that a graph keeps until the output is gone. recording: seconds with gradients, and under
    `no_grad`, in as many alternating runs; inference: under `no_grad`, and under `inference_mode`. differs: how far
    results are from those under `no_grad`, relative to the largest, with gradients and under `inference_mode`; 0 where
    they are the same to the last bit. met: where autograd had to do with what evaluations made; by: what it was.
    location: what switched gradients off, or where the module is called; called: where it is. kind: what it was that
    switched; form: how, as in `GradSwitch`; both are "" if none was seen.
    """

    module: str
    gradients: bool
    passes: int
    followed: int
    within: int
    iterations: int
    saved: int
    recording: tuple[list[float], list[float]]
    inference: tuple[list[float], list[float]]
    differs: tuple[float, float]
    location: Location | None = None
    called: Location | None = None
    met: Location | None = None
    by: str = ""
    kind: str = ""
    form: str = ""


class OptimizerTried(Event, frozen=True):
    """A step of an optimizer by one of torch's other ways, on copies of its parameters, gradients and state.

    optimizer: its number; parameters: how many it holds. option: of its constructor, `fused` or `foreach`. before,
    after: seconds of a step as it is, and with the option, in as many alternating runs. differs: how far the weights
    were apart after one step, relative to the largest change. location: where it steps.
    """

    optimizer: int
    parameters: int
    option: str
    before: list[float]
    after: list[float]
    differs: float = 0.0
    location: Location | None = None


class ItemsReread(Event, frozen=True):
    """Samples of the data set of a loader were read twice, by a worker.

    samples: how many; same: of these the same to the last bit, without a random number. first, again: the median
    seconds of a sample the first time, and the second; waited: those that the program waits for one. bytes: of the
    tensors in one, on average; of: samples in the data set. location: where batches are asked for.
    """

    location: Location | None
    samples: int
    same: int
    first: float
    again: float
    waited: float
    bytes: int
    of: int


class PassTimed(Event, frozen=True):
    """A pass of the program over a loader, to its end, or to where the program began the next one at the same line.

    loader: its number. workers: how many read for it, 0 where the program does. kept: they outlive the pass. batches:
    how many were drawn. start: seconds from asking for the pass to its first batch; wait: the median of those that the
    program waited for another one, None without any. since: seconds from asking for the pass before at this line to
    asking for this one, None in the first. cores: of the machine, 0 where it does not tell.
    """

    location: Location | None
    loader: int
    workers: int
    kept: bool
    batches: int
    start: float
    wait: float | None = None
    since: float | None = None
    cores: int = 0


class WorkersKept(Event, frozen=True):
    """The data set of a loader was read by as many workers as it has, which were kept from one pass to the next.

    ready: seconds from asking for a pass, with workers that are there already, to its first batch. location: where the
    program asks for passes.
    """

    location: Location | None
    ready: list[float]


class WorkersTried(Event, frozen=True):
    """The data set of a loader was read by workers for a moment.

    before: the seconds that the program waits for a batch, which it reads itself; after: those between two batches, if
    the workers did nothing but read. location: where batches are asked for.
    """

    location: Location | None
    workers: int
    before: float
    after: float


class WorkersRuledOut(Event, frozen=True):
    """Why nothing is known of workers for a loader of which the program reads the batches itself, and waits for them.

    why: what stands in the way. location: where batches are asked for.
    """

    location: Location | None
    why: str


PROFILED: tuple[type[Event], ...] = (
    IterationTimed,
    ModulesTimed,
    LinesMeasured,
    MemoryBudgeted,
    GraphMeasured,
    CheckpointsTried,
    AttentionTried,
    AttentionUnfit,
    EvaluationTried,
    OptimizerTried,
    WorkersTried,
    WorkersRuledOut,
    ItemsReread,
    PassTimed,
    WorkersKept,
)
"""What is measured for a profile."""
