"""AD717 target-in-window: what a window is to foretell is its own last value."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import TargetInWindow
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import in_several_steps


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    events = trace.of(TargetInWindow)
    for first, *others in in_several_steps(trace, events, lambda event: event.location, int(tunables["steps"])):
        if sum(event.recurring for event in (first, *others)) >= tunables["recurring"]:
            yield _finding(trace, first, 1 + len(others))


def _finding(trace: Trace, event: TargetInWindow, steps: int) -> Finding:
    name, called = trace.module_name(event.module), event.called_at
    of_channel = f", in place {event.channel} of each," if event.channel is not None else ""
    return RULE.finding(
        f"the targets of all {event.rows} rows are the last of the {event.length} values{of_channel} that `{name}` is "
        "given for each: it has only to copy them",
        subject=event.name or "targets",
        location=event.location,
        confidence="medium",
        help="leave them out of the input, or take what comes after it: `series[i + length]`, where a window ends with "
        "`series[i + length - 1]`",
        evidence={"rows": event.rows, "length": event.length, "steps": steps},
        related=(Related("the windows go in here", called),) if called and called != event.location else (),
        step_first=event.step + 1,
        step_count=steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    class Forecaster(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(1, 16, batch_first=True), nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            value: torch.Tensor = self.head(self.lstm(x)[0][:, -1])
            return value

    torch.manual_seed(0)
    series = torch.sin(torch.arange(400.0) / 9) + 0.1 * torch.randn(400)
    windows = torch.stack([series[i : i + 12] for i in range(380)]).unsqueeze(-1)
    following = torch.stack([series[i + 11] for i in range(380)]).unsqueeze(-1)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        rows = torch.randperm(380)[:32]
        loss = nn.functional.mse_loss(model(windows[rows]), following[rows])  # <- AD717
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_one_of_several_channels() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    series = torch.randn(300, 3).cumsum(0) / 10
    model = nn.Sequential(nn.Flatten(), nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        starts = torch.randint(0, 290, (32,))
        windows = torch.stack([series[i : i + 8] for i in starts])
        prices = torch.stack([series[i + 7, 1] for i in starts])
        error = model(windows).squeeze(1) - prices  # <- AD717
        optimizer.zero_grad()
        error.square().mean().backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    series = torch.sin(torch.arange(400.0) / 9) + 0.1 * torch.randn(400)
    windows = torch.stack([series[i : i + 12] for i in range(380)])
    following = torch.stack([series[i + 12] for i in range(380)])
    model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        rows = torch.randperm(380)[:32]
        loss = nn.functional.mse_loss(model(windows[rows]).squeeze(1), following[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_memory() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    lstm, head = nn.LSTM(1, 16, batch_first=True), nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=0.01)
    for _ in range(8):
        x = torch.randn(32, 6, 1)
        loss = nn.functional.mse_loss(head(lstm(x)[0][:, -1]), x[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD717",
    name="target-in-window",
    severity="warning",
    title="targets are the last values of their windows",
    observes="Whether what the results of a model are compared with are, bit for bit and in all rows, the last moments "
    "of the sequences that it is given, or its classes the last tokens; whether values, or runs of tokens, come in "
    "several rows, as in windows of one series; whether what is compared with them, made again on a copy, changes with "
    "these last values; and whether these come to the parameters as they are, whatever the random numbers.",
    why="The loss falls at once, and the model foretells nothing: it hands on what it was given last.",
    fix="Move the targets on by one.",
    fine="Sequences whose values are each in one row alone: made up ones, whose end is to be remembered. Models that "
    "leave the last values of what they are given out by themselves, or make them noisy, drop or swap them at random; "
    "what causal ones say of the place before the last, of which they have not seen the last yet.",
    needs=(BackwardRan, ModuleSeen, TargetInWindow),
    examine=examine,
    bad=(bad, bad_one_of_several_channels),
    good=(good, good_memory),
    tunables={
        "steps": Tunable(2, "fewest steps with targets from their windows", MORE_THAN_ONCE),
        "recurring": Tunable(
            3,
            "fewest values that come again in other windows",
            "arithmetic: windows that overlap share most of theirs; two random numbers of 24 bits hardly ever agree",
        ),
    },
    about="data",
)
