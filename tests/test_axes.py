"""What axes stand for after views, and which views mix them."""

from __future__ import annotations

import pytest
import torch

from autograd_doctor.reading import axes
from autograd_doctor.reading.axes import Axes, Role


def of(*sizes: int, **roles: int) -> Axes:
    """Axes of these sizes, and the positions of those that have a role."""
    known: dict[int, Role] = {position: role for role, position in roles.items()}  # type: ignore[misc]
    return tuple(axes.fresh(size, known.get(position, "")) for position, size in enumerate(sizes))


def test_axes_that_are_joined_come_apart_again() -> None:
    before = of(4, 6, 8)
    joined = axes.reshaped(before, (24, 8))
    assert joined == ((*before[0], *before[1]), before[2])
    assert axes.reshaped(joined, (4, 6, 8)) == before


def test_an_axis_that_is_cut_keeps_the_others_whole() -> None:
    before = of(4, 6, 8)
    heads = axes.reshaped(before, (4, 6, 2, 4))
    assert heads[:2] == before[:2]
    assert [atom.size for axis in heads[2:] for atom in axis] == [2, 4]


def test_an_axis_of_one_is_nothing() -> None:
    before = of(4, 1, 8)
    assert axes.reshaped(before, (1, 4, 8, 1))[1:3] == (before[0], before[2])


def test_turned_views_are_told_by_their_strides() -> None:
    base = torch.zeros(4, 6, 8)
    before = of(4, 6, 8)
    assert axes.moved(before, base, base.permute(2, 0, 1)) == (before[2], before[0], before[1])
    kept = axes.moved(before, base, base[:, -1])
    assert kept == (before[0], before[2])
    part = axes.moved(before, base, base[:2])
    assert part is not None
    assert part[0] != before[0]
    assert part[1:] == before[1:]
    assert axes.moved(before, base, base.permute(2, 0, 1).contiguous()) is None
    assert axes.moved(before, base.expand(4, 6, 8).contiguous()[:, :1].expand(4, 6, 8), base) is None


@pytest.mark.parametrize(
    ("before", "shape", "how"),
    [
        (of(5, 12, 3), (12, 5, 3), "permuted"),
        (of(6, 3, 4, 4), (6, 4, 4, 3), "permuted"),
        (of(2, 12, 8, samples=1), (12, 16), "samples"),
        (of(2, 4, 8, samples=1), (4, 16), "samples"),
        (of(6, 3, 8, 8, channels=1), (384, 3), "channels"),
        (of(6, 4, 8, 8, channels=1), (384, 4), "channels"),
    ],
)
def test_axes_of_a_size_without_its_values_are_told(before: Axes, shape: tuple[int, ...], how: str) -> None:
    mixture = axes.mixture(before, [axis[0].size for axis in before], shape)
    assert mixture is not None
    assert mixture.how == how


@pytest.mark.parametrize(
    ("before", "shape"),
    [
        pytest.param(of(12, 5, 3, samples=0), (12, 15), id="flattened"),
        pytest.param(of(4, 12, 8, samples=1), (2, 2, 12, 8), id="directions"),
        pytest.param(of(2, 12, 8, samples=1), (24, 8), id="joined"),
        pytest.param(of(8, 6, 64, samples=0), (48, 8, 8), id="as many heads as samples"),
        pytest.param(of(3, 36, 6, 6, channels=1), (108, 36), id="as many pixels as channels"),
        pytest.param(of(3, 36, 6, 6, channels=1), (3, 36, 36), id="whole maps"),
        pytest.param(of(3, 1, 8, 8), (3, 8, 8, 1), id="an axis of one moved"),
        pytest.param(of(5, 5), (5, 5), id="the same shape"),
        pytest.param(of(6), (2, 3), id="one axis"),
    ],
)
def test_views_that_keep_axes_together_are_right(before: Axes, shape: tuple[int, ...]) -> None:
    assert axes.mixture(before, [axis[0].size for axis in before], shape) is None
