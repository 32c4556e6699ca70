"""At which place of a module's output rows begin."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from autograd_doctor.reading.first_rows import first_row, order_of

TIME = 9
HEAD = torch.randn(5, 7, requires_grad=True)


@pytest.mark.parametrize(
    ("taken", "first"),
    [
        (lambda out: out, 0),
        (lambda out: out[:, :-1].flatten(0, 1), 0),
        (lambda out: out[:, 1:].reshape(-1, 5).log_softmax(-1), 1),
        (lambda out: out[:, -3:].transpose(1, 2), TIME - 3),
        (lambda out: out[:, 1:-1][:, 2:] / 3, 3),
        (lambda out: (out.narrow(1, 2, 4) @ HEAD).float(), 2),
        (lambda out: out[1:, 2:], None),
        (lambda out: out[:, 1::2], None),
        (lambda out: out.flatten(0, 1)[3:], None),
        (lambda out: out.roll(1, 1), None),
        (lambda out: torch.cat([out[:, 1:], out[:, :1]], 1), None),
        (lambda out: out[:, 1:] + out[:, :-1], None),
    ],
)
def test_where_rows_begin(taken: Callable[[torch.Tensor], torch.Tensor], first: int | None) -> None:
    out = torch.randn(4, TIME + 1, 5, requires_grad=True).exp()[:, 1:].cos()
    assert first_row(taken(out), TIME, order_of([out])) == first


def test_inside_of_a_module_slices_are_followed_to_where_it_computes() -> None:
    hidden = torch.randn(4, TIME, 5, requires_grad=True).exp()[:, 1:]
    scores = (hidden @ HEAD)[:, 2:].flatten(0, 1)
    assert first_row(scores, TIME - 1, None) == 2
    assert order_of([torch.zeros(1)]) is None
