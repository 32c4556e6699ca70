"""Watches optimizers: construction, steps (also in closures and inside backward), and the clearing of gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from torch import nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from autograd_doctor.events import (
    Event,
    GradientsCleared,
    GradientUse,
    OptimizerBuilt,
    OptimizerStepped,
    ParametersAdded,
    ParameterSeen,
)
from autograd_doctor.findings import Location
from autograd_doctor.watching.care import careful
from autograd_doctor.watching.fingerprints import Numbered, fingerprints
from autograd_doctor.watching.naming import setting
from autograd_doctor.watching.patching import Patches
from autograd_doctor.watching.places import here
from autograd_doctor.watching.watch import Watch

_STEPS_LOOKED_AT = 6
"""Steps of each optimizer in which the values of its parameters are compared."""


@dataclass
class _Step:
    """A step in progress. `inner` counts the parameters that optimizers called by this one have already updated."""

    optimizer: int | None
    location: Location | None
    in_closure: bool
    with_gradient: Numbered = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    frozen: list[int] = field(default_factory=list)
    before: dict[int, int] = field(default_factory=dict)
    rewritten: list[int] = field(default_factory=list)
    uses: list[GradientUse] = field(default_factory=list)
    scale: float = 1.0
    updated_inside: set[int] = field(default_factory=set)


class Optimizers:
    """Steps are seen through torch's public step hooks; a closure is wrapped, because the backward runs inside it."""

    yields: ClassVar[tuple[type[Event], ...]] = (
        OptimizerBuilt,
        ParametersAdded,
        ParameterSeen,
        OptimizerStepped,
        GradientsCleared,
    )
    order: ClassVar[int] = -10

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._patches = Patches()
        self._running: list[_Step] = []
        self._looks: dict[int | None, int] = {}
        self._previous: dict[int | None, dict[int, tuple[int, int]]] = {}
        self._left: dict[int, int] = {}

    def __enter__(self) -> Self:
        before = register_optimizer_step_pre_hook(self._step_begins)
        after = register_optimizer_step_post_hook(self._step_ended)
        self._patches.callback(before.remove)
        self._patches.callback(after.remove)
        self._patches.replace(Optimizer, "__init__", self._initialising(Optimizer.__init__))
        self._patches.replace(Optimizer, "add_param_group", self._adding(Optimizer.add_param_group))
        self._patches.replace(Optimizer, "zero_grad", self._clearing(Optimizer.zero_grad, "optimizer.zero_grad"))
        self._patches.replace(nn.Module, "zero_grad", self._clearing(nn.Module.zero_grad, "module.zero_grad"))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    # ------------------------------------------------------------------------------------------------ construction

    def _initialising(self, original: Callable[..., None]) -> Callable[..., None]:
        introduce = self._introduce

        def __init__(self: Optimizer, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            original(self, *args, **kwargs)
            introduce(self)

        return __init__

    @careful
    def _introduce(self, optimizer: Optimizer) -> None:
        self._watch.optimizers.number(optimizer, here())

    @careful
    def _add_group(self, optimizer: Optimizer, group: dict[str, Any]) -> None:
        self._watch.optimizers.add_group(optimizer, group, here())

    def _adding(self, original: Callable[..., None]) -> Callable[..., None]:
        add_group = self._add_group

        def add_param_group(self: Optimizer, param_group: dict[str, Any]) -> None:
            original(self, param_group)
            add_group(self, param_group)

        return add_param_group

    # ----------------------------------------------------------------------------------------------------- clearing

    def _clearing(
        self, original: Callable[..., None], how: Literal["optimizer.zero_grad", "module.zero_grad"]
    ) -> Callable[..., None]:
        begins, done = self._clearing_begins, self._clearing_done

        def zero_grad(self: Any, set_to_none: bool = True) -> None:
            begins()
            original(self, set_to_none)
            done(self, how)

        return zero_grad

    @careful
    def _clearing_begins(self) -> None:
        self._watch.gradients.catch_up()

    @careful
    def _clearing_done(self, cleared: Any, how: Literal["optimizer.zero_grad", "module.zero_grad"]) -> None:
        optimizer = self._number(cleared) if isinstance(cleared, Optimizer) else None
        self._watch.gradients.clearing_done(how, here(), optimizer)

    # -------------------------------------------------------------------------------------------------------- steps

    def _step_begins(
        self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
        step = _Step(self._number(optimizer), here(), in_closure=callable(closure))
        self._running.append(step)
        if not step.in_closure:
            self._look_at_gradients(optimizer, step)
        self._watch.in_optimizer += 1
        if not step.in_closure:
            return None
        wrapped = self._wrap(closure, optimizer, step)
        if "closure" in kwargs:
            return args, {**kwargs, "closure": wrapped}
        return (args[0], wrapped, *args[2:]), kwargs

    def _wrap(self, closure: Any, optimizer: Optimizer, step: _Step) -> Callable[[], Any]:
        def wrapped() -> Any:
            self._watch.in_optimizer -= 1
            self._watch.inside_steps.append(step.optimizer)
            try:
                return closure()
            finally:
                self._watch.inside_steps.pop()
                self._watch.in_optimizer += 1
                self._look_at_gradients(optimizer, step)

        return wrapped

    @careful
    def _number(self, optimizer: Optimizer) -> int:
        number = self._watch.optimizers.number(optimizer)
        self._watch.optimizers.name(number, optimizer)
        return number

    @careful
    def _look_at_gradients(self, optimizer: Optimizer, step: _Step) -> None:
        """What the optimizer finds: after the closure ran, or right before a step without one."""
        self._watch.gradients.catch_up()
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        numbered = [(self._watch.parameters.number(parameter), parameter) for parameter in parameters]
        step.with_gradient = [(number, p) for number, p in numbered if p.grad is not None]
        step.missing = [number for number, p in numbered if p.grad is None and p.requires_grad]
        step.frozen = [number for number, p in numbered if not p.requires_grad]
        step.before = step.before or self._fingerprints(step.optimizer, numbered)
        step.rewritten = [n for n, value in step.before.items() if self._left.get(n, value) != value]
        step.scale = self._loss_scale(optimizer)
        step.uses = self._watch.gradients.uses(step.with_gradient, step.scale)

    def _fingerprints(self, optimizer: int | None, numbered: Numbered) -> dict[int, int]:
        """The values of parameters around one of the first steps, as numbers that tell whether they changed."""
        looked = self._looks.get(optimizer, 0) < _STEPS_LOOKED_AT
        return fingerprints(numbered) if looked else {}

    def _moved(self, step: _Step) -> tuple[list[int] | None, list[int]]:
        """Parameters that the step changed, None if it was not looked at; and those that its predecessor had changed
        and that something has set back since."""
        everything = {number: p for number, p in self._watch.parameters.living() if number in step.before}
        after = self._fingerprints(step.optimizer, list(everything.items()))
        for number, _ in step.with_gradient:
            self._left.pop(number, None)
        self._left.update(after)
        if not after:
            return None, []
        self._looks[step.optimizer] = self._looks.get(step.optimizer, 0) + 1
        earlier = self._previous.get(step.optimizer, {})
        undone = [n for n, value in step.before.items() if n in earlier and earlier[n][0] == value != earlier[n][1]]
        self._previous[step.optimizer] = {n: (step.before[n], after[n]) for n in after}
        return [number for number in after if after[number] != step.before[number]], undone

    def _loss_scale(self, optimizer: Optimizer) -> float:
        """The loss scale still multiplied into the gradients: a fused optimizer unscales them by itself."""
        fused = getattr(optimizer, "grad_scale", None)
        if fused is not None:
            return float(fused)
        scalers = getattr(self._watch, "scalers", None)
        return float(scalers.loss_scale_of(optimizer)) if scalers is not None else 1.0

    def _step_ended(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        step = self._running.pop()
        self._watch.in_optimizer -= 1
        found_inf = getattr(optimizer, "found_inf", None)
        skipped = found_inf is not None and bool(float(found_inf))
        mine = {number for number, _ in step.with_gradient} | set(step.missing)
        if mine and mine <= step.updated_inside:
            return
        if self._running:
            self._running[-1].updated_inside |= mine
        self._record(optimizer, step, skipped)
        if not skipped:
            self._watch.updated_at = step.location
            self._watch.step_taken(step.optimizer)

    @careful
    def _record(self, optimizer: Optimizer, step: _Step, skipped: bool) -> None:
        fused = getattr(optimizer, "grad_scale", None) is not None
        moved, undone = self._moved(step)
        self._watch.emit(
            OptimizerStepped(
                step=self._watch.step,
                optimizer=step.optimizer,
                location=step.location,
                uses=step.uses,
                missing=step.missing,
                frozen=step.frozen,
                moved=moved,
                undone=undone,
                rewritten=step.rewritten,
                skipped=skipped,
                scaled_by=1.0 if fused else step.scale,
                in_closure=step.in_closure,
                in_backward=self._watch.backward_running is not None,
                keeps_state=any(optimizer.state.values()),
                learning_rates=[setting(group, "lr") for group in optimizer.param_groups],
                loss=self._watch.last_loss,
            )
        )
        if not skipped:
            self._watch.gradients.stepped(step.with_gradient, step.location)


PROBE = Optimizers
