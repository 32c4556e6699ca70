"""KL divergences of one normal distribution from another, whoever wrote the formula down.

It holds a squared mean, and a variance beside its logarithm: ``log_var.exp() - log_var``, ``std**2 - log(std)`` (Kingma
and Welling, Auto-Encoding Variational Bayes, 2014, appendix B).
"""

from __future__ import annotations

from autograd_doctor.operations import SCALING
from autograd_doctor.summands import summands
from autograd_doctor.tape import Op, Value

_CURVES = {"exp": "exp", "expm1": "exp", "log": "log"}
_SCALES = SCALING | {"neg"}
_LINEAR = _SCALES | {"add", "sub"}
_MOST_PARTS = 64
PLAIN = (0.5, 1.0, 2.0)
"""Factors that formulas have, as one half in a divergence of normal distributions; others are weights of a term."""


def is_divergence(value: Value) -> bool:
    """Whether each of its numbers is one, or a multiple: the sum of what the formula is made of."""
    return sign_of_divergence(value) != 0


def sign_of_divergence(value: Value) -> int:
    """1 where each of its numbers is such a divergence, -1 for the negative of one, 0 for anything else."""
    return _read(value)[0]


def is_bare_divergence(value: Value) -> bool:
    """Whether each of its numbers is one that nothing weighs: what the formula itself divides by is a part of it."""
    sign, factors = _read(value)
    return sign != 0 and factors <= {*PLAIN}


def _read(value: Value) -> tuple[int, set[float | None]]:
    """The sign of a divergence, 0 for anything else, and the sizes of factors between it and its parts."""
    factors = set[float | None]()
    parts: dict[str, set[Value]] = {"itself": set(), "exp": set(), "log": set(), "square": set()}
    squares: set[int] = set()
    pending, seen = [(value, 1)], 0
    while pending and seen < _MOST_PARTS:
        (part, sign), seen = pending.pop(), seen + 1
        op = part.by if part.learns else None
        curve = _curve(op) if op is not None else None
        inner = summands(op) if op is not None and op.name in _LINEAR else None
        if inner is not None and all(each.sign for each in inner):
            pending += [(each.value, sign * each.sign) for each in inner]
            factors |= {None if each.factor is None else abs(each.factor) for each in inner}
        else:
            parts["itself"].add(_unscaled(part))
            if op is not None and curve is not None:
                parts[curve].add(_unscaled(op.values[0]))
                squares |= {sign} if curve == "square" else set()
    by_logarithm = parts["exp"] & parts["itself"]
    by_variance = parts["log"] & (parts["square"] | parts["itself"])
    if not (by_logarithm | by_variance) or not parts["square"]:
        return 0, factors
    return squares.pop() if len(squares) == 1 else 1, factors


def _curve(op: Op) -> str | None:
    return "square" if op.is_square else _CURVES.get(op.name)


def _unscaled(value: Value) -> Value:
    """The same for a value and for its multiples."""
    while value.by is not None and value.learns and value.by.name in _SCALES and len(value.by.values) == 1:
        value = value.by.values[0]
    return value
