"""AD404 low-precision-overflow: a value left the range of fp16 or bf16, and float32 would have held it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.cycle import ScalerUsed
from autograd_doctor.events.numerics import NonFiniteProduced
from autograd_doctor.events.steps import BackwardRan, GradientsCleared, NonFiniteGradient, OptimizerStepped
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.births import described_operands, origins, rows
from autograd_doctor.views.scaling import left_unused, scaled_too_far, skipped_after, skipped_by_scaler

_LARGEST = {"float16": "65,504", "bfloat16": "3.4e38"}


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    births = [born for born in trace.of(NonFiniteProduced) if not scaled_too_far(trace, born)]
    spoiled = [bad for bad in trace.of(NonFiniteGradient) if not (bad.absorbed or skipped_by_scaler(trace, bad))]
    first = min([*births, *spoiled], key=lambda event: event.step, default=None)
    if isinstance(first, NonFiniteProduced) and first.low_precision and not skipped_after(trace, first):
        yield _forward(first)
    elif isinstance(first, NonFiniteGradient) and first.low_precision and not left_unused(trace, first):
        yield _backward(trace, first)


def _forward(born: NonFiniteProduced) -> Finding:
    output = born.output
    from_what, spoiled = described_operands(born), output.nan + output.inf
    return RULE.finding(
        f"`{born.operation}` overflowed {output.dtype}: {spoiled or 'some'} of {output.numel} values are not "
        "finite, but in float32 all are finite" + (f" ({from_what})" if from_what else ""),
        subject=output.name or born.operation,
        location=born.location,
        help="compute this in float32 (`.float()` before it, or outside `autocast`), or scale its operands down: "
        f"{output.dtype} ends at {_LARGEST.get(output.dtype, 'its limits')}",
        evidence={
            "operation": born.operation,
            "dtype": output.dtype,
            "values": output.numel,
            "not_finite": output.nan + output.inf,
            **rows(born),
        },
        related=origins(born),
        step_first=born.step + 1,
        step_count=1,
    )


def _backward(trace: Trace, bad: NonFiniteGradient) -> Finding:
    backward = trace.backwards.get(bad.backward)
    return RULE.finding(
        f"the backward of `{bad.operation}` overflowed a 16-bit dtype, which makes the gradients of "
        f"{trace.parameter_names(bad.parameters) or 'some parameters'} non-finite",
        subject=bad.operation,
        location=bad.location or (backward.location if backward else None),
        help="use a `GradScaler`, which skips such steps and lowers its scale, or compute this part in float32",
        evidence={"node": bad.node, "number_of_parameters": len(bad.parameters)},
        related=(Related("it happened in this backward", backward.location),) if backward and backward.location else (),
        step_first=bad.step + 1,
        step_count=1,
        parameters=bad.parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(16, 64)
    head = nn.Linear(64, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=1e-4)
    x = torch.randn(32, 16) * 40
    for _ in range(6):
        hidden = encoder(x).half()
        energy = (hidden * hidden).sum(1)  # <- AD404
        loss = (head(hidden.float()).squeeze(1) - energy.float()).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(16, 64)
    head = nn.Linear(64, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=1e-4)
    x = torch.randn(32, 16)
    for _ in range(6):
        hidden = encoder(x).half()
        energy = hidden.float().square().mean(1)
        loss = (head(hidden.float()).squeeze(1) - energy).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD404",
    name="low-precision-overflow",
    severity="error",
    title="a value overflowed a 16-bit dtype",
    observes="The first operation of the run that made NaN or Inf in float16 or bfloat16, but gives finite values for "
    "the same operands in float32; or a backward node with finite derivatives whose 16-bit gradients are not finite.",
    why="The largest float16 is 65,504: sums of squares, scores of long vectors and scaled gradients exceed it "
    "although the mathematics is right. From there, NaN spreads as from any other source.",
    fix="Compute sums, norms and scores in float32, or scale them down first, and use a `GradScaler` with float16.",
    fine="Overflows in steps that a gradient scaler skipped, if later steps take effect.",
    needs=(NonFiniteProduced, NonFiniteGradient, BackwardRan, GradientsCleared, OptimizerStepped, ScalerUsed),
    examine=examine,
    bad=(bad,),
    good=(good,),
    folds=("AD401", "AD402", "AD403", "AD405", "AD406", "AD412", "AD413", "AD111", "AD599", "AD116"),
)
