"""AD114: a step sums the gradients of several micro-batches whose losses are means not divided by their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mode

from autograd_doctor.events.steps import BackwardRan, BatchDrawn, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import called, ordinal, related, same_objective, share, steps_by_optimizer


@dataclass(frozen=True)
class _Sum:
    """The backwards of one objective that a step uses together, each on means, divided by the same number.

    Where they taught different parameters, as those of a head for each task, the objective is a sum.
    used: how many backwards the step uses in all: where other objectives are among them, that may be the number.
    """

    step: OptimizerStepped
    backwards: list[BackwardRan]
    used: int

    @property
    def divisor(self) -> float:
        return self.backwards[0].divisor


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    lengths = {drawn.length for drawn in trace.of(BatchDrawn)}
    for optimizer, steps in steps_by_optimizer(trace).items():
        sums = [each for step in steps if (each := _sum(trace, step)) is not None]
        numbers = lengths | {number for each in sums for number in (len(each.backwards), each.used)}
        summed = [each for each in sums if each.divisor == 1 or each.divisor not in numbers]
        if len(summed) >= tunables["minimum_repeats"]:
            yield _finding(trace, optimizer, summed, _seen_whole(trace, steps, summed))


def _sum(trace: Trace, step: OptimizerStepped) -> _Sum | None:
    if step.in_closure:
        return None
    histories = [use.backwards for use in step.uses if len(use.backwards) > 1 and not (use.consumed or use.reworked)]
    history = max(histories, key=len, default=[])
    ran = [trace.backwards[number] for number in history if number in trace.backwards]
    alike = [one for one in ran if same_objective(trace, one.backward, ran[-1].backward) and one.wrote == ran[-1].wrote]
    divisors = {one.divisor for one in alike}
    independent = len(alike) > 1 and not any(one.reused for one in alike)
    return _Sum(step, alike, len(history)) if independent and len(divisors) == 1 and 0.0 not in divisors else None


def _seen_whole(trace: Trace, steps: list[OptimizerStepped], summed: list[_Sum]) -> int:
    """How many steps there were of which it is known what they sum up: where another optimizer steps in between, light
    steps may hide a part of it."""
    known = {id(each.step) for each in summed}
    since = (-1, *(step.step for step in steps))
    return sum(
        id(step) in known or not any(before < woken <= step.step for woken in trace.woken)
        for before, step in zip(since, steps, strict=False)
    )


def _finding(trace: Trace, optimizer: int | None, summed: list[_Sum], total: int) -> Finding:
    step, backwards, divisor = summed[0].step, summed[0].backwards, summed[0].divisor
    counts = sorted(len(each.backwards) for each in summed)
    count = mode(counts)
    spread = f"{count}" if len({*counts}) == 1 else f"{counts[0]} to {counts[-1]}"
    divided = f" that was divided by {divisor:g}" if divisor != 1 else ""
    return RULE.finding(
        f"{called(trace, optimizer)} stepped on the sum of {spread} backwards, each of a mean over its micro-batch"
        f"{divided}, in {share(len(summed), total)}: the gradient is {count / divisor:.3g} times that of one batch",
        subject=trace.optimizer_name(optimizer),
        location=backwards[0].location,
        help=f"divide the loss by {count} before `backward()`, or choose the learning rate for the sum",
        confidence="medium",
        evidence={"micro_batches": count, "divisor": divisor, "steps": len(summed)},
        related=related(("the sum is used by this step", step.location)),
        step_first=ordinal(step),
        step_count=len(summed),
        parameters=backwards[0].wrote,
    )


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in range(32):
        inputs = torch.randn(4, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()  # <- AD114
        if batch % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def good() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in range(32):
        inputs = torch.randn(4, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True)) / 4
        loss.backward()
        if batch % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def good_summed_and_normalised_by_tokens() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        micro_batches = [torch.randn(length, 4) for length in (3, 5, 8)]
        tokens = sum(len(batch) for batch in micro_batches)
        optimizer.zero_grad()
        for batch in micro_batches:
            scores = model(batch)
            loss = torch.nn.functional.cross_entropy(scores, batch[:, :3].argmax(dim=1), reduction="sum")
            (loss / tokens).backward()
        optimizer.step()


def good_sum_of_squares() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.002)
    for batch in range(24):
        inputs = torch.randn(4, 4)
        targets = inputs.sum(dim=1, keepdim=True)
        torch.nn.functional.mse_loss(model(inputs), targets, reduction="sum").backward()
        if batch % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()


RULE = Rule(
    code="AD114",
    name="accumulation-not-averaged",
    severity="info",
    title="gradients of several micro-batches are summed, not averaged",
    observes=(
        "Steps that use the gradients of several backwards of one loss, where the nodes behind each loss are those of "
        "a mean, or of a sum of means: as it is, or divided by another number than theirs."
    ),
    why="The gradient, and with it the effective learning rate, is N times what a single batch would give, or another "
    "multiple of it.",
    fix="Divide each loss by the number of micro-batches, or by the number of tokens in all of them.",
    fine="Sums over samples or over tasks with parameters of their own, losses that were weighted, or divided by the "
    "number of micro-batches, gradients that the program scales itself before the step, in a hook on a parameter or on "
    "the loss, or by the gradient that it gives to `backward`, a loop of one micro-batch, closures.",
    needs=(BackwardRan, BatchDrawn, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad,),
    good=(good, good_summed_and_normalised_by_tokens, good_sum_of_squares),
    tunables={"minimum_repeats": Tunable(2, "fewest steps on a sum of means that were not divided", MORE_THAN_ONCE)},
    about="loop",
)
