"""Samples that come again, and whether they have the label that they had."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch

from autograd_doctor.reading.kept_labels import KeptLabels, fit

SAMPLES, BATCH = 200, 20
ENOUGH = {"before": 32, "again": 24, "steps": 4}

Labels = Callable[[int, int], int]
"""The label of a sample in an epoch."""


def after(labels: Labels, epochs: int = 8, *, fits: float | None = None) -> KeptLabels:
    """fits: how near predictions are to their targets."""
    kept, order = KeptLabels(), random.Random(0)
    step = 0
    for epoch in range(epochs):
        rows = order.sample(range(SAMPLES), SAMPLES)
        for start in range(0, SAMPLES, BATCH):
            batch = rows[start : start + BATCH]
            targets = [labels(epoch, row) for row in batch]
            kept.met(step, batch, targets)
            kept.anew.follow(batch, torch.tensor(targets, dtype=torch.float32))
            if fits is not None:
                kept.anew.fits(fits)
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


def is_anew(labels: Labels, fits: float | None = 0.0) -> bool:
    kept = after(labels, fits=fits)
    return kept.may_be_anew and kept.anew.is_found(chance=kept.chance, steps=6)


@pytest.mark.parametrize("classes", [2, 5, SAMPLES])
def test_labels_that_never_belonged_to_their_samples(classes: int) -> None:
    assert is_anew(shuffled(classes, since=0))
    assert not is_anew(shuffled(classes, since=0), fits=1.0), "predictions go with their targets"
    assert not is_anew(shuffled(classes, since=0), fits=None), "nobody knows whether they do"


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(lambda epoch, row: row % 5, id="their own"),
        pytest.param(shuffled(SAMPLES, since=3), id="lost later"),
        pytest.param(shuffled(5, since=0, once=True), id="permuted once"),
        pytest.param(lambda epoch, row: 1, id="one for all"),
        pytest.param(lambda epoch, row: row + SAMPLES * epoch, id="new ones"),
        pytest.param(lambda epoch, row: (row + epoch) % SAMPLES, id="of the next sample"),
        pytest.param(lambda epoch, row: random.Random(10).sample(range(4), 4)[(row + epoch) % 4], id="new numbers"),
        pytest.param(lambda epoch, row: shuffled(100, since=0)(epoch, row) + 100 * (row % 2), id="of the same class"),
    ],
)
def test_labels_that_change_in_a_way_of_their_own(labels: Labels) -> None:
    assert not is_anew(labels)


def test_numbers_of_the_rows_of_a_batch_are_no_labels() -> None:
    kept, order = KeptLabels(), random.Random(0)
    for step in range(200):
        kept.met(step, order.sample(range(SAMPLES), BATCH), random.Random(step).sample(range(BATCH), BATCH))
        kept.anew.fits(0.0)
    assert kept.anew.steps > 100
    assert not kept.anew.is_found(chance=kept.chance, steps=6)


def test_samples_that_come_twice_in_a_batch_with_two_labels_are_none() -> None:
    kept, order = KeptLabels(), random.Random(0)
    for step in range(200):
        kept.met(step, order.choices(range(60), k=BATCH), order.choices(range(5), k=BATCH))
        kept.anew.fits(0.0)
    assert kept.anew.again > 1000
    assert not kept.anew.is_found(chance=kept.chance, steps=6)


def test_how_near_predictions_are_to_their_targets() -> None:
    torch.manual_seed(0)
    targets, labels = torch.randn(64, 3), torch.arange(64) % 4
    scores, noise = torch.eye(4)[labels], torch.randn(64, 4)
    for said, wanted in ((targets + torch.randn(64, 3), targets), (scores + noise, labels)):
        assert (near := fit(said, wanted)) is not None
        assert near > 4
        assert (far := fit(said, wanted[torch.randperm(64)])) is not None
        assert abs(far) < 3
    assert fit(torch.zeros(64, 3), targets) is None, "all the same"
    assert fit(noise, targets) is None, "of another shape"
    assert fit(noise.to(torch.complex64), noise) is None
