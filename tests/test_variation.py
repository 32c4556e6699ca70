"""Batches whose samples differ at first, and are all the same from some step on."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from autograd_doctor.reading.variation import Variation


def after(*batches: Hashable, samples: int = 16, origins: tuple[Hashable, ...] = ()) -> Variation[Hashable]:
    """What is known when so many batches have come, one in a step; None for those whose samples differ."""
    found: Variation[Hashable] = Variation()
    for step, one in enumerate(batches):
        found.look(step, one, samples, origins[step] if origins else "set")
    return found


def test_samples_that_differ_no_more() -> None:
    found = after(None, None, None, "x", "x")
    assert found.has_ended
    assert found.same_origin
    assert (found.varied, found.varied_at, found.since, found.steps, found.samples) == (3, 2, 3, 2, 32)


@pytest.mark.parametrize(
    "batches",
    [(None, None), ("x", "x"), (None, "x", None), (None, "x", None, "x"), ("x", "y")],
    ids=["never", "from the start", "once", "now and then", "another one each time"],
)
def test_samples_that_do_otherwise(batches: tuple[Hashable, ...]) -> None:
    found = after(*batches)
    assert not found.has_ended
    assert not found.has_narrowed


def test_batches_of_one_sample_each_after_such_that_differ() -> None:
    found = after(None, None, "x", "y", "y")
    assert found.has_narrowed
    assert not found.has_ended
    assert (found.varied, found.since, found.steps, found.samples) == (2, 2, 3, 48)


def test_small_batches_tell_nothing() -> None:
    assert not after(None, None, "x", "x", samples=7).has_ended


def test_two_looks_in_one_step_are_one_step() -> None:
    found = after(None)
    found.look(1, "x", 8, "set")
    found.look(1, "x", 8, "set")
    assert (found.steps, found.samples) == (1, 16)


@pytest.mark.parametrize(
    ("origins", "same"),
    [(("a", "b", "a"), True), (("a", "a", "b"), False), (("a", "b", None), False), ((None, None, "a"), False)],
)
def test_where_they_come_from(origins: tuple[Hashable, ...], same: bool) -> None:
    assert after(None, None, "x", origins=origins).same_origin is same
