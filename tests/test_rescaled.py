"""Values that were only made longer or shorter, by a factor to which a loss is blind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn.functional import normalize

from autograd_doctor.reading.rescaled import is_only_rescaled

Loss = Callable[[torch.Tensor], torch.Tensor]


def target_of(values: torch.Tensor) -> torch.Tensor:
    return (values - torch.arange(values.numel()).reshape(values.shape) / 7).square().sum()


@pytest.mark.parametrize(
    ("shape", "factor", "loss", "expected"),
    [
        ((4, 6), (4, 1), lambda w: target_of(normalize(w, dim=1)), True),
        ((4, 6), (1, 6), lambda w: target_of(normalize(w, dim=0)), True),
        ((4, 3, 2, 2), (4, 1, 1, 1), lambda w: target_of(w / w.flatten(1).norm(dim=1)[:, None, None, None]), True),
        ((4, 3, 2), (4, 3, 1), lambda w: target_of(normalize(w, dim=-1)), True),
        ((7,), (1,), lambda w: target_of(w / w.norm()), True),
        ((4, 6), (1, 1), lambda w: target_of(w / w.norm()), True),
        ((), (), lambda w: 0 * w, True),
        ((), (), lambda w: (w - 2).square(), False),
        ((4, 6), (4, 1), target_of, False),
        ((4, 6), (4, 6), lambda w: target_of(normalize(w, dim=1)), False),
        ((4, 6), (4, 1), None, False),
    ],
)  # fmt: skip
def test_what_was_only_rescaled(
    shape: tuple[int, ...], factor: tuple[int, ...], loss: Loss | None, expected: bool
) -> None:
    torch.manual_seed(0)
    before = torch.randn(shape)
    values = (before * (0.5 + torch.rand(factor))).requires_grad_()
    if loss is not None:
        loss(values).backward()
    assert bool(is_only_rescaled(before, values)) is expected


def test_a_length_of_zero_is_none() -> None:
    values = torch.zeros(4, requires_grad=True)
    target_of(values).backward()
    assert not is_only_rescaled(torch.ones(4), values)
    assert is_only_rescaled(torch.zeros(4), values), "as it was"
