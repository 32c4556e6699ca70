"""AD503: a change that the version counter did not see altered a value that a later backward used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from autograd_doctor.events.errors import SavedTensorChanged
from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import tensor


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_line: dict[object, list[SavedTensorChanged]] = defaultdict(list)
    for event in trace.of(SavedTensorChanged):
        if event.silently and (event.relative_error is None or event.relative_error > tunables["relative_error"]):
            by_line[event.changed.location, event.changed.operation].append(event)
    for events in by_line.values():
        yield _finding(events)


def _finding(events: Sequence[SavedTensorChanged]) -> Finding:
    measured = [event.relative_error for event in events if event.relative_error is not None]
    worst = max(events, key=lambda event: event.relative_error or 0.0)
    error = f"; the gradient was off by {max(measured):.0%} of its norm" if measured else ""
    places = (
        ("made here", worst.tensor.made_at),
        (f"saved for backward by `{worst.saved_by}` here", worst.saved_at),
        ("used by this backward", worst.needed_at),
    )
    return RULE.finding(
        f"{tensor(worst.tensor)} was saved for backward by `{worst.saved_by}` and then changed by "
        f"`{worst.changed.operation}` unnoticed by autograd{error}",
        subject=worst.tensor.name or worst.saved_by,
        location=worst.changed.location or worst.needed_at,
        confidence="high" if measured else "medium",
        help="change it before the forward pass or after backward, without `.data`, or change a copy",
        evidence={
            "operation": worst.changed.operation,
            "saved_by": worst.saved_by,
            "times": len(events),
            "relative_error": max(measured) if measured else "not measured",
        },
        related=tuple(Related(text, place) for text, place in places if place is not None),
        step_first=events[0].step + 1,
        step_count=len(events),
        parameters=sorted({parameter for event in events for parameter in event.parameters}),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(8, 16), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        hidden = torch.tanh(first(x))
        output = second(hidden)
        hidden.data.mul_(3)  # <- AD503
        loss = nn.functional.mse_loss(output, x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_weights_clamped_before_backward() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(8, 16), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(second(torch.tanh(first(x))), x.sum(1, keepdim=True))
        second.weight.data.clamp_(-0.05, 0.05)  # <- AD503
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(8, 16), nn.Linear(16, 1)
    nn.init.xavier_uniform_(first.weight.data)
    first.bias.data.fill_(0.1)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(second(torch.tanh(first(x))), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        second.weight.data.clamp_(-0.5, 0.5)


def good_moving_average() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
            slow.data.mul_(0.9).add_(fast.data, alpha=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD503",
    name="data-mutation",
    severity="error",
    title="`.data` changed a value that backward used",
    observes="Writes through `.data` and other aliases that bypass the version counter, between the operation that "
    "saved the tensor and the backward that used it; the gradient error, where it can be measured.",
    why="The version counter lets autograd refuse gradients computed from changed values. `.data` bypasses it: "
    "backward runs, and the gradients are silently wrong.",
    fix="Change values before the forward pass or after backward, under `torch.no_grad()` instead of through `.data`.",
    fine="Updates of parameters after the step, initialisation, moving averages and targets outside a live graph. "
    "Other weights for the backward alone, which are taken back before the step, as in feedback alignment.",
    needs=(SavedTensorChanged, ParameterSeen),
    examine=examine,
    bad=(bad, bad_weights_clamped_before_backward),
    good=(good, good_moving_average),
    tunables={
        "relative_error": Tunable(
            1e-4,
            "largest harmless error of the gradient, relative to its norm",
            "chosen: far above float32 rounding (1e-7 per operation), far below what affects training",
        )
    },
    references=("https://docs.pytorch.org/docs/stable/notes/autograd.html",),
)
