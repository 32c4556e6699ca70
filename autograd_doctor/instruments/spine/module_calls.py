"""Calls of modules: which are called by themselves, under which modes, and what their forward changed."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from types import FrameType
from typing import ClassVar

import torch
import torch.utils.checkpoint
from torch import nn
from torch._C import _functorch

from autograd_doctor.clock import CLOCK
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import GradSwitch
from autograd_doctor.events.steps import ForwardRan
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.instruments.connectivity.forward_writes import ForwardWrites
from autograd_doctor.instruments.connectivity.functional_modes import FunctionalModes
from autograd_doctor.instruments.connectivity.grad_modes import GradModes
from autograd_doctor.instruments.connectivity.norm_values import NormValues
from autograd_doctor.instruments.connectivity.train_modes import TrainModes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.reading.dropped_graphs import DroppedGraphs
from autograd_doctor.reading.mode_dependence import (
    Versions,
    depends_on_mode,
    may_depend_on_mode,
    statistics_versions,
)
from autograd_doctor.reading.module_tree import has_parameters, modules_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.subclasses import dispatches, node_of
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.signals import Signals
from autograd_doctor.signals.modules import ModuleCall
from autograd_doctor.signals.signal import Signal

_PASSES_IN_A_STEP = 64
"""Passes under the same conditions, of an evaluation or a rollout, to look at closely: those without gradients, and
those of which nobody keeps the graph."""
_CALLS_IN_A_STEP = 8
"""Forwards with gradients at one place, of a recurrent cell or a policy, to hear of in a light step."""
_HEARD = 8
"""Light steps in a row whose forwards of a kind told nobody anything, after which those that are glanced at are none of
anybody's concern."""
_MOST_KINDS = 1000
"""Of forwards to be told apart: more come of modules that are made anew all the time."""
_ALIKE = 4
"""Modules of a class that are called at one line to tell apart: a few models that are trained side by side."""
_Kind = tuple[int, bool, Place | None]
"""Of forwards with gradients: the identity of the module, its mode, and the line that calls it."""
_Pass = tuple[Hashable, ...]
"""A kind of forward, and the sizes of what it is given."""
_CHECKPOINT = torch.utils.checkpoint.__file__


@dataclass(frozen=True)
class Conditions:
    """A call is reported once per step under the same conditions. `modes` counts the calls of train() and eval()."""

    module: int
    training: bool
    grad_enabled: bool
    inference: bool
    where: Place | None
    modes: int
    switch: GradSwitch | None = None


@dataclass(eq=False)
class RootCall:
    """A root module's forward that is running, and the mode-dependent modules that ran inside; `new` if reported."""

    call: ModuleCall
    conditions: Conditions
    step: int
    new: bool
    ran: dict[int, tuple[nn.Module, bool, Versions]] = field(default_factory=dict)
    began: float = field(default_factory=CLOCK.thread_time)

    @property
    def module(self) -> nn.Module:
        return self.call.module

    def note(self, module: nn.Module) -> None:
        """A module whose forward may depend on its mode is about to run inside."""
        if self.new and id(module) not in self.ran:
            self.ran[id(module)] = (module, module.training, statistics_versions(module))

    def moved(self) -> list[nn.Module]:
        """Normalisations whose running statistics the call has changed."""
        return [module for module, _, before in self.ran.values() if statistics_versions(module) != before]


class _Running(threading.local):
    root: RootCall | None = None

    def __init__(self) -> None:
        self.calls: list[ModuleCall] = []


@dataclass(eq=False, slots=True)
class RootBegan:
    """A root is about to run: its number, and the line that calls it.

    again: a listener that may learn from the next forward of this kind, too, sets it to hear of that in any case. Those
    without gradients are all heard of.
    """

    call: ModuleCall
    module: int
    where: Place | None
    again: bool = False
    _given: list[torch.Tensor] | None = None

    @property
    def given(self) -> list[torch.Tensor]:
        """The tensors among its arguments, looked for once for all who listen, without nested ones."""
        if self._given is None:
            self._given = _with_sizes(tensors_in((*self.call.args, *self.call.kwargs.values())))
        return self._given


@dataclass(eq=False, slots=True)
class RootPassed:
    """A root returned: the call, and those of its outputs that have a graph."""

    call: RootCall
    outputs: list[torch.Tensor]
    inputs: list[torch.Tensor]


class ModuleCalls(Instrument):
    """A root is a module that is not called inside another one's forward on the same thread.

    Inner calls only cost a look-up; modules replicated by DataParallel, run under a function transform, or recomputed
    in backward are no roots. `root_began` is sent before one runs, `root_passed` when one has returned. The register
    introduces what this one meets. In light steps only `root_began` is: under new conditions, they make a step a full
    one.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ForwardRan, ModuleSeen)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        grad_modes: GradModes,
        module_register: ModuleRegister,
        train_modes: TrainModes,
        forward_writes: ForwardWrites,
        functional_modes: FunctionalModes,
        norm_values: NormValues,
    ) -> None:
        super().__init__(site)
        self.root_began: Signal[RootBegan] = Signal(site.signals.guard)
        self.root_passed: Signal[RootPassed] = Signal(site.signals.guard)
        self._guard = site.signals.guard
        self._course = course
        self._detail = detail
        self._grad_modes = grad_modes
        self._register = module_register
        self._train_modes = train_modes
        self._writes = forward_writes
        self._functional_modes = functional_modes
        self._norm_values = norm_values
        self._running = _Running()
        self._known: dict[int, tuple[weakref.ref[nn.Module], bool]] = {}
        self._alike: dict[tuple[type[nn.Module], Place | None], set[int]] = {}
        self._reported: set[Conditions] = set()
        self._reported_in = 0
        self._repeated: Counter[_Kind] = Counter()
        self._told_nothing: dict[_Kind, int] = {}
        self._repeated_in = 0
        self._dropped: DroppedGraphs[_Pass] = DroppedGraphs(_PASSES_IN_A_STEP)
        self._names: IdentityTable[str] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.modules.began, self._began)
        self.listen(signals.modules.ended, self._ended)

    # ------------------------------------------------------------------------------------------------------- calls

    def _began(self, call: ModuleCall) -> None:
        running = self._running
        root = running.root
        if root is None:
            where = place()
            if self._is_one_of_many(call, where):
                call.alone = True
                return
        running.calls.append(call)
        if root is None:
            if _is_root(call.module):
                with self._guard.looking():
                    running.root = self._root_began(call, where)
            return
        entry = self._known.get(id(call.module))
        if entry is None or entry[0]() is not call.module:
            parent = running.calls[-2].module if len(running.calls) > 1 else None
            with self._guard.looking():
                self._met_inside(root, call, parent)
        elif entry[1]:
            with self._guard.looking():
                root.note(call.module)

    def _ended(self, call: ModuleCall) -> None:
        running = self._running
        if running.calls and call in running.calls:
            del running.calls[running.calls.index(call) :]
        root = running.root
        if root is None or root.call is not call:
            return
        running.root = None
        with self._guard.looking():
            self._functional_modes.end([module for module, _, _ in root.ran.values()])
            if call.raised:
                self._writes.end(root.step)
            else:
                self._root_ended(root)

    def _is_one_of_many(self, call: ModuleCall, where: Place | None) -> bool:
        """Whether a light step has heard of enough forwards of the same kind, or those before it have.

        What needs each of them asks for it (`RootBegan.again`).
        """
        if self._detail.full or not call.grad_enabled or (self._graphs and not self._only_acts(call, where)):
            return False
        kind = _kind(call, where)
        is_idle = self._told_nothing.get(kind, 0) >= _HEARD
        if is_idle and self._detail.glancing:
            return True
        if self._repeated_in != self._course.steps:
            self._repeated_in = self._course.steps
            self._repeated.clear()
        self._repeated[kind] += 1
        return self._repeated[kind] > (1 if is_idle else _CALLS_IN_A_STEP)

    @property
    def _graphs(self) -> DroppedGraphs[_Pass]:
        """Those built in full since the last backward of this step."""
        return self._dropped.within((self._course.steps, self._course.backwards))

    def _only_acts(self, call: ModuleCall, where: Place | None) -> bool:
        """Whether it is one more of many whose graphs were dropped."""
        graphs = self._graphs
        return bool(graphs) and graphs.are_dropped(_pass(call, where))

    def _heard(self, began: RootBegan) -> None:
        """In a light step, by all who listen."""
        call = began.call
        kind = _kind(call, began.where)
        if call.grad_enabled and (kind in self._told_nothing or len(self._told_nothing) < _MOST_KINDS):
            self._told_nothing[kind] = 0 if began.again else self._told_nothing.get(kind, 0) + 1

    @property
    def is_inside(self) -> bool:
        """Whether the forward of a root is running."""
        return self._running.root is not None

    def innermost(self) -> str:
        """The name of the module whose forward is running, and within which no other's is; "" outside of all."""
        running = self._running
        if running.root is None or not running.calls:
            return ""
        module = running.calls[-1].module
        name = self._names.get(module)
        if name is None:
            (name,) = self._register.names(running.root.module, [module])
            self._names.put(module, name)
        return name

    # ------------------------------------------------------------------------------------------------------- roots

    def _root_began(self, call: ModuleCall, where: Place | None) -> RootCall | None:
        module = call.module
        if not call.grad_enabled and self._switched_by_torch() and _in_reentrant_checkpoint():
            return None
        number = self._register.root(module)
        only_acts = not call.grad_enabled or self._only_acts(call, where)
        most = _PASSES_IN_A_STEP if only_acts else None
        called = self._one_of(module, number, where)
        self._detail.met(("forward", called, module.training, call.grad_enabled, where), most)
        began = RootBegan(call, number, where)
        self.root_began.relay(began)
        if not self._detail.full:
            self._heard(began)
            call.alone = True
            return None
        if id(module) not in self._known:
            self._know(module)
        self._train_modes.became_root(module, number)
        conditions = Conditions(
            number,
            module.training,
            call.grad_enabled,
            call.inference,
            where,
            self._train_modes.changes,
            None if call.grad_enabled else self._grad_modes.switch,
        )
        root = RootCall(call, conditions, self._course.steps, self._is_new(conditions))
        if root.new:
            self._writes.begin(module, number, trains=module.training and call.grad_enabled)
            self._functional_modes.begin(number, module.training, self._innermost, self._met_by_function)
        if self._may_depend(module):
            root.note(module)
        return root

    def _one_of(self, module: nn.Module, number: int, where: Place | None) -> int | type[nn.Module]:
        """Who is being called: past a few of the class at this line, any other is just one more of them.

        Libraries put a wrapper around the model for each call.
        """
        alike = self._alike.setdefault((type(module), where), set())
        if len(alike) < _ALIKE:
            alike.add(number)
        return number if number in alike else type(module)

    def has_run(self, module: nn.Module) -> bool:
        """Whether it was called in a step that was recorded in full, or was part of what was."""
        known = self._known.get(id(module))
        return known is not None and known[0]() is module

    def _innermost(self) -> nn.Module | None:
        calls = self._running.calls
        return calls[-1].module if calls else None

    def _met_by_function(self, module: nn.Module) -> None:
        """A module was found to depend on its mode by a function that it called."""
        self._known[id(module)] = (weakref.ref(module), True)
        if self._running.root is not None:
            self._running.root.note(module)

    def _may_depend(self, module: nn.Module) -> bool:
        return may_depend_on_mode(module) or self._functional_modes.uses_mode(module)

    def _in_mode(self, root: RootCall, training: bool) -> list[nn.Module]:
        """Mode-dependent modules that ran in a mode, in order."""
        ran = (module for module, mode, _ in root.ran.values() if mode == training)
        return [module for module in ran if depends_on_mode(module) or self._functional_modes.depends(module)]

    def _unreached(self, root: nn.Module, ran: list[nn.Module]) -> int:
        """How many of those that ran the root's `eval()` does not come to, nor any line that sets their mode."""
        reached = {id(module) for _, module in modules_in(root)} if ran else ()
        return sum(id(module) not in reached and not self._train_modes.was_set(module) for module in ran)

    def _switched_by_torch(self) -> bool:
        switch = self._grad_modes.switch
        return switch is None or switch.form == "framework"

    def _is_new(self, conditions: Conditions) -> bool:
        if self._reported_in != self._course.steps:
            self._reported_in = self._course.steps
            self._reported.clear()
        if conditions in self._reported:
            return False
        self._reported.add(conditions)
        return True

    def _know(self, module: nn.Module) -> None:
        for _, inner in modules_in(module):
            self._known[id(inner)] = (weakref.ref(inner), self._may_depend(inner))

    def _met_inside(self, root: RootCall, call: ModuleCall, parent: nn.Module | None) -> None:
        """First sight of a module that its root did not hold when the root was first called."""
        module = call.module
        self._know(module)
        if self._may_depend(module):
            root.note(module)
        if has_parameters(module):
            self._register.met_inside(root.module, module, parent)

    def _root_ended(self, root: RootCall) -> None:
        returned = _with_sizes(tensors_in([root.call.output], EVERYTHING))
        outputs = [tensor for tensor in returned if node_of(tensor) is not None]
        self._register.complete(root.module)
        if root.new:
            self._emit(root, bool(outputs))
        if outputs:
            self._graphs.built(_pass(root.call, root.conditions.where), outputs)
        if outputs and self.root_passed:
            inputs = _with_sizes(tensors_in([root.call.args, root.call.kwargs], EVERYTHING))
            self.root_passed.relay(RootPassed(root, outputs, inputs))

    def _emit(self, root: RootCall, builds_graph: bool) -> None:
        conditions = root.conditions
        in_eval, in_train, moved = self._in_mode(root, False), self._in_mode(root, True), root.moved()
        odd = in_eval[0] if conditions.training and in_eval else root.module
        written = self._writes.end(root.step)
        self.emit(
            ForwardRan(
                step=root.step,
                module=conditions.module,
                location=locate(conditions.where),
                training=conditions.training,
                grad_enabled=conditions.grad_enabled,
                inference=conditions.inference,
                switch=conditions.switch,
                in_eval=self._register.names(root.module, in_eval),
                in_train=self._register.names(root.module, in_train),
                statistics_moved=self._register.names(root.module, moved),
                rewritten_norms=self._register.names(root.module, self._norm_values.changed(moved)),
                new_norms=self._register.names(root.module, self._norm_values.new(moved)),
                unreached=0 if conditions.training else self._unreached(root.module, in_train),
                builds_graph=builds_graph,
                mode_set_at=self._train_modes.set_at(odd),
                written_parameters=written.parameters,
                written_at=written.location,
                undone_parameters=written.undone,
            )
        )


def _kind(call: ModuleCall, where: Place | None) -> _Kind:
    return id(call.module), call.module.training, where


def _pass(call: ModuleCall, where: Place | None) -> _Pass:
    sizes = (tensor.shape for tensor in _with_sizes(tensors_in((*call.args, *call.kwargs.values()))))
    return *_kind(call, where), *sizes


def _is_root(module: nn.Module) -> bool:
    return not (
        torch._C._current_graph_task_id() != -1
        or _functorch.peek_interpreter_stack() is not None
        or attributes(module).get("_is_replica", False)
    )


def _in_reentrant_checkpoint() -> bool:
    """Whether gradients are off only because a checkpoint runs its segment for the first time."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == _CHECKPOINT:
            return True
        frame = frame.f_back
    return False


def _with_sizes(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Nested tensors of the older layout have no shape, and raise when they are asked for it."""
    return [tensor for tensor in tensors if dispatches(tensor) or not tensor.is_nested]
