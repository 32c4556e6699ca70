"""AD222 flag-without-effect: parameters were to be frozen, or to learn, by an attribute that torch does not read."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.connectivity import FlagIgnored
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(FlagIgnored):
        steps = [step for step in trace.steps if step.step >= event.step and step.optimizer is not None]
        told = _learning(steps) if not event.asked else {p for step in steps for p in step.frozen}
        concerned = sorted(told.intersection(event.parameters))
        if concerned:
            yield _finding(trace, event, concerned, len(steps))


def _learning(steps: list[OptimizerStepped]) -> set[int]:
    return {p for step in steps for use in step.uses for p in use.parameters if p in (step.moved or ())}


def _finding(trace: Trace, event: FlagIgnored, parameters: list[int], steps: int) -> Finding:
    names = trace.parameter_names(parameters)
    if event.asked:
        effect = f"{names} still require no gradient, and an optimizer holds them"
    else:
        effect = f"{names} still require a gradient, and steps went on changing them"
    plain = f"`requires_grad_({event.asked})`"
    return RULE.finding(
        f"`{event.name} = {event.asked}` sets an attribute of a {event.holder} that torch does not read: {effect}",
        subject=trace.parameter_name(parameters[0]),
        location=event.location,
        help=f"call {plain}, which modules and tensors have",
        evidence={"attribute": event.name, "asked": event.asked, "number_of_parameters": len(parameters)},
        step_first=event.step + 1,
        step_count=steps,
        parameters=parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone, head = nn.Sequential(nn.Linear(6, 16), nn.ReLU()), nn.Linear(16, 1)
    backbone.requires_grad = False  # type: ignore[assignment]  # <- AD222
    optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(head(backbone(x)), x.sum(1, keepdim=True)).backward()
        optimizer.step()


def bad_misspelt() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    for parameter in model[0].parameters():
        parameter.require_grad = False  # type: ignore[attr-defined]  # <- AD222
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone, head = nn.Sequential(nn.Linear(6, 16), nn.ReLU()), nn.Linear(16, 1)
    backbone.requires_grad_(False)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(head(backbone(x)), x.sum(1, keepdim=True)).backward()
        optimizer.step()


def good_frozen_as_well() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone, head = nn.Sequential(nn.Linear(6, 16), nn.ReLU()), nn.Linear(16, 1)
    backbone.requires_grad = False  # type: ignore[assignment]
    for parameter in backbone.parameters():
        parameter.requires_grad = False
    optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(head(backbone(x)), x.sum(1, keepdim=True)).backward()
        optimizer.step()


def good_note_of_its_own() -> None:
    import torch
    from torch import nn

    class Scale(nn.Module):
        def __init__(self, requires_grad: bool = False) -> None:
            super().__init__()
            self.requires_grad = requires_grad
            self.linear = nn.Linear(6, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x.requires_grad_(self.requires_grad))  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Scale()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()


RULE = Rule(
    code="AD222",
    name="flag-without-effect",
    severity="error",
    title="parameters were frozen, or unfrozen, by an attribute that torch does not read",
    observes="`requires_grad` set as an attribute of a module, and misspellings of it on modules and tensors, and "
    "which of the parameters concerned the steps after it went on changing, or left out.",
    why="Python lets any attribute be set. Modules have no `requires_grad`: only their method `requires_grad_` and the "
    "flag of each parameter count.",
    fix="Call `module.requires_grad_(False)`, or set `requires_grad` on each of its parameters.",
    fine="An attribute that a class of the program sets on its own instances, and one set besides the real flag.",
    needs=(FlagIgnored, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_misspelt),
    good=(good, good_frozen_as_well, good_note_of_its_own),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_",),
)
