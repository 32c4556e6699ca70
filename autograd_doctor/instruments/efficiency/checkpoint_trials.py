"""What it would save, and cost, to checkpoint the blocks of a model: tried on a copy of it."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import nn

from autograd_doctor.events.efficiency import CheckpointsTried
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.efficiency.iteration_times import Iteration, IterationTimes
from autograd_doctor.instruments.efficiency.module_times import ModuleTimes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.reading.checkpointing import Blocks, Tried, groups, tried
from autograd_doctor.reading.module_copies import copies_of, copy_of, obstacle
from autograd_doctor.reading.module_tree import modules_in, parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.signals import Signals
from autograd_doctor.signals.modules import ModuleCall
from autograd_doctor.wording import first_line

_AFTER = 2
"""Iterations in which the largest model is found out."""
_MOST_STATE = 2**31
_MOST_INPUT = 2**28
_SECONDS = 5.0
"""For the trials of one group of blocks."""


class CheckpointTrials(Instrument):
    """Tries the root with the most parameters, between two iterations, with what it was called with in the last one."""

    emits: ClassVar[tuple[type[Event], ...]] = (CheckpointsTried,)

    def __init__(
        self,
        site: Site,
        course: Course,
        modules: Modules,
        module_register: ModuleRegister,
        iteration_times: IterationTimes,
        module_times: ModuleTimes,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._modules = modules
        self._register = module_register
        self._iterations = iteration_times
        self._times = module_times
        self._guard = site.signals.guard
        self._seen = 0
        self._sizes: IdentityTable[int] = IdentityTable()
        self._wanted: nn.Module | None = None
        self._obstacle = ""
        self._given: Any = None
        self._called: IdentityTable[Place | None] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.modules.entered, self._entered, bare=True)
        self.listen(self._iterations.over, self._over)

    def _entered(self, call: ModuleCall) -> None:
        if not call.grad_enabled or not self._times.running:
            return
        if self._wanted is not None:
            self._called.put(call.module, place())
        if self._times.running == 1 and call.module.training:
            with self._guard.looking():
                self._root_entered(call)

    def _root_entered(self, call: ModuleCall) -> None:
        module = call.module
        if self._wanted is None:
            self._sizes.put(module, sum(parameter.numel() for _, parameter in parameters_in(module)))
        elif module is self._wanted and self._given is None and not self._obstacle:
            self._given = copies_of((call.args, call.kwargs), _MOST_INPUT)

    def _over(self, iteration: Iteration) -> None:
        self._seen += 1
        if self._seen == _AFTER:
            self._wanted = max(self._sizes.items(), key=lambda each: each[1], default=(None, 0))[0]
            self._obstacle = obstacle(self._wanted, _MOST_STATE) if self._wanted is not None else ""
        elif self._wanted is not None and self._seen > _AFTER and not iteration.recorded:
            module, given, self._wanted, self._given = self._wanted, self._given, None, None
            self._try(module, given)
            self.detach()

    def _try(self, module: nn.Module, given: Any) -> None:
        reason = self._obstacle or ("" if given else "what it is called with cannot be copied")
        for blocks in groups(module) if not reason else ():
            try:
                self._try_blocks(module, given, blocks)
            except Undecided as undecided:
                reason = str(undecided)
            except Exception as error:
                reason = f"a copy of it fails: {type(error).__name__}: {first_line(str(error)).rstrip('.')}"
        if reason:
            self.limited(f"what checkpoints would save was not tried: {reason}")

    def _try_blocks(self, module: nn.Module, given: Any, blocks: Blocks) -> None:
        ways = [(), blocks.paths, *([blocks.paths[::2]] if len(blocks.paths) > 3 else [])]
        plain, *others = tried(copy_of(module, as_it_is=True), given, ways, _SECONDS)
        for every, other in enumerate(others, start=1):
            self.emit(self._event(module, blocks, every, plain, other))

    def _event(self, module: nn.Module, blocks: Blocks, every: int, plain: Tried, other: Tried) -> CheckpointsTried:
        name = self._modules.name_of(self._register.root(module))
        first = dict(modules_in(module)).get(blocks.paths[0])
        return CheckpointsTried(
            step=self._course.steps,
            model=name,
            holder=f"{name}.{blocks.path}" if blocks.path else name,
            kind=blocks.kind,
            alone=blocks.alone,
            blocks=len(blocks.paths),
            every=every,
            saved=(plain.saved, other.saved),
            before=plain.seconds,
            after=other.seconds,
            differs=other.differs,
            moved=other.moved,
            location=locate(self._called.get(first)),
        )
