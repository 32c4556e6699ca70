"""Which positions of a batch of sequences are only filled up, and which targets belong to them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograd_doctor.reading.padding import padded_targets, padding_of


@given(
    runs=st.lists(st.integers(0, 5), min_size=2, max_size=6),
    value=st.integers(0, 9),
    time_first=st.booleans(),
    features=st.booleans(),
)
def test_what_fills_up_the_ends_is_found(runs: list[int], value: int, time_first: bool, features: bool) -> None:
    mask = torch.arange(8)[None] >= 8 - torch.tensor(runs)[:, None]
    numbers = torch.arange(10, 10 + mask.numel()).reshape(mask.shape)
    tokens = numbers.masked_fill(mask, value)
    batch = numbers[..., None].expand(-1, -1, 3).masked_fill(mask[..., None], 0).float() if features else tokens
    found = padding_of(batch.transpose(0, 1) if time_first else batch)
    common = features or sum(run > 0 for run in runs) > len(runs) / 2
    if common and (found is not None or (max(runs) >= 2 and min(runs) < max(runs))):
        assert found is not None
        assert torch.equal(found.mask.t() if time_first else found.mask, mask)
        assert found.value == (0.0 if features else value)


@pytest.mark.parametrize(
    "tokens",
    [
        [[1, 2, 3, 4], [5, 6, 7, 8]],
        [[1, 2, 0, 0], [5, 6, 0, 0]],
        [[1, 0, 3, 0], [5, 0, 0, 0]],
        [[1, 2, 3, 0], [5, 6, 7, 8]],
        [[0, 0, 0, 0], [5, 6, 0, 0]],
    ],
)
def test_ends_of_one_length_or_with_the_same_value_elsewhere_are_no_padding(tokens: list[list[int]]) -> None:
    assert padding_of(torch.tensor(tokens)) is None


def test_targets_are_those_of_the_positions() -> None:
    padding = padding_of(torch.tensor([[1, 2, 3, 0, 0], [4, 5, 0, 0, 0]]))
    assert padding is not None
    target = torch.arange(10).reshape(2, 5)
    assert padded_targets(padding, target).padded.tolist() == [3, 4, 7, 8, 9]  # type: ignore[union-attr]
    assert padded_targets(padding, target.flatten()).padded.tolist() == [3, 4, 7, 8, 9]  # type: ignore[union-attr]
    shorter = torch.arange(8).reshape(2, 4)
    assert padded_targets(padding, shorter).padded.tolist() == [3, 6, 7]  # type: ignore[union-attr]
    assert padded_targets(padding, torch.arange(7)) is None
    assert padded_targets(padding, target.t()) is None


def test_targets_that_may_belong_in_two_ways_are_left() -> None:
    padding = padding_of(torch.tensor([[1, 2, 0], [4, 0, 0], [5, 6, 7]]))
    assert padding is not None
    assert padded_targets(padding, torch.arange(6)) is None
    assert padded_targets(padding, torch.arange(6).reshape(3, 2)).padded.tolist() == [3]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("tokens", "is_end"),
    [
        ([[3, 4, 5, 1, 1, 1], [6, 1, 1, 1, 1, 1], [3, 5, 6, 7, 1, 1]], True),
        ([[3, 4, 5, 1, 1, 1], [6, 1, 1, 1, 1, 1], [3, 5, 6, 7, 2, 1]], True),
        ([[3, 4, 5, 1, 1, 1], [6, 1, 1, 1, 1, 1], [3, 5, 6, 7, 4, 2]], False),
        ([[3, 4, 2, 1, 1, 1], [2, 1, 1, 1, 1, 1], [3, 5, 6, 2, 1, 1]], False),
    ],
    ids=["all", "the last target", "the longest does not", "a token before it does"],
)
@pytest.mark.parametrize("time_first", [False, True])
def test_the_filling_may_be_what_ends_each_sequence(tokens: list[list[int]], is_end: bool, time_first: bool) -> None:
    batch = torch.tensor(tokens)
    inputs, targets = batch[:, :-1], batch[:, 1:]
    padding = padding_of(inputs.t() if time_first else inputs)
    assert padding is not None
    rows = padded_targets(padding, targets.t() if time_first else targets)
    assert rows is not None
    assert rows.all_end_with(1) is is_end
    assert not rows.all_end_with(2)


def test_features_do_not_say_what_ends_them() -> None:
    features = torch.tensor([[1.0, 2.0, 3.0], [4.0, 0.0, 0.0]])[..., None]
    padding = padding_of(features)
    assert padding is not None
    rows = padded_targets(padding, torch.tensor([[1, 2, 3], [1, 0, 0]]))
    assert rows is not None
    assert not rows.all_end_with(0)


@pytest.mark.parametrize(
    ("longest", "targets", "is_end"),
    [([5, 6, 7, 1], None, True), ([5, 6, 7, 8], None, True), ([5, 6, 7, 1], [[0, 2, 0, 1], [0, 1, 1, 1]], False)],
    ids=["all", "the longest fills all positions", "other targets"],
)
def test_the_filling_may_be_what_ends_sequences_that_are_given_back(
    longest: list[int], targets: list[list[int]] | None, is_end: bool
) -> None:
    tokens = torch.tensor([longest, [3, 1, 1, 1]])
    padding = padding_of(tokens)
    assert padding is not None
    rows = padded_targets(padding, torch.tensor(targets) if targets else tokens)
    assert rows is not None
    assert rows.all_end_with(1) is is_end
