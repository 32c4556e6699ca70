"""AD716 identical-views: two passes that go into one loss had the same data, where two different ones were meant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from autograd_doctor.events.data import NextStatesTheSame, TwinPasses
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    lines: dict[tuple[int, Location | None, Location | None], list[TwinPasses]] = defaultdict(list)
    for event in trace.of(TwinPasses):
        lines[event.module, event.first_at, event.second_at].append(event)
    for events in lines.values():
        if len({event.step for event in events}) >= tunables["steps"]:
            yield _finding(trace, events)
    states: dict[Location | None, list[NextStatesTheSame]] = defaultdict(list)
    for told in trace.of(NextStatesTheSame):
        states[told.location].append(told)
    for same in states.values():
        if len(same) >= min(tunables["steps"], trace.steps_taken) and all(each.same for each in same):
            yield _of_states(same)


def _of_states(events: list[NextStatesTheSame]) -> Finding:
    first = events[0]
    return RULE.finding(
        f"the states from which the target is bootstrapped are those of the prediction, in all {first.rows:,} rows of "
        f"each of {plural(len(events), 'step')} that were compared: none of them comes after another",
        subject="next states",
        location=first.made_at or first.location,
        severity="info" if first.masked else None,  # a state may stay as it is until an episode ends
        confidence="medium",
        help="copy what an environment returns before it goes on, and read the field of the next states",
        evidence={"rows": first.rows, "steps": len(events)},
        related=(Related("the loss", first.location),) if first.location is not None and first.made_at else (),
        step_first=first.step + 1,
        step_count=len(events),
    )


def _finding(trace: Trace, events: list[TwinPasses]) -> Finding:
    first = events[0]
    name = trace.module_name(first.module)
    what = "the same tensor" if first.same_tensor else "the same values to the bit, in tensors of their own"
    told = {"the first of them": first.first_at, "writes into one tensor, which is passed as both": first.written_at}
    others = [Related(words, place) for words, place in told.items() if place is not None]
    return RULE.finding(
        f"two passes of `{name}` that go into one loss were given {what}, and returned the same, in each of "
        f"{plural(len(events), 'step')} that were compared: as two views of a sample, or as two samples, they are one",
        subject=name,
        location=first.second_at,
        confidence="medium",
        help="draw the augmentation, or the second sample, anew for each of them"
        + (", and write it into a copy, `x.clone()`" if first.written_at is not None else "")
        + "; if both are meant to be the same, one pass is enough",
        evidence={"steps": len(events)},
        related=tuple(each for each in others if each.location != first.second_at),
        step_first=first.step + 1,
        step_count=len(events),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)

    def view(x: torch.Tensor) -> torch.Tensor:
        generator = torch.Generator().manual_seed(7)
        return x + 0.1 * torch.randn(x.shape, generator=generator)

    for _ in range(10):
        x = torch.randn(16, 8)
        one = nn.functional.normalize(encoder(view(x)), dim=1)
        other = nn.functional.normalize(encoder(view(x)), dim=1)  # <- AD716
        loss = nn.functional.cross_entropy(one @ other.t() / 0.5, torch.arange(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_next_state() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(value.parameters(), lr=1e-3)
    walks = torch.randn(200, 11, 4).cumsum(dim=1)
    for _ in range(10):
        row, at = torch.randint(200, (64,)), torch.randint(10, (64,))
        state, following = walks[row, at], walks[row, at]  # <- AD716
        reward = -state.abs().mean(dim=1, keepdim=True)
        with torch.no_grad():
            target = reward + 0.9 * value(following)
        loss = nn.functional.mse_loss(value(state), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)

    def view(x: torch.Tensor) -> torch.Tensor:
        return x + 0.1 * torch.randn(x.shape)

    for _ in range(10):
        x = torch.randn(16, 8)
        one = nn.functional.normalize(encoder(view(x)), dim=1)
        other = nn.functional.normalize(encoder(view(x)), dim=1)
        loss = nn.functional.cross_entropy(one @ other.t() / 0.5, torch.arange(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_one_batch_for_two_terms() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        labels = x[:, :4].argmax(1)
        loss = nn.functional.cross_entropy(model(x), labels)
        loss = torch.stack([loss, 1e-3 * model(x).square().mean()]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_same_input_with_dropout() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        one = nn.functional.normalize(encoder(x.clone()), dim=1)
        other = nn.functional.normalize(encoder(x.clone()), dim=1)
        loss = nn.functional.cross_entropy(one @ other.t() / 0.5, torch.arange(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_two_outputs() -> None:
    import torch
    from torch import nn

    class ActorCritic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.policy, self.value = nn.Linear(8, 16), nn.Linear(16, 3), nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = torch.tanh(self.body(x))
            return self.policy(hidden), self.value(hidden)

    torch.manual_seed(0)
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        states, rows = torch.randn(64, 8), torch.randperm(64)[:16]
        scores, _ = model(states[rows])
        _, value = model(states[rows])
        wanted = states[rows].sum(1)
        loss = nn.functional.cross_entropy(scores, wanted.gt(0).long())
        loss = loss + nn.functional.mse_loss(value.squeeze(1), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD716",
    name="identical-views",
    severity="warning",
    title="two views of a sample are the same",
    observes="Two passes of a module in one step that were given equal values in different tensors, returned equal "
    "values, and both went into the loss of one backward, through the same layers; in all steps that were compared; "
    "and the line that wrote into one tensor that stood for both. "
    "And losses whose target is data plus a discounted prediction for states that equal those of the prediction.",
    why="To tell two equal views apart, or to bring them together, teaches nothing: a contrastive or consistency loss "
    "is at its best before it began. A value that is bootstrapped from the same state tells nothing of what an action "
    "leads to.",
    fix="Draw the augmentation anew for each view. Keep copies of states, which an environment may write over.",
    fine="One tensor that is passed twice, an anchor that is compared with something else each time, passes for two "
    "heads, models whose random numbers make a difference, passes of which each gives another output to the loss, or "
    "from one of which other rows are picked, and a part of an input, as a relation, that goes with two samples.",
    needs=(BackwardRan, ModuleSeen, NextStatesTheSame, TwinPasses),
    examine=examine,
    bad=(bad, bad_next_state),
    good=(good, good_one_batch_for_two_terms, good_same_input_with_dropout, good_two_outputs),
    tunables={
        "steps": Tunable(
            3, "fewest steps with two passes that were the same", "chosen: fewer may be a trial, or so by chance"
        )
    },
    about="data",
)
