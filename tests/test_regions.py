"""Which elements tensors share: as marking each element of the storage by hand says it."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from autograd_doctor.reading.regions import indexed, region_of

SLICES = st.builds(slice, st.integers(0, 6), st.integers(0, 6), st.integers(1, 3))
INDICES = st.tuples(st.one_of(st.integers(0, 5), SLICES), st.one_of(st.integers(0, 5), SLICES))


def by_hand(whole: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> bool:
    one.fill_(1.0)
    seen = bool((other == 1.0).any())
    whole.zero_()
    return seen


@given(INDICES, INDICES, st.booleans())
def test_two_views_overlap_where_a_write_to_one_shows_in_the_other(one: object, other: object, turned: bool) -> None:
    whole = torch.zeros(6, 6)
    first, second = indexed(whole, one), indexed(whole.T if turned else whole, other)
    a, b = region_of(first), region_of(second)
    assert a is not None
    assert b is not None
    assert a.overlaps(b) == b.overlaps(a) == by_hand(whole, first, second)


def test_of_different_storages_and_types() -> None:
    whole = torch.zeros(8)
    here, elsewhere, as_bytes = region_of(whole[:4]), region_of(torch.zeros(8)), region_of(whole.view(torch.uint8)[:3])
    assert here is not None
    assert elsewhere is not None
    assert as_bytes is not None
    assert not here.overlaps(elsewhere)
    assert here.overlaps(as_bytes)
    assert region_of(torch.zeros(3, device="meta")) is None


def test_an_index_of_numbers_in_a_tensor_may_write_anywhere() -> None:
    whole = torch.zeros(6, 6)
    assert indexed(whole, torch.tensor([1, 2])) is whole
    assert indexed(whole, (slice(None), [0])) is whole
    assert indexed(whole, True) is whole
    assert indexed(whole, (..., 0)).shape == (6,)
