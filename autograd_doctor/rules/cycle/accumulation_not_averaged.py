"""AD114: a step sums the gradients of several micro-batches whose losses are means that were not divided."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import called, ordinal, related, same_objective, share, steps_by_optimizer


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for optimizer, steps in steps_by_optimizer(trace).items():
        summed = [(step, backwards) for step in steps if len(backwards := _summed(trace, step)) > 1]
        if len(summed) >= tunables["minimum_repeats"]:
            yield _finding(trace, optimizer, summed, len(steps))


def _summed(trace: Trace, step: OptimizerStepped) -> list[BackwardRan]:
    """The backwards of one objective that the step uses together, if each ran on a mean as it came.

    A loss that was divided, weighted or added to others was not made by the operation that took the mean.
    """
    if step.in_closure:
        return []
    histories = [use.backwards for use in step.uses if len(use.backwards) > 1 and not use.consumed and not use.altered]
    history = max(histories, key=len, default=[])
    ran = [trace.backwards[number] for number in history if number in trace.backwards]
    alike = [one for one in ran if same_objective(trace, one.backward, ran[-1].backward)]
    independent = not any(one.reused for one in alike)
    return alike if independent and all(one.reduction == "mean" for one in alike) else []


def _finding(
    trace: Trace, optimizer: int | None, summed: list[tuple[OptimizerStepped, list[BackwardRan]]], total: int
) -> Finding:
    step, backwards = summed[0]
    counts = sorted({len(used) for _, used in summed})
    count = counts[-1]
    spread = f"{count}" if len(counts) == 1 else f"{counts[0]} to {count}"
    return RULE.finding(
        f"{called(trace, optimizer)} stepped on the sum of {spread} backwards, each of a mean over its micro-batch, in "
        f"{share(len(summed), total)}: the gradient is {count} times that of one batch",
        subject=trace.optimizer_name(optimizer),
        location=backwards[0].location,
        help=f"divide the loss by {count} before `backward()`, or choose the learning rate for the sum",
        confidence="medium",
        evidence={"micro_batches": count, "steps": len(summed)},
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
        "Steps that use the gradients of several backwards of one loss, where the node behind each loss is a mean: it "
        "was not divided by their number."
    ),
    why="The gradient, and with it the effective learning rate, is N times what a single batch would give.",
    fix="Divide each loss by the number of micro-batches, or by the number of tokens in all of them.",
    fine="Sums over samples, losses that were divided or weighted, a loop of one micro-batch, closures.",
    needs=(BackwardRan, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad,),
    good=(good, good_summed_and_normalised_by_tokens, good_sum_of_squares),
    tunables={"minimum_repeats": Tunable(2, "fewest steps on a sum of means that were not divided", MORE_THAN_ONCE)},
    about="loop",
)
