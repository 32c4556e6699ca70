"""AD306: step after step, or epoch after epoch, adds a hook and none is removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from autograd_doctor.events.lifetime import HooksCounted
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_subject: dict[tuple[str, Location | None], list[HooksCounted]] = defaultdict(list)
    for event in trace.of(HooksCounted):
        by_subject[event.subject, event.location].append(event)
    growing = [counts for counts in by_subject.values() if _grows(counts, int(tunables["counts"]))]
    by_line: dict[object, list[Sequence[HooksCounted]]] = defaultdict(list)
    for counts in growing:
        by_line[counts[-1].location].append(counts)
    for together in by_line.values():
        yield _finding(max(together, key=lambda counts: counts[-1].hooks), len(together) - 1)


def _grows(counts: Sequence[HooksCounted], enough: int) -> bool:
    more_each_time = all(before.hooks < after.hooks for before, after in pairwise(counts))
    return len(counts) >= enough and more_each_time


def _finding(counts: Sequence[HooksCounted], others: int) -> Finding:
    first, last = counts[0], counts[-1]
    per_step = (last.hooks - first.hooks) / max(1, last.step - first.step)
    more = (
        f"{per_step:.3g} more per step"
        if per_step >= 1
        else f"{plural(first.hooks, 'hook')} after {plural(first.step, 'step')}, and more each time this line ran"
    )
    also = f"; the same line adds hooks to {others} more" if others else ""
    return RULE.finding(
        f"`{last.subject}` has {plural(last.hooks, 'hook')} after {plural(last.step, 'step')}, {more}{also}",
        subject=last.subject,
        location=last.location,
        help="register the hook once before the loop, or keep the handle and call `handle.remove()` after use",
        evidence={"hooks": last.hooks, "hooks_first": first.hooks, "hooks_per_step": round(per_step, 3)},
        step_first=first.step,
        step_count=last.step - first.step,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    shapes: dict[str, torch.Size] = {}
    for _ in range(12):
        model[0].register_forward_hook(lambda module, inputs, output: shapes.update(first=output.shape))  # <- AD306
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_hook_on_parameter() -> None:
    import torch
    from torch import nn

    def train_step(model: nn.Linear, optimizer: torch.optim.SGD, x: torch.Tensor) -> None:
        model.weight.register_hook(lambda gradient: gradient.clamp(-1, 1))  # <- AD306
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        train_step(model, optimizer, torch.randn(16, 8))


def bad_hook_in_every_epoch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(4):
        if epoch > 0:
            for parameter in model[0].parameters():
                parameter.register_hook(lambda gradient: gradient * 2.0)  # <- AD306
        for _ in range(7):
            x = torch.randn(16, 8)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    shapes: dict[str, torch.Size] = {}
    model[0].register_forward_hook(lambda module, inputs, output: shapes.update(first=output.shape))
    for _ in range(12):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_hooks_of_one_epoch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(5):
        handles = [p.register_hook(lambda gradient: gradient * 0.5) for p in model[epoch % 2 * 2].parameters()]
        for _ in range(16):
            x = torch.randn(16, 8)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        for handle in handles:
            handle.remove()


def good_handle_removed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    shapes: dict[str, torch.Size] = {}
    for _ in range(12):
        handle = model[0].register_forward_hook(lambda module, inputs, output: shapes.update(first=output.shape))
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        handle.remove()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD306",
    name="hooks-pile-up",
    severity="warning",
    title="hooks pile up",
    observes="At step boundaries, counts the hooks of every module and parameter that got a new one.",
    why="Each call runs every hook: steps get slower, effects such as gradient scaling are applied again and again, "
    "and whatever the hooks reference stays alive.",
    fix="Register hooks once, or remove each through its handle.",
    fine="Hooks that are registered and then removed.",
    needs=(HooksCounted,),
    examine=examine,
    bad=(bad, bad_hook_on_parameter, bad_hook_in_every_epoch),
    good=(good, good_handle_removed, good_hooks_of_one_epoch),
    tunables={
        "counts": Tunable(
            3,
            "fewest consecutive counts of hooks, each higher than the one before",
            "chosen: two may be the start, when hooks are registered",
        )
    },
)
