"""AD125: gradients to which further backwards add are clipped after each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import hypot, inf, isclose, prod
from statistics import median, mode

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.steps import BackwardRan, GradientUse, OptimizerStepped
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import MEASURES_ONLY, ordinal, related, share

_SAME_NORM = 0.01
"""Relative. Norms of gradients of 16 bits are rounded; what the program puts in their place has another one."""


@dataclass(frozen=True)
class _Update:
    """What led to steps that follow one another: backwards and clippings, in their order."""

    since: list[BackwardRan | GradientsClipped]
    steps: list[OptimizerStepped]


@dataclass(frozen=True)
class _Shrunk:
    """A sum of gradients that was clipped as it grew, and the step that used it.

    backwards: those on one loss. clips: at one line; the last is behind the last backward, and those before it have
    scaled. kept: what the first backward counts, where the last one counts 1.
    """

    step: OptimizerStepped
    backwards: list[BackwardRan]
    clips: list[GradientsClipped]
    kept: float


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    places: dict[Location | None, list[_Shrunk]] = {}
    for update in _updates(trace):
        found = next(_shrunk(trace, update), None)
        if found is not None and found.kept <= tunables["share"]:
            places.setdefault(found.clips[-1].location, []).append(found)
    for seen in places.values():
        if len(seen) >= tunables["minimum_repeats"]:
            yield _finding(trace, seen)


def _updates(trace: Trace) -> Iterator[_Update]:
    now = _Update([], [])
    for event in trace.events:
        if isinstance(event, BackwardRan) and now.steps:
            yield now
            now = _Update([], [])
        if isinstance(event, BackwardRan | GradientsClipped):
            now.since.append(event)
        elif isinstance(event, OptimizerStepped):
            now.steps.append(event)
    yield now


def _shrunk(trace: Trace, update: _Update) -> Iterator[_Shrunk]:
    for step in update.steps:
        for use in step.uses if not step.skipped else ():
            alike = _micro_batches(use, update.since)
            for clips in _clippings(update, use, min(alike), max(alike)) if len(alike) > 1 else ():
                kept = prod(clip.limit / clip.norm for clip in clips[:-1] if clip.norm)
                yield _Shrunk(step, list(alike.values()), clips, kept)


def _micro_batches(use: GradientUse, since: Sequence[BackwardRan | GradientsClipped]) -> dict[int, BackwardRan]:
    """By their places, most backwards on one loss that a gradient is the sum of, if it is nothing but a sum."""
    ran = {at: e for at, e in enumerate(since) if isinstance(e, BackwardRan) and e.backward in use.backwards}
    is_changed = use.consumed or use.foreign or use.altered or use.reworked or use.left_over
    if is_changed or len(ran) < len(use.backwards):
        return {}
    alike: dict[tuple[object, ...], dict[int, BackwardRan]] = {}
    for at, each in ran.items():
        root = each.root
        if root.made_at is not None and not set(each.reused).intersection(use.backwards):
            kind = each.location, root.made_at, root.operation, each.nodes, tuple(each.wrote)
            alike.setdefault(kind, {})[at] = each
    return max(alike.values(), key=len, default={})


def _clippings(update: _Update, use: GradientUse, first: int, last: int) -> Iterator[list[GradientsClipped]]:
    """Those of one call that scaled between two backwards, and one behind all backwards."""
    early = [each for each in update.since[first:last] if isinstance(each, GradientsClipped) and _scales(each)]
    for final in _behind(update.since, use.backwards[-1]) if early else ():
        held = set(use.parameters).intersection(final.fresh)
        alike = [each for each in early if _call(each) == _call(final) and held.intersection(each.fresh)]
        if alike and _is_used(final, update.steps):
            yield [*alike, final]


def _behind(since: Sequence[BackwardRan | GradientsClipped], backward: int) -> list[GradientsClipped]:
    ran = next(at for at, each in enumerate(since) if isinstance(each, BackwardRan) and each.backward == backward)
    return [each for each in since[ran:] if isinstance(each, GradientsClipped)]


def _call(clip: GradientsClipped) -> tuple[object, ...]:
    """A helper that clips the gradients of several losses is called at a line for each of them."""
    return clip.location, clip.callers, clip.limit


def _scales(clip: GradientsClipped) -> bool:
    return clip.norm is not None and clip.limit < MEASURES_ONLY and clip.limit < clip.norm < inf


def _is_used(clip: GradientsClipped, steps: Iterable[OptimizerStepped]) -> bool:
    """Whether what steps found is what a clipping left: a program that moves gradients away puts others there."""
    pairs = (pair for step in steps for use in step.uses for pair in zip(use.parameters, use.norms, strict=True))
    norms = dict(pairs)
    left = min(clip.norm or 0.0, clip.limit) / clip.loss_scale
    return isclose(hypot(*(norms.get(number, 0.0) for number in clip.fresh)), left, rel_tol=_SAME_NORM)


def _finding(trace: Trace, seen: list[_Shrunk]) -> Finding:
    first, clip = seen[0], seen[0].clips[-1]
    kept = median(each.kept for each in seen)
    count = mode(len(each.backwards) for each in seen)
    optimizers = {each.step.optimizer for each in seen}
    total = sum(step.optimizer in optimizers for step in trace.steps)
    return RULE.finding(
        f"gradients were clipped to {clip.limit:g} again and again while {count} backwards added to them, in "
        f"{share(len(seen), total)}: the first of these counts {kept:.2g} times what the last one does",
        subject=trace.parameter_names(clip.fresh, limit=1).replace("`", ""),
        location=clip.location,
        help="clip once, after the last `backward()` and before `step()`",
        evidence={"limit": clip.limit, "backwards": count, "first_to_last": kept, "steps": len(seen)},
        related=related(
            ("the gradients are computed here", first.backwards[0].location),
            ("and used by this step", first.step.location),
        ),
        step_first=ordinal(first.step),
        step_count=len(seen),
        parameters=clip.fresh,
    )


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in range(32):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True)) / 4
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # <- AD125
        if batch % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def bad_in_each_window() -> None:
    import torch
    from torch import nn

    class Forecaster(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRU(1, 8, batch_first=True)
            self.head = nn.Linear(8, 1)
            self.optimizer = torch.optim.Adam(self.parameters(), lr=0.01)

        def learn(self, series: torch.Tensor) -> None:
            self.optimizer.zero_grad()
            state = None
            for window in series.split(6, dim=1):
                hidden, state = self.cell(window[:, :-1], state)
                nn.functional.mse_loss(self.head(hidden), window[:, 1:]).div(4).backward()
                nn.utils.clip_grad_norm_(self.parameters(), max_norm=0.05)  # <- AD125
                state = state.detach()
            self.optimizer.step()

    torch.manual_seed(0)
    model = Forecaster()
    for _ in range(8):
        model.learn(torch.sin(torch.arange(24.0) / 3 + torch.rand(16, 1) * 6).unsqueeze(2))


def good() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in range(32):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True)) / 4
        loss.backward()
        if batch % 4 == 3:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            optimizer.zero_grad()


def good_sums_kept_elsewhere() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(6, 3)
        sums = [torch.zeros_like(parameter) for parameter in model.parameters()]
        for sample, label in zip(inputs, inputs.argmax(dim=1) % 2, strict=True):
            torch.nn.functional.cross_entropy(model(sample), label, reduction="sum").backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.2)
            for total, parameter in zip(sums, model.parameters(), strict=True):
                total += parameter.grad if parameter.grad is not None else 0.0
                parameter.grad = None
        for total, parameter in zip(sums, model.parameters(), strict=True):
            parameter.grad = total + 0.02 * torch.randn_like(total)
        optimizer.step()


RULE = Rule(
    code="AD125",
    name="clipped-while-accumulated",
    severity="warning",
    title="gradients are clipped again and again while they are accumulated",
    observes=(
        "Steps on the sum of several backwards of one loss that `clip_grad_norm_`, or a line of the program's own, "
        "clipped again and again as it grew: what the sum was scaled by before the last backward, and that the step "
        "used what the last clipping left."
    ),
    why=(
        "Each clipping scales all that has been accumulated, and the next gradient is added to it in full: the first "
        "micro-batches count ever less, the sum is no longer their mean, and its norm no longer says how large that is."
    ),
    fix="Clip once, after the last backward and before `step()`: in the same `if` as the step.",
    fine=(
        "Limits that the norm hardly exceeds or that only measure it, limits that change between the micro-batches, "
        "gradients that are cleared or put elsewhere before the next backward, hooks that clip what each backward "
        "sends, clippings of other parameters or at other lines (a helper that is called at a line for each loss among "
        "them), losses that differ in their lines, their graphs or their parameters, steps of another optimizer "
        "between two clippings, clipping by value, and gradients that the program changes itself are not reported."
    ),
    needs=(BackwardRan, GradientsClipped, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_in_each_window),
    good=(good, good_sums_kept_elsewhere),
    tunables={
        "minimum_repeats": Tunable(2, "fewest steps on such gradients", MORE_THAN_ONCE),
        "share": Tunable(
            0.9,
            "the most that the first backward counts, where the last one counts 1",
            "chosen: above it, clipping changes little",
        ),
    },
    about="loop",
)
