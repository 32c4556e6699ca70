"""AD303: each step's graph reaches back into the steps before it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import died_of
from autograd_doctor.wording import first_line, plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_line: dict[Location | None, list[BackwardRan]] = defaultdict(list)
    for event in trace.of(BackwardRan):
        by_line[event.location].append(event)
    crash = died_of(trace, "freed_graph", "in_place")
    for runs in by_line.values():
        if crash is not None and runs[-1] is crash.backward and _second_contains_first(runs):
            yield _failed(runs[-1], runs[-2])
        elif _grows(runs, int(tunables["steps"])):
            yield _growing(runs)
    by_hand = [step for step in trace.steps if step.optimizer is None]
    if by_hand and len(by_hand) == by_hand[-1].graph_kept >= tunables["updates"]:
        yield _updated_with_graphs(trace, by_hand)


def _grows(runs: Sequence[BackwardRan], enough: int) -> bool:
    """Whether the graph goes back further and further, holds more each time, and never starts anew.

    One that was built before the loop, and that every step runs through again, only grows older.
    """
    depths = [event.reaches_back for event in runs]
    never_less = all(before <= after for before, after in pairwise(depths))
    further = [(one.nodes, after.nodes) for one, after in pairwise(runs) if after.reaches_back > one.reaches_back]
    holds_more = all(before < after for before, after in further[:enough])
    return never_less and holds_more and len(set(depths[-enough:])) == enough and depths[-1] >= enough


def _second_contains_first(runs: Sequence[BackwardRan]) -> bool:
    """Whether the backward that failed had the earlier step's graph inside its own, not merely the same beginning."""
    return len(runs) > 1 and runs[-1].reaches_back > 0 and runs[-1].nodes > runs[-2].nodes


def _growing(runs: Sequence[BackwardRan]) -> Finding:
    last = runs[-1]
    return RULE.finding(
        f"the graph of step {last.step + 1} reaches back through {plural(last.reaches_back, 'earlier step')}"
        f"{_carrier(last)}: it grew from {runs[0].nodes} to {plural(last.nodes, 'node')}",
        subject=last.carried_by,
        location=_place(last),
        help=_help(last),
        evidence={"reaches_back": last.reaches_back, "nodes_first": runs[0].nodes, "nodes_last": last.nodes},
        related=_related(last),
        step_first=runs[0].step + 1,
        step_count=len(runs),
    )


def _updated_with_graphs(trace: Trace, steps: Sequence[OptimizerStepped]) -> Finding:
    parameters = sorted({number for step in steps for number in step.moved or ()})
    return RULE.finding(
        f"the new values of {trace.parameter_names(parameters)} have a graph that goes back through all "
        f"{plural(len(steps), 'earlier update')} to the first values, and keeps what each update computed",
        subject=trace.parameter_name(parameters[0]),
        location=steps[-1].location,
        help="update without a graph, under `torch.no_grad()` or from `value.detach()` and `gradient.detach()`; with "
        "`torch.func`, start from parameters that do not require grad: `{name: p.detach() for name, p in "
        "model.named_parameters()}`",
        evidence={"updates": len(steps)},
        step_first=steps[0].step + 1,
        step_count=len(steps),
        parameters=parameters,
    )


def _failed(failed: BackwardRan, before: BackwardRan) -> Finding:
    return RULE.finding(
        f"the backward of step {failed.step + 1} failed because its graph reaches back into an earlier step"
        f"{_carrier(failed)}: {plural(before.nodes, 'node')} in the step before, {failed.nodes} now",
        subject=failed.carried_by,
        location=_place(failed),
        help=_help(failed),
        evidence={"reaches_back": failed.reaches_back, "nodes_first": before.nodes, "nodes_last": failed.nodes},
        related=_related(failed),
        notes=(f"the error was: {first_line(failed.error)}",),
        step_first=failed.step + 1,
        step_count=1,
    )


def _carrier(event: BackwardRan) -> str:
    return f" through `{event.carried_by}`" if event.carried_by else ""


def _help(event: BackwardRan) -> str:
    carried = f"`{event.carried_by}`" if event.carried_by else "what one step passes to the next"
    return f"detach {carried} at the start of each step (`.detach()`), or every few steps for a longer horizon"


def _place(event: BackwardRan) -> Location | None:
    """Where one step hands it to the next, or where an operation takes it in."""
    return event.handed_on_at or event.reaches_back_at or event.location


def _related(event: BackwardRan) -> tuple[Related, ...]:
    places = {
        "the oldest of them enter this step here": event.reaches_back_at,
        "this backward runs through them": event.location,
    }
    here = _place(event)
    return tuple(Related(text, where) for text, where in places.items() if where not in (None, here))


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
    hidden = torch.zeros(16, 8)
    for _ in range(12):
        x = torch.randn(16, 4)
        hidden = cell(x, hidden)  # <- AD303
        loss = nn.functional.mse_loss(head(hidden), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_smoothed_loss_retained() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    smooth = torch.zeros(())
    for _ in range(12):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        smooth = 0.9 * smooth + 0.1 * loss  # <- AD303
        optimizer.zero_grad()
        smooth.backward(retain_graph=True)
        optimizer.step()


def bad_functional_update() -> None:
    import torch
    from torch import nn
    from torch.func import functional_call, grad

    def loss(parameters: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return nn.functional.mse_loss(functional_call(model, parameters, (x,)), x.sum(1, keepdim=True))

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    parameters: dict[str, torch.Tensor] = dict(model.named_parameters())
    for _ in range(14):
        gradients = grad(loss)(parameters, torch.randn(32, 4))
        parameters = {name: p - 0.05 * gradients[name] for name, p in parameters.items()}  # <- AD303


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
    hidden = torch.zeros(16, 8)
    for _ in range(12):
        x = torch.randn(16, 4)
        hidden = cell(x, hidden.detach())
        loss = nn.functional.mse_loss(head(hidden), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_truncated_windows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
    hidden = torch.zeros(16, 8)
    for _ in range(12):
        hidden, loss = hidden.detach(), torch.zeros(())
        for _ in range(5):
            x = torch.randn(16, 4)
            hidden = cell(x, hidden)
            loss = loss + nn.functional.mse_loss(head(hidden), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        (loss / 5).backward()
        optimizer.step()


def good_graph_from_before_the_loop() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    places = torch.linspace(-1, 1, 16, requires_grad=True)
    features = torch.stack([places.sin(), places.cos()], dim=1)
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(features).squeeze(1), torch.linspace(0, 1, 16))
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        if places.grad is not None:
            print("where the loss is most sensitive:", places[places.grad.abs().argmax()].item())
        places.grad = None
        optimizer.step()


def good_unrolled_optimisation() -> None:
    import torch
    from torch import nn
    from torch.func import functional_call

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        w = torch.randn(8, 1)
        x, new_x = torch.randn(16, 8), torch.randn(16, 8)
        fast: dict[str, torch.Tensor] = dict(model.named_parameters())
        for _ in range(3):
            inner = nn.functional.mse_loss(functional_call(model, fast, (x,)), x @ w)
            gradients = torch.autograd.grad(inner, list(fast.values()), create_graph=True)
            fast = {name: p - 0.05 * g for (name, p), g in zip(fast.items(), gradients, strict=True)}
        loss = nn.functional.mse_loss(functional_call(model, fast, (new_x,)), new_x @ w)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_functional_update() -> None:
    import torch
    from torch import nn
    from torch.func import functional_call, grad

    def loss(parameters: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return nn.functional.mse_loss(functional_call(model, parameters, (x,)), x.sum(1, keepdim=True))

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    for _ in range(14):
        gradients = grad(loss)(parameters, torch.randn(32, 4))
        parameters = {name: p - 0.05 * gradients[name] for name, p in parameters.items()}


RULE = Rule(
    code="AD303",
    name="graph-grows-across-steps",
    severity="error",
    title="the graph reaches back into earlier steps",
    observes="For every backward: how many earlier steps have operations in its graph, and which variable carried "
    "them in; for every manual update: whether the new values have a graph that leads to the old ones.",
    why="Each step costs more than the one before, and gradients flow through weights that have changed since; "
    "usually the second backward fails, because the first one freed the shared part.",
    fix="Detach the state that one step passes to the next.",
    fine="Truncated backpropagation through time, and unrolled optimisation with a bounded horizon.",
    needs=(BackwardRan, OptimizerStepped, ProgramRaised),
    examine=examine,
    bad=(bad, bad_smoothed_loss_retained, bad_functional_update),
    good=(
        good,
        good_truncated_windows,
        good_graph_from_before_the_loop,
        good_unrolled_optimisation,
        good_functional_update,
    ),
    tunables={
        "steps": Tunable(
            3,
            "fewest earlier steps that a graph reaches back into, more each time",
            "chosen: truncated backpropagation connects a step or two",
        ),
        "updates": Tunable(
            10,
            "fewest manual updates, all with a graph to the earlier ones",
            "chosen: inner loops that are differentiated through rarely take that many",
        ),
    },
    folds=("AD302", "AD304", "AD501", "AD504"),
)
