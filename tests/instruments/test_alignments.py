"""Losses that only bring outputs together, as tapes tell them, and how far these lie apart."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.events.losses import OutputsAligned
from autograd_doctor.instruments.losses.alignments import Alignments, comparisons
from autograd_doctor.tape import Value
from autograd_doctor.taping import RecordedValue
from tests.tapes import data, given, made
from tests.watching import watching


def output(*shape: int) -> Value:
    """What a module made of data."""
    value = made("linear", data(*(shape or (32, 6))), given(8, 6), shape=shape or (32, 8))
    assert value.by is not None
    value.by.module = "encoder"
    return value


def cosine(one: Value, other: Value) -> Value:
    return made("cosine_similarity", one, other, shape=(32,), dim=-1)


def distance(one: Value, other: Value) -> Value:
    return made("sum", made("square", made("sub", one, other, shape=(32, 8)), shape=(32, 8)), 1, shape=(32,))


def names(root: Value) -> list[str] | None:
    found = comparisons([root])
    return None if found is None else sorted(each.op.name for each in found)


def test_cosines_that_grow_and_distances_that_fall_bring_together() -> None:
    assert names(made("neg", made("mean", cosine(output(), output())))) == ["cosine_similarity"]
    assert names(made("mean", made("sub", 1, cosine(output(), output()), shape=(32,)))) == ["cosine_similarity"]
    assert names(made("mean", distance(output(), output()))) == ["sub"]
    assert names(made("mse_loss", output(), output())) == ["mse_loss"]
    several = made(
        "stack", made("mse_loss", output(), output()), made("mean", distance(output(), output())), shape=(2,)
    )
    assert names(made("sum", made("mul", several, 0.5, shape=(2,)))) == ["mse_loss", "sub"]


@pytest.mark.parametrize("sign", [1, -1])
def test_what_drives_apart_is_another_loss(sign: int) -> None:
    near, far = made("mean", distance(output(), output())), made("mean", distance(output(), output()))
    assert names(made("sub", near, far)) is None
    assert names(made("sum", made("stack", near, made("neg", far), shape=(2,)))) is None
    assert names(made("mean", made("mul", cosine(output(), output()), float(sign), shape=(32,)))) == (
        None if sign > 0 else ["cosine_similarity"]
    )


@pytest.mark.parametrize(
    ("span", "expected"), [((0.0, 1.0), ["sub"]), ((-1.0, 1.0), None), (None, None), ((0.0, 0.0), None)]
)
def test_labels_may_weigh_a_distance_if_they_have_no_sign(
    span: tuple[float, float] | None, expected: list[str] | None
) -> None:
    weighed = made("mul", distance(output(), output()), data(32, span=span), shape=(32,))
    assert names(made("mean", weighed)) == expected


def test_negatives_that_no_label_asks_for_are_no_part_of_it() -> None:
    margin = made("relu", made("sub", 1, distance(output(), output()), shape=(32,)), shape=(32,))
    positives = made("mul", distance(output(), output()), data(32, span=(1.0, 1.0)), shape=(32,))

    def both(span: tuple[float, float]) -> Value:
        negatives = made("mul", margin, data(32, span=span), shape=(32,))
        return made("mean", made("add", positives, negatives, shape=(32,)))

    assert names(both((0.0, 0.0))) == ["sub"]
    assert names(both((0.0, 1.0))) is None


def test_a_margin_between_distances_is_no_size() -> None:
    margin = made("add", made("sub", output(32, 9), output(32, 9), shape=(32, 9)), 0.2, shape=(32, 9))
    hinge = made("clamp", margin, shape=(32, 9), min=0)
    assert names(made("mean", made("square", hinge, shape=(32, 9)))) is None
    root = made("sqrt", made("add", made("clamp", distance(output(), output()), shape=(32,), min=0), 1e-8, shape=(32,)))
    assert names(made("mean", root)) == ["sub"]


def test_other_terms_are_another_loss_and_weight_decay_is_none() -> None:
    aligned = made("mse_loss", output(), output())
    weight = RecordedValue((8, 6), "float", True, is_parameter=True, values=1, connected=1)
    decay = made("sum", made("square", weight, shape=(8, 6)))
    assert names(made("add", aligned, made("mul", decay, 1e-4))) == ["mse_loss"]
    assert names(made("add", aligned, made("mse_loss", output(), data(32, 8)))) is None
    drawn = made("linear", made("randn", 32, 6, shape=(32, 6)), weight, shape=(32, 8))
    assert names(made("add", aligned, made("relu", made("mean", made("var", drawn, 0, shape=(8,)))))) is None


def test_what_is_no_output_of_modules_for_each_sample_is_not_compared() -> None:
    assert names(made("mse_loss", given(32, 8), given(32, 8))) is None
    assert names(made("mse_loss", output(32, 1), output(32, 1))) is None
    slope = made("grad", output(), output(), shape=(32, 8))
    assert names(made("mse_loss", slope, output())) is None
    expected = made("add", data(32, 8), made("mul", output(), 0.9, shape=(32, 8)), shape=(32, 8))
    assert names(made("mse_loss", output(), expected)) is None
    one = output()
    assert names(made("mse_loss", one, made("neg", one, shape=(32, 8)))) is None


class Views(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(6, 4)
        self.head = nn.Linear(4, 1)


def train(loss_of: Any, model: Views, steps: int = 6) -> list[OutputsAligned]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watching(Alignments) as recorded:
        for _ in range(steps):
            optimizer.zero_grad()
            loss_of(model)
            optimizer.step()
    return list(recorded.of(OutputsAligned))


def aligned(model: Views) -> None:
    x = torch.randn(16, 6)
    one, other = model.encoder(x), model.encoder(x + 0.1 * torch.randn(16, 6))
    nn.functional.mse_loss(one, other).backward()


def test_what_is_measured() -> None:
    torch.manual_seed(0)
    event = train(aligned, Views())[0]
    assert (event.step, event.comparison, event.by_angle) == (1, "mse_loss", False)
    assert (event.stopped, event.alone) == (False, True)
    assert [0.5 < spread < 2 for spread in event.spreads] == [True, True]
    assert [1.5 < each < 3.5 for each in event.inputs] == [True, True]
    assert event.apart[0] < 0.3 * event.spreads[0]


def test_another_loss_of_the_same_parameters_is_told() -> None:
    def both(model: Views) -> None:
        aligned(model)
        model.head(model.encoder(torch.randn(16, 6))).square().mean().backward()

    torch.manual_seed(0)
    assert not any(event.alone for event in train(both, Views()))


def test_a_side_without_a_graph_is_told() -> None:
    def stopped(model: Views) -> None:
        x = torch.randn(16, 6)
        with torch.no_grad():
            other = model.encoder(x)
        (-nn.functional.cosine_similarity(model.encoder(x + 0.1), other).mean()).backward()

    torch.manual_seed(0)
    events = train(stopped, Views())
    assert {(event.stopped, event.by_angle) for event in events} == {(True, True)}
    assert all(0 < spread <= 1 for event in events for spread in event.spreads)
