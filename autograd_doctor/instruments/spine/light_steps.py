"""What is looked at in a light step: whether it is as the full ones were, at next to no cost."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import torch
from torch import nn
from torch.optim import Optimizer

from autograd_doctor.clock import CLOCK
from autograd_doctor.events.event import Event
from autograd_doctor.events.run import LightStepsCounted
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.hand_steps import HandSteps
from autograd_doctor.instruments.spine.module_calls import ModuleCalls
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.reading.graph_structure import make_up_of, nodes_of
from autograd_doctor.reading.looks import is_drawn_in_pairs
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import Place, place, stack
from autograd_doctor.reading.subclasses import node_of, version_of
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.optimizers import StepCall
from autograd_doctor.signals.registration import Registered
from autograd_doctor.signals.states import StateLoad

_WALK_EVERY, _WALK_RARELY, _RARELY_FROM = 8, 32, 128
"""Graphs of as many nodes, made since the last backward, with roots of the same kind: a walk takes as long as a tenth
of a step of many small operations. What changes and keeps their number shows some steps later."""
_MOST_SIZES = 50
"""Graphs that are built anew in every step, from data, come in any number of sizes: those beyond are taken for one."""
_MOST_KNOWN = 1000
_PATIENCE, _TIMES_LONGER = 16, 4
"""Backwards without a step, and how many times more than ever before, from which on they are recorded: steps may have
ended, or be taken in another way."""
_CHANGES = 4
"""Steps in which a line changes a model, after which that is how it works: some libraries lend the weights of others to
a module for each call."""
_LOOKED_AT = 1 / 64
"""Of steps that are merely glanced at, those whose gradients are looked at, which takes half a microsecond for each."""
_SAY_EVERY = 0.5
"""Seconds after which the count is stated, for those who watch, and should the program be killed."""


_K = TypeVar("_K", bound=Hashable)
_MADE_ANEW = -1
_Written = dict[int, tuple[weakref.ref[Any], int]]
"""Gradients that were written to since they were made, and their versions, by their identities."""


@dataclass
class LoadRhythm:
    """When a module was given a state. times, last: how often, and in which step; longest: steps between two, at most.

    places: the calls that led to the latest.
    """

    times: int = 0
    last: int = 0
    longest: int = 0
    places: tuple[Place, ...] = ()

    def load(self, step: int, places: tuple[Place, ...]) -> None:
        self.longest = max(self.longest, step - self.last if self.times else 0)
        self.times, self.last, self.places = self.times + 1, step, places


class _Known(NamedTuple):
    """What is not new: graphs, what became of gradients, lines that load weights, and when modules were given some; for
    each line that changes a model, in how many steps, and in which last."""

    graphs: set[tuple[str, int]]
    fates: set[tuple[int, int]]
    loads: set[Place | None]
    rhythms: IdentityTable[LoadRhythm]
    changes: dict[Place | None, tuple[int, int]]


class LightSteps(Instrument):
    """Compares what graphs are made of, and what became of gradients since the last step, with what was seen before.

    Something new makes the next steps full.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (LightStepsCounted,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        module_calls: ModuleCalls,
        optimizers: Optimizers,
        hand_steps: HandSteps,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._module_calls = module_calls
        self._optimizers = optimizers
        self._hand_steps = hand_steps
        self._known = _Known(set(), set(), set(), IdentityTable(), {})
        self._sizes: Counter[tuple[Hashable, ...]] = Counter()
        self._newest = 0
        self._written: dict[int, tuple[int, _Written]] = {}
        self._since = self._backwards = 0
        self._by_optimizer: Counter[int] = Counter()
        self._steps: Counter[int] = Counter()
        self._callers: set[int] = set()
        """Optimizers whose steps are those of others that they call."""
        self._by_hand = 0
        self._waiting_since = self._waited = self._longest_wait = 0
        self._said_at = 0.0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began)
        self.listen(signals.steps.began, self._look_at_gradients, attention=Attention.LIGHT)
        self.listen(signals.steps.ended, self._step_ended, bare=True)
        self.listen(signals.states.loading, self._state_loading)
        self.listen(signals.registration.parameter, self._registered)
        self.listen(signals.registration.submodule, self._registered)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.LIGHT)
        self.listen(self._detail.turned, self._turned)

    def memory(self) -> _Known:
        return self._known

    def remember(self, memory: _Known) -> None:
        self._known = memory

    def finish(self) -> None:
        if not self._detail.full:
            self._say()

    # ---------------------------------------------------------------------------------------------------- backwards

    def _backward_began(self, call: BackwardCall) -> None:
        self._wait_for_step()
        if self._is_to_be_walked(call):
            graph = call.kind, make_up_of(nodes_of(call.roots, call.inputs))
            self._ask_if_new(graph, self._known.graphs)
        if not self._detail.full:
            self._backwards += 1
            root = call.roots[0]
            is_late = is_remote(root) and readable(root)
            self._course.loss_seen(None if is_late or root.numel() != 1 or root.is_complex() else float(root))

    def _ask_if_new(self, what: _K, known: set[_K]) -> None:
        if what not in known and len(known) < _MOST_KNOWN:
            known.add(what)
            self._detail.ask()

    def passed(self) -> None:
        """A backward ran at which nobody looked."""
        self._backwards += 1

    def _wait_for_step(self) -> None:
        """Where none comes for long, no sample of steps comes either."""
        if self._course.steps != self._waiting_since:
            self._longest_wait = max(self._longest_wait, self._waited)
            self._waiting_since, self._waited = self._course.steps, 0
        self._waited += 1
        if self._waited == max(_PATIENCE, _TIMES_LONGER * self._longest_wait) and not self._detail.full:
            self._detail.met(("backwards without a step", self._course.steps))

    def _is_to_be_walked(self, call: BackwardCall) -> bool:
        """Whether the number of nodes that were made since the last backward leaves it open what the graph is like."""
        nodes = [node_of(root) for root in call.roots]
        numbers = [node._sequence_nr() for node in nodes if node is not None]
        newest = numbers[0] if len(numbers) == 1 else max(numbers, default=0)
        size = (call.kind, newest - self._newest, *map(type, nodes))
        self._newest = newest
        if len(self._sizes) >= _MOST_SIZES and size not in self._sizes:
            size = (call.kind, 0, *map(type, nodes))
        known = self._sizes[size] = self._sizes[size] + 1
        return self._detail.full or known % (_WALK_EVERY if known < _RARELY_FROM else _WALK_RARELY) == 1

    # -------------------------------------------------------------------------------------------------------- steps

    def _look_at_gradients(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        newer = self._newer(number, call.optimizer)
        if newer is None:
            return
        self._ask_if_new((number, hash(newer)), self._known.fates)

    def doze(self, signals: Signals) -> None:
        """Look at gradients now and then, in two steps one after the other, while steps are merely glanced at."""
        self.listen(signals.steps.began, self._look_now_and_then)

    def _look_now_and_then(self, call: StepCall) -> None:
        if is_drawn_in_pairs(self._course.steps, _LOOKED_AT):
            self._look_at_gradients(call)

    def _step_ended(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        if self._only_calls_others(call.optimizer):
            self._callers.add(number)
        elif self._detail.full:  # in light steps, not all that it calls is heard of
            self._callers.discard(number)
        if number in self._callers:
            return
        self._steps[number] += 1
        if not self._detail.full:
            self._by_optimizer[number] += 1

    def _only_calls_others(self, optimizer: Optimizer) -> bool:
        running = self._course.step_of(optimizer)
        if running is None or not running.updated_inside:
            return False
        with self._site.signals.guard.looking():
            return running.only_calls_others

    def stepped(self, optimizer: Optimizer) -> None:
        """An optimizer has stepped, and nobody looked."""
        number = self._optimizers.known(optimizer)
        if number not in self._callers:
            self._by_optimizer[number] += 1
            self._steps[number] += 1

    def _newer(self, number: int, optimizer: Optimizer) -> tuple[int | None, ...] | None:
        """Which parameters have a gradient, and how many versions newer each is than at the last step of the optimizer;
        None where nobody looked at that.

        One that is made anew in every step has version 0 or, where the engine added it up, some other.
        """
        gradients = [parameter.grad for parameter in parameters_of(optimizer)]
        # `version_of`, without a call for what is no subclass: there are thousands in a step.
        versions = [
            None if g is None else g._version if type(g) is torch.Tensor and not g.is_inference() else version_of(g)
            for g in gradients
        ]
        written = {id(g): (weakref.ref(g), version) for g, version in zip(gradients, versions, strict=True) if version}
        step = self._steps[number]
        looked_at, before = self._written.get(number, (step - 1, {}))
        self._written[number] = step, written
        if looked_at != step - 1:
            return None
        return tuple(_newer(g, version, before) for g, version in zip(gradients, versions, strict=True))

    def _state_loading(self, load: StateLoad) -> None:
        """Training goes on from other weights than those that it has come to."""
        places = stack()
        line = places[-1] if places else None
        if not (self._detail.dozing and line in self._known.loads):
            self._detail.ask()
        self._known.loads.add(line)
        rhythm = self._known.rhythms.get(load.module) or LoadRhythm()
        rhythm.load(self._course.steps, places)
        self._known.rhythms.put(load.module, rhythm)

    def loads_of(self, module: nn.Module) -> LoadRhythm | None:
        """When a module was given a state, in all of the run; None if it never was."""
        return self._known.rhythms.get(module)

    def _registered(self, registered: Registered) -> None:
        """A model that changes while it is trained; what has not run yet is being built."""
        if not self._module_calls.has_run(registered.module):
            return
        line, changes = place(), self._known.changes
        steps, last = changes.get(line, (0, -1))
        if line in changes or len(changes) < _MOST_KNOWN:
            changes[line] = steps + (last != self._course.steps), self._course.steps
            if changes[line][0] <= _CHANGES:
                self._detail.ask()

    # ------------------------------------------------------------------------------------------------ what was light

    def _turned(self, detail: Detail) -> None:
        if detail.full:
            self._say()
        self._since = self._course.steps

    def _step_taken(self, course: Course) -> None:
        if not self._detail.full and CLOCK.monotonic() >= self._said_at + _SAY_EVERY:
            self._say()

    def _newest_loss(self) -> float | None:
        """Of those since this was last said, one that lies on an accelerator may not be known yet."""
        late = self._course.late_loss
        if self._course.last_loss is not None or late is None or late[0] < self._since:
            return self._course.last_loss
        return late[1]

    def _say(self) -> None:
        """State how many steps were light since this was last said."""
        steps = self._course.steps - self._since
        if steps or self._backwards:
            self._said_at = CLOCK.monotonic()
            self.emit(
                LightStepsCounted(
                    step=self._course.steps,
                    first=self._since,
                    steps=steps,
                    backwards=self._backwards,
                    by_optimizer=dict(self._by_optimizer),
                    by_hand=self._hand_steps.counted - self._by_hand,
                    loss=self._newest_loss(),
                )
            )
        self._since, self._backwards = self._course.steps, 0
        self._by_optimizer.clear()
        self._by_hand = self._hand_steps.counted


def _newer(gradient: torch.Tensor | None, version: int | None, before: _Written) -> int | None:
    """How many versions newer it is than at the last step; `_MADE_ANEW` if nobody had written to it by then."""
    if not version:
        return version
    known, earlier = before.get(id(gradient), (None, 0))
    return version - earlier if known is not None and known() is gradient else _MADE_ANEW
