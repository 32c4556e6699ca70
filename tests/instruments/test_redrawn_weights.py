"""Trained weights that are initialised again, told when their optimizer steps next."""

from __future__ import annotations

import torch
from torch import nn
from torch.optim import SGD, Adam, Optimizer

from autograd_doctor.events.cycle import WeightsDrawnAnew
from autograd_doctor.instruments.cycle.redrawn_weights import RedrawnWeights
from autograd_doctor.signals.loads import OptimizerLoad
from autograd_doctor.signals.states import StateLoad
from tests.inventing import Invented, inventing


def built(run: Invented, optimizer: Optimizer) -> Optimizer:
    run.signals.optimizers.built.send(optimizer)
    return optimizer


def trained(run: Invented, optimizer: Optimizer, steps: int = 1) -> None:
    for _ in range(steps):
        run.train(optimizer)
        for group in optimizer.param_groups if isinstance(optimizer, Adam) else ():
            for parameter in group["params"]:
                optimizer.state[parameter]["step"] = torch.ones(())


def drawn(run: Invented, *weights: torch.Tensor) -> None:
    for weight in weights:
        run.signals.initialisers.drawn.send(weight)


def test_weights_that_are_drawn_again_while_their_optimizer_goes_on() -> None:
    with inventing(RedrawnWeights) as run:
        model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
        adam = built(run, Adam(model.parameters(), lr=0.1))
        trained(run, adam, 3)
        drawn(run, model[0].weight, model[0].weight, model[0].bias)
        trained(run, adam, 2)
        drawn(run, model[0].weight, model[1].weight)
        trained(run, adam)
        told = run.of(WeightsDrawnAnew)
    assert [(event.steps, len(event.parameters), event.of, event.keeps_state) for event in told] == [
        (3, 1, 2, True),
        (2, 2, 2, True),
    ]
    assert [event.step for event in told] == [3, 5]


def test_a_state_that_begins_anew_with_the_weights() -> None:
    with inventing(RedrawnWeights) as run:
        model = nn.Linear(4, 3)
        for optimizer in (Adam(model.parameters(), lr=0.1), SGD(model.parameters(), lr=0.1)):
            trained(run, built(run, optimizer), 2)
            drawn(run, model.weight)
            optimizer.state.clear()
            trained(run, optimizer)
        assert [event.keeps_state for event in run.of(WeightsDrawnAnew)] == [False, False]


def test_what_is_drawn_before_it_is_trained() -> None:
    with inventing(RedrawnWeights) as run:
        model, other = nn.Linear(4, 3), nn.Linear(4, 3)
        sgd = built(run, SGD(model.parameters(), lr=0.1))
        drawn(run, model.weight)
        trained(run, sgd)
        drawn(run, other.weight, model.weight[0])
        trained(run, sgd)
        assert run.of(WeightsDrawnAnew) == []


def test_weights_that_the_program_draws_itself_as_a_whole() -> None:
    with inventing(RedrawnWeights) as run:
        model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
        adam = built(run, Adam(model.parameters(), lr=0.1))
        trained(run, adam, 3)
        for values in (model[0].weight.data, model[1].weight.data[:1], torch.zeros(3, 4)):
            run.operated("normal_", values, values)
        trained(run, adam)
        (told,) = run.of(WeightsDrawnAnew)
        assert told.parameters == [run.number(model[0].weight)]


def loaded(run: Invented, model: nn.Module, state: dict[str, torch.Tensor]) -> None:
    model.load_state_dict(state)
    run.signals.states.loaded.send(StateLoad(model, state))


def test_weights_that_are_set_back_to_what_was_loaded_before() -> None:
    with inventing(RedrawnWeights) as run:
        model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
        adam = built(run, Adam(model.parameters(), lr=0.1))
        old = {name: value.clone() for name, value in model.state_dict().items()}
        for _ in range(3):
            trained(run, adam, 2)
            loaded(run, model, old)
            loaded(run, model, old)
        trained(run, adam)
    assert [
        (event.step, len(event.parameters), event.keeps_state, event.loaded) for event in run.of(WeightsDrawnAnew)
    ] == [
        (4, 2, True, True),
        (6, 2, True, True),
    ]


def test_weights_that_are_swapped_in_for_a_while_or_with_a_state() -> None:
    with inventing(RedrawnWeights) as run:
        model = nn.Linear(4, 3)
        adam = built(run, Adam(model.parameters(), lr=0.1))
        other = {name: value + 1 for name, value in model.state_dict().items()}
        for step in range(4):
            trained(run, adam, 2)
            mine = {name: value + 0.1 * step for name, value in model.state_dict().items()}
            loaded(run, model, other)
            loaded(run, model, mine)
        trained(run, adam, 2)
        for _ in range(3):
            run.signals.loads.restored.send(OptimizerLoad(adam, adam.state_dict()))
            loaded(run, model, other)
            trained(run, adam, 2)
    assert run.of(WeightsDrawnAnew) == []
