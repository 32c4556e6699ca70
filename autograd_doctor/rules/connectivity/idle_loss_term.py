"""AD219 idle-loss-term: a scalar with a graph is worked out in every step, and nothing ever takes it in."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.connectivity import LossDropped, TermIdle, TermUsed
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.dropped_losses import ADVICE, Dropped, words
from autograd_doctor.views.so_far import has_ended
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    used = {(event.location, event.operation) for event in trace.of(TermUsed)}
    newest = {(event.location, event.operation): event for event in trace.of(TermIdle)}
    learning = _learning(trace)
    for key, term in newest.items():
        often = term.idle >= tunables["minimum_steps"] and 2 * term.idle >= term.steps
        if key not in used and often and not learning.isdisjoint(term.parameters):
            effect = f"in {plural(term.idle, 'recorded step')}; no loss used it, and nothing read it"
            yield _finding(trace, term, sorted(learning.intersection(term.parameters)), effect, term.idle)
    # Of parameters that get no gradient at all, another rule says so, and names the loss.
    taught = {parameter for event in trace.of(BackwardRan) for parameter in event.wrote}
    for dropped in trace.of(LossDropped) if trace.steps_taken >= tunables["minimum_steps"] else ():
        concerned = learning.intersection(dropped.parameters)
        is_used = (dropped.location, dropped.operation) in used
        if dropped.derived and not is_used and concerned and concerned <= taught:
            effect = "with a second derivative, taken with `create_graph=True`; no backward came through it"
            yield _finding(trace, dropped, sorted(concerned), effect, trace.steps_taken)


def _learning(trace: Trace) -> set[int]:
    """The parameters that optimizers step on."""
    stepped = {step.optimizer for step in trace.steps}
    held = (parameters for optimizer, parameters in trace.optimizer_parameters.items() if optimizer in stepped)
    return {parameter for parameters in held for parameter in parameters} - trace.frozen


def _finding(trace: Trace, term: Dropped, learned: list[int], effect: str, steps: int) -> Finding:
    backward = _backward(trace, learned)
    stopped = not has_ended(trace)
    spare = isinstance(term, TermIdle) and term.by_library
    notes = ["the run was stopped: a later step may still read or use it"] if stopped else []
    notes += ["a library computed it, as it does where it is given labels: it may not be wanted"] if spare else []
    related = [Related("it is computed here", term.location)] if term.named_at and term.location else []
    related += [Related("this backward does not come through it", backward)] if backward is not None else []
    return RULE.finding(
        f"{words(term)} was computed from {trace.parameter_names(learned)} {effect}",
        subject=term.name or term.operation,
        location=term.named_at or term.location,
        help=ADVICE if trace.without_gradient.intersection(learned) else "add it to the loss, or leave it out",
        severity="info" if notes else None,
        confidence="medium" if notes else "high",
        notes=tuple(notes),
        evidence={
            "steps": steps,
            "computed_from": [trace.parameter_name(parameter) for parameter in learned[:20]],
            "number_of_parameters": len(learned),
        },
        related=tuple(related),
        step_first=1,
        step_count=steps,
        parameters=learned,
    )


def _backward(trace: Trace, parameters: list[int]) -> Location | None:
    """The line that trains what it was computed from."""
    places = (event.location for event in trace.of(BackwardRan) if not set(parameters).isdisjoint(event.wrote))
    return next((place for place in places if place is not None), None)


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(12, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(64, 12)
    for _ in range(10):
        losses = {"fit": nn.functional.mse_loss(model(x), x[:, :1])}
        losses["penalty"] = 0.01 * model.weight.abs().sum()  # <- AD219
        optimizer.zero_grad()
        losses["fit"].backward()
        optimizer.step()


def bad_kept_by_a_layer() -> None:
    import torch
    from torch import nn

    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.value = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            gate = torch.sigmoid(self.gate(x))
            self.sparsity = gate.mean()  # <- AD219
            return torch.mul(gate, self.value(x))

    torch.manual_seed(0)
    model = nn.Sequential(Gated(), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(64, 8)
    for _ in range(10):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        optimizer.step()


def bad_sum() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(64, 6)

    def losses() -> dict[str, torch.Tensor]:
        fit = nn.functional.mse_loss(model(x), x[:, :1])
        decay = torch.zeros(())
        for parameter in model.parameters():
            decay = decay + parameter.square().sum()  # <- AD219
        return {"fit": fit, "decay": decay}

    for _ in range(10):
        optimizer.zero_grad()
        losses()["fit"].backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(12, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(64, 12)
    for _ in range(10):
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        penalty = 0.01 * model.weight.abs().sum()
        optimizer.zero_grad()
        (loss + penalty).backward()
        optimizer.step()


def good_shown_now_and_then() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(64, 6)
    for step in range(24):
        prediction = model(x)
        loss = nn.functional.mse_loss(prediction, x[:, :1])
        error = (prediction - x[:, :1]).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            print(f"{step}: {error:.3f}")


def good_losses_that_take_turns() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, heads = nn.Linear(6, 16), nn.ModuleList(nn.Linear(16, 1) for _ in range(2))
    optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=0.01)
    for step in range(12):
        x = torch.randn(32, 6)
        hidden = torch.relu(trunk(x))
        first = (heads[0](hidden) - x[:, :1]).square().mean()
        second = (heads[1](hidden) - x[:, 1:2]).square().mean()
        optimizer.zero_grad()
        (second if step % 3 == 2 else first).backward()
        optimizer.step()


def good_backward_later() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(5, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    waiting = []
    for step in range(16):
        x = torch.randn(8, 5)
        waiting.append(nn.functional.mse_loss(model(x), x[:, :1]))
        if step % 4 == 3:
            optimizer.zero_grad()
            torch.stack(waiting).mean().backward()
            optimizer.step()
            waiting.clear()


def good_early_stopping() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(5, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    best, x = float("inf"), torch.randn(64, 5)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x[:48]), x[:48, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        held_out = nn.functional.l1_loss(model(x[48:]), x[48:, :1])
        if held_out < best:
            best = float(held_out)


def bad_residual_that_is_only_logged() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    edges, logged = torch.tensor([[0.0], [1.0]]), []
    for _ in range(12):
        x = torch.rand(32, 1, requires_grad=True)
        u = model(x)
        slope = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        bend = torch.autograd.grad(slope.sum(), x, create_graph=True)[0]
        residual = (bend + u).square().mean()  # <- AD219
        boundary = (model(edges) - 1.0).square().mean()
        optimizer.zero_grad()
        boundary.backward()
        optimizer.step()
        logged.append(residual.item())


def good_residual_measured_elsewhere() -> None:
    import torch
    from torch import nn

    def residual(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        u = model(x.requires_grad_())
        slope = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        bend = torch.autograd.grad(slope.sum(), x, create_graph=True)[0]
        return (bend + u).square().mean()  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    grid = torch.linspace(0, 1, 20)[:, None]
    for _ in range(12):
        loss = residual(model, torch.rand(32, 1)) + (model(torch.zeros(1, 1)) - 1.0).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(residual(model, grid).item())


RULE = Rule(
    code="AD219",
    name="idle-loss-term",
    severity="warning",
    title="a term for the loss is computed and not used",
    observes="A scalar with a graph, computed from parameters that are trained, once in each step at the same line, "
    "that no later operation used, no backward went through, and the program never read or printed; and one "
    "that was only read, though it holds a second derivative that was taken with `create_graph=True`, which "
    "only a backward needs.",
    why="A penalty, an entropy bonus or a divergence that was left out of the loss changes nothing that is learned, "
    "however its weight is tuned; it only costs time.",
    fix="Add it to the loss that goes backward, or delete the line.",
    fine="Metrics that are read or shown, if only now and then; losses that take turns, or are kept for a later "
    "backward; evaluation. Where the run was stopped before the end of the program, which may use it in a later step, "
    "this is an `info`. So is what a library computes because it was given labels.",
    needs=(BackwardRan, LossDropped, OptimizerBuilt, OptimizerStepped, RunEnded, TermIdle, TermUsed),
    examine=examine,
    bad=(bad, bad_kept_by_a_layer, bad_sum, bad_residual_that_is_only_logged),
    good=(
        *(good, good_shown_now_and_then, good_losses_that_take_turns, good_backward_later, good_early_stopping),
        good_residual_measured_elsewhere,
    ),
    folds=("AD203",),
    tunables={
        "minimum_steps": Tunable(
            3,
            "fewest steps that computed the term for nothing",
            "chosen: fewer may be a beginning, such as a warm-up after which the term joins the loss",
        )
    },
    about="loss",
)
