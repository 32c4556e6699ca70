"""Units that nothing activates, and values at the limits of squashing functions."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.numerics import SaturationMeasured, UnitsCounted
from autograd_doctor.instruments.numerics import activations as module
from autograd_doctor.instruments.numerics.activations import LAST_LOOKS, Activations
from autograd_doctor.signals.attention import Attention
from tests.inventing import Invented, inventing


class Model:
    """A layer whose activations a test chooses by its bias: all of its weights are zero."""

    def __init__(self, run: Invented, units: int = 5) -> None:
        self.run = run
        self.weight = nn.Parameter(torch.zeros(units, 2))
        self.optimizer = SGD([self.weight], lr=0.0)
        run.signals.optimizers.built.send(self.optimizer)

    def before(self, *bias: float, samples: int = 3) -> torch.Tensor:
        return torch.ones(samples, 2) @ self.weight.T + torch.tensor(bias)

    def relu(self, *bias: float, samples: int = 3) -> torch.Tensor:
        hidden = self.before(*bias, samples=samples)
        output: torch.Tensor = self.run.operated("relu", hidden.relu(), hidden, self.weight)
        self.feed(output)
        return output

    def feed(self, output: torch.Tensor) -> None:
        """Another layer takes it in, and what that gives out goes backward."""
        self.run.ran_backward((output.flatten()[:2] @ nn.Parameter(torch.ones(2, 2))).sum())

    def squash(self, operation: str, *bias: float) -> torch.Tensor:
        hidden = self.before(*bias)
        arguments = (1,) if operation == "softmax" else ()
        output: torch.Tensor = self.run.operated(operation, getattr(hidden, operation)(*arguments), hidden)
        return output

    def step(self) -> None:
        with self.run.backward(torch.ones(())):
            pass
        with self.run.step(self.optimizer):
            pass
        self.run.attend(Attention.CLOSE)


def counted(run: Invented) -> list[tuple[int, int, int, int]]:
    return [(each.silent, each.lost, each.looks, each.samples) for each in run.of(UnitsCounted)]


# ------------------------------------------------------------------------------------------------------- rectifiers


def test_units_that_no_sample_activates_are_counted_over_some_steps() -> None:
    with inventing(Activations) as run:
        model = Model(run)
        for _ in range(LAST_LOOKS - 1):
            model.relu(1.0, -1.0, -1.0, 2.0, -0.5)
            model.step()
        assert counted(run) == []
        model.relu(1.0, -1.0, -1.0, 2.0, -0.5)
        model.step()
        (event,) = run.of(UnitsCounted)
        assert (event.units, event.silent, event.lost, event.looks, event.samples) == (5, 3, 0, 3, 9)
        assert (event.operation, event.parameters, event.step) == ("relu", [run.number(model.weight)], 3)
        assert event.location is not None


def test_a_layer_that_is_told_is_told_again_when_it_has_changed() -> None:
    with inventing(Activations) as run:
        model = Model(run)
        for bias in [-1.0] * 4 + [1.0, -1.0, -1.0, -1.0]:
            model.relu(1.0, -1.0, -1.0, 2.0, bias)
            model.step()
        assert [each[:3] for each in counted(run)] == [(3, 0, 3), (2, 0, 5), (2, 1, 8)]


def test_samples_of_several_batches_in_one_step_are_one_look() -> None:
    with inventing(Activations) as run:
        model = Model(run)
        for bias in (1.0, -1.0, -1.0):
            model.relu(-1.0, 1.0, 1.0, 1.0, bias)
            model.relu(-1.0, 1.0, 1.0, 1.0, -1.0, samples=4)
            model.step()
        assert counted(run) == [(1, 0, 3, 21)]


def test_a_layer_that_rests_is_not_told_of() -> None:
    with inventing(Activations) as run:
        model, other = Model(run), Model(run)
        for step in range(6):
            model.relu(-1.0, 1.0, 1.0, 1.0, 1.0)
            if step < 2:
                other.relu(-1.0, -1.0, 1.0, 1.0, 1.0)
            model.step()
        assert counted(run) == [(1, 0, 3, 9)]


def test_layers_are_told_apart_by_their_weights() -> None:
    with inventing(Activations) as run:
        first, second = Model(run), Model(run)
        for _ in range(3):
            first.relu(-1.0, 1.0, 1.0, 1.0, 1.0)
            second.relu(-1.0, -1.0, 1.0, 1.0, 1.0)
            first.step()
        assert [each[0] for each in counted(run)] == [1, 2]


def test_channels_of_a_convolution_are_its_units() -> None:
    with inventing(Activations) as run:
        model = Model(run)
        kernel = nn.Parameter(torch.zeros(4, 1, 3))
        bias = torch.tensor([1.0, -1.0, -1.0, -1.0])
        for _ in range(3):
            hidden = nn.functional.conv1d(torch.ones(2, 1, 10), kernel, bias)
            model.feed(run.operated("relu", hidden.relu(), hidden, kernel))
            model.step()
        (event,) = run.of(UnitsCounted)
        assert (event.units, event.silent, event.samples) == (4, 3, 48)


@pytest.mark.parametrize("units", [3, 4])
def test_a_few_scores_are_no_layer(units: int) -> None:
    with inventing(Activations) as run:
        model = Model(run, units)
        for _ in range(3):
            model.relu(*[-1.0] * units)
            model.step()
        assert len(counted(run)) == (units == 4)


@pytest.mark.parametrize("fed", [True, False])
def test_a_limit_that_a_loss_is_made_of_is_no_layer(fed: bool) -> None:
    with inventing(Activations) as run:
        model = Model(run)
        for _ in range(3):
            hidden = model.before(*[-1.0] * 5)
            excess = run.operated("relu", hidden.relu(), hidden, model.weight)
            if fed:
                model.feed(excess)
            else:
                run.ran_backward(excess.square().mean())
            model.step()
        assert len(counted(run)) == fed


@pytest.mark.parametrize(("factor", "told"), [(50.0, 0), (0.9, 1)])
def test_a_function_that_was_made_steep_is_meant_to_be_a_step(factor: float, told: int) -> None:
    with inventing(Activations) as run:
        model = Model(run)
        for _ in range(3):
            hidden = model.before(*[9.0] * 5) * factor
            run.operated("sigmoid", hidden.sigmoid(), hidden)
            model.step()
        assert len(run.of(SaturationMeasured)) == told


def test_what_is_no_layer_in_training_is_not_looked_at() -> None:
    scale = nn.Parameter(torch.ones(5))
    with inventing(Activations) as run:
        model = Model(run)
        for _ in range(4):
            data = -torch.ones(3, 5)
            run.operated("relu", data.relu(), data)
            behind_no_matrix = data * scale
            model.feed(run.operated("relu", behind_no_matrix.relu(), behind_no_matrix, scale))
            one_sample = model.weight @ torch.ones(2) - 1.0
            model.feed(run.operated("relu", one_sample.relu(), one_sample, model.weight))
            nothing = model.before(*[-1.0] * 5, samples=0)
            run.operated("relu", nothing.relu(), nothing, model.weight)
            hidden = model.before(*[-1.0] * 5)
            model.feed(run.operated("gelu", nn.functional.gelu(hidden), hidden, model.weight))
            model.step()
        assert counted(run) == []


def test_a_layer_that_changes_its_width_begins_anew() -> None:
    with inventing(Activations) as run:
        model = Model(run)
        for _ in range(4):
            model.relu(*[-1.0] * 5)
            model.step()
        for _ in range(2):
            hidden = torch.ones(3, 2) @ model.weight[:4].T - 1.0
            model.feed(run.operated("relu", hidden.relu(), hidden, model.weight))
            model.step()
        assert [each.units for each in run.of(UnitsCounted)] == [5]


def test_only_so_many_activations_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_PLACES", 1)
    with inventing(Activations) as run:
        first, second = Model(run), Model(run)
        for _ in range(3):
            for model in (first, second):
                model.relu(*[-1.0] * 5)
                model.squash("tanh", *[9.0] * 5)
            first.step()
        assert [event.parameters for event in run.of(UnitsCounted)] == [[run.number(first.weight)]]
        assert [event.parameters for event in run.of(SaturationMeasured)] == [[run.number(first.weight)]]


# ------------------------------------------------------------------------------------------------------- squashers


def test_values_at_their_limits_are_told_with_what_went_in() -> None:
    with inventing(Activations) as run:
        model = Model(run)
        for _ in range(LAST_LOOKS - 1):
            model.squash("tanh", 9.0, -9.0, 8.0, 10.0, 0.0)
            model.step()
        assert run.of(SaturationMeasured) == []
        model.squash("tanh", 9.0, -9.0, 8.0, 10.0, 0.0)
        model.step()
        (event,) = run.of(SaturationMeasured)
        assert event.shares == pytest.approx([0.8] * 3)
        assert event.at_low == pytest.approx(0.25)
        assert (event.low, event.high) == (-9.0, 10.0)
        assert (event.operation, event.parameters, event.step) == ("tanh", [run.number(model.weight)], 3)
        assert event.location is not None


def test_batches_of_one_step_are_taken_together() -> None:
    with inventing(Activations) as run:
        model = Model(run)
        for highest in (99.0, 50.0, 20.0):
            model.squash("sigmoid", 9.0, 9.0, 9.0, 9.0, highest)
            model.squash("sigmoid", 0.0, 0.0, -9.0, -30.0, 9.0)
            model.step()
        (event,) = run.of(SaturationMeasured)
        assert event.shares == pytest.approx([0.8] * 3)
        assert event.at_low == pytest.approx(0.25)
        assert (event.low, event.high) == (-30.0, 20.0)


@pytest.mark.parametrize(("bias", "told"), [((9.0, 9.0, 0.0, 0.0), 1), ((9.0, 0.0, 0.0, 0.0), 0)])
def test_what_is_mostly_steep_in_one_step_is_let_go(bias: tuple[float, ...], told: int) -> None:
    with inventing(Activations) as run:
        model = Model(run, 4)
        for each in (bias, *[(9.0,) * 4] * 3):
            model.squash("tanh", *each)
            model.step()
        assert bool(run.of(SaturationMeasured)) == told


def test_that_most_values_are_flat_no_longer_is_the_last_word() -> None:
    with inventing(Activations) as run:
        model = Model(run)
        for bias in (9.0, 9.0, 9.0, 9.0, 0.0, 9.0, 9.0):
            model.squash("tanh", *[bias] * 5)
            model.step()
        assert [event.shares for event in run.of(SaturationMeasured)] == [[1.0] * 3, [1.0] * 4, [*[1.0] * 4, 0.0]]


def test_the_third_look_may_be_the_first_that_is_not_flat() -> None:
    with inventing(Activations) as run:
        model = Model(run)
        for bias in (9.0, 9.0, 0.0, 9.0):
            model.squash("tanh", *[bias] * 5)
            model.step()
        assert run.of(SaturationMeasured) == []


def test_what_stays_flat_is_told_a_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_LOOKS", 4)
    with inventing(Activations) as run:
        model = Model(run)
        for _ in range(7):
            model.squash("tanh", *[9.0] * 5)
            model.step()
        assert [len(event.shares) for event in run.of(SaturationMeasured)] == [3, 4]


def test_rows_of_a_softmax_have_no_lower_limit() -> None:
    with inventing(Activations) as run:
        model = Model(run)
        for _ in range(3):
            model.squash("softmax", 30.0, 0.0, 0.0, 0.0, 0.0)
            model.step()
        (event,) = run.of(SaturationMeasured)
        assert (event.shares, event.at_low, event.operation) == ([1.0] * 3, None, "softmax")


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("learned", "fixed", "told"), [(0.0, 30.0, False), (30.0, 0.0, True), (30.0, 3.0, True)])
@pytest.mark.parametrize("sign", [1, -1])
def test_rows_that_a_fixed_term_decides(learned: float, fixed: float, told: bool, sign: int, masked: bool) -> None:
    with inventing(Activations) as run:
        model = Model(run)
        for _ in range(3):
            hidden, term = model.before(learned, 0.0, 0.0, 0.0, 0.0), torch.tensor([[0.0, sign * fixed, 0.0, 0.0, 0.0]])
            name, total = ("add", hidden + term) if sign > 0 else ("sub", hidden - term)
            scores = run.operated(name, total, hidden, term)
            if masked:
                mask = torch.tensor([False] * 4 + [True])
                scores = run.operated("masked_fill", scores.masked_fill(mask, -9.0), scores, mask, -9.0)
            run.operated("softmax", scores.softmax(1), scores)
            model.step()
        assert bool(run.of(SaturationMeasured)) == told


def test_squashed_data_are_not_looked_at() -> None:
    with inventing(Activations) as run:
        model = Model(run)
        for _ in range(3):
            data = torch.full((3, 5), 9.0)
            run.operated("tanh", data.tanh(), data)
            scalar = model.before(*[9.0] * 5).sum()
            run.operated("tanh", scalar.tanh(), scalar, model.weight)
            model.step()
        assert run.of(SaturationMeasured) == []


def test_a_function_without_a_layer_before_it_is_told_as_well() -> None:
    scale = nn.Parameter(torch.full((4,), 9.0))
    with inventing(Activations) as run:
        model = Model(run)
        for _ in range(3):
            scaled = torch.ones(3, 4) * scale
            run.operated("tanh", scaled.tanh(), scaled, scale)
            model.step()
        (event,) = run.of(SaturationMeasured)
        assert event.parameters == []
