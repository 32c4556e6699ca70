"""AD220 leaf-not-optimized: a tensor made with `requires_grad` collects gradients, and nothing ever uses them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.connectivity import LeafCollected, LeafUsed
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt, ValuesShared
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.left_out import left_out, parameters_left_out
from autograd_doctor.views.so_far import has_ended
from autograd_doctor.wording import plural, shape


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    minimum = int(tunables["minimum_steps"])
    unused = {event.parameter for event in trace.of(LeafCollected)} - {event.parameter for event in trace.of(LeafUsed)}
    idle = unused & left_out(trace, minimum) - parameters_left_out(trace, minimum)
    by_line: dict[Location | None, list[int]] = {}
    for event in trace.of(LeafCollected):
        if event.parameter in idle:
            by_line.setdefault(event.location, []).append(event.parameter)
    for location, leaves in by_line.items():
        yield _finding(trace, location, leaves)


def _finding(trace: Trace, location: Location | None, leaves: list[int]) -> Finding:
    backwards = [event for event in trace.of(BackwardRan) if not set(leaves).isdisjoint(event.wrote)]
    seen = [trace.parameters[leaf] for leaf in leaves if leaf in trace.parameters]
    filled_at = next((event.location for event in backwards if event.location is not None), None)
    one = len(leaves) == 1
    optimizer = next(iter(trace.optimizers.values()), None)
    places = {"this backward fills its `.grad`": filled_at}
    if optimizer is not None:
        places[f"`{optimizer.name or optimizer.kind}` was made without {'it' if one else 'them'}"] = optimizer.location
    stopped = not has_ended(trace)
    return RULE.finding(
        f"{trace.parameter_names(leaves)} got gradients from {plural(len(backwards), 'backward')}; no optimizer holds "
        f"{'it' if one else 'them'}, and nothing read {'its' if one else 'their'} `.grad`",
        subject=trace.parameter_name(leaves[0]),
        location=location or filled_at,
        help=f"give {'it' if one else 'them'} to the optimizer if {'it is' if one else 'they are'} to be learned, or "
        "make it without `requires_grad`",
        severity="info" if stopped else None,
        confidence="medium" if stopped else "high",
        evidence={
            "leaves": [trace.parameter_name(leaf) for leaf in leaves[:20]],
            "number_of_leaves": len(leaves),
            "shapes": [shape(event.shape) for event in seen[:20]],
            "backwards": len(backwards),
        },
        notes=("the run was stopped: a program that reads it at its end needs it",) if stopped else (),
        related=tuple(Related(text, place) for text, place in places.items() if location and place),
        step_first=backwards[0].step + 1,
        step_count=len({event.step for event in backwards}),
        parameters=leaves,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    image, text = nn.Linear(12, 6), nn.Linear(8, 6)
    scale = torch.tensor(1.0, requires_grad=True)  # <- AD220
    optimizer = torch.optim.Adam([*image.parameters(), *text.parameters()], lr=0.01)
    for _ in range(8):
        a = nn.functional.normalize(image(torch.randn(16, 12)), dim=1)
        b = nn.functional.normalize(text(torch.randn(16, 8)), dim=1)
        loss = nn.functional.cross_entropy(scale.exp() * a @ b.T, torch.arange(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_weights_of_a_loss() -> None:
    import torch
    from torch import nn

    class Weighted:
        def __init__(self) -> None:
            self.log_variances = torch.zeros(2)
            self.log_variances.requires_grad = True  # <- AD220

        def __call__(self, *losses: torch.Tensor) -> torch.Tensor:
            s = self.log_variances
            return torch.stack([torch.exp(-s[i]) * loss + s[i] for i, loss in enumerate(losses)]).sum()

    torch.manual_seed(0)
    model, combine = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2)), Weighted()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(64, 6)
    for _ in range(8):
        first, second = model(x).unbind(1)
        optimizer.zero_grad()
        combine((first - x[:, 0]).square().mean(), (second - x[:, 1]).abs().mean()).backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    image, text = nn.Linear(12, 6), nn.Linear(8, 6)
    scale = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.Adam([*image.parameters(), *text.parameters(), scale], lr=0.01)
    for _ in range(8):
        a = nn.functional.normalize(image(torch.randn(16, 12)), dim=1)
        b = nn.functional.normalize(text(torch.randn(16, 8)), dim=1)
        loss = nn.functional.cross_entropy(scale.exp() * a @ b.T, torch.arange(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_importance_read_at_the_end() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.Linear(6, 8), nn.Linear(8, 1)
    mask = torch.ones(8, requires_grad=True)
    optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.05)
    x = torch.randn(64, 6)
    for _ in range(15):
        optimizer.zero_grad()
        nn.functional.mse_loss(head(torch.relu(layer(x)) * mask), x.sum(1, keepdim=True)).backward()
        optimizer.step()
    assert mask.grad is not None
    print(mask.grad.abs().argsort())


def good_slopes_at_fixed_points() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    points = torch.rand(32, 2).requires_grad_()
    for _ in range(8):
        t, x = points[:, :1], points[:, 1:]
        u = net(torch.cat([t, x], 1))
        (slope,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        optimizer.zero_grad()
        ((slope + u).square().mean() + (net(torch.zeros(1, 2)) - 1.0).square().mean()).backward()
        optimizer.step()


def good_updated_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    shift = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 4)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x + shift), x.sum(1, keepdim=True)).backward()
        optimizer.step()
        with torch.no_grad():
            if shift.grad is not None:
                shift += 0.01 * shift.grad.sign()
        shift.grad = None


def good_hook() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.Linear(6, 8), nn.Linear(8, 1)
    gate = torch.ones(8, requires_grad=True)
    seen = []
    gate.register_hook(lambda slope: seen.append(slope.abs().mean().item()))
    optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.05)
    x = torch.randn(64, 6)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(head(torch.relu(layer(x)) * gate), x.sum(1, keepdim=True)).backward()
        optimizer.step()


RULE = Rule(
    code="AD220",
    name="leaf-not-optimized",
    severity="warning",
    title="a leaf collects gradients, and nothing uses them",
    observes="A tensor that was made with `requires_grad`, outside of modules and without `nn.Parameter`, to which the "
    "backwards that train the rest wrote a gradient in several steps. No optimizer holds it, its values never change, "
    "and nobody read its `.grad`.",
    why="What was meant to be learned, such as a temperature, a prompt or the weights of several losses, keeps its "
    "first values; its gradient adds up in `.grad` for ever.",
    fix="Give it to the optimizer, best as an `nn.Parameter` of a module, or make it without `requires_grad`.",
    fine="Saliency, adversarial examples and gradient penalties, which ask for the gradient; leaves that are updated "
    "by hand, carry a hook, are the input of a checkpoint, or are made anew in every step. Where the run was "
    "stopped before the end of the program, which may read `.grad` there, this is an `info`.",
    needs=(
        BackwardRan,
        ForwardRan,
        LeafCollected,
        LeafUsed,
        ModuleSeen,
        OptimizerBuilt,
        OptimizerStepped,
        RunEnded,
        ValuesShared,
    ),
    examine=examine,
    bad=(bad, bad_weights_of_a_loss),
    good=(
        good,
        good_importance_read_at_the_end,
        good_slopes_at_fixed_points,
        good_updated_by_hand,
        good_hook,
    ),
    tunables={"minimum_steps": Tunable(3, "fewest steps with a gradient that nothing uses", NO_BEGINNING)},
)
