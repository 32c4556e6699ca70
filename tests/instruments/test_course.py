"""The course of a run: what counts as a step, and when."""

from __future__ import annotations

import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.signals.optimizers import StepCall
from tests.inventing import Invented, inventing


def optimizer(*parameters: nn.Parameter) -> SGD:
    return SGD(parameters or [nn.Parameter(torch.ones(2))], lr=0.1)


def step(run: Invented, *optimizers: SGD) -> None:
    for each in optimizers:
        with run.step(each):
            pass


def backward(run: Invented) -> None:
    with run.backward():
        pass


def test_a_backward_has_a_number_while_it_runs():
    with inventing(Course) as run:
        course, over = run.find(Course), []
        course.backward_over.connect(lambda each: over.append(each.running), owner="test")
        assert (course.running, course.backwards) == (None, 0)
        for number in (0, 1):
            with run.backward():
                assert (course.running, course.backwards) == (number, number + 1)
                assert len(over) == number
            assert course.running is None
        assert over == [None, None]


def test_others_hear_of_a_backward_before_it_is_counted_and_after_it_is_over():
    seen = []
    with inventing(Course) as run:
        course = run.find(Course)
        for signal in (run.signals.backward.began, run.signals.backward.ended):
            signal.connect(lambda call: seen.append((course.running, course.backwards)), owner="test", order=900_000)
        backward(run)
    assert seen == [(None, 0), (0, 1)]


def test_a_step_counts_when_it_ended():
    with inventing(Course) as run:
        course, sgd = run.find(Course), optimizer()
        taken = run.heard(course.step_taken)
        backward(run)
        with run.step(sgd):
            assert (course.steps, course.updated_at(torch.ones(1))) == (0, None)
        assert course.steps == 1
        assert taken == [course]
        assert course.updated_at(torch.ones(1)) is not None


def test_the_first_step_needs_no_backward():
    with inventing(Course) as run:
        step(run, optimizer())
        assert run.steps == 1


def test_optimizers_on_the_same_backwards_take_one_step_together():
    one, two = optimizer(), optimizer()
    with inventing(Course) as run:
        backward(run)
        step(run, one, two)
        assert run.steps == 1
        step(run, one)
        assert run.steps == 2
        step(run, two)
        assert run.steps == 2
        step(run, two)
        assert run.steps == 3
        backward(run)
        step(run, two)
        assert run.steps == 4


def test_steps_inside_a_backward_count_when_it_ends():
    one, two = optimizer(), optimizer()
    with inventing(Course) as run:
        course = run.find(Course)
        taken = run.heard(course.step_taken)
        for steps in (1, 2):
            with run.backward():
                step(run, one, two)
                assert course.steps == steps - 1
            assert (course.steps, len(taken)) == (steps, steps)
        backward(run)
        assert course.steps == 2


def test_an_update_by_hand_is_a_step():
    with inventing(Course) as run:
        course = run.find(Course)
        backward(run)
        course.updated_by_hand([])
        assert course.steps == 1
        step(run, optimizer())
        assert course.steps == 1
        course.updated_by_hand([])
        assert course.steps == 2


def test_a_step_that_a_scaler_suppressed_does_not_count():
    skipped, taken = optimizer(), optimizer()
    with inventing(Course) as run:
        skipped.found_inf = torch.tensor(1.0)  # type: ignore[attr-defined]
        taken.found_inf = torch.tensor(0.0)  # type: ignore[attr-defined]
        backward(run)
        step(run, skipped)
        assert (run.steps, run.find(Course).updated_at(torch.ones(1))) == (0, None)
        step(run, taken)
        assert run.steps == 1


def test_an_optimizer_that_calls_others_counts_for_its_own_parameters_only():
    mine, other = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    inner, wrapper, larger = optimizer(mine), optimizer(mine), optimizer(mine, other)
    with inventing(Course) as run:
        taken = run.heard(run.find(Course).step_taken)
        with run.step(wrapper):
            step(run, inner)
        assert len(taken) == 1
        step(run, wrapper)
        assert len(taken) == 1, "the wrapper has not stepped yet: it takes part in the step of the inner one"
        step(run, wrapper)
        assert len(taken) == 2
        backward(run)
        with run.step(larger):
            step(run, inner)
        step(run, larger)
        assert len(taken) == 4, "the larger one has stepped before, on its own"


def test_a_wrapper_in_a_wrapper_knows_what_the_innermost_updated():
    mine = nn.Parameter(torch.ones(2))
    inner, middle, outer = optimizer(mine), optimizer(mine), optimizer(mine)
    with inventing(Course) as run:
        backward(run)
        with run.step(outer):
            with run.step(middle):
                step(run, inner)
            step(run, inner)
        step(run, outer)
        assert run.steps == 2


def test_frozen_parameters_are_updated_by_nobody():
    frozen, mine = nn.Parameter(torch.ones(2), requires_grad=False), nn.Parameter(torch.ones(2))
    inner, wrapper = optimizer(mine), optimizer(mine, frozen)
    with inventing(Course) as run:
        backward(run)
        with run.step(wrapper):
            step(run, inner)
        step(run, inner)
        step(run, wrapper)
        assert run.steps == 2, "the wrapper takes part in the second step: it was not counted before"


def test_a_gradient_makes_a_parameter_one_that_is_updated():
    mine, thawed = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2), requires_grad=False)
    thawed.grad = torch.ones(2)
    inner, wrapper = optimizer(mine), optimizer(mine, thawed)
    with inventing(Course) as run:
        backward(run)
        with run.step(wrapper):
            step(run, inner)
        step(run, wrapper)
        assert run.steps == 2, "the wrapper has updated the one that the inner one does not hold"


def test_operations_inside_a_step_are_muted_but_for_closures():
    sgd = optimizer()
    with inventing(Course) as run:
        guard = run.signals.guard
        with run.step(sgd, closure=True) as call:
            assert guard.muted == 1
            with run.closure(call):
                assert guard.muted == 0
            assert guard.muted == 1
            with run.step(optimizer()):
                assert guard.muted == 2
            assert guard.muted == 1
        assert guard.muted == 0


def test_a_step_that_raised_is_forgotten_when_its_optimizer_steps_again():
    outer, sgd = optimizer(), optimizer()
    with inventing(Course) as run:
        run.signals.steps.began.send(StepCall(outer, False))
        run.signals.steps.began.send(StepCall(sgd, False))
        with run.step(outer):
            assert run.signals.guard.muted == 1
        assert run.signals.guard.muted == 0
        assert run.steps == 1


def test_a_step_that_raised_inside_another_does_not_stand_for_it():
    outer, inner = optimizer(), optimizer()
    with inventing(Course) as run:
        backward(run)
        with run.step(outer):
            run.signals.steps.began.send(StepCall(inner, False))
        assert run.signals.guard.muted == 0
        step(run, outer)
        assert run.steps == 2


def test_the_last_loss_is_what_was_told():
    with inventing(Course) as run:
        assert run.find(Course).last_loss is None
        run.find(Course).loss_seen(2.5)
        assert run.find(Course).last_loss == 2.5
