"""AD630 terminal-states-bootstrapped: a target expects something after the end of an episode."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import BootstrappedBesideMark
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside, in_several_steps


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    events = trace.of(BootstrappedBesideMark)
    for found in in_several_steps(trace, events, lambda event: event.mark_at, int(tunables["steps"])):
        ones, values = sum(event.ones for event in found), sum(event.values for event in found)
        if 0 < ones < values and found[0].location is not None:
            yield _finding(found, ones, values)


def _finding(found: list[BootstrappedBesideMark], ones: int, values: int) -> Finding:
    event = found[0]
    places = (
        ("these zeros and ones are used for nothing", event.mark_at),
        ("the prediction is compared with it here", event.compared_at),
    )
    target = f"`{event.name}`" if event.name else "the target"
    return RULE.finding(
        f"{target} adds a discounted prediction in all {event.values} rows, while a tensor of as many zeros and ones "
        f"({ones} of {values} are 1) that is made for the batch goes into nothing: where an episode has ended, nothing "
        "comes after it",
        subject=event.name or "target",
        location=event.location,
        confidence="medium",
        help="leave the prediction out where the episode ended: `reward + gamma * (1 - done) * prediction`; marks of a "
        "limit of time alone are right to be left unused",
        evidence={"rows": event.values, "ones": ones, "seen": values},
        related=beside(event.location, *places),
        step_first=event.step + 1,
        step_count=len(found),
    )


def bad() -> None:
    import random

    import torch
    from torch import nn

    random.seed(0)
    torch.manual_seed(0)
    values = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(values.parameters(), lr=1e-3)
    states, actions = torch.randn(200, 3), [random.randrange(2) for _ in range(200)]
    rewards, ended = [random.random() for _ in range(200)], [random.random() < 0.2 for _ in range(200)]
    for _ in range(10):
        rows = random.sample(range(199), 32)
        following = states[[row + 1 for row in rows]]
        action = torch.tensor([actions[row] for row in rows])
        reward = torch.tensor([rewards[row] for row in rows])
        done = torch.tensor([ended[row] for row in rows], dtype=torch.float32)
        chosen = values(states[rows]).gather(1, action[:, None]).squeeze(1)
        with torch.no_grad():
            target = reward + 0.9 * values(following).max(dim=1).values  # <- AD630
        loss = nn.functional.smooth_l1_loss(chosen, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert done.any()


def good() -> None:
    import random

    import torch
    from torch import nn

    random.seed(0)
    torch.manual_seed(0)
    values = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(values.parameters(), lr=1e-3)
    states, actions = torch.randn(200, 3), [random.randrange(2) for _ in range(200)]
    rewards, ended = [random.random() for _ in range(200)], [random.random() < 0.2 for _ in range(200)]
    for _ in range(10):
        rows = random.sample(range(199), 32)
        following = states[[row + 1 for row in rows]]
        action = torch.tensor([actions[row] for row in rows])
        reward = torch.tensor([rewards[row] for row in rows])
        done = torch.tensor([ended[row] for row in rows], dtype=torch.float32)
        chosen = values(states[rows]).gather(1, action[:, None]).squeeze(1)
        with torch.no_grad():
            target = reward + 0.9 * (1 - done) * values(following).max(dim=1).values
        loss = nn.functional.smooth_l1_loss(chosen, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_where_time_is_up() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    values = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(values.parameters(), lr=1e-3)
    for _ in range(10):
        states, following = torch.randn(32, 3), torch.randn(32, 3)
        actions, rewards = torch.randint(0, 2, (32,)), torch.tensor([float(row % 3 == 0) for row in range(32)])
        terminated = torch.tensor([row % 5 == 0 for row in range(32)])
        truncated = torch.tensor([row % 7 == 0 for row in range(32)])
        with torch.no_grad():
            after = values(following).max(dim=1).values.masked_fill(terminated, 0.0)
        chosen = values(states).gather(1, actions[:, None]).squeeze(1)
        loss = nn.functional.mse_loss(chosen, rewards + 0.9 * after)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert truncated.any()


def good_without_an_end() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    values = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(values.parameters(), lr=1e-3)
    for _ in range(10):
        states, following = torch.randn(32, 3), torch.randn(32, 3)
        rewards, done = torch.tensor([float(row % 3 == 0) for row in range(32)]), torch.tensor([False] * 32)
        with torch.no_grad():
            target = rewards[:, None] + 0.9 * values(following)
        loss = nn.functional.mse_loss(values(states), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert not done.any()


RULE = Rule(
    code="AD630",
    name="terminal-states-bootstrapped",
    severity="warning",
    title="a target expects something after the end of an episode",
    observes="A regression target that is data plus a discounted prediction, and zeros and ones of as many rows that "
    "were made in the same step and that no operation takes in, nor any others like them.",
    why="The value of a state after which nothing comes is zero. Where it is bootstrapped all the same, values grow "
    "towards those of an endless episode, 1 / (1 - gamma) times the reward, and all states look alike.",
    fix="Multiply the prediction by `1 - done`, where `done` tells of real ends alone, and not of a limit of time.",
    fine="Targets of tasks without an end, marks that are used in any way, and those of a limit of time beside others "
    "that are used.",
    needs=(BootstrappedBesideMark,),
    examine=examine,
    bad=(bad,),
    good=(good, good_where_time_is_up, good_without_an_end),
    tunables={"steps": Tunable(2, "fewest steps with such a target", MORE_THAN_ONCE)},
    about="loss",
)
