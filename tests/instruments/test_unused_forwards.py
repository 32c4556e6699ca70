"""Forward passes that built a graph which no backward used."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.clock import CLOCK
from autograd_doctor.events.connectivity import ForwardsWithoutBackward, IdleForwardUsed
from autograd_doctor.instruments.connectivity import unused_forwards as module
from autograd_doctor.instruments.connectivity.unused_forwards import UnusedForwards
from tests.inventing import Invented, inventing


def net(*, training: bool = True) -> nn.Linear:
    return nn.Linear(4, 4).train(training)


def forward(run: Invented, model: nn.Module, rows: int = 2, *inputs: Any) -> torch.Tensor:
    """A pass of which the graph keeps its result: 16 bytes a row."""
    weight = next(model.parameters(), torch.ones(4, 4, requires_grad=True))
    output = (torch.ones(rows, 4) @ weight).exp()
    with run.calling(model, *inputs, output=output):
        pass
    return output


SGD_ALONE = SGD([nn.Parameter(torch.ones(1))], lr=0.1)
"""Steps again and again without a backward."""


def step(run: Invented) -> None:
    with run.step(SGD_ALONE):
        pass


def told(run: Invented, *, unsettled: bool = False) -> list[tuple[int, int, bool, int]]:
    events = [event for event in run.of(ForwardsWithoutBackward) if event.unsettled == unsettled]
    return [(event.step, event.passes, event.training, event.module) for event in events]


def test_passes_that_died_unused_are_told_two_steps_later():
    model = net(training=False)
    with inventing(UnusedForwards) as run:
        for _ in range(3):
            forward(run, model)
        for _ in range(2):
            assert told(run) == []
            step(run)
        assert told(run) == [(0, 3, False, 0)]
        (event,) = run.of(ForwardsWithoutBackward)
        assert (event.bytes_held, event.location is not None) == (2 * 16 + 2 * 16, True)
        assert 0 < event.seconds < CLOCK.thread_time()
        step(run)
        assert len(told(run)) == 1


def test_passes_that_live_on_may_still_be_used():
    model = net(training=False)
    with inventing(UnusedForwards) as run:
        kept = forward(run, model)
        forward(run, model)
        for _ in range(3):
            step(run)
        assert told(run) == [(0, 1, False, 0)]
        run.session.close()
        assert told(run) == [(0, 1, False, 0)] * 2
        assert kept is not None


def test_passes_of_several_steps_are_told_apart():
    model = net(training=False)
    with inventing(UnusedForwards) as run:
        forward(run, model)
        step(run)
        for _ in range(2):
            forward(run, model)
        run.session.close()
        assert told(run) == [(0, 1, False, 0), (1, 2, False, 0)]


@pytest.mark.parametrize("later", [False, True])
def test_training_passes_at_the_end_may_have_been_about_to_be_used(later):
    model = net()
    with inventing(UnusedForwards) as run:
        forward(run, model)
        if later:
            step(run)
        run.session.close()
        assert told(run) == ([(0, 1, True, 0)] if later else [])
        assert told(run, unsettled=True) == ([] if later else [(0, 1, True, 0)])


def test_a_backward_through_the_outputs_uses_all_passes_of_the_line():
    model = net(training=False)
    with inventing(UnusedForwards) as run:
        forward(run, model)
        run.ran_backward(forward(run, model).sum())
        forward(run, model)
        run.session.close()
        assert told(run) == []
        assert run.of(IdleForwardUsed) == []


def test_a_backward_that_goes_around_the_outputs_counts_for_the_latest_pass():
    first, second = net(training=False), net(training=False)
    with inventing(UnusedForwards) as run:
        forward(run, first)
        forward(run, second)
        with run.backward(torch.ones(())):
            pass
        run.session.close()
        assert told(run) == [(0, 1, False, 0)]


def test_a_backward_through_outputs_counts_for_them_alone():
    first, second = net(training=False), net(training=False)
    with inventing(UnusedForwards) as run:
        output = forward(run, first)
        forward(run, second)
        run.ran_backward(output.sum())
        run.session.close()
        assert told(run) == [(0, 1, False, 1)]


def test_after_a_backward_through_outputs_the_next_may_go_around_them():
    first, second = net(training=False), net(training=False)
    with inventing(UnusedForwards) as run:
        run.ran_backward(forward(run, first).sum())
        forward(run, second)
        with run.backward(torch.ones(())):
            pass
        forward(run, first)
        third = net(training=False)
        forward(run, third)
        forward(run, first)
        with run.backward(torch.ones(())):
            pass
        run.session.close()
        assert told(run) == [(0, 1, False, 2)], "the latest pass was one of a line that is used"


def test_a_criterion_without_parameters_is_not_what_a_backward_goes_around():
    model, criterion, frozen = net(training=False), nn.Flatten(), net().requires_grad_(False)
    with inventing(UnusedForwards) as run:
        forward(run, model)
        forward(run, criterion)
        with run.calling(frozen, output=torch.ones(1, requires_grad=True) * 2):
            pass
        with run.backward(torch.ones(())):
            pass
        run.session.close()
        assert told(run) == []


def test_a_line_that_was_told_and_then_used():
    model = net(training=False)
    with inventing(UnusedForwards) as run:
        forward(run, model)
        step(run)
        step(run)
        for _ in range(2):
            run.ran_backward(forward(run, model).sum())
        (event,) = run.of(IdleForwardUsed)
        assert (event.module, event.training, event.step) == (0, False, 2)
        assert event.location is not None


def test_the_largest_of_the_measured_passes_is_told():
    model = net(training=False)
    with inventing(UnusedForwards) as run:
        for rows in (1, 3, 9):
            forward(run, model, rows)
        run.session.close()
        assert run.of(ForwardsWithoutBackward)[0].bytes_held == 2 * 3 * 16


def test_training_passes_are_measured_once_several_went_by():
    model = net()
    with inventing(UnusedForwards) as run:
        for rows in (9, 9, 3, 1, 9):
            forward(run, model, rows)
        step(run)
        run.session.close()
        assert run.of(ForwardsWithoutBackward)[0].bytes_held == 2 * 3 * 16


def test_what_lives_anyway_is_not_counted():
    model, batch = net(training=False), torch.ones(2, 4)
    with inventing(UnusedForwards) as run:
        output = batch @ model.weight
        with run.calling(model, batch, output=output):
            pass
        del output
        run.session.close()
        assert run.of(ForwardsWithoutBackward)[0].bytes_held == 0


def test_of_many_outputs_the_first_are_followed():
    model = net(training=False)
    with inventing(UnusedForwards) as run:
        outputs = [model.weight * n for n in range(module._HOOKED + 1)]
        with run.calling(model, output=outputs):
            pass
        run.ran_backward(outputs[module._HOOKED - 1].sum())
        run.session.close()
        assert told(run) == []
