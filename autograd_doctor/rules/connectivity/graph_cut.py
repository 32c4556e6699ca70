"""AD202 graph-cut: parameters whose values reach the loss, but whose gradients do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from autograd_doctor.events.steps import BackwardRan, Cut, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import missed_by, seen_first
from autograd_doctor.views.crash import lacks_graph
from autograd_doctor.views.cuts import called, help_for


@dataclass
class _Found:
    """One place that cuts, the parameters that it deprives, and the backwards in which it did.

    `guessed`: it was not seen to in any of them.
    """

    cut: Cut
    guessed: bool = True
    parameters: set[int] = field(default_factory=set)
    backwards: list[BackwardRan] = field(default_factory=list)
    others: dict[Location, Cut] = field(default_factory=dict)


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    found: dict[tuple[str, Location | None], _Found] = {}
    teaches = _parameters_stepped_after(trace)
    taught = {
        p
        for number, held in teaches.items()
        for cut in trace.backwards[number].cuts
        for p in held.intersection(cut.parameters)
    }
    for backward in trace.of(BackwardRan):
        if backward.rewrapped_at is None and (backward.kind == "backward" or lacks_graph(backward)):
            _gather(trace, backward, taught - teaches.get(backward.backward, frozenset()), found)
    for one in found.values():
        yield _finding(trace, one)


def _parameters_stepped_after(trace: Trace) -> dict[int, frozenset[int]]:
    """Per backward, the parameters of the optimizers that stepped right after it: those that its loss is to teach."""
    stepped: dict[int, frozenset[int]] = {}
    latest: int | None = None
    for event in trace.events:
        if isinstance(event, BackwardRan):
            latest = event.backward
        elif isinstance(event, OptimizerStepped) and latest is not None and event.optimizer is not None:
            held = trace.optimizer_parameters.get(event.optimizer, frozenset())
            stepped[latest] = stepped.get(latest, frozenset()) | held
    return stepped


def _gather(
    trace: Trace, backward: BackwardRan, others: set[int], found: dict[tuple[str, Location | None], _Found]
) -> None:
    """Blame each parameter that was missed on the first operation that cut it; later ones on its way are only related.

    `others` are the parameters that another loss is to teach, as a generator's where a discriminator learns.
    """
    first: _Found | None = None
    blamed: set[int] = set()
    for cut in seen_first(cut for cut in backward.cuts if cut.reason != "grad-mode"):
        lost = _lost(trace, backward, cut) - others
        if lost - blamed:
            first = found.setdefault((cut.operation, cut.location), _Found(cut))
            first.guessed &= cut.guessed
            first.parameters |= lost - blamed
            first.backwards.append(backward)
            blamed |= lost
        elif lost and first is not None and cut.location is not None and cut.location != first.cut.location:
            first.others[cut.location] = cut


def _lost(trace: Trace, backward: BackwardRan, cut: Cut) -> set[int]:
    if cut.reason == "zero-derivative" and not lacks_graph(backward):
        norms = trace.gradient_norms
        return {p for p in cut.parameters if p in norms and not any(norms[p]) and p not in trace.frozen}
    return set(missed_by(trace, backward, cut.parameters) & _still_used(trace, backward))


def _still_used(trace: Trace, backward: BackwardRan) -> frozenset[int]:
    """Parameters of the newest such backward: one that was replaced on the way (a codebook kept by hand) is not cut.

    One that comes first after light steps may lack what these made, as the samples of a generator.
    """
    traced = [event for event in trace.of(BackwardRan) if event.location == backward.location and event.values]
    whole = [event for event in traced if event.step not in trace.woken] or traced
    return frozenset(whole[-1].values or ()) if whole else frozenset(p for c in backward.cuts for p in c.parameters)


def _finding(trace: Trace, one: _Found) -> Finding:
    cut, first, parameters = one.cut, one.backwards[0], sorted(one.parameters)
    names = trace.parameter_names(parameters)
    what = f"`{cut.tensor}`" if cut.tensor else "the values"
    if cut.reason == "zero-derivative":
        message = f"`{cut.operation}` has derivative zero everywhere, so the gradients of {names} are exactly zero"
    else:
        message = (
            f"{called(cut.operation)} passes on {what} without the graph, so no gradient of the loss reaches {names}"
        )
    is_late = trace.left_behind.keys() >= one.parameters
    notes = ["an earlier stage of the run made them learn; the optimizer that steps now holds them as well"] * is_late
    if first.error:
        notes.append(f"the backward failed: {first.error}")
    related = [Related(f"`{other.operation}` here drops the graph too", place) for place, other in one.others.items()]
    if first.location is not None:
        related.append(Related("this backward does not reach them", first.location))
    return RULE.finding(
        message,
        subject=cut.tensor or trace.parameter_name(parameters[0]),
        location=cut.location or first.location,
        severity="warning" if is_late else None,
        guessed=one.guessed,
        help=help_for(cut),
        evidence={
            "operation": cut.operation,
            "parameters_without_gradient": [trace.parameter_name(parameter) for parameter in parameters[:20]],
            "number_of_parameters": len(parameters),
            "backwards": len(one.backwards),
        },
        related=tuple(related),
        notes=tuple(notes),
        step_first=first.step + 1,
        step_count=len(one.backwards),
        parameters=parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head = nn.Sequential(nn.Linear(6, 8), nn.Tanh()), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True).tanh()
    for _ in range(8):
        features = encoder(x).detach()  # <- AD202
        loss = nn.functional.mse_loss(head(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_generator() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(4, 6), nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=0.01)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    judge = nn.functional.binary_cross_entropy_with_logits
    for _ in range(8):
        fake, real = generator(torch.randn(16, 4)), torch.rand(16, 6)
        generator_optimizer.zero_grad()
        judge(critic(fake.detach()), torch.ones(16, 1)).backward()  # <- AD202
        generator_optimizer.step()
        critic_optimizer.zero_grad()
        verdict = judge(critic(real), torch.ones(16, 1)) + judge(critic(fake.detach()), torch.zeros(16, 1))
        verdict.backward()
        critic_optimizer.step()


def bad_data() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Linear(6, 8)
            self.head = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = torch.relu(self.encoder(x))
            hidden = hidden.data / hidden.norm(dim=1, keepdim=True).clamp_min(1e-6).data  # <- AD202
            return self.head(hidden)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(32, 6)
    y = x[:, :1].sin()
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def bad_item() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    log_scale = nn.Parameter(torch.zeros(()))
    optimizer = torch.optim.Adam([*model.parameters(), log_scale], lr=0.05)
    x = torch.randn(32, 4)
    y = x.sum(1, keepdim=True) + 0.3 * torch.randn(32, 1)
    for _ in range(8):
        scale = log_scale.add(1.37).exp().item()  # <- AD202
        loss = ((model(x) - y) / scale).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_numpy() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(32, 4)
    for _ in range(8):
        prediction = model(x).squeeze(1).detach().numpy()  # <- AD202
        np.clip(prediction, -3, 3, out=prediction)
        loss = (torch.from_numpy(prediction) - x.sum(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_rebuilt_list() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    samples = [(x, x.sum()) for x in torch.randn(16, 4)]
    for _ in range(8):
        losses = [(model(x)[0] - y).square() for x, y in samples]
        loss = torch.tensor(losses).mean()  # <- AD202
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_argmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 4)
    labels = x[:, :3].argmax(1)
    for _ in range(8):
        predicted = model(x).argmax(1)  # <- AD202
        loss = (predicted != labels).float().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_round() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    x = torch.randn(32, 6)
    for _ in range(8):
        code = torch.round(4 * torch.tanh(encoder(x)))  # <- AD202
        loss = nn.functional.mse_loss(decoder(code), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_custom_function() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Quantize(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, levels: int) -> torch.Tensor:
            y = (x * levels).round() / levels
            ctx.mark_non_differentiable(y)
            return y

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0], None

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    x = torch.randn(32, 6)
    for _ in range(8):
        code = Quantize.apply(torch.tanh(encoder(x)), 4)  # type: ignore[no-untyped-call]  # <- AD202
        loss = nn.functional.mse_loss(decoder(code), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head = nn.Sequential(nn.Linear(6, 8), nn.Tanh()), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True).tanh()
    history = []
    for _ in range(8):
        loss = nn.functional.mse_loss(head(encoder(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())


def good_byol() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    online = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
    predictor = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=0.01)
    x = torch.randn(64, 6)
    for _ in range(10):
        one, two = (x + 0.1 * torch.randn_like(x) for _ in range(2))
        prediction = predictor(online(one))
        loss = 1 - nn.functional.cosine_similarity(prediction, target(two).detach(), dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
                slow.lerp_(fast, 0.01)


def good_straight_through() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    x = torch.randn(64, 6)
    for _ in range(10):
        soft = 4 * torch.tanh(encoder(x))
        code = soft + (soft.round() - soft).detach()
        loss = nn.functional.mse_loss(decoder(code), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_vector_quantization() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder, codebook = nn.Linear(6, 4), nn.Linear(4, 6), nn.Embedding(8, 4)
    parameters = [*encoder.parameters(), *decoder.parameters(), *codebook.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    x = torch.randn(64, 6)
    for _ in range(10):
        z = encoder(x)
        nearest = torch.cdist(z, codebook.weight).argmin(dim=1)
        quantized = codebook(nearest)
        commitment = nn.functional.mse_loss(z, quantized.detach())
        dictionary = nn.functional.mse_loss(quantized, z.detach())
        reconstruction = decoder(z + (quantized - z).detach())
        loss = nn.functional.mse_loss(reconstruction, x) + dictionary + 0.25 * commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_temporal_difference() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    target = copy.deepcopy(q)
    optimizer = torch.optim.Adam(q.parameters(), lr=0.01)
    for step in range(10):
        state, following = torch.randn(32, 4), torch.randn(32, 4)
        action, reward = torch.randint(0, 2, (32, 1)), torch.randn(32)
        best = q(following).argmax(1, keepdim=True)
        goal = reward + 0.9 * target(following).gather(1, best).squeeze(1).detach()
        loss = nn.functional.smooth_l1_loss(q(state).gather(1, action).squeeze(1), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            target.load_state_dict(q.state_dict())


def good_actor_critic() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(10):
        state = torch.randn(32, 4)
        policy = torch.distributions.Categorical(logits=actor(state))
        action = policy.sample()
        returns = state[:, 0] * (2 * action - 1).float() + 0.1 * torch.randn(32)
        value = critic(state).squeeze(1)
        advantage = returns - value.detach()
        loss = -(policy.log_prob(action) * advantage).mean() + nn.functional.mse_loss(value, returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_gan() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    loss_of = nn.BCEWithLogitsLoss()
    for _ in range(10):
        real, fake = torch.randn(32, 2) + 1, generator(torch.randn(32, 4))
        critic_optimizer.zero_grad()
        loss = loss_of(critic(real), torch.ones(32, 1)) + loss_of(critic(fake.detach()), torch.zeros(32, 1))
        loss.backward()
        critic_optimizer.step()
        generator_optimizer.zero_grad()
        loss_of(critic(fake), torch.ones(32, 1)).backward()
        generator_optimizer.step()


def good_truncated_backpropagation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(3, 8), nn.Linear(8, 3)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    signal = torch.sin(torch.arange(0, 40, 0.1)).view(-1, 1).repeat(1, 3) + 0.1 * torch.randn(400, 3)
    hidden = torch.zeros(1, 8)
    for start in range(0, 80, 8):
        loss = torch.zeros(())
        for now in range(start, start + 8):
            hidden = cell(signal[now : now + 1], hidden)
            loss = loss + nn.functional.mse_loss(head(hidden), signal[now + 1 : now + 2]) / 8
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hidden = hidden.detach()


def good_distillation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    teacher = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
    student = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
    x = torch.randn(64, 6)
    for _ in range(10):
        wanted = teacher(x).detach().softmax(dim=1)
        loss = nn.functional.cross_entropy(student(x), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD202",
    name="graph-cut",
    severity="error",
    title="an operation cut parameters off from the loss",
    observes="Parameters of an optimizer whose values flow into the loss while no backward of the run reaches them, "
    "and the operation that dropped their graph. Rounding counts as one: it keeps the graph, with gradients of zero.",
    why="The loss falls a little, because what lies behind the cut still learns, and the parameters before it stay as "
    "they were initialised. Nothing crashes unless everything was cut.",
    fix="Keep the computation in the graph: remove `detach` or `.data`, stay with tensors instead of numbers and NumPy "
    "arrays, build losses on scores instead of decisions, use straight-through estimators for rounding.",
    fine="A stop-gradient that leaves every optimized parameter another path is how BYOL, VQ-VAE, TD learning, GANs "
    "and truncated backpropagation work, and is not reported. Neither are parameters that no optimizer holds.",
    needs=(BackwardRan, OptimizerBuilt, OptimizerStepped, ForwardRan),
    examine=examine,
    bad=(
        bad,
        bad_generator,
        bad_data,
        bad_item,
        bad_numpy,
        bad_rebuilt_list,
        bad_argmax,
        bad_round,
        bad_custom_function,
    ),
    good=(
        good,
        good_byol,
        good_straight_through,
        good_vector_quantization,
        good_temporal_difference,
        good_actor_critic,
        good_gan,
        good_truncated_backpropagation,
        good_distillation,
    ),
    folds=("AD410", "AD203", "AD103", "AD104", "AD111", "AD506", "AD599", "AD116", "AD216", "AD217"),
)
