"""Samples that are trained on again, beside the labels that they had before."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch

from autograd_doctor.events.data import LabelsLost, SamplesMetAgain, TargetsReassigned
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.data.sample_overlap import RowsSeen, SampleOverlap
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.sources import Sources
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.instruments.spine.uploads import Uploads
from autograd_doctor.operations import DIFFERENCES, LOSSES
from autograd_doctor.reading.assignments import assigned_in, methods_of, stored_at
from autograd_doctor.reading.fingerprint import key_of, row_keys, tells_apart
from autograd_doctor.reading.functional_modes import draws_numbers
from autograd_doctor.reading.graph_walk import CHOICES, operation_of
from autograd_doctor.reading.kept_labels import KeptLabels, fit
from autograd_doctor.reading.module_tree import has_parameters
from autograd_doctor.reading.numbers import Numbers
from autograd_doctor.reading.operation_kinds import FROM_DATA
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph, leaf_of
from autograd_doctor.reading.subclasses import is_leaf, node_of
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation

_MOST_LINES = 50
_BEFORE, _AGAIN, _STEPS = 32, 24, 4
"""Samples that had kept their label, samples that came again later, and steps with such: of two labels, 32 samples all
keep theirs by chance once in four billion times."""
_STEPS_ANEW = 6
"""Steps with samples that came again, none of which ever kept its target: by then something has been learned."""
_NUMBERS = (bool, float, int, str)
_MOST_NODES = 12
"""From a loss back to the parameters that its prediction is read off."""
_SCALES = frozenset({"Mul", "Div"})
_TURNED = frozenset({"T", "Transpose"})
_MOST_HOLDERS = 200
_MOST_READ = 8
"""Tensors made of arrays, the newest: those of a batch."""

_Head = tuple[Hashable, ...]
_Line = tuple[int, Place | None, _Head]


class _Read(NamedTuple):
    """A tensor that was made of an array, or of numbers, and where."""

    tensor: weakref.ref[torch.Tensor]
    place: Place | None


@dataclass
class _Kept:
    """A line that compares. read_at, stored_at: of the array behind the targets, or the inputs, if these are others in
    each epoch. since, until: the first step and the last."""

    labels: KeptLabels
    name: str
    since: int
    until: int = 0
    read_at: Location | None = None
    stored_at: Location | None = None

    def acquits(self, other: _Kept) -> bool:
        """Whether the targets of another line, in use at the same time, meet their own samples here."""
        beside = self is not other and self.since <= other.until and other.since <= self.until
        return beside and self.labels.hold() and other.labels.are_of(self.labels)


class LabelKeeping(Instrument):
    """Listens to the first loss of a step at each line, in full steps, that compares as many targets as a module was
    given samples. Targets that were computed from parameters are not followed.

    A sample is all that modules were given together, and a loss is told apart by the parameters, too, that its
    predictions are read off: heads learn tasks of their own.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (LabelsLost, SamplesMetAgain, TargetsReassigned)

    def __init__(
        self,
        site: Site,
        course: Course,
        late_values: LateValues,
        module_calls: ModuleCalls,
        rows: SampleOverlap,
        sources: Sources,
        tensors: Tensors,
        uploads: Uploads,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._module_calls = module_calls
        self._rows = rows
        self._sources = sources
        self._tensors = tensors
        self._uploads = uploads
        self._seen: dict[int, RowsSeen] = {}
        self._seen_in = -1
        self._given: list[list[int] | None] = []
        """Numbers of the rows of all that modules were given since the last backward, None where they are not known."""
        self._options: list[Hashable] = []
        self._heads = Numbers()
        self._read: deque[_Read] = deque(maxlen=_MOST_READ)
        self._wholes: dict[Hashable, weakref.ref[Any]] = {}
        """The arrays that lines, and fields of data sets, had at first."""
        self._stored_at: dict[Place | None, Location | None] = {}
        """Of lines that make tensors: where what holds the array is given another one."""
        self._met: dict[tuple[Place | None, _Head], int] = {}
        self._lines: dict[_Line, _Kept] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._rows.trained, self._trained, attention=Attention.FULL)
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.FULL)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        names = LOSSES | DIFFERENCES
        self.listen(signals.operations.ended, self._operation_ended, names=names, attention=Attention.FULL)
        self.listen(signals.operations.ended, self._data_read, names=FROM_DATA, attention=Attention.FULL)

    def memory(self) -> tuple[dict[_Line, _Kept], Numbers]:
        return self._lines, self._heads

    def remember(self, memory: tuple[dict[_Line, _Kept], Numbers]) -> None:
        self._lines, heads = memory
        self._heads.follow(heads)

    def finish(self) -> None:
        for (module, place, _), line in self._lines.items():
            kept, step, where = line.labels, self._course.steps, locate(place)
            if kept.same + kept.others >= _AGAIN:
                self.emit(SamplesMetAgain(step=step, module=module, location=where, kept=kept.same, others=kept.others))
            if kept.is_lost(before=_BEFORE, again=_AGAIN, steps=_STEPS):
                self.emit(
                    LabelsLost(
                        step=step,
                        module=module,
                        location=where,
                        target=line.name,
                        since=kept.since or 0,
                        before=kept.before,
                        again=kept.again,
                        agreeing=kept.agreeing,
                        chance=kept.chance,
                    )
                )
            if kept.may_be_anew and kept.anew.is_found(chance=kept.chance, steps=_STEPS_ANEW):
                self._tell_reassigned(module, where, line)

    def _tell_reassigned(self, module: int, where: Location | None, line: _Kept) -> None:
        if any(other.acquits(line) for other in self._lines.values()):
            return
        self.emit(
            TargetsReassigned(
                step=self._course.steps,
                module=module,
                location=where,
                target=line.name,
                read_at=line.read_at,
                stored_at=line.stored_at,
                again=line.labels.anew.again,
                agreeing=line.labels.anew.agreeing,
                of_others=line.labels.anew.of_others,
                chance=line.labels.chance,
            )
        )

    # ---------------------------------------------------------------------------------------------------- samples

    def _trained(self, seen: RowsSeen) -> None:
        self._begin_step()
        if tells_apart(seen.data):
            self._seen[len(seen.keys)] = seen

    def _begin_step(self) -> None:
        if self._seen_in != self._course.steps:
            self._seen_in = self._course.steps
            for each in (self._seen, self._given, self._options):
                each.clear()

    def _backward_began(self, call: BackwardCall) -> None:
        self._given.clear()
        self._options.clear()

    def _root_began(self, began: RootBegan) -> None:
        call = began.call
        if not call.grad_enabled or not has_parameters(call.module):  # a criterion takes in targets
            return
        self._begin_step()
        for tensor in began.given:
            self._given_to_module(tensor)
        for each in (*call.args, *call.kwargs.values()):
            if type(each) in _NUMBERS:
                self._options.append(each)
            elif type(each) in (list, tuple) and all(type(value) in _NUMBERS for value in each):
                self._given.append([hash(value) for value in each])
            elif each is not None and not tensors_in([each]):
                self._given.append(None)

    def _given_to_module(self, tensor: torch.Tensor) -> None:
        """What is computed from what other modules were given says nothing more than that; parameters do."""
        if is_leaf(tensor) and tensor.requires_grad:
            self._options.append(self._heads.number(tensor))
        elif tensor.requires_grad:
            self._given += [None] if _is_looked_up(node_of(tensor)) else []
        else:
            here = self._uploads.at_home(tensor)
            self._given.append(row_keys(here if here.dim() else here.reshape(1)))

    def _samples(self, rows: int) -> list[int] | None:
        """A number for each row of all that modules were given since the last backward."""
        columns = []
        for keys in self._given:
            if keys is None:
                return None
            columns.append(keys if len(keys) == rows else [key_of(keys)] * rows)
        options = hash(tuple(self._options))
        return [hash((options, *row)) for row in zip(*columns, strict=True)] if columns else None

    # ----------------------------------------------------------------------------------------------------- targets

    def _operation_ended(self, operation: Operation) -> None:
        if self._seen_in != self._course.steps or self._course.running is not None:
            return
        prediction, target = _compared(operation)
        if not isinstance(target, torch.Tensor) or not target.dim():
            return
        seen, made = self._seen.get(len(target)), self._tensors.get(target)
        if seen is None or target.requires_grad:
            return
        if made is not None and (made.values or draws_numbers(made.operation)):
            return
        head = self._head(prediction, len(target)) if isinstance(prediction, torch.Tensor) else None
        if head is None or self._met.get((operation.place, head)) == self._seen_in:
            return
        line = self._line((seen.module, operation.place, head), target)
        samples = self._samples(len(target)) if line is not None else None
        wanted = self._uploads.at_home(target)
        labels = row_keys(wanted) if samples is not None else None
        if line is None or samples is None or labels is None or len(labels) != len(samples):
            return
        self._met[operation.place, head] = self._seen_in
        if _number_rows(wanted):
            return
        line.until = self._course.steps
        line.labels.met(self._course.steps, samples, labels)
        if line.labels.may_be_anew and wanted.is_floating_point():
            line.labels.anew.follow(samples, wanted)
        if line.labels.may_be_anew and line.labels.anew.steps:
            self._look_closer(line, prediction, wanted, seen.data)

    def _line(self, line: _Line, target: torch.Tensor) -> _Kept | None:
        known = self._lines.get(line)
        if known is None and len(self._lines) < _MOST_LINES:
            known = self._lines[line] = _Kept(KeptLabels(), variable_name(target), self._course.steps)
        return known

    def _look_closer(self, line: _Kept, prediction: torch.Tensor, target: torch.Tensor, data: torch.Tensor) -> None:
        """At what may not be the samples' own targets: whether they are learned, and where they are from."""

        def look(predictions: torch.Tensor, targets: torch.Tensor) -> None:
            deviation = fit(predictions, targets)
            if deviation is not None:
                line.labels.anew.fits(deviation)

        self._late_values.bring(self, [prediction.detach(), target], look)
        if line.stored_at is None:
            read = self._read_of(target)
            stored = [self._stored_at.get(each.place) for each in (read, self._read_of(data)) if each is not None]
            line.stored_at = next(filter(None, stored), None) or self._field_stored_at(target)
            line.read_at = locate(read.place if read is not None else self._sources.split_at(target))

    def _head(self, prediction: torch.Tensor, rows: int) -> _Head | None:
        """What predictions are read off: which part of what the parameters make. None where rows were chosen, or
        weighed by other data, as what is asked of each sample is."""
        way: list[Hashable] = []
        node = node_of(prediction)
        for _ in range(_MOST_NODES):
            if node is None:
                break
            if operation_of(node) in CHOICES or _is_weighed(node, rows):
                return None
            if operation_of(node) == "Select":
                way.append((node._saved_dim, node._saved_index))
            before = [each for each, _ in node.next_functions if each is not None]
            leaves = [leaf for each in before if (leaf := _leaf(each)) is not None]
            if leaves:
                return (*way, *map(self._heads.number, leaves))
            node = before[0] if before else None
        return tuple(way)

    # ------------------------------------------------------------------------------------------------------ arrays

    def _data_read(self, operation: Operation) -> None:
        array, result = operation.args[0] if operation.args else None, operation.result
        if isinstance(array, torch.Tensor) or not isinstance(result, torch.Tensor) or not result.dim():
            return
        where = operation.place
        if where not in self._stored_at and _has_rows(array) and self._is_renewed(where, _whole(array)):
            self._stored_at[where] = stored_at(array)
        self._read.append(_Read(weakref.ref(result), where))

    def _field_stored_at(self, target: torch.Tensor) -> Location | None:
        """Where a data set was given other arrays, or tensors, in a method of its own."""
        drawn, stored = self._sources.loaders_of(target), None
        for dataset in (loader.dataset for number, loader in self._sources.loaders.living() if number in drawn):
            for name, value in attributes(dataset).items():
                if _has_rows(value) and self._is_renewed((type(dataset), name), value):
                    stored = assigned_in(reversed(methods_of(type(dataset))), name) or stored
        return stored

    def _is_renewed(self, holder: Hashable, whole: Any) -> bool:
        """Whether what is held there is not what was at first."""
        if holder not in self._wholes and len(self._wholes) < _MOST_HOLDERS:
            self._wholes[holder] = weakref.ref(whole)
        return holder in self._wholes and self._wholes[holder]() is not whole

    def _read_of(self, tensor: torch.Tensor) -> _Read | None:
        """The array of which a tensor was made, be it in another shape or type by now."""
        for each in reversed(self._read):
            made = each.tensor()
            if made is None or made.numel() != tensor.numel() or made.device != tensor.device:
                continue
            if torch.equal(made.detach().reshape(-1).to(tensor.dtype), tensor.detach().reshape(-1)):
                return each
        return None


def _compared(operation: Operation) -> tuple[Any, Any]:
    """Prediction and target, the prediction with a graph where it is a difference."""
    prediction, target = (*operation.args, None, None)[:2]
    if operation.name not in DIFFERENCES:
        return operation.kwargs.get("input", prediction), operation.kwargs.get("target", target)
    sides = [each for each in (prediction, target) if isinstance(each, torch.Tensor)]
    with_graph = [each for each in sides if has_graph(each)]
    if len(sides) < 2 or len(with_graph) != 1:
        return None, None
    return with_graph[0], sides[0] if with_graph[0] is sides[1] else sides[1]


def _whole(array: Any) -> Any:
    """What an array is a view of."""
    base = getattr(array, "base", None)
    return _whole(base) if type(base) is type(array) else array


def _has_rows(value: Any) -> bool:
    """Whether it is a tensor, or an array of NumPy."""
    is_array = isinstance(value, torch.Tensor) or type(value).__module__ == "numpy"
    return is_array and type(getattr(value, "ndim", None)) is int and value.ndim > 0


def _number_rows(target: torch.Tensor) -> bool:
    """Whether it is the numbers of the rows, as of pairs of which each is of its own class."""
    if target.is_floating_point() or target.dim() != 1 or len(target) < 2:
        return False
    return bool((target.sort().values == torch.arange(len(target), device=target.device)).all())


def _is_weighed(node: Any, rows: int) -> bool:
    """Whether it multiplies each row by other data."""
    if operation_of(node) not in _SCALES:
        return False
    factors = (getattr(node, name, None) for name in ("_saved_self", "_saved_other"))
    tensors = (each for each in factors if isinstance(each, torch.Tensor) and not each.requires_grad)
    return any(each.dim() > 0 and each.numel() > 1 and len(each) == rows for each in tensors)


def _is_looked_up(node: Any) -> bool:
    """Whether rows of a parameter were chosen, as codes of samples are."""
    for _ in range(_MOST_NODES):
        before = [each for each, _ in node.next_functions if each is not None] if node is not None else []
        if len(before) != 1:
            return False
        if leaf_of(before[0]) is not None:
            return operation_of(node) in CHOICES | {"Embedding", "Select", "Slice"}
        node = before[0]
    return False


def _leaf(node: Any) -> torch.Tensor | None:
    """The parameter that a node hands gradients to, be it transposed before."""
    if operation_of(node) in _TURNED and node.next_functions and node.next_functions[0][0] is not None:
        node = node.next_functions[0][0]
    return leaf_of(node)
