"""AD229 weight-cancels-term: a term of the loss is divided by itself, with gradient, and teaches nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding, Location
from autograd_doctor.operations import REARRANGEMENTS
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.summands import summands
from autograd_doctor.tape import Op, Tape, Value, numbers_in
from autograd_doctor.trace import Trace
from autograd_doctor.views.tapes import Seen, seen_in_steps

_TINY = 1e-6
"""What keeps a divisor from zero, and leaves it what it is: a scale of the values is larger."""
_KEEPS_FROM_ZERO = frozenset({"add", "clamp", "clamp_min"})
_MOST_FACTORS = 32


class _Factor(NamedTuple):
    """A number in a product: its power, and the operation that divides by it, None where it multiplies."""

    value: Value
    power: int
    divided: Op | None


class _Cancelled(NamedTuple):
    """term: what is divided by itself. lost: the parameters, as bits, that reach the loss in no other way."""

    term: Value
    lost: int


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for seen in seen_in_steps(trace, _all_cancelled, tunables["steps"]):
        yield _finding(trace, seen)


def _finding(trace: Trace, seen: Seen[_Cancelled]) -> Finding:
    term, lost = seen.found
    parameters = numbers_in(lost or term.connected)
    op = term.by
    made = f"what `{op.called}` makes at line {op.location.line}" if op and op.location else "a term of the loss"
    names = trace.parameter_names(parameters)
    teacher = "the loss" if lost else "as a term of the loss it"
    return RULE.finding(
        f"{made} is divided here by itself, with a gradient, and cancels: {teacher} teaches {names} nothing",
        subject=trace.parameter_name(parameters[0]) if parameters else "loss",
        location=seen.location,
        help="take the weight for a number: `.detach()` what the term is multiplied by",
        severity="error" if lost else None,
        evidence={
            "term": op.called if op else "",
            "parameters": [trace.parameter_name(parameter) for parameter in parameters[:20]],
            "taught_by_other_terms": not lost,
        },
        step_first=seen.step + 1,
        step_count=seen.steps,
        parameters=parameters,
    )


def _all_cancelled(tape: Tape) -> Iterator[tuple[Location | None, _Cancelled]]:
    """Where a term of the losses is divided by itself, so that only a constant is left, or nothing of what it alone is
    made of."""
    pending, met = [*tape.roots], set[Value]()
    while pending:
        value = pending.pop()
        if value in met or not value.learns or value.by is None:
            continue
        met.add(value)
        chain: set[Op] = set()
        factors = list(_factors(value, chain))
        if [each.value for each in factors] == [value]:
            pending += [part.value for part in summands(value.by) or ()]
            continue
        pending += [factor.value for factor in factors]
        powers = _powers(factors)
        for term, divided in {each.value: each.divided for each in factors if each.divided is not None}.items():
            lost = term.connected & ~_reached(tape, term, chain) if powers[term] == 0 else 0
            if powers[term] == 0 and (lost or not any(powers.values())):
                yield divided.location, _Cancelled(term, lost)


def _powers(factors: Iterable[_Factor]) -> Counter[Value]:
    powers: Counter[Value] = Counter()
    for factor in factors:
        powers[factor.value] += factor.power
    return powers


def _reached(tape: Tape, term: Value, chain: set[Op]) -> int:
    """The parameters, as bits, that losses reach without these operations of a term."""
    reached, pending, met = 0, [*tape.roots], set[Value]()
    while pending:
        value = pending.pop()
        if value in met or (not value.learns and not value.is_parameter):
            continue
        met.add(value)
        if value.by is None or value.is_parameter:
            reached |= value.connected
        else:
            pending += [each for each in value.by.values if not (each is term and value.by in chain)]
    return reached


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
        fooled = fooled * (rebuilt.detach() / fooled.clamp(min=1e-6))  # <- AD229
        optimizer.zero_grad()
        (rebuilt + 0.1 * fooled).backward()
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


def good_scale_that_drops_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, raw_scale = nn.Linear(8, 1), nn.Parameter(torch.zeros(()))
    optimizer = torch.optim.Adam([*model.parameters(), raw_scale], lr=2e-2)
    for _ in range(12):
        x = torch.randn(64, 8)
        y = x[:, :1] - x[:, 1:2] + 0.3 * torch.randn(64, 1)
        scale = nn.functional.softplus(raw_scale)
        size = (model(x) - y).abs().mean()
        loss = scale * (size / scale) + 0.5 * scale + 0.5 * (size / scale).square() * scale
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD229",
    name="weight-cancels-term",
    severity="warning",
    title="a term of the loss is divided by itself, with gradient, and teaches nothing",
    observes="Products and quotients of single numbers among the terms of a loss, in steps that are looked at closely: "
    "one that has a gradient and is in the numerator as often as in the denominator, up to a number of at most 1e-6 "
    "that keeps it from zero, so that nothing but a constant is left of the term or, an error, that parameters reach "
    "the loss in no other way.",
    why="A weight is meant to be a number. If it is computed of the term that it weighs, its own gradient undoes that "
    "of the term: the product is constant in it.",
    fix="Detach the weight: `(first / second).detach() * second`.",
    fine="A weight that is detached, or was computed under `no_grad()`; a loss over its own detached value; a size or "
    "a scale that drops out of a product and whose parameters reach the loss otherwise; quotients of different "
    "numbers, as of precision and recall, of a variance and a squared mean, or cosines.",
    needs=(TapeSealed,),
    examine=examine,
    bad=(bad, bad_numerator_detached),
    good=(good, good_harmonic_mean, good_scale_that_drops_out),
    tunables={"steps": Tunable(2, "fewest steps with such a term", MORE_THAN_ONCE)},
    about="loss",
    references=("https://arxiv.org/abs/2106.06860", "https://arxiv.org/abs/2012.09841"),
)
