"""AD221 gradient-discarded: a backward runs on into a network that it does not teach, every time."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import called, steps_by_optimizer


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_line: dict[Location | None, list[BackwardRan]] = {}
    for backward in trace.of(BackwardRan):
        if backward.kind == "backward" and not backward.error:
            by_line.setdefault(backward.location, []).append(backward)
    used = {
        (backward, parameter)
        for step in trace.steps
        for use in step.uses
        for backward in use.backwards
        for parameter in use.parameters
    }
    steps = steps_by_optimizer(trace)
    for backwards in by_line.values():
        if len(backwards) < tunables["minimum_repeats"]:
            continue
        for optimizer in sorted(set.intersection(*(set(backward.ahead) for backward in backwards))):
            wasted = trace.optimizer_parameters.get(optimizer, frozenset()).intersection(*(b.wrote for b in backwards))
            is_used = any((backward.backward, p) in used for backward in backwards for p in wasted)
            teaches = any((backward.backward, p) in used for backward in backwards for p in backward.wrote)
            has_stepped = len(steps.get(optimizer, ())) >= tunables["minimum_repeats"]
            if wasted and teaches and has_stepped and not is_used:
                yield _finding(trace, optimizer, sorted(wasted), backwards)


def _finding(trace: Trace, optimizer: int, wasted: list[int], backwards: list[BackwardRan]) -> Finding:
    first = backwards[0]
    return RULE.finding(
        f"this backward also computes the gradients of {trace.parameter_names(wasted)}, which "
        f"{called(trace, optimizer)} never uses: they are cleared before it steps",
        subject=first.root.name or called(trace, optimizer),
        location=first.location,
        help="detach what that network made, as in `critic(fake.detach())`, or make it under `no_grad`",
        confidence="medium",
        evidence={
            "gradients_for_nothing": [trace.parameter_name(parameter) for parameter in wasted[:20]],
            "number_of_parameters": len(wasted),
            "backwards": len(backwards),
        },
        step_first=first.step + 1,
        step_count=len(backwards),
        parameters=wasted,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    judge = nn.BCEWithLogitsLoss()
    for _ in range(8):
        real, fake = torch.randn(32, 2) + 2, generator(torch.randn(32, 4))
        critic_optimizer.zero_grad()
        verdict = judge(critic(real), torch.ones(32, 1)) + judge(critic(fake), torch.zeros(32, 1))
        verdict.backward()  # <- AD221
        critic_optimizer.step()
        generator_optimizer.zero_grad()
        judge(critic(generator(torch.randn(32, 4))), torch.ones(32, 1)).backward()
        generator_optimizer.step()


def bad_probe() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head, probe = nn.Linear(6, 8), nn.Linear(8, 3), nn.Linear(8, 1)
    model_optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    probe_optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
    for _ in range(8):
        x = torch.randn(32, 6)
        probe_optimizer.zero_grad()
        nn.functional.mse_loss(probe(encoder(x)), x[:, :1]).backward()  # <- AD221
        probe_optimizer.step()
        model_optimizer.zero_grad()
        nn.functional.cross_entropy(head(encoder(x)), x[:, :3].argmax(1)).backward()
        model_optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    judge = nn.BCEWithLogitsLoss()
    for _ in range(8):
        real, fake = torch.randn(32, 2) + 2, generator(torch.randn(32, 4))
        critic_optimizer.zero_grad()
        verdict = judge(critic(real), torch.ones(32, 1)) + judge(critic(fake.detach()), torch.zeros(32, 1))
        verdict.backward()
        critic_optimizer.step()
        generator_optimizer.zero_grad()
        judge(critic(fake), torch.ones(32, 1)).backward()
        generator_optimizer.step()


def good_both_learn() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head = nn.Linear(6, 8), nn.Linear(8, 3)
    optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in (encoder, head)]
    for _ in range(8):
        x = torch.randn(32, 6)
        for optimizer in optimizers:
            optimizer.zero_grad()
        nn.functional.cross_entropy(head(encoder(x)), x[:, :3].argmax(1)).backward()
        for optimizer in optimizers:
            optimizer.step()


RULE = Rule(
    code="AD221",
    name="gradient-discarded",
    severity="warning",
    title="a backward computes gradients that are thrown away",
    observes="In every run of one backward, gradients of parameters that come before all others that it reaches, and "
    "that their own optimizer never used: they had been cleared before it stepped.",
    why="Running forward and backward through that network cost time and trained nothing. If one `zero_grad` is "
    "forgotten, its gradients mix with those of another loss.",
    fix="Detach what the network made before it goes into this loss, or make it under `no_grad`.",
    fine="A generator that learns through its critic: its gradient has to pass through the critic.",
    needs=(BackwardRan, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_probe),
    good=(good, good_both_learn),
    tunables={
        "minimum_repeats": Tunable(
            3, "fewest backwards at the line, and steps of the optimizer that uses none of them", NO_BEGINNING
        )
    },
)
