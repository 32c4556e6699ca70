"""What it would save, and cost, to checkpoint the blocks of a model: tried on a copy of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from msgspec.structs import replace
from torch import nn

from autograd_doctor.events.efficiency import CheckpointsTried
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.efficiency.iteration_times import Iteration, IterationTimes
from autograd_doctor.instruments.efficiency.line_costs import LineCosts
from autograd_doctor.instruments.efficiency.module_times import ModuleTimes
from autograd_doctor.instruments.instrument import Instrument, Site, failure_of_copy
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.reading.checkpointing import Blocks, Call, Tried, groups, predicted, tried
from autograd_doctor.reading.counted_storages import CountedStorages
from autograd_doctor.reading.module_copies import copies_of, copy_of, obstacle, side_effects
from autograd_doctor.reading.module_tree import modules_in, parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.trials import Undecided, autocast_now
from autograd_doctor.signals import Signals
from autograd_doctor.signals.modules import ModuleCall

_AFTER = 2
"""Iterations in which the largest model is found out."""
_MOST_STATE = 2**31
_MOST_INPUT = 2**28
_SECONDS = 5.0
"""For the trials of one group of blocks."""


@dataclass(eq=False)
class _Block:
    """given: the bytes that it was given when it was called first, and none of its group before it; where: by whom."""

    path: str
    group: CountedStorages
    given: int | None = None
    where: Place | None = None

    def note(self, call: ModuleCall) -> None:
        if self.given is None:
            self.given, self.where = self.group.add(tensors_in((call.args, call.kwargs))), place()


@dataclass(eq=False)
class _Watched:
    """A model, and those of its modules that could be checkpointed. calls: of the model."""

    groups: list[Blocks] = field(default_factory=list)
    blocks: IdentityTable[_Block] = field(default_factory=IdentityTable)
    by_path: dict[str, _Block] = field(default_factory=dict)
    calls: int = 0

    @staticmethod
    def of(model: nn.Module) -> _Watched:
        watched, modules = _Watched(groups(model)), dict(modules_in(model))
        for group in watched.groups:
            counted = CountedStorages()
            for path in group.paths:
                block = watched.by_path[path] = _Block(path, counted)
                watched.blocks.put(modules[path], block)
        return watched

    @property
    def given(self) -> dict[str, int]:
        return {path: block.given or 0 for path, block in self.by_path.items()}

    def of_one_call(self, name: str, saved: Mapping[str, float], iterations: int) -> dict[str, float]:
        """Bytes that each module of a model with this name keeps, by its path. saved: by name, in an iteration."""
        within = {each[len(name) + 1 :]: size for each, size in saved.items() if f"{each}.".startswith(f"{name}.")}
        return {path: size * iterations / self.calls for path, size in within.items()} if self.calls else {}


class CheckpointTrials(Instrument):
    """Tries the root with the most parameters, between two iterations, with what it was called with in the last one.

    Where no copy of it can be called, what would be kept is added up from what each of its modules keeps; but not if
    its code does more than to compute an output, since a checkpoint has it do that twice.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (CheckpointsTried,)

    def __init__(
        self,
        site: Site,
        course: Course,
        modules: Modules,
        module_register: ModuleRegister,
        iteration_times: IterationTimes,
        module_times: ModuleTimes,
        line_costs: LineCosts,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._modules = modules
        self._register = module_register
        self._iterations = iteration_times
        self._times = module_times
        self._lines = line_costs
        self._guard = site.signals.guard
        self._seen = 0
        self._sizes: IdentityTable[int] = IdentityTable()
        self._wanted: nn.Module | None = None
        self._obstacle = ""
        self._side_effects = ""
        self._given: Call | None = None
        self._watched = _Watched()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.modules.entered, self._entered, bare=True)
        self.listen(self._iterations.over, self._over)

    def _entered(self, call: ModuleCall) -> None:
        if not call.grad_enabled or not self._times.running:
            return
        if self._times.running == 1 and call.module.training:
            with self._guard.looking():
                self._root_entered(call)
        elif (block := self._watched.blocks.get(call.module)) is not None:
            with self._guard.looking():
                block.note(call)

    def _root_entered(self, call: ModuleCall) -> None:
        module = call.module
        if self._wanted is None:
            self._sizes.put(module, sum(parameter.numel() for _, parameter in parameters_in(module)))
        elif module is self._wanted:
            self._watched.calls += 1
            if self._given is None and not self._obstacle:
                copies = copies_of((call.args, call.kwargs), _MOST_INPUT)
                self._given = Call(copies[0], copies[1], autocast_now(module)) if copies else None

    def _over(self, iteration: Iteration) -> None:
        self._seen += 1
        if self._seen == _AFTER:
            self._choose()
        elif self._wanted is not None and not iteration.recorded:
            self._try(self._wanted)
            self._wanted, self._given, self._watched = None, None, _Watched()
            self.detach()

    def _choose(self) -> None:
        sizes = [(size, model) for model, size in self._sizes.items() if size]
        self._wanted = max(sizes, key=lambda each: each[0], default=(0, None))[1]
        if self._wanted is not None:
            self._obstacle = obstacle(self._wanted, _MOST_STATE)
            self._side_effects = side_effects(self._wanted)
            self._watched = _Watched.of(self._wanted)

    def _try(self, module: nn.Module) -> None:
        for blocks in self._watched.groups:
            if all(self._watched.by_path[path].given is None for path in blocks.paths):
                continue
            ways = [blocks.paths, *([blocks.paths[::2]] if len(blocks.paths) > 3 else [])]
            results, reason = ([], self._obstacle) if self._obstacle else _results(module, self._given, ways)
            if reason:
                self.limited(f"what checkpoints would save was not tried: {reason}")
            for every, way in enumerate(ways, start=1):
                event = self._event(module, blocks, every, way)
                self.emit(replace(event, untried=reason) if reason else _measured(event, results[0], results[every]))

    def _event(self, module: nn.Module, blocks: Blocks, every: int, way: Sequence[str]) -> CheckpointsTried:
        """Without what running it shows."""
        name = self._modules.name_of(self._register.root(module))
        saved = self._watched.of_one_call(name, self._lines.saved_by_module(), self._seen - _AFTER)
        return CheckpointsTried(
            step=self._course.steps,
            model=name,
            holder=f"{name}.{blocks.path}" if blocks.path else name,
            kind=blocks.kind,
            alone=blocks.alone,
            blocks=len(blocks.paths),
            every=every,
            predicted=predicted(saved, way, self._watched.given) if saved and not self._side_effects else None,
            location=locate(self._watched.by_path[blocks.paths[0]].where),
        )


def _results(module: nn.Module, given: Call | None, ways: Sequence[Sequence[str]]) -> tuple[list[Tried], str]:
    """What each way does, without checkpoints first; or why that is not known."""
    if given is None:
        return [], "what it is called with cannot be copied"
    try:
        return tried(copy_of(module, as_it_is=True), given, [(), *ways], _SECONDS), ""
    except Undecided as undecided:
        return [], str(undecided)
    except Exception as error:
        return [], failure_of_copy(error)


def _measured(event: CheckpointsTried, plain: Tried, other: Tried) -> CheckpointsTried:
    return replace(
        event,
        saved=(plain.saved, other.saved),
        before=plain.seconds,
        after=other.seconds,
        differs=other.differs,
        moved=other.moved,
    )
