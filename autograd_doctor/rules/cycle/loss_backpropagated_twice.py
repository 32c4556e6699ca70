"""AD113: the same loss went backward twice before one step, so that its gradient counts double."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import ordinal, related, share

Pair = tuple[BackwardRan, BackwardRan, OptimizerStepped]


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    places: dict[Location | None, list[Pair]] = {}
    for step in trace.steps:
        for pair in _doubled(trace, step):
            places.setdefault(pair[1].location, []).append(pair)
    for pairs in places.values():
        if len({id(step) for _, _, step in pairs}) >= tunables["minimum_repeats"]:
            yield _finding(trace, pairs)


def _doubled(trace: Trace, step: OptimizerStepped) -> Iterator[Pair]:
    """Pairs of backwards of one loss whose gradients a step used together; gradients cleared in between are gone."""
    together = {tuple(use.backwards[len(use.consumed) :]) for use in step.uses}
    seen: set[int] = set()
    for history in together:
        ran = [trace.backwards[number] for number in history if number in trace.backwards]
        for position, second in enumerate(ran):
            first = next((first for first in ran[:position] if _same_loss(first, second)), None)
            if first is not None and second.backward not in seen and not _makes_a_whole(second, ran):
                seen.add(second.backward)
                yield first, second, step


def _makes_a_whole(one: BackwardRan, ran: list[BackwardRan]) -> bool:
    """Whether all gradients of a step are of one loss, divided by how many they are: their mean, where a backward draws
    at random."""
    return one.divisor >= len(ran) and all(
        other is one or _same_loss(other, one) or _same_loss(one, other) for other in ran
    )


def _same_loss(first: BackwardRan, second: BackwardRan) -> bool:
    """Whether the second ran on the first one's loss again: on itself, on a sum of it with others, or on a twin.

    A twin runs through the same nodes from a root of the same value; zero is no evidence. A backward towards chosen
    inputs, or one that builds a graph of its own, has its reasons.
    """
    plain = first.kind == second.kind == "backward" and not any(
        ran.inputs or ran.create_graph or ran.root.numel != 1 for ran in (first, second)
    )
    twins = (
        first.backward in second.reused
        and first.nodes == second.nodes
        and first.wrote == second.wrote
        and _value(first) == _value(second) is not None
    )
    return plain and (twins or first.backward in second.contains)


def _value(ran: BackwardRan) -> float | None:
    value = ran.root.low
    return value if value and isfinite(value) else None


def _finding(trace: Trace, pairs: list[Pair]) -> Finding:
    first, second, step = pairs[0]
    steps = len({id(step) for _, _, step in pairs})
    optimizer = trace.optimizer_name(step.optimizer)
    total = sum(one.optimizer == step.optimizer for one in trace.steps)
    name = f"`{first.root.name}`" if first.root.name else "one loss"
    whole = f"`{second.root.name}`" if second.root.name else "a larger loss"
    part = first.nodes < second.nodes
    how = f"by itself and again as a part of {whole}" if part else "twice"
    return RULE.finding(
        f"{name} went backward {how} before one step, so that its gradient for "
        f"{trace.parameter_names(first.wrote)} counts double, in {share(steps, total)}",
        subject=first.root.name or "loss",
        location=second.location,
        help="take one of the two `backward()` calls out" if not part else "go backward from the sum alone",
        confidence="high" if first.root.made_at == second.root.made_at else "medium",
        evidence={"steps": steps, "loss": first.root.low or 0.0, "nodes": second.nodes},
        related=related(
            ("the first backward of this loss", first.location), (f"`{optimizer}` steps here", step.location)
        ),
        step_first=ordinal(second),
        step_count=steps,
        parameters=first.wrote,
    )


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        loss.backward()  # <- AD113
        optimizer.step()


def bad_logged_by_going_backward() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
            self.norms: list[float] = []

        def log_gradient_norm(self, loss: torch.Tensor) -> None:
            loss.backward(retain_graph=True)
            gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
            self.norms.append(float(torch.stack([gradient.norm() for gradient in gradients]).norm()))

        def step(self, inputs: torch.Tensor) -> None:
            loss = (self.model(inputs) - inputs.sum(dim=1, keepdim=True)).square().mean()
            self.optimizer.zero_grad()
            self.log_gradient_norm(loss)
            loss.backward()  # <- AD113
            self.optimizer.step()

    torch.manual_seed(0)
    trainer = Trainer()
    for _ in range(8):
        trainer.step(torch.randn(16, 4))


def bad_once_more_within_the_sum() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, value, label = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 2)
    optimizer = torch.optim.SGD([*body.parameters(), *value.parameters(), *label.parameters()], lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        hidden = body(inputs).tanh()
        regression = nn.functional.mse_loss(value(hidden), inputs.sum(dim=1, keepdim=True))
        classification = nn.functional.cross_entropy(label(hidden), (inputs[:, 0] > 0).long())
        optimizer.zero_grad()
        regression.backward(retain_graph=True)
        (regression + classification).backward()  # <- AD113
        optimizer.step()


def good() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_two_losses_on_one_graph() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, value, label = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 2)
    optimizer = torch.optim.SGD([*body.parameters(), *value.parameters(), *label.parameters()], lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        hidden = body(inputs).tanh()
        regression = nn.functional.mse_loss(value(hidden), inputs.sum(dim=1, keepdim=True))
        classification = nn.functional.cross_entropy(label(hidden), (inputs[:, 0] > 0).long())
        optimizer.zero_grad()
        regression.backward(retain_graph=True)
        classification.backward()
        optimizer.step()


def good_gradient_penalty() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4, requires_grad=True)
        outputs = model(inputs)
        loss = nn.functional.mse_loss(outputs, inputs.detach().sum(dim=1, keepdim=True))
        (slope,) = torch.autograd.grad(outputs.sum(), inputs, create_graph=True)
        optimizer.zero_grad()
        (loss + 0.1 * (slope.norm(dim=1) - 2).square().mean()).backward()
        optimizer.step()


RULE = Rule(
    code="AD113",
    name="loss-backpropagated-twice",
    severity="error",
    title="one loss went backward twice before one step",
    observes=(
        "Backwards that run through nodes which an earlier one has run through already, from a root of the very same "
        "value over as many nodes, or through the root of that one, and whose gradients one step then uses together."
    ),
    why="The gradient of that loss counts double: beside other losses its weight is wrong, alone the rate is doubled.",
    fix="Call `backward()` once per loss; read gradient norms after it instead of going backward for them.",
    fine=(
        "Different losses on one graph, penalties on gradients made with `create_graph`, backwards towards chosen "
        "`inputs`, a backward whose gradients are cleared before the next, and a loss divided by how often it goes "
        "backward in a step."
    ),
    needs=(BackwardRan, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_logged_by_going_backward, bad_once_more_within_the_sum),
    good=(good, good_two_losses_on_one_graph, good_gradient_penalty),
    tunables={"minimum_repeats": Tunable(2, "fewest steps on a gradient that counts double", MORE_THAN_ONCE)},
    folds=("AD304",),
    about="loop",
)
