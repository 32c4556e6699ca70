"""Steps of optimizers: the gradients that each found, and what it did to the parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch
from msgspec.structs import replace
from torch.optim import Optimizer

from autograd_doctor.events.event import Event
from autograd_doctor.events.steps import GradientsFoundBefore, GradientUse, OptimizerStepped, ParametersMovedLater
from autograd_doctor.findings import Location
from autograd_doctor.instruments.cycle.loss_scales import LossScales
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_losses import LateLosses
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.ledger import ComingUses, Ledger
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.optimizers import Optimizers, learning_rate
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import here
from autograd_doctor.reading.probes import Probe, probe
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensor_facts import (
    ComingFingerprints,
    few_values,
    fingerprints_to_come,
    is_remote,
    read_together,
)
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.optimizers import StepCall

_STEPS_LOOKED_AT = 6
"""Steps of each optimizer in which the values of its parameters are compared."""
_MOST_RENEWED = 4
"""Times that more steps are looked at, for parameters that were frozen since."""
_MOST_SETS = 16
"""Of parameters that several optimizers step in turn."""

Numbered = list[tuple[int, torch.Tensor]]


@dataclass
class _Step:
    """What a step in progress has met."""

    optimizer: int | None
    location: Location | None
    in_closure: bool
    given_state: bool
    with_gradient: Numbered = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    frozen: list[int] = field(default_factory=list)
    looked_at: Numbered = field(default_factory=list)
    before: dict[int, int] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    rewritten: list[int] = field(default_factory=list)
    brought: list[int] = field(default_factory=list)
    at_bound: list[int] = field(default_factory=list)
    uses: ComingUses | None = None
    scale: torch.Tensor = field(default_factory=lambda: torch.ones((), device="cpu"))
    divided: torch.Tensor = field(default_factory=lambda: torch.zeros((), dtype=torch.bool, device="cpu"))
    left: set[int] = field(default_factory=set)
    """Parameters whose gradients an optimizer which it called has used: it steps some, and sends or makes the rest
    itself."""

    def leave_to_others(self, updated: set[int]) -> None:
        self.left = {number for number, parameter in self.with_gradient if id(parameter) in updated}

    def parts(self) -> list[torch.Tensor]:
        """What its uses and its scale are put together from."""
        return [self.scale, self.divided, *(self.uses.norms.parts if self.uses is not None else ())]

    def put_together(self, values: Sequence[float]) -> tuple[list[GradientUse], float, bool]:
        """values: of the parts."""
        scale, divided, *norms = values
        uses = self.uses.put_together(norms, scale) if self.uses is not None else []
        return [use for each in uses if (use := _without(each, self.left)).parameters], scale, bool(divided)


class _Left(NamedTuple):
    """What parameters were when a step had ended: how often each had been written to, and some of their values."""

    step: int
    versions: dict[int, int]
    values: Probe


def _without(use: GradientUse, left_out: set[int]) -> GradientUse:
    kept = [(number, norm) for number, norm in zip(use.parameters, use.norms, strict=True) if number not in left_out]
    return replace(use, parameters=[number for number, _ in kept], norms=[norm for _, norm in kept])


class OptimizerSteps(Instrument):
    """Looks at gradients right before a step without a closure, and after each call of a closure."""

    emits: ClassVar[tuple[type[Event], ...]] = (GradientsFoundBefore, OptimizerStepped, ParametersMovedLater)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        late_values: LateValues,
        late_losses: LateLosses,
        parameters: Parameters,
        optimizers: Optimizers,
        ledger: Ledger,
        loss_scales: LossScales,
        module_calls: ModuleCalls,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._parameters = parameters
        self._optimizers = optimizers
        self._ledger = ledger
        self._loss_scales = loss_scales
        self._module_calls = module_calls
        self._running: dict[int, _Step] = {}
        self._begun: set[int | None] = set()
        self._looks: dict[int | None, int] = {}
        self._previous: dict[int | None, dict[int, tuple[int, int]]] = {}
        self._untried: set[int | None] = set()
        """Optimizers that have stepped, and whose parameters no forward has met since."""
        self._unmet: dict[int | None, set[int]] = {}
        """The same, with their parameters, whether or not it is known already what the step did."""
        self._tried: set[int | None] = set()
        self._met: dict[int, int] = {}
        """The values of parameters that a forward met first, and then those that the first one after a step did."""
        self._back: dict[int | None, set[int]] = {}
        """Parameters of which the first forward after a step met what the first one after the step before had met."""
        self._roots: set[int] = set()
        self._stuck: dict[int | None, dict[int, int]] = {}
        """The values of parameters that no step of an optimizer has moved that was looked at."""
        self._left: dict[int, int] = {}
        self._latest = _Left(-1, {}, [])
        self._left_by: dict[frozenset[int], _Left] = {}
        """The same of each that steps parameters of its own, as long as every step is noted."""
        self._paces: tuple[dict[int, int], dict[int, int]] = ({}, {})
        """How often a step wrote to each of its parameters: in the last two that came right after another."""
        self._frozen: dict[int | None, frozenset[int]] = {}
        self._renewed: Counter[int | None] = Counter()
        self._taught: set[int] = set()
        """Parameters for which steps have found gradients other than zero."""

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._began, attention=Attention.FULL)
        self.listen(signals.steps.closure_ended, self._closure_ended, attention=Attention.LIGHT)
        self.listen(signals.steps.ended, self._ended, attention=Attention.LIGHT)
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.FULL)

    def memory(self) -> set[int] | None:
        return self._taught or None

    def remember(self, memory: set[int]) -> None:
        self._taught = memory
        self.emit(GradientsFoundBefore(step=self._course.steps, parameters=sorted(memory)))

    def finish(self) -> None:
        living = self._parameters.living()
        for optimizer, stuck in self._stuck.items():
            now = _values([(number, parameter) for number, parameter in living if number in stuck])
            if later := [number for number, value in now.items() if value != stuck[number]]:
                self.emit(ParametersMovedLater(step=self._course.steps, optimizer=optimizer, parameters=later))

    def _began(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        given_state = number not in self._begun and any(call.optimizer.state.values())
        step = self._running[number] = _Step(number, here(), call.closure, given_state)
        step.written = self._written_since(call.optimizer)
        if not step.in_closure:
            self._look_at_gradients(call.optimizer, step)

    def _closure_ended(self, call: StepCall) -> None:
        step = self._running.get(self._optimizers.known(call.optimizer))
        if step is not None:
            self._look_at_gradients(call.optimizer, step)

    def _look_at_gradients(self, optimizer: Optimizer, step: _Step) -> None:
        """What the optimizer finds: after the closure ran, or right before a step without one."""
        self._ledger.catch_up()
        parameters = parameters_of(optimizer)
        numbered = [(self._parameters.number(parameter), parameter) for parameter in parameters]
        self._optimizers.found(self._optimizers.known(optimizer), [number for number, _ in numbered])
        step.with_gradient = [(number, p) for number, p in numbered if p.grad is not None]
        step.missing = [number for number, p in numbered if p.grad is None and p.requires_grad]
        step.frozen = [number for number, p in numbered if not p.requires_grad]
        is_renewed = self._note_frozen(step)
        if not step.looked_at:
            step.looked_at = self._looked_at(step.optimizer, numbered)
            self._look_before(step, is_renewed=is_renewed)
        step.scale, step.divided = self._loss_scales.at_step(optimizer), self._loss_scales.divided(optimizer)
        step.uses = self._ledger.uses_to_come(step.with_gradient)

    def _written_since(self, optimizer: Optimizer) -> set[int]:
        """Parameters that the program wrote to in place after the last step, if that was seen: all, if by `.data`."""
        missed = self._course.steps - self._latest.step - 1
        if missed and self._optimizers.known(optimizer) not in self._begun:
            return self._written_beside_steps(optimizer, missed)
        now = self._versions(optimizer) if not missed else {}
        left = self._left_by.get(frozenset(now), self._latest)
        if now and now.keys() == left.versions.keys():
            differ = [new != old for new, old in zip(probe(parameters_of(optimizer)), left.values, strict=False)]
            if differ and all(differ):
                return set(now)
        return {number for number, version in now.items() if left.versions.get(number, version) != version}

    def _written_beside_steps(self, optimizer: Optimizer, missed: int) -> set[int]:
        """Parameters of an optimizer that begins which were written to more or less often than so many steps do that
        nobody looked at, where each did the same before."""
        versions = self._latest.versions
        before, pace = self._paces
        steady = {number for number, times in pace.items() if before.get(number) == times and number in versions}
        now = self._versions(optimizer)
        return {n for n in steady & now.keys() if now[n] != versions[n] + missed * pace[n]}

    def _note(self, optimizer: Optimizer) -> None:
        """What the parameters are when a step has ended."""
        before, now = self._latest, self._versions(optimizer)
        follows = before.step + 1 == self._course.steps
        if follows and now.keys() == before.versions.keys():
            self._paces = self._paces[1], {number: now[number] - before.versions[number] for number in now}
        is_known = follows and len(self._left_by) < _MOST_SETS
        others = {own: left for own, left in self._left_by.items() if is_known and own.isdisjoint(now)}
        self._latest = _Left(self._course.steps, now, probe(parameters_of(optimizer)))
        self._left_by = {**others, frozenset(now): self._latest}

    def _versions(self, optimizer: Optimizer) -> dict[int, int]:
        """How often each of its parameters was written to."""
        held = ((self._parameters.get(parameter), parameter) for parameter in parameters_of(optimizer))
        return {number: version_of(parameter) for number, parameter in held if number is not None}

    def _is_back(self, step: _Step, number: int) -> bool:
        """Whether a parameter that the last step moved has the values from before it again."""
        before, after = self._previous.get(step.optimizer, {}).get(number, (0, 0))
        return step.before.get(number) == before != after

    def _look_before(self, step: _Step, *, is_renewed: bool) -> None:
        """What the parameters are before the step."""
        values = _coming(step.looked_at)
        far = [(number, few_values(parameter)) for number, parameter in step.looked_at if is_remote(parameter)]

        def known(found: Sequence[int]) -> None:
            for number in self._previous.pop(step.optimizer, ()) if is_renewed else ():
                self._left.pop(number, None)
            step.before = _together(step.looked_at, values, found)
            step.brought = [n for n, value in step.before.items() if self._left.get(n, value) != value]
            written = (n for n in step.before if n in step.written and n not in step.brought)
            step.rewritten = [*step.brought, *written]
            few = dict(zip((number for number, _ in far), found[len(values.parts) :], strict=True))
            back = [(number, p) for number, p in step.looked_at if self._is_back(step, number)]
            step.at_bound = [number for number, p in back if few.get(number) or (not is_remote(p) and few_values(p))]

        self._late_values.ask(self, [*values.parts, *(flag for _, flag in far)], known)

    def _note_frozen(self, step: _Step) -> bool:
        """Whether steps leave alone what was frozen is seen in the first ones that come after: if that is so."""
        frozen = frozenset(step.frozen)
        before = self._frozen.get(step.optimizer, frozenset())
        self._frozen[step.optimizer] = frozen
        is_renewed = bool(frozen - before) and self._renewed[step.optimizer] < _MOST_RENEWED
        if is_renewed:
            self._renewed[step.optimizer] += 1
            self._looks.pop(step.optimizer, None)
        return is_renewed

    def _looked_at(self, optimizer: int | None, numbered: Numbered) -> Numbered:
        """The parameters whose values are compared around one of the first steps."""
        looked = self._looks.get(optimizer, 0) < _STEPS_LOOKED_AT
        return [(number, parameter) for number, parameter in numbered if parameter.numel()] if looked else []

    def _root_began(self, began: RootBegan) -> None:
        """The first forward after a step: whether it meets the values that this has left."""
        is_new = began.module not in self._roots
        if not (is_new or self._unmet):
            return
        held = ((self._parameters.get(parameter), parameter) for _, parameter in parameters_in(began.call.module))
        numbered: Numbered = [(number, parameter) for number, parameter in held if number is not None]
        numbers = {number for number, _ in numbered}
        met_now = [optimizer for optimizer, left in self._unmet.items() if left & numbers]
        if not (is_new or met_now):
            return
        self._roots.add(began.module)
        for optimizer in met_now:
            del self._unmet[optimizer]
        values = _coming(numbered)
        self._late_values.ask(
            self, values.parts, lambda found: self._meet(_together(numbered, values, found), is_new=is_new)
        )

    def _meet(self, now: dict[int, int], *, is_new: bool) -> None:
        """A forward has met these values."""
        if is_new:
            self._met = now | self._met
        for optimizer in list(self._untried):
            left = {n: after for n, (before, after) in self._previous.get(optimizer, {}).items() if before != after}
            met = {n: value for n, value in now.items() if n in left}
            if met:
                self._untried.discard(optimizer)
                if met == {n: left[n] for n in met}:
                    self._tried.add(optimizer)
                self._back[optimizer] = {n for n, value in met.items() if value == self._met.get(n) != left[n]}
                self._met |= met

    def _moved(self, step: _Step, after: dict[int, int]) -> tuple[list[int] | None, list[int]]:
        """Parameters that the step changed, None if it was not looked at; and those that its predecessor had changed
        and that something has set back since."""
        for number, _ in step.with_gradient:
            self._left.pop(number, None)
        self._left.update(after)
        if not after:
            return None, []
        earlier = self._previous.get(step.optimizer, {})
        back = self._back.pop(step.optimizer, ())
        undone = [
            n
            for n, value in step.before.items()
            if n in earlier and value != earlier[n][1] and (value == earlier[n][0] or n in back)
        ]
        self._previous[step.optimizer] = {n: (step.before[n], after[n]) for n in after}
        self._untried.add(step.optimizer)
        moved = [number for number in after if after[number] != step.before[number]]
        stuck = self._stuck.setdefault(step.optimizer, after)
        self._stuck[step.optimizer] = {n: value for n, value in stuck.items() if n not in moved}
        return moved, undone

    def _ended(self, call: StepCall) -> None:
        # One that began in a light step was not looked at.
        step = self._running.pop(self._optimizers.known(call.optimizer), None) if self._running else None
        running = self._course.step_of(call.optimizer) if step is not None else None
        if step is not None and running is not None and not running.only_calls_others:
            step.leave_to_others(running.updated_inside)
            self._record(call.optimizer, step, running.skipped)
        self._begun.add(self._optimizers.get(call.optimizer))
        self._note(call.optimizer)

    def _record(self, optimizer: Optimizer, step: _Step, skipped: bool) -> None:
        fused = attributes(optimizer).get("grad_scale") is not None
        outer = self._course.outer_of(optimizer)
        self._tell(
            step,
            OptimizerStepped(
                step=self._course.steps,
                optimizer=step.optimizer,
                location=step.location,
                uses=[],
                missing=step.missing,
                frozen=step.frozen,
                skipped=skipped,
                in_closure=step.in_closure,
                in_backward=self._course.running is not None,
                keeps_state=any(optimizer.state.values()),
                given_state=step.given_state,
                inside=None if outer is None else self._optimizers.number(outer),
                learning_rates=[learning_rate(group) for group in optimizer.param_groups],
            ),
            fused=fused,
        )
        if not skipped:
            self._ledger.stepped(step.with_gradient, step.location, unscales=fused)

    def _tell(self, step: _Step, event: OptimizerStepped, *, fused: bool) -> None:
        """When the norms of the gradients, their scale and the loss are known."""
        loss, parts = self._course.coming_loss(), step.parts()
        looked_at = {number for number, _ in step.looked_at}
        living = [(number, parameter) for number, parameter in self._parameters.living() if number in looked_at]
        after = _coming(living)
        self._unmet.pop(step.optimizer, None)
        if after.parts:
            self._looks[step.optimizer] = self._looks.get(step.optimizer, 0) + 1
            self._unmet[step.optimizer] = looked_at

        def tell(values: Sequence[Any]) -> None:
            uses, scale, divided = step.put_together(values[: len(parts)])
            tried = step.optimizer in self._tried
            self._tried.discard(step.optimizer)
            self._untried.discard(step.optimizer)
            for use in uses:
                self._taught.update(n for n, norm in zip(use.parameters, use.norms, strict=True) if norm)
            moved, undone = self._moved(step, _together(living, after, values[len(parts) :]))
            self.emit(
                replace(
                    event,
                    uses=uses,
                    moved=moved,
                    undone=undone,
                    at_bound=step.at_bound,
                    tried=tried,
                    rewritten=step.rewritten,
                    brought=step.brought,
                    scaled_by=1.0 if fused else scale,
                    divided=divided,
                    loss=loss(),
                )
            )

        self._late_values.ask(self, [*parts, *after.parts], tell, in_place=True)


def _values(numbered: Numbered) -> dict[int, int]:
    """Of each parameter a number that tells its values from others, where that can be had."""
    values = _coming(numbered)
    return _together(numbered, values, read_together(values.parts))


def _coming(numbered: Numbered) -> ComingFingerprints:
    return fingerprints_to_come([parameter for _, parameter in numbered])


def _together(numbered: Numbered, coming: ComingFingerprints, found: Sequence[int]) -> dict[int, int]:
    """found: the values of the parts, and possibly others behind them."""
    values = coming.put_together(found[: len(coming.parts)])
    return {number: value for (number, _), value in zip(numbered, values, strict=True) if value is not None}
