"""Moments of data: exact for what was scaled by its own, and not for anything like it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd_doctor.reading.moments import Moments


def added(data: torch.Tensor, batch: int = 32) -> Moments:
    moments = Moments()
    for rows in data.split(batch):
        moments.add(rows)
    return moments


def standard(data: torch.Tensor, dims: tuple[int, ...], *, corrected: bool = True) -> torch.Tensor:
    return (data - data.mean(dims, keepdim=True)) / data.std(dims, keepdim=True, unbiased=corrected)


def skewed(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).exp()


@settings(max_examples=40)
@given(
    rows=st.integers(20, 300),
    columns=st.integers(1, 12),
    batch=st.integers(7, 64),
    corrected=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_columns_scaled_by_their_own_statistics(
    rows: int, columns: int, batch: int, corrected: bool, seed: int
) -> None:
    moments = added(standard(skewed(rows, columns, seed=seed), (0,), corrected=corrected), batch)
    assert (moments.are_standard, moments.standard_fields, moments.rows) == (True, columns, rows)
    assert moments.largest_mean < 1e-5


@settings(max_examples=40)
@given(rows=st.integers(20, 300), columns=st.integers(1, 12), seed=st.integers(0, 1000))
def test_columns_scaled_by_those_of_others(rows: int, columns: int, seed: int) -> None:
    train, held_out = skewed(2 * rows, columns, seed=seed), skewed(rows, columns, seed=seed + 1)
    assert not added((held_out - train.mean(0)) / train.std(0)).are_standard
    assert not added(standard(torch.cat([train, held_out]), (0,))[-rows:]).are_standard


@pytest.mark.parametrize(
    ("shape", "dims", "fields"),
    [((60, 3, 5, 5), (0, 2, 3), 3), ((60, 7, 4), (0, 1), 4), ((60, 4, 9), (0, 2), 4), ((60, 6), (0, 1), 1)],
)
def test_channels_features_and_all_together(shape: tuple[int, ...], dims: tuple[int, ...], fields: int) -> None:
    moments = added(standard(skewed(*shape), dims))
    assert (moments.are_standard, moments.standard_fields) == (True, fields)


@pytest.mark.parametrize(
    "data",
    [
        standard(skewed(60, 16), (1,), corrected=False),
        torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 6),
        standard(skewed(19, 4), (0,)),
        torch.cat([standard(skewed(60, 1), (0,)), skewed(60, 9)], dim=1),
        torch.full((60, 4), torch.nan),
        torch.zeros(60, 4),
    ],
    ids=["row by row", "a design of signs", "few rows", "one column of many", "not a number", "all the same"],
)
def test_what_is_like_it(data: torch.Tensor) -> None:
    assert not added(data).are_standard


def test_batches_of_another_kind() -> None:
    moments = added(standard(skewed(60, 4), (0,))).add(skewed(8, 5))
    assert (moments.are_standard, moments.standard_fields, moments.largest_mean) == (False, 0, 0.0)


@pytest.mark.parametrize("batch", [7, 20, 64, 400])
def test_series_that_were_scaled_one_by_one(batch: int) -> None:
    series = [standard(skewed(40, 3, seed=seed), (0,), corrected=False) for seed in range(4)]
    moments = added(torch.cat(series), batch)
    assert (moments.are_standard, moments.in_parts) == (True, True)
    assert not added(series[0], batch).in_parts
    assert not added(standard(skewed(160, 3), (0,)), batch).in_parts


def test_too_much_is_given_up() -> None:
    moments = added(standard(skewed(3000, 1500), (0,)), 1000)
    assert (moments.are_standard, moments.rows) == (False, 2000)
