"""Which parameters a forward pass wrote to, where, and whether that undid what an optimizer had learned, or was itself
taken back before the next step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import torch
from torch import nn

from autograd_doctor.events.connectivity import WritesTakenBack, WritesWeighed, WriteWeighed
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.module_tree import modules_in, parameters_in, parameters_of
from autograd_doctor.reading.optimizer_groups import parameters_of as held_by
from autograd_doctor.reading.overwriting import Bounds, Weighed, heeds, weigh
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.regions import region_of
from autograd_doctor.reading.rescaled import is_only_rescaled
from autograd_doctor.reading.spread import spread
from autograd_doctor.reading.subclasses import storage_address
from autograd_doctor.reading.tensor_facts import fingerprints, is_checkable, read_together
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation, written_by
from autograd_doctor.signals.optimizers import StepCall

_STEPS = 2
"""Steps of a root in which operations are listened to although nothing was written: a write in a forward is in every
forward, and one that comes later is found by its version, and its line in the next call."""
_VALUES = 1_000_000
"""Of a parameter that is compared bit for bit in every call that wrote to it, which reads all of it; what a forward
sets back (a clamp, a norm, a codebook) is seldom larger."""
_BACK = 1e-3
"""The part of what a forward changed by which a value that is taken back may be off: noise that was added is taken off
again with the rounding of both."""
_PART = 0.5
"""Of the rows of a parameter, more than that are all that it has learned, and not those that are begun anew."""
_FEW = 8
"""Values that may all lie at a bound, or be written anew each time, without that one could tell."""

Numbered = list[tuple[int, torch.Tensor]]


class Written(NamedTuple):
    """`undone` hold what an earlier call had left in them, although a step lies between."""

    parameters: list[int]
    location: Location | None
    undone: list[int]


_NOTHING = Written([], None, [])


@dataclass
class _Armed:
    """A forward that is being watched: its parameters, their versions before, the values of those that were written to
    before, and the writes that were seen."""

    root: nn.Module
    module: int
    step: int
    parameters: Numbered
    versions: dict[int, int]
    addresses: dict[int, int] = field(default_factory=dict)
    found: dict[int, Place | None] = field(default_factory=dict)
    values: dict[int, torch.Tensor] = field(default_factory=dict)


@dataclass(eq=False)
class _Followed:
    """A parameter that was written to: some of its values, as the last forward left them after so many steps, and how
    many of these had been heard of.

    is_next: no forward has run unseen since then. survived: something of a step has once outlasted a write. doubtful: a
    step was put back that it may have made past a bound. heeds: see `WriteWeighed`.
    """

    values: torch.Tensor
    steps: int
    heard: int
    bounds: Bounds
    is_next: bool = True
    survived: bool = False
    doubtful: bool = False
    heeds: bool | None = None


class ForwardWrites(Instrument):
    """In the first steps of a root every operation is looked at, which finds `.data` too; later only when a version
    moved.

    The version counter alone does not see `.data`, and does not know the line. What was written once is copied before
    the next forward, and compared when an optimizer begins: a forward that is undone by then takes nothing from it.
    What it takes is weighed against what was left by the forward before, if no other ran unseen between the two.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (WritesTakenBack, WritesWeighed)

    def __init__(self, site: Site, course: Course, parameters: Parameters) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._operations = site.signals.operations
        self._suspects: set[int] = set()
        self._trained_in: dict[int, set[int]] = {}
        """The first steps of each root."""
        self._left: dict[int, tuple[int, int | None]] = {}
        self._armed: _Armed | None = None
        self._before: dict[int, torch.Tensor] = {}
        self._changes: dict[int, torch.Tensor] = {}
        self._shares: dict[int, torch.Tensor] = {}
        self._found: dict[int, tuple[bool, bool, bool]] = {}
        self._followed: dict[int, _Followed] = {}
        self._seen: set[int] = set()
        """Parameters of which a forward was watched since the last step that they took."""
        self._heard = 0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._step_began, attention=Attention.LIGHT)
        self.listen(signals.steps.closure_ended, self._closure_ended, attention=Attention.LIGHT)

    def begin(self, module: nn.Module, number: int, *, trains: bool) -> None:
        """A forward begins: remember versions, and listen to operations where they could be the ones that write."""
        self._disarm()
        numbers = ((self._parameters.get(parameter), parameter) for _, parameter in parameters_in(module))
        known: Numbered = [(number, parameter) for number, parameter in numbers if number is not None]
        self._armed = _Armed(module, number, self._course.steps, known, _versions(known))
        self._seen.update(number for number, _ in known)
        self._copy_before(self._armed)
        if known and trains and (self._is_new(number) or number in self._suspects):
            addresses = {storage_address(parameter): number for number, parameter in known}
            self._armed.addresses = {address: number for address, number in addresses.items() if address}
            self.listen(self._operations.began, self._operation_began)

    def _is_new(self, root: int) -> bool:
        steps = self._trained_in.setdefault(root, set())
        if len(steps) < _STEPS:
            steps.add(self._course.steps)
        return self._course.steps in steps

    def _copy_before(self, armed: _Armed) -> None:
        """What was written in an earlier step, and not yet in this one."""
        for number, parameter in armed.parameters:
            written_in, _ = self._left.get(number, (armed.step, None))
            is_readable = parameter.layout is torch.strided and parameter.numel() > 0
            if written_in < armed.step and is_readable:
                armed.values[number] = parameter.detach().clone()
                self._before.setdefault(number, armed.values[number])

    def end(self, step: int) -> Written:
        """The forward that began in this step is over: what it wrote, if no optimizer stepped meanwhile."""
        armed = self._armed
        self._disarm()
        if armed is None or self._course.steps != step or not armed.parameters:
            return _NOTHING
        after = _versions(armed.parameters)
        written = {number for number, before in armed.versions.items() if after.get(number) != before}
        written |= set(armed.found)
        if written:
            written -= {self._parameters.get(parameter) for parameter in _renormalised(armed.root)}
        if not written:
            return _NOTHING
        self._suspects.add(armed.module)
        self._note_changes(armed.parameters)
        where = next((place for number, place in armed.found.items() if number in written), None)
        still = self._weigh(armed, written)
        undone = [number for number in self._undone(armed, written) if number not in still]
        return Written(sorted(written), locate(where), undone)

    def _weigh(self, armed: _Armed, written: set[int]) -> set[int]:
        """Tell what is left of the steps since the last forward; those that no step had moved are returned."""
        known = {number: parameter for number, parameter in armed.parameters if number in written}
        weighed = {number: self._weighed(armed, number, parameter) for number, parameter in known.items()}
        numbers = {number: found for number, found in weighed.items() if found is not None}
        read = dict(zip(numbers, map(Weighed._make, read_together([*numbers.values()])), strict=True))
        told = {
            number: found for number, found in read.items() if found.moved and math.isfinite(found.size + found.done)
        }
        writes = [self._told(number, found) for number, found in told.items()]
        if writes:
            self.emit(WritesWeighed(step=armed.step, module=armed.module, writes=writes))
        for number, parameter in known.items():
            self._follow(number, parameter)
        return {number for number, parameter in known.items() if is_checkable(parameter)} - told.keys()

    def _weighed(self, armed: _Armed, number: int, parameter: torch.Tensor) -> torch.Tensor | None:
        """None where nothing is known to compare it with, or forwards have run unseen since then."""
        last, before = self._followed.get(number), armed.values.get(number)
        if last is None or before is None or before.shape != parameter.shape or not is_checkable(parameter):
            return None
        some = spread(parameter.detach())
        is_alike = some is not None and some.shape == last.values.shape
        are_heard = self._course.steps - last.steps <= self._heard - last.heard
        is_next = last.is_next and last.steps < armed.step and are_heard
        return weigh(last.values, before, parameter, last.bounds) if is_alike and is_next else None

    def _told(self, number: int, found: Weighed) -> WriteWeighed:
        last = self._followed[number]
        last.survived |= found.free > 0 or found.left > 0
        is_few = bool(found.flat) or found.moved < _FEW
        last.doubtful = found.held == found.moved and is_few and not last.survived
        return WriteWeighed(
            parameter=number,
            moved=int(found.moved),
            free=int(found.free),
            held=int(found.held),
            done=found.done,
            kept=found.kept,
            left=found.left,
            turned=(found.changed / found.size) ** 0.5 if found.size else 0.0,
            rescaled=bool(found.rescaled),
            flat=bool(found.flat),
            heeds=last.heeds,
        )

    def _follow(self, number: int, parameter: torch.Tensor) -> None:
        some = spread(parameter.detach()) if is_checkable(parameter) else None
        if some is None:
            self._followed.pop(number, None)
            return
        last = self._followed.get(number)
        if last is None or last.values.shape != some.shape:
            last = self._followed[number] = _Followed(some, 0, 0, Bounds.of(some))
        last.values, last.is_next = some.clone(), True
        last.steps, last.heard = self._course.steps, self._heard

    def _note_changes(self, parameters: Numbered) -> None:
        for number, parameter in parameters:
            before = self._before.get(number)
            if before is not None and before.shape == parameter.shape:
                self._changes[number] = _furthest(parameter, before)
                self._shares[number] = _share_of_rows(parameter, before)

    def _step_began(self, call: StepCall) -> None:
        self._heard += 1
        if not call.closure:
            self._look_at_values(call)

    def _closure_ended(self, call: StepCall) -> None:
        self._look_at_values(call)

    def _look_at_values(self, call: StepCall) -> None:
        """Of parameters that the last forward wrote to, whether they hold again what they held before it, or that by a
        factor."""
        numbered = [(self._parameters.get(each), each) for each in held_by(call.optimizer)]
        self._miss({number for number, _ in numbered if number is not None})
        known = {number: parameter for number, parameter in numbered if number in self._before}
        before = {number: self._before.pop(number) for number in known}
        changes = {number: self._changes.pop(number) for number in known if number in self._changes}
        shares = {number: self._shares.pop(number) for number in changes}
        numbers = [number for number in changes if known[number].shape == before[number].shape]
        off = [_furthest(known[number], before[number]) <= _BACK * changes[number] for number in numbers]
        small = [number for number in numbers if known[number].numel() <= _VALUES]
        scaled = [is_only_rescaled(before[number], known[number]) for number in small]
        answers = read_together([*off, *scaled, *(shares[number] < _PART for number in numbers)])
        back = {number for number, is_back in zip(numbers, answers, strict=False) if is_back}
        rescaled = {number for number, is_so in zip(small, answers[len(off) :], strict=False) if is_so} - back
        parts = {number for number, is_so in zip(numbers, answers[len(off) + len(scaled) :], strict=True) if is_so}
        now = {number: (number in back, number in rescaled, number in parts) for number in numbers}
        news = {number for number, found in now.items() if self._found.get(number) != found}
        self._found |= now
        if news:
            left = news - back - rescaled
            self.emit(
                WritesTakenBack(
                    step=self._course.steps,
                    parameters=sorted(news & back),
                    left=sorted(left),
                    rescaled=sorted(news & rescaled),
                    parts=sorted(left & parts),
                )
            )

    def _miss(self, held: set[int]) -> None:
        """These are about to step: of those that no forward was watched of since they last did, one may have written
        unseen."""
        for number in (held & self._followed.keys()) - self._seen:
            self._followed[number].is_next = False
        self._seen -= held

    def _disarm(self) -> None:
        self.unlisten(self._operations.began, self._operation_began)
        self._armed = None

    def _operation_began(self, operation: Operation) -> None:
        """Before it runs, because assigning to `.data` changes the address by which a parameter is known."""
        armed, target = self._armed, written_by(operation)
        if armed is None or target is None:
            return
        number = armed.addresses.get(storage_address(target))
        if number is not None and number not in armed.found and not _keeps_values(operation):
            armed.found[number] = operation.place
            self._try(number, operation, target)

    def _try(self, number: int, operation: Operation, target: torch.Tensor) -> None:
        last = self._followed.get(number)
        if last is not None and last.doubtful and last.heeds is None and target is next(iter(operation.args), None):
            last.heeds = heeds(operation.function, target, operation.args[1:], operation.kwargs)

    def _undone(self, armed: _Armed, written: set[int]) -> list[int]:
        undone = []
        for number, parameter in armed.parameters:
            if number in written and parameter.numel() <= _VALUES:
                now = fingerprints([parameter])[0]
                step, before = self._left.get(number, (armed.step, None))
                if step < armed.step and now is not None and now == before:
                    undone.append(number)
                self._left[number] = (armed.step, now)
        return sorted(undone)


def _furthest(values: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """The largest difference, left where the tensors are."""
    return (values.detach() - others).abs().max().double()


def _share_of_rows(values: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """How many of the rows differ, of those that there are; left where the tensors are."""
    rows = (values.detach() != others).reshape(len(values) if values.dim() else 1, -1)
    return rows.any(dim=1).double().mean()


def _keeps_values(operation: Operation) -> bool:
    """Whether a tensor is given as its `.data` the values that it has, as code does that moves it where it may be."""
    if operation.name != "data.__set__":
        return False
    target, values = operation.args
    return isinstance(values, torch.Tensor) and region_of(target) == region_of(values)


def _renormalised(module: nn.Module) -> Iterator[nn.Parameter]:
    """The weights of embeddings that were given a `max_norm`, to which they keep by themselves."""
    for _, inner in modules_in(module):
        if is_a(inner, (nn.Embedding, nn.EmbeddingBag)) and attributes(inner).get("max_norm") is not None:
            yield from parameters_of(inner).values()


def _versions(parameters: Iterable[tuple[int, torch.Tensor]]) -> dict[int, int]:
    """Version counters by number; tensors made in inference mode have none."""
    return {number: parameter._version for number, parameter in parameters if not parameter.is_inference()}
