"""Which functions of torch take the mode, whether they were active, and which modules hand on theirs."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.overrides import TorchFunctionMode

from autograd_doctor.instruments.connectivity.functional_modes import _Use
from autograd_doctor.reading.functional_modes import draws_numbers, was_active

X = torch.randn(4, 3, 5)
MEAN, VARIANCE = torch.zeros(3), torch.ones(3)
QUERY = torch.randn(1, 2, 4, 8)


class Calls(TorchFunctionMode):
    """What every operation was, as a probe of operations meets it."""

    def __init__(self) -> None:
        super().__init__()
        self.active: list[bool] = []
        self.drew = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        active = was_active(func, args, kwargs or {})
        self.active += [] if active is None else [active]
        self.drew += draws_numbers(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


def active(run: Any) -> list[bool]:
    with Calls() as calls:
        run()
    return calls.active


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (lambda: F.dropout(X, 0.5), [True]),
        (lambda: F.dropout(X, 0.5, False), [False]),
        (lambda: F.dropout(X, p=0.5, training=True), [True]),
        (lambda: F.dropout(X, 0.0, True), []),
        (lambda: F.alpha_dropout(X, 0.2, True), [True]),
        (lambda: F.feature_alpha_dropout(X, 0.2, True), [True]),
        (lambda: F.dropout1d(X, 0.2, False), [False]),
        (lambda: torch.dropout(X, 0.2, True), [True]),
        (lambda: torch.feature_dropout(X, 0.2, train=False), [False]),
        (lambda: F.rrelu(X, training=True), [True]),
        (lambda: torch.rrelu(X), [False]),
        (lambda: F.rrelu(X, 0.2, 0.2, training=True), []),
        (lambda: F.batch_norm(X, MEAN, VARIANCE, training=False), [False]),
        (lambda: F.batch_norm(X, None, None, training=True), []),
        (lambda: F.instance_norm(X, MEAN, VARIANCE, use_input_stats=False), [False]),
        (lambda: F.scaled_dot_product_attention(QUERY, QUERY, QUERY, dropout_p=0.1), [True]),
        (lambda: F.scaled_dot_product_attention(QUERY, QUERY, QUERY, None, 0.0), []),
        (lambda: nn.MultiheadAttention(8, 2, dropout=0.1)(QUERY[0], QUERY[0], QUERY[0]), [True]),
        (lambda: nn.LSTM(5, 2, num_layers=2, dropout=0.1)(X), []),
        (lambda: F.relu(X).sum(), []),
    ],
)
def test_functions_that_take_the_mode(run: Any, expected: list[bool]) -> None:
    assert active(run) == expected


def test_random_numbers_are_recognised_by_torchs_own_tags() -> None:
    with Calls() as calls:
        X.new_empty(3).bernoulli_(0.5)
        torch.randn_like(X)
        torch.rand(3)
        (X + 1).exp()
    assert calls.drew == 3


def uses(**seen: Any) -> bool:
    """Whether a module depends on its mode; `train` and `eval`: what its functions did, `drew` and `quiet`: modes."""
    module = nn.Identity()
    use = _Use(weakref.ref(module))
    use.active = {mode: set(seen[name]) for name, mode in (("train", True), ("eval", False)) if name in seen}
    use.drew, use.quiet = set(seen.get("drew", ())), set(seen.get("quiet", ()))
    return use.depends


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({"train": [True], "eval": [False]}, True),
        ({"train": [True]}, True),
        ({"eval": [False]}, True),
        ({"train": [True], "eval": [True]}, False),
        ({"train": [False], "eval": [False]}, False),
        ({"train": [True], "eval": [True, False]}, True),
        ({"drew": [True], "quiet": [False]}, True),
        ({"drew": [True]}, False),
        ({"drew": [True, False], "quiet": [False]}, False),
        ({"quiet": [True, False]}, False),
        ({}, False),
    ],
)
def test_dependence_needs_a_difference_between_the_modes(seen: dict[str, Any], expected: bool) -> None:
    assert uses(**seen) is expected


def test_what_torch_does_not_tag_draws_no_numbers() -> None:
    assert draws_numbers("normal_")
    assert not draws_numbers("exp")


def test_wrappers_of_functions_without_a_signature_take_no_mode() -> None:
    assert active(lambda: X**2) == []
    assert active(lambda: 2**X) == []
