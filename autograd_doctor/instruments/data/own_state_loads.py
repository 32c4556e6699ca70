"""Modules that were loaded with the very values that they had, while a state that was meant for them lay at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import nn

from autograd_doctor.events.data import OwnStateLoaded
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.frame_locals import local_variables
from autograd_doctor.reading.module_tree import buffers_in, parameters_in
from autograd_doctor.reading.numbers import IdentityTable, Numbers
from autograd_doctor.reading.places import here, own_frame
from autograd_doctor.reading.state_keys import Shapes, shapes_of, swap
from autograd_doctor.reading.subclasses import storage_address, version_of
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.states import StateCall, StateLoad

_LEAST_FITTING = 2
"""Keys: one that looks alike may be by chance."""
_MOST_KEYS = 2000


class OwnStateLoads(Instrument):
    """Looks at modules that have no gradients yet.

    Who picks the keys of a checkpoint that a module has as well, and puts them into the module's own state, may have
    picked none. Values that were written into that state by hand have another version, and a state of which another
    module was given something was not meant for this one.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (OwnStateLoaded,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._taken: IdentityTable[list[int]] = IdentityTable()
        """The versions of a module's tensors when its state was last asked for."""
        self._modules = Numbers()
        self._found: dict[int, tuple[OwnStateLoaded, frozenset[str]]] = {}
        """What is to be told of modules, and the keys of the state at hand: it may be read anew for each."""
        self._used: set[frozenset[str]] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.states.taken, self._state_taken)
        self.listen(signals.states.loading, self._loading)

    def finish(self) -> None:
        for event, keys in self._found.values():
            if keys not in self._used:
                self.emit(event)

    def _state_taken(self, call: StateCall) -> None:
        if not call.inner and _is_new(call.module):
            self._taken.put(call.module, [version_of(tensor) for tensor in _tensors(call.module).values()])

    def _loading(self, load: StateLoad) -> None:
        frame = own_frame()
        at_hand = list(_states(local_variables(frame))) if frame is not None else []
        self._found.pop(self._modules.number(load.module), None)
        own, versions = _tensors(load.module), self._taken.get(load.module)
        if not _is_own(own, load.state):
            given = set(map(id, _entries(load.state).values()))
            used = (state for _, state in at_hand if any(id(tensor) in given for tensor in state.values()))
            self._used |= {frozenset(state) for state in (_entries(load.state), *used)}
        elif _is_new(load.module) and versions == list(map(version_of, own.values())):
            self._compare(load.module, shapes_of(own), at_hand)

    def _compare(
        self, module: nn.Module, own: Shapes, at_hand: Sequence[tuple[str, Mapping[str, torch.Tensor]]]
    ) -> None:
        for name, state in at_hand:
            given = shapes_of(state)
            found = swap(own, given) if len(given) <= _MOST_KEYS and given.keys().isdisjoint(own) else None
            if found is None or 2 * found.fitting < max(2 * _LEAST_FITTING, min(len(own), len(given))):
                continue
            event = OwnStateLoaded(
                step=self._course.steps,
                name=variable_name(module) or type(module).__name__,
                location=here(),
                keys=len(own),
                at_hand=name,
                given_keys=len(given),
                theirs=found.theirs,
                ours=found.ours,
                fitting=found.fitting,
            )
            self._found[self._modules.number(module)] = event, frozenset(given)
            return


def _tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    return dict((*parameters_in(module), *buffers_in(module)))


def _is_new(module: nn.Module) -> bool:
    return all(parameter.grad is None for _, parameter in parameters_in(module))


def _is_own(own: Mapping[str, torch.Tensor], state: Any) -> bool:
    """Whether a state has nothing but what a module has: each tensor under its key."""
    given = _entries(state)
    return bool(own) and all(key in own and storage_address(own[key]) == storage_address(given[key]) for key in given)


def _entries(state: Any) -> dict[str, torch.Tensor]:
    held = dict.items(state) if is_a(state, dict) else ()
    return {key: value for key, value in held if type(key) is str and isinstance(value, torch.Tensor)}


def _states(variables: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, torch.Tensor]]]:
    """The tensors of mappings, also of those one level down, as in a checkpoint."""
    for name, value in variables.items():
        if is_a(value, dict):
            inside = ((f'{name}["{key}"]', each) for key, each in dict.items(value) if is_a(each, dict))
            yield from ((path, held) for path, each in ((name, value), *inside) if (held := _entries(each)))
