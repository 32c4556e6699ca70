"""Bootstrapped targets, and the marks beside them, such as the end of an episode: unused, or the only rows predicted.

A bootstrapped target is data plus a discounted prediction, without a graph: a reward, and what is expected after it.
Where an episode ended there is nothing after it, and a batch of transitions says so by zeros and ones. Where these keep
the prediction, they were taken for their opposite, or hold it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import BootstrappedBesideMark
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.instruments.spine.within_step import WithinStep
from autograd_doctor.operations import DISTANCES, JOINS, LOOK_UPS, MOVES, PRODUCTS, SUMS, TAKES
from autograd_doctor.reading.loss_arguments import operands_of
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.operation_kinds import FROM_DATA
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.tensor_facts import is_remote, read_together, readable
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.distributions import Evaluation
from autograd_doctor.signals.operations import Operation

_GIVES = FROM_DATA | JOINS | TAKES
"""Operations by which fields of a batch come out of lists, arrays and larger tensors."""
_CASTS = frozenset({"bool", "byte", "char", "short"})
_ENCODES = frozenset({"embedding", "one_hot"})
"""Operations that take the numbers of actions, which may be zeros and ones as well: behind what they choose from, or
alone."""
_LEAVES_OUT = frozenset({
    "__setitem__", "index_copy_", "index_fill", "index_fill_", "index_put", "index_put_", "masked_fill", "masked_fill_",
    "masked_scatter_", "scatter", "scatter_", "where",
})  # fmt: skip
"""Operations after which a prediction may be there for some rows only."""
_LEAST, _MOST = 8, 2**14
"""Values of a mark."""
_MOST_TOLD = 16


@dataclass(eq=False)
class _Mark:
    """A tensor of zeros and ones, also under other shapes and dtypes.

    uses: how many operations take it in, but for those that give it these. counts: by anything that may leave a
    prediction out, and not as the number of an action or as a reward. told: how many ones there are, and whether there
    is nothing but ones and zeros: numbers that may wait on an accelerator. is_one: in which values. acts: these are
    actions, of which a policy was asked for the probability.
    """

    place: Place | None
    values: int
    told: torch.Tensor
    is_one: torch.Tensor
    uses: int = 0
    counts: bool = False
    acts: bool = False


class _Made(NamedTuple):
    """Where a target was made, and whether its prediction may be there for some rows only; if so, where it is not 0."""

    place: Place | None
    is_partial: bool
    predicted: torch.Tensor | None


class _Target(NamedTuple):
    """A bootstrapped target that was compared, and the marks of as many values."""

    step: int
    made: _Made
    compared_at: Place | None
    name: str
    marks: list[_Mark]

    def keepers(self) -> torch.Tensor:
        """Of each mark, whether the prediction is there just where it is 1."""
        predicted = self.made.predicted
        if predicted is None:
            return torch.zeros(len(self.marks), dtype=torch.bool)
        return torch.stack([(mark.is_one.to(predicted.device) == predicted).all() for mark in self.marks])


class Bootstraps(WithinStep):
    """Looks, in steps that are looked at closely, for marks beside a target that is compared.

    A blend of data and a prediction, both scaled, is no bootstrapped target.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (BootstrappedBesideMark,)

    def __init__(self, site: Site, course: Course, detail: Detail, tensors: Tensors, lineage: Lineage) -> None:
        super().__init__(site, course, detail)
        self._tensors = tensors
        self._lineage = lineage
        self._told = 0

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._lineage.operated, self._operation_ended)
        self.listen(signals.distributions.evaluated, self._evaluated, attention=Attention.CLOSE)

    def _forget(self) -> None:
        self._marks: ValueTable[_Mark] = self.value_table()
        self._discounted: ValueTable[None] = self.value_table()
        self._partial: ValueTable[None] = self.value_table()
        self._scaled: ValueTable[None] = self.value_table()
        self._targets: ValueTable[_Made] = self.value_table()
        self._known: list[_Mark] = []
        self._compared_with: list[_Target] = []

    def _step_taken(self, course: Course) -> None:
        self._judge()
        super()._step_taken(course)

    def _focused(self, detail: Detail) -> None:
        """Detail turns at the end of a step before others hear of it; within one, the rest would not be seen."""
        if self._compared_with and self._compared_with[0].step < self._course.steps:
            self._judge()
        super()._focused(detail)

    def _judge(self) -> None:
        for target in self._compared_with:
            told = read_together([mark.told for mark in target.marks])
            marks = [(mark, ones) for mark, (ones, is_mark) in zip(target.marks, told, strict=True) if is_mark]
            if target.made.is_partial:
                keeps = dict(zip(target.marks, target.keepers().tolist(), strict=True))
                # One that is used for anything else as well tells of more than an end, as that of padding does.
                found = [(mark, ones) for mark, ones in marks if keeps[mark] and mark.uses == 1]
            else:
                found = [(mark, ones) for mark, ones in marks if not mark.uses]
                found = [] if any(mark.counts and not mark.acts for mark, _ in marks) else found
            if found and self._told < _MOST_TOLD:
                self._told += 1
                self._tell(target, *found[-1])

    def _tell(self, target: _Target, mark: _Mark, ones: int) -> None:
        self.emit(
            BootstrappedBesideMark(
                step=target.step,
                location=locate(target.made.place),
                compared_at=locate(target.compared_at),
                name=target.name,
                mark_at=locate(mark.place),
                values=mark.values,
                ones=ones,
                keeps=target.made.is_partial,
            )
        )

    # ---------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        if self._course.running is not None:
            return
        name, result = operation.name, operation.result
        if not self._known and name not in _GIVES:
            return  # without a mark there is nothing to tell
        inputs = operation.inputs
        if self._known and self._moved(operation, inputs):
            return
        if name == "__setitem__" and isinstance(operation.args[0], torch.Tensor):
            self._partial.put(operation.args[0], None)
        elif not isinstance(result, torch.Tensor):
            return
        elif name in DISTANCES and has_graph(result):
            self._compared(operation)
        elif not has_graph(result):
            self._computed(operation, result, inputs)

    def _evaluated(self, evaluation: Evaluation) -> None:
        mark = self._marks.get(evaluation.value)
        if mark is not None:
            mark.acts = True

    def _moved(self, operation: Operation, inputs: Sequence[torch.Tensor]) -> bool:
        """Whether a mark was only given another shape or dtype; otherwise it is used."""
        name, result = operation.name, operation.result
        marks = [mark for tensor in inputs if (mark := self._marks.get(tensor)) is not None]
        if not marks:
            return False
        is_whole = isinstance(result, torch.Tensor) and result.numel() == marks[0].values
        if name in MOVES | _CASTS and len(inputs) == 1 and is_whole:
            self._marks.put(result, marks[0])
            return True
        is_reward = name in SUMS and any(tensor in self._discounted for tensor in inputs)
        is_action = name in _ENCODES or (name in LOOK_UPS and inputs[0] not in self._marks)
        for mark in marks:
            mark.uses += 1
            mark.counts |= not (is_reward or is_action or name in JOINS)
        return False

    def _computed(self, operation: Operation, result: torch.Tensor, inputs: Sequence[torch.Tensor]) -> None:
        name = operation.name
        predicted = [tensor for tensor in inputs if self._is_predicted(tensor)]
        plain = [each for each in operation.args if isinstance(each, float)]
        leaves_out = name in _LEAVES_OUT and bool(predicted)
        is_partial = leaves_out or any(tensor in self._partial for tensor in inputs)
        if is_partial:
            self._partial.put(result, None)
        if name in PRODUCTS and not predicted and plain:
            self._scaled.put(result, None)
        elif name in PRODUCTS and len(predicted) == 1:
            by_data = any(tensor in self._scaled for tensor in inputs)
            if predicted[0] in self._discounted or by_data or any(0 < number < 1 for number in plain):
                self._discounted.put(result, None)
            if any(tensor.numel() > 1 for tensor in inputs if tensor is not predicted[0]):
                self._partial.put(result, None)
        elif name in SUMS - JOINS and len(predicted) == 1 and len(inputs) == 2 and predicted[0] in self._discounted:
            if not any(tensor in self._scaled for tensor in inputs):
                self._targets.put(result, self._made(operation.place, predicted[0]))
        elif name in MOVES and inputs and (made := self._targets.get(inputs[0])) is not None:
            self._targets.put(result, made)
        elif name in MOVES | _LEAVES_OUT and any(tensor in self._discounted for tensor in inputs):
            self._discounted.put(result, None)
        elif name in _GIVES and not predicted:
            self._given(operation, result)

    def _made(self, where: Place | None, predicted: torch.Tensor) -> _Made:
        is_partial = predicted in self._partial
        is_small = predicted.numel() <= _MOST and readable(predicted)
        return _Made(where, is_partial, (predicted != 0).flatten() if is_partial and is_small else None)

    def _is_predicted(self, tensor: torch.Tensor) -> bool:
        """What an environment makes of an action is data."""
        made = self._tensors.get(tensor)
        return made is not None and made.numbers_of != 0

    def _given(self, operation: Operation, result: torch.Tensor) -> None:
        if not _LEAST <= result.numel() <= _MOST or not readable(result):
            return
        if not (is_remote(result) or result.flatten()[0].item() in (0, 1)):
            return
        ones = result == 1
        told = torch.stack([ones.sum(), (ones | (result == 0)).all().long()])
        if is_remote(told) or bool(told[1]):
            mark = _Mark(operation.place, result.numel(), told, ones.flatten())
            self._marks.put(result, mark)
            self._known.append(mark)

    def _compared(self, operation: Operation) -> None:
        operands = operands_of(operation.args, operation.kwargs)
        target, made = next(
            ((each, made) for each in operands or () if (made := self._targets.get(each)) is not None), (None, None)
        )
        is_known = any(each.made is made for each in self._compared_with)  # by the other of two critics
        if target is None or made is None or is_known or len(self._compared_with) == _MOST_TOLD:
            return
        marks = [mark for mark in self._known if mark.values == target.numel()]
        if marks:
            name = variable_name(target)
            self._compared_with.append(_Target(self._course.steps, made, operation.place, name, marks))
