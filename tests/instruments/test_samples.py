"""Samples drawn without a gradient, followed to the losses that use them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.distributions import Bernoulli, Distribution, Independent, Normal

from autograd_doctor.events.connectivity import SamplesUsed
from autograd_doctor.instruments.connectivity.samples import Samples
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.custom_functions import FunctionCall
from autograd_doctor.signals.distributions import Draw, Evaluation
from tests.inventing import Invented, inventing


class Program:
    """A mean and a weight that are trained by Adam; each method is one thing that a program does."""

    def __init__(self, run: Invented, *, rows: int = 3) -> None:
        self.run = run
        self.mean = nn.Parameter(torch.arange(1.0, rows * 2 + 1).reshape(rows, 2))
        self.weight = nn.Parameter(torch.ones(2, 1))
        self.optimizer = torch.optim.Adam([self.mean, self.weight])
        run.signals.optimizers.built.send(self.optimizer)
        for parameter in (self.mean, self.weight):
            run.number(parameter)
        self.normal = Normal(self.mean, 1.0, validate_args=False)
        run.operated("broadcast_tensors", self.normal.loc, self.mean)

    def draw(self, distribution: Distribution | None = None, *, grad_enabled: bool = True) -> torch.Tensor:
        distribution = distribution or self.normal
        drawn = distribution.sample()
        self.run.signals.distributions.drawn.send(Draw(distribution, grad_enabled, drawn))
        return drawn

    def log_prob(self, value: Any, distribution: Distribution | None = None) -> torch.Tensor:
        distribution = distribution or self.normal
        difference = self.run.operated("sub", value - distribution.mean, value, distribution.mean)
        result = self.run.operated("pow", difference**2, difference)
        self.run.signals.distributions.evaluated.send(Evaluation(distribution, value, result))
        return result

    def decode(self, sample: torch.Tensor) -> torch.Tensor:
        """A loss that another part of the program computes from a sample."""
        decoded = self.run.operated("matmul", sample @ self.weight, sample, self.weight)
        return self.run.operated("pow", decoded**2, decoded)

    def prior(self) -> torch.Tensor:
        """A loss that trains the distribution."""
        return self.run.operated("pow", self.normal.loc**2, self.normal.loc)

    def mean_of(self, tensor: torch.Tensor) -> torch.Tensor:
        return self.run.operated("mean", tensor.mean(), tensor)

    def add(self, one: torch.Tensor, other: Any) -> torch.Tensor:
        return self.run.operated("add", one + other, one, other)

    def multiply(self, one: torch.Tensor, other: Any) -> torch.Tensor:
        return self.run.operated("mul", one * other, one, other)

    def learn(self, *losses: torch.Tensor) -> list[SamplesUsed]:
        """A backward from each, then a step: what was told about it."""
        for loss in losses:
            with self.run.backward(loss):
                pass
        with self.run.step(self.optimizer):
            pass
        return self.run.of(SamplesUsed)


@pytest.fixture
def program() -> Any:
    with inventing(Samples) as run:
        yield Program(run)


def test_a_sample_in_the_loss_that_trains_its_distribution(program: Program) -> None:
    loss = program.add(program.mean_of(program.decode(program.draw())), program.mean_of(program.prior()))
    (event,) = program.learn(loss)
    assert (event.kind, event.parameters, event.estimated, event.backward) == ("Normal", [[0]], False, 0)
    assert event.location is not None
    assert event.location.function == "Program.draw"


def test_each_loss_of_a_step_and_each_step_for_itself(program: Program) -> None:
    drawn = program.draw()
    first, second = program.decode(drawn), program.decode(drawn)
    assert [event.backward for event in program.learn(first, second, program.prior())] == [0, 1]
    assert len(program.learn(program.decode(drawn))) == 2, "it was drawn in an earlier step"
    assert len(program.learn(program.decode(program.draw()))) == 3


def test_samples_of_one_line_are_told_together(program: Program) -> None:
    one, other = program.decode(program.draw()), program.decode(program.draw())
    (event,) = program.learn(program.add(one, other))
    assert event.parameters == [[0]]


def test_what_is_left_at_the_end_is_told(program: Program) -> None:
    with program.run.backward(program.decode(program.draw())):
        pass
    program.run.find(Samples).finish()
    assert len(program.run.of(SamplesUsed)) == 1


# ------------------------------------------------------------------------------------------------ what is followed


def test_samples_that_could_not_have_had_a_gradient_are_not_followed(program: Program) -> None:
    constant = program.draw(Normal(torch.zeros(3, 2), 1.0))
    discrete = program.draw(Bernoulli(logits=program.mean))
    silent = program.draw(grad_enabled=False)
    assert program.learn(*map(program.decode, (constant, discrete, silent))) == []


def test_a_distribution_of_independent_dimensions_goes_by_its_own_name(program: Program) -> None:
    (event,) = program.learn(program.decode(program.draw(Independent(program.normal, 1))))
    assert event.kind == "Normal"


def test_nothing_but_draws_is_listened_to_before_a_sample_was_drawn_and_after_the_step(program: Program) -> None:
    def heard() -> list[bool]:
        """Whether each listener hears every operation."""
        signals = program.run.signals.operations.ended, program.run.signals.custom_functions.ended
        owned = [each for signal in signals for each in signal.listeners if isinstance(each.owner, Samples)]
        return [each.wants is None or each.wants("mul") for each in owned]

    assert heard() == [False]
    drawn = program.draw()
    assert heard() == [False, True, True]
    program.learn(program.decode(drawn))
    assert heard() == [False]


def test_what_normal_drew_has_a_graph_and_no_gradient(program: Program) -> None:
    told = program.run.operated("mul", program.mean * 1, program.mean)
    drawn = program.run.operated("normal", torch.normal(told, 1.0), told)
    assert drawn.requires_grad
    (event,) = program.learn(program.decode(drawn))
    assert (event.kind, event.estimated) == ("torch.normal", False)


def test_no_more_samples_of_a_step_than_fit(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograd_doctor.instruments.connectivity.samples._MOST_SAMPLES", 1)
    first, second = program.draw(), program.draw()
    assert program.learn(program.decode(second)) == []
    assert program.learn(program.decode(first)) == []
    assert len(program.learn(program.decode(program.draw()))) == 1, "there is room again"


def test_nothing_of_light_steps_is_followed(program: Program) -> None:
    drawn = program.draw()
    detail = program.run.find(Detail)
    program.run.attend(Attention.LIGHT)
    detail.turned.relay(detail)
    loss = program.decode(drawn)
    another = program.decode(program.draw())
    program.run.attend(Attention.FULL)
    assert program.learn(loss, another) == []


def test_the_last_full_step_is_told_of(program: Program) -> None:
    detail = program.run.find(Detail)
    assert len(program.learn(program.decode(program.draw()))) == 1
    with program.run.backward(program.decode(program.draw())):
        detail.turned.relay(detail)
    assert len(program.learn()) == 1, "the rest of the step was not seen"
    program.run.find(Course).step_taken.connect(lambda course: detail.turned.relay(detail), owner="test", order=-1)
    assert len(program.learn(program.decode(program.draw()))) == 2


def test_what_a_backward_computes_again_is_not_followed(program: Program) -> None:
    with program.run.backward(program.prior()):
        drawn = program.draw()
    assert program.learn(program.decode(drawn)) == []
    drawn = program.draw()
    with program.run.backward(program.prior()):
        inside = drawn @ program.weight
        program.run.operated("matmul", inside, drawn, program.weight)
        program.run.signals.custom_functions.ended.send(FunctionCall(torch.autograd.Function, (drawn,), {}, inside))
    assert program.learn(inside) == []
    with program.run.backward(program.prior()):
        program.log_prob(torch.ones(3, 2))
    assert len(program.learn(program.decode(program.draw()))) == 1


def test_a_sample_goes_on_without_a_graph(program: Program) -> None:
    drawn = program.draw()
    moved = program.run.operated("tanh", drawn.tanh(), drawn)
    joined = program.run.operated("stack", torch.stack([moved, moved]), [moved, moved])
    assert len(program.learn(program.decode(joined))) == 1


def test_a_sample_that_is_written_into_a_buffer(program: Program) -> None:
    drawn, buffer, other = program.draw(), torch.zeros(4, 2), torch.zeros(4, 2)
    buffer[:3] = drawn
    program.run.operated("__setitem__", None, buffer, slice(3), drawn)
    view = other[:3]
    program.run.operated("copy_", view.copy_(drawn), view, drawn)
    assert len(program.learn(program.decode(buffer), program.decode(other))) == 2


def test_a_sample_that_goes_through_a_custom_function(program: Program) -> None:
    drawn = program.draw()
    result = drawn @ program.weight
    program.run.signals.custom_functions.ended.send(FunctionCall(torch.autograd.Function, (drawn,), {}, result))
    with torch.no_grad():
        lost = drawn * 2
    program.run.signals.custom_functions.ended.send(FunctionCall(torch.autograd.Function, (drawn,), {}, lost))
    assert len(program.learn(result)) == 1


def test_outputs_that_are_one_input_each(program: Program) -> None:
    drawn, data = program.draw(), torch.ones(4, 1, 2)
    one, other = torch.broadcast_tensors(drawn, data)
    program.run.operated("broadcast_tensors", (one, other), drawn, data)
    assert [event.backward for event in program.learn(program.decode(other), program.decode(one))] == [1]


@pytest.mark.parametrize("name", ["detach", "data", "long", "zeros_like", "requires_grad_", "under no_grad"])
def test_where_the_program_wants_no_gradient(program: Program, name: str) -> None:
    drawn = program.draw()
    made = {
        "detach": lambda: drawn.detach(),
        "data": lambda: drawn.data,
        "long": lambda: drawn.long(),
        "zeros_like": lambda: torch.zeros_like(drawn),
        "requires_grad_": lambda: drawn.clone().requires_grad_(),
        "under no_grad": lambda: drawn * 2,
    }[name]()
    program.run.operated(name, made, drawn, grad_enabled=name != "under no_grad")
    made = program.run.operated("float", made.float(), made) if name == "long" else made
    assert program.learn(program.decode(made)) == []


def test_what_had_a_graph_and_lost_it_is_a_target(program: Program) -> None:
    decoded = program.decode(program.draw())
    target = program.run.operated("detach", decoded.detach(), decoded)
    assert program.learn(program.add(program.prior().sum(), target.sum()), program.add(program.prior(), target)) == []


def test_numbers_are_not_followed(program: Program) -> None:
    drawn = program.draw()
    program.run.escaped("tolist", drawn, drawn)
    assert program.learn(program.prior()) == []


# --------------------------------------------------------------------------- where it meets its own distribution


def test_a_sample_that_is_added_to_the_loss_meets_nothing(program: Program) -> None:
    """As a critic does that is frozen: no gradient goes through it at all."""
    cost = program.mean_of(program.draw())
    total = program.add(program.mean_of(program.prior()), cost)
    assert len(program.learn(program.multiply(total, 0.5))) == 1


def test_a_sample_that_meets_its_distribution_by_hand_is_not_used(program: Program) -> None:
    drawn = program.draw()
    difference = program.run.operated("sub", drawn - program.normal.loc, drawn, program.normal.loc)
    squared = program.run.operated("pow", difference**2, difference)
    assert program.learn(squared) == []


def test_what_was_computed_by_hand_estimates_where_data_weigh_it(program: Program) -> None:
    def by_hand() -> tuple[torch.Tensor, torch.Tensor]:
        drawn = program.draw()
        difference = program.run.operated("sub", drawn - program.normal.loc, drawn, program.normal.loc)
        return drawn, program.run.operated("pow", difference**2, difference)

    drawn, squared = by_hand()
    assert not program.learn(program.add(program.decode(drawn), squared))[-1].estimated
    drawn, squared = by_hand()
    weighted = program.multiply(squared, program.normal.loc)
    assert not program.learn(program.add(program.decode(drawn), weighted))[-1].estimated, "as by a scale"
    drawn, squared = by_hand()
    weighted = program.multiply(squared, torch.ones(3, 2))
    assert program.learn(program.add(program.decode(drawn), weighted))[-1].estimated


def test_a_reward_meets_a_log_probability_by_hand(program: Program) -> None:
    """The sample itself comes in by the weight only."""
    drawn = program.draw()
    reward = program.run.operated("neg", -drawn, drawn)
    assert program.learn(program.multiply(program.prior(), reward)) == []


# ---------------------------------------------------------------------------------------- log-probabilities of it


def test_a_log_probability_that_is_added_estimates_nothing(program: Program) -> None:
    drawn = program.draw()
    entropy = program.multiply(program.log_prob(drawn), 0.2)
    entropy = program.multiply(entropy, torch.tensor(0.5))
    loss = program.add(program.mean_of(entropy), program.mean_of(program.decode(drawn)))
    (event,) = program.learn(loss)
    assert not event.estimated


@pytest.mark.parametrize("how", ["returns", "ratio", "of it", "negated", "first"])
def test_a_log_probability_that_is_weighted_estimates(program: Program, how: str) -> None:
    drawn = program.draw()
    score = program.log_prob(drawn)
    if how == "returns":
        score = program.multiply(score, torch.ones(3, 2))
    elif how == "ratio":
        score = program.run.operated("exp", score.exp(), score)
    elif how == "of it":
        score = program.multiply(score, program.mean_of(drawn))
    elif how == "negated":
        score = program.multiply(program.multiply(score, -1), torch.ones(3, 2))
    elif how == "first":
        score = program.multiply(torch.ones(3, 2), score)
    loss = program.add(program.mean_of(score), program.mean_of(program.decode(drawn)))
    (event,) = program.learn(loss)
    assert event.estimated


def test_an_estimate_may_be_in_another_loss_of_the_step(program: Program) -> None:
    drawn = program.draw()
    used = program.decode(drawn)
    score = program.multiply(program.log_prob(drawn), torch.ones(3, 2))
    assert [event.estimated for event in program.learn(used, score)] == [True]
    assert not program.learn(program.decode(program.draw()))[-1].estimated


@pytest.mark.parametrize(("factor", "estimated"), [(2.5, True), (-1, False), (torch.tensor(2.5), True)])
def test_one_draw_alone_may_be_weighed_by_a_number(factor: Any, estimated: bool) -> None:
    with inventing(Samples) as run:
        program = Program(run, rows=1)
        drawn = program.draw()
        score = program.multiply(program.log_prob(drawn), factor)
        (event,) = program.learn(program.add(program.mean_of(score), program.mean_of(program.decode(drawn))))
        assert event.estimated is estimated


def test_a_draw_of_one_dimension_is_one_draw(program: Program) -> None:
    row = program.run.operated("select", program.normal.loc[0], program.normal.loc)
    distribution = Normal(row, 1.0)
    drawn = program.draw(distribution)
    score = program.multiply(program.log_prob(drawn, distribution), 2.5)
    (event,) = program.learn(program.add(program.mean_of(score), program.mean_of(program.decode(drawn))))
    assert event.estimated


def test_the_log_probability_of_another_distribution_estimates_nothing(program: Program) -> None:
    drawn = program.draw()
    loc = program.run.operated("t", program.weight.t().expand(3, 2), program.weight)
    score = program.multiply(program.log_prob(drawn, Normal(loc, 1.0)), torch.ones(3, 2))
    loss = program.add(program.mean_of(score), program.mean_of(program.decode(drawn)))
    (event,) = program.learn(loss)
    assert not event.estimated


def log_probability_without_gradient(program: Program, drawn: torch.Tensor) -> torch.Tensor:
    score = program.log_prob(drawn)
    return program.run.operated("detach", score.detach(), score)


@pytest.mark.parametrize("how", ["contrast", "weight"])
def test_what_is_weighed_against_its_density_is_a_proposal(program: Program, how: str) -> None:
    drawn = program.draw()
    used, density = program.decode(drawn), log_probability_without_gradient(program, drawn)
    if how == "contrast":
        left = program.run.operated("sub", used - density, used, density)
        loss = program.run.operated("logsumexp", left.logsumexp(0), left)
    else:
        loss = program.multiply(program.run.operated("exp", density.exp(), density), used)
    assert program.learn(program.add(program.mean_of(program.prior()), program.mean_of(loss))) == []


def test_a_density_beside_the_loss_says_nothing(program: Program) -> None:
    """As where it is added for the eye, or teaches a temperature."""
    drawn = program.draw()
    used, density = program.decode(drawn), log_probability_without_gradient(program, drawn)
    temperature = program.mean_of(program.multiply(density, program.weight.sum()))
    added = program.add(program.mean_of(used), program.mean_of(density))
    assert len(program.learn(program.add(program.add(added, temperature), program.mean_of(program.prior())))) == 1


def test_asking_for_a_log_probability_is_no_use(program: Program) -> None:
    drawn = program.draw()
    fixed = program.log_prob(drawn, Normal(torch.zeros(3, 2), 1.0))
    loc = program.run.operated("t", program.weight.t().expand(3, 2), program.weight)
    learned = program.log_prob(drawn, Normal(loc, 1.0))
    assert program.learn(program.add(learned, fixed), program.log_prob(drawn)) == []


def test_a_sample_that_a_distribution_is_made_of_is_used(program: Program) -> None:
    drawn = program.draw()
    loc = program.run.operated("mul", drawn * program.weight.t(), drawn, program.weight)
    assert len(program.learn(program.log_prob(torch.ones(3, 2), Normal(loc, 1.0)))) == 1
    drawn = program.draw()
    likelihood = program.log_prob(torch.ones(3, 2), Normal(drawn, 1.0))
    assert len(program.learn(program.add(program.prior(), likelihood))) == 2


def test_a_distribution_that_learns_by_the_likelihood_of_data_is_not_told_of(program: Program) -> None:
    used = program.decode(program.draw())
    likelihood = program.log_prob(torch.ones(3, 2))
    assert program.learn(program.add(used, likelihood)) == []
    assert len(program.learn(program.decode(program.draw()))) == 1, "that was in another step"


def test_the_likelihood_of_another_sample_counts_as_of_data(program: Program) -> None:
    loc = program.run.operated("t", program.weight.t().expand(3, 2), program.weight)
    other = program.draw(Normal(loc, 1.0))
    used = program.decode(program.draw())
    program.log_prob(other)
    assert program.learn(used) == []


def test_slopes_are_no_losses(program: Program) -> None:
    drawn = program.draw()
    with program.run.backward(program.decode(drawn), kind="grad", inputs=[drawn]):
        pass
    assert program.learn() == []
    drawn = program.draw()
    with program.run.backward(program.decode(drawn), kind="grad", inputs=[program.mean]):
        pass
    assert len(program.learn()) == 1


def test_no_sample_is_kept_alive(program: Program) -> None:
    import weakref

    drawn = program.draw()
    reference = weakref.ref(drawn)
    del drawn
    assert reference() is None
    assert program.run.find(Course).steps == 0
