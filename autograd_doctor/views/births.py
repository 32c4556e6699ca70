"""What is said of an operation that made NaN or Inf, whatever the reason."""

from __future__ import annotations

from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.numerics import NonFiniteInput, NonFiniteProduced
from autograd_doctor.findings import Evidence, Related

IMPORTS = frozenset({"tensor", "as_tensor", "from_numpy", "frombuffer", "asarray", "new_tensor"})
"""What makes a tensor of values that Python or NumPy has made."""
_REASONS = {
    "log": (
        "the logarithm is -inf at 0 and NaN below it",
        "clamp its argument, as in `x.clamp_min(1e-8).log()`, or use a function that stays in log space "
        "(`log_softmax`, `logsigmoid`, `logsumexp`)",
    ),
    "div": ("something was divided by 0", "keep the divisor away from 0: `clamp_min`, a small constant, or a mask"),
    "sqrt": ("the square root of a negative number is NaN", "clamp its argument from below with `clamp_min`"),
    "exp": ("`exp` overflows float32 above 88.7", "subtract the maximum first, or use `logsumexp` or `softmax`"),
    "pow": ("a power overflowed, or a negative base had a fractional exponent", "clamp the base and the exponent"),
    "acos": ("the argument lies outside [-1, 1]", "clamp the argument to slightly less than [-1, 1]"),
    "softmax": ("a softmax over only -inf is NaN", "leave at least one entry unmasked in each row"),
    "std": (
        "the unbiased standard deviation of one value is NaN",
        "use `correction=0`, or take it over more than one value",
    ),
    "mean": ("the mean of no values is NaN", "skip the loss when its mask or batch is empty"),
    "cross_entropy": ("all targets are ignored, or a logit is not finite", "skip batches without a valid target"),
}
_ALIKE = {
    "log": "log2 log10 log1p log_ logit xlogy binary_cross_entropy",
    "div": "true_divide __truediv__ __rtruediv__ __rdiv__ __div__ reciprocal div_ normalize __itruediv__ rsqrt",
    "sqrt": "sqrt_",
    "exp": "expm1 exp_ sinh cosh",
    "pow": "__pow__ __rpow__ square float_power",
    "acos": "asin arccos arcsin",
    "softmax": "log_softmax scaled_dot_product_attention",
    "std": "var std_mean var_mean",
    "cross_entropy": "nll_loss",
}
_LIKE = {other: name for name, others in _ALIKE.items() for other in others.split()}


def reason_and_help(operation: str) -> tuple[str, str]:
    """Why an operation makes such values of finite ones, and what to do about it; empty where nothing is known."""
    return _REASONS.get(_LIKE.get(operation, operation), ("", ""))


def kinds_of(spoiled: TensorFacts) -> str:
    """How many values are NaN, and how many Inf."""
    counts = (("NaN", spoiled.nan), ("Inf", spoiled.inf))
    return " and ".join(f"{count} {name}" for name, count in counts if count) or "NaN or Inf"


def described_operands(born: NonFiniteProduced) -> str:
    """What went in, in words; empty where nothing is known of it."""
    return "; ".join(operand.described for operand in born.operands)


def origins(born: NonFiniteProduced) -> tuple[Related, ...]:
    """Where the operands were made, if that was at other lines."""
    return tuple(
        Related(f"{operand.described.split(' of ')[0]} was made here", operand.made_at)
        for operand in born.operands
        if operand.made_at is not None and operand.made_at != born.location
    )[:3]


def rows(born: NonFiniteProduced | NonFiniteInput) -> Evidence:
    """Which rows of the batch were spoiled."""
    return {"rows_of_the_batch": ", ".join(map(str, born.rows))} if born.rows else {}
