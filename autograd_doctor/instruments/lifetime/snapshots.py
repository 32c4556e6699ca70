"""Watches what becomes of a `state_dict()`: whether, steps later, the program still holds it, alias of the weights."""

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from types import FunctionType, ModuleType
from typing import Any, ClassVar

import torch
from torch import nn

from autograd_doctor.events.event import Event
from autograd_doctor.events.lifetime import SnapshotKept
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.frame_locals import variables
from autograd_doctor.reading.holders import Holders
from autograd_doctor.reading.looks import is_drawn
from autograd_doctor.reading.module_copies import PARTS
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import traits
from autograd_doctor.reading.places import Place, locate, own_frames, place
from autograd_doctor.reading.subclasses import storage_address, version_of
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.states import StateCall, StateLoad

_REMEMBERED = 16
"""Snapshots at one time: averages over checkpoints keep about ten."""
_ENTRIES = 64
"""Members of a container to look into: longer ones hold data."""
_NESTING = 2
"""Containers within containers: a list of checkpoints, each of which is a dict of states."""
_LARGER = 4
"""Times as many entries as a snapshot has parameters: in longer ones, such as a replay memory, there is none."""
_REGULAR = 3
"""Snapshots at a line, evenly spaced, that show it to run in any case, and not only for weights that are the best."""
_SETTLED = 2
"""Steps after which a snapshot has missed its use: one that is saved or loaded back at once does no harm."""
_COPIES = frozenset({"clone", "copy_", "cpu", "numpy", "to"})
"""What takes in a handle on the weights, as well as a snapshot: nothing is compared with what it was to keep."""
_MOST_SEARCHES = 3
"""For holders out of sight: each search visits every object of the process."""

Addresses = set[int]


@dataclass(eq=False)
class _Snapshot:
    """One `state_dict()`: where it was taken, the storages of the parameters in it and their versions then.

    `hidden_in`: what holds it out of sight of the user's frames; empty if nothing was found, None before the search.
    `read_in`: the last step in which it was read, the last of `in_a_row`. In a later step, an operation took it in
    that was no copy nor such a read (`computed_with`), or one beside its own storage (`met_itself`).
    """

    where: Place | None
    step: int
    result: weakref.ref[Any]
    parameters: dict[int, tuple[weakref.ref[torch.Tensor], int]] = field(default_factory=dict)
    used_at_once: bool = False
    computed_with: bool = False
    met_itself: bool = False
    hidden_in: str | None = None
    read_in: int = -1
    in_a_row: int = 0
    most_in_a_row: int = 0

    def read(self, step: int) -> None:
        """Something was computed from it in this step."""
        if step > max(self.read_in, self.step):
            self.in_a_row = self.in_a_row + 1 if step == self.read_in + 1 else 1
            self.most_in_a_row = max(self.most_in_a_row, self.in_a_row)
            self.read_in = step

    def changed(self) -> list[torch.Tensor]:
        """The parameters that have been written to since."""
        living = ((parameter(), version) for parameter, version in self.parameters.values())
        return [tensor for tensor, version in living if tensor is not None and version_of(tensor) != version]

    def is_in(self, addresses: Addresses) -> bool:
        """Whether these are the storages of most of it; one left-over loop variable is no snapshot."""
        return 2 * len(addresses & self.parameters.keys()) >= len(self.parameters)


class Snapshots(Instrument):
    """Looks, ever more rarely, through the variables of the user's frames for what shares storage with the weights.

    Storage decides, not identity: `dict(state)`, `{k: v.cpu() for …}` on a CPU and `v.detach()` are aliases as well.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (SnapshotKept,)

    def __init__(self, site: Site, course: Course, parameters: Parameters) -> None:
        super().__init__(site)
        self._signals = site.signals
        self._course = course
        self._parameters = parameters
        self._snapshots: list[_Snapshot] = []
        self._taken_in: dict[Place | None, deque[int]] = {}
        self._used_at: set[Place | None] = set()
        self._entries: IdentityTable[_Snapshot] = IdentityTable()
        self._owners: dict[int, tuple[weakref.ref[torch.Tensor], _Snapshot]] = {}
        self._depth = 0
        self._searches = 0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.states.taking, self._taking)
        self.listen(signals.states.taken, self._taken)
        self.listen(signals.states.loading, self._loading)
        self.listen(signals.states.pickling, self._pickling)

    def _taking(self, call: StateCall) -> None:
        self._depth += 1

    def _taken(self, call: StateCall) -> None:
        self._depth -= 1
        if self._depth == 0 and call.state is not None and not call.keep_vars:
            self._remember(call.module, call.state)

    def _loading(self, call: StateLoad) -> None:
        if self._snapshots:
            self._loaded_back(call.module, call.state)
            self._used(call.state)
            self._used(dict(parameters_in(call.module)))

    def _pickling(self, tensor: torch.Tensor) -> None:
        if self._snapshots:
            self._used({"": tensor})

    def _remember(self, module: nn.Module, result: Any) -> None:
        snapshot = _Snapshot(place(), self._course.steps, weakref.ref(result))
        held = _addresses(result.values())
        for _, parameter in parameters_in(module):
            address = storage_address(parameter)
            if address in held and not parameter.is_inference():
                snapshot.parameters[address] = (weakref.ref(parameter), version_of(parameter))
        if snapshot.parameters:
            self._taken_in.setdefault(snapshot.where, deque(maxlen=_REGULAR)).append(snapshot.step)
            self._snapshots = [*self._snapshots, snapshot][-_REMEMBERED:]
            for entry in result.values():
                if storage_address(entry) in snapshot.parameters:
                    self._entries.put(entry, snapshot)
            self.listen(self._course.step_taken, self._stepped)
            self.listen(self._signals.operations.ended, self._operation_ended, attention=Attention.FULL)

    def _operation_ended(self, operation: Operation) -> None:
        """An average, a mirror, a copy or a norm is made weight by weight; a teacher computes.

        Where an entry meets the very weights in whose storage it lies, the two were meant to differ.
        """
        known = traits(operation.name)
        if known.shape_only or known.is_alias or self._course.running is not None:
            return
        operands = operation.inputs
        for entry in operands:
            snapshot = self._entries.get(entry)
            if snapshot is None:
                continue
            others = _addresses(each for each in operands if each is not entry)
            meets_itself = storage_address(entry) in others
            made = tensors_in((operation.result,)) or operands
            if not meets_itself and _is_read(entry, operands, made):
                snapshot.read(self._course.steps)
            elif operation.name not in _COPIES and (meets_itself or not any(each is entry for each in made)):
                self._computed_with(snapshot, meets_itself=meets_itself)

    def _computed_with(self, snapshot: _Snapshot, *, meets_itself: bool) -> None:
        if self._course.steps == snapshot.step:
            return
        is_new = not snapshot.computed_with or (meets_itself and not snapshot.met_itself)
        snapshot.computed_with = True
        snapshot.met_itself |= meets_itself
        if is_new:
            self._look()

    def _used(self, state: Any) -> None:
        """Saved, loaded, or overwritten with what was made of it: no concern of later steps, if in the very step."""
        addresses = _addresses(state.values()) if isinstance(state, Mapping) else set()
        for snapshot in self._snapshots:
            if snapshot.step == self._course.steps and addresses & snapshot.parameters.keys():
                snapshot.used_at_once = True
                self._used_at.add(snapshot.where)

    def _loaded_back(self, module: nn.Module, state: Any) -> None:
        """A state that is the module's own storage is loaded to bring back what it was, and changes nothing."""
        own = _addresses(parameter for _, parameter in parameters_in(module))
        if not isinstance(state, Mapping) or not own <= _addresses(state.values()):
            return
        tensors = [each for each in state.values() if is_a(each, torch.Tensor) and not is_a(each, nn.Parameter)]
        snapshot = self._owner(state, tensors) if tensors else None
        if snapshot is not None and own <= snapshot.parameters.keys():
            holders = (name for name, container, _ in _collections(self._most) if container is state)
            self._report(next(holders, "state_dict"), snapshot, loaded_back=True)

    def _stepped(self, course: Course) -> None:
        if not any(is_drawn(max(1, course.steps - each.step)) for each in self._snapshots if not each.used_at_once):
            return
        self._look()

    def _look(self) -> None:
        """Through the variables of the user's frames."""
        found: dict[tuple[int, _Snapshot], str] = {}
        for name, container, tensors in _collections(self._most):
            snapshot = self._owner(container, tensors)
            if snapshot is not None:
                found.setdefault((id(container), snapshot), name)
        in_sight = {snapshot for _, snapshot in found}
        together = Counter(where for where, _ in {(each.where, each.step) for each in in_sight})
        for (_, snapshot), name in found.items():
            self._report(name, snapshot, together=together[snapshot.where])
        self._report_hidden(in_sight)

    @property
    def _most(self) -> int:
        """Entries of a container that may hold one of the snapshots."""
        return max(_ENTRIES, _LARGER * max(len(snapshot.parameters) for snapshot in self._snapshots))

    def _report_hidden(self, in_sight: set[_Snapshot]) -> None:
        """Report those that live on in an object that only a framework refers to, such as a callback."""
        for snapshot in self._snapshots:
            result = snapshot.result()
            if result is None or snapshot in in_sight or self._course.steps < snapshot.step + _SETTLED:
                continue
            if snapshot.hidden_in is None and self._searches < _MOST_SEARCHES:
                self._searches += 1
                holder = Holders().of([result])[0]
                snapshot.hidden_in = holder.name if holder else ""
            if snapshot.hidden_in:
                self._report(snapshot.hidden_in, snapshot)

    def _owner(self, container: object, tensors: list[torch.Tensor]) -> _Snapshot | None:
        """The snapshot that a container holds: the one it was first seen with, the newest if it is new."""
        addresses = _addresses(tensors)
        exact = next((snapshot for snapshot in self._snapshots if snapshot.result() is container), None)
        if exact is not None:
            return exact if exact.is_in(addresses) else None
        known = self._entries.get(tensors[0])
        if known is not None:
            return known if known.is_in(addresses) else None
        first, snapshot = self._owners.get(id(container), (None, None))
        if first is None or first() is not tensors[0] or snapshot is None:
            snapshot = next((each for each in reversed(self._snapshots) if each.is_in(addresses)), None)
            if snapshot is not None:
                self._owners[id(container)] = (weakref.ref(tensors[0]), snapshot)
        return snapshot

    def _report(self, name: str, snapshot: _Snapshot, *, loaded_back: bool = False, together: int = 1) -> None:
        changed = [self._parameters.number(parameter) for parameter in snapshot.changed()]
        if self._course.steps > snapshot.step and (changed or loaded_back):
            self.emit(
                SnapshotKept(
                    step=self._course.steps,
                    holder=name,
                    location=locate(snapshot.where),
                    taken_in_step=snapshot.step,
                    parameters=changed,
                    used_at_once=snapshot.used_at_once,
                    loaded_back=loaded_back,
                    regular=self._is_regular(snapshot.where),
                    others_used=snapshot.where in self._used_at,
                    computed_with=snapshot.computed_with,
                    met_itself=snapshot.met_itself,
                    read_in_a_row=snapshot.most_in_a_row,
                    together=together,
                )
            )

    def _is_regular(self, where: Place | None) -> bool:
        steps = self._taken_in.get(where, ())
        return len(steps) == _REGULAR and len({later - earlier for earlier, later in pairwise(steps)}) == 1


def _collections(most: int) -> Iterator[tuple[str, object, list[torch.Tensor]]]:
    """Containers of tensors that the variables of the user's frames reach, with what the user would type.

    most: entries; longer ones are passed by.
    """
    for frame in own_frames():
        for name, value in variables(frame):
            if name.removeprefix("self.") not in PARTS:
                yield from _within(name, value, _NESTING, most)


def _within(name: str, value: object, depth: int, most: int) -> Iterator[tuple[str, object, list[torch.Tensor]]]:
    members = list(islice(_members(name, value), most + 1))
    if len(members) > most:
        return
    tensors = [member for _, member in members if is_a(member, torch.Tensor) and not is_a(member, nn.Parameter)]
    if tensors:
        yield name, value, tensors  # type: ignore[misc]
    for inner, member in members[: _ENTRIES if depth else 0]:
        if not is_a(member, torch.Tensor):
            yield from _within(inner, member, depth - 1, most)


def _members(name: str, value: object) -> Iterator[tuple[str, object]]:
    """What a container or an object holds; nothing of its class is called."""
    if is_a(value, dict):
        mapping: Any = value
        entries = list(dict.items(mapping))
        yield from ((f"{name}[{key!r}]" if type(key) in (str, int) else name, member) for key, member in entries)
    elif is_a(value, (list, tuple)):
        kind: Any = list if is_a(value, list) else tuple
        yield from ((f"{name}[{index}]", member) for index, member in enumerate(kind.__iter__(value)))
    elif not is_a(value, (type, ModuleType, FunctionType, torch.optim.Optimizer)):
        held = list(attributes(value).items())
        yield from ((f"{name}.{key}", member) for key, member in held if key not in PARTS)


def _is_read(entry: torch.Tensor, operands: Sequence[torch.Tensor], made: Sequence[torch.Tensor]) -> bool:
    """Whether something was made of an entry in its shape, or a number of it alone."""
    is_alone = len(operands) == 1
    others = (each for each in made if each is not entry)
    return any(each.shape == entry.shape or (each.numel() == 1 and is_alone) for each in others)


def _addresses(values: Iterable[object]) -> Addresses:
    return {storage_address(value) for value in values if is_a(value, torch.Tensor)} - {0}  # type: ignore[arg-type]
