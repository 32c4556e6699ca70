"""Leaves that no optimizer holds and that collect gradients: whether the program has any use for them.

One is followed from the second step on in which a backward writes to it: most are made anew in every step, as inputs of
saliency and adversarial examples are, and cost nothing then. Gradients of parameters are also read where all are
alike, to log or to clip them: a line that also reads those of parameters that learn has no use for one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch.utils.checkpoint import CheckpointFunction

from autograd_doctor.events.connectivity import LeafCollected, LeafUsed
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.graph_walk import GraphWalk
from autograd_doctor.reading.leaf_hooks import is_hooked
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import here, locate
from autograd_doctor.reading.subclasses import is_parameter
from autograd_doctor.reading.tensor_facts import fingerprints, norms
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import numbers_in

_CHECKPOINT: type | tuple[()] = getattr(CheckpointFunction, "_backward_cls", ())
"""The node of a reentrant checkpoint."""
_MOST_FOLLOWED = 512
"""At a time, each of which is compared with its first values: people make a few such leaves, and leave out a module."""
_READS_IN_USE = 2
"""Backwards behind which a parameter's gradient is read, for that to be a use: once, at the end, is a look."""
_MOST_NODES = 64
"""On the way from a leaf to a checkpoint: an input is cut into batches and reshaped, if anything is done to it."""


@dataclass(slots=True)
class _Leaf:
    """A leaf that is followed, and its values at first. reads: behind how many backwards its gradient was read."""

    number: int
    values: int | None
    reads: int = 0


class OwnLeaves(Instrument):
    """States which leaves collect gradients, and the first use that the program has for each of them.

    Of parameters only the latter: the ledger tells which of them collect gradients.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (LeafCollected, LeafUsed)

    def __init__(
        self,
        site: Site,
        course: Course,
        parameters: Parameters,
        optimizers: Optimizers,
        tensors: Tensors,
        ledger: Ledger,
        lineage: Lineage,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._optimizers = optimizers
        self._tensors = tensors
        self._ledger = ledger
        self._lineage = lineage
        self._reads = site.signals.gradient_reads
        self._settled: set[int] = set()
        self._first_step: dict[int, int] = {}
        self._followed: IdentityTable[_Leaf] = IdentityTable()
        self._compared_at = 0
        self._read_at: dict[tuple[int, Location | None], None] = {}
        """Parameters, and where their gradients were read since the last backward."""
        self._lines_for_all: set[Location | None] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.LIGHT)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)

    def finish(self) -> None:
        self._look_at_reads()
        self._compare()

    # -------------------------------------------------------------------------------------------- who is to be followed

    def _backward_ended(self, call: BackwardCall) -> None:
        self._asked(call)
        self._look_at_reads()
        walk = self._ledger.walk
        if walk is None or call.kind != "backward":
            return
        wrote = [number for number in self._ledger.wrote if number not in self._settled]
        living = dict(self._parameters.living()) if wrote else {}
        for number in wrote:
            leaf = living.get(number)
            if leaf is None or self._optimizers.holds(number):
                self._settled.add(number)
            elif self._first_step.setdefault(number, self._course.steps) < self._course.steps:
                self._collected(number, leaf, walk)

    def _collected(self, number: int, leaf: torch.Tensor, walk: GraphWalk) -> None:
        """A second step wrote to this leaf, or a later one."""
        is_own = not is_parameter(leaf)
        if leaf in self._followed:
            if is_own:
                self._look_for_helpers(leaf, walk)
        elif leaf.grad is not None and any(norms([leaf.grad])) and len(list(self._followed.items())) < _MOST_FOLLOWED:
            made = self._tensors.get(leaf)
            if is_own and made is not None and made.by_library:
                self._settled.add(number)
                return
            self._followed.put(leaf, _Leaf(number, fingerprints([leaf])[0]))
            self.listen(self._reads.read, self._read)
            if is_own:
                where = None if made is None else made.place if made.operation == "requires_grad_" else made.created_at
                self.emit(LeafCollected(step=self._course.steps, parameter=number, location=locate(where)))
                self._look_for_helpers(leaf, walk)

    # ------------------------------------------------------------------------------------------------------- its uses

    def _used(
        self,
        leaf: torch.Tensor,
        how: Literal["read", "asked", "hooked", "changed", "checkpointed"],
        location: Location | None = None,
    ) -> None:
        known = self._followed.get(leaf)
        if known is None:
            return
        self._followed.discard(leaf)
        self._settled.add(known.number)
        self.emit(LeafUsed(step=self._course.steps, parameter=known.number, how=how, location=location))
        self._listen_no_more()

    def _listen_no_more(self) -> None:
        """While there is nothing to be followed, the signal of reads costs nothing."""
        if not self._followed:
            self.unlisten(self._reads.read, self._read)

    def _read(self, tensor: torch.Tensor) -> None:
        known = self._followed.get(tensor)
        if known is None:
            number = self._parameters.get(tensor)
            if number is not None and self._optimizers.holds(number):
                self._lines_for_all.add(here())
        elif is_parameter(tensor):
            self._read_at[known.number, here()] = None
        else:
            self._used(tensor, "read", here())

    def _look_at_reads(self) -> None:
        """By now, a line that reads the gradients of all parameters has come to those that learn."""
        read = {number: line for number, line in self._read_at if line not in self._lines_for_all}
        self._read_at = {}
        for leaf, known in list(self._followed.items()) if read else ():
            known.reads += known.number in read
            if known.reads >= _READS_IN_USE:
                self._used(leaf, "read", read[known.number])

    def _asked(self, call: BackwardCall) -> None:
        """The program wants a gradient at a point: at a leaf, or at what was made of it and of nothing that learns."""
        for leaf, known in self._followed.items() if call.inputs else ():
            if any(tensor is leaf or self._is_made_of(tensor, known.number) for tensor in call.inputs):
                self._used(leaf, "asked", here())

    def _is_made_of(self, tensor: torch.Tensor, number: int) -> bool:
        made = self._tensors.get(tensor)
        if made is None or not made.connected >> number & 1:
            return False
        return not any(map(self._optimizers.holds, numbers_in(made.values)))

    def _look_for_helpers(self, leaf: torch.Tensor, walk: GraphWalk) -> None:
        """What the gradients of a leaf may be there for beside itself."""
        if is_hooked(leaf):
            self._used(leaf, "hooked")
        elif self._goes_to_checkpoint(leaf, walk):
            self._used(leaf, "checkpointed")

    def _goes_to_checkpoint(self, leaf: torch.Tensor, walk: GraphWalk) -> bool:
        """Whether a reentrant checkpoint takes it in, before anything that learns flows into it."""
        pending: list[Any] = [key for key, each in walk.leaves.items() if each is leaf]
        for key in pending:
            for consumer, _ in walk.consumers.get(key, ()):
                if is_a(walk.nodes[consumer], _CHECKPOINT):
                    return True
                made = walk.made.get(consumer)
                learns = made is None or any(map(self._optimizers.holds, numbers_in(made.values)))
                if not learns and consumer not in pending and len(pending) < _MOST_NODES:
                    pending.append(consumer)
        return False

    def _step_taken(self, course: Course) -> None:
        """Compare more and more rarely: what changes in between is found by the next look."""
        self._listen_no_more()
        if course.steps >= 2 * self._compared_at:
            self._compared_at = course.steps
            self._compare()

    def _compare(self) -> None:
        followed = list(self._followed.items())
        values = fingerprints([leaf for leaf, _ in followed])
        for (leaf, known), value in zip(followed, values, strict=True):
            if value != known.values:
                self._used(leaf, "changed")
