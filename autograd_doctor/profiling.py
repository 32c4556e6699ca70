"""The profile of a training loop, as the report holds it: where the time and the memory of an iteration go."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import floor, sqrt
from statistics import median
from typing import Literal, NamedTuple

from msgspec import Struct

from autograd_doctor.events.efficiency import Activity

_DEVIATIONS = 1.96 / 2
"""Of the rank of a median among n numbers, whose standard deviation is half the root of n: 95 % lie within."""
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)|(?<=\[)\d+(?=\])")
"""Of a member of a container: `model.blocks.3.up`."""


class Measured(Struct, frozen=True):
    """A median of several measurements, and the interval that holds the true one in 95 of 100 cases.

    The interval goes from one order statistic to another, so that no distribution is assumed (Conover, Practical
    Nonparametric Statistics, 3.2).
    """

    median: float
    low: float
    high: float

    @staticmethod
    def of(numbers: Sequence[float]) -> Measured:
        """Of at least one number; of fewer than six the interval is all that was measured."""
        ordered = sorted(numbers)
        below = max(0, floor(len(ordered) / 2 - _DEVIATIONS * sqrt(len(ordered))))
        return Measured(median(ordered), ordered[below], ordered[-1 - below])

    @staticmethod
    def ratio(before: Sequence[float], after: Sequence[float]) -> Measured:
        """How many times as long the second of two ways takes, from runs in turn."""
        return Measured.of([new / old for old, new in zip(before, after, strict=True)])


class Part(Struct, frozen=True):
    """What the program does in an iteration. share: of the time of all, but for the shortest and the longest; what only
    some iterations do has one although its median is 0. lines: where most of it happens.
    """

    activity: Activity
    seconds: Measured
    share: float
    lines: list[str]


class Beside(Struct, frozen=True):
    """What only some iterations do: an evaluation, or a checkpoint. seconds: in all, as if no operations were recorded.
    while_recorded: they were, and what it takes without that is not known.
    """

    activity: Activity
    iterations: int
    seconds: float
    lines: list[str]
    while_recorded: bool = False


class Waiting(Struct, frozen=True):
    """A line that asks for what an accelerator is still to compute: how often in an iteration, and for how many seconds
    the host waits there, where nothing else waits for the accelerator. Both are means.
    """

    line: str
    times: float
    seconds: float


class LoaderRead(Struct, frozen=True):
    """A loader, or those that are asked for passes at one line. workers: that read for it, 0 where the program does.

    passes: that were seen to begin. wait: seconds until another batch, None where there was none; start: until the
    first one of a pass.
    """

    line: str
    workers: int
    passes: int
    start: Measured
    wait: Measured | None


class ModuleCost(Struct, frozen=True):
    """A module in an iteration. seconds: in its forward; own: without the modules that it calls.

    backward: seconds in the backward of what its own operations made. saved: bytes that they keep for it. Both are 0
    where no operations were recorded.
    """

    name: str
    kind: str
    calls: float
    seconds: Measured
    own: Measured
    backward: float
    saved: float


class Alike(NamedTuple):
    """Modules of a class at the same place in the members of a container, as one: `model.layers.*.up`."""

    name: str
    kind: str
    modules: list[ModuleCost]

    def sum(self, of: Callable[[ModuleCost], float]) -> float:
        return sum(map(of, self.modules))

    @property
    def own(self) -> Measured:
        """What they take themselves; the interval is at most as wide as told, since they do not vary as one."""
        each = [module.own for module in self.modules]
        return Measured(sum(m.median for m in each), sum(m.low for m in each), sum(m.high for m in each))

    @property
    def cost(self) -> float:
        """Seconds in forward and backward."""
        return self.own.median + self.sum(lambda module: module.backward)


def alike(modules: Sequence[ModuleCost]) -> list[Alike]:
    """The dearest first."""
    found: dict[tuple[str, str], list[ModuleCost]] = {}
    for module in modules:
        found.setdefault((_NUMBER.sub("*", module.name), module.kind), []).append(module)
    same = [Alike(name if len(each) > 1 else each[0].name, kind, each) for (name, kind), each in found.items()]
    return sorted(same, key=lambda each: -each.cost)


class CodeLine(Struct, frozen=True):
    """A line in an iteration: seconds of its operations, of their backward, and bytes that it keeps for that."""

    line: str
    operations: list[str]
    calls: float
    forward: float
    backward: float
    saved: float
    waits: float


class CheckpointOffer(Struct, frozen=True, kw_only=True):
    """What checkpointing some blocks of a model saves and costs, as measured on a copy.

    blocks: what they are called; saved: bytes kept for the backward, without and with. cost: how many times as long
    forward and backward take. same: gradients are the same to the last bit; differs: how far they are apart else, as a
    share of the largest. moved: buffers that are changed twice. best: no other offer is better in one respect and as
    good in the other. code: what does it. predicted: the same bytes, added up from what each module keeps, which is all
    that is told where no copy could be run. untried: why.
    """

    blocks: str
    saved: tuple[int, int] | None = None
    predicted: tuple[int, int] | None = None
    cost: Measured | None = None
    differs: float = 0.0
    moved: list[str] = []
    best: bool = False
    untried: str = ""
    code: str


class EvaluationModes(Struct, frozen=True):
    """A forward of an evaluation, as measured on a copy: seconds with gradients, under `no_grad` and `inference_mode`.

    module: its name. gradients: the program runs it with them. saved: bytes that a graph keeps until the output is
    gone. inference: how many times as long as under `no_grad` it takes under `inference_mode`, run by run. met: the
    line at which autograd had to do with what evaluations made, which `inference_mode` would not allow; "" if there
    was none.
    """

    module: str
    gradients: bool
    saved: int
    recording: Measured
    no_grad: Measured
    inference_mode: Measured
    inference: Measured
    met: str


class Memory(Struct, frozen=True):
    """Bytes, each storage counted once. highest: on an accelerator, the most that was in use.

    peak: the most that training held at once in an iteration, where that can be told, and at which line; during: in the
    forward, or in the backward of what the line computes.
    """

    parameters: int
    buffers: int
    gradients: int
    optimizer: int
    activations: int
    highest: int | None = None
    peak: int | None = None
    peak_line: str = ""
    peak_during: Literal["forward", "backward"] | None = None

    @property
    def together(self) -> int:
        """What is held when a backward begins, if gradients are there by then."""
        return self.parameters + self.buffers + self.gradients + self.optimizer + self.activations


class GraphSize(Struct, frozen=True):
    """The graph of a backward. nodes: how many; depth: of the longest chain of them. saved: bytes that it keeps when
    the backward begins; left: when it is over.
    """

    step: int
    nodes: int
    depth: int
    saved: int
    left: int


class Profile(Struct, frozen=True, kw_only=True):
    """iterations: how many were timed in which nothing was recorded, evaluated or saved. while_recorded: there were
    none but those in which operations were recorded, which takes time. recorded: how many the lines tell of.

    samples, tokens: per second, 0 where batches do not tell. alone: nothing else was asked for.
    """

    iterations: int = 0
    while_recorded: bool = False
    recorded: int = 0
    seconds: Measured = Measured(0.0, 0.0, 0.0)
    samples: float = 0.0
    tokens: float = 0.0
    parts: list[Part] = []
    beside: list[Beside] = []
    waiting: list[Waiting] = []
    loaders: list[LoaderRead] = []
    modules: list[ModuleCost] = []
    lines: list[CodeLine] = []
    memory: Memory | None = None
    graphs: list[GraphSize] = []
    checkpoints: list[CheckpointOffer] = []
    evaluations: list[EvaluationModes] = []
    alone: bool = True
