"""AD107: the calls on a gradient scaler do not make a whole."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec.structs import replace

from autograd_doctor.events.cycle import ScalerUsed
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import crash_of, died_of
from autograd_doctor.views.step_cycle import called, has_new, ordinal, related, share, steps_by_optimizer
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    repeats = int(tunables["minimum_repeats"])
    for optimizer, steps in steps_by_optimizer(trace).items():
        scaled = [step for step in steps if step.scaled_by > 1.0] or _behind_the_scaler(trace, optimizer, steps)
        if len(scaled) >= repeats or (scaled and died_of(trace, "scaler_without_check")):
            yield _stepped_scaled(trace, optimizer, scaled, len(steps))
    backwards = [event for event in trace.of(BackwardRan) if event.kind == "backward"]
    if backwards and died_of(trace, "scaler_without_scale"):
        yield _unscaled_finding(trace, backwards, None)
    for scaler in sorted({event.scaler for event in trace.of(ScalerUsed)}):
        uses = [event for event in trace.of(ScalerUsed) if event.scaler == scaler]
        taken = [use for use in uses if use.call == "step"]
        if taken and _never_updated(trace, uses, taken, repeats):
            yield _never_updated_finding(trace, taken)
        elif taken:
            yield from _unscaled(trace, taken[0], repeats)


def _behind_the_scaler(trace: Trace, optimizer: int | None, steps: list[OptimizerStepped]) -> list[OptimizerStepped]:
    """Steps on gradients of a scaled loss by an optimizer that no scaler was shown, though it was shown others."""
    shown = {use.optimizer for use in trace.of(ScalerUsed)} - {None}
    if optimizer is None or optimizer in shown or not shown:
        return []
    scales = {
        (at.path, at.line): use.scale for use in trace.of(ScalerUsed) if use.call == "scale" and (at := use.location)
    }
    found = []
    for step in (each for each in steps if not each.divided):
        newest = [trace.backwards.get(use.backwards[-1]) for use in step.uses if has_new(use)]
        lines = [(at.path, at.line) for ran in newest if ran and (at := ran.root.made_at or ran.location)]
        found += [replace(step, scaled_by=scales[line]) for line in lines[:1] if scales.get(line, 1.0) > 1.0]
    return found


def _never_updated(trace: Trace, uses: list[ScalerUsed], steps: list[ScalerUsed], repeats: int) -> bool:
    """A second step without an update between them is refused by torch, which ends the run."""
    if any(use.call == "update" for use in uses):
        return False
    return died_of(trace, "scaler_without_update") is not None or len({step.step for step in steps}) > repeats


def _unscaled_backwards(trace: Trace, scaler: int) -> dict[Location | None, list[BackwardRan]]:
    """Backwards on losses that no `scale` call made or preceded, by line, whose gradients a step of the scaler used.

    A call scales the loss of one backward; a line that ever ran on a scaled loss is beyond suspicion. Where the
    program gives the gradient of a root that is no scalar, that may hold the scale already.
    """
    calls = [use for use in trace.of(ScalerUsed) if use.scaler == scaler]
    optimizers = {use.optimizer for use in calls if use.call == "step"}
    used = {b for step in trace.steps if step.optimizer in optimizers for use in step.uses for b in use.backwards}
    scaling_lines = {(use.location.path, use.location.line) for use in calls if use.call == "scale" and use.location}
    unscaled: dict[Location | None, list[BackwardRan]] = {}
    fine: set[Location | None] = set()
    scaled = 0
    for event in trace.events:
        if isinstance(event, ScalerUsed) and event.scaler == scaler:
            scaled = scaled + 1 if event.call == "scale" else 0 if event.call == "update" else scaled
        elif isinstance(event, BackwardRan) and event.kind == "backward":
            made_at = event.root.made_at
            is_given = math.prod(event.root.shape) > 1
            if scaled or is_given or (made_at and (made_at.path, made_at.line) in scaling_lines):
                fine.add(event.location)
            elif event.backward in used:
                unscaled.setdefault(event.location, []).append(event)
            scaled = max(scaled - 1, 0)
    return {location: events for location, events in unscaled.items() if location not in fine}


def _unscaled(trace: Trace, step: ScalerUsed, repeats: int) -> Iterator[Finding]:
    for backwards in _unscaled_backwards(trace, step.scaler).values():
        if len(backwards) >= repeats:
            yield _unscaled_finding(trace, backwards, step)


def _stepped_scaled(trace: Trace, optimizer: int | None, scaled: list[OptimizerStepped], total: int) -> Finding:
    first = scaled[0]
    name = trace.optimizer_name(optimizer)
    return RULE.finding(
        f"{called(trace, optimizer)} stepped on gradients still multiplied by the loss scale {first.scaled_by:g}, in "
        f"{share(len(scaled), total)}",
        subject=name,
        location=first.location,
        help=f"call `scaler.step({name})` instead of `{name}.step()`",
        evidence={"loss_scale": first.scaled_by, "steps": len(scaled)},
        related=related(("the loss is scaled here", _scaled_at(trace))),
        step_first=ordinal(first),
        step_count=len(scaled),
        parameters=[parameter for use in first.uses for parameter in use.parameters],
    )


def _scaled_at(trace: Trace) -> Location | None:
    return next((use.location for use in trace.of(ScalerUsed) if use.call == "scale"), None)


def _never_updated_finding(trace: Trace, steps: list[ScalerUsed]) -> Finding:
    refused = "; torch refused the next one" if died_of(trace, "scaler_without_update") else ""
    return RULE.finding(
        f"the scaler stepped {plural(len(steps), 'time')} and was never updated, so that the scale stayed at "
        f"{steps[-1].scale:g}{refused}",
        subject="the gradient scaler",
        location=steps[0].location,
        help="call `scaler.update()` once per iteration, after the last `scaler.step(...)`",
        evidence={"steps": len(steps), "loss_scale": steps[-1].scale},
        step_first=ordinal(steps[0]),
        step_count=len(steps),
    )


def _unscaled_finding(trace: Trace, backwards: list[BackwardRan], step: ScalerUsed | None) -> Finding:
    first, count = backwards[0], len(backwards)
    crash = crash_of(trace)
    divides = f"divides the gradients by {step.scale:g}" if step else "refused to unscale the gradients"
    return RULE.finding(
        f"{plural(count, 'backward')} ran on a loss that was not scaled, while the scaler's step {divides}",
        subject=first.root.name or "the loss",
        location=first.location,
        help="call `scaler.scale(loss).backward()`",
        evidence={"backwards": count, **({"loss_scale": step.scale} if step else {})},
        related=related(("this step takes the scale out", step.location if step else crash.site if crash else None)),
        step_first=ordinal(first),
        step_count=count,
        parameters=first.wrote,
    )


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        optimizer.step()  # <- AD107


def bad_stepped_behind_the_scaler() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        optimizer.step()  # <- AD107
        scaler.update()


def bad_second_optimizer_steps_by_itself() -> None:
    import torch

    torch.manual_seed(0)
    body, head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(body.parameters(), lr=0.01)
    head_optimizer = torch.optim.Adam(head.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(head(body(inputs)), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        head_optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        head_optimizer.step()  # <- AD107
        scaler.update()


def good() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def good_scale_settles() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20)
    for _ in range(12):
        inputs = torch.randn(16, 4)
        with torch.autocast("cpu", dtype=torch.float16):
            outputs = model(inputs)
        loss = torch.nn.functional.mse_loss(outputs.float(), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def good_two_losses_scaled_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(4, 1), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = nn.functional.mse_loss(first(inputs), inputs.sum(dim=1, keepdim=True))
        other = nn.functional.mse_loss(second(inputs), inputs.amax(dim=1, keepdim=True))
        scaled = scaler.scale(loss), scaler.scale(other)
        optimizer.zero_grad()
        for one in scaled:
            one.backward()
        scaler.unscale_(optimizer)
        optimizer.step()
        scaler.update()


RULE = Rule(
    code="AD107",
    name="scaler-misuse",
    severity="error",
    title="the gradient scaler was used only in part",
    observes=(
        "Every call on an enabled `GradScaler` and the scale still in the gradients at each step: gradients stepped "
        "while scaled, a scaler that steps and is never updated, backwards on losses that were not scaled before a "
        "step that divides by the scale."
    ),
    why=(
        "A scale of 65536 that is not taken out multiplies the learning rate by it; one that was never put in divides "
        "it. A scaler without `update()` refuses to step again, and never adapts the scale."
    ),
    fix="`scaler.scale(loss).backward()`, `scaler.step(optimizer)`, `scaler.update()`, in this order, each iteration.",
    fine="Steps that the scaler skips while the scale settles, and steps on gradients that `unscale_` or the program "
    "itself has divided, in whichever way: they are smaller by the scale, or more, than the backward left them.",
    needs=(BackwardRan, OptimizerBuilt, OptimizerStepped, ProgramRaised, ScalerUsed),
    examine=examine,
    bad=(bad, bad_stepped_behind_the_scaler, bad_second_optimizer_steps_by_itself),
    good=(good, good_scale_settles, good_two_losses_scaled_first),
    tunables={"minimum_repeats": Tunable(2, "fewest steps, or backwards, with the same mistake", MORE_THAN_ONCE)},
    folds=("AD405", "AD599", "AD116"),
    about="loop",
    references=("https://docs.pytorch.org/docs/stable/notes/amp_examples.html",),
)
