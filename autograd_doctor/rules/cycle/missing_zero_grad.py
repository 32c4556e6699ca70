"""AD101: an optimizer stepped on gradients to which leftovers of earlier work still belonged."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.steps import BackwardRan, GradientsCleared, GradientUse, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import (
    called,
    has_new,
    left_by_others,
    new_to_it,
    ordinal,
    related,
    share,
    steps_by_optimizer,
)

Stale = list[tuple[OptimizerStepped, GradientUse]]


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for optimizer, steps in steps_by_optimizer(trace).items():
        used = [(step, use) for step in steps for use in step.uses if has_new(use) and not use.altered]
        consumed = [(step, use) for step, use in used if use.consumed]
        foreign = [(step, use) for step, use in used if left_by_others(trace, use)]
        stale = next((s for s in (consumed, foreign) if _count(s) >= tunables["minimum_repeats"]), None)
        if stale:
            yield _finding(trace, optimizer, len(steps), stale)


def _count(stale: Stale) -> int:
    return len({id(step) for step, _ in stale})


def _finding(trace: Trace, optimizer: int | None, total: int, stale: Stale) -> Finding:
    first, use = stale[0]
    parameters = list(dict.fromkeys(parameter for _, use in stale for parameter in use.parameters))
    own = bool(use.consumed)
    error = _relative_error(trace, parameters) if own else None
    measured = "" if error is None else f"; the leftovers had {error:.2g} times the norm of the new gradient"
    kind = "that an earlier step had used already" if own else "that still held those of another objective"
    return RULE.finding(
        f"{called(trace, optimizer)} stepped on gradients {kind}, in {share(_count(stale), total)}, first in step "
        f"{ordinal(first)}: {trace.parameter_names(parameters)}{measured}",
        subject=trace.optimizer_name(optimizer),
        location=first.location,
        help=_how_to_clear(trace, optimizer, parameters, use) if own else _when_to_clear(trace, optimizer),
        evidence={
            "steps": _count(stale),
            "parameters": [trace.parameter_name(parameter) for parameter in parameters],
            **({} if error is None else {"relative_error": error}),
        },
        related=related(
            ("this backward left its gradients behind", _line_of(trace, (use.consumed or use.foreign)[-1])),
            ("another optimizer stepped on them here", None if own else use.foreign_step_at),
            ("this backward added to what was left", _line_of(trace, use.backwards[-1])),
            ("only other gradients are cleared here", _clears_others(trace, optimizer, parameters) if own else None),
        ),
        step_first=ordinal(first),
        step_count=_count(stale),
        parameters=parameters,
    )


def _line_of(trace: Trace, backward: int) -> Location | None:
    ran = trace.backwards.get(backward)
    return ran.location if ran else None


def _relative_error(trace: Trace, parameters: list[int]) -> float | None:
    for ran in trace.of(BackwardRan):
        leftover = ran.accumulated
        if leftover and leftover.relative_error is not None and set(leftover.parameters) & set(parameters):
            return leftover.relative_error
    return None


def _when_to_clear(trace: Trace, optimizer: int | None) -> str:
    return f"call `{trace.optimizer_name(optimizer)}.zero_grad()` right before the `backward()` that is meant for it"


def _how_to_clear(trace: Trace, optimizer: int | None, parameters: list[int], use: GradientUse) -> str:
    call = "set the gradients to None" if optimizer is None else f"call `{trace.optimizer_name(optimizer)}.zero_grad()`"
    clearings = trace.of(GradientsCleared)
    several = len(new_to_it(use)) > 1
    before = "before the first `backward()` of a step" if several else "before `backward()`"
    if any(set(clearing.parameters) & set(parameters) for clearing in clearings):
        return f"{call} in every iteration: what clears these gradients now does not run between every two steps"
    if clearings:
        return f"{call} {before}: what the program clears leaves these parameters out"
    return f"{call} right after the step" if several else f"{call} {before}, or right after the step"


def _clears_others(trace: Trace, optimizer: int | None, parameters: list[int]) -> Location | None:
    """The line that clears gradients of the same optimizer, where none clears these."""
    held = trace.optimizer_parameters.get(optimizer, frozenset()) if optimizer is not None else frozenset()
    clearings = [clearing for clearing in trace.of(GradientsCleared) if not held.isdisjoint(clearing.parameters)]
    if any(set(clearing.parameters) & set(parameters) for clearing in clearings):
        return None
    return next((clearing.location for clearing in clearings), None)


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(12):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()  # <- AD101


def bad_cleared_once_per_epoch() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self) -> None:
            self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
            self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

        def epoch(self, batches: list[torch.Tensor]) -> None:
            self.opt.zero_grad()
            for batch in batches:
                loss = (self.net(batch) - batch.prod(dim=1, keepdim=True)).square().mean()
                loss.backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
                self.opt.step()  # <- AD101

    torch.manual_seed(0)
    trainer = Trainer()
    for _ in range(3):
        trainer.epoch([torch.randn(16, 4) for _ in range(4)])


def bad_adversarial_leftovers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
    opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3)
    bce = nn.BCEWithLogitsLoss()
    for _ in range(8):
        real, fake = torch.randn(16, 2) + 2, generator(torch.randn(16, 2))
        loss_d = bce(critic(real), torch.ones(16, 1)) + bce(critic(fake.detach()), torch.zeros(16, 1))
        loss_d.backward()
        opt_d.step()  # <- AD101
        opt_d.zero_grad()

        loss_g = bce(critic(fake), torch.ones(16, 1))
        loss_g.backward()
        opt_g.step()
        opt_g.zero_grad()


def good() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(12):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_every_way_to_clear() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for iteration in range(12):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()
        if iteration % 4 == 0:
            model.zero_grad()
        elif iteration % 4 == 1:
            optimizer.zero_grad(set_to_none=False)
        for parameter in model.parameters():
            if iteration % 4 == 2:
                parameter.grad = None
            elif iteration % 4 == 3 and parameter.grad is not None:
                parameter.grad.zero_()


def good_accumulation_of_two_losses() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for iteration in range(24):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        (loss / 3).backward()
        penalty = 1e-3 * model.weight.square().sum()
        (penalty / 3).backward()
        if iteration % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()


RULE = Rule(
    code="AD101",
    name="missing-zero-grad",
    severity="error",
    title="gradients of earlier work were still there when the optimizer stepped",
    observes=(
        "For every parameter, which backwards wrote its gradient since it was last cleared, and which steps have used "
        "it. A step is at fault if a backward added onto a gradient that an earlier step of the same optimizer had "
        "used, or that another objective's backward had left there for another optimizer."
    ),
    why=(
        "`backward()` adds to `.grad`. What is not cleared counts again in every later step, so that the optimizer "
        "follows the sum of all gradients since the start of the run, computed at weights that are long gone."
    ),
    fix="Call `optimizer.zero_grad()` once per step, anywhere between the step and the first backward of the next one.",
    fine=(
        "Accumulating over micro-batches, several losses before one step, optimizers that step at different intervals "
        "on one loss, and gradients that the program scales by itself between steps, or leaves the same share of in "
        "each step or by a hook on it, are told apart and not reported."
    ),
    needs=(BackwardRan, GradientsCleared, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_cleared_once_per_epoch, bad_adversarial_leftovers),
    good=(good, good_every_way_to_clear, good_accumulation_of_two_losses),
    tunables={"minimum_repeats": Tunable(2, "fewest steps on gradients that were left over", MORE_THAN_ONCE)},
    folds=("AD405", "AD406"),
    about="loop",
)
