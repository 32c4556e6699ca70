"""AD307: living tensors without a graph take more memory with every step."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.lifetime import Survivor, SurvivorsCounted
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.holdings import Holding, holdings, kept_by_module
from autograd_doctor.wording import in_bytes, plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for holding in holdings(trace):
        kept = holding.latest
        known = kept.holder_kind != "variable"  # a variable holds one tensor: it is not what holds them all
        plain = known and not kept.has_graph and not kept.limit and not kept_by_module(kept)
        lasting = plain and kept.made_in_steps >= tunables["steps"] and holding.grows(_tensor_bytes)
        if lasting and holding.per_step(_tensor_bytes) >= tunables["bytes_per_step"]:
            yield _finding(holding, is_used=kept.read_in_steps >= tunables["read_in"])


def _tensor_bytes(survivor: Survivor) -> int:
    return survivor.tensor_bytes


def _finding(holding: Holding, *, is_used: bool) -> Finding:
    """What later steps compute with is kept on purpose: it may be a memory that is not full yet."""
    kept = holding.latest
    growth = in_bytes(holding.per_step(_tensor_bytes))
    forecast = holding.epoch_forecast(_tensor_bytes)
    holder = f"`{kept.holder}`" if kept.holder else "something without a variable name"
    return RULE.finding(
        f"{holder} holds {plural(kept.count, 'tensor')} from {plural(kept.made_in_steps, 'step')}, "
        f"{in_bytes(kept.tensor_bytes)} in total, {growth} more per step"
        + (f"; {plural(kept.read_in_steps, 'later step')} computed with some of them" if is_used else ""),
        severity="info" if is_used else None,
        subject=kept.holder,
        location=holding.location,
        confidence="medium",
        help=f"limit the size of {holder}, keep summaries instead of tensors, or write them to disk",
        evidence={
            "tensors": kept.count,
            "bytes": kept.tensor_bytes,
            "bytes_per_step": round(holding.per_step(_tensor_bytes)),
        },
        notes=(forecast,) if forecast else (),
        step_first=holding.steps[0],
        step_count=kept.made_in_steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(256, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    seen = []
    for _ in range(12):
        x = torch.randn(256, 256)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(x * 2)  # <- AD307


def bad_gradients_recorded() -> None:
    import torch
    from torch import nn

    class Recorder:
        def __init__(self) -> None:
            self.gradients: list[torch.Tensor] = []

        def record(self, model: nn.Linear) -> None:
            if model.weight.grad is not None:
                self.gradients.append(model.weight.grad.clone())  # <- AD307

    torch.manual_seed(0)
    model = nn.Linear(256, 128)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    recorder = Recorder()
    for _ in range(12):
        x = torch.randn(16, 256)
        loss = nn.functional.mse_loss(model(x), x[:, :128])
        optimizer.zero_grad()
        loss.backward()
        recorder.record(model)
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(256, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    means = []
    for _ in range(12):
        x = torch.randn(256, 256)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        means.append(x.mean().item())


def good_replay_buffer_with_a_size() -> None:
    from collections import deque

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(256, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    replay: deque[torch.Tensor] = deque(maxlen=1000)
    for _ in range(12):
        replay.append(torch.randn(64, 256))
        x = replay[int(torch.randint(len(replay), ()))]
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_cache_that_settles() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(256, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    cache = {}
    for step in range(16):
        length = 64 * (step % 3 + 1)
        if length not in cache:
            cache[length] = torch.randn(length, 256)
        x = cache[length] + torch.randn(length, 256)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD307",
    name="memory-grows",
    severity="warning",
    title="tensors take more memory with every step",
    observes="At step boundaries, counts the tensors without a graph that outlive their step, their bytes, what "
    "holds them, and whether later steps compute with them.",
    why="Memory that grows by the same amount in every step runs out, often hours later.",
    fix="Limit the size of the holder, keep summaries, or write to disk.",
    fine="Optimizer state in the first steps, caches that stop growing, replay buffers with a fixed capacity. What "
    "later steps compute with may be such a memory that is not full yet: that it grows is a remark.",
    needs=(SurvivorsCounted, ModuleSeen),
    examine=examine,
    bad=(bad, bad_gradients_recorded),
    good=(good, good_replay_buffer_with_a_size, good_cache_that_settles),
    tunables={
        "steps": Tunable(
            4, "fewest steps whose tensors are held together", "chosen: small windows hold those of a few"
        ),
        "read_in": Tunable(
            3,
            "fewest later steps that compute with them, for the growth to be no more than a remark",
            "chosen: once or twice they are summed up, or shown",
        ),
        "bytes_per_step": Tunable(
            65536,
            "smallest growth per step, in bytes",
            "chosen: 64 KiB per step are 6 GiB in 100,000 steps; less is what a program logs",
        ),
    },
)
