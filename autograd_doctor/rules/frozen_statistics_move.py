"""AD214 frozen-statistics-move: a normalisation is frozen, and its running statistics move all the same."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events import BackwardRan, ForwardRan, ModuleSeen, OptimizerBuilt, OptimizerStepped
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    trained = {event.step for event in trace.of(BackwardRan) if event.wrote}
    by_hand = {p for step in trace.of(OptimizerStepped) if step.optimizer is None for p in step.moved or ()}
    for module in sorted({event.module for event in trace.of(ForwardRan)}):
        passes = [
            event
            for event in trace.of(ForwardRan)
            if event.module == module and event.grad_enabled and event.step in trained and event.statistics_moved
        ]
        seen = trace.modules.get(module)
        if seen is None or not passes or by_hand.intersection(seen.parameters):
            continue
        moving = sorted({name for event in passes for name in event.statistics_moved})
        frozen = {name: own for name in moving if (own := _parameters(trace, seen, name)) and own <= _still(trace)}
        if frozen and len({event.step for event in passes}) >= tunables["minimum_steps"]:
            yield _finding(trace, seen, frozen, passes)


def _parameters(trace: Trace, seen: ModuleSeen, norm: str) -> set[int]:
    return {parameter for parameter in seen.parameters if f".{norm}." in f".{trace.parameter_name(parameter)}"}


def _still(trace: Trace) -> set[int]:
    """Frozen parameters that no backward ever gave a gradient."""
    return set(trace.frozen - trace.connected)


def _finding(trace: Trace, seen: ModuleSeen, frozen: dict[str, set[int]], passes: list[ForwardRan]) -> Finding:
    names = sorted(frozen)
    shown = ", ".join(f"`{name}`" for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    steps = len({event.step for event in passes})
    whole = set(seen.parameters) <= _still(trace)
    return RULE.finding(
        f"the parameters of {shown} in `{trace.module_name(seen.module)}` are frozen, and the running "
        f"statistics moved in {steps} training steps",
        subject=names[0],
        location=passes[0].location,
        help="call `eval()` on the frozen part after `train()` on the model",
        confidence="medium" if whole else "high",
        evidence={"statistics_moved": names[:20], "number_of_normalisations": len(names), "steps": steps},
        step_first=passes[0].step + 1,
        step_count=steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
    model = nn.Sequential(backbone, nn.Linear(16, 1))
    backbone.requires_grad_(False)
    optimizer = torch.optim.SGD(model[1].parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6) + 1
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))  # <- AD214
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
    model = nn.Sequential(backbone, nn.Linear(16, 1))
    backbone.requires_grad_(False)
    optimizer = torch.optim.SGD(model[1].parameters(), lr=0.05)
    for _ in range(8):
        model.train()
        backbone.eval()
        x = torch.randn(32, 6) + 1
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()


def good_without_statistics() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16, track_running_stats=False), nn.ReLU())
    model = nn.Sequential(backbone.requires_grad_(False), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model[1].parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6) + 1
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()


def good_adaptation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        x, labels = torch.randn(32, 6), torch.randint(0, 3, (32,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), labels).backward()
        optimizer.step()
    model.requires_grad_(False)
    model.train()
    for _ in range(4):
        model(torch.randn(32, 6) + 2)


RULE = Rule(
    code="AD214",
    name="frozen-statistics-move",
    severity="warning",
    title="a frozen normalisation keeps changing its statistics",
    observes="Batch-norms all of whose parameters are frozen, whose running statistics moved in training passes.",
    why="`requires_grad_(False)` stops the weights, not the statistics: the frozen part goes on changing with the "
    "data, and the result in eval mode drifts away from what was loaded.",
    fix="Put the frozen part in eval mode, after each `train()` of the whole model.",
    fine="Statistics adapted on purpose outside of training steps, teachers that are updated by hand, and "
    "batch-norm without running statistics.",
    needs=(ForwardRan, ModuleSeen, BackwardRan, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad,),
    good=(good, good_without_statistics, good_adaptation),
    tunables={"minimum_steps": 2},
)
