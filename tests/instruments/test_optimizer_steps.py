"""Steps of optimizers: what each found, and what it did to the parameters."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.steps import GradientsCleared, GradientsFoundBefore, OptimizerStepped
from autograd_doctor.instruments.spine import optimizer_steps as module
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.optimizer_steps import OptimizerSteps
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.optimizers import StepCall
from autograd_doctor.signals.scalers import ScalerCall
from tests.inventing import Invented, inventing

LOSS = torch.ones(())


def weight(*, requires_grad: bool = True) -> nn.Parameter:
    return nn.Parameter(torch.ones(4), requires_grad=requires_grad)


def write(run: Invented, *parameters: nn.Parameter) -> None:
    for parameter in parameters:
        run.number(parameter)
    with run.backward(LOSS):
        for parameter in parameters:
            parameter.grad = torch.ones(4)


def step(run: Invented, optimizer: torch.optim.Optimizer, *moves: nn.Parameter, to: float | None = None) -> None:
    """A step that changes the values of some parameters."""
    with run.step(optimizer):
        for parameter in moves:
            parameter.data.sub_(0.5) if to is None else parameter.data.fill_(to)


def test_what_was_written_to_since_its_own_optimizer_stepped_is_known_whoever_has_stepped_meanwhile():
    code, decoder = weight(), weight()
    with inventing(OptimizerSteps) as run:
        inner, outer = SGD([code], lr=0.5), SGD([decoder], lr=0.5)
        for _ in range(2):
            with torch.no_grad():
                code.add_(0.0)
            for optimizer, own in ((inner, code), (outer, decoder)):
                write(run, own)
                step(run, optimizer, own)
        number = run.number(code)
        assert [event.rewritten for event in run.of(OptimizerStepped)] == [[], [], [number], []]


def test_a_later_chapter_knows_which_parameters_had_gradients():
    taught, other = weight(), weight()
    with inventing(OptimizerSteps) as run:
        sgd = SGD([taught, other], lr=0.5)
        write(run, taught)
        step(run, sgd, taught)
        number = run.number(taught)
        assert run.of(GradientsFoundBefore) == []
    with inventing(OptimizerSteps, memories=run.session.memories) as later:
        (event,) = later.of(GradientsFoundBefore)
        assert event.parameters == [number]


def test_what_a_step_found_and_did():
    moves, stays, missing, frozen = weight(), weight(), weight(), weight(requires_grad=False)
    with inventing(OptimizerSteps) as run:
        sgd = SGD([{"params": [moves, stays], "lr": 0.25}, {"params": [missing, frozen]}], lr=0.5)
        write(run, moves, stays)
        run.find(Course).loss_seen(1.5)
        step(run, sgd, moves)
        (event,) = run.of(OptimizerStepped)
        assert (event.step, event.optimizer, event.loss) == (0, 0, 1.5)
        assert event.location is not None
        numbers = [run.number(each) for each in (moves, stays, missing, frozen)]
        assert [(use.parameters, use.norms, use.backwards) for use in event.uses] == [(numbers[:2], [2.0, 2.0], [0])]
        assert (event.missing, event.frozen, event.moved) == ([numbers[2]], [numbers[3]], [numbers[0]])
        assert (event.undone, event.rewritten, event.skipped) == ([], [], False)
        assert (event.scaled_by, event.in_closure, event.in_backward) == (1.0, False, False)
        assert event.learning_rates == [0.25, 0.5]
        assert not run.find(Ledger).fresh(numbers[0])
        assert run.steps == 1


def test_what_the_program_did_by_hand_before_is_noticed_first():
    a = weight()
    with inventing(OptimizerSteps) as run:
        sgd = SGD([a], lr=0.1)
        write(run, a)
        a.grad = None
        with run.step(sgd):
            assert len(run.of(GradientsCleared)) == 1
        assert run.of(OptimizerStepped)[0].missing == [0]


def test_a_gradient_that_the_step_removes_was_still_used():
    a = weight()
    with inventing(OptimizerSteps) as run:
        sgd = SGD([a], lr=0.1)
        write(run, a)
        with run.step(sgd):
            a.grad = None
        assert [use.backwards for use in run.of(OptimizerStepped)[0].uses] == [[0]]


def test_a_step_inside_a_backward():
    a = weight()
    with inventing(OptimizerSteps) as run:
        with run.backward(LOSS):
            step(run, SGD([a], lr=0.1))
        step(run, SGD([a], lr=0.1))
        assert [event.in_backward for event in run.of(OptimizerStepped)] == [True, False]


def test_with_a_closure_gradients_are_looked_at_after_it():
    a = weight()
    with inventing(OptimizerSteps) as run:
        sgd = SGD([a], lr=0.1)
        with run.step(sgd, closure=True) as call:
            for calls in range(2):
                with run.closure(call):
                    write(run, a)
                    a.data.fill_(min(calls, 0.5))
        (event,) = run.of(OptimizerStepped)
        assert event.in_closure
        assert [use.backwards for use in event.uses] == [[0, 1]]
        assert event.moved == [0], "compared with the values after the first call of the closure"


def test_an_optimizer_leaves_to_the_one_inside_what_that_has_stepped():
    """As where each rank steps its shard, and sends it to the others."""
    a, b = weight(), weight()
    with inventing(OptimizerSteps) as run:
        outer, inner = SGD([a, b], lr=0.1), SGD([a], lr=0.1)
        write(run, a, b)
        with run.step(outer):
            step(run, inner, a)
        used = [[parameter for use in event.uses for parameter in use.parameters] for event in run.of(OptimizerStepped)]
        assert used == [[run.number(a)], [run.number(b)]]


def test_a_closure_inside_an_optimizer_that_was_given_none():
    a, b = weight(), weight()
    with inventing(OptimizerSteps) as run:
        outer, inner = SGD([a, b], lr=0.1), SGD([a], lr=0.1)
        with run.step(outer), run.step(inner, closure=True) as call, run.closure(call):
            write(run, a)
        first, second = run.of(OptimizerStepped)
        assert [use.backwards for use in first.uses] == [[0]]
        assert second.uses == []


# ------------------------------------------------------------------------------------------------------------ values


def test_values_are_compared_in_the_first_steps_of_each_optimizer():
    a = weight()
    with inventing(OptimizerSteps) as run:
        first, second = SGD([a], lr=0.1), SGD([a], lr=0.1)
        for _ in range(module._STEPS_LOOKED_AT + 1):
            step(run, first, a)
        step(run, second, a)
        assert [event.moved for event in run.of(OptimizerStepped)] == [*[[0]] * module._STEPS_LOOKED_AT, None, [0]]


def test_parameters_without_values_are_not_compared():
    empty = nn.Parameter(torch.empty(0))
    with inventing(OptimizerSteps) as run:
        step(run, SGD([empty], lr=0.1))
        assert run.of(OptimizerStepped)[0].moved is None
        dense = weight()
        step(run, SGD([empty, dense], lr=0.1), dense)
        assert run.of(OptimizerStepped)[1].moved == [run.number(dense)]


def test_a_step_that_was_undone():
    a, kept = weight(), weight()
    with inventing(OptimizerSteps) as run:
        sgd = SGD([a, kept], lr=0.1)
        write(run, a, kept)
        step(run, sgd, a, kept, to=2.0)
        a.data.fill_(1.0)
        step(run, sgd, a, kept, to=3.0)
        first, second = run.of(OptimizerStepped)
        assert (first.undone, first.rewritten) == ([], [])
        assert (second.undone, second.rewritten) == ([0], [0])


@pytest.mark.parametrize(
    ("undone_before", "meets", "tried"), [(False, True, True), (False, False, False), (True, True, False)]
)
def test_a_step_that_a_forward_has_met_before_it_was_undone(*, undone_before: bool, meets: bool, tried: bool):
    model = nn.Linear(2, 1, bias=False)
    nn.init.ones_(model.weight)
    with inventing(OptimizerSteps) as run:
        sgd = SGD(model.parameters(), lr=0.1)
        step(run, sgd, model.weight, to=2.0)
        if undone_before:
            model.weight.data.fill_(1.0)
        if meets:
            with run.calling(model):
                pass
        model.weight.data.fill_(1.0)
        step(run, sgd, model.weight, to=2.0)
        first, second = run.of(OptimizerStepped)
        assert (first.tried, second.tried, second.undone) == (False, tried, [0])


def test_a_forward_of_what_did_not_move_tries_nothing():
    kept, other = nn.Linear(2, 1, bias=False), nn.Linear(2, 1, bias=False)
    with inventing(OptimizerSteps) as run:
        sgd = SGD([kept.weight, other.weight], lr=0.1)
        step(run, sgd, kept.weight, to=2.0)
        with run.calling(other):
            pass
        step(run, sgd)
        assert not run.of(OptimizerStepped)[1].tried


def test_a_step_that_moved_nothing_cannot_be_undone():
    a = weight()
    with inventing(OptimizerSteps) as run:
        sgd = SGD([a], lr=0.1)
        step(run, sgd)
        step(run, sgd)
        assert [(event.undone, event.rewritten) for event in run.of(OptimizerStepped)] == [([], [])] * 2


def test_values_that_are_neither_the_old_nor_the_new_are_rewritten_only():
    a = weight()
    with inventing(OptimizerSteps) as run:
        sgd, other = SGD([a], lr=0.1), SGD([a], lr=0.1)
        write(run, a)
        step(run, sgd, a, to=2.0)
        step(run, other, a, to=3.0)
        a.data.fill_(7.0)
        step(run, sgd, a, to=4.0)
        step(run, other, a)
        assert [(event.undone, event.rewritten) for event in run.of(OptimizerStepped)] == [
            ([], []),
            ([], []),
            ([], [0]),
            ([], []),
        ]
        assert [event.brought for event in run.of(OptimizerStepped)] == [[], [], [0], []]


def test_what_is_written_with_the_same_values_is_rewritten_and_not_brought():
    a = weight()
    with inventing(OptimizerSteps) as run:
        sgd = SGD([a], lr=0.1)
        write(run, a)
        step(run, sgd, a, to=2.0)
        with torch.no_grad():
            a.clamp_(max=5.0)
        step(run, sgd, a, to=3.0)
        event = run.of(OptimizerStepped)[-1]
        assert (event.rewritten, event.brought) == ([0], [])


def test_what_an_unwatched_step_left_is_not_known():
    a = weight()
    with inventing(OptimizerSteps) as run:
        sgd = SGD([a], lr=0.1)
        write(run, a)
        for _ in range(module._STEPS_LOOKED_AT):
            step(run, sgd, a)
        step(run, sgd, a)
        step(run, SGD([a], lr=0.1), a)
        assert run.of(OptimizerStepped)[-1].rewritten == []


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("steady", [True, False])
def test_writes_among_steps_that_nobody_looked_at_show_in_the_first_step_of_the_next_optimizer(extra, steady):
    a = weight()
    with inventing(OptimizerSteps) as run:
        sgd, following = SGD([a], lr=0.1), SGD([a], lr=0.1)
        write(run, a)
        for times in (1, 1, 1 if steady else 2):
            with run.step(sgd), torch.no_grad():
                for _ in range(times):
                    a.sub_(0.5)
        for _ in range(5):
            run.attend(Attention.GLANCE)
            with run.step(sgd), torch.no_grad():
                a.sub_(0.5)
        run.attend(Attention.CLOSE)
        with torch.no_grad():
            for _ in range(extra):
                a.zero_()
        with run.step(following):
            (begun,) = run.find(OptimizerSteps)._running.values()
            assert begun.written == ({0} if extra and steady else set())


# -------------------------------------------------------------------------------------------------- scaled and skipped


def test_a_step_that_a_scaler_suppressed():
    a = weight()
    with inventing(OptimizerSteps) as run:
        sgd = SGD([a], lr=0.1)
        write(run, a)
        sgd.found_inf = torch.tensor(1.0)  # type: ignore[attr-defined]
        step(run, sgd)
        assert run.of(OptimizerStepped)[0].skipped
        assert run.find(Ledger).fresh(0), "nothing has used the gradient"
        sgd.found_inf = torch.tensor(0.0)  # type: ignore[attr-defined]
        step(run, sgd)
        assert not run.of(OptimizerStepped)[1].skipped
        assert not run.find(Ledger).fresh(0)


def test_the_loss_scale_is_taken_out_of_the_norms():
    a = weight()
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(torch.ones(1))
    with inventing(OptimizerSteps) as run:
        call = ScalerCall(scaler, "scale", torch.ones(1))
        run.signals.scalers.began.send(call)
        run.signals.scalers.ended.send(call)
        write(run, a)
        step(run, SGD([a], lr=0.1))
        event = run.of(OptimizerStepped)[0]
        assert (event.scaled_by, event.uses[0].norms) == (8.0, [0.25])


def test_a_fused_optimizer_takes_the_scale_out_by_itself():
    a = weight()
    with inventing(OptimizerSteps) as run:
        sgd = SGD([a], lr=0.1)
        sgd.grad_scale = torch.tensor(4.0)  # type: ignore[attr-defined]
        write(run, a)
        step(run, sgd)
        event = run.of(OptimizerStepped)[0]
        assert (event.scaled_by, event.uses[0].norms) == (1.0, [0.5])


# --------------------------------------------------------------------------------------------- optimizers in optimizers


def test_an_optimizer_that_calls_others_says_what_is_its_own():
    a, b, lost = weight(), weight(), weight()
    with inventing(OptimizerSteps) as run:
        inner, wrapper, larger = SGD([a, lost], lr=0.1), SGD([a, lost], lr=0.1), SGD([a, b], lr=0.1)
        a.grad = b.grad = torch.ones(4)
        outermost = SGD([a, lost], lr=0.1)
        with run.step(outermost), run.step(wrapper):
            step(run, inner)
        assert [event.optimizer for event in run.of(OptimizerStepped)] == [2]
        with run.step(larger):
            step(run, inner)
        assert [event.optimizer for event in run.of(OptimizerStepped)] == [2, 2, 3]
        step(run, wrapper)
        assert [event.optimizer for event in run.of(OptimizerStepped)] == [2, 2, 3, 1]


def test_an_optimizer_of_frozen_parameters_steps_all_the_same():
    with inventing(OptimizerSteps) as run:
        step(run, SGD([weight(requires_grad=False)], lr=0.1))
        assert run.of(OptimizerStepped)[0].frozen == [0]


def test_a_step_that_raised_is_no_part_of_later_ones():
    a = weight()
    with inventing(OptimizerSteps) as run:
        inner, outer = SGD([a], lr=0.1), SGD([a], lr=0.1)
        run.signals.steps.began.send(StepCall(outer, False))
        run.signals.steps.began.send(StepCall(inner, False))
        step(run, outer)
        step(run, inner)
        with run.step(outer):
            run.signals.steps.began.send(StepCall(inner, False))
        assert [event.optimizer for event in run.of(OptimizerStepped)] == [0, 1, 0]


@pytest.mark.parametrize(("met", "undone"), [(1.0, [0]), (1.5, [])], ids=["the old values", "others"])
def test_a_step_from_other_values_that_is_undone_before_the_next_forward(met: float, undone: list[int]):
    model = nn.Linear(2, 1, bias=False)
    nn.init.ones_(model.weight)
    with inventing(OptimizerSteps) as run:
        sgd = SGD(model.parameters(), lr=0.1)
        with run.calling(model):
            pass
        model.weight.data.fill_(7.0)
        step(run, sgd, model.weight, to=8.0)
        model.weight.data.fill_(met)
        with run.calling(model):
            pass
        model.weight.data.fill_(9.0)
        step(run, sgd, model.weight, to=10.0)
        assert [event.undone for event in run.of(OptimizerStepped)] == [[], undone]
