"""AD229 weight-cancels-term: a term of the loss is divided by itself, with gradient, and teaches nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding, Location
from autograd_doctor.operations import REARRANGEMENTS, TOTALS
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.summands import summands
from autograd_doctor.tape import Op, Tape, Value, behind, numbers_in
from autograd_doctor.trace import Trace
from autograd_doctor.views.tapes import Seen, seen_in_steps

_TINY = 1e-3
"""What keeps a divisor from zero, and leaves it what it is."""
_KEEPS_FROM_ZERO = frozenset({"add", "clamp", "clamp_min"})
_MOST_FACTORS = 32


class _Factor(NamedTuple):
    """A number in a product: its power, and the operation that divides by it, None where it multiplies."""

    value: Value
    power: int
    divided: Op | None


class _Cancelled(NamedTuple):
    """term: what is divided by itself or, by_size, a mean that is divided by that of its absolute values.

    alone: it is nowhere else in the loss.
    """

    term: Value
    by_size: bool
    alone: bool


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for seen in seen_in_steps(trace, _all_cancelled, tunables["steps"]):
        yield _finding(trace, seen)


def _finding(trace: Trace, seen: Seen[_Cancelled]) -> Finding:
    parameters = numbers_in(seen.found.term.connected)
    op = seen.found.term.by
    made = f"what `{op.called}` makes at line {op.location.line}" if op and op.location else "a term of the loss"
    said = (
        f"{made} is divided here by the mean of its own absolute values, with a gradient: however large the values "
        "become, the term does not grow, and where all of them have one sign, it is constant"
        if seen.found.by_size
        else f"{made} is divided here by itself, with a gradient, and cancels: as a term of the loss it teaches "
        f"{trace.parameter_names(parameters)} nothing"
    )
    return RULE.finding(
        said,
        subject=trace.parameter_name(parameters[0]) if parameters else "loss",
        location=seen.location,
        help="take the weight for a number: `.detach()` what the term is multiplied by",
        severity="error" if seen.found.alone and not seen.found.by_size else None,
        confidence="medium" if seen.found.by_size else "high",
        evidence={
            "term": op.called if op else "",
            "parameters": [trace.parameter_name(parameter) for parameter in parameters[:20]],
            "nowhere_else_in_the_loss": seen.found.alone,
        },
        step_first=seen.step + 1,
        step_count=seen.steps,
        parameters=parameters,
    )


def _all_cancelled(tape: Tape) -> Iterator[tuple[Location | None, _Cancelled]]:
    """Where terms of the losses are divided by themselves."""
    live = set(behind(tape.roots))
    pending, met = [*tape.roots], set[Value]()
    while pending:
        value = pending.pop()
        if value in met or not value.learns or value.by is None:
            continue
        met.add(value)
        chain: set[Op] = set()
        factors = list(_factors(value, chain))
        if len(factors) == 1:
            pending += [part.value for part in (summands(factors[0].value.by) if factors[0].value.by else None) or ()]
            continue
        pending += [factor.value for factor in factors]
        for term, divided, by_size in _cancelling(factors):
            others = live.intersection(term.uses) - chain
            yield divided.location, _Cancelled(term, by_size, alone=not others)


def _factors(value: Value, chain: set[Op], power: int = 1, divided: Op | None = None) -> Iterator[_Factor]:
    """The numbers of which one is the product or the quotient, but for data. chain: the operations that make it so."""
    op = value.by
    if not value.learns:
        return
    if op is None or value.count != 1 or len(chain) >= _MOST_FACTORS or not (_is_product(op) or _is_same(op)):
        yield _Factor(value, power, divided)
        return
    chain.add(op)
    for place, each in enumerate(op.operands[:2]):
        if isinstance(each, Value):
            turned = op.name == "div" and place == 1
            yield from _factors(each, chain, -power if turned else power, op if turned else divided)


def _is_product(op: Op) -> bool:
    return op.name in ("div", "mul") and all(each.count == 1 for each in op.live)


def _is_same(op: Op) -> bool:
    """Whether it leaves a number what it is, up to its sign and to what keeps it from zero."""
    if len(op.live) != 1 or op.live[0].count != 1 or op.plain:
        return False
    numbers = [*op.numbers, *(each for name in ("min", "max") if (each := op.options.get(name)) is not None)]
    is_tiny = all(isinstance(each, int | float) and abs(each) <= _TINY for each in numbers)
    return op.name in REARRANGEMENTS | {"abs"} or (op.name in _KEEPS_FROM_ZERO and is_tiny)


def _cancelling(factors: Iterable[_Factor]) -> Iterator[tuple[Value, Op, bool]]:
    """Terms that multiply as often as they divide, where they do, and whether only as large as themselves."""
    powers: defaultdict[Value, int] = defaultdict(int)
    divided: dict[Value, Op] = {}
    for factor in factors:
        powers[factor.value] += factor.power
        if factor.divided is not None:
            divided.setdefault(factor.value, factor.divided)
    yield from ((value, op, False) for value, op in divided.items() if powers[value] == 0)
    means = {mean: value for value, power in powers.items() if power == 1 and (mean := _averaged(value))}
    for value, op in divided.items():
        size = _averaged(value) if powers[value] == -1 else None
        of = size.by.live[0] if size is not None and size.by is not None and size.by.name == "abs" else None
        if of in means:
            yield means[of], op, True


def _averaged(value: Value) -> Value | None:
    """What a number is the mean or the sum of."""
    op = value.by
    return op.live[0] if op is not None and op.name in TOTALS and op.live and value.count == 1 else None


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, depth, normal = nn.Sequential(nn.Linear(8, 32), nn.Tanh()), nn.Linear(32, 1), nn.Linear(32, 1)
    optimizer = torch.optim.Adam([p for m in (trunk, depth, normal) for p in m.parameters()], lr=1e-2)
    for _ in range(12):
        x = torch.randn(64, 8)
        first = nn.functional.mse_loss(depth(trunk(x)), x[:, :1].sin())
        second = nn.functional.l1_loss(normal(trunk(x)), 3 * x[:, 1:2])
        balance = first / (second + 1e-8)  # <- AD229
        loss = first + balance * second
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_numerator_detached() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2)), nn.Linear(2, 1)
    critic.requires_grad_(False)
    optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
    for _ in range(12):
        x = torch.randn(64, 4)
        made = generator(x)
        rebuilt = (made - x[:, :2]).abs().mean()
        fooled = nn.functional.softplus(-critic(made)).mean()
        fooled = fooled * (rebuilt.detach() / fooled.clamp(min=1e-4))  # <- AD229
        optimizer.zero_grad()
        (rebuilt + 0.1 * fooled).backward()
        optimizer.step()


def bad_divided_by_its_size() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2), nn.Tanh())
    critic = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1)).requires_grad_(False)
    optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
    for _ in range(12):
        state, action = torch.randn(64, 4), torch.rand(64, 2) - 0.5
        chosen = actor(state)
        q = critic(torch.cat([state, chosen], 1))
        weight = 2.5 / q.abs().mean()  # <- AD229
        loss = -weight * q.mean() + nn.functional.mse_loss(chosen, action)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, depth, normal = nn.Sequential(nn.Linear(8, 32), nn.Tanh()), nn.Linear(32, 1), nn.Linear(32, 1)
    optimizer = torch.optim.Adam([p for m in (trunk, depth, normal) for p in m.parameters()], lr=1e-2)
    for _ in range(12):
        x = torch.randn(64, 8)
        first = nn.functional.mse_loss(depth(trunk(x)), x[:, :1].sin())
        second = nn.functional.l1_loss(normal(trunk(x)), 3 * x[:, 1:2])
        balance = (first / (second + 1e-8)).detach()
        loss = first + balance * second
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_harmonic_mean() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(12):
        x = torch.randn(128, 8)
        wanted = (x[:, :1] + x[:, 1:2] > 1).float()
        guess = model(x).sigmoid()
        right = (guess * wanted).sum()
        precision, recall = right / guess.sum(), right / wanted.sum()
        loss = 1 - 2 * precision * recall / (precision + recall)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_squared_coefficient_of_variation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, experts, head = nn.Linear(8, 4), nn.Linear(8, 32), nn.Linear(8, 1)
    optimizer = torch.optim.Adam([p for m in (gate, experts, head) for p in m.parameters()], lr=1e-2)
    for _ in range(12):
        x = torch.randn(64, 8)
        share = gate(x).softmax(1)
        mixed = (experts(x).view(64, 4, 8) * share.unsqueeze(2)).sum(1)
        load = share.sum(0)
        balance = load.var() / load.mean().square()
        loss = nn.functional.mse_loss(head(mixed.tanh()), x[:, :1] * x[:, 1:2]) + 0.01 * balance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD229",
    name="weight-cancels-term",
    severity="warning",
    title="a term of the loss is divided by itself, with gradient, and teaches nothing",
    observes="Products and quotients of single numbers among the terms of a loss, in steps that are looked at closely: "
    "one that has a gradient and is in the numerator as often as in the denominator, up to a number of at most 1e-3 "
    "that keeps it from zero. It is an error where the loss holds it nowhere else. And a mean over the mean of the "
    "absolute values of the same tensor.",
    why="A weight is meant to be a number. If it is computed of the term that it weighs, its own gradient undoes that "
    "of the term: the product is constant in it.",
    fix="Detach the weight: `(first / second).detach() * second`.",
    fine="A weight that is detached, or was computed under `no_grad()`; a loss over its own detached value; quotients "
    "of different numbers, as of precision and recall, of a variance and a squared mean, or cosines.",
    needs=(TapeSealed,),
    examine=examine,
    bad=(bad, bad_numerator_detached, bad_divided_by_its_size),
    good=(good, good_harmonic_mean, good_squared_coefficient_of_variation),
    tunables={"steps": Tunable(2, "fewest steps with such a term", MORE_THAN_ONCE)},
    about="loss",
    references=("https://arxiv.org/abs/2106.06860", "https://arxiv.org/abs/2012.09841"),
)
