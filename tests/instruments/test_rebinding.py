"""Updates by `torch.func`, whose new values take the place of the old ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.func import grad, grad_and_value, vmap

from autograd_doctor.events.numerics import LossesFollowed
from autograd_doctor.events.steps import OptimizerStepped, UpdatesDiscarded
from autograd_doctor.instruments.numerics.loss_curves import LossCurves
from autograd_doctor.instruments.spine.rebinding import Rebinding
from tests.watching import Recorded, watching

Weights = dict[str, torch.Tensor]
X = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))


def loss_of(weights: Weights, x: torch.Tensor = X) -> torch.Tensor:
    return (torch.tanh(x @ weights["w"]) + weights["b"] - 1).square().mean()


def trained(update: Callable[[Weights], Weights], weights: Weights | None = None, *, steps: int = 5) -> Recorded:
    torch.manual_seed(0)
    held = {"w": torch.randn(3, 2), "b": torch.zeros(2)} if weights is None else weights
    with watching(Rebinding, LossCurves) as recorded:
        for _ in range(steps):
            held = update(held)
    return recorded


def rebound(weights: Weights) -> Weights:
    gradients = grad(loss_of)(weights)
    return {name: value - 0.1 * gradients[name] for name, value in weights.items()}


def in_place(weights: Weights) -> Weights:
    gradients = grad(loss_of)(weights)
    for name, value in weights.items():
        value -= 0.1 * gradients[name]
    return weights


def each_sample(weights: Weights) -> Weights:
    """As private training does: gradients of all samples have one axis more."""
    gradients = vmap(grad(loss_of), in_dims=(None, 0))(weights, X.unsqueeze(1))
    return {name: value - 0.1 * gradients[name].mean(0) for name, value in weights.items()}


def inside(weights: Weights) -> Weights:
    def step(weights: Weights) -> Weights:
        gradients = grad(loss_of)(weights)
        return {name: value - 0.1 * gradients[name] for name, value in weights.items()}

    return vmap(step)(weights)  # type: ignore[no-any-return]


def several() -> Weights:
    return {"w": torch.randn(4, 3, 2), "b": torch.zeros(4, 2)}


@pytest.mark.parametrize(
    ("update", "weights"),
    [(rebound, None), (each_sample, None), (inside, several())],
    ids=["rebound", "each sample", "inside vmap"],
)
def test_new_values_of_which_the_next_gradients_are_taken_are_a_step(
    update: Callable[[Weights], Weights], weights: Weights | None
) -> None:
    recorded = trained(update, weights)
    steps = recorded.of(OptimizerStepped)
    assert [(step.optimizer, step.graph_kept, len(step.moved or ())) for step in steps] == [(None, 0, 2)] * 4
    assert recorded.of(UpdatesDiscarded) == []


def with_gradient(weights: Weights) -> Weights:
    def step(weights: Weights) -> tuple[Weights, torch.Tensor]:
        gradients = grad(loss_of)(weights)
        return {name: value - 0.1 * gradients[name] for name, value in weights.items()}, gradients["b"]

    return vmap(step)(weights)[0]  # type: ignore[no-any-return]


def test_results_of_which_one_cannot_say_what_they_are_take_no_place() -> None:
    steps = trained(with_gradient, several()).of(OptimizerStepped)
    assert [len(step.moved or ()) for step in steps] == [1] * 4


def test_updates_in_place_are_steps() -> None:
    recorded = trained(in_place)
    assert len(recorded.of(OptimizerStepped)) >= 4
    assert recorded.of(UpdatesDiscarded) == []


def test_new_values_that_keep_their_graphs_are_counted_until_they_are_detached() -> None:
    def update(weights: Weights) -> Weights:
        new = rebound(weights)
        return {name: value.detach() for name, value in new.items()} if len(taken) == 3 else new

    taken: list[int] = []

    def counting(weights: Weights) -> Weights:
        taken.append(1)
        return update(weights)

    start = {"w": torch.randn(3, 2, requires_grad=True), "b": torch.zeros(2, requires_grad=True)}
    steps = trained(counting, start, steps=6).of(OptimizerStepped)
    assert [step.graph_kept for step in steps] == [1, 2, 0, 0, 0]


def dropped(weights: Weights) -> Weights:
    rebound(weights)
    return weights


def test_new_values_that_nothing_takes_in_are_discarded() -> None:
    recorded = trained(dropped)
    assert recorded.of(OptimizerStepped) == []
    assert {len(event.parameters) for event in recorded.of(UpdatesDiscarded)} == {2}


def looked_ahead(weights: Weights) -> Weights:
    """Gradients at the new values are taken for something else than a step."""
    new = rebound(weights)
    vmap(grad(lambda x, w: loss_of(w, x.unsqueeze(0))), in_dims=(0, None))(X, new)
    return weights


def test_new_values_that_another_transform_is_given_are_used() -> None:
    assert trained(looked_ahead).of(UpdatesDiscarded) == []


def test_the_loss_of_a_transform_is_followed() -> None:
    values = []

    def update(weights: Weights) -> Weights:
        gradients, value = grad_and_value(loss_of)(weights)
        values.append(float(value))
        return {name: each - 0.1 * gradients[name] for name, each in weights.items()}

    recorded = trained(update)
    followed: Any = recorded.of(LossesFollowed)
    assert [(each.backwards, each.opening, each.last) for each in followed] == [(5, values[0], values[-1])]
    assert [step.loss for step in recorded.of(OptimizerStepped)] == values[:4]
