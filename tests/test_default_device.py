"""Where a program makes its tensors by default is nothing to us: what we make to look at values lies on the host."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from autograd_doctor.instruments.data.sequence_ends import _ended
from autograd_doctor.instruments.data.windows import _found, _recurring
from autograd_doctor.instruments.losses.positive_pairs import _likeness, _partners
from autograd_doctor.reading import fingerprint
from autograd_doctor.reading.collated import misordered
from autograd_doctor.reading.fingerprint import row_keys
from autograd_doctor.reading.moments import Moments
from autograd_doctor.reading.regions import region_of
from autograd_doctor.reading.row_orders import RowOrders

ROWS = torch.arange(80.0).reshape(20, 4)
SERIES = ROWS.reshape(20, 2, 2)
TOKENS = torch.tensor([[5, 3, 0, 0], [4, 3, 6, 0], [7, 2, 3, 0], [5, 3, 0, 0]])
CHOSEN, PAIRS, WANTED = torch.tensor([0, 1, 2, 0]), torch.tensor([1, 0, 3, 2]), torch.zeros(20, 1, dtype=torch.float64)
LOOKS: dict[str, Callable[[], object]] = {
    "numbers of rows": lambda: row_keys(ROWS),
    "moments": lambda: _moments(ROWS),
    "overlapping parts": lambda: _overlap(ROWS[::2], ROWS[1::2]),
    "orders of rows": lambda: RowOrders().changed([ROWS.numpy()], ROWS.numpy(), 0),
    "batches put together": lambda: misordered([(float(n), n + 10) for n in range(5)], (ROWS[:5, 0], ROWS[:5, 0])),
    "partners": lambda: _partners(ROWS[:4, :3], CHOSEN),
    "likeness": lambda: _likeness(ROWS[:4], PAIRS),
    "ends": lambda: _ended(TOKENS, TOKENS != 0),
    "windows": lambda: _found(SERIES, WANTED),
    "recurring values": lambda: _recurring(ROWS.unsqueeze(2)),
}


def _moments(rows: torch.Tensor) -> tuple[int, bool]:
    moments = Moments()
    moments.add(rows)
    return moments.rows, moments.are_standard


def _overlap(some: torch.Tensor, others: torch.Tensor) -> bool:
    one, other = region_of(some), region_of(others)
    return one is not None and other is not None and one.overlaps(other)


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
def test_it_is_the_same_where_the_program_has_another_default_device(look: Callable[[], object]) -> None:
    expected = look()
    fingerprint._weights.cache_clear()
    try:
        with torch.device("meta"):
            found = look()
    finally:
        fingerprint._weights.cache_clear()
    assert torch.equal(found, expected) if isinstance(found, torch.Tensor) else found == expected
