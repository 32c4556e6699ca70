"""AD401 non-finite-forward: the first operation that made NaN or Inf out of finite numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import takewhile

from autograd_doctor.events.cycle import ScalerUsed
from autograd_doctor.events.data import WeightsLoaded
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.numerics import GrownWithin, LossesFollowed, NonFiniteInput, NonFiniteProduced
from autograd_doctor.events.steps import BackwardRan, NonFiniteGradient, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.births import IMPORTS, described_operands, kinds_of, origins, reason_and_help, rows
from autograd_doctor.views.curves import Curve, curves
from autograd_doctor.views.rates import known, tried_rates
from autograd_doctor.views.scaling import scaled_too_far
from autograd_doctor.wording import plural

_HUGE = 1e15
"""Values that have grown this far were on their way out of float32 (3e38), whatever operation came last."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    """Spoiled weights spoil later passes: only what precedes the first spoiled gradient is a cause of its own."""
    spoiled = min((bad.step for bad in trace.of(NonFiniteGradient) if not bad.absorbed), default=None)
    for born in trace.of(NonFiniteProduced):
        hidden = born.reached == "gradient" and spoiled == born.step
        elsewhere = born.low_precision or born.operation in IMPORTS or scaled_too_far(trace, born)
        elsewhere = elsewhere or (born.reached == "read" and tried_rates(trace, born.step))
        if not elsewhere and not hidden and (spoiled is None or born.step <= spoiled):
            yield _finding(trace, born)
            return
    if not trace.of(NonFiniteProduced) and not trace.of(NonFiniteInput):
        for curve in curves(trace):
            if sum(stretch.backwards for stretch in _lost(curve)) >= tunables["lasting"]:
                yield _lasting(curve)


def _lost(curve: Curve) -> list[LossesFollowed]:
    """The last losses, of which none was finite."""
    return list(takewhile(lambda stretch: stretch.non_finite == stretch.backwards, reversed(curve.stretches)))[::-1]


def _lasting(curve: Curve) -> Finding:
    """Nothing tells which operation it was, but that training is over."""
    lost = _lost(curve)
    losses = sum(stretch.backwards for stretch in lost)
    return RULE.finding(
        f"the loss is not finite any more: none of the last {losses} was",
        subject=curve.name or "loss",
        location=curve.location,
        help="go back to a checkpoint from before, and let `doctor check` run from there: it names the operation",
        confidence="high",
        evidence={"losses_not_finite": losses},
        notes=("the step in which it began was not recorded, and its graph is unlike all that were",),
        step_first=lost[0].first + 1,
        step_count=losses,
    )


def _finding(trace: Trace, born: NonFiniteProduced) -> Finding:
    output, grown = born.output, any(_magnitude(operand) > _HUGE for operand in born.operands)
    reason, help = reason_and_help(born.operation)
    built = None
    if born.reached == "parameter":
        step = _step(trace, born)
        built = _built_without_eps(trace, step)
        reason, help = _of_update(step, built)
    if grown:
        reason, help = (
            "the operands had already grown extremely large",
            "look for what made them grow: the learning rate, ",
        )
        help += "missing normalisation or clipping, a sum where a mean was intended"
    kind = kinds_of(output)
    infinite = any(operand.inf for operand in born.operands) and not output.inf
    if infinite and not reason:
        reason, help = (
            "the difference of two infinities is NaN, and so is 0 times one",
            "look for the source of the infinities, such as a fully masked row",
        )
    if grown and born.grown is not None and born.grown.location is not None:
        return _grown(born, born.grown, f"`{born.operation}` finally made {kind}")
    from_what = described_operands(born)
    operands = {f"operand_{place}": operand.described for place, operand in enumerate(born.operands, start=1)}
    return RULE.finding(
        f"`{born.operation}` made {kind} out of {'infinities' if infinite else 'finite values'}"
        + (f": {from_what}" if from_what else ""),
        subject=output.name or born.operation,
        location=built.location if built is not None else born.location,
        help=help or "bound the inputs of the operation, and check the rows named here",
        severity="warning" if born.reached == "read" and _goes_on(trace, born) else None,
        confidence="medium" if grown else "high",
        evidence={
            "operation": born.operation,
            "values": output.numel,
            "nan_values": output.nan,
            "inf_values": output.inf,
            **rows(born),
            **operands,
        },
        related=(*origins(born), *_written(born), *_taken(born, built)),
        notes=tuple(filter(None, (reason, _inside(born), _left_out(born), _how(born)))),
        step_first=born.step + 1,
        step_count=1,
    )


def _grown(born: NonFiniteProduced, grown: GrownWithin, end: str) -> Finding:
    """The line that grew from call to call, of which the overflow is only the end."""
    sizes = [f"{size:.3g} in call {2**power}" for power, size in enumerate(grown.sizes[:-1])]
    sizes.append(f"{grown.sizes[-1]:.3g} in call {grown.calls}")
    related = (Related(end, born.location),) if born.location is not None and born.location != grown.location else ()
    return RULE.finding(
        f"the result of `{grown.operation}` grows from call to call within a step, to a mean of {grown.sizes[-1]:.3g} "
        f"after {plural(grown.calls, 'call')}; {end}",
        subject=grown.operation,
        location=grown.location,
        confidence="medium",
        help="keep it bounded: normalisation or a bounded activation (`tanh`) in the loop, weights that do not "
        "amplify (orthogonal or smaller), or shorter sequences",
        evidence={"sizes": sizes, "calls": grown.calls, "operation": born.operation, **rows(born)},
        related=related,
        step_first=born.step + 1,
        step_count=1,
    )


def _written(born: NonFiniteProduced) -> tuple[Related, ...]:
    return (Related("the infinities are written here", born.written_at),) if born.written_at else ()


def _step(trace: Trace, born: NonFiniteProduced) -> OptimizerStepped | None:
    """The step of an optimizer that was the operation."""
    return next((each for each in trace.steps if each.step == born.step and each.location == born.location), None)


def _built_without_eps(trace: Trace, step: OptimizerStepped | None) -> OptimizerBuilt | None:
    """The optimizer of a step, if it was built to divide by what may be 0, and the line that did so is known."""
    built = trace.optimizers.get(step.optimizer) if step is not None and step.optimizer is not None else None
    if built is None or built.location is None or all(group.eps != 0 for group in built.groups):
        return None
    return built


def _taken(born: NonFiniteProduced, built: OptimizerBuilt | None) -> tuple[Related, ...]:
    """The step, where the finding is at the line that built its optimizer."""
    return (Related("the step was taken here", born.location),) if built is not None and born.location else ()


def _of_update(step: OptimizerStepped | None, built: OptimizerBuilt | None) -> tuple[str, str]:
    """Why a step with finite gradients spoils parameters, and what to do about it."""
    rates = [rate for rate in known(step.learning_rates) if not math.isfinite(rate)] if step is not None else []
    if rates:
        return f"the learning rate was {rates[0]}", "look at what computes the learning rate"
    if built is not None:
        return "its `eps` is 0, so a gradient of 0 is divided by 0", "give it an `eps` above 0, such as the default"
    return (
        "the gradients were finite",
        "check what the optimizer divides by: `eps` keeps the divisor away from 0 when gradients are 0",
    )


def _goes_on(trace: Trace, born: NonFiniteProduced) -> bool:
    """Whether training went on after a loss that the program left out."""
    return any(step.step > born.step for step in trace.steps)


def _inside(born: NonFiniteProduced) -> str:
    return f"it happened in `{born.module}`" if born.module else ""


def _left_out(born: NonFiniteProduced) -> str:
    if born.reached != "backward":
        return ""
    return "the loss left these values out and was finite, but in backward they made the gradients NaN, as 0 times NaN"


def _how(born: NonFiniteProduced) -> str:
    if not born.from_graph:
        return ""
    if born.at_backward:
        return f"step {born.step + 1} was not recorded: the graph tells the operation, but not in which line it is"
    return f"step {born.step + 1} was not recorded: this was found by computing the nodes of its graph again"


def _magnitude(operand: TensorFacts) -> float:
    return max(abs(operand.low or 0.0), abs(operand.high or 0.0))


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 4)
    y = x.square().sum(1, keepdim=True)
    for _ in range(8):
        rate = model(x)
        loss = (rate - y * torch.log(rate)).mean()  # <- AD401
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_division() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(8):
        x = torch.randn(16, 4)
        mask = (x[:, :1] > (0.0 if step < 5 else 9.0)).float()
        error = (model(x) - x.sum(1, keepdim=True)).square() * mask
        loss = error.sum() / mask.sum()  # <- AD401
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_empty_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    scores, values = nn.Linear(6, 1), nn.Linear(6, 1)
    optimizer = torch.optim.SGD([*scores.parameters(), *values.parameters()], lr=0.05)
    x = torch.randn(16, 5, 6)
    padding = torch.arange(5) >= torch.arange(16).remainder(6).unsqueeze(1)
    for _ in range(8):
        masked = scores(x).squeeze(2).masked_fill(padding, float("-inf"))
        weights = masked.softmax(dim=1)  # <- AD401
        loss = ((weights * values(x).squeeze(2)).sum(1) - x[:, 0, 0]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1), nn.Softplus())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 4)
    y = x.square().sum(1, keepdim=True)
    for _ in range(8):
        rate = model(x)
        loss = (rate - y * torch.log(rate.clamp_min(1e-6))).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_mask_of_infinities() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    head = nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*attention.parameters(), *head.parameters()], lr=0.01)
    mask = torch.full((5, 5), float("-inf")).triu(1)
    for _ in range(8):
        x = torch.randn(16, 5, 8)
        hidden, _weights = attention(x, x, x, attn_mask=mask)
        loss = (head(torch.tanh(hidden)).squeeze(2) - x.cumsum(1)[..., 0].tanh()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_infinity_removed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        x = torch.randn(32, 4).relu()
        target = torch.log(x.sum(1, keepdim=True) - x[:, :1] - x[:, 1:2]).clamp(min=-3.0)
        target = torch.where(target.isfinite(), target, 0.0)
        loss = nn.functional.mse_loss(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD401",
    name="non-finite-forward",
    severity="error",
    title="an operation made NaN or Inf out of finite values",
    observes="The first operation of the run with finite operands and a non-finite result that reached a loss, with "
    "the ranges of its operands and the rows of the batch.",
    why="One such value makes the loss and every gradient non-finite, and after one step every weight. By the time "
    "you notice, usually in the printed loss, its origin is lost.",
    fix="Clamp the argument of the operation, or use PyTorch's numerically stable function for the whole expression.",
    fine="Masks of `-inf` that a softmax absorbs, and infinities that `where` or `clamp` removes before the loss. "
    "Infinities that the program itself puts beside or in place of what it computed, as the outermost of its bounds, "
    "and reads; not a single number that it computes from them, such as a loss. The loss that ends a test of learning "
    "rates, which rose with each step, before the weights are put back.",
    needs=(
        *(NonFiniteProduced, NonFiniteInput, NonFiniteGradient, LossesFollowed),
        *(BackwardRan, OptimizerBuilt, OptimizerStepped, ScalerUsed, WeightsLoaded),
    ),
    examine=examine,
    bad=(bad, bad_division, bad_empty_softmax),
    good=(good, good_mask_of_infinities, good_infinity_removed),
    needs_phases=(),
    tunables={
        "lasting": Tunable(
            20,
            "losses in a row that are not finite, to the last one, where nothing tells why",
            "chosen: a gradient scaler that settles skips fewer (it begins at 65536 and halves with each)",
        )
    },
    folds=("AD402", "AD403", "AD405", "AD406", "AD412", "AD413", "AD111", "AD599", "AD116"),
)
