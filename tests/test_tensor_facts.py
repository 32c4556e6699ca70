"""What is said about tensors, as numbers."""

from __future__ import annotations

import math

import pytest
import torch

from autograd_doctor.reading.tensor_facts import bad_rows, describe, few_values, fingerprints, norms, readable

DTYPES = [torch.float8_e4m3fn, torch.bfloat16, torch.float16, torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_fingerprints_tell_round_numbers_and_signs_apart(dtype):
    values = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, -0.5, -1.0, -2.0, -4.0]
    found = {fingerprints([torch.full((3,), value).to(dtype)])[0] for value in values}
    assert len(found) == len(values)


def test_fingerprints_see_changes_that_cancel():
    before, after = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.5, 1.5, 3.0])
    assert fingerprints([before]) == fingerprints([before.clone()])
    assert fingerprints([before]) != fingerprints([after])
    assert fingerprints([torch.tensor([1 + 2j])]) != fingerprints([torch.tensor([1 - 2j])])


@pytest.mark.parametrize("dtype", [*DTYPES, torch.complex64])
def test_what_lies_at_the_bounds_of_a_box_has_few_values(dtype: torch.dtype) -> None:
    assert few_values(torch.tensor([0.0, 1.0, 1.0, 0.0]).to(dtype))
    assert not few_values(torch.tensor([0.0, 1.0, 0.5]).to(dtype))


def test_norms_of_dense_and_sparse_tensors_of_any_dtype():
    tensors = [torch.full((4,), 2.0), torch.eye(4).to_sparse(), torch.full((4,), 3.0, dtype=torch.float64)]
    assert norms(tensors) == [4.0, 2.0, 6.0]
    assert norms([]) == []


def test_rows_with_bad_values():
    values = torch.zeros(12, 3)
    values[2:, 1] = math.nan
    assert bad_rows(values) == [2, 3, 4, 5, 6, 7, 8, 9]
    assert bad_rows(values, limit=2) == [2, 3]
    assert bad_rows(torch.tensor(math.nan)) == []


def test_ranges_are_those_of_the_finite_values():
    facts = describe(torch.tensor([math.nan, -1.0, 4.0, math.inf, -math.inf]), name="x", operation="mul")
    assert (facts.low, facts.high, facts.nan, facts.inf, facts.numel, facts.shape) == (-1.0, 4.0, 1, 2, 5, [5])
    assert (facts.name, facts.operation, facts.dtype, facts.device) == ("x", "mul", "float32", "cpu")
    one = describe(torch.tensor([2.5]))
    assert (one.low, one.high, one.nan, one.inf) == (2.5, 2.5, 0, 0)
    for value, counts in ((math.nan, (1, 0)), (math.inf, (0, 1))):
        bad = describe(torch.tensor(value))
        assert ((bad.low, bad.high), (bad.nan, bad.inf)) == ((None, None), counts)
    assert (describe(torch.tensor([math.nan] * 2)).low, describe(torch.empty(0)).low) == (None, None)
    assert describe(torch.tensor([1, 5])).high == 5.0


@pytest.mark.parametrize(("values", "ranges"), [([1, 5], True), ([math.nan, math.inf], False)])
def test_where_nothing_bad_was_looked_for_nothing_is_counted(values: list[float], ranges: bool) -> None:
    facts = describe(torch.tensor(values), ranges=ranges)
    assert (facts.nan, facts.inf) == (0, 0)


def test_no_ranges_are_told_where_none_are_asked_for() -> None:
    assert describe(torch.ones(2), ranges=False).low is None


@pytest.mark.parametrize(
    "tensor",
    [
        torch.eye(2).to_sparse(),
        torch.ones(2, device="meta"),
        torch.ones(2, dtype=torch.complex64),
    ],
    ids=["sparse", "meta", "complex"],
)
def test_what_cannot_simply_be_read(tensor):
    assert not readable(tensor)
    assert describe(tensor).low is None
    assert readable(torch.ones(2))
