"""AD305: a hook, a cache or an attribute of a module keeps activations beyond their step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import no_type_check

from autograd_doctor.events.lifetime import Survivor, SurvivorsCounted
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.holdings import Holding, holdings, kept_by_module
from autograd_doctor.wording import in_bytes, plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for holding in holdings(trace):
        kept = holding.latest
        lasting = not kept.limit and kept.made_in_steps >= tunables["steps"]
        if lasting and holding.grows(_kept_bytes) and kept_by_module(kept):
            yield _finding(holding)


def _kept_bytes(survivor: Survivor) -> int:
    return survivor.tensor_bytes + survivor.graph_bytes


def _finding(holding: Holding) -> Finding:
    kept = holding.latest
    growth = in_bytes(holding.per_step(_kept_bytes))
    made = kept.made_at if kept.made_at and kept.made_at != holding.location else None
    forecast = holding.epoch_forecast(_kept_bytes)
    return RULE.finding(
        f"`{kept.holder}` holds {plural(kept.count, 'activation')} from {plural(kept.made_in_steps, 'step')}, "
        f"{in_bytes(_kept_bytes(kept))} in total, {growth} more per step{_graph(kept)}",
        subject=kept.module or kept.holder,
        location=holding.location,
        help=f"overwrite or clear `{kept.holder}` in every step, store `.detach()`, and remove hooks after use",
        evidence={
            "tensors": kept.count,
            "bytes": _kept_bytes(kept),
            "bytes_per_step": round(holding.per_step(_kept_bytes)),
            "graph_bytes": kept.graph_bytes,
            "with_graph": "yes" if kept.has_graph else "no",
        },
        related=(Related("the activations are made here", made),) if made else (),
        notes=(forecast,) if forecast else (),
        step_first=holding.steps[0],
        step_count=kept.made_in_steps,
    )


def _graph(kept: Survivor) -> str:
    if not kept.has_graph:
        return ""
    return f", with {plural(kept.nodes, 'graph node')}" + (" whose saved tensors backward freed" if kept.freed else "")


@no_type_check
def bad() -> None:
    import torch
    from torch import nn

    def watch(model):
        def remember(module, inputs, output):
            model.history.append(output)  # <- AD305

        model.history = []
        model[1].register_forward_hook(remember)

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_cache_in_module() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(8, 32), nn.Linear(32, 1)
            self.features: list[torch.Tensor] = []

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.body(x))
            self.features.append(h.detach())  # <- AD305
            value: torch.Tensor = self.head(h)
            return value

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    activations = {}

    def remember(module: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        activations["tanh"] = output.detach()

    model[1].register_forward_hook(remember)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_feature_extractor_that_overwrites() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(8, 32), nn.Linear(32, 1)
            self.features = torch.zeros(())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.features = torch.relu(self.body(x))
            value: torch.Tensor = self.head(self.features)
            return value

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)) + 1e-3 * model.features.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_key_value_cache_in_evaluation() -> None:
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
            self.cache: list[tuple[torch.Tensor, torch.Tensor]] = []

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            if not self.training:
                self.cache.append((k, v))
                k, v = (torch.cat(parts, dim=1) for parts in zip(*self.cache, strict=True))
            mixed: torch.Tensor = self.out(nn.functional.scaled_dot_product_attention(q, k, v))
            return mixed

    torch.manual_seed(0)
    model = Attention()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(12):
        x = torch.randn(4, 6, 8)
        loss = nn.functional.mse_loss(model(x), x.roll(1, dims=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 3:
            model.eval()
            with torch.no_grad():
                token = torch.randn(1, 1, 8)
                for _ in range(5):
                    token = model(token)
            model.cache.clear()
            model.train()


RULE = Rule(
    code="AD305",
    name="activations-kept",
    severity="warning",
    title="a module or hook keeps the activations of every step",
    observes="At step boundaries, counts the activations that outlive their step in a hook's closure or in a cache or "
    "attribute of a module, and their bytes.",
    why="Activations are the largest tensors of a training step; kept from step to step, they fill the memory, and "
    "their graphs keep even more tensors alive.",
    fix="Overwrite or clear what is kept, detach it, and remove hooks after use.",
    fine="Key-value caches in evaluation, and feature extractors that overwrite what they keep.",
    needs=(SurvivorsCounted, ModuleSeen),
    examine=examine,
    bad=(bad, bad_cache_in_module),
    good=(good, good_feature_extractor_that_overwrites, good_key_value_cache_in_evaluation),
    tunables={
        "steps": Tunable(
            3,
            "fewest steps whose activations are held together",
            "chosen: a cache of the latest activations holds those of two steps",
        )
    },
)
