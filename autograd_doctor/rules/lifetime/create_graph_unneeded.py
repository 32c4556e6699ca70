"""AD309: `create_graph=True` although nothing was differentiated a second time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import no_type_check

from autograd_doctor.events.lifetime import GraphRetained, WeightsAdapted
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import in_bytes, plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_line: dict[Location | None, list[GraphRetained]] = defaultdict(list)
    for event in trace.of(GraphRetained):
        if event.create_graph:
            by_line[event.location].append(event)
    for location, retained in by_line.items():
        if len(retained) >= tunables["times"] and not any(event.used_again for event in retained):
            yield _finding(trace, location, retained)


def _finding(trace: Trace, location: Location | None, retained: Sequence[GraphRetained]) -> Finding:
    most = max(event.bytes_held for event in retained)
    run = trace.backwards.get(retained[-1].backward)
    cycle = run is not None and run.kind == "backward"
    numbers = {event.backward for event in retained}
    idle = next((each for each in trace.of(WeightsAdapted) if each.taken_at == location and _is_idle(each)), None)
    if idle is not None:
        return _idle(idle, retained, most)
    again = any(not numbers.isdisjoint(later.reused) for later in trace.backwards.values())
    return RULE.finding(
        f"{plural(len(retained), 'backward')} built graphs of the gradients, and none was differentiated again; each "
        f"kept up to {in_bytes(most)} of saved activations",
        subject="",
        location=location,
        help="`retain_graph=True` is enough for a second backward" if again else "remove `create_graph=True`",
        evidence={"graphs": len(retained), "bytes_held": most},
        notes=("the parameter and its `.grad` reference each other through the new graph until `.grad` is reset",)
        if cycle
        else (),
        step_first=retained[0].step + 1,
        step_count=len({event.step for event in retained}),
    )


def _is_idle(adapted: WeightsAdapted) -> bool:
    """Whether most of the weights that were made are used by nothing: an evaluation may use some."""
    return 2 * adapted.idle > adapted.made


def _idle(adapted: WeightsAdapted, retained: Sequence[GraphRetained], most: int) -> Finding:
    """The graph was built for weights by which something was to learn: what lacks is their use."""
    return RULE.finding(
        f"weights are made of the gradients that are taken here, with their graph; of {adapted.made:,} that were "
        f"looked at, no operation used {adapted.idle:,} before the optimizer stepped, and no loss went backward "
        "through any",
        subject="",
        location=retained[0].location,
        help="compute the loss that goes backward with the weights that were made; `create_graph=True` is idle without",
        evidence={"graphs": len(retained), "bytes_held": most, "made": adapted.made, "unused": adapted.idle},
        related=(Related("the weights are made here", adapted.location),) if adapted.location is not None else (),
        step_first=retained[0].step + 1,
        step_count=len({event.step for event in retained}),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward(create_graph=True)  # <- AD309
        optimizer.step()


def bad_graph_only_kept_for_the_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    norms = []
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        slopes = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)  # <- AD309
        norms.append(max(slope.detach().norm().item() for slope in slopes))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_gradient_only_logged() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    norms = []
    for _ in range(10):
        x = torch.randn(16, 8, requires_grad=True)
        output = model(x)
        (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)  # <- AD309
        norms.append(slope.norm().item())
        loss = nn.functional.mse_loss(model(x.detach()), x.detach().sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def bad_adapted_in_vain() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        slope = torch.randn(6, 1)
        seen, asked = torch.randn(10, 6), torch.randn(10, 6)
        error = nn.functional.mse_loss(model(seen), seen @ slope)
        (change,) = torch.autograd.grad(error, [model.weight], create_graph=True)  # <- AD309
        weight = model.weight - 0.1 * change
        loss = nn.functional.mse_loss(nn.functional.linear(asked, model.weight, model.bias), asked @ slope)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(weight.shape)


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_gradient_penalty() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(10):
        real, fake = torch.randn(16, 8) + 1, torch.randn(16, 8)
        mix = torch.rand(16, 1)
        between = (mix * real + (1 - mix) * fake).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = (slope.norm(dim=1) - 1).square().mean()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_meta_learning() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    weight, bias = nn.Parameter(torch.randn(1, 8) / 3), nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.Adam([weight, bias], lr=0.01)
    for _ in range(10):
        truth = torch.randn(8, 1)
        x, new_x = torch.randn(16, 8), torch.randn(16, 8)
        inner = nn.functional.mse_loss(nn.functional.linear(x, weight, bias), x @ truth)
        dw, db = torch.autograd.grad(inner, [weight, bias], create_graph=True)
        adapted = nn.functional.linear(new_x, weight - 0.05 * dw, bias - 0.05 * db)
        loss = nn.functional.mse_loss(adapted, new_x @ truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_hessian_vector_product() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(8, 16), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    curvature = []
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(head(torch.tanh(body(x))), x.sum(1, keepdim=True))
        weight = body.weight
        (gradient,) = torch.autograd.grad(loss, weight, create_graph=True)
        direction = torch.ones_like(weight) / weight.numel() ** 0.5
        (product,) = torch.autograd.grad((gradient * direction).sum(), weight, retain_graph=True)
        curvature.append((product * direction).sum().item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def good_used_in_a_custom_backward() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))

        def forward(self, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            with torch.enable_grad():
                z = z.requires_grad_(True)
                f = self.net(z)
                (slope,) = torch.autograd.grad(f[:, 0].sum(), z, create_graph=True)
                return f, slope[:, 0]

    class Adjoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, field: Field, x: torch.Tensor, *parameters: torch.Tensor) -> Any:
            ctx.field = field
            ctx.save_for_backward(x, *parameters)
            f, trace = field(x.detach().clone())
            return f.detach(), trace.detach()

        @staticmethod
        def backward(ctx: Any, *slopes: torch.Tensor) -> Any:
            x, *parameters = ctx.saved_tensors
            with torch.enable_grad():
                y = x.detach().requires_grad_(True)
                outputs = ctx.field(y)
                found = torch.autograd.grad(outputs, [y, *parameters], slopes, allow_unused=True)
            wanted = zip(found, (y, *parameters), strict=True)
            return None, *(torch.zeros_like(of) if each is None else each for each, of in wanted)

    torch.manual_seed(0)
    field = Field()
    optimizer = torch.optim.Adam(field.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 2)
        f, trace = Adjoint.apply(field, x, *field.parameters())
        optimizer.zero_grad()
        ((x + f).square().sum(1).mean() - trace.mean()).backward()
        optimizer.step()


RULE = Rule(
    code="AD309",
    name="create-graph-unneeded",
    severity="warning",
    title="`create_graph=True` although nothing is differentiated twice",
    observes="For every backward that built a graph of the gradients: whether a later backward ran through it; and of "
    "weights that are made of weights and these gradients, whether anything uses them before the optimizer steps.",
    why="The backward itself is recorded and all activations stay in memory, which roughly doubles time and memory; "
    "after `backward()` the gradient and its parameter also form a reference cycle.",
    fix="Remove `create_graph=True`.",
    fine="Gradient penalties, meta-learning, Hessian products.",
    needs=(GraphRetained, BackwardRan, WeightsAdapted),
    examine=examine,
    bad=(bad, bad_graph_only_kept_for_the_loss, bad_gradient_only_logged, bad_adapted_in_vain),
    good=(
        good,
        good_gradient_penalty,
        good_meta_learning,
        good_hessian_vector_product,
        good_used_in_a_custom_backward,
    ),
    tunables={"times": Tunable(2, "fewest graphs of gradients that were built and not used", MORE_THAN_ONCE)},
)
