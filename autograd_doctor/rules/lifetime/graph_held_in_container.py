"""AD301: tensors pile up in a container together with the graphs that made them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.lifetime import Survivor, SurvivorsCounted
from autograd_doctor.events.steps import BatchDrawn, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.holdings import Holding, awaits_backward, holdings, kept_by_module, remaining
from autograd_doctor.wording import in_bytes, plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for holding in holdings(trace):
        kept = holding.latest
        lasting = kept.has_graph and not _is_window(kept) and kept.made_in_steps >= tunables["steps"]
        piles_up = lasting and holding.grows(_count) and not kept_by_module(kept)
        if piles_up and not awaits_backward(trace, holding):
            yield _finding(holding)


def _is_window(kept: Survivor) -> bool:
    """Whether it lets go of the oldest before long: one that is not half full will not, for all that was seen."""
    return 0 < kept.limit < 2 * kept.count


def _count(survivor: Survivor) -> int:
    return survivor.count


def _graph_bytes(survivor: Survivor) -> int:
    return survivor.graph_bytes


def _nodes(survivor: Survivor) -> int:
    return survivor.nodes


def _finding(holding: Holding) -> Finding:
    kept = holding.latest
    container = kept.holder.rpartition("[")[0] if kept.holder_kind == "dict" else kept.holder
    notes = [holding.forecast(_graph_bytes)] if holding.grows(_graph_bytes) and not kept.limit else []
    if kept.limit:
        notes.append(f"it drops the oldest only when it holds {kept.limit:,}, which was not reached")
    made = kept.made_at if kept.made_at and kept.made_at != holding.location else None
    return RULE.finding(
        f"`{container}` holds {plural(kept.count, 'tensor')} from {plural(kept.made_in_steps, 'step')} with their "
        f"graphs: {_cost(holding)}",
        subject=container,
        location=holding.location,
        help=f"store a number or a tensor without a graph: `{container}` should take `.item()` or `.detach()` of it",
        severity="error" if holding.is_heavy(_graph_bytes) and not kept.limit else "warning",
        confidence="medium" if kept.limit else "high",
        evidence={
            "tensors": kept.count,
            "tensors_per_step": round(holding.per_step(_count), 2),
            "graph_bytes": kept.graph_bytes,
            "graph_bytes_per_step": round(holding.per_step(_graph_bytes)),
            "graph_nodes": kept.nodes,
            "buffers_freed": "yes" if kept.freed else "no",
        },
        related=(Related("the tensors are made here", made),) if made else (),
        notes=tuple(notes),
        step_first=holding.steps[0],
        step_count=kept.made_in_steps,
    )


def _cost(holding: Holding) -> str:
    """What the graphs weigh: activations while no backward has freed them, nodes alone afterwards."""
    kept = holding.latest
    if holding.grows(_graph_bytes):
        growth = in_bytes(holding.per_step(_graph_bytes))
        freed = (
            ", although backward freed what built-in operations saved" if kept.freed else ", never freed by a backward"
        )
        return f"{in_bytes(kept.graph_bytes)} of saved activations, {growth} more per step{freed}"
    if kept.freed:
        nodes = holding.per_step(_nodes)
        return f"backward freed the activations, {remaining(kept.nodes)}, {nodes:.0f} more per step"
    return f"{plural(kept.nodes, 'graph node')}, {holding.per_step(_nodes):.0f} more per step, and no activations"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(12):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)  # <- AD301
    print(torch.stack(losses).mean().item())


def bad_metric_beside_the_loss() -> None:
    import torch
    from torch import nn

    def train(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, list[float | torch.Tensor]]:
        history: dict[str, list[float | torch.Tensor]] = {"mse": [], "mae": []}
        for _ in range(12):
            x = torch.randn(32, 8)
            target = x.sum(1, keepdim=True)
            prediction = model(x)
            loss = (prediction - target).pow(2).mean()
            mae = (prediction - target).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history["mse"].append(loss.item())
            history["mae"].append(mae)  # <- AD301
        return history

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    train(model, torch.optim.Adam(model.parameters(), lr=0.01))


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses, tensors = [], []
    for _ in range(12):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        tensors.append(loss.detach())
    print(sum(losses) / len(losses))


def bad_window_too_long() -> None:
    from collections import deque

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    recent: deque[torch.Tensor] = deque(maxlen=10_000)
    for _ in range(14):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(loss)  # <- AD301


def good_bounded_window() -> None:
    from collections import deque

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    recent: deque[torch.Tensor] = deque(maxlen=4)
    for _ in range(16):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(loss)


def good_episodes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(12):
        log_probs, rewards = [], []
        for _ in range(6):
            state = torch.randn(4)
            chosen = torch.distributions.Categorical(logits=policy(state))
            action = chosen.sample()
            log_probs.append(chosen.log_prob(action))
            rewards.append(1.0 if (action == 0) == (state[0] > 0) else -1.0)
        loss = -(torch.stack(log_probs) * torch.tensor(rewards)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD301",
    name="graph-held-in-container",
    severity="warning",
    title="a container keeps the graph of every step",
    observes="At step boundaries, counts the living tensors that have a graph, by the line that made them and the "
    "container that holds them, and measures the bytes that their graphs keep alive. It is an error where these would "
    "fill gigabytes in a long run: 64 KiB per step, or more, are 6 GiB in 100,000 steps.",
    why="A tensor with a graph keeps every node behind it alive. Without a backward through it, it also keeps all "
    "activations, so memory runs out after enough steps; after a backward, only nodes remain.",
    fix="Store `loss.item()` or `loss.detach()`.",
    fine="Windows of fixed length that fill up, and episodes and losses that are collected for a later backward.",
    needs=(SurvivorsCounted, BatchDrawn, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_metric_beside_the_loss, bad_window_too_long),
    good=(good, good_bounded_window, good_episodes),
    tunables={
        "steps": Tunable(
            3,
            "fewest steps whose tensors are held together",
            "chosen: a loop that keeps its last result holds those of two steps",
        )
    },
    references=("https://docs.pytorch.org/docs/stable/notes/faq.html",),
)
