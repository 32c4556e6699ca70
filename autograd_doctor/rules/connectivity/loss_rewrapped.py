"""AD208 loss-rewrapped: backward ran on a fresh leaf instead of the loss."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import values_in


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_place: dict[Location, list[BackwardRan]] = {}
    for backward in trace.of(BackwardRan):
        is_learned = not trace.optimized.isdisjoint(backward.wrote)  # the leaf itself is stepped by an optimizer
        if backward.rewrapped_at is not None and not backward.inputs and not is_learned:
            by_place.setdefault(backward.rewrapped_at, []).append(backward)
    for backwards in by_place.values():
        behind, guessed = values_in(backwards)
        traced = any(backward.values is not None for backward in backwards)
        lost = sorted((behind if behind or traced else trace.optimized) & trace.without_gradient)
        if lost or behind & trace.optimized:
            yield _finding(trace, backwards, lost, sorted(behind & trace.optimized), guessed)


def _finding(trace: Trace, backwards: list[BackwardRan], lost: list[int], behind: list[int], guessed: bool) -> Finding:
    """An error when parameters never learn by it; otherwise only this loss is without effect."""
    first = backwards[0]
    names = trace.parameter_names(lost or behind)
    maker = f"`{first.rewrapped_by}`" if first.rewrapped_by else "this line"
    loss = f"`{first.root.name}`" if first.root.name else "the loss"
    origin = [Related(f"`{cut.operation}` here drops the graph", cut.location) for cut in first.cuts if cut.location]
    if first.location is not None:
        origin.append(Related("this backward ends at the fresh leaf", first.location))
    return RULE.finding(
        f"{maker} makes {loss} a fresh leaf, so its backward reaches none of {names}",
        subject=first.root.name or "loss",
        location=first.rewrapped_at,
        help="run `backward()` on the tensor that the model's operations made; if that one has no graph, look for the "
        "operation that dropped it, instead of setting `requires_grad` again",
        severity=None if lost else "warning",
        confidence="high" if behind and lost else "medium",
        guessed=guessed,
        evidence={
            "rewrapped_by": first.rewrapped_by,
            "parameters_behind_it": [trace.parameter_name(parameter) for parameter in (lost or behind)[:20]],
            "number_of_parameters": len(lost or behind),
            "backwards": len(backwards),
        },
        related=tuple(origin),
        step_first=first.step + 1,
        step_count=len(backwards),
        parameters=lost or behind,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 4)
    labels = x[:, :3].argmax(1)
    for _ in range(8):
        wrong = (model(x).argmax(1) != labels).float().mean()
        loss = wrong.requires_grad_()  # <- AD208
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_tensor() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 4)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        error = nn.functional.l1_loss(model(x), y)
        loss = torch.tensor(error.item(), requires_grad=True)  # <- AD208
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_variable() -> None:
    import torch
    from torch import nn
    from torch.autograd import Variable

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 4)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        error = nn.functional.mse_loss(model(x), y)
        loss = Variable(error.data, requires_grad=True)  # <- AD208
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 4)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        loss = nn.functional.l1_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_gradient_penalty() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizers = [torch.optim.Adam(network.parameters(), lr=1e-3) for network in (generator, critic)]
    for _ in range(6):
        real, fake = torch.randn(32, 2) + 2, generator(torch.randn(32, 3))
        mix = torch.rand(32, 1)
        between = (mix * real + (1 - mix) * fake.data).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = (slope.norm(dim=1) - 1).square().mean()
        optimizers[1].zero_grad()
        (critic(fake.detach()).mean() - critic(real).mean() + 10 * penalty).backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        (-critic(fake).mean()).backward()
        optimizers[0].step()


def good_input_optimization() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)).requires_grad_(False)
    image = torch.zeros(1, 4).requires_grad_()
    optimizer = torch.optim.Adam([image], lr=0.05)
    for _ in range(8):
        loss = (model(image) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD208",
    name="loss-rewrapped",
    severity="error",
    title="backward ran on a fresh leaf that is cut off from the model",
    observes="A backward whose root is a leaf that was made from values of the parameters: by `requires_grad_()`, by "
    "`torch.tensor(…, requires_grad=True)` or by `Variable`.",
    why="The new leaf only silences the error that a loss without a graph raises: the gradient ends at the leaf, and "
    "no parameter gets one.",
    fix="Remove the wrapping and run `backward` on the loss itself. If that fails, the loss was cut from the graph "
    "before, often by `argmax`, `.item()` or `.data`.",
    fine="A leaf made on purpose to get its own gradient: an input that is optimized, interpolates of a penalty.",
    needs=(BackwardRan, OptimizerBuilt, OptimizerStepped, ForwardRan),
    examine=examine,
    bad=(bad, bad_tensor, bad_variable),
    good=(good, good_gradient_penalty, good_input_optimization),
    folds=("AD201", "AD202", "AD203", "AD103", "AD104", "AD105", "AD111", "AD410", "AD506", "AD599", "AD116"),
)
