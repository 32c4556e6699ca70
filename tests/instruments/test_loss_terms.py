"""Terms of a loss that carry no gradient, on invented operations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributions import Bernoulli
from torch.optim import SGD

from autograd_doctor.events.connectivity import ConstantTerm, LossExamined
from autograd_doctor.instruments.connectivity.loss_terms import LossTerms
from autograd_doctor.instruments.instrument import Instrument
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.signals.distributions import Draw
from tests.inventing import Invented, inventing


class Loop:
    """One step of a program with one parameter, in words."""

    def __init__(self, run: Invented) -> None:
        self.run = run
        self.a = nn.Parameter(torch.tensor([1.25, 2.5]))
        self.optimizer = SGD([self.a], lr=0.1)
        run.signals.optimizers.built.send(self.optimizer)

    def of(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """The result of a method of the first argument."""
        return self.run.operated(name, getattr(args[0], name)(*args[1:], **kwargs), *args, **kwargs)

    def error(self) -> torch.Tensor:
        """A term that teaches."""
        return self.of("mean", self.of("square", self.a))  # type: ignore[no-any-return]

    def size(self) -> torch.Tensor:
        """Another one."""
        return self.of("sum", self.of("abs", self.a))  # type: ignore[no-any-return]

    def detached(self, tensor: torch.Tensor) -> torch.Tensor:
        return self.of("detach", tensor)  # type: ignore[no-any-return]

    def number(self, tensor: torch.Tensor) -> float:
        return float(self.run.escaped("item", tensor.item(), tensor))

    def stacked(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.run.operated("stack", torch.stack(tensors), list(tensors))  # type: ignore[no-any-return]

    def backward(self, *losses: torch.Tensor) -> None:
        for loss in losses:
            with self.run.backward(loss):
                pass

    def step(self) -> None:
        with self.run.step(self.optimizer):
            pass

    def learn(self, *losses: torch.Tensor) -> None:
        self.backward(*losses)
        self.step()


@contextmanager
def looping() -> Iterator[Loop]:
    with inventing(LossTerms) as run:
        yield Loop(run)


def terms(loop: Loop) -> list[ConstantTerm]:
    return [term for event in loop.run.of(LossExamined) for term in event.terms]


def test_a_term_without_a_graph() -> None:
    with looping() as loop:
        loss = loop.of("add", loop.error(), loop.detached(loop.size()))
        loop.learn(loss)
        (event,) = loop.run.of(LossExamined)
        (term,) = event.terms
        assert (event.backward, term.operation, term.parameters) == (0, "detach", [0])
        assert ([cut.operation for cut in term.cuts], term.copied, term.guessed) == (["detach"], False, False)
        assert (term.value, term.sum) == (3.75, pytest.approx(3.90625 + 3.75))


def test_terms_that_teach_are_not_told_of() -> None:
    with looping() as loop:
        loop.learn(loop.of("add", loop.error(), loop.size()))
        loop.learn(loop.error())
        assert terms(loop) == []


@pytest.mark.parametrize(
    ("name", "args"), [("mul", (3.0,)), ("div", (2.0,)), ("neg", ()), ("mean", ()), ("mul", (torch.tensor(0.5),))]
)
def test_a_weighted_sum_keeps_its_terms(name: str, args: tuple[Any, ...]) -> None:
    with looping() as loop:
        total = loop.of("add", loop.error(), loop.detached(loop.size()))
        loop.learn(loop.of(name, total, *args))
        assert len(terms(loop)) == 1


@pytest.mark.parametrize(("name", "args"), [("square", ()), ("exp", ()), ("clamp", (0.0,))])
def test_a_nonlinear_operation_makes_one_term_of_a_sum(name: str, args: tuple[Any, ...]) -> None:
    with looping() as loop:
        total = loop.of("sub", loop.error(), loop.detached(loop.size()))
        loop.learn(loop.of(name, total, *args))
        assert terms(loop) == []


def test_a_product_with_what_is_trained_makes_one_term() -> None:
    with looping() as loop:
        total = loop.of("add", loop.error(), loop.detached(loop.size()))
        loop.learn(loop.of("mul", total, loop.size()))
        loop.learn(loop.of("mul", loop.error(), loop.detached(loop.size())))
        assert terms(loop) == []


def test_a_stack_of_terms() -> None:
    with looping() as loop:
        stacked = loop.stacked(loop.error(), loop.detached(loop.size()), loop.size())
        loop.learn(loop.of("mean", stacked))
        assert [term.value for term in terms(loop)] == [3.75]


def test_a_total_that_is_added_up_in_place() -> None:
    with looping() as loop:
        total = torch.zeros(())
        loop.run.operated("add_", total.add_(loop.detached(loop.size())), total, torch.ones(()))
        total = torch.zeros(())
        size = loop.detached(loop.size())
        loop.run.operated("add_", total.add_(size), total, size)
        error = loop.error()
        loop.run.operated("add_", total.add_(error), total, error)
        loop.learn(total)
        assert [term.operation for term in terms(loop)] == ["add_"]


def test_what_got_a_graph_after_it_was_made_is_no_constant() -> None:
    with looping() as loop:
        inside = loop.of("mul", loop.detached(loop.size()), 0.5)
        size = loop.size()
        loop.run.operated("copy_", inside.copy_(size), inside, size)
        loop.learn(loop.of("add", loop.error(), inside))
        assert terms(loop) == []


def draw(loop: Loop) -> tuple[torch.Tensor, torch.Tensor]:
    """Chances of the parameter, and a sample by them."""
    chances = loop.of("sigmoid", loop.a)
    return chances, loop.run.operated("bernoulli", torch.ones(2), chances)


def test_a_term_of_a_sample_depends_on_parameters_by_a_draw_alone() -> None:
    with looping() as loop:
        _, sample = draw(loop)
        cost = loop.of("sum", sample)
        loop.learn(loop.of("add", loop.error(), cost))
        mixed = loop.of("add", loop.of("sum", draw(loop)[1]), loop.detached(loop.size()))
        loop.learn(loop.of("add", loop.error(), mixed))
        assert [term.drawn for term in terms(loop)] == [True, False]


def test_what_a_distribution_gives_is_drawn_whichever_operations_made_it() -> None:
    with looping() as loop:
        sample = loop.run.operated("mul", torch.ones(2), loop.a)
        loop.run.signals.distributions.drawn.send(Draw(Bernoulli(torch.ones(2)), False, sample))
        loop.learn(loop.of("add", loop.error(), loop.of("sum", sample)))
        assert [term.drawn for term in terms(loop)] == [True]


def test_a_choice_is_a_draw() -> None:
    with looping() as loop:
        chosen = loop.of("float", loop.of("gt", loop.a, 2.0))
        loop.learn(loop.of("add", loop.error(), loop.of("sum", chosen)))
        (term,) = terms(loop)
        assert term.drawn


@pytest.mark.parametrize("is_used", [True, False])
def test_a_sample_that_has_its_score_in_a_loss_teaches(is_used: bool) -> None:
    with looping() as loop:
        chances, sample = draw(loop)
        total = loop.of("add", loop.error(), loop.of("sum", sample))
        score = loop.of("sum", loop.of("mul", loop.of("log", chances), sample))
        loop.learn(*((total, score) if is_used else (total,)))
        assert len(terms(loop)) == (not is_used)


def test_the_score_of_one_sample_is_not_that_of_another() -> None:
    with looping() as loop:
        total = loop.of("add", loop.error(), loop.of("sum", draw(loop)[1]))
        chances, other = draw(loop)
        loop.learn(total, loop.of("sum", loop.of("mul", loop.of("log", chances), other)))
        assert len(terms(loop)) == 1


def test_weights_that_the_program_changes_itself() -> None:
    with looping() as loop:
        for _ in range(2):
            loop.learn(loop.of("add", loop.error(), loop.detached(loop.size())))
            with torch.no_grad():
                loop.run.operated("clamp_", loop.a.clamp_(max=2.0), loop.a, grad_enabled=False)
        assert [term.rewritten for term in terms(loop)] == [False, True]


@pytest.mark.parametrize("weight", [1.0, 0.01, -0.5])
def test_a_number_that_comes_back(weight: float) -> None:
    with looping() as loop:
        number = loop.number(loop.of("exp", loop.size()))
        loop.learn(loop.of("add", loop.error(), weight * number))
        (term,) = terms(loop)
        assert [cut.operation for cut in term.cuts] == ["item"]
        assert term.value == weight * number


def test_a_number_that_nobody_measured() -> None:
    with looping() as loop:
        loop.number(loop.of("exp", loop.size()))
        loop.learn(loop.of("add", loop.error(), 0.123456789))
        assert terms(loop) == []


def test_a_straight_through_term_is_right() -> None:
    with looping() as loop:
        error = loop.error()
        difference = loop.of("sub", loop.of("round", error), error)
        loop.learn(loop.of("add", error, loop.detached(difference)))
        assert terms(loop) == []


def test_a_value_that_is_swapped_for_another_is_right() -> None:
    with looping() as loop:
        shown, surrogate = loop.detached(loop.size()), loop.error()
        total = loop.of("add", shown, surrogate)
        loop.learn(loop.of("sub", total, loop.detached(surrogate)))
        assert terms(loop) == []


def test_a_baseline_that_is_added_back_is_right() -> None:
    with looping() as loop:
        value = loop.of("abs", loop.a)
        baseline = loop.detached(value)
        weighted = loop.of("mul", loop.of("exp", loop.a), baseline)
        loop.learn(loop.of("add", loop.of("mean", weighted), loop.of("mean", baseline)))
        assert terms(loop) == []


@pytest.mark.parametrize("order", [0, 1])
def test_a_term_with_a_backward_of_its_own_is_there_for_the_eye(order: int) -> None:
    with looping() as loop:
        size = loop.size()
        total = loop.of("add", loop.error(), loop.detached(size))
        loop.learn(*((size, total) if order else (total, size)))
        assert terms(loop) == []


def test_differences_taken_off_element_by_element_are_baselines() -> None:
    with looping() as loop:
        difference = loop.of("sub", loop.of("exp", loop.a), loop.detached(loop.of("abs", loop.a)))
        loop.learn(loop.of("mean", difference))
        assert terms(loop) == []


def test_what_was_computed_in_an_earlier_step_is_data() -> None:
    with looping() as loop:
        old = loop.detached(loop.size())
        loop.learn(loop.error())
        loop.learn(loop.of("add", loop.error(), old))
        assert terms(loop) == []


def test_a_slope_teaches_nothing_by_itself() -> None:
    with looping() as loop:
        size = loop.size()
        point = torch.ones(2, requires_grad=True)
        with loop.run.backward(size, kind="grad", inputs=[point]):
            pass
        loop.learn(loop.of("add", loop.error(), loop.detached(size)))
        assert len(terms(loop)) == 1


def test_values_that_were_copied() -> None:
    with looping() as loop:
        size = loop.of("exp", loop.size())
        copied = loop.run.operated("tensor", torch.tensor(size.item()), [size])
        loop.learn(loop.of("add", loop.error(), copied))
        (term,) = terms(loop)
        assert (term.copied, term.operation) == (True, "tensor")


def test_terms_of_steps_that_were_not_followed_to_the_end() -> None:
    with looping() as loop:
        loop.backward(loop.of("add", loop.error(), loop.detached(loop.size())))
        assert terms(loop) == []
        loop.run.find(LossTerms).finish()
        assert len(terms(loop)) == 1


@pytest.mark.parametrize("first", ["live", "cut"])
def test_a_term_that_was_live_in_an_earlier_step_is_marked_as_such(first: str) -> None:
    with looping() as loop:
        for step in range(3):
            size = loop.size()
            is_cut = first == "cut" or step > 0
            loop.learn(loop.of("add", loop.error(), loop.detached(size) if is_cut else size))
        assert [term.was_live for term in terms(loop)] == ([False] * 3 if first == "cut" else [True] * 2)


def add_number(loop: Loop, number: float, *, measured: bool = True) -> None:
    """A step that reads a term and adds some number, at one line."""
    if measured:
        loop.number(loop.of("exp", loop.size()))
    loop.learn(loop.of("add", loop.error(), number))


def test_a_number_that_changes_is_taken_for_one_that_was_computed_from_what_was_read() -> None:
    with looping() as loop:
        for number in (0.123456789, 0.234567891, 0.345678912):
            add_number(loop, number)
        assert [(term.value, term.guessed, term.was_live) for term in terms(loop)] == [
            (0.234567891, True, False),
            (0.345678912, True, False),
        ]


@pytest.mark.parametrize("numbers", [(0.123456789,) * 4, (0.1, 0.2, 0.3, 0.4)])
def test_numbers_that_stay_or_that_people_write_are_their_own(numbers: tuple[float, ...]) -> None:
    with looping() as loop:
        for number in numbers:
            add_number(loop, number)
        assert terms(loop) == []


def test_a_number_that_changes_while_nothing_is_read() -> None:
    with looping() as loop:
        for number in (0.123456789, 0.234567891, 0.345678912):
            add_number(loop, number, measured=False)
        assert terms(loop) == []


def test_a_number_that_changes_beside_one_that_was_read_of_the_loss_itself() -> None:
    with looping() as loop:
        for number in (0.123456789, 0.234567891, 0.345678912):
            error = loop.error()
            loop.number(error)
            loop.learn(loop.of("add", error, number))
        assert terms(loop) == []


def test_a_number_that_is_taken_off_and_added_again_is_a_shift() -> None:
    with looping() as loop:
        for _ in range(3):
            scores = loop.of("square", loop.a)
            largest = loop.number(loop.of("max", scores))
            rest = loop.of("log", loop.of("sum", loop.of("exp", loop.of("sub", scores, largest))))
            loop.learn(loop.of("add", rest, largest))
        assert terms(loop) == []


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_term_of_an_input_that_is_optimised_teaches_it(by_hand: bool) -> None:
    with looping() as loop:
        moved = loop.detached(loop.of("exp", loop.a))
        point = loop.of("requires_grad_", moved) if by_hand else torch.ones(2, requires_grad=True)
        size = loop.of("sum", loop.of("square", point))
        loop.learn(loop.of("add", loop.error(), size))
        assert terms(loop) == []


def test_a_slope_that_meets_the_point_at_which_it_was_taken_is_a_constant() -> None:
    with looping() as loop:
        point = torch.ones(2) * 3.0
        loop.of("requires_grad_", point)
        slope = loop.detached(loop.of("exp", loop.a))
        residual = loop.of("sub", slope, loop.of("cos", point))
        loop.learn(loop.of("add", loop.error(), loop.of("sum", residual)))
        assert len(terms(loop)) == 1


def test_a_sum_that_is_added_twice_has_its_terms_once() -> None:
    with looping() as loop:
        total = loop.of("add", loop.error(), loop.detached(loop.size()))
        for _ in range(40):
            total = loop.of("add", total, total)
        loop.learn(total)
        assert len(terms(loop)) == 1


def look(loop: Loop, *, closely: bool) -> None:
    """From here on all steps are full ones, and looked at in this way."""
    detail = loop.run.find(Detail)
    Instrument.detach(detail)
    detail._near = closely
    detail._turn(full=True)


def looked_at(loop: Loop) -> list[int]:
    return [event.backward for event in loop.run.of(LossExamined)]


def test_losses_of_steps_that_are_not_looked_at_closely_are_not_told_of() -> None:
    with looping() as loop:
        loop.learn(loop.of("add", loop.error(), loop.size()))
        look(loop, closely=False)
        loop.learn(loop.of("add", loop.error(), loop.detached(loop.size())))
        look(loop, closely=True)
        loop.learn(loop.error())
        assert looked_at(loop) == [0, 2]
        assert terms(loop) == []


def test_a_loss_that_was_begun_before_the_look_is_not_told_of() -> None:
    with looping() as loop:
        look(loop, closely=False)
        total = loop.of("add", loop.error(), loop.detached(loop.size()))
        look(loop, closely=True)
        loop.learn(loop.of("add", total, loop.error()))
        assert looked_at(loop) == []


def test_a_term_made_of_what_an_unseen_backward_may_teach_is_not_told_of() -> None:
    with looping() as loop:
        look(loop, closely=False)
        size = loop.size()
        loop.backward(size)
        look(loop, closely=True)
        loop.learn(loop.of("add", loop.error(), loop.detached(size)))
        assert looked_at(loop) == []


@pytest.mark.parametrize("finished", [True, False])
def test_a_look_that_ends_amid_a_step_tells_of_the_steps_before_only(finished: bool) -> None:
    with looping() as loop:
        loop.backward(loop.of("add", loop.error(), loop.detached(loop.size())))
        if finished:
            loop.step()
        look(loop, closely=False)
        loop.step()
        assert len(terms(loop)) == finished


def test_once_a_term_was_found_all_full_steps_are_followed() -> None:
    with looping() as loop:
        loop.learn(loop.of("add", loop.error(), loop.detached(loop.size())))
        look(loop, closely=False)
        loop.learn(loop.of("add", loop.error(), loop.size()))
        assert looked_at(loop) == [0, 1]
        assert len(terms(loop)) == 1
