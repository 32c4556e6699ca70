"""What operations make while a block switches gradients off, and where autograd has to do with it after the block."""

from __future__ import annotations

from collections.abc import Sequence
from threading import get_ident
from typing import Any, NamedTuple

import torch
from torch.autograd import grad_mode
from torch.multiprocessing.reductions import StorageWeakRef

from autograd_doctor.findings import Location
from autograd_doctor.instruments.connectivity.grad_modes import GradModes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import changes_input
from autograd_doctor.reading.places import Place, place
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.uses import Held, held, storage_of
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.custom_functions import FunctionCall
from autograd_doctor.signals.grad_modes import GradSwitched
from autograd_doctor.signals.operations import Operation

_MOST_HELD = 2000
"""Tensors that outlive a block and are looked at again: as many take a few milliseconds."""
Switches = frozenset[Location]


class _Made(NamedTuple):
    """Memory that was made in blocks: by which operation, where."""

    storage: StorageWeakRef
    switches: Switches
    where: Place | None
    by: str


class Meeting(NamedTuple):
    """Where autograd has to do with what a block made, and by what."""

    where: Place | None
    by: str


class BlocksWithoutGradients(Instrument):
    """Follows all that the operations of a block make, by the switch of the block: `inference_mode` in its place would
    make tensors which autograd refuses to save, and to count changes of.

    In steps that are recorded each use is seen. In others it is seen by what it leaves behind: what outlives a block is
    looked at again when a backward or the next block begins. Memory that outlives it under no tensor that is known, as
    that of a parameter which was given other data, counts as met.

    follows: what operations make now is seen, and inside a block.
    """

    def __init__(self, site: Site, detail: Detail, grad_modes: GradModes, lineage: Lineage) -> None:
        super().__init__(site)
        self._detail = detail
        self._grad_modes = grad_modes
        self._operations = site.signals.operations
        self._concerns = self._operations.concerns
        self._thread = get_ident()
        self._entered_by: list[tuple[object, Location | None]] = []
        self._called_at: Location | None = None
        self._in_force: Switches = frozenset()
        self._tensors: IdentityTable[Switches] = IdentityTable()
        self._made: list[_Made] = []
        self._outlive: IdentityTable[tuple[Switches, Held]] = IdentityTable()
        self._met: dict[Location, Meeting] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.grad_modes.entered, self._entered)
        self.listen(signals.grad_modes.exited, self._exited)
        self.listen(signals.grad_modes.called, self._called)
        self.listen(signals.grad_modes.decorated, self._decorated)
        self.listen(signals.operations.ended, self._operation_ended, attention=Attention.FULL)
        self.listen(signals.custom_functions.ended, self._function_ended, attention=Attention.FULL)
        self.listen(signals.backward.began, self._backward_began)
        self._concerns = signals.operations.concerns
        signals.operations.concerns = self._concern

    def detach(self) -> None:
        super().detach()
        self._operations.concerns = self._concerns

    @property
    def follows(self) -> bool:
        return self._detail.full and bool(self._in_force)

    def met(self, switch: Location | None) -> Meeting | None:
        """Where autograd had to do with what blocks of a switch have made; None if it has not, as far as was seen."""
        self._look_again()
        return self._met.get(switch) if switch is not None else None

    # ----------------------------------------------------------------------------------------------------------- blocks

    def _entered(self, switched: GradSwitched) -> None:
        if get_ident() == self._thread:
            switch = self._grad_modes.switch if not switched.enabled else None
            self._entered_by.append((switched.manager, switch.location if switch is not None else None))
            self._called_at = None
            self._turn()

    def _exited(self, switched: GradSwitched) -> None:
        managers = [manager is switched.manager for manager, _ in self._entered_by]
        if any(managers) and get_ident() == self._thread:
            del self._entered_by[len(managers) - 1 - managers[::-1].index(True) :]
            self._turn()

    def _called(self, switched: GradSwitched) -> None:
        """`set_grad_enabled(False)` switches at once; a block that is made of it takes its place.

        Torch's own blocks call it, too, when they are left.
        """
        if get_ident() == self._thread and switched.frame.f_code.co_filename != grad_mode.__file__:
            switch = self._grad_modes.switch if not switched.enabled else None
            self._called_at = switch.location if switch is not None else None
            self._turn()

    def _decorated(self, switched: GradSwitched) -> None:
        if get_ident() == self._thread:
            self._called_at = None
            self._turn()

    def _turn(self) -> None:
        """Blocks around this one stay in force, also where gradients are switched on again inside them."""
        switches = (*(location for _, location in self._entered_by), self._called_at)
        before, self._in_force = self._in_force, frozenset(each for each in switches if each is not None)
        if self._in_force and not before:
            self._look_again()
        elif before and not self._in_force:
            self._over()

    def _concern(self, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
        return bool(self._in_force) or self._concerns(args, kwargs)

    def _over(self) -> None:
        """What lives on is looked at as it is now."""
        living = {each.storage.cdata: each for each in self._made if not each.storage.expired()}
        self._made.clear()
        self._outlive.clear()
        for tensor, switches in self._tensors.items():
            now, storage = held(tensor), storage_of(tensor)
            if storage is not None:
                living.pop(storage._cdata, None)
            if now is None or now.learns or len(self._outlive) >= _MOST_HELD:
                self._meet(switches, None, "not known")
            else:
                self._outlive.put(tensor, (switches, now))
        for made in living.values():
            self._meet(made.switches, made.where, made.by)

    def _backward_began(self, call: BackwardCall) -> None:
        if not self._in_force:
            self._look_again()

    def _look_again(self) -> None:
        for tensor, (switches, before) in self._outlive.items():
            now = held(tensor)
            if now is None or now.is_beyond(before):
                self._meet(switches, place(), "backward" if now is None or now.uses > before.uses else "not known")

    # ------------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        found = [self._tensors.get(each) for each in operation.inputs] if self._tensors else []
        is_met = any(found)
        if not (self._in_force or is_met):
            return
        switches = self._in_force.union(*filter(None, found)) if is_met else self._in_force
        if is_met and found[0] and changes_input(operation.name):
            self._meet(found[0] - self._in_force, operation.place, operation.name)
        if operation.grad_enabled and _has_graph(operation.result):
            self._meet(switches, operation.place, operation.name)
        elif not switches <= self._met.keys():
            self._make(operation, switches, of_made=is_met)

    def _make(self, operation: Operation, switches: Switches, *, of_made: bool) -> None:
        """Views are of the kind of what they show, and what is written to in place stays what it was."""
        views_alone = operation.grad_enabled and not self._in_force
        for tensor in tensors_in((operation.result,)):
            is_view = tensor._is_view()
            if any(tensor is each for each in operation.inputs) or not (of_made if is_view else not views_alone):
                continue
            storage = storage_of(tensor) if not is_view else None
            if storage is not None and storage._cdata in map(_memory, operation.inputs):
                continue
            self._tensors.put(tensor, switches)
            if storage is not None:
                self._made.append(_Made(StorageWeakRef(storage), switches, operation.place, operation.name))

    def _function_ended(self, call: FunctionCall) -> None:
        found = [self._tensors.get(each) for each in tensors_in(call.args)]
        switches = self._in_force.union(*filter(None, found))
        if switches and _has_graph(call.result):
            self._meet(switches, place(), call.function.__name__)
        elif self._in_force:
            for tensor in tensors_in((call.result,)):
                self._tensors.put(tensor, switches)

    def _meet(self, switches: Switches, where: Place | None, by: str) -> None:
        for each in switches:
            self._met.setdefault(each, Meeting(where, by))


def _has_graph(result: Any) -> bool:
    return any(map(has_graph, tensors_in((result,))))


def _memory(tensor: torch.Tensor) -> int | None:
    storage = storage_of(tensor)
    return storage._cdata if storage is not None else None
