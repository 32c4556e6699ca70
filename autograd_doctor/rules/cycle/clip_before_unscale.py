"""AD106: gradients were clipped while the loss scale was still multiplied into them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.cycle import GradientsClipped, ScalerUsed
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import MEASURES_ONLY, ordinal, related, share

_SCALED_LIMIT = 0.1
"""A limit that is at least this share of the loss scale was multiplied by the scale itself."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    places: dict[Location | None, list[GradientsClipped]] = {}
    for clip in trace.of(GradientsClipped):
        if clip.fresh and clip.limit < MEASURES_ONLY and _SCALED_LIMIT * clip.loss_scale > clip.limit:
            places.setdefault(clip.location, []).append(clip)
    for clips in places.values():
        scaled = [clip for clip in clips if clip.loss_scale > 1.0]
        if len(scaled) >= tunables["minimum_repeats"]:
            yield _finding(trace, scaled)


def _finding(trace: Trace, clips: list[GradientsClipped]) -> Finding:
    first = clips[0]
    of_norm = first.norm / first.loss_scale if first.norm is not None else None
    measured = f"; their own norm was {of_norm:.3g}" if of_norm is not None else ""
    total = sum(clip.location == first.location for clip in trace.of(GradientsClipped))
    name = trace.optimizer_name(_optimizer_of(trace, first))
    return RULE.finding(
        f"gradients were clipped to {first.limit:g} while still multiplied by the loss scale {first.loss_scale:g}, "
        f"which leaves {first.limit / first.loss_scale:.2g} of them, in {share(len(clips), total, 'call')}{measured}",
        subject=trace.parameter_names(first.parameters, limit=1).replace("`", ""),
        location=first.location,
        help=f"call `scaler.unscale_({name})` before clipping",
        evidence={
            "limit": first.limit,
            "loss_scale": first.loss_scale,
            "effective_limit": first.limit / first.loss_scale,
            **({} if of_norm is None else {"norm": of_norm}),
        },
        related=related(
            ("the loss is scaled here", _line_of(trace, "scale")),
            ("the clipping is called from here", first.callers[-1] if first.callers else None),
        ),
        step_first=ordinal(first),
        step_count=len(clips),
        parameters=first.parameters,
    )


def _optimizer_of(trace: Trace, clip: GradientsClipped) -> int | None:
    held = trace.optimizer_parameters.items()
    return next((optimizer for optimizer, parameters in held if not parameters.isdisjoint(clip.parameters)), None)


def _line_of(trace: Trace, call: str) -> Location | None:
    return next((event.location for event in trace.of(ScalerUsed) if event.call == call), None)


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <- AD106
        scaler.step(optimizer)
        scaler.update()


def bad_unscaled_too_late() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
            self.scaler = torch.amp.GradScaler("cpu")

        def apply_gradients(self) -> None:
            nn.utils.clip_grad_value_(self.model.parameters(), 0.1)  # <- AD106
            self.scaler.unscale_(self.optimizer)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()

    torch.manual_seed(0)
    trainer = Trainer()
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = (trainer.model(inputs) - inputs.sum(dim=1, keepdim=True)).square().mean()
        trainer.scaler.scale(loss).backward()
        trainer.apply_gradients()


def good() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def good_limit_scaled_too() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0 * scaler.get_scale())
        scaler.step(optimizer)
        scaler.update()


RULE = Rule(
    code="AD106",
    name="clip-before-unscale",
    severity="error",
    title="gradients were clipped while multiplied by the loss scale",
    observes="The loss scale that is still multiplied into the gradients when they are clipped, and the limit. A line "
    "of the program's own that scales gradients in place clips if it leads to the same norm again and again.",
    why=(
        "The scaler divides by the scale afterwards, so that what is left of a gradient clipped to 1 under a scale of "
        "65536 is 0.000015: training nearly stands still, or follows the scale as it changes."
    ),
    fix="Call `scaler.unscale_(optimizer)` after the backward and before clipping.",
    fine="A limit that is multiplied by the scale as well, a limit so high that it only measures the norm, and "
    "gradients that the program itself has divided by the scale, in whichever way.",
    needs=(BackwardRan, GradientsClipped, ScalerUsed),
    examine=examine,
    bad=(bad, bad_unscaled_too_late),
    good=(good, good_limit_scaled_too),
    tunables={"minimum_repeats": Tunable(2, "fewest clippings of gradients that were still scaled", MORE_THAN_ONCE)},
    folds=("AD111", "AD116"),
    about="loop",
    references=("https://docs.pytorch.org/docs/stable/notes/amp_examples.html",),
)
