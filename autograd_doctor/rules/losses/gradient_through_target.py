"""AD618 gradient-through-target: a bootstrapped target has a graph to the parameters that chase it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import TargetLearned
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.events.subjects import ParameterCopied, ParameterSeen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import in_several_steps


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    copied = {event.parameter for event in trace.of(ParameterCopied)}
    learned = [event for event in trace.of(TargetLearned) if not event.chasing or copied.issuperset(event.parameters)]
    for events in in_several_steps(trace, learned, lambda event: event.target_at, tunables["minimum_steps"]):
        yield _finding(trace, events)


def _finding(trace: Trace, events: list[TargetLearned]) -> Finding:
    event = events[0]
    chosen = (
        ("the target is compared with the prediction here", event.compared_at),
        ("the target comes from this pass", event.target_pass_at),
        ("the prediction comes from this one", event.other_pass_at),
    )
    related: list[Related] = []
    for message, location in chosen:
        if location is not None and location != event.target_at:
            related.append(Related(message, location))
    names, chasing = trace.parameter_names(event.parameters), trace.parameter_names(event.chasing)
    whose = f"{names}, copies of {chasing} that" if event.chasing else f"the same parameters, {names}, that"
    return RULE.finding(
        f"the target of `{event.comparison}` is data plus a prediction of {whose} are to meet it, and it carries a "
        f"gradient to them{', which an optimizer follows' if event.chasing else ''}",
        subject=trace.parameter_name(event.parameters[0]),
        location=event.target_at,
        help="compute the target under `torch.no_grad()`, or `detach()` it here; residual gradients, if these are "
        "meant, want two independent draws of what follows",
        confidence="medium",
        evidence={"parameters": len(event.parameters)},
        related=tuple(related),
        step_first=event.step + 1,
        step_count=len(events),
        parameters=event.parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(10):
        state, noise = torch.randn(32, 4), torch.randn(32, 4)
        reward, following = state[:, 0], 0.9 * state + 0.1 * noise
        target = reward + 0.95 * value(following).squeeze(1)  # <- AD618
        loss = nn.functional.mse_loss(value(state).squeeze(1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_advantage() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(10):
        state, action, alive = torch.randn(32, 4), torch.randint(0, 3, (32, 1)), torch.rand(32) > 0.1
        following = state.roll(1, dims=1)
        chosen = value(state).gather(1, action).squeeze(1)
        best = value(following).max(1).values
        goal = state[:, 0] + 0.95 * best * alive.float()  # <- AD618
        loss = (goal - chosen).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_target_network() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    target = copy.deepcopy(value)
    both = nn.ModuleDict({"value": value, "target": target})
    optimizer = torch.optim.Adam(both.parameters(), lr=0.01)
    for step in range(12):
        state, noise = torch.randn(32, 4), torch.randn(32, 4)
        reward, following = state[:, 0], 0.9 * state + 0.1 * noise
        goal = reward + 0.95 * target(following).squeeze(1)  # <- AD618
        loss = nn.functional.smooth_l1_loss(value(state).squeeze(1), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            target.load_state_dict(value.state_dict())


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(10):
        state, noise = torch.randn(32, 4), torch.randn(32, 4)
        reward, following = state[:, 0], 0.9 * state + 0.1 * noise
        with torch.no_grad():
            target = reward + 0.95 * value(following).squeeze(1)
        loss = nn.functional.mse_loss(value(state).squeeze(1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_two_that_learn() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    whole, rest = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*whole.parameters(), *rest.parameters()], lr=0.01)
    for _ in range(10):
        state = torch.randn(32, 4)
        trend = state.sum(1, keepdim=True)
        supervised = (whole(state) - trend.sin()).square().mean()
        agreeing = nn.functional.mse_loss(whole(state), trend + 0.5 * rest(state))
        optimizer.zero_grad()
        (supervised + 0.1 * agreeing).backward()
        optimizer.step()


def good_siamese() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        near, far = x + 0.1 * torch.randn(32, 6), x.roll(1, dims=0)
        consistent = nn.functional.mse_loss(encoder(x), encoder(near))
        margins = 0.5 + torch.rand(32)
        apart = (margins - (encoder(x) - encoder(far)).square().sum(1)).relu().mean()
        optimizer.zero_grad()
        (consistent + 0.5 * apart).backward()
        optimizer.step()


def good_differential_equation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    solution = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(solution.parameters(), lr=0.01)
    for _ in range(10):
        t = torch.rand(32, 1, requires_grad=True)
        y = solution(t)
        (slope,) = torch.autograd.grad(y.sum(), t, create_graph=True)
        wanted = torch.sin(t.detach()) + 0.5 * y
        loss = (slope - wanted).square().mean() + solution(torch.zeros(1, 1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD618",
    name="gradient-through-target",
    severity="warning",
    title="the target of a regression learns, too",
    observes="A difference that went backward had a graph to the same trained parameters on both sides, from passes of "
    "their own. To one side data were added after it had been scaled down: it is a reward plus what is expected next. "
    "Or it had one to copies of these parameters that an optimizer holds as well. Or both sides were parts of one "
    "output, the target of what comes after the prediction, and the data others than in the first step, and none that "
    "the output was computed from.",
    why="The gradient also pulls the target towards the prediction, so that what is known only later is bent to fit "
    "what was guessed before.",
    fix="Cut the target off: `torch.no_grad()` around its computation, or `detach()`.",
    fine="Consistency of two predictions without data in between, differential equations, and equations whose solution "
    "is also fitted to data: the same parameters are compared with these alone. Within one output, equations on a grid "
    "that stays the same, of what comes before, or of what drives a system and was given to the net. Residual "
    "gradients where each state is always followed by the same, which shows where a batch holds few states many times; "
    "elsewhere they look like the slip, and are told of.",
    needs=(BackwardRan, ParameterCopied, ParameterSeen, TargetLearned),
    examine=examine,
    bad=(bad, bad_advantage, bad_target_network),
    good=(good, good_two_that_learn, good_siamese, good_differential_equation),
    tunables={"minimum_steps": Tunable(2, "fewest steps whose target carried a gradient", MORE_THAN_ONCE)},
    about="loss",
)
