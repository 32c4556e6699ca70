"""Which parameters a forward pass wrote to, where, and whether that undid what an optimizer had learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import nn

from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.module_tree import modules_in, parameters_in, parameters_of
from autograd_doctor.reading.operation_kinds import writes
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.regions import region_of
from autograd_doctor.reading.subclasses import storage_address
from autograd_doctor.reading.tensor_facts import fingerprints
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals.operations import Operation

_STEPS = 2
"""Steps in which operations are listened to although nothing was written: a write in a forward is in every forward,
and one that comes later is found by its version, and its line in the next call."""
_VALUES = 1_000_000
"""Of a parameter that is compared bit for bit in every call that wrote to it, which reads all of it; what a forward
sets back (a clamp, a norm, a codebook) is seldom larger."""

Numbered = list[tuple[int, torch.Tensor]]


class Written(NamedTuple):
    """`undone` hold what an earlier call had left in them, although a step lies between."""

    parameters: list[int]
    location: Location | None
    undone: list[int]


_NOTHING = Written([], None, [])


@dataclass
class _Armed:
    """A forward that is being watched: its parameters, their versions before, and the writes that were seen."""

    root: nn.Module
    module: int
    step: int
    parameters: Numbered
    versions: dict[int, int]
    addresses: dict[int, int] = field(default_factory=dict)
    found: dict[int, Place | None] = field(default_factory=dict)


class ForwardWrites(Instrument):
    """In the first steps every operation is looked at, which finds `.data` too; later only when a version moved.

    The version counter alone does not see `.data`, and does not know the line.
    """

    def __init__(self, site: Site, course: Course, parameters: Parameters) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._operations = site.signals.operations
        self._suspects: set[int] = set()
        self._left: dict[int, tuple[int, int | None]] = {}
        self._armed: _Armed | None = None

    def begin(self, module: nn.Module, number: int, *, trains: bool) -> None:
        """A forward begins: remember versions, and listen to operations where they could be the ones that write."""
        self._disarm()
        numbers = ((self._parameters.get(parameter), parameter) for _, parameter in parameters_in(module))
        known: Numbered = [(number, parameter) for number, parameter in numbers if number is not None]
        self._armed = _Armed(module, number, self._course.steps, known, _versions(known))
        if known and trains and (self._course.steps < _STEPS or number in self._suspects):
            addresses = {storage_address(parameter): number for number, parameter in known}
            self._armed.addresses = {address: number for address, number in addresses.items() if address}
            self.listen(self._operations.began, self._operation_began)

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
        where = next((place for number, place in armed.found.items() if number in written), None)
        return Written(sorted(written), locate(where), self._undone(armed, written))

    def _disarm(self) -> None:
        self.unlisten(self._operations.began, self._operation_began)
        self._armed = None

    def _operation_began(self, operation: Operation) -> None:
        """Before it runs, because assigning to `.data` changes the address by which a parameter is known."""
        armed = self._armed
        values = (*operation.args, *operation.kwargs.values())
        target = next(iter(values), None) if writes(operation.name) else operation.kwargs.get("out")
        if armed is None or not isinstance(target, torch.Tensor):
            return
        number = armed.addresses.get(storage_address(target))
        if number is not None and number not in armed.found and not _keeps_values(operation):
            armed.found[number] = operation.place

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
