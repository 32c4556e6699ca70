"""What the targets of losses are: their classes and extremes, in which order they come, and whether any counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import torch

from autograd_doctor.events.data import TargetsSeen
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.registrations import Registrations
from autograd_doctor.instruments.spine.sources import Source, Sources
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import CLASSES, IGNORED, LOSSES, REGRESSION, SCALING, SUMS, reduction
from autograd_doctor.reading.clustering import clustering
from autograd_doctor.reading.module_tree import has_parameters
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import Provenance, has_graph
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.variation import Variation
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import numbers_in

_HEARD = LOSSES | SUMS | SCALING | {"mean", "sum"}
_MOST_STEPS = 64
"""Whose classes are kept apart; beyond, they are only counted."""
_MOST_ELEMENTS = 2**20
_FEW = 1024
"""Values, for which torch takes longer than Python does."""
_MOST_CLASSES = 1000
_NAMED_CLASSES = 10
_MOST_WEIGHTS = 100
_MOST_LINES = 200
_FIRST_TOLD = 8
"""Steps; from there on it is told whenever their number has doubled, and at the end."""


_Line = tuple[Place | None, str, int]
"""A loss: where it is, what it is called, and of how many classes."""


class _Rows(NamedTuple):
    """Rows that came in one step."""

    step: int
    low: int
    high: int


@dataclass
class _Targets:
    """What came at one line. counts: in the latest step there was a target that is not ignored.

    order: for each step the rows of the whole that came in it, where they are a range.
    """

    place: Place | None
    operation: str
    name: str
    since: int
    logits: int
    step: int = -1
    steps: int = 0
    elements: int = 0
    low: float | None = None
    high: float | None = None
    by_step: list[Counter[int]] = field(default_factory=list)
    classes: Counter[int] = field(default_factory=Counter)
    all_ignored: int = 0
    counts: bool = False
    ignore_index: int | None = None
    weighted: bool = False
    weights: list[float] | None = None
    weights_at: Location | None = None
    summed: bool = False
    per_sample: bool = True
    source: Source | None = None
    made_at: Place | None = None
    made_of: int = 0
    order: list[_Rows] = field(default_factory=list)
    variation: Variation[tuple[float, ...]] = field(default_factory=Variation)
    told: int = 0

    def after(self, earlier: _Targets | None) -> _Targets:
        """The same, with what came at that line earlier in the run."""
        if earlier is not None:
            self.low, self.high, self.elements = earlier.low, earlier.high, earlier.elements
            self.classes, self.variation = earlier.classes, earlier.variation
        return self

    @property
    def is_consecutive(self) -> bool:
        """Whether slices of a tensor followed one another, from its first row to its last."""
        pairs = [(one, next_one) for one, next_one in pairwise(self.order) if next_one.step == one.step + 1]
        going_on = sum(one.high == next_one.low or next_one.low == 0 for one, next_one in pairs)
        return len({one.low for one in self.order}) > 1 and len(pairs) > 1 and going_on == len(pairs)


class Targets(Instrument):
    """Listens to losses with a graph in full steps."""

    emits: ClassVar[tuple[type[Event], ...]] = (TargetsSeen,)

    def __init__(
        self,
        site: Site,
        course: Course,
        late_values: LateValues,
        tensors: Tensors,
        module_calls: ModuleCalls,
        registrations: Registrations,
        sources: Sources,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._tensors = tensors
        self._module_calls = module_calls
        self._registrations = registrations
        self._sources = sources
        self._targets: dict[_Line, _Targets] = {}
        self._earlier: dict[_Line, _Targets] = {}
        self._samples: set[int] = set()
        self._samples_of = -1
        self._stateful = False
        self._losses: IdentityTable[_Targets] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.FULL)
        self.listen(signals.operations.ended, self._operation_ended, names=_HEARD, attention=Attention.FULL)

    def memory(self) -> dict[_Line, _Targets]:
        return self._earlier | self._targets

    def remember(self, memory: dict[_Line, _Targets]) -> None:
        self._earlier = memory

    def finish(self) -> None:
        for targets in self._targets.values():
            if targets.told < targets.steps:
                self._tell(targets)

    def _root_began(self, began: RootBegan) -> None:
        """How many samples a batch has, and whether a model is given what was computed of parameters before."""
        call = began.call
        if not call.grad_enabled or not has_parameters(call.module):
            return
        if self._samples_of != self._course.steps:
            self._samples_of, self._samples = self._course.steps, set()
        for tensor in began.given:
            made = self._tensors.get(tensor)
            if not tensor.requires_grad and tensor.dim():
                self._samples.add(tensor.shape[0])
                self._stateful |= made is not None and made.values != 0 and self._is_left_over(made)

    def _is_left_over(self, made: Provenance) -> bool:
        return made.step < self._course.steps or made.operation in ("detach", "data")

    # --------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        if operation.name not in LOSSES:
            self._combined(operation)
        elif self._course.running is None:
            self._loss(operation)

    def _combined(self, operation: Operation) -> None:
        """A loss may be scaled and stay what it is; what it is added to may count in another way."""
        for tensor in tensors_in(operation.args) if self._losses else ():
            loss = self._losses.get(tensor)
            if loss is not None and operation.name in SUMS:
                loss.summed = True
            elif loss is not None and isinstance(operation.result, torch.Tensor):
                self._losses.put(operation.result, loss)

    def _loss(self, operation: Operation) -> None:
        arguments = dict(zip(("input", "target", "weight"), operation.args, strict=False)) | operation.kwargs
        logits, target = arguments.get("input"), arguments.get("target")
        if not (isinstance(logits, torch.Tensor) and isinstance(target, torch.Tensor) and has_graph(logits)):
            return
        if target.requires_grad or not readable(target) or not target.numel():
            return
        known = self._line(operation, logits, target)
        if known is None or target.numel() > _MOST_ELEMENTS:
            return
        is_new = known.step != self._course.steps
        known.step, known.steps = self._course.steps, known.steps + is_new
        known.elements += target.numel()
        known.weighted |= _is_weighted(arguments)
        self._weights(known, arguments)
        if isinstance(operation.result, torch.Tensor):
            self._losses.put(operation.result, known)
        rows = target.shape[0] if target.dim() else 0
        known.per_sample &= target.dim() == 1 or target.numel() == rows
        known.per_sample &= not self._samples or rows in self._samples
        self._source(known, target, is_new=is_new)
        ignored, values = arguments.get("ignore_index", IGNORED), target.detach().reshape(-1)
        values = values.clone() if is_remote(values) else values
        step = self._course.steps
        origin = self._sources.origin_of(target)

        def look(found: Sequence[torch.Tensor]) -> None:
            self._values(known, found[0], ignored, is_new=is_new)
            samples = found[0].reshape(rows, -1) if rows else found[0].reshape(1, -1)
            is_one = bool((samples == samples[0]).all())
            known.variation.look(step, tuple(samples[0, :_FEW].tolist()) if is_one else None, len(samples), origin)
            if known.steps >= max(_FIRST_TOLD, 2 * known.told) and is_new:
                self._tell(known)

        self._late_values.ask(self, [values], look, in_place=True)

    def _line(self, operation: Operation, logits: torch.Tensor, target: torch.Tensor) -> _Targets | None:
        classes = logits.shape[1] if operation.name in CLASSES and logits.dim() > 1 else 0
        key = (operation.place, operation.name, classes)  # a second stage may have other classes, at the same line
        if key not in self._targets and len(self._targets) < _MOST_LINES:
            name = variable_name(target)
            known = _Targets(operation.place, operation.name, name, self._course.steps, classes)
            self._targets[key] = known.after(self._earlier.get(key))
        return self._targets.get(key)

    def _weights(self, known: _Targets, arguments: dict[str, Any]) -> None:
        """Those of classes, or of those that are of the only class there is."""
        is_of_classes = known.operation in CLASSES
        given = arguments.get("weight" if is_of_classes else "pos_weight")
        if isinstance(given, torch.Tensor) and is_remote(given) and known.weights is not None:
            return
        numbers, weights = known.logits if is_of_classes else 1, list[float]()
        if isinstance(given, torch.Tensor) and given.numel() == numbers <= _MOST_WEIGHTS and readable(given):
            weights = given.flatten().tolist()
            known.weights_at = known.weights_at or self._registrations.line_of(given)
        known.weights = weights if known.weights in (None, weights) else []

    def _source(self, known: _Targets, target: torch.Tensor, *, is_new: bool) -> None:
        made = self._tensors.get(target)
        if made is not None and made.values:
            known.made_of |= made.values & ~made.guessed
            return  # what a policy chose, or a teacher said
        known.made_at = known.made_at or self._sources.made_at(target)
        for source in self._sources.of(target)[:1]:
            known.source = known.source or source
            is_range = source.kind == "chosen" and source.high - source.low == target.shape[0]
            if is_new and is_range and len(known.order) < _MOST_STEPS:
                known.order.append(_Rows(known.step, source.low, source.high))

    def _values(self, known: _Targets, target: torch.Tensor, ignored: int, *, is_new: bool) -> None:
        """target: its values, on the CPU."""
        values = target.tolist() if target.numel() <= _FEW else None
        low, high = _extremes(target) if values is None else (float(min(values)), float(max(values)))
        known.low = low if known.low is None else min(known.low, low)
        known.high = high if known.high is None else max(known.high, high)
        if target.is_floating_point() and (known.operation in REGRESSION or low < 0 or high > 1):
            return
        counts = Counter(values) if values is not None else _counted(target)
        if len(counts) > _MOST_CLASSES or not all(map(float.is_integer, map(float, counts))):
            return
        found = Counter({int(value): count for value, count in counts.items()})
        if known.operation in CLASSES:
            known.ignore_index = ignored
            found.pop(known.ignore_index, None)
            known.all_ignored += is_new
            known.counts &= not is_new
            if found and not known.counts:
                known.counts = True
                known.all_ignored -= 1
        known.classes.update(found)
        if is_new and len(known.by_step) < _MOST_STEPS:
            known.by_step.append(found)
        elif not is_new and known.by_step:
            known.by_step[-1].update(found)

    # ------------------------------------------------------------------------------------------------------- telling

    def _tell(self, known: _Targets) -> None:
        known.told = known.steps
        source, found = known.source, clustering([batch for batch in known.by_step if batch])
        drawn = source is not None and source.kind == "drawn"
        variation = known.variation
        begins = self._sources.built_at.get(source.number) if source and drawn else source and source.place
        self.emit(
            TargetsSeen(
                step=self._course.steps,
                location=locate(known.place),
                operation=known.operation,
                name=known.name,
                since=known.since,
                steps=known.steps,
                elements=known.elements,
                classes=dict(known.classes.most_common(max(_NAMED_CLASSES, len(known.weights or ())))),
                class_count=len(known.classes),
                low=known.low,
                high=known.high,
                logits=known.logits,
                all_ignored=known.all_ignored,
                ignore_index=known.ignore_index,
                weighted=known.weighted,
                weights=known.weights or [],
                weights_at=known.weights_at,
                summed=known.summed,
                per_sample=known.per_sample,
                stateful=self._stateful,
                source=source.kind if source is not None else "",
                chosen_at=locate(begins),
                rows=source.rows if source is not None else 0,
                in_order=source.number in self._sources.in_order if source and drawn else known.is_consecutive,
                loader=self._sources.names[source.number] if source and drawn else "",
                clustered=found.share,
                deviations=found.deviations,
                made_at=locate(known.made_at),
                made_of=numbers_in(known.made_of),
                varied=variation.varied,
                varied_at=variation.varied_at,
                alike=_one_value(variation) if variation.has_ended else None,
                alike_since=variation.since,
                alike_source=variation.same_origin,
                alike_steps=variation.steps,
                alike_elements=variation.samples,
            )
        )


def _extremes(target: torch.Tensor) -> tuple[float, float]:
    low, high = torch.aminmax(target.float() if target.dtype is torch.bool else target)
    return float(low), float(high)


def _counted(target: torch.Tensor) -> Counter[Any]:
    """How often each value occurs."""
    values, counts = torch.unique(target, return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))


def _one_value(variation: Variation[tuple[float, ...]]) -> float | None:
    """What all values of a target are since they do not differ any more."""
    values = set(variation.one or ())
    return float(values.pop()) if len(values) == 1 else None


def _is_weighted(arguments: dict[str, Any]) -> bool:
    """Whether some elements count more than others, or may be made to by what is done with them one by one."""
    weights = (arguments.get("weight"), arguments.get("pos_weight"))
    return any(weight is not None for weight in weights) or reduction(arguments) == "none"
