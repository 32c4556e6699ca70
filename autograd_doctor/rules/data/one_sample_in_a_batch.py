"""AD715 one-sample-in-a-batch: all rows of each training batch are the same one."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import RowsAlike
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    told: set[Location | None] = set()
    for event in trace.of(RowsAlike):
        is_known = event.repeated and event.location in told
        if event.steps >= tunables["steps"] and event.different >= tunables["different"] and not is_known:
            told.add(event.location)
            yield _finding(trace, event)


def _finding(trace: Trace, event: RowsAlike) -> Finding:
    name = f"`{event.name}`" if event.name else "a batch"
    answers = ", and so is all that the loss compares with what it returns" if event.repeated else ""
    return RULE.finding(
        f"the {event.rows} rows of {name}, which `{trace.module_name(event.module)}` is trained on, are one and the "
        f"same to the bit, in each of {plural(event.steps, 'step')} that were looked at{answers}; from "
        "step to step they are another",
        subject=event.name or "batch",
        location=event.location,
        severity="info" if event.whole else None,
        confidence="medium",
        help="draw one sample for each row, as `random.choices(stored, k=n)` and `torch.randint(len(x), (n,))` do"
        if event.repeated
        else "where samples are stored, store copies (`array.copy()`, `tensor.clone()`): an object that is written "
        "over in place is one object however often it is put into a list",
        evidence={"rows": event.rows, "steps": event.steps, "different": event.different},
        step_first=event.since + 1,
        step_count=event.steps,
    )


def bad() -> None:
    import random

    import torch
    from torch import nn

    random.seed(0)
    torch.manual_seed(0)
    values = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(values.parameters(), lr=0.01)
    state, memory = torch.zeros(5), []
    for _ in range(60):
        state.mul_(0.9).add_(torch.randn(5))
        memory.append((state, random.randrange(2), float(state[0])))
        if len(memory) < 20:
            continue
        states, actions, rewards = zip(*random.sample(memory, 16), strict=True)
        chosen = values(torch.stack(states)).gather(1, torch.tensor(actions)[:, None])  # <- AD715
        loss = nn.functional.mse_loss(chosen.squeeze(1), torch.tensor(rewards))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import random

    import torch
    from torch import nn

    random.seed(0)
    torch.manual_seed(0)
    values = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(values.parameters(), lr=0.01)
    state, memory = torch.zeros(5), []
    for _ in range(60):
        state.mul_(0.9).add_(torch.randn(5))
        memory.append((state.clone(), random.randrange(2), float(state[0])))
        if len(memory) < 20:
            continue
        states, actions, rewards = zip(*random.sample(memory, 16), strict=True)
        chosen = values(torch.stack(states)).gather(1, torch.tensor(actions)[:, None])
        loss = nn.functional.mse_loss(chosen.squeeze(1), torch.tensor(rewards))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_one_context_for_all() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.context, self.points, self.last = nn.Linear(6, 16), nn.Linear(2, 16), nn.Linear(16, 1)

        def forward(self, points: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
            return self.last(torch.tanh(self.points(points) + self.context(context)))  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model, start = Model(), nn.Linear(6, 1)
    optimizer = torch.optim.Adam([*model.parameters(), *start.parameters()], lr=0.01)
    always = torch.randn(6)
    for _ in range(10):
        context, points = torch.randn(6), torch.randn(32, 2)
        wanted = points @ context[:2].unsqueeze(1)
        loss = nn.functional.mse_loss(model(points, context.repeat(32, 1)), wanted)
        loss = loss + start(torch.stack([always] * 32)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD715",
    name="one-sample-in-a-batch",
    severity="warning",
    title="all rows of a batch are the same sample",
    observes="What modules are given in training, eight rows and more: whether all of them are equal bit for bit, in "
    "each step that was looked at, and another row in each of several steps. Of rows that the program repeats, whether "
    "in these steps nothing differs from row to row: neither what is returned nor what it is compared with.",
    why="A batch of one sample many times teaches what a single one would: the others were lost before.",
    fix="Draw each row by itself. Store copies of what is written over in place.",
    fine="Rows that were repeated by `expand`, `repeat`, or by stacking one that nobody writes over, also if they were "
    "cast or brought to an accelerator since, where anything that they meet differs; and a prompt or context that "
    "stays the same in all steps. Rows of tokens are an `info`: they may be a prompt that is answered several times, "
    "as in GRPO.",
    needs=(ModuleSeen, RowsAlike),
    examine=examine,
    bad=(bad,),
    good=(good, good_one_context_for_all),
    tunables={
        "steps": Tunable(4, "fewest steps with rows that are all one", "chosen: fewer may be a trial"),
        "different": Tunable(
            3,
            "fewest states of that row, from step to step",
            "chosen: of an object that changes, so many are different",
        ),
    },
    about="data",
)
