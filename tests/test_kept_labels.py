"""Samples that come again, and whether they have the label that they had."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from autograd_doctor.reading.kept_labels import KeptLabels

SAMPLES, BATCH = 200, 20
ENOUGH = {"before": 32, "again": 24, "steps": 4}

Labels = Callable[[int, int], int]
"""The label of a sample in an epoch."""


def after(labels: Labels, epochs: int = 8) -> KeptLabels:
    kept, order = KeptLabels(), random.Random(0)
    step = 0
    for epoch in range(epochs):
        rows = order.sample(range(SAMPLES), SAMPLES)
        for start in range(0, SAMPLES, BATCH):
            batch = rows[start : start + BATCH]
            kept.met(step, batch, [labels(epoch, row) for row in batch])
            step += 1
    return kept


def shuffled(classes: int, since: int, *, once: bool = False) -> Labels:
    """Labels that are permuted from some epoch on."""

    def labels(epoch: int, row: int) -> int:
        if epoch < since:
            return row % classes
        rows = list(range(SAMPLES))
        random.Random(1 if once else epoch).shuffle(rows)
        return rows[row] % classes

    return labels


@pytest.mark.parametrize("classes", [2, 5, SAMPLES])
def test_labels_that_come_apart_from_their_samples(classes: int) -> None:
    kept = after(shuffled(classes, since=3))
    assert kept.is_lost(**ENOUGH)
    assert (kept.since, kept.before) == (30, 2 * SAMPLES)
    assert kept.chance == pytest.approx(1 / classes)


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(lambda epoch, row: row % 5, id="never"),
        pytest.param(shuffled(5, since=0), id="from the start"),
        pytest.param(shuffled(5, since=3, once=True), id="once, for another task"),
        pytest.param(lambda epoch, row: row % 5 + 5 * (epoch > 2), id="to labels that there were not"),
        pytest.param(lambda epoch, row: (row + (epoch > 2) * (row % 10 == 0)) % 5, id="a few"),
        pytest.param(lambda epoch, row: shuffled(5, since=0)(epoch, row) if epoch % 2 else row % 5, id="now and then"),
    ],
)
def test_labels_that_do_not(labels: Labels) -> None:
    assert not after(labels).is_lost(**ENOUGH)


@pytest.mark.parametrize("share", [0.1, 0.3])
@pytest.mark.parametrize("since", [0, 3])
def test_noise_on_labels_is_none(share: float, since: int) -> None:
    noise = random.Random(2)
    labels = after(lambda epoch, row: (row + (epoch >= since and noise.random() < share)) % 2)
    assert not labels.is_lost(**ENOUGH)


def test_samples_that_come_again_with_another_label() -> None:
    assert after(lambda epoch, row: row % 2).others == 0
    assert after(lambda epoch, row: row % 2 if epoch < 3 else 0).others == SAMPLES // 2


def test_samples_that_never_come_again_tell_nothing() -> None:
    kept = KeptLabels()
    for step in range(100):
        kept.met(step, range(step * 10, step * 10 + 10), [0, 1] * 5)
    assert (kept.before, kept.since) == (0, None)
    assert not kept.is_lost(before=0, again=0, steps=0)
