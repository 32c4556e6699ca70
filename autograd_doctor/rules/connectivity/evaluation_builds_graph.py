"""AD209 evaluation-builds-graph: evaluation passes built graphs that no backward used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

from autograd_doctor.events.connectivity import ForwardsWithoutBackward, IdleForwardUsed
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_place: dict[int | Location, list[ForwardsWithoutBackward]] = {}
    used = {(event.module, event.location, event.training) for event in trace.of(IdleForwardUsed)}
    for event in trace.of(ForwardsWithoutBackward):
        if event.unsettled or (event.module, event.location, event.training) in used:
            continue
        by_place.setdefault(event.location or event.module, []).append(event)
    by_cause: dict[tuple[Hashable, bool], list[ForwardsWithoutBackward]] = {}
    for idle in by_place.values() if trace.steps else ():
        evaluating = not any(event.training or _part_of_training(trace, event) for event in idle)
        noticeable = max(event.bytes_held for event in idle) >= tunables["noticeable_bytes"]
        if (evaluating or noticeable) and _most_passes(idle) >= tunables["minimum_passes"]:
            by_cause.setdefault((_function(idle[0]), evaluating), []).extend(idle)
    for (_, evaluating), idle in by_cause.items():
        yield _finding(trace, idle, evaluating)


def _most_passes(idle: list[ForwardsWithoutBackward]) -> int:
    """Of one module: the parts of a model that is tried once, as for its strides, are called once each."""
    passes = Counter[int]()
    for event in idle:
        passes[event.module] += event.passes
    return max(passes.values())


def _function(idle: ForwardsWithoutBackward) -> Hashable:
    """The function that evaluates: its passes are idle for one reason. Statements of a file have but their own line."""
    where = idle.location
    return (where.path, where.function) if where is not None and where.function else where or idle.module


def _part_of_training(trace: Trace, idle: ForwardsWithoutBackward) -> bool:
    """Whether what the module computed went into a loss of the same step, as a teacher's output does.

    A network that itself trains, in train mode, has other passes whose values go there.
    """
    seen = trace.modules.get(idle.module)
    own = set(seen.parameters) if seen else set()
    backwards = (event for event in trace.of(BackwardRan) if event.step == idle.step)
    losses = [event for event in backwards if own.intersection(event.values or ())]
    trains = any(event.training and event.module == idle.module for event in trace.of(ForwardRan))
    return any(not trains or own.isdisjoint(loss.reached) for loss in losses)


def _finding(trace: Trace, idle: list[ForwardsWithoutBackward], evaluating: bool) -> Finding:
    """In eval mode the purpose is plain; rollouts and teachers, part of training, only waste some memory."""
    passes = sum(event.passes for event in idle)
    held, seconds = max(event.bytes_held for event in idle), sum(event.seconds for event in idle)
    lines = [event.location for event in idle if event.location is not None]
    names = list(dict.fromkeys(trace.module_name(event.module) for event in idle))
    modules = f"`{names[0]}`" + (f" and {plural(len(names) - 1, 'other module')}" if len(names) > 1 else "")
    size = f", each keeping {'up to ' if len(names) > 1 else ''}{held:,} bytes for a backward" if held else ""
    return RULE.finding(
        f"{passes} forward {'pass' if passes == 1 else 'passes'} of {modules} built a graph that no backward used"
        f"{size}",
        subject=names[0],
        location=idle[0].location,
        help="evaluate under `torch.no_grad()`"
        if evaluating
        else "call it under `torch.no_grad()`, or leave the call out if nothing uses its result",
        severity=None if evaluating else "info",
        confidence="high" if evaluating else "medium",
        evidence={
            "passes": passes,
            "bytes_kept_per_pass": held,
            "seconds": round(seconds, 4),
            "mode": "train" if idle[0].training else "eval",
        },
        related=(
            *(Related("and these", place) for place in dict.fromkeys(lines) if place != lines[0]),
            *(Related("these passes come from here", place) for place in [idle[0].called_from] if place),
        ),
        step_first=idle[0].step,
        step_count=len(idle),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, held_out = torch.randn(64, 6), torch.randn(64, 6)
    for _ in range(8):
        model.train()
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
        model.eval()
        total = 0.0
        for part in held_out.split(16):
            total += nn.functional.mse_loss(model(part), part.sum(1, keepdim=True)).item()  # <- AD209


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, held_out = torch.randn(64, 6), torch.randn(64, 6)
    for _ in range(8):
        model.train()
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            for part in held_out.split(16):
                nn.functional.mse_loss(model(part), part.sum(1, keepdim=True)).item()


def good_adversarial_examples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, labels = torch.randn(64, 6), torch.randint(0, 3, (64,))
    for _ in range(8):
        model.eval()
        attacked = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(nn.functional.cross_entropy(model(attacked), labels), attacked)
        model.train()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x + 0.05 * slope.sign()), labels).backward()
        optimizer.step()


def good_frozen_network() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    judge = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1)).requires_grad_(False).eval()
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(64, 6)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), judge(x) + x[:, :1]).backward()
        optimizer.step()


RULE = Rule(
    code="AD209",
    name="evaluation-builds-graph",
    severity="warning",
    title="evaluation built graphs that nothing used",
    observes="Forward passes in eval mode whose outputs had a graph and that no backward ran through, with the bytes "
    "that each graph kept.",
    why="Every activation is kept until the output dies, so that evaluation needs several times the memory and more "
    "time than it should.",
    fix="Put evaluation under `torch.no_grad()` or `torch.inference_mode()`.",
    fine="Saliency, adversarial examples and other evaluation whose gradients are used; frozen networks, which build "
    "no graph; a line that training uses too, such as one that runs a policy for both rollouts and losses. "
    "Rollouts, and teachers whose output a loss uses, are an `info`, and only if a pass keeps a noticeable "
    "amount of memory (`noticeable_bytes`, by default a mebibyte).",
    needs=(ForwardsWithoutBackward, IdleForwardUsed, ForwardRan, ModuleSeen, BackwardRan, OptimizerStepped),
    examine=examine,
    bad=(bad,),
    good=(good, good_adversarial_examples, good_frozen_network),
    tunables={
        "minimum_passes": Tunable(2, "fewest passes of a module whose graph no backward used", MORE_THAN_ONCE),
        "noticeable_bytes": Tunable(
            2**20,
            "smallest graph, in bytes, that is reported where no module is evaluated",
            "PyTorch: half of the smallest block that its caching allocator takes from a GPU (2 MiB)",
        ),
    },
    references=("https://docs.pytorch.org/docs/stable/notes/autograd.html",),
)
