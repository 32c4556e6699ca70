"""AD506: backward on a tensor that has no graph."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import values_in
from autograd_doctor.views.crash import Crash, died_of
from autograd_doctor.wording import tensor


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crash = died_of(trace, "no_graph")
    if crash is None:
        return
    failed = crash.backward
    root = failed.root if failed else _only_candidate(crash)
    made_at = root.made_at if root else None
    found, guessed = values_in((failed,) if failed else ())
    values = sorted(found)
    yield RULE.finding(
        f"backward ran on {tensor(root) if root else 'a tensor'}, which has no graph{_depends(trace, values, guessed)}",
        subject=root.name if root else "",
        location=crash.location,
        help="compute the loss from the outputs of modules whose parameters require grad, with gradients enabled",
        evidence={"parameters_in_its_value": len(values), "operation": root.operation if root else ""},
        related=(Related("computed here", made_at),) if made_at else (),
        step_first=crash.step_first,
        step_count=1,
        parameters=values,
    )


def _only_candidate(crash: Crash) -> TensorFacts | None:
    """The only single number in the frame that raised."""
    scalars = [facts for facts in crash.tensors if facts.numel == 1 and not facts.requires_grad]
    return scalars[0] if len(scalars) == 1 else None


def _depends(trace: Trace, values: list[int], guessed: bool) -> str:
    if not values:
        return " and does not depend on any parameter that requires grad"
    frozen = not any(trace.parameters[value].requires_grad for value in values if value in trace.parameters)
    why = ", none of which requires grad" if frozen else ""
    return f", although its value {'may depend' if guessed else 'depends'} on {trace.parameter_names(values)}{why}"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    for parameter in model.parameters():
        parameter.requires_grad = False
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()  # <- AD506
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    for parameter in model[0].parameters():
        parameter.requires_grad = False
    optimizer = torch.optim.SGD(model[2].parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD506",
    name="backward-without-graph",
    severity="error",
    title="backward on a tensor without a graph",
    observes="The tensor on which `backward()` failed, the line that computed it, and the parameters that its value "
    "depends on.",
    why="Without a graph there is nothing to backpropagate through: no parameter can get a gradient.",
    fix="Compute the loss from outputs that require grad.",
    fine="Models in which some part requires grad and reaches the loss.",
    needs=(BackwardRan, ProgramRaised),
    examine=examine,
    bad=(bad,),
    good=(good,),
    folds=("AD599",),
)
