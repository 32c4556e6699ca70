"""AD634 loss-weight-not-held: the learned weight of a term only ever shrinks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from autograd_doctor.events.losses import FreeWeight
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import registered
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    weights: dict[int, list[FreeWeight]] = defaultdict(list)
    for event in trace.of(FreeWeight):
        weights[event.parameter].append(event)
    lines: dict[tuple[str, int] | None, list[list[FreeWeight]]] = defaultdict(list)
    for parameter, events in weights.items():
        if parameter in trace.optimized and _is_the_only_use(trace, parameter, events) and _drifts(events, tunables):
            where = events[0].location
            lines[(where.path, where.line) if where else None].append(events)
    for found in lines.values():
        yield _finding(trace, found)


def _is_the_only_use(trace: Trace, parameter: int, events: Sequence[FreeWeight]) -> bool:
    """Whether all losses that reach the parameter are of lines at which it is nothing but a factor, and above zero.

    What may be below, as the difference of a critic's scores, is not least where the factor is zero.
    """
    lines = {trace.backwards[event.backward].location for event in events if event.backward in trace.backwards}
    reaching = [ran for ran in trace.of(BackwardRan) if parameter in (*ran.reached, *ran.wrote)]
    return all(ran.location in lines and ran.loss is not None and ran.loss > 0 for ran in reaching)


def _drifts(events: Sequence[FreeWeight], tunables: Tunables) -> bool:
    """Whether every factor shrinks, and never grows, as it does where steps follow the gradient of the loss."""
    if len(events) < tunables["steps"] or len({len(event.sizes) for event in events}) > 1:
        return False
    by_factor = list(zip(*(event.sizes for event in events), strict=True))
    return bool(by_factor) and all(
        sizes[-1] < sizes[0] and all(later <= earlier for earlier, later in pairwise(sizes)) for sizes in by_factor
    )


def _finding(trace: Trace, found: Sequence[Sequence[FreeWeight]]) -> Finding:
    first, last = found[0][0], found[0][-1]
    parameters = [events[0].parameter for events in found]
    names = trace.parameter_names(parameters)
    courses = [f"from {_shown(events[0].sizes)} to {_shown(events[-1].sizes)}" for events in found]
    return RULE.finding(
        f"the loss has {names} only in factors of its terms, and each step makes the terms smaller by making the "
        f"factors smaller: in {plural(last.step - first.step, 'step')} they went {', '.join(courses)}, and "
        "nothing leads back",
        subject=trace.parameter_name(parameters[0]),
        location=first.location,
        confidence="medium",
        help="add what rises as the weight falls (`exp(-log_var) * loss + log_var`), or have all weights add up to a "
        "fixed sum, as those of a softmax do",
        evidence={"courses": courses, "steps": last.step - first.step},
        related=registered(trace, parameters),
        step_first=first.step + 1,
        step_count=len(found[0]),
        parameters=parameters,
    )


def _shown(values: Sequence[float]) -> str:
    shown = ", ".join(f"{value:.3g}" for value in values[:4])
    return f"({shown}{', …' if len(values) > 4 else ''})" if len(values) > 1 else shown


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, heads = nn.Sequential(nn.Linear(6, 24), nn.ReLU()), nn.Linear(24, 2)
    log_variances = nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters(), log_variances], lr=0.01)
    for _ in range(8):
        x = torch.randn(32, 6)
        targets = torch.stack([x.sum(1), x[:, 0] * x[:, 1]], dim=1)
        errors = (heads(trunk(x)) - targets).square().mean(0)
        loss = (torch.exp(-log_variances) * errors).sum()  # <- AD634
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_plain_weights() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, count, kind = nn.Sequential(nn.Linear(6, 24), nn.ReLU()), nn.Linear(24, 1), nn.Linear(24, 3)
    weights = nn.ParameterDict({"count": nn.Parameter(torch.tensor(1.0))})
    optimizer = torch.optim.SGD([p for m in (body, count, kind, weights) for p in m.parameters()], lr=0.01)
    for _ in range(8):
        x = torch.randn(32, 6)
        hidden = body(x)
        first = nn.functional.mse_loss(count(hidden)[:, 0], x.sum(1))
        second = nn.functional.cross_entropy(kind(hidden), x[:, :3].argmax(1))
        loss = second + first * nn.functional.softplus(weights["count"])  # <- AD634
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, heads = nn.Sequential(nn.Linear(6, 24), nn.ReLU()), nn.Linear(24, 2)
    log_variances = nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters(), log_variances], lr=0.01)
    for _ in range(8):
        x = torch.randn(32, 6)
        targets = torch.stack([x.sum(1), x[:, 0] * x[:, 1]], dim=1)
        errors = (heads(trunk(x)) - targets).square().mean(0)
        loss = (torch.exp(-log_variances) * errors + log_variances).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_shares() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, heads = nn.Sequential(nn.Linear(6, 24), nn.ReLU()), nn.Linear(24, 2)
    scores, share = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(()))
    optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters(), scores, share], lr=0.01)
    for _ in range(8):
        x = torch.randn(32, 6)
        targets = torch.stack([x.sum(1), x[:, 0] * x[:, 1]], dim=1)
        errors = (heads(trunk(x)) - targets).square().mean(0)
        part = torch.sigmoid(share)
        loss = (scores.softmax(0) * errors).sum() + part * errors[0] + (1 - part) * errors[1]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_multiplier() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    log_multiplier = nn.Parameter(torch.zeros(()))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    climbs = torch.optim.SGD([log_multiplier], lr=0.1, maximize=True)
    for _ in range(8):
        x = torch.randn(32, 6)
        scores = model(x)
        cost = nn.functional.cross_entropy(scores, x[:, :3].argmax(1))
        loss = cost + log_multiplier.exp() * (scores.square().mean() - 1.0)
        optimizer.zero_grad()
        climbs.zero_grad()
        loss.backward()
        optimizer.step()
        climbs.step()


RULE = Rule(
    code="AD634",
    name="loss-weight-not-held",
    severity="warning",
    title="nothing keeps the learned weight of a loss from vanishing",
    observes="Parameters of a few values that the graph of a loss has only in factors of its terms, each made of one "
    "value by functions that rise or fall throughout, and how large the factors are from step to step: they shrink.",
    why="The loss falls as the weight does, and is lowest where the weight is zero: it goes to nothing, and with it "
    "the gradients of all that the term was to teach.",
    fix="Add the term that belongs to the weight, as the logarithm of the variance in a likelihood, or fix the sum of "
    "the weights.",
    fine="Weights that stand in a second term, shares, and multipliers that climb.",
    needs=(BackwardRan, FreeWeight),
    examine=examine,
    bad=(bad, bad_plain_weights),
    good=(good, good_shares, good_multiplier),
    tunables={
        "steps": Tunable(3, "fewest steps in which all factors shrink", "chosen: of two, a direction is no drift")
    },
    about="loss",
    references=("https://arxiv.org/abs/1705.07115",),
)
