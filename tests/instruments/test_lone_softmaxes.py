"""Softmaxes over a single element."""

from __future__ import annotations

import torch
from torch.nn import functional

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


def test_classes_and_keys_are_counted_as_well() -> None:
    with watching(LoneSoftmaxes) as recorded:
        for classes in (1, 1, 2):
            scores = torch.randn(4, classes, requires_grad=True)
            functional.cross_entropy(scores, torch.zeros(4, dtype=torch.long))
        for keys in (1, 3):
            query, key = torch.randn(2, 5, 4, requires_grad=True), torch.randn(2, keys, 4)
            functional.scaled_dot_product_attention(query, key, key)
    assert [(event.operation, event.varies) for event in recorded.of(SoftmaxOfOne)] == [
        ("cross_entropy", False),
        ("cross_entropy", True),
        ("scaled_dot_product_attention", False),
        ("scaled_dot_product_attention", True),
    ]


def test_what_needs_no_gradient_is_left_alone():
    assert told((4, 1), learns=False) == []
