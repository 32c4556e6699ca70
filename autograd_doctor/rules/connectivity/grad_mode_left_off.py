"""AD212 grad-mode-left-off: gradients were switched off for everything that follows."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.connectivity import GradModeLeftOff
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import lacks_graph
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for left in trace.of(GradModeLeftOff):
        failed = next((backward for backward in trace.of(BackwardRan) if _suffered(backward, left)), None)
        idle = [step for step in trace.steps if step.step >= left.step and _idle(step)]
        if failed is not None or idle:
            yield _finding(trace, left, failed, idle)


def _suffered(backward: BackwardRan, left: GradModeLeftOff) -> bool:
    """Whether a backward had no graph while gradients were off. Evaluation at the end of a program needs none."""
    return backward.step >= left.step and lacks_graph(backward) and backward.rewrapped_at is None


def _idle(step: OptimizerStepped) -> bool:
    return step.optimizer is not None and bool(step.missing) and not step.uses


def _finding(trace: Trace, left: GradModeLeftOff, failed: BackwardRan | None, idle: list[OptimizerStepped]) -> Finding:
    consequence = (
        "the backward after it found no graph" if failed else f"{plural(len(idle), 'step')} after it had no gradients"
    )
    related = [Related("this ran with gradients off", left.work)] if left.work else []
    if failed is not None and failed.location is not None:
        related.append(Related("this backward needs the graph", failed.location))
    elif idle and idle[0].location is not None:
        related.append(Related("this step found no gradients", idle[0].location))
    return RULE.finding(
        f"`{left.switch.kind}(False)` was called and never undone, and {consequence}",
        subject=left.switch.function or left.switch.kind,
        location=left.switch.location,
        help="use it as a block (`with torch.no_grad():`), which restores the mode at its end",
        evidence={"steps_before": left.step, "steps_without_gradients": len(idle)},
        related=tuple(related),
        notes=(f"the backward failed: {failed.error}",) if failed else (),
        step_first=left.step + 1,
        step_count=len(idle),
        parameters=sorted({p for step in idle for p in step.missing} | set(trace.optimized if failed else ())),
    )


def bad() -> None:
    import torch
    from torch import nn

    def evaluate(model: nn.Module, x: torch.Tensor) -> float:
        torch.set_grad_enabled(False)  # <- AD212
        model.eval()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        model.train()
        return float(loss)

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, held_out = torch.randn(32, 6), torch.randn(16, 6)
    for epoch in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
        if epoch % 3 == 2:
            evaluate(model, held_out)


def bad_guarded() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    torch.set_grad_enabled(False)  # <- AD212
    print("before training:", nn.functional.mse_loss(model(x), y).item())
    for _ in range(8):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        if loss.requires_grad:
            loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        for phase in ("train", "valid"):
            model.train(phase == "train")
            torch.set_grad_enabled(phase == "train")
            loss = nn.functional.mse_loss(model(x), y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    torch.set_grad_enabled(True)


def good_final_evaluation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
    torch.set_grad_enabled(False)
    model.eval()
    x = torch.randn(16, 6)
    print("test:", nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).item())


RULE = Rule(
    code="AD212",
    name="grad-mode-left-off",
    severity="error",
    title="gradients were switched off and never on again",
    observes="A call of `set_grad_enabled(False)`, outside of any block, after which training went on: a backward "
    "without a graph, or optimizer steps without gradients.",
    why="As a call, the switch holds for the rest of the program, also after the function that made it has returned.",
    fix="Use `with torch.no_grad():` around the evaluation, or decorate the function that evaluates.",
    fine="A program that only evaluates from there on, and one that switches gradients on again before it trains.",
    needs=(GradModeLeftOff, BackwardRan, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_guarded),
    good=(good, good_final_evaluation),
    needs_phases=(),
    folds=("AD201", "AD202", "AD203", "AD103", "AD104", "AD111", "AD211", "AD506", "AD599", "AD116"),
    references=("https://docs.pytorch.org/docs/stable/notes/autograd.html",),
)
