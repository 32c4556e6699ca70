"""AD203 unused-parameter: an optimizer holds parameters that no training pass uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import dropwhile, takewhile

from autograd_doctor.events.connectivity import LossDropped, TermIdle, TermUsed
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt, ParametersAdded
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import registered
from autograd_doctor.views.dropped_losses import ADVICE, dropped_loss, pointer
from autograd_doctor.views.so_far import may_learn_later
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    used = {parameter for backward in trace.of(BackwardRan) for parameter in backward.values or ()}
    conditional = {_series(trace, parameter) for parameter in _sometimes_used(trace)} - {""}
    evaluated = _only_evaluated(trace)
    for optimizer, held in trace.optimizer_parameters.items():
        steps = [step for step in trace.steps if step.optimizer == optimizer]
        yield from _come_late(trace, optimizer, steps, tunables)
        missing = Counter(parameter for step in steps for parameter in step.missing)
        idle = sorted(
            parameter
            for parameter in held & trace.without_gradient - used - evaluated
            if missing[parameter] == len(steps) >= tunables["minimum_steps"]
            and _series(trace, parameter) not in conditional
        )
        if idle and held & trace.connected:
            yield _finding(trace, optimizer, idle, len(steps))


def _come_late(
    trace: Trace, optimizer: int, steps: Sequence[OptimizerStepped], tunables: Tunables
) -> Iterator[Finding]:
    """Parameters that were to learn from some step on, given to the optimizer or no longer frozen, and never did."""
    added = {
        p: event for event in trace.of(ParametersAdded) if event.optimizer == optimizer for p in event.group.parameters
    }
    missing, frozen = [set(step.missing) for step in steps], [set(step.frozen) for step in steps]
    late: dict[int, list[int]] = {}
    for parameter in missing[-1] if steps else ():
        since = _at_the_end(missing, parameter)
        if since < len(steps) and (
            parameter in frozen[-since - 1]
            or (parameter in added and added[parameter].sequence > steps[-since - 1].sequence)
        ):
            late.setdefault(since, []).append(parameter)
    for since, idle in late.items():
        is_short = steps[-1].step - steps[-since].step < tunables["minimum_late_steps"]
        if since < tunables["minimum_steps"] or is_short or not any(step.uses for step in steps[-since:]):
            continue
        learning = {_series(trace, p) for step in steps[-since:] for use in step.uses for p in use.parameters} - {""}
        idle = sorted(parameter for parameter in idle if _series(trace, parameter) not in learning)
        if idle:
            yield _late(trace, optimizer, idle, steps[-since:], added.get(idle[0]))


def _at_the_end(missing: Sequence[Set[int]], parameter: int) -> int:
    return len(list(takewhile(lambda idle: parameter in idle, reversed(missing))))


def _late(
    trace: Trace, optimizer: int, idle: list[int], steps: Sequence[OptimizerStepped], added: ParametersAdded | None
) -> Finding:
    since = "they were added here" if added is not None else "they were unfrozen here"
    return RULE.finding(
        f"{trace.parameter_names(idle)} had no gradient in any of the {plural(len(steps), 'step')} of "
        f"`{trace.optimizer_name(optimizer)}` that were recorded since {since}",
        subject=trace.parameter_name(idle[0]),
        location=added.location if added is not None else trace.optimizers[optimizer].location,
        help="compute the loss through them from then on: what was computed before, or under `no_grad`, has no "
        "gradient to them",
        so_far=may_learn_later(trace, idle),
        evidence={"number_of_parameters": len(idle), "steps": len(steps)},
        related=registered(trace, idle),
        step_first=steps[0].step + 1,
        step_count=steps[-1].step - steps[0].step + 1,
        parameters=idle,
    )


def _sometimes_used(trace: Trace) -> set[int]:
    """Parameters with a gradient in some steps and none, or zero, in others: layers that are chosen as data ask.

    Zeros before the first gradient are those of layers behind weights that begin at zero, as in adapters.
    """
    missing = {parameter for step in trace.steps for parameter in step.missing}
    begun = {p: list(dropwhile(lambda norm: norm == 0, norms)) for p, norms in trace.gradient_norms.items()}
    return {p for p, norms in begun.items() if norms and (p in missing or not all(norms))}


def _series(trace: Trace, parameter: int) -> str:
    """What an expert that no sample chose shares with its siblings, which were chosen now and then."""
    return trace.parameters[parameter].series if parameter in trace.parameters else ""


def _only_evaluated(trace: Trace) -> set[int]:
    """Parameters of root modules that ran, but never with gradients on."""
    trained = {event.module for event in trace.of(ForwardRan) if event.grad_enabled and event.builds_graph}
    evaluated = {event.module for event in trace.of(ForwardRan)} - trained
    return _parameters(trace, evaluated) - _parameters(trace, trained)


def _parameters(trace: Trace, modules: Iterable[int]) -> set[int]:
    return {p for module in modules if module in trace.modules for p in trace.modules[module].parameters}


def _finding(trace: Trace, optimizer: int, idle: list[int], steps: int) -> Finding:
    held = trace.optimizer_parameters[optimizer]
    name = trace.optimizer_name(optimizer)
    loss = dropped_loss(trace, idle)
    return RULE.finding(
        f"{trace.parameter_names(idle)} took no part in any forward pass that led to one of {plural(steps, 'step')} of "
        f"`{name}`",
        subject=trace.parameter_name(idle[0]),
        location=trace.optimizers[optimizer].location,
        help="call the layer in `forward` and use its result in the loss, or take it out of the model"
        if loss is None
        else ADVICE,
        severity="info" if loss is None and _are_spare(trace, idle) else None,
        so_far=may_learn_later(trace, idle),
        confidence="high" if any(event.values is not None for event in trace.of(BackwardRan)) else "medium",
        evidence={
            "unused": [trace.parameter_name(parameter) for parameter in idle[:20]],
            "number_of_parameters": len(idle),
            "held_by_the_optimizer": len(held),
            "steps": steps,
        },
        related=(*registered(trace, idle, *pointer(loss)), *_called(trace, idle)),
        step_first=1,
        step_count=steps,
        parameters=idle,
    )


def _are_spare(trace: Trace, idle: Sequence[int]) -> bool:
    """Whether a library built them as a part of what the program asked for, and the rest of that is used."""
    used = {trace.parameters[p].registered_at for p in trace.learning if p in trace.parameters}
    seen = [trace.parameters[p] for p in idle if p in trace.parameters]
    return bool(seen) and all(each.of_library and each.registered_at in used for each in seen)


def _called(trace: Trace, idle: Sequence[int]) -> tuple[Related, ...]:
    """Where a module that holds them is called in training: with arguments that leave them out, it may be."""
    calls = (event for event in trace.of(ForwardRan) if event.grad_enabled and event.builds_graph and event.location)
    for call in calls:
        if idle[0] in _parameters(trace, [call.module]):
            text = f"this call of `{trace.module_name(call.module)}` does without them"
            return (Related(text, call.location),) if call.location else ()
    return ()


def bad() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.head = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = torch.relu(self.first(x))
            return self.head(hidden)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # <- AD203
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def bad_last_block() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(4))
    head = nn.Linear(6, 1)
    optimizer = torch.optim.SGD([*blocks.parameters(), *head.parameters()], lr=0.05)  # <- AD203
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True).tanh()
    for _ in range(8):
        hidden = x
        for index in range(len(blocks) - 1):
            hidden = blocks[index](hidden)
        optimizer.zero_grad()
        nn.functional.mse_loss(head(hidden), y).backward()
        optimizer.step()


def bad_features_kept_from_before() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Sequential(nn.Linear(6, 8), nn.Tanh()), nn.Linear(8, 1)
    body.requires_grad_(False)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.01)
    x = torch.randn(64, 6)
    y = x.sum(1, keepdim=True)
    features = body(x)
    for step in range(29):
        if step == 8:
            body.requires_grad_(True)
            optimizer.add_param_group({"params": body.parameters(), "lr": 0.001})  # <- AD203
        rows = torch.randperm(64)[:32]
        optimizer.zero_grad()
        nn.functional.mse_loss(head(features[rows]), y[rows]).backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def good_unfrozen_in_stages() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))
    head = nn.Linear(6, 1)
    layers.requires_grad_(False)
    optimizer = torch.optim.Adam([*layers.parameters(), *head.parameters()], lr=0.01)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    for step in range(28):
        if step % 9 == 8:
            layers[2 - step // 9].requires_grad_(True)
        hidden = x
        for layer in layers:
            hidden = torch.tanh(layer(hidden))
        optimizer.zero_grad()
        nn.functional.mse_loss(head(hidden), y).backward()
        optimizer.step()


def good_layer_drop() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(4))
    head = nn.Linear(6, 1)
    optimizer = torch.optim.SGD([*blocks.parameters(), *head.parameters()], lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True).tanh()
    for _ in range(12):
        hidden = x
        for block in blocks:
            if torch.rand(()) < 0.7:
                hidden = hidden + block(hidden)
        optimizer.zero_grad()
        nn.functional.mse_loss(head(hidden), y).backward()
        optimizer.step()


RULE = Rule(
    code="AD203",
    name="unused-parameter",
    severity="warning",
    title="an optimizer holds parameters that no training pass uses",
    observes="Parameters that had no gradient in any step of their optimizer, because no forward pass that led to a "
    "backward took them in, while other parameters of the same optimizer learn; and those that were given to it, or "
    "unfrozen, later on, and had none from then on.",
    why="A layer that was built and never called is usually a slip in `forward`: the model is smaller than its author "
    "thinks, and its random weights are saved with it.",
    fix="Use the layer, or remove it.",
    fine="Layers that are chosen in some steps only (experts, layer-drop), and modules that run in evaluation alone. "
    "What a library built besides, as the pooler of a BERT whose words are averaged, is an `info`.",
    needs=(
        BackwardRan,
        OptimizerBuilt,
        OptimizerStepped,
        ParametersAdded,
        ForwardRan,
        ModuleSeen,
        LossDropped,
        RunEnded,
        TermIdle,
        TermUsed,
    ),
    examine=examine,
    bad=(bad, bad_last_block, bad_features_kept_from_before),
    good=(good, good_unfrozen_in_stages, good_layer_drop),
    tunables={
        "minimum_steps": Tunable(3, "fewest steps, in none of which a parameter took part", NO_BEGINNING),
        "minimum_late_steps": Tunable(
            8,
            "fewest steps over which what was to learn from some step on had no gradient",
            "chosen: what joins a training late may have its turn a few steps later",
        ),
    },
    lasting=True,
)
