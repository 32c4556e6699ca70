"""AD216 constant-loss-term: a summand of the loss depends on trained parameters and carries a gradient to none."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.connectivity import LossExamined
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BackwardRan, Cut
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding, Severity
from autograd_doctor.operations import PRODUCTS
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.tape import Tape, behind, is_made_of_parameters
from autograd_doctor.trace import Trace
from autograd_doctor.views.cuts import called, described, help_for, is_comparison
from autograd_doctor.views.loss_terms import LossTerm, steady_terms
from autograd_doctor.views.so_far import may_be_undone

_DETACHES = frozenset({"detach", "detach_"})
_DRAWN = (
    "if it is to teach them, draw with `rsample()`, make the choice soft, or weight the log-probability of what was "
    "drawn by it; a term that is only to be shown does not belong in the loss"
)


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for term in steady_terms(trace, tunables["backwards"], late=tunables["late_backwards"]):
        if not (term.seen.copied or _is_count(term)):
            yield _finding(trace, term)


def _is_count(term: LossTerm) -> bool:
    """Whether it holds, sample by sample, how often something was the case, as the steps that a network took to think:
    what it is added to carries the gradient of both."""
    return term.seen.numel > 1 and term.cut is not None and is_comparison(term.cut.operation)


def _may_be_meant(term: LossTerm) -> bool:
    """Whether it may be there for its value: it had a gradient before, it was drawn, or it was detached and is of
    weights that the program sets itself, as a proximal step does for a penalty."""
    is_detached = term.cut is not None and term.cut.operation in _DETACHES
    return term.seen.was_live or term.seen.drawn or (is_detached and term.rewritten)


def _is_decayed(trace: Trace, term: LossTerm) -> bool:
    """Whether it is of weights alone, all of which the optimizer decays: what it would teach is taught."""
    decayed = {
        parameter
        for built in trace.of(OptimizerBuilt)
        for group in built.groups
        if group.weight_decay > 0
        for parameter in group.parameters
    }
    added = (op for tape in trace.tapes for op in tape.ops if op.location == term.location)
    numbers = [value for op in added for value in op.plain if value.values]
    return term.trained <= decayed and bool(numbers) and all(map(is_made_of_parameters, numbers))


def _weighs_others(trace: Trace, term: LossTerm) -> bool:
    """Whether it is of numbers that weigh other terms, as the entropy of the responsibilities of a mixture is: it
    belongs to the bound that is maximised, and has no gradient by definition."""
    return any(_is_of_weights(tape, term) for tape in trace.tapes)


def _is_of_weights(tape: Tape, term: LossTerm) -> bool:
    added = [value for op in tape.ops if op.location == term.location for value in op.plain]
    sources = {value for op in behind(added, live=False) for value in op.outputs if value.values and value.count > 1}
    return any(op.live and not sources.isdisjoint(op.plain) for op in tape.ops if op.name in PRODUCTS)


def _finding(trace: Trace, term: LossTerm) -> Finding:
    since = f"from step {term.backwards[0].step + 1} on " if term.seen.was_live else ""
    before = "; until then, what was added here had one" if term.seen.was_live else ""
    return RULE.finding(
        f"{since}{term.words} adds a number to the loss and no gradient: it {_source(trace, term)}{before}",
        subject=term.seen.name or term.seen.operation,
        location=term.location,
        help=_DRAWN if term.seen.drawn else _help(term.cut),
        confidence="medium" if term.seen.drawn else "high",
        severity=_severity(trace, term),
        guessed=term.seen.guessed,
        so_far=term.cut is not None and may_be_undone(trace, [term.cut]),
        evidence=term.evidence(trace),
        related=tuple(term.related()),
        step_first=term.backwards[0].step + 1,
        step_count=len(term.backwards),
        parameters=term.seen.parameters,
    )


def _severity(trace: Trace, term: LossTerm) -> Severity | None:
    if _is_decayed(trace, term) or _weighs_others(trace, term):
        return "info"
    return "warning" if _may_be_meant(term) else None


def _source(trace: Trace, term: LossTerm) -> str:
    names = trace.parameter_names(term.parameters)
    if term.seen.drawn:
        return f"depends on {names} by samples or choices alone, which carry none"
    return f"{'seems to be' if term.seen.guessed else 'was'} computed from {names}{_why(term.cut)}"


def _why(cut: Cut | None) -> str:
    if cut is None:
        return ", without a graph"
    if cut.switch is not None:
        return f" with gradients off, by {described(cut.switch)}"
    if cut.reason == "grad-mode":
        return " with gradients off"
    return f", and {called(cut.operation)} left the graph behind"


def _help(cut: Cut | None) -> str:
    if cut is None or cut.reason == "grad-mode":
        return "compute this term with gradients on, or leave it out of the loss if it is only to be shown"
    return f"{help_for(cut)}; a term that is only to be shown does not belong in the loss"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(64, 6)
    y = x[:, :2].sum(1, keepdim=True)
    for _ in range(10):
        penalty = sum(p.data.square().sum() for p in model.parameters())
        loss = nn.functional.mse_loss(model(x), y) + 1e-3 * penalty  # <- AD216
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_number() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(8, 3), nn.Linear(3, 8)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    x = torch.randn(32, 8)
    for _ in range(10):
        code = encoder(x)
        sparsity = code.abs().mean().item()
        loss = nn.functional.mse_loss(decoder(code), x)
        loss = loss + 0.05 * sparsity  # <- AD216
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_slope() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(10):
        t = torch.rand(32, 1, requires_grad=True)
        u = net(t)
        (slope,) = torch.autograd.grad(u.sum(), t, retain_graph=True)
        residual = (slope + u.detach()).square().mean()
        losses = [(net(torch.zeros(1, 1)) - 1.0).square().mean(), residual, 1e-2 * u.square().mean()]
        total = torch.stack(losses).sum()  # <- AD216
        optimizer.zero_grad()
        total.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(64, 6)
    y = x[:, :2].sum(1, keepdim=True)
    for _ in range(10):
        penalty = sum(p.square().sum() for p in model.parameters())
        loss = nn.functional.mse_loss(model(x), y) + 1e-3 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_halting() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, halt, head = nn.GRUCell(8, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    optimizer = torch.optim.Adam([p for m in (cell, halt, head) for p in m.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 8)
        state, halted, taken, left = torch.zeros(32, 8), torch.zeros(32), torch.zeros(32), torch.ones(32)
        for _ in range(4):
            state = cell(x, state)
            chance = halt(state).sigmoid().squeeze(1)
            going = halted < 0.9
            taken = taken + going
            left = torch.where(going, 1 - halted, left)
            halted = halted + chance * going
        loss = nn.functional.mse_loss(head(state), x[:, :1]) + 0.01 * (taken + left).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_baseline_and_weight() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, value = nn.Linear(4, 3), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=0.01)
    for _ in range(10):
        state = torch.randn(32, 4)
        choice = torch.distributions.Categorical(logits=policy(state))
        action = choice.sample()
        reward = (action == state[:, :3].argmax(1)).float()
        baseline = value(state).squeeze(1)
        actor = -(choice.log_prob(action) * (reward - baseline.detach())).mean()
        critic = (baseline - reward).square().mean()
        scale = actor.item() / (critic.item() + 1.0)
        loss = actor + abs(scale) * critic
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_straight_through() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(32, 4)
        cost = (model(x) - x.sum(1, keepdim=True)).abs()
        counted = cost + (cost.round() - cost).detach()
        loss = counted.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_shown_total() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, head = nn.Linear(6, 8), nn.Linear(8, 2)
    optimizer = torch.optim.Adam([*trunk.parameters(), *head.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        hidden = torch.tanh(trunk(x))
        task = nn.functional.cross_entropy(head(hidden), (x[:, 0] > 0).long())
        spread = hidden.square().mean()
        optimizer.zero_grad()
        spread.backward(retain_graph=True)
        (task + spread.detach()).backward()
        optimizer.step()


RULE = Rule(
    code="AD216",
    name="constant-loss-term",
    severity="error",
    title="a term of the loss has no gradient",
    observes="A summand of a loss that went backward, computed in the same step from the values of parameters that the "
    "rest of the loss trains, without a graph to any of them.",
    why="It shifts the number that is printed and changes nothing that is learned: the penalty, the hint or the "
    "adversarial part might as well not be there.",
    fix="Keep the term in the graph: no `detach`, `.data`, `.item()` or `no_grad` on its way into the loss, and "
    "`create_graph=True` for slopes.",
    fine="Factors, targets and baselines inside a term that has a gradient, straight-through estimators, losses added "
    "for the eye that go backward on their own, terms that get a gradient later on or take turns, and those of a "
    "sample whose log-probability is in a loss as well. One that had a gradient before and never gets it back may be "
    "cut on purpose: a warning. So is one that depends on parameters by samples or choices alone, or that was detached "
    "and is of weights that the program changes itself. One of weights alone that the optimizer decays as well, or of "
    "numbers that weigh other terms, as the entropy of the responsibilities in a free energy is, is an `info`: it may "
    "be there for the value of the whole objective. What a model that is given data alone makes of these without its "
    "parameters is part of its output, as the `0.5 * v ** 2` of an energy of its own samples; the density of a uniform "
    "distribution is the same wherever it is not zero.",
    needs=(BackwardRan, LossExamined, OptimizerBuilt, RunEnded, TapeSealed),
    examine=examine,
    bad=(bad, bad_number, bad_slope),
    good=(good, good_halting, good_baseline_and_weight, good_straight_through, good_shown_total),
    tunables={
        "backwards": Tunable(2, "fewest backwards with a term that carries no gradient", MORE_THAN_ONCE),
        "late_backwards": Tunable(
            6,
            "the same, where the term carried one before",
            "chosen: a phase of the training may do without it for a few",
        ),
    },
    # What is to judge a term is left out of the optimizer on purpose, where nothing is wrong with the term.
    folds=("AD204",),
    about="loss",
)
