"""AD402 non-finite-backward: the first backward node that made NaN or Inf out of finite gradients."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.cycle import ScalerUsed
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.numerics import NonFiniteProduced
from autograd_doctor.events.steps import BackwardRan, NonFiniteGradient, OptimizerStepped
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.scaling import skipped_by_scaler
from autograd_doctor.views.step_cycle import related

_HOOK = "register_hook"
_REASONS = {
    "sqrt": (
        "the derivative of the square root is infinite at 0",
        "add a small constant under the root: `(x + 1e-8).sqrt()`",
    ),
    "norm": (
        "the norm has no derivative at 0",
        "add a small constant under the root, or mask the rows that are zero first",
    ),
    "log": ("the derivative of the logarithm is 1/x", "clamp its argument, as in `x.clamp_min(1e-8).log()`"),
    "div": (
        "the derivative of a quotient grows with the inverse square of the divisor",
        "keep the divisor away from 0",
    ),
    "pow": ("the derivative of a power below 1 is infinite at 0", "keep the base away from 0"),
    "acos": ("the derivative is infinite at -1 and 1", "clamp the argument to slightly less than [-1, 1]"),
    "exp": ("`exp` has reached the limits of its dtype", "clamp its argument from above"),
    "std": (
        "the derivative of the standard deviation is infinite where all values are equal",
        "add a small constant to the variance",
    ),
    _HOOK: (
        "the program changes this gradient itself, with a hook on a tensor",
        "keep the divisor in the hook away from 0: a gradient may be 0 for a whole sample",
    ),
    "atan2": ("`atan2` has no derivative at (0, 0)", "move points away from the origin before it"),
}
_ALIKE = {
    "norm": "linalg_norm linalg_vector_norm vector_norm cdist pairwise_distance dist normalize",
    "sqrt": "rsqrt sqrt_",
    "log": "log2 log10 log1p xlogy logit",
    "div": "true_divide __truediv__ __rtruediv__ __rdiv__ reciprocal",
    "pow": "__pow__ float_power",
    "acos": "asin arccos arcsin",
    "exp": "expm1",
    "std": "var std_mean",
}
_LIKE = {other: name for name, others in _ALIKE.items() for other in others.split()}
_ROLES = {"": "a tensor", "self": "an operand", "other": "an operand", "result": "a result"}
_HIDDEN = "a value that `where` does not select still gets a gradient: 0 times Inf is NaN"


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    """A loss that was spoiled before, on its way forward, is the business of the operation that spoiled it."""
    forward = min((born.step for born in trace.of(NonFiniteProduced) if born.reached != "gradient"), default=None)
    seen: set[Location | None] = set()
    for bad in trace.of(NonFiniteGradient):
        elsewhere = bad.low_precision or (forward is not None and forward <= bad.step)
        if bad.location in seen or elsewhere or skipped_by_scaler(trace, bad):
            continue
        seen.add(bad.location)
        yield _finding(trace, bad)
        if not bad.absorbed:
            return


def _who(bad: NonFiniteGradient, operation: str) -> str:
    if bad.applied_at is not None:
        return f"`{operation}` in the backward of `{bad.node.removesuffix('Backward')}`"
    return "a hook" if operation == _HOOK else f"the backward of `{operation}`"


def _finding(trace: Trace, bad: NonFiniteGradient) -> Finding:
    operation = bad.operation or bad.node.removesuffix("Backward0")
    reason, help = _REASONS.get(_LIKE.get(operation, operation), ("", ""))
    backward = trace.backwards.get(bad.backward)
    reached = "every gradient was finite in the end" if bad.absorbed else trace.parameter_names(bad.parameters)
    spoiled = f", which makes the gradients of {reached} non-finite" if bad.parameters and not bad.absorbed else ""
    spoiled = f", and {reached}" if bad.absorbed else spoiled
    operands = {f"operand_{place}": _described(operand) for place, operand in enumerate(bad.operands, start=1)}
    culprit = next((operand for operand in bad.operands if _at_the_edge(operand)), None)
    given = "gradients" if bad.applied_at is None else "values"
    where = f" at {_described(culprit)}" if culprit else ""
    return RULE.finding(
        f"{_who(bad, operation)} made NaN or Inf out of finite {given}{where}{spoiled}",
        subject=culprit.name if culprit and culprit.name not in _ROLES else operation,
        location=bad.location or (backward.location if backward else None),
        help=help
        or "keep the operands away from points where the operation has no derivative; mask them before it, not after",
        severity="info" if bad.absorbed else None,
        evidence={
            "node": bad.node,
            "operation": operation,
            "parameters_spoiled": [trace.parameter_name(parameter) for parameter in bad.parameters[:20]],
            "number_of_parameters": len(bad.parameters),
            **operands,
        },
        related=related(
            ("the function is applied here", bad.applied_at),
            ("it happened in this backward", backward.location if backward else None),
        ),
        notes=_notes(bad, operation, reason),
        step_first=bad.step + 1,
        step_count=1,
        parameters=bad.parameters,
    )


def _notes(bad: NonFiniteGradient, operation: str, reason: str) -> tuple[str, ...]:
    """Slopes are those of the forward: an operation of a `backward` is what it is."""
    if not reason or bad.applied_at is not None:
        return ()
    return (reason,) if operation == _HOOK else (reason, _HIDDEN)


def _described(operand: TensorFacts) -> str:
    """Autograd knows saved tensors by their role; only a name that the user gave is shown as a name."""
    return operand.described.replace(f"`{operand.name}`", _ROLES.get(operand.name, f"`{operand.name}`"), 1)


def _at_the_edge(operand: TensorFacts) -> bool:
    """Whether a range touches 0, where most of these operations lose their slope."""
    return operand.low is not None and operand.high is not None and operand.low <= 0 <= operand.high


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05)
    x = torch.randn(16, 6)
    for _ in range(8):
        code = encoder(x)
        differences = code.unsqueeze(1) - code.unsqueeze(0)
        distances = differences.square().sum(-1).sqrt()  # <- AD402
        loss = (distances - torch.cdist(x, x)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_where() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1), nn.ReLU())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(32, 4)
    for _ in range(8):
        amount = model(x)
        logarithm = torch.log(amount)  # <- AD402
        loss = torch.where(amount > 0, logarithm, amount - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_norm() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 4)
    x[5] = 0
    for _ in range(8):
        lengths = model(x).square().sum(1).pow(0.5)  # <- AD402
        loss = (lengths - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_in_a_backward_of_its_own() -> None:
    import torch
    from torch import nn

    class Softplus(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(x)
            return nn.functional.softplus(x)

        @staticmethod
        def backward(ctx, gradient):  # type: ignore[no-untyped-def]
            (x,) = ctx.saved_tensors
            grown = x.exp()  # <- AD402
            return gradient * grown / (1 + grown)

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(8):
        x = torch.randn(16, 4)
        if step == 2:
            x[3] = 500 * model.weight.detach()[0].sign()
        loss = Softplus.apply(model(x)).mean()  # type: ignore[no-untyped-call]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05)
    x = torch.randn(16, 6)
    for _ in range(8):
        code = encoder(x)
        differences = code.unsqueeze(1) - code.unsqueeze(0)
        distances = (differences.square().sum(-1) + 1e-8).sqrt()
        loss = (distances - torch.cdist(x, x)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_masked_before() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1), nn.ReLU())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(32, 4)
    for _ in range(8):
        amount = model(x)
        logarithm = torch.log(torch.where(amount > 0, amount, 1.0).clamp_min(1e-3))
        loss = torch.where(amount > 0, logarithm, amount - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_skipped_by_scaler() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**126)
    x = torch.randn(32, 4)
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


RULE = Rule(
    code="AD402",
    name="non-finite-backward",
    severity="error",
    title="a backward node made NaN or Inf out of finite gradients",
    observes="The first backward node with finite incoming gradients and a non-finite result, the line of the forward "
    "operation that made it, and the ranges of that operation's operands.",
    why="The loss looks healthy, and one step later every weight is NaN. Anomaly detection misses Inf, and it blames "
    "nodes that only pass the value on.",
    fix="Change the input of the operation. A `where` or a mask after it comes too late: the gradient of the "
    "unselected branch is 0 times Inf.",
    fine="If a later node removes the values, so that every gradient is finite in the end, it is an `info`; steps "
    "that a gradient scaler skipped are not reported.",
    needs=(NonFiniteGradient, NonFiniteProduced, BackwardRan, OptimizerStepped, ScalerUsed),
    examine=examine,
    bad=(bad, bad_in_a_backward_of_its_own, bad_where, bad_norm),
    good=(good, good_masked_before, good_skipped_by_scaler),
    folds=("AD401", "AD403", "AD405", "AD406", "AD412", "AD413", "AD111", "AD599", "AD116"),
)
