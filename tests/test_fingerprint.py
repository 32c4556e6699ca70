"""Numbers that tell rows of data apart, and how classes keep together in batches."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from autograd_doctor.reading.clustering import clustering
from autograd_doctor.reading.fingerprint import key_of, row_keys, tells_apart

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool]


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_told_apart_by_their_bits(dtype):
    rows = torch.tensor([[0, 1, 1], [1, 0, 1], [0, 1, 1], [1, 1, 0]]).to(dtype)
    keys = row_keys(rows)
    assert keys is not None
    assert keys[0] == keys[2]
    assert len(set(keys)) == 3
    assert row_keys(rows.clone()) == keys
    assert row_keys(rows[:, :, None].transpose(1, 2)) == keys, "the shape of a row does not count"


def test_signs_and_places_count():
    keys = row_keys(torch.tensor([[1.0, 2.0], [2.0, 1.0], [-1.0, 2.0], [1.0, -2.0], [1.0, 2.0]]))
    assert keys is not None
    assert len(set(keys)) == 4
    assert key_of(keys) != key_of(keys[::-1])


def test_of_long_rows_a_part_is_looked_at():
    rows = torch.randn(3, 50_000, generator=torch.Generator().manual_seed(0))
    keys = row_keys(rows)
    assert keys is not None
    assert len(set(keys)) == 3
    assert row_keys(torch.cat([rows, rows])) == keys * 2


@pytest.mark.parametrize(
    "odd", [torch.ones(()), torch.ones(0, 3), torch.ones(2, device="meta"), torch.eye(2).to_sparse()]
)
def test_what_has_no_rows_to_read(odd):
    assert row_keys(odd) is None


def test_nothing_is_drawn_from_the_generator_of_the_program():
    before = torch.random.get_rng_state()
    row_keys(torch.ones(2, 2))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_which_samples_tell_apart():
    generator = torch.Generator().manual_seed(0)
    assert tells_apart(torch.randn(8, 3, generator=generator))
    assert tells_apart(torch.arange(60.0).reshape(3, 20))
    assert not tells_apart(torch.eye(8))
    assert not tells_apart(torch.randint(0, 50, (8, 40), generator=generator))
    assert not tells_apart(torch.tensor([[0.3], [0.4]]))
    assert not tells_apart(torch.randint(0, 7, (64, 4), generator=generator) / 7)
    assert tells_apart(torch.randint(0, 7, (64, 16), generator=generator) / 7)
    assert tells_apart(torch.randn(1, 2, generator=generator))
    assert tells_apart(torch.randn(6, 4, generator=generator)[torch.randint(6, (24,), generator=generator)])


def batches(*counts: tuple[int, ...]) -> list[Counter[int]]:
    return [Counter(dict(enumerate(count))) for count in counts]


def test_sorted_batches_keep_classes_together():
    found = clustering(batches((20, 0), (20, 0), (0, 20), (0, 20)))
    assert found.share == pytest.approx(1.0)
    assert found.deviations > 20


def test_even_batches_do_not():
    found = clustering(batches((10, 10), (10, 10), (11, 9), (9, 11)))
    assert abs(found.share) < 0.1
    assert found.deviations < 1


@pytest.mark.parametrize(
    "alike", [[], batches((20,), (20,)), batches((8, 12)), batches((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0))]
)
def test_where_nothing_can_come_together(alike):
    assert clustering(alike) == (0.0, 0.0)
