"""AD630 terminal-states-bootstrapped: a target expects something after the end of an episode, or only there."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import BootstrappedBesideMark, PredictionsLeftOut
from autograd_doctor.findings import Confidence, Evidence, Finding, Location, Severity
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside, in_several_steps


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    told: set[Location | None] = set()
    turned: dict[Location | None, PredictionsLeftOut] = {}
    for event in trace.of(PredictionsLeftOut):
        expected = event.kept * event.left_out_followed / max(event.left_out, 1)
        is_turned = event.kept_followed == 0 and min(expected, event.left_out_followed) >= tunables["followed"]
        if is_turned:
            turned.setdefault(event.location, event)
        if is_turned or event.kept_followed:
            told.add(event.compared_at)
    yield from map(_turned_around, turned.values())
    for keeps, tell, most in ((False, _unused, 1.0), (True, _inverted, float(tunables["share"]))):
        events = [event for event in trace.of(BootstrappedBesideMark) if event.keeps == keeps]
        for found in in_several_steps(trace, events, lambda event: event.mark_at, int(tunables["steps"])):
            ones, values = sum(event.ones for event in found), sum(event.values for event in found)
            is_known = keeps and found[0].compared_at in told
            if 0 < ones < values and ones <= most * values and found[0].location is not None and not is_known:
                yield tell(found, ones, values)


def _unused(found: list[BootstrappedBesideMark], ones: int, values: int) -> Finding:
    """Only a hint: what the zeros and ones mark was not seen."""
    return _finding(
        found,
        f"{_called(found)} adds a discounted prediction in all {found[0].values} rows, while a tensor of as many zeros "
        f"and ones ({ones} of {values} are 1) that is made for the batch goes into nothing: if it marks where an "
        "episode has ended, nothing comes after that",
        "if it is 1 where the episode ended, leave the prediction out there: `reward + gamma * (1 - done) * "
        "prediction`; marks of a limit of time alone, and of anything else, are right to be left unused",
        ("these zeros and ones are used for nothing", found[0].mark_at),
        {"rows": found[0].values, "ones": ones, "seen": values},
        severity="info",
        confidence="low",
    )


def _inverted(found: list[BootstrappedBesideMark], ones: int, values: int) -> Finding:
    return _finding(
        found,
        f"{_called(found)} adds a discounted prediction only where a tensor of zeros and ones that is made for the "
        f"batch is 1, in {ones} of {values} rows: if it marks where an episode has ended, nothing comes after that, "
        "and all other rows learn nothing of what comes after them",
        "if it is 1 where the episode ended, turn it round: `reward + gamma * (1 - done) * prediction`",
        ("the prediction is kept where this is 1", found[0].mark_at),
        {"rows": found[0].values, "ones": ones, "seen": values},
    )


def _turned_around(event: PredictionsLeftOut) -> Finding:
    """Known from the data, whatever is a mark here, and however it is used."""
    return RULE.finding(
        f"the target keeps the prediction in {event.kept} of {event.kept + event.left_out} rows, after none of which "
        f"anything was seen to come, and leaves it out in the others, {event.left_out_followed} of which lead to a "
        "state that was met again as that of another row",
        subject="target",
        location=event.location,
        confidence="medium",
        help="turn the mark round: `reward + gamma * (1 - done) * prediction`",
        evidence={
            "rows_kept": event.kept,
            "kept_that_go_on": event.kept_followed,
            "rows_left_out": event.left_out,
            "left_out_that_go_on": event.left_out_followed,
        },
        related=beside(event.location, ("the prediction is compared with it here", event.compared_at)),
    )


def _called(found: list[BootstrappedBesideMark]) -> str:
    return f"`{found[0].name}`" if found[0].name else "the target"


def _finding(
    found: list[BootstrappedBesideMark],
    message: str,
    help: str,
    mark: tuple[str, Location | None],
    evidence: Evidence,
    severity: Severity = "warning",
    confidence: Confidence = "medium",
) -> Finding:
    event = found[0]
    compared = ("the prediction is compared with it here", event.compared_at)
    return RULE.finding(
        message,
        subject=event.name or "target",
        location=event.location,
        severity=severity,
        confidence=confidence,
        help=help,
        evidence=evidence,
        related=beside(event.location, mark, compared),
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


def bad_kept_at_the_end() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    values = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(values.parameters(), lr=1e-3)
    states, following, rewards = torch.randn(160, 3), torch.randn(160, 3), torch.rand(160, 1)
    ended = (torch.arange(160) % 9 == 0).float()[:, None]
    transitions = TensorDataset(states, rewards, following, ended)
    for before, reward, after, done in DataLoader(transitions, batch_size=16, shuffle=True):
        with torch.no_grad():
            target = reward + 0.9 * done * values(after)  # <- AD630
        loss = nn.functional.mse_loss(values(before), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


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
    "were made in the same step and that no operation takes in, nor any others like them: only a hint, as what they "
    "mark was not seen. Or such a target that holds the prediction just where zeros and ones, which are used for "
    "nothing else, are 1, and they seldom are. Or one that holds the prediction in some rows alone, whose next states "
    "are never met as those of other rows, while those of the rows without one are.",
    why="The value of a state after which nothing comes is zero. Where it is bootstrapped all the same, values grow "
    "towards those of an endless episode, 1 / (1 - gamma) times the reward, and all states look alike. Where it is "
    "bootstrapped there alone, no other state learns of what comes after it.",
    fix="Multiply the prediction by `1 - done`, where `done` tells of real ends alone, and not of a limit of time.",
    fine="Targets of tasks without an end, beside which no zeros and ones come that are used for nothing: marks of a "
    "limit of time alone, or of samples of another kind, look like ends, and are right to be left unused. Marks of "
    "what goes on, which are 1 in most rows, marks that are used for anything else as well, as those of padding are, "
    "and marks of a limit of time beside others that are used.",
    needs=(BootstrappedBesideMark, PredictionsLeftOut),
    examine=examine,
    bad=(bad, bad_kept_at_the_end),
    good=(good, good_where_time_is_up, good_without_an_end),
    tunables={
        "steps": Tunable(2, "fewest steps with such a target", MORE_THAN_ONCE),
        "followed": Tunable(
            4,
            "fewest rows without a prediction that were seen to go on, and of the others that should have been then",
            "chosen: where four are expected, a Poisson law leaves a chance of 2 % that there is none",
        ),
        "share": Tunable(
            0.25,
            "largest share of ones in a mark that keeps the prediction",
            "chosen: if they marked what goes on, episodes would have one step and a third on average",
        ),
    },
    about="loss",
)
