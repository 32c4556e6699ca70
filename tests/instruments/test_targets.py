"""What targets are, what masks leave of a loss, and how inputs and targets belong together."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.data import MaskedOut, PairsMisaligned, RowsNeverDrawn, TargetsSeen
from autograd_doctor.instruments.data.draws import Draws
from autograd_doctor.instruments.data.masks import Masks
from autograd_doctor.instruments.data.pairing import Pairing
from autograd_doctor.instruments.data.targets import Targets
from tests.inventing import Invented, inventing

WEIGHT = nn.Parameter(torch.ones(1))


def stepped(run: Invented) -> None:
    run.train(SGD([WEIGHT], lr=0.1))


def lost(run: Invented, target: torch.Tensor, name: str = "cross_entropy", **more: Any) -> None:
    """A loss of these targets."""
    logits = WEIGHT * torch.ones(len(target), 3)
    run.operated(name, logits.sum(), logits, target, **more)


def seen(run: Invented) -> TargetsSeen:
    run.find(Targets).finish()
    return run.of(TargetsSeen)[-1]


def test_classes_and_extremes():
    with inventing(Targets) as run:
        for _ in range(3):
            lost(run, torch.tensor([0, 2, 2, -100]))
            stepped(run)
        event = seen(run)
    assert (event.steps, event.elements, event.classes, event.class_count) == (3, 12, {2: 6, 0: 3}, 2)
    assert (event.low, event.high, event.logits, event.all_ignored, event.ignore_index) == (-100, 2, 3, 0, -100)
    assert (event.weighted, event.per_sample, event.source) == (False, True, "")


def test_steps_without_any_target_that_counts():
    with inventing(Targets) as run:
        for step in range(4):
            lost(run, torch.tensor([7, 7]), ignore_index=7)
            if step == 3:
                lost(run, torch.tensor([7, 1]), ignore_index=7)
            stepped(run)
        assert seen(run).all_ignored == 3


@pytest.mark.parametrize(
    "more", [{"weight": torch.ones(3)}, {"pos_weight": torch.ones(1)}, {"reduction": "none"}], ids=["w", "p", "n"]
)
def test_weights(more):
    with inventing(Targets) as run:
        lost(run, torch.tensor([0, 1]), **more)
        stepped(run)
        assert seen(run).weighted


def test_numbers_have_no_classes():
    with inventing(Targets) as run:
        lost(run, torch.tensor([0.0, 2.5]), "mse_loss")
        stepped(run)
        event = seen(run)
    assert (event.classes, event.low, event.high) == ({}, 0.0, 2.5)


def test_slices_that_follow_one_another_are_in_order():
    with inventing(Targets) as run:
        labels = torch.arange(4).repeat_interleave(10).clone()
        for step in range(4):
            lost(run, labels[10 * step : 10 * step + 10])
            stepped(run)
        event = seen(run)
    assert (event.source, event.rows, event.in_order) == ("chosen", 40, True)
    assert event.clustered == pytest.approx(1.0)


def test_slices_at_random_places_are_not():
    with inventing(Targets) as run:
        labels = torch.arange(4).repeat_interleave(10).clone()
        for begin in (20, 0, 30, 10):
            lost(run, labels[begin : begin + 10])
            stepped(run)
        assert not seen(run).in_order


def test_losses_that_teach_nothing_are_not_looked_at():
    with inventing(Targets) as run:
        logits = torch.ones(2, 3)
        run.operated("cross_entropy", logits.sum(), logits, torch.tensor([0, 1]))
        stepped(run)
        run.find(Targets).finish()
        assert run.of(TargetsSeen) == []


# -------------------------------------------------------------------------------------------------------------- masks


@pytest.mark.parametrize(("left", "reduced", "told"), [(0, True, [(3, 3)]), (0, False, []), (1, True, [])])
def test_masks_that_leave_nothing_to_a_loss(left, reduced, told):
    with inventing(Masks) as run:
        for _ in range(3):
            scores, mask = WEIGHT * torch.ones(4), torch.arange(4) < left
            part = run.operated("__getitem__", scores[mask], scores, mask)
            if reduced:
                run.operated("mean", part.mean(), part)
            stepped(run)
        run.find(Masks).finish()
        assert [(event.empty, event.steps) for event in run.of(MaskedOut)] == told


def weighted(mask: torch.Tensor, how: str) -> list[tuple[int, int, list[int]]]:
    with inventing(Masks) as run:
        for _ in range(3):
            scores, wanted = WEIGHT * torch.ones(4, 2), torch.zeros(4, 2)
            if how == "a function":
                each = run.operated("mse_loss", (scores - wanted).square(), scores, wanted, reduction="none")
            else:
                error = run.operated("sub", scores - wanted, scores, wanted)
                each = run.operated("square", error.square(), error)
            rows = run.operated("mean", each.mean(1), each) if how != "no loss" else scores[:, 0]
            left = run.operated("mul", rows * mask, mask, rows)
            run.operated("sum", left.sum(), left)
            stepped(run)
        run.find(Masks).finish()
        return [(event.empty, event.steps, event.shape) for event in run.of(MaskedOut)]


@pytest.mark.parametrize("how", ["a function", "by hand"])
def test_zeros_that_losses_are_multiplied_by(how):
    assert weighted(torch.zeros(4), how) == [(3, 3, [4])]


def test_products_that_leave_something_or_may_be_switched_off():
    assert weighted(torch.tensor([0.0, 0, 0, 1]), "by hand") == []
    assert weighted(torch.zeros(1), "by hand") == []
    assert weighted(torch.zeros(4), "no loss") == []


# -------------------------------------------------------------------------------------------------------------- pairs


def paired(run: Invented, how: str) -> list[tuple[int, int]]:
    model, x, y = nn.Linear(2, 1), torch.rand(30, 2), torch.rand(30, 1)
    for _ in range(4):
        rows = torch.randperm(30)
        others = rows.flip(0) if how == "other rows" else rows
        inputs = run.operated("__getitem__", x[rows], x, rows)
        goals = y if how == "as they are" else run.operated("__getitem__", y[others], y, others)
        output = model(inputs)
        with run.calling(model, inputs, output=output):
            pass
        run.operated("mse_loss", nn.functional.mse_loss(output, goals), output, goals)
        stepped(run)
    run.find(Pairing).finish()
    return [(event.steps, event.of) for event in run.of(PairsMisaligned)]


def test_pairs():
    for how, told in (("the same rows", []), ("other rows", [(4, 4)]), ("as they are", [(3, 3)])):
        with inventing(Pairing) as run:
            assert paired(run, how) == told, how


def paired_after_a_permutation(run: Invented, how: str) -> list[PairsMisaligned]:
    model, x, y = nn.Linear(2, 1), torch.rand(30, 2), torch.rand(30, 1)
    order = run.operated("randperm", torch.randperm(30), 30)
    xs = run.operated("__getitem__", x[order], x, order)
    ys = run.operated("__getitem__", y[order], y, order) if how == "both" else y
    if how == "made later":
        ys = run.operated("flip", y.flip(0), y)
    if how == "neither":
        xs = x
    if how == "the other side":
        xs, ys = x, run.operated("__getitem__", y[order], y, order)
    for begin in range(0, 20, 5):
        rows = slice(begin, begin + 5)
        inputs = run.operated("__getitem__", xs[rows], xs, rows)
        if how == "mixed":
            inputs = run.operated("add", inputs + x[rows], inputs, run.operated("__getitem__", x[rows], x, rows))
        others = slice(begin + 5, begin + 10) if how == "other rows" else rows
        goals = run.operated("__getitem__", ys[others], ys, others)
        output = model(inputs)
        with run.calling(model, inputs, *([x[rows]] if how == "two inputs" else []), output=output):
            pass
        run.operated("mse_loss", nn.functional.mse_loss(output, goals), output, goals)
        stepped(run)
    run.find(Pairing).finish()
    return run.of(PairsMisaligned)


@pytest.mark.parametrize("how", ["both", "made later", "mixed", "other rows", "two inputs"])
def test_slices_that_belong_together_or_might(how):
    with inventing(Pairing) as run:
        assert paired_after_a_permutation(run, how) == []


@pytest.mark.parametrize("how", ["one side", "the other side"])
def test_slices_of_a_tensor_that_was_permuted_and_of_one_that_was_not(how):
    with inventing(Pairing) as run:
        (event,) = paired_after_a_permutation(run, how)
    assert (event.rows, event.steps, event.of) == (30, 4, 4)
    assert (event.input_at is None, event.target_at is None) == ((False, True) if how == "one side" else (True, False))


@pytest.mark.parametrize("before", ["neither", "one side"])
def test_a_model_that_learns_from_permuted_targets_beside_another(before):
    """At the same line: all of them, or a null model after the true one."""
    with inventing(Pairing) as run:
        paired_after_a_permutation(run, before)
        event = paired_after_a_permutation(run, "the other side")[-1]
    assert (event.steps, event.control) == ((4, True) if before == "neither" else (8, False))


# -------------------------------------------------------------------------------------------------------------- draws


@pytest.mark.parametrize(
    ("case", "told"), [("", [(0, 5, 30)]), ("all", []), ("rest evaluated", []), ("unknown evaluated", [])]
)
def test_ranges_that_leave_rows_out(case, told):
    with inventing(Draws) as run:
        model, x = nn.Linear(2, 1), torch.rand(30, 2)
        for _ in range(3):
            high = 30 if case == "all" else 5
            rows = run.operated("randint", torch.randint(high, (8,)), high, (8,))
            run.operated("__getitem__", x[rows], x, rows)
            stepped(run)
        if "evaluated" in case:
            with run.calling(model, x[5:] if case == "rest evaluated" else torch.rand(4, 2), grad_enabled=False):
                pass
        run.find(Draws).finish()
        assert [(event.low, event.high, event.rows) for event in run.of(RowsNeverDrawn)] == told
