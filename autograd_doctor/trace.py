"""The trace: everything that was recorded of one run, and what several rules derive from it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import cached_property
from sys import maxsize
from typing import Literal, TypeVar

from autograd_doctor.events.connectivity import ForwardsWithoutBackward, IdleForwardUsed, IdleOutputSeen
from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import NonFiniteInput, NonFiniteProduced
from autograd_doctor.events.run import (
    DetailTurned,
    LightStepsCounted,
    MoreDetailNeeded,
    ProgramRaised,
    RankJoined,
    RecordingStarted,
    RunEnded,
)
from autograd_doctor.events.steps import BackwardRan, ForwardRan, NonFiniteGradient, OptimizerStepped, UpdatesDiscarded
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt, ParametersAdded, ParameterSeen
from autograd_doctor.events.tapes import TapeSealed, TapeSeenAgain
from autograd_doctor.findings import Location
from autograd_doctor.tape import Tape
from autograd_doctor.taping import unsealed

E = TypeVar("E", bound=Event)

_STAGE = 10
"""Steps of an optimizer that make a stage of training; with fewer, what has no gradient yet may come by one."""


@dataclass(frozen=True)
class Standing:
    """How a rank ended, or where it stood when all were ended because none went on.

    how: "waits" in a collective, or for gradients of others; "works" at something else; "lost" a peer while it waited;
    "aborted" by a library, as where what two ranks send one another does not fit; "ended" well; "broke off" otherwise.
    """

    how: Literal["waits", "works", "lost", "aborted", "ended", "broke off"]
    step: int = 0
    location: Location | None = None


@dataclass(frozen=True)
class Ranked:
    """What rules that compare ranks read of one of them: the events that they need, which rank it is, and its end."""

    rank: int
    trace: Trace
    stood: Standing = Standing("ended")


@dataclass(frozen=True)
class Ranks:
    """All ranks of one training that were seen, by number."""

    all: tuple[Ranked, ...]


@dataclass(frozen=True)
class Trace:
    """The events of one run in the order in which they happened, and views that several rules share."""

    events: tuple[Event, ...]

    @classmethod
    def of_events(cls, *happened: Event) -> Trace:
        """A trace made by hand, as tests do."""
        return cls(happened)

    def only(self, kinds: Iterable[type[Event]]) -> Trace:
        """The same with events of some kinds alone, as small as a record of one rank of many should be."""
        wanted = frozenset(kinds)
        return Trace(tuple(event for event in self.events if type(event) in wanted))

    def of(self, kind: type[E]) -> tuple[E, ...]:
        """All events of one kind, in order."""
        return self._by_type.get(kind, ())  # type: ignore[return-value]

    @cached_property
    def _by_type(self) -> dict[type[Event], tuple[Event, ...]]:
        grouped: dict[type[Event], list[Event]] = {}
        for event in self.events:
            grouped.setdefault(type(event), []).append(event)
        return {kind: tuple(members) for kind, members in grouped.items()}

    # ---------------------------------------------------------------------------------------------- who is who

    @cached_property
    def parameters(self) -> dict[int, ParameterSeen]:
        """The latest word on each parameter."""
        return {event.parameter: event for event in self.of(ParameterSeen)}

    @cached_property
    def optimizers(self) -> dict[int, OptimizerBuilt]:
        return {event.optimizer: event for event in self.of(OptimizerBuilt)}

    @cached_property
    def modules(self) -> dict[int, ModuleSeen]:
        return {event.module: event for event in self.of(ModuleSeen)}

    @cached_property
    def optimizer_parameters(self) -> dict[int, frozenset[int]]:
        """Per optimizer, every parameter that it was ever given, or that was in its groups when it stepped."""
        held: dict[int, set[int]] = {}
        for built in self.of(OptimizerBuilt):
            held.setdefault(built.optimizer, set()).update(p for group in built.groups for p in group.parameters)
        for added in self.of(ParametersAdded):
            held.setdefault(added.optimizer, set()).update(added.group.parameters)
        for step in self.of(OptimizerStepped):
            if step.optimizer is not None:
                found = [step.missing, step.frozen, *(use.parameters for use in step.uses)]
                held.setdefault(step.optimizer, set()).update(*found)
        return {optimizer: frozenset(parameters) for optimizer, parameters in held.items()}

    @cached_property
    def optimized(self) -> frozenset[int]:
        """Parameters that some optimizer holds."""
        return frozenset().union(*self.optimizer_parameters.values())

    @cached_property
    def moved_by_hand(self) -> frozenset[int]:
        """Parameters that the program gave other values in a step of its own."""
        return frozenset(p for step in self.of(OptimizerStepped) if step.optimizer is None for p in step.moved or ())

    def parameter_name(self, parameter: int) -> str:
        seen = self.parameters.get(parameter)
        return seen.name if seen else f"parameter {parameter}"

    def parameter_names(self, parameters: Iterable[int], limit: int = 3) -> str:
        """Up to `limit` names in backticks, and how many more there are: "`fc.weight`, `fc.bias` and 4 more"."""
        names = [f"`{self.parameter_name(parameter)}`" for parameter in parameters]
        shown = ", ".join(names[:limit])
        return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"

    def optimizer_name(self, optimizer: int | None) -> str:
        built = self.optimizers.get(optimizer) if optimizer is not None else None
        if built is None:
            return "the update"
        return built.name or built.kind

    def module_parameters(self, module: int) -> list[int]:
        seen = self.modules.get(module)
        return seen.parameters if seen else []

    def module_name(self, module: int | None) -> str:
        seen = self.modules.get(module) if module is not None else None
        if seen is None:
            return "the model"
        return seen.name or seen.kind

    # ------------------------------------------------------------------------------------------ what was exercised

    @cached_property
    def tapes(self) -> tuple[Tape, ...]:
        """What lay behind the losses, in steps that were looked at closely; of each structure once."""
        again = {(event.rank, event.tape): event for event in self.of(TapeSeenAgain)}
        return tuple(unsealed(event, again.get((event.rank, event.tape))) for event in self.of(TapeSealed))

    @cached_property
    def steps(self) -> tuple[OptimizerStepped, ...]:
        """The optimizer steps that took effect (not suppressed by a gradient scaler)."""
        return tuple(event for event in self.of(OptimizerStepped) if not event.skipped)

    @cached_property
    def steps_by_optimizer(self) -> Counter[int | None]:
        """How many steps each optimizer took, and the program by hand (None), with those that were not recorded in
        full."""
        taken = Counter(event.optimizer for event in self.steps)
        for light in self.of(LightStepsCounted):
            taken.update(light.by_optimizer)
            taken[None] += light.by_hand
        return taken

    @cached_property
    def called_by_others(self) -> Set[int | None]:
        """Optimizers that step inside the steps of others, as on a shard."""
        inner = {event.optimizer: event.inside for event in self.steps if event.inside is not None}
        return {optimizer for optimizer, outer in inner.items() if self.steps_by_optimizer[outer]}

    @cached_property
    def steps_in_all(self) -> int:
        """How many steps all optimizers took together, but for those inside the steps of others."""
        return sum(steps for each, steps in self.steps_by_optimizer.items() if each not in self.called_by_others)

    @cached_property
    def steps_taken(self) -> int:
        """How many steps the run had, with those that were not recorded in full."""
        return max((event.step for event in self.events), default=0)

    @cached_property
    def backwards(self) -> dict[int, BackwardRan]:
        return {event.backward: event for event in self.of(BackwardRan)}

    @cached_property
    def learning(self) -> frozenset[int]:
        """Parameters that got a gradient from some backward."""
        return frozenset(parameter for event in self.of(BackwardRan) for parameter in event.wrote)

    @cached_property
    def gradient_norms(self) -> dict[int, list[float]]:
        """Per parameter, the norms of the gradients that optimizer steps found, in order."""
        norms: dict[int, list[float]] = {}
        for event in self.of(OptimizerStepped):
            for use in event.uses:
                for parameter, norm in zip(use.parameters, use.norms, strict=True):
                    norms.setdefault(parameter, []).append(norm)
        return norms

    @cached_property
    def connected(self) -> frozenset[int]:
        """Parameters that can learn: a backward reached them, a step used their gradient, or they are set by hand."""
        reached = {p for event in self.of(BackwardRan) for p in event.reached} - self._refused
        used = {parameter for parameter, norms in self.gradient_norms.items() if any(norms)}
        written = {p for event in self.of(ForwardRan) for p in event.written_parameters}
        return frozenset(reached | used | self.moved_by_hand | written | self._wrote)

    @cached_property
    def _wrote(self) -> frozenset[int]:
        return frozenset(p for event in self.of(BackwardRan) for p in event.wrote)

    @cached_property
    def _refused(self) -> frozenset[int]:
        """Parameters in the graph of a backward that a custom function on the way returned no gradient for."""
        cuts = (cut for event in self.of(BackwardRan) for cut in event.cuts)
        refusals = (cut for cut in cuts if cut.reason == "function" and not cut.guessed)
        return frozenset(parameter for cut in refusals for parameter in cut.parameters)

    @cached_property
    def frozen(self) -> frozenset[int]:
        """Parameters that were seen not to require a gradient."""
        seen = {event.parameter for event in self.parameters.values() if not event.requires_grad}
        return frozenset(seen.union(*(event.frozen for event in self.of(OptimizerStepped))))

    @cached_property
    def woken(self) -> frozenset[int]:
        """Steps recorded in full from somewhere in them on: what light steps before them made is not known."""
        return frozenset(turned.step for turned in self.of(DetailTurned) if turned.full)

    @cached_property
    def without_gradient(self) -> frozenset[int]:
        """Parameters that an optimizer stepped without a gradient, and that nothing in the run ever made learn."""
        missing: set[int] = set().union(*(event.missing for event in self.steps))
        return frozenset(missing - self.connected - self.frozen)

    @cached_property
    def left_behind(self) -> dict[int, int]:
        """Parameters that an earlier stage made learn, and of which an optimizer has had no gradient since.

        Each with the sequence of what last made it learn, behind which all of the optimizer's last steps come: a
        stage of them, or all that it took.
        """
        learned: dict[int, int] = {}
        for backward in self.of(BackwardRan):
            learned.update(dict.fromkeys(backward.wrote, backward.sequence))
        for step in self.steps:
            used = step.moved or () if step.optimizer is None else (p for use in step.uses for p in use.parameters)
            learned.update({p: max(step.sequence, learned.get(p, 0)) for p in used})
        found: dict[int, int] = {}
        for optimizer in self.optimizers:
            last = [step for step in self.steps if step.optimizer == optimizer][-_STAGE:]
            if len(last) == _STAGE:
                idle = frozenset(last[0].missing).intersection(*(step.missing for step in last)) - self.frozen
                found.update({p: learned[p] for p in idle if learned.get(p, maxsize) < last[0].sequence})
        return found

    @cached_property
    def evaluations(self) -> tuple[ForwardRan, ...]:
        """Forward passes that were no part of training."""
        return tuple(filter(self.is_evaluation, self.of(ForwardRan)))

    def is_evaluation(self, event: ForwardRan) -> bool:
        """Whether a pass was no part of training: without gradients, in eval mode and never gone backward, or in train
        mode for a score alone."""
        if not event.grad_enabled:
            return True
        if event.training:
            return event.step > 0 and (event.module, event.location) in self.scored_in_train_mode
        is_idle = (event.module, event.location) in self._idle_in_eval_mode
        return is_idle or self._reached_in[event.step].isdisjoint(self.module_parameters(event.module))

    @cached_property
    def scored_in_train_mode(self) -> frozenset[tuple[int, Location | None]]:
        """Modules, and the lines that call them in train mode with gradients on, for a score alone: what comes out is
        compared with data, and no backward ever comes through it."""
        used = {(event.module, event.location) for event in self.of(IdleForwardUsed) if event.training}
        unused = {
            (event.module, event.location)
            for event in self.of(ForwardsWithoutBackward)
            if event.training and (not event.unsettled or self.ended_by_itself)
        }
        seen = (event for event in self.of(IdleOutputSeen) if event.grad_enabled and not event.borrowed)
        return frozenset(unused.intersection((event.module, event.location) for event in seen if event.compared) - used)

    @cached_property
    def _idle_in_eval_mode(self) -> frozenset[tuple[int, Location | None]]:
        """Modules, and the lines that call them in eval mode with gradients on, that no backward came back to."""
        used = {(event.module, event.location) for event in self.of(IdleForwardUsed) if not event.training}
        unused = {(event.module, event.location) for event in self.of(ForwardsWithoutBackward) if not event.training}
        return frozenset(unused - used)

    @cached_property
    def _reached_in(self) -> defaultdict[int, set[int]]:
        """Per step, the parameters that its backwards reached."""
        reached: defaultdict[int, set[int]] = defaultdict(set)
        for ran in self.of(BackwardRan):
            reached[ran.step].update(ran.reached)
        return reached

    @cached_property
    def phases(self) -> tuple[str, ...]:
        """Which of "training", "evaluation" and "training after evaluation" were seen."""
        seen = []
        if self.steps or self.backwards or UpdatesDiscarded in self._by_type:
            seen.append("training")
        if self.evaluations:
            seen.append("evaluation")
            first = self.events.index(self.evaluations[0])
            if any(isinstance(event, BackwardRan) for event in self.events[first:]) and len(seen) > 1:
                seen.append("training after evaluation")
        return tuple(seen)

    @cached_property
    def crash(self) -> ProgramRaised | None:
        return next(iter(self.of(ProgramRaised)), None)

    @cached_property
    def tells_first_cause(self) -> bool:
        """Whether it says where a value that is not finite, and did harm, was born.

        What is told of a later step than that of the first loss that nobody looked into is what came of it: on an
        accelerator, such a loss is known some steps afterwards.
        """
        missed = (each.step for each in self.of(MoreDetailNeeded) if each.what == "non-finite loss")
        unseen = next(missed, maxsize)
        harmful = (event.step for event in self.of(NonFiniteGradient) if not (event.absorbed or event.skipped))
        told = (event.step for event in (*self.of(NonFiniteProduced), *self.of(NonFiniteInput)))
        return any(step <= unseen for step in (*harmful, *told))

    @cached_property
    def end(self) -> RunEnded | None:
        return next(iter(reversed(self.of(RunEnded))), None)

    @property
    def rank(self) -> int:
        """The number with which the events of one process are stamped."""
        return self.events[0].rank if self.events else 0

    @cached_property
    def world_size(self) -> int:
        """How many ranks there were to be, as the launcher or the group of processes says; 1 for a program alone."""
        told = [event.world_size for event in self.of(RecordingStarted)]
        return max([*told, *(event.world_size for event in self.of(RankJoined))], default=1)

    @cached_property
    def steps_before(self) -> int:
        """How many steps the run had taken when this was begun to be recorded, as a later chapter of it."""
        return next((event.steps_before for event in self.of(RecordingStarted)), 0)

    @property
    def ended_by_itself(self) -> bool:
        """Whether the program came to its end by itself, though passes over data may have been cut."""
        return self.end is not None and self.end.reason in ("finished", "exited")
