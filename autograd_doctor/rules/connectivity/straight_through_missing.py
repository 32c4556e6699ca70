"""AD226 straight-through-missing: what an encoder is to learn from a decoder ends at a choice between them.

Or the estimator is there, and cancels: in ``z + (q - z)`` the gradient of z is taken off again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding, Location, Severity
from autograd_doctor.operations import ADDING, ARITHMETIC, COMPARISONS, MOVES, REGRESSION, STEPS, SUMS
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.summands import summands
from autograd_doctor.tape import Labels, Op, Tape, Value, behind, labels_behind, numbers_in
from autograd_doctor.trace import Trace
from autograd_doctor.views.tapes import Seen, seen_in_steps

_CHOICES = frozenset({"argmax", "argmin", "argsort", "max", "min", "sort", "topk"})
_MARKS = frozenset({"one_hot", "scatter"})
"""Operations that write a choice down as zeros and ones."""
_LOOK_UPS = frozenset({"__getitem__", "embedding", "index_select", "linear", "matmul", "mm"})
_COMPARES = REGRESSION | {"sub"}
_MOST_PARTS = 16
_KEEPS = MOVES | {"abs", "div", "mean", "mul", "neg", "pow", "square", "sum"}


class _Loss(NamedTuple):
    """A number that is the sum of pulls towards what was looked up, and of other terms.

    pulled: the parameters, as bits, that the pulls teach. values, connected: those that flow into the other terms, and
    those that these teach. target: where the pulls are towards was looked up.
    """

    pulled: int = 0
    values: int = 0
    connected: int = 0
    target: Op | None = None


_Label = Literal["chosen", "cut"] | Op | _Loss
"""A choice; which values are above a limit; what was looked up by the one, or a code by the other, by the operation
that made it; or a loss."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for seen in seen_in_steps(trace, _chosen, tunables["steps"]):
        yield _finding(
            trace,
            seen,
            f"the values of {trace.parameter_names(seen.found)} choose what comes from here, and it has no gradient "
            "to them: of all terms of the loss, only their distance to it trains these parameters",
            "copy the gradient past the choice before the values go on: `quantised = encoded + (quantised - "
            "encoded).detach()`",
        )
    for seen in seen_in_steps(trace, _taken_off, tunables["steps"]):
        yield _finding(
            trace,
            seen,
            "what is added here is taken off again, with a gradient: the two cancel, and what was chosen or rounded "
            f"passes none to {trace.parameter_names(seen.found)}",
            "detach the difference: `encoded + (quantised - encoded).detach()`",
            severity="error",
        )


def _finding(trace: Trace, seen: Seen[list[int]], said: str, change: str, severity: Severity | None = None) -> Finding:
    return RULE.finding(
        said,
        subject=trace.parameter_name(seen.found[0]),
        location=seen.location,
        help=change,
        severity=severity,
        evidence={
            "parameters": [trace.parameter_name(parameter) for parameter in seen.found[:20]],
            "number_of_parameters": len(seen.found),
        },
        step_first=seen.step + 1,
        step_count=seen.steps,
        parameters=seen.found,
    )


def _chosen(tape: Tape) -> Iterator[tuple[Location | None, list[int]]]:
    """Where values were looked up of which only the distance teaches those who chose: these parameters."""
    root = tape.roots[0]
    loss = labels_behind(root, _label, live=False).get(root) if len(tape.roots) == 1 else None
    if isinstance(loss, _Loss) and loss.target is not None and _goes_on(loss.target.output):
        alone = loss.pulled & loss.values & ~loss.connected
        if alone and loss.connected:
            yield loss.target.location, numbers_in(alone)


def _taken_off(tape: Tape) -> Iterator[tuple[Location | None, list[int]]]:
    """Where values are added and taken off again beside what was made of them without a gradient: their parameters."""
    for op in tape.named(*ADDING):
        total: Counter[Value] = Counter()
        for value, sign in _added_up(op) if op.output.learns and op.output.count > 1 else ():
            total[value] += sign
        left = [value for value, sign in total.items() if sign]
        cancelled = [value for value, sign in total.items() if value.learns and not sign]
        is_sum = all(total[value] > 0 for value in left)  # a difference of two estimates lacks the gradient of neither
        lost = [value for value in left if len(cancelled) == 1 and _unheard(value, cancelled[0])]
        if is_sum and any(not _is_passed_on(value, left) for value in lost):
            yield op.location, numbers_in(cancelled[0].connected)


def _added_up(op: Op) -> list[tuple[Value, int]]:
    """What sums and differences of values of one shape are made of, each with its sign; nothing where that is much.

    What has no gradient is one part, whatever it is the sum of.
    """
    pending, found = [(op.output, 1)], list[tuple[Value, int]]()
    for _ in range(_MOST_PARTS):
        if not pending:
            return found
        value, sign = pending.pop()
        made = value.by if value.learns else None
        parts = summands(made) if made is not None and made.name in ADDING else None
        if parts is None or not all(part.factor in (1, -1) and part.value.shape == value.shape for part in parts):
            found.append((value, sign))
        else:
            pending += [(part.value, sign * part.sign) for part in parts]
    return []


def _unheard(value: Value, of: Value) -> bool:
    """Whether a value was chosen by another one, or is one that was rounded, so that no gradient leads there."""
    if of.connected & value.values & ~value.connected:
        return True
    return any(op.name in STEPS and of in _before(op) for op in behind([value]))


def _is_passed_on(value: Value, left: Iterable[Value]) -> bool:
    """Whether something that is left has the gradient to what a value was made of: what cancels is an offset of it."""
    made_of = {each for op in behind([value], live=False) for each in op.values}
    return any(each.learns and each in made_of for each in left)


def _before(op: Op) -> list[Value]:
    """The operand of a step, and what it was before it was scaled or moved."""
    value, found = op.values[0], [op.values[0]]
    while value.by is not None and value.by.name in ARITHMETIC | MOVES and len(value.by.live) == 1:
        value = value.by.live[0]
        found.append(value)
    return found


def _label(op: Op, known: Labels[_Label]) -> _Label | None:
    if op.name in _CHOICES and any(not each.is_floating and each.values for each in op.outputs):
        return "chosen"
    before = [known.get(value) for value in op.values]
    if "chosen" in before:
        if op.name in _LOOK_UPS and op.output.is_floating:
            return op
        if op.name in _MARKS or (op.name in MOVES and before[0] == "chosen"):
            return "chosen"
    if op.name in COMPARISONS and any(each.values for each in op.values):
        return "cut"
    if "cut" in before[:1] and (op.name in MOVES or (op.name == "where" and not op.live)):
        return op if op.output.is_floating else "cut"
    is_kept = op.name in MOVES or (op.name in ARITHMETIC and len(before) == 1)
    if is_kept and isinstance(before[0] if before else None, Op):
        return before[0]
    pull = _pull(op, known) if op.name in _COMPARES else None
    return pull or _added(op, known)


def _pull(op: Op, known: Labels[_Label]) -> _Loss | None:
    """What was looked up beside something of its shape, from values of which it was chosen."""
    both = op.values[:2]
    looked_up = [value for value in both if isinstance(known.get(value), Op)]
    others = [value for value in both if value not in looked_up]
    if not len(looked_up) == len(others) == 1 or looked_up[0].shape != others[0].shape:
        return None
    target = known[looked_up[0]]
    unheard = looked_up[0].values & ~looked_up[0].connected
    if not unheard & others[0].values or not isinstance(target, Op):
        return None
    return _Loss(op.output.connected & others[0].connected, target=target)


def _added(op: Op, known: Labels[_Label]) -> _Loss | None:
    before = [known.get(value) for value in op.values]
    losses = [each for each in before if isinstance(each, _Loss)]
    if losses and op.name in SUMS and (not op.output.shape or len(losses) == len(before)):
        others = [_Loss(values=value.values, connected=value.connected) for value in op.values]
        return _sum_of([each if isinstance(each, _Loss) else other for each, other in zip(before, others, strict=True)])
    return losses[0] if losses and len(before) == 1 and op.name in _KEEPS else None


def _sum_of(losses: list[_Loss]) -> _Loss:
    pulled = values = connected = 0
    for loss in losses:
        pulled, values, connected = pulled | loss.pulled, values | loss.values, connected | loss.connected
    return _Loss(pulled, values, connected, next((loss.target for loss in losses if loss.target), None))


def _goes_on(value: Value) -> bool:
    """Whether something was computed of it, beside what it is compared with."""
    pending = [value]
    while pending:
        for op in pending.pop().uses:
            if op.name in MOVES:
                pending += op.outputs
            elif op.name not in _COMPARES:
                return True
    return False


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)), nn.Linear(3, 8)
    codes = nn.Embedding(12, 3)
    optimizer = torch.optim.Adam([p for m in (encoder, decoder, codes) for p in m.parameters()], lr=1e-3)
    for _ in range(8):
        x = torch.randn(32, 8)
        encoded = encoder(x)
        quantised = codes(torch.cdist(encoded, codes.weight).argmin(dim=1))  # <- AD226
        distance = nn.functional.mse_loss(quantised, encoded.detach())
        distance = distance + 0.25 * nn.functional.mse_loss(encoded, quantised.detach())
        loss = nn.functional.mse_loss(decoder(quantised), x) + distance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_not_detached() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), nn.Linear(4, 8)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
    for _ in range(8):
        x = torch.randn(32, 8)
        soft = encoder(x).softmax(dim=1)
        hard = nn.functional.one_hot(soft.argmax(dim=1), 4).float()
        chosen = hard - soft + soft  # <- AD226
        entropy = -(soft * soft.log()).sum(dim=1).mean()
        loss = nn.functional.mse_loss(decoder(chosen), x) - 0.01 * entropy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)), nn.Linear(3, 8)
    codes = nn.Embedding(12, 3)
    optimizer = torch.optim.Adam([p for m in (encoder, decoder, codes) for p in m.parameters()], lr=1e-3)
    for _ in range(8):
        x = torch.randn(32, 8)
        encoded = encoder(x)
        quantised = codes(torch.cdist(encoded, codes.weight).argmin(dim=1))
        distance = nn.functional.mse_loss(quantised, encoded.detach())
        distance = distance + 0.25 * nn.functional.mse_loss(encoded, quantised.detach())
        quantised = encoded + (quantised - encoded).detach()
        loss = nn.functional.mse_loss(decoder(quantised), x) + distance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_decoded_twice() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)), nn.Linear(3, 8)
    codes = nn.Parameter(torch.randn(12, 3))
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), codes], lr=1e-3)
    for _ in range(8):
        x = torch.randn(32, 8)
        encoded = encoder(x)
        nearest = codes[torch.cdist(encoded, codes).argmin(dim=1)]
        pull = (encoded - nearest).square().mean()
        loss = pull + nn.functional.mse_loss(decoder(nearest), x) + nn.functional.mse_loss(decoder(encoded), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD226",
    name="straight-through-missing",
    severity="warning",
    title="a discrete choice blocks the gradient to the parameters that made it",
    observes="Values that were looked up by a choice made from parameters' values, as the entry of a codebook that is "
    "nearest to what an encoder returned, and codes that say which of these values are above a limit; and which terms "
    "of the loss teach the parameters: only those that compare the two, though other terms depend on them. And values "
    "that are added and taken off again, both with a gradient, beside what was chosen by them or rounded (an error).",
    why="A choice has no gradient. The encoder learns to come near the codebook, which is easiest where all samples "
    "have the same code, and learns nothing of what the decoder needs.",
    fix="Use the straight-through estimator: in the forward pass the values that were looked up, in the backward pass "
    "the identity: `encoded + (quantised - encoded).detach()`.",
    fine="Quantised values with a straight-through estimator, values that are decoded both before and after the "
    "choice, and clusters that are compared with what is learned otherwise.",
    needs=(TapeSealed,),
    examine=examine,
    bad=(bad, bad_not_detached),
    good=(good, good_decoded_twice),
    tunables={"steps": Tunable(2, "fewest steps with such a choice", MORE_THAN_ONCE)},
    about="loss",
    folds=("AD410",),
    references=("https://arxiv.org/abs/1711.00937", "https://arxiv.org/abs/1308.3432"),
)
