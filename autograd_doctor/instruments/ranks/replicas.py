"""What ranks hold of models that are the same on all of them, and the gradients that these are stepped with.

Each model is read by its own steps, so that ranks are compared at the same moment. No collective is called for it:
traces are compared.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from autograd_doctor.events.event import Event
from autograd_doctor.events.replicas import GradientsChangedAfterStep, ReplicasMet, ReplicasRead
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import here
from autograd_doctor.reading.probes import ends, first_values
from autograd_doctor.reading.process_groups import is_one_of_several
from autograd_doctor.reading.subclasses import dispatches, gradient_of
from autograd_doctor.reading.tensor_facts import fingerprints, is_remote, norms
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.optimizers import ClearCall, StepCall
from autograd_doctor.signals.signal import Signal
from autograd_doctor.signals.wrapping import Wrapped

_MOST_READINGS = 48
_WAITS_UNTIL = 8
"""Steps up to which an accelerator is waited for: those that are recorded in full on all ranks."""
_PROBED = 8
"""Values of a parameter by which it is known whether somebody has changed it since its step."""

_Gradients = tuple[list[int | None], list[float]]
"""Their bits and their norms; of none where nobody asks for them."""


@dataclass(eq=False)
class _Sent:
    """How many backwards ran since the last step, and whether the last one was to send gradients to other ranks."""

    backwards: int = 0
    last: bool = True

    def count(self, sends: bool) -> None:
        self.backwards += 1
        self.last = sends


@dataclass(eq=False)
class Part:
    """Parameters that are stepped together; `taken`: how often.

    ends: the first and the last of them. probe: a few values of these as a step has left them. used: the gradients that
    were read before it. sharded: no rank holds all of them.
    """

    number: int
    held: IdentityTable[None]
    size: int
    is_remote: bool
    ends: list[weakref.ref[torch.Tensor]]
    wrapped_by: weakref.ref[DistributedDataParallel] | None
    taken: int = 0
    readings: int = 0
    probe: list[torch.Tensor] = field(default_factory=list)
    used: list[int | None] = field(default_factory=list)
    sharded: bool = False

    @property
    def parameters(self) -> list[torch.Tensor]:
        """Those that live."""
        return [parameter for parameter, _ in self.held.items()]

    @property
    def wrapper(self) -> DistributedDataParallel | None:
        return None if self.wrapped_by is None else self.wrapped_by()

    @property
    def may_be_read(self) -> bool:
        """Whether there is anything to be learned that is worth the waiting."""
        waits = self.is_remote and self.taken > _WAITS_UNTIL
        return self.readings < _MOST_READINGS and not (waits or self.sharded)

    def look_back(self) -> None:
        """Remember what a step has left."""
        self.probe = [first_values(end, _PROBED).clone() for end in self._ends()] if self.may_be_read else []

    @property
    def was_changed(self) -> bool:
        """Whether somebody has changed them since their last step."""
        pairs = zip(self.probe, self._ends(), strict=False) if self.probe else ()
        return not all(torch.equal(before, first_values(end, _PROBED)) for before, end in pairs)

    def _ends(self) -> list[torch.Tensor]:
        return [parameter for end in self.ends if (parameter := end()) is not None]


class Replicas(Instrument):
    """Reads them before the first step, ever more seldom, and when they were changed between two steps.

    `stepping` is sent for each of them before a step of its own.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ReplicasMet, ReplicasRead, GradientsChangedAfterStep)

    def __init__(self, site: Site, course: Course, parameters: Parameters) -> None:
        super().__init__(site)
        self.stepping: Signal[Part] = Signal(site.signals.guard)
        self._guard = site.signals.guard
        self._course = course
        self._names = parameters
        self._wrappers: IdentityTable[_Sent] = IdentityTable()
        self._sent: IdentityTable[IdentityTable[None]] = IdentityTable()
        self._parts: IdentityTable[Part] = IdentityTable()
        self._of: IdentityTable[tuple[int, list[Part]]] = IdentityTable()
        self._frozen: IdentityTable[Part] = IdentityTable()
        self._stepping: list[Optimizer] = []
        self._count = 0
        self._backwards = 0
        self._by_hand = 0
        self._has_stepped = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.wrapping.wrapped, self._wrapped)
        self.listen(signals.backward.began, self._backward_began, bare=True)
        self.listen(signals.steps.began, self._step_began, bare=True)
        self.listen(signals.steps.closure_ended, self._closure_ended, bare=True)
        self.listen(signals.steps.ended, self._step_ended, bare=True)
        self.listen(signals.clearing.began, self._clearing_began, bare=True)
        self.listen(self._course.step_taken, self._updated_by_hand, attention=Attention.LIGHT, bare=True)

    def detach(self) -> None:
        for table in (self._wrappers, self._sent, self._parts, self._of, self._frozen):
            table.clear()
        super().detach()

    def of(self, optimizer: Optimizer) -> Sequence[Part]:
        """What an optimizer steps."""
        _, parts = self._of.get(optimizer) or (0, [])
        return parts

    def part_of(self, model: torch.nn.Module) -> Part | None:
        """What steps the parameters of a model, the first ones that are stepped at all."""
        parts = [part for _, part in self._parts.items()]
        return next((part for _, p in parameters_in(model) for part in parts if p in part.held), None)

    # ------------------------------------------------------------------------------------------------------ watching

    def _wrapped(self, wrapped: Wrapped) -> None:
        """Remember what it sends, from here on, whatever learns later."""
        sent: IdentityTable[None] = IdentityTable()
        for parameter in wrapped.reduced:
            sent.put(parameter, None)
        self._sent.put(wrapped.wrapper, sent)

    def _backward_began(self, call: BackwardCall) -> None:
        self._backwards += 1
        if self._has_stepped:
            self._has_stepped = False
            for wrapper, _ in self._wrappers.items():
                self._wrappers.put(wrapper, _Sent())
        for wrapper, sent in self._wrappers.items():
            sent.count(attributes(wrapper).get("require_backward_grad_sync") is not False)

    def _step_began(self, call: StepCall) -> None:
        """The outer one counts where an optimizer steps inside the step of another, as on a shard."""
        if call.optimizer in self._stepping:  # an earlier step of it raised, of which its hooks said nothing
            del self._stepping[self._stepping.index(call.optimizer) :]
        self._stepping.append(call.optimizer)
        if len(self._stepping) == 1 and not call.closure and is_one_of_several():
            self._begin(call.optimizer)

    def _closure_ended(self, call: StepCall) -> None:
        """The first one in a step has made the gradients, and nothing has moved yet."""
        if self._stepping == [call.optimizer] and is_one_of_several():
            self._begin(call.optimizer)
            self._stepping.append(call.optimizer)

    def _begin(self, optimizer: Optimizer) -> None:
        self._has_stepped = True
        with self._guard.looking():
            for part in self._parts_of(optimizer):
                is_due = _is_due(part.taken) or part.was_changed
                part.used = []
                if is_due and part.may_be_read:
                    self._read(part, here(), _of_gradients(part.parameters))
                self.stepping.relay(part)
                part.taken += 1

    def _step_ended(self, call: StepCall) -> None:
        if call.optimizer in self._stepping:
            del self._stepping[self._stepping.index(call.optimizer) :]
        _, parts = self._of.get(call.optimizer) or (0, [])
        if parts and not self._stepping:
            with self._guard.looking():
                for part in parts:
                    part.look_back()

    def _clearing_began(self, call: ClearCall) -> None:
        """What was sent to the others after the step came too late for it."""
        cleared = call.cleared
        parts = (
            (self._of.get(cleared) or (0, []))[1] if is_a(cleared, Optimizer) else [p for _, p in self._parts.items()]
        )
        for part in parts:
            if part.used:
                with self._guard.looking():
                    self._look_again(part)

    def _look_again(self, part: Part) -> None:
        used, part.used = part.used, []
        bits, sizes = _of_gradients(part.parameters)
        if bits != used and len(bits) == len(used):
            self.emit(
                GradientsChangedAfterStep(
                    step=self._course.steps,
                    replicas=part.number,
                    taken=part.taken - 1,
                    gradient_bits=bits,
                    gradient_norms=sizes,
                )
            )

    def _updated_by_hand(self, course: Course) -> None:
        """Without an optimizer nobody says that a step begins: what it has made of wrapped parameters is read."""
        if not course.by_hand or not is_one_of_several():
            return
        with self._guard.looking():
            for part in self._parts_updated_by_hand():
                part.taken += 1
                if _is_due(part.taken) and part.may_be_read:
                    self._read(part, self._course.updated_at(part.parameters[0]), ([], []))

    # --------------------------------------------------------------------------------------------------- who is who

    def _parts_of(self, optimizer: Optimizer) -> list[Part]:
        given = parameters_of(optimizer)
        count, parts = self._of.get(optimizer) or (0, [])
        if count != len(given):
            parts = list(self._parted(given))
            self._of.put(optimizer, (len(given), parts))
        return parts

    def _parted(self, given: Iterable[torch.Tensor]) -> Iterator[Part]:
        """Parameters by the wrappers that keep them alike; those without one together, and shards by their ranks."""
        for ranks, shards in _sharded(given):
            yield self._met(shards, self._names_of(shards), None, sharded_over=ranks)
        held = [parameter for parameter in given if not dispatches(parameter)]
        first = self._parts.get(held[0]) if held else None
        if first is not None and first.size == len(held):  # another optimizer of the same model
            yield first
            return
        named = {id(p): (wrapper, name) for wrapper in self._wrappers_now() for name, p in _kept_alike(wrapper)}
        groups: dict[int, list[torch.Tensor]] = {}
        for parameter in held:
            groups.setdefault(id(named[id(parameter)][0]) if id(parameter) in named else 0, []).append(parameter)
        for group in groups.values():
            wrapper, _ = named.get(id(group[0]), (None, ""))
            names = [named[id(p)][1] for p in group] if wrapper is not None else self._names_of(group)
            yield self._met(group, names, wrapper)

    def _parts_updated_by_hand(self) -> Iterator[Part]:
        if len(self._course.by_hand) != self._by_hand:
            self._by_hand = len(self._course.by_hand)
            known = {id(p) for _, part in self._parts.items() for p in part.parameters}
            for wrapper in self._wrappers_now():
                updated = [(n, p) for n, p in _kept_alike(wrapper) if p in self._course.by_hand and id(p) not in known]
                if updated:
                    self._met([p for _, p in updated], [n for n, _ in updated], wrapper)
        return (part for first, part in self._parts.items() if first in self._course.by_hand)

    def _wrappers_now(self) -> list[DistributedDataParallel]:
        found = [
            each for each in gc.get_objects() if is_a(each, DistributedDataParallel) and "module" in _modules(each)
        ]
        for wrapper in found:
            if wrapper not in self._wrappers:
                self._wrappers.put(wrapper, _Sent())
        return found

    def _names_of(self, parameters: Iterable[torch.Tensor]) -> list[str]:
        numbers = [self._names.number(parameter) for parameter in parameters]
        self._names.introduce()
        return [self._names.name_of(number) for number in numbers]

    def _met(
        self,
        held: list[torch.Tensor],
        names: list[str],
        wrapper: DistributedDataParallel | None,
        *,
        trained: bool = True,
        sharded_over: Sequence[int] = (),
    ) -> Part:
        part = Part(
            number=self._count,
            held=IdentityTable(),
            size=len(held),
            is_remote=any(map(is_remote, held)),
            ends=[weakref.ref(end) for end in ends([parameter for parameter in held if parameter.numel()])],
            wrapped_by=None if wrapper is None else weakref.ref(wrapper),
            sharded=bool(sharded_over),
        )
        self._count += 1
        for parameter in held:
            part.held.put(parameter, None)
        if trained:
            self._parts.put(held[0], part)
        sent = None if wrapper is None else self._sent.get(wrapper)
        self.emit(
            ReplicasMet(
                step=self._course.steps,
                replicas=part.number,
                model="" if wrapper is None else variable_name(wrapper) or type(wrapper.module).__name__,
                names=names,
                sizes=[parameter.numel() for parameter in held],
                ranks=[*sharded_over] or _ranks(None if wrapper is None else attributes(wrapper).get("process_group")),
                trained=trained,
                unsent=[] if sent is None else [at for at, parameter in enumerate(held) if parameter not in sent],
                sharded=part.sharded,
            )
        )
        if trained and wrapper is not None and wrapper not in self._frozen:
            frozen = [(name, parameter) for name, parameter in _kept_alike(wrapper) if not parameter.requires_grad]
            if frozen:
                names, held = [name for name, _ in frozen], [parameter for _, parameter in frozen]
                self._frozen.put(wrapper, self._met(held, names, wrapper, trained=False))
        return part

    # ------------------------------------------------------------------------------------------------------- reading

    def _read(self, part: Part, at: Location | None, gradients: _Gradients) -> None:
        parameters, wrapper = part.parameters, part.wrapper
        if len(parameters) != part.size:  # some are gone
            return
        part.readings += 1
        sent = _Sent()
        if wrapper is not None:
            sent = self._wrappers.get(wrapper) or sent
        part.used, sizes = gradients
        self.emit(
            ReplicasRead(
                step=self._course.steps,
                replicas=part.number,
                taken=part.taken,
                bits=fingerprints(parameters),
                norms=_norms(parameters),
                gradient_bits=part.used,
                gradient_norms=sizes,
                backwards=sent.backwards,
                ran=self._backwards,
                sent_last=sent.last,
                hooked=wrapper is not None and bool(attributes(wrapper).get("_comm_hooks")),
                stepped_at=at,
            )
        )
        frozen = None if wrapper is None else self._frozen.get(wrapper)
        if frozen is not None and frozen is not part and not any(p.requires_grad for p in frozen.parameters):
            frozen.taken = part.taken
            if frozen.may_be_read:
                self._read(frozen, at, ([], []))


def _is_due(taken: int) -> bool:
    """Whether all is read before the step after so many: ever more seldom, from the 16th on four times while their
    number doubles. Besides, it is whenever something else than a step has changed parameters."""
    return taken & (taken - 1) == 0 if taken < 16 else taken % (1 << taken.bit_length() - 3) == 0


def _of_gradients(parameters: Iterable[torch.Tensor]) -> _Gradients:
    """Bits and norms, None and 0 where there is none."""
    gradients = [gradient_of(parameter) for parameter in parameters]
    held = [gradient for gradient in gradients if gradient is not None]
    read = iter(zip(fingerprints(held), _norms(held), strict=True))
    told = [(None, 0.0) if gradient is None else next(read) for gradient in gradients]
    return [bits for bits, _ in told], [size for _, size in told]


def _norms(tensors: Iterable[torch.Tensor]) -> list[float]:
    """Those of whole numbers and truth values as well."""
    return norms([each if each.is_floating_point() or each.is_complex() else each.float() for each in tensors])


def _kept_alike(wrapper: DistributedDataParallel) -> list[tuple[str, torch.Tensor]]:
    """Parameters by name, without those that the wrapper was told to ignore, and those that hold a part of a whole."""
    ignored = attributes(wrapper).get("parameters_to_ignore") or ()
    return [(name, p) for name, p in parameters_in(wrapper.module) if name not in ignored and not dispatches(p)]


def _sharded(given: Iterable[torch.Tensor]) -> Iterator[tuple[tuple[int, ...], list[torch.Tensor]]]:
    """Parameters that `fully_shard` divides among ranks which all work on data of their own, by these ranks.

    Over more than one dimension of ranks, some of them may share their data, as in tensor parallelism.
    """
    kind: Any = getattr(sys.modules.get("torch.distributed.fsdp"), "FSDPModule", None)
    dispatched = [parameter for parameter in given if dispatches(parameter)]
    if kind is None or not dispatched:
        return
    divided = {id(p) for each in gc.get_objects() if is_a(each, kind) for _, p in parameters_in(each)}
    by_ranks: dict[tuple[int, ...], list[torch.Tensor]] = {}
    for parameter in dispatched:
        mesh = getattr(parameter, "device_mesh", None) if id(parameter) in divided else None
        if mesh is not None and mesh.ndim == 1:
            by_ranks.setdefault(tuple(mesh.mesh.tolist()), []).append(parameter)
    yield from by_ranks.items()


def _modules(wrapper: torch.nn.Module) -> Any:
    return attributes(wrapper).get("_modules") or {}


def _ranks(group: Any) -> list[int]:
    """Those of a group, of the one of all where it is None."""
    return list(torch.distributed.get_process_group_ranks(group or torch.distributed.group.WORLD))
