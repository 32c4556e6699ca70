"""Passes of the very line that trains which no backward comes through, of samples that nothing is ever trained on.

`run_epoch(loader, optimizer=None)` serves both phases, and so the line that calls the model tells nothing. The samples
do: those of a validation set come again and again, are compared with their targets, and no step ever learns from them.
What is skipped, mined or searched for belongs to the training set, and is trained on in another step.
"""

from __future__ import annotations

import weakref
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import torch

from autograd_doctor.events.connectivity import HeldOutScored
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan, RootPassed
from autograd_doctor.instruments.spine.uploads import Uploads
from autograd_doctor.operations import CATALOGUE, COMPARISONS, DIFFERENCES
from autograd_doctor.reading.fingerprint import row_keys
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.subclasses import is_parameter, node_of
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_SCORES = frozenset(CATALOGUE) | COMPARISONS | DIFFERENCES
_ROWS = 16
"""Of a batch, the first, which stand for all of it."""
_IN_A_ROW = 3
"""Batches that were trained on without a new sample: by then training has begun anew."""
_BATCHES = 2
"""Of a set that is held out, at least: a single one may be a batch that cannot be trained on."""
_MOST_ROWS = 20_000
_MOST_IDLE = 2_000
"""Passes of a line to keep the rows of, which no backward came back to."""
_MOST_LINES = 100
_HOOKED = 16
"""Outputs of one pass to hook."""
_HOPS = 4
"""Operations between an output and what compares it: casts and other shapes."""


@dataclass(eq=False)
class _Pass:
    """backwards: how many there had been before. full: its outputs were seen, and what came of them."""

    backwards: int
    rows: frozenset[int]
    full: bool = False
    used: bool = False
    compared: bool = False
    outputs: list[weakref.ref[torch.Tensor]] = field(default_factory=list)

    def made(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is one of its outputs, but for a few operations, each on one tensor."""
        own = [node_of(output) for reference in self.outputs if (output := reference()) is not None]
        node = node_of(tensor)
        for _ in range(_HOPS):
            if node is None or any(node is each for each in own):
                break
            node = node.next_functions[0][0] if node.next_functions else None
        return node is not None and any(node is each for each in own)


@dataclass(eq=False)
class _Line:
    """A line that calls a module in training mode with gradients on.

    trained: samples that a backward came back to. uses: how many passes those were. known: of the latest, how many in
    a row without a sample that was new.
    """

    trained: set[int] = field(default_factory=set)
    uses: int = 0
    known: int = 0
    idle: list[_Pass] = field(default_factory=list)

    def use(self, one: _Pass) -> None:
        if not one.used:
            one.used = True
            self.uses += 1
            self.known = self.known + 1 if one.rows <= self.trained else 0
            self.trained |= one.rows

    @property
    def has_news(self) -> bool:
        """Whether another pass may tell something: of training, until it begins anew, and of what it left out."""
        return self.known < _IN_A_ROW or any(one.compared for one in self.idle)

    def held_out(self) -> dict[int, list[_Pass]]:
        """Passes that were no part of training, by the backwards that had been before, where the same come again."""
        blocks: dict[int, list[_Pass]] = {}
        for one in self.idle:
            if not one.used and 2 * len(one.rows & self.trained) <= len(one.rows):
                blocks.setdefault(one.backwards, []).append(one)
        blocks = {number: block for number, block in blocks.items() if _are_apart(block)}
        often = Counter(row for block in blocks.values() for row in frozenset().union(*(one.rows for one in block)))
        again = {row for row, times in often.items() if times > 1}
        sure = {row for block in blocks.values() for one in block if one.compared for row in one.rows}
        found = {
            number: [one for one in block if 10 * len(one.rows & sure & again) >= 9 * len(one.rows)]
            for number, block in blocks.items()
        }
        found = {number: block for number, block in found.items() if len(block) >= _BATCHES}
        return found if 2 * len(found) <= self.uses else {}


class HeldOutPasses(Instrument):
    """A pass is used if a backward comes through one of its outputs, or goes around all that is known.

    In light steps, outputs are not seen: the newest pass before a backward is taken for the one that it came back to,
    and of others nothing is concluded but that their samples came again.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (HeldOutScored,)

    def __init__(self, site: Site, course: Course, module_calls: ModuleCalls, uploads: Uploads) -> None:
        super().__init__(site)
        self._course = course
        self._module_calls = module_calls
        self._uploads = uploads
        self._operations = site.signals.operations
        self._lines: dict[tuple[int, Place | None], _Line] = {}
        self._newest: tuple[_Line, _Pass] | None = None
        self._elsewhere: dict[int, set[Place | None]] = {}
        """The lines that give a module what lies on an accelerator: one of them may be an evaluation."""
        self._latest: dict[int, tuple[_Line, _Pass]] = {}
        """The latest pass of each module."""
        self._hit = False

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began)
        self.listen(self._module_calls.root_passed, self._root_passed)
        self.listen(self._course.backward_over, self._backward_over)
        self.listen(signals.operations.ended, self._compared, attention=Attention.FULL, names=_SCORES)

    def _root_began(self, began: RootBegan) -> None:
        call = began.call
        if not (call.grad_enabled and call.module.training) or not _learns(call.module):
            return
        data = [tensor for tensor in began.given if tensor.dim() and not tensor.requires_grad and readable(tensor)]
        largest = max(map(self._uploads.at_home, data), key=torch.Tensor.numel, default=None)
        self._newest = None
        if largest is None:
            return
        if is_remote(largest):
            self._elsewhere.setdefault(began.module, set()).add(began.where)
            if len(self._elsewhere[began.module]) > 1:
                self.limited("samples on an accelerator are not compared")
            return
        line = self._lines.get((began.module, began.where))
        if line is None:
            if len(self._lines) >= _MOST_LINES:
                return
            line = self._lines[began.module, began.where] = _Line()
        keys = row_keys(largest[:_ROWS]) if len(line.trained) < _MOST_ROWS else None
        if keys and len(line.idle) < _MOST_IDLE:
            began.again |= line.has_news
            one = _Pass(self._course.backwards, frozenset(keys))
            line.idle.append(one)
            self._newest = self._latest[began.module] = line, one

    def _root_passed(self, passed: RootPassed) -> None:
        if self._newest is None or not passed.call.conditions.training:
            return
        line, one = self._newest
        outputs = [output for output in passed.outputs[:_HOOKED] if node_of(output) is not None]
        for output in outputs:
            node_of(output).register_prehook(partial(self._use, line, one))
        one.full, one.outputs = bool(outputs), [weakref.ref(output) for output in outputs]

    def _use(self, line: _Line, one: _Pass, gradients: Any) -> None:
        self._hit = True
        line.use(one)

    def _backward_over(self, course: Course) -> None:
        around = [self._newest] if self._newest is not None and not self._hit else []
        unseen = [(line, one) for line, one in self._latest.values() if not one.full]
        for line, one in (*around, *unseen):
            if one.backwards == course.backwards - 1:
                line.use(one)
        self._hit, self._newest = False, None
        self._latest.clear()
        for line in self._lines.values():
            line.idle = [one for one in line.idle if not one.used]

    def _compared(self, operation: Operation) -> None:
        if self._newest is None or self._newest[1].compared or self._course.running is not None:
            return
        one = self._newest[1]
        live = [tensor for tensor in operation.inputs if has_graph(tensor)]
        if any(not has_graph(tensor) and not is_parameter(tensor) for tensor in operation.inputs):
            one.compared = any(map(one.made, live))

    def finish(self) -> None:
        for (module, where), line in self._lines.items():
            blocks = line.held_out()
            if blocks:
                passes = [one for block in blocks.values() for one in block]
                self.emit(
                    HeldOutScored(
                        step=self._course.steps,
                        module=module,
                        location=locate(where),
                        passes=len(passes),
                        times=len(blocks),
                        trained=line.uses,
                    )
                )


def _learns(module: torch.nn.Module) -> bool:
    return any(parameter.requires_grad for _, parameter in parameters_in(module))


def _are_apart(block: list[_Pass]) -> bool:
    """Whether nothing is given twice before the next backward, as it is where several draws are wanted."""
    return len({one.rows for one in block}) == len(block)
