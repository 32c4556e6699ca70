"""The samples that modules are trained and evaluated on, as numbers that tell them apart."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Hashable, Sequence, Set
from dataclasses import dataclass, field
from statistics import median_low
from typing import ClassVar

import torch

from autograd_doctor.events.data import InputsAlike, RowsCompared
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.connectivity.unused_forwards import UnusedForwards
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.sources import Sources
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.instruments.spine.uploads import Uploads
from autograd_doctor.operations import REPEATS
from autograd_doctor.reading.fingerprint import row_keys, tells_apart
from autograd_doctor.reading.functional_modes import draws_numbers
from autograd_doctor.reading.module_tree import has_parameters, parameters_in
from autograd_doctor.reading.numbers import IdentityTable, Numbers
from autograd_doctor.reading.operation_kinds import FROM_DATA, SHAPE_ONLY
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.probes import Probe, ends, probe
from autograd_doctor.reading.subclasses import bytes_of
from autograd_doctor.reading.tensor_facts import is_spoiled, readable
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.variation import Variation
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.modules import ModuleCall
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.signal import Signal

_MOST_ROWS = 100_000
"""To keep numbers of, on each side."""
_MOST_BYTES = 2**22
"""Of a batch, to make them of in light steps."""
_MOST_LINES = 200
_IN_A_ROW = 3
"""Batches without a new sample: by then training has begun anew."""

_MOSTLY = 0.8
"""Of what comes more often than others do, what comes far more often."""

_MADE_UP = SHAPE_ONLY | {"arange", "empty", "eye", "full", "linspace", "ones", "zeros"}
"""Operations whose results are of no sample: what they fill tensors with is no target that came with the data."""

Sample = int
_Caller = tuple[int, Place | None]
"""One that trains: its module, and where it is."""
_Line = tuple[int, Place | None, int | None]
"""One that evaluates: its module, where it is, and the loader that it draws from."""


@dataclass
class _Training:
    """What a module was trained on. known: batches in a row in which all samples were known.

    tells_apart: samples that are equal are so for a reason. may_come_again: there is something to be learned of later
    batches. drawn: how often loaders gave a sample while there were new ones. passed_on: samples of an evaluation
    became some of training when that had gone through all of its own.
    first, left, met: weights that it began with, those that the last step left, and those that the first evaluation
    after it met. at: the samples by the line that called the module.
    """

    weights: list[weakref.ref[torch.Tensor]]
    first: Probe
    left: Probe = field(default_factory=list)
    met: Probe | None = None

    samples: set[Sample] = field(default_factory=set)
    at: dict[Place | None, set[Sample]] = field(default_factory=dict)
    loaders: set[int] = field(default_factory=set)
    tells_apart: bool = False
    may_come_again: bool = True
    known: int = 0
    complete: bool = False
    drawn: Counter[Sample] = field(default_factory=Counter)
    passed_on: bool = False

    @classmethod
    def of(cls, module: torch.nn.Module) -> _Training:
        """Of the weights that a module has now."""
        weights = ends([parameter for _, parameter in parameters_in(module) if parameter.requires_grad])
        return cls([weakref.ref(each) for each in weights], probe(weights))

    @property
    def alike(self) -> float:
        """The share of the samples that loaders gave which equal one before them."""
        return 1 - len(self.drawn) / self.drawn.total() if self.drawn else 0.0

    def copied(self) -> set[Sample]:
        """Samples that were copied, as to balance classes: four times as often there as most, and few in between.

        What recurs by nature does so the more seldom, the more often it is.
        """
        usual = median_low(self.drawn.values()) if self.drawn else 0
        more = {sample for sample, times in self.drawn.items() if times >= 2 * usual}
        many = {sample for sample in more if self.drawn[sample] >= 4 * usual}
        return many if len(many) >= _MOSTLY * len(more) else set()

    def probe(self) -> Probe:
        return probe([weight for reference in self.weights if (weight := reference()) is not None])

    def is_over(self) -> bool:
        """Whether, since an evaluation, something took the place of all that was learned.

        What was swapped in for the evaluation, as an average of weights, is out again: the last step left what is here.
        """
        met, self.met = self.met, None
        if met is None or not len(self.first) == len(self.left) == len(met):
            return False
        now = self.probe()
        learned = [at for at, values in enumerate(self.left) if values != self.first[at]]
        return bool(learned) and all(now[at] not in (self.left[at], met[at]) for at in learned)


@dataclass
class _Evaluation:
    """What a line evaluated a module on, of one set; of a tensor whose parts may be sets of their own, as a rule one.

    training: of the weights that it met last. trained, apart: what passes had, each between two steps, that had been
    trained on as a whole, or not at all.
    split_at: the line that chose its samples, as far as that is known.
    """

    where: Place | None
    loader: int | None
    in_mode: bool
    with_graph: bool
    first: int
    training: _Training
    split_at: Place | None = None
    step: int = 0
    samples: set[Sample] = field(default_factory=set)
    shared: set[Sample] = field(default_factory=set)
    trained: set[Sample] = field(default_factory=set)
    apart: set[Sample] = field(default_factory=set)
    _pass: tuple[set[Sample], set[Sample]] = field(default_factory=lambda: (set(), set()))

    def add(self, step: int, samples: Sequence[Sample], shared: set[Sample]) -> None:
        """Samples, and those among them that had been trained on before."""
        if step != self.step:
            self.end_pass()
        self.step = step
        self.samples.update(samples)
        self.shared |= shared
        self._pass[0].update(samples)
        self._pass[1].update(shared)

    def end_pass(self) -> None:
        samples, shared = self._pass
        self._pass = set(), set()
        if not shared:
            self.apart |= samples
        elif len(shared) == len(samples):
            self.trained |= samples

    def sets(self) -> list[tuple[set[Sample], set[Sample]]]:
        """Samples, and those of them that were trained on: two sets where some passes had the one, and some the
        other."""
        apart = self.apart - self.trained
        if self.trained and apart:
            return [(apart, set()), (self.trained, self.trained)]
        return [(self.samples, self.shared)]


@dataclass(frozen=True, slots=True)
class RowsSeen:
    """What a module is called with, and who calls it: in an evaluation, a part of the set that `group` stands for.

    new: which rows of a batch of training had not come before; None in an evaluation.
    """

    module: int
    group: Hashable
    where: Place | None
    data: torch.Tensor
    keys: list[Sample]
    new: list[int] | None = None


@dataclass
class _Alike:
    """A line that trains a module: the samples of each of its arguments, up to two of them.

    is_copied: some of the batches that hold one sample were made of it.
    """

    name: str
    shape: list[int]
    first: int
    step: int = -1
    steps: int = 0
    samples: int = 0
    value: float | None = None
    made_at: Place | None = None
    from_data: bool = False
    read: bool = False
    found: list[set[Sample]] = field(default_factory=list)
    variation: Variation[tuple[Sample, ...]] = field(default_factory=Variation)
    is_copied: bool = False

    @property
    def differ(self) -> bool:
        return any(len(samples) > 1 for samples in self.found)

    @property
    def is_data(self) -> bool:
        return self.from_data or self.read

    def goes_with(self, other: _Alike) -> bool:
        """Whether another line was given data that tell their samples apart while this one was in use; if its own had
        done so before, since then."""
        since = self.variation.since if self.differ else self.first
        differ = other.differ and not other.variation.has_turned
        return differ and other.is_data and other.first <= self.step and since <= other.step


class SampleOverlap(Instrument):
    """Looks at what modules with parameters are called with: in full steps, and in light ones while there is news.

    Training is what runs with gradients and in training mode; evaluation is without both, or, after the last step,
    without gradients; or in eval mode with a graph that no backward uses. What it returns there is followed through the
    operations of steps that are watched closely: if that flows into a backward, it is a target. So is what it returns
    in training: where no operation brings that together with data, samples were learned from without labels. evaluated:
    sent for each of its calls of a module that was trained before; trained: for batches of training in which there may
    be news.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (RowsCompared, InputsAlike)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        module_calls: ModuleCalls,
        sources: Sources,
        lineage: Lineage,
        tensors: Tensors,
        unused_forwards: UnusedForwards,
        uploads: Uploads,
    ) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._unused_forwards = unused_forwards
        self._uploads = uploads
        self.evaluated: Signal[RowsSeen] = Signal(site.signals.guard)
        self.trained: Signal[RowsSeen] = Signal(site.signals.guard)
        self._lineage = lineage
        self._course = course
        self._detail = detail
        self._module_calls = module_calls
        self._sources = sources
        self._training: dict[int, _Training] = {}
        self._evaluations: dict[tuple[int, Hashable], _Evaluation] = {}
        self._alike: dict[tuple[int, Place | None], _Alike] = {}
        self._tensors = tensors
        self._evaluated_on = Numbers()
        self._with_parameters: set[int] = set()
        self._read: IdentityTable[int] = IdentityTable()
        self._asked: tuple[ModuleCall, _Line] | None = None
        self._said: IdentityTable[frozenset[_Line]] = IdentityTable()
        self._teaching: set[_Line] = set()
        self._learning: tuple[ModuleCall, _Caller] | None = None
        self._predicted: IdentityTable[frozenset[_Caller]] = IdentityTable()
        self._followed: set[_Caller] = set()
        self._met_data: set[_Caller] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began)
        self.listen(self._course.step_taken, self._step_taken)
        self.listen(self._lineage.operated, self._operated)
        self.listen(signals.modules.ended, self._module_ended)
        self.listen(self._lineage.recorded, self._recorded)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)

    def memory(self) -> dict[tuple[int, Place | None], _Alike]:
        return self._alike

    def remember(self, memory: dict[tuple[int, Place | None], _Alike]) -> None:
        self._alike = memory

    def _operated(self, operation: Operation) -> None:
        """Numbers that come out of an array in this step, rearranged or scaled at will."""
        if not (operation.name in FROM_DATA or self._read) or not isinstance(operation.result, torch.Tensor):
            return
        given = operation.args[0] if operation.args else None
        is_array = operation.name in FROM_DATA and type(given).__module__ == "numpy"
        if is_array or self._is_read(given):
            self._read.put(operation.result, self._course.steps)

    def _is_read(self, tensor: object) -> bool:
        return self._read.get(tensor) == self._course.steps

    def _root_began(self, began: RootBegan) -> None:
        call = began.call
        if call.grad_enabled and call.module.training:
            self._learning = (call, (began.module, began.where)) if self._detail.closely else None
            self._forget_if_over(began.module)
            if self._knows_all(began.module):
                return
        given = (tensor for tensor in began.given if tensor.dim() > 1 and not tensor.requires_grad)
        data = [self._uploads.at_home(tensor) for tensor in given]
        if not data or not self._learns(began):
            return
        if any(tensor.device.type != "cpu" for tensor in data):
            self.limited("samples on an accelerator are not compared")
        elif call.grad_enabled and call.module.training:
            self._trained(began, data)
        elif not (call.grad_enabled and call.module.training):
            began.again |= call.grad_enabled
            self._evaluated(began, max(data, key=_bytes_of_row))

    def _learns(self, began: RootBegan) -> bool:
        """Whether a module has parameters; one that has none may get some, as lazy ones do."""
        if began.module not in self._with_parameters and has_parameters(began.call.module):
            self._with_parameters.add(began.module)
        return began.module in self._with_parameters

    # ----------------------------------------------------------------------------------------------------- training

    def _knows_all(self, module: int) -> bool:
        """Whether a step that is not looked at closely can add nothing to what is known of the samples of a module."""
        known = self._training.get(module)
        if self._detail.closely or known is None:
            return False
        if not known.may_come_again:
            return True
        return not self._detail.full and (known.complete or len(known.samples) > _MOST_ROWS)

    def _forget_if_over(self, module: int) -> None:
        """What the weights of earlier folds were trained on, none of which is left, the new ones have not seen."""
        known = self._training.get(module)
        if known is not None and known.is_over():
            del self._training[module]

    def _step_taken(self, course: Course) -> None:
        for training in self._training.values():
            training.left, training.met = training.probe(), None

    def _trained(self, began: RootBegan, data: list[torch.Tensor]) -> None:
        training = self._training.get(began.module)
        if training is None:
            training = self._training[began.module] = _Training.of(began.call.module)
        largest = max(data, key=_bytes_of_row) if len(data) > 1 else data[0]
        is_news = not training.complete and bytes_of(largest) <= _MOST_BYTES
        began.again |= is_news
        if not (self._detail.full or is_news) or len(training.samples) > _MOST_ROWS:
            return
        keys = row_keys(largest)
        if keys is None:
            return
        before = len(training.samples)
        if self.trained:
            news = _first_rows(keys, training.samples)
            self.trained.relay(RowsSeen(began.module, None, began.where, largest, keys, news))
        if training.complete and not training.passed_on:
            training.passed_on = self._were_evaluated(began.module, set(keys) - training.samples)
        training.samples.update(keys)
        training.at.setdefault(began.where, set()).update(keys)
        if not before:
            training.tells_apart = tells_apart(largest)
            training.may_come_again = training.tells_apart and not self._is_drawn_now(largest)
        training.known = training.known + 1 if len(training.samples) == before else 0
        training.complete |= training.known >= _IN_A_ROW
        loaders = self._sources.loaders_of(largest)
        training.loaders.update(loaders)
        new = len(training.samples) - before
        if loaders and new:
            training.drawn.update(keys)
        if self._detail.full:
            self._compare(began, data, is_all=len(data) == len(began.given))

    def _were_evaluated(self, module: int, samples: set[Sample]) -> bool:
        found = (each for (number, _), each in self._evaluations.items() if number == module)
        return bool(samples) and any(not samples.isdisjoint(each.samples) for each in found)

    def _is_drawn_now(self, tensor: torch.Tensor) -> bool:
        """Whether a batch was made of random numbers a moment ago, as none that comes later will be."""
        made = self._tensors.get(tensor)
        return made is not None and made.step == self._course.steps and draws_numbers(made.operation)

    def _compare(self, began: RootBegan, data: list[torch.Tensor], *, is_all: bool) -> None:
        """Whether all samples of a line are alike, until two differ.

        Constants that models start from are made, not read; what else they are given may tell their samples apart.
        """
        line = (began.module, began.where)
        alike = self._alike.get(line)
        if alike is None:
            if len(self._alike) >= _MOST_LINES:
                return
            found: list[set[Sample]] = [set() for _ in data]
            name, made_at = variable_name(data[0]), self._sources.made_at(data[0])
            first = self._course.steps
            alike = self._alike[line] = _Alike(name, list(data[0].shape), first, made_at=made_at, found=found)
        alike.steps += alike.step != self._course.steps
        alike.step = self._course.steps
        if len(alike.found) != len(data):
            return
        if alike.differ:
            self._follow(alike, data)
            return
        only_read = is_all and all(
            self._is_read(tensor) and tensor.is_floating_point() and len(tensor) > 1 for tensor in data
        )
        for samples, tensor in zip(alike.found, data, strict=True):
            is_told = readable(tensor) and tensor.numel() and not is_spoiled(tensor[:1])
            samples.update(((row_keys(tensor) if is_told else None) or [0, 1])[:64])
            alike.from_data |= bool(self._sources.of(tensor))
        alike.read |= only_read
        alike.samples += data[0].shape[0]
        if all(len(samples) == 1 for samples in alike.found) and data[0].numel():
            alike.value = _one_value(data[0])

    def _follow(self, alike: _Alike, data: list[torch.Tensor]) -> None:
        """Whether samples that differed are all the same by now.

        The first ones may have been drawn before anybody watched: what comes later tells where they are from.
        """
        alike.from_data = alike.from_data or bool(self._sources.of(data[0]))
        keys = [row_keys(tensor) for tensor in data]
        rows = [each for each in keys if each]
        one = tuple(each[0] for each in rows) if all(len(set(each)) == 1 for each in rows) else None
        samples = min(map(len, rows)) if len(rows) == len(data) else 0
        origin = self._sources.origin_of(data[0]) or ("read" if self._is_read(data[0]) else None)
        alike.variation.look(self._course.steps, one, samples, origin)
        if one is not None:
            alike.value = _one_value(data[0])
            alike.is_copied |= any(map(self._is_copied, data))

    def _is_copied(self, tensor: torch.Tensor) -> bool:
        """Whether the program has made many of one sample, to answer for it many times."""
        made = self._tensors.get(tensor)
        return tensor.stride(0) == 0 or (made is not None and made.operation in REPEATS)

    # --------------------------------------------------------------------------------------------------- evaluation

    def _evaluated(self, began: RootBegan, tensor: torch.Tensor) -> None:
        training = self._training.get(began.module)
        if training is None or len(self._evaluations) >= _MOST_LINES or bytes_of(tensor) > _MOST_BYTES:
            return
        sources = self._sources.of(tensor)
        loader = next(iter(self._sources.loaders_of(tensor)), None)
        whole = sources[0].number if sources else self._evaluated_on.number(tensor)
        group = (began.where, loader, whole, began.call.module.training, began.call.grad_enabled)
        known = self._evaluations.get((began.module, group))
        if known is None:
            trains, with_graph = began.call.module.training, began.call.grad_enabled
            known = _Evaluation(began.where, loader, not trains, with_graph, self._course.steps, training)
            self._evaluations[began.module, group] = known
        if known.split_at is None and self._detail.full:
            known.split_at = self._sources.split_at(tensor)
        keys = row_keys(tensor) if len(known.samples) < _MOST_ROWS else None
        self._asked = (began.call, _line(began.module, known)) if self._detail.closely else None
        known.training = training
        training.met = training.met or training.probe()
        known.add(self._course.steps, keys or (), training.samples.intersection(keys or ()))
        if keys is not None:
            self.evaluated.relay(RowsSeen(began.module, group, began.where, tensor, keys))

    def _module_ended(self, call: ModuleCall) -> None:
        if self._learning is not None and self._learning[0] is call:
            caller, self._learning = self._learning[1], None
            with self._guard.looking():
                outputs = tensors_in([call.output], EVERYTHING)
                for tensor in outputs:
                    self._predicted.put(tensor, frozenset([caller]))
                if _may_have_compared(call, outputs):
                    self._met_data.add(caller)
        if self._asked is None or self._asked[0] is not call:
            return
        line, self._asked = self._asked[1], None
        with self._guard.looking():
            for tensor in tensors_in([call.output], EVERYTHING):
                self._said.put(tensor, frozenset([line]))

    def _recorded(self, recorded: Recorded) -> None:
        """What is computed from what a module said is said by it, too."""
        if self._said:
            lines = [self._said.get(tensor) or frozenset() for tensor in (*recorded.inputs, recorded.output)]
            if said := frozenset().union(*lines):
                self._said.put(recorded.output, said)
        if self._predicted:
            self._follow_predictions(recorded)

    def _follow_predictions(self, recorded: Recorded) -> None:
        """What is computed from predictions is one, too; what meets it may be its target, unless a module said that."""
        inputs = [tensor for tensor in recorded.inputs if tensor is not recorded.output]
        of_inputs = [self._predicted.get(tensor) for tensor in inputs]
        callers = frozenset().union(*filter(None, (*of_inputs, self._predicted.get(recorded.output))))
        if not callers:
            return
        self._predicted.put(recorded.output, callers)
        others = (tensor for tensor, known in zip(inputs, of_inputs, strict=True) if not known)
        if not callers <= self._met_data and any(map(self._may_be_target, others)):
            self._met_data |= callers

    def _may_be_target(self, tensor: torch.Tensor) -> bool:
        made = self._tensors.get(tensor)
        if made is None:
            return not tensor.requires_grad
        return not (made.values or made.operation in _MADE_UP or draws_numbers(made.operation))

    def _backward_began(self, call: BackwardCall) -> None:
        if self._said:
            self._teaching.update(*(self._said.get(root) or () for root in call.roots))
        if self._predicted:
            self._followed.update(*(self._predicted.get(root) or () for root in call.roots))

    def trained_on(self, module: int) -> Set[Sample]:
        """The samples that a module was trained on, as far as they were looked at."""
        known = self._training.get(module)
        return known.samples if known is not None else frozenset()

    def was_evaluation(self, module: int, group: Hashable) -> bool:
        """Whether it looked like one, and no backward used what came of it."""
        known = self._evaluations.get((module, group))
        return known is not None and self._taught_nothing(module, known)

    def holds_out(self, module: int, group: Hashable) -> bool:
        """Whether an evaluation used none of the samples that a module was trained on: all of them are known, and they
        are told apart by their values."""
        training = self._training.get(module)
        if training is None or not (training.complete and training.tells_apart):
            return False
        evaluation = self._evaluations.get((module, group))
        return evaluation is not None and evaluation.samples.isdisjoint(training.samples)

    def _taught_nothing(self, module: int, evaluation: _Evaluation) -> bool:
        return not evaluation.with_graph or self._unused_forwards.never_used(module, evaluation.where)

    def finish(self) -> None:
        before: dict[tuple[int, Place | None], set[Sample]] = {}
        for (module, _), found in self._evaluations.items():
            if not self._taught_nothing(module, found):
                continue
            others = before.setdefault((module, found.where), set())
            again = len(others & found.samples)
            others |= found.samples
            if found.in_mode or found.step == self._course.steps:
                found.end_pass()
                for samples, shared in found.sets():
                    self._tell(module, found, len(samples), shared, again)
        for (module, where), alike in self._alike.items():
            told_apart_by = {number for (number, _), other in self._alike.items() if alike.goes_with(other)}
            is_meant = alike.variation.has_narrowed and alike.is_copied
            are_alike = alike.variation.has_turned and not is_meant if alike.differ else bool(alike.found)
            if alike.is_data and are_alike and module not in told_apart_by:
                self._tell_alike(module, where, alike, beside=bool(told_apart_by))

    def _tell_alike(self, module: int, where: Place | None, alike: _Alike, *, beside: bool) -> None:
        late = alike.variation if alike.differ else None
        self.emit(
            InputsAlike(
                step=self._course.steps,
                module=module,
                location=locate(where),
                name=alike.name,
                shape=alike.shape,
                steps=late.steps if late else alike.steps,
                samples=late.samples if late else alike.samples,
                constant=None if late and late.has_narrowed else alike.value,
                read=not alike.from_data,
                made_at=locate(alike.made_at),
                beside=beside,
                since=late.since if late else 0,
                varied=late.varied if late else 0,
                same_source=late.same_origin if late else False,
                each_its_own=late is not None and late.has_narrowed,
            )
        )

    def _labelled(self, module: int, training: _Training) -> set[Sample]:
        """The samples in training of which predictions met data that may have been targets, or may have done so."""
        unlabelled = self._followed - self._met_data
        return set().union(*(keys for where, keys in training.at.items() if (module, where) not in unlabelled))

    def _tell(self, module: int, found: _Evaluation, evaluated: int, shared: set[Sample], again: int) -> None:
        training = found.training
        self.emit(
            RowsCompared(
                step=self._course.steps,
                module=module,
                location=locate(found.where),
                split_at=locate(found.split_at),
                loader=self._sources.names.get(found.loader, "") if found.loader is not None else "",
                own_loader=found.loader is not None and found.loader not in training.loaders,
                evaluated=evaluated,
                trained=len(training.samples),
                shared=len(shared),
                unlabelled=len(shared - self._labelled(module, training)) if shared else 0,
                complete=training.complete,
                tells_apart=training.tells_apart,
                first=found.first,
                last=found.step,
                again=again,
                teaches=_line(module, found) in self._teaching,
                passed_on=training.passed_on,
                alike=training.alike,
                copied=len(shared & training.copied()),
            )
        )


def _may_have_compared(call: ModuleCall, outputs: Sequence[torch.Tensor]) -> bool:
    """Whether a module may have been given targets as well, or have computed a loss."""
    return len(tensors_in([call.args, call.kwargs], EVERYTHING)) > 1 or any(each.numel() == 1 for each in outputs)


def _one_value(data: torch.Tensor) -> float | None:
    """What all values of its first sample are, None where they differ."""
    values = data[0].reshape(-1)
    return float(values[0]) if bool((values == values[0]).all()) else None


def _line(module: int, evaluation: _Evaluation) -> _Line:
    return module, evaluation.where, evaluation.loader


def _first_rows(keys: list[Sample], known: set[Sample]) -> list[int]:
    """Where each sample that is not known comes first."""
    if len(set(keys)) == len(keys) and known.isdisjoint(keys):
        return list(range(len(keys)))
    first = {key: row for row, key in reversed(list(enumerate(keys))) if key not in known}
    return sorted(first.values())


def _bytes_of_row(tensor: torch.Tensor) -> int:
    return bytes_of(tensor) // max(tensor.shape[0], 1)
