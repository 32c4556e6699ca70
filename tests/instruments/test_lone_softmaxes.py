"""Softmaxes over a single element."""

from __future__ import annotations

import torch

from autograd_doctor.events.losses import SoftmaxOfOne
from autograd_doctor.instruments.losses.lone_softmaxes import LoneSoftmaxes
from tests.watching import watching


def told(*shapes: tuple[int, ...], dim: int = 1, learns: bool = True) -> list[tuple[list[int], int, bool]]:
    with watching(LoneSoftmaxes) as recorded:
        for shape in shapes:
            torch.randn(shape, requires_grad=learns).softmax(dim)
    return [(event.shape, event.dim, event.varies) for event in recorded.of(SoftmaxOfOne)]


def test_one_element_is_told_once():
    assert told((4, 1), (5, 1)) == [([4, 1], 1, False)]
    assert told((4, 3, 1), dim=-1) == [([4, 3, 1], 2, False)]


def test_a_line_that_sees_several_elements_as_well():
    assert told((4, 1), (4, 2), (4, 1), (4, 3)) == [([4, 1], 1, False), ([4, 2], 1, True)]
    assert told((4, 2), (4, 1)) == []


def test_what_needs_no_gradient_is_left_alone():
    assert told((4, 1), learns=False) == []
