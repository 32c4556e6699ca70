"""What a block without gradients makes is followed to where autograd has to do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import nn

from autograd_doctor.findings import Location
from autograd_doctor.instruments.connectivity.grad_modes import GradModes
from autograd_doctor.instruments.efficiency.blocks_without_gradients import BlocksWithoutGradients
from autograd_doctor.signals.attention import Attention
from tests.watching import Recorded, watching

X = torch.linspace(-1, 1, 8)


class Run:
    """A program with a block, in which `rest` lets no operation be seen any more."""

    def __init__(self, events: Recorded) -> None:
        self._events = events
        self.blocks = events.find(BlocksWithoutGradients)
        self.weight = nn.Parameter(torch.ones(8))
        self.switch: Location | None = None

    @contextmanager
    def block(self) -> Iterator[None]:
        with torch.no_grad():
            self.switch = self._location()
            yield

    def rest(self) -> None:
        self._events.attend(Attention.LIGHT)
        self._events.session.signals.operations.rest("light step")

    def doze(self) -> None:
        self._events.session.signals.operations.dozing = True

    def train(self, used: torch.Tensor) -> None:
        (self.weight * used).sum().backward()

    def _location(self) -> Location | None:
        switch = self._events.find(GradModes).switch
        return switch.location if switch is not None else None


def met(program: Callable[[Run], object]) -> str | None:
    with watching(BlocksWithoutGradients) as events:
        run = Run(events)
        kept = program(run)  # it holds what the program has kept
        meeting = run.blocks.met(run.switch)
        del kept
    return meeting.by if meeting is not None else None


def saved_by_a_graph(run: Run) -> None:
    with run.block():
        made = X.cos()
    run.train(made)


def made_without_a_tensor_before(run: Run) -> None:
    with run.block():
        made = torch.arange(8.0)
    run.train(made)


def summed_up_in_place(run: Run) -> None:
    with run.block():
        made = torch.zeros(8)
        made += run.weight
        order = made.topk(8).indices
    run.train(order)


def work_on_data_that_dozes(run: Run) -> None:
    run.doze()
    with run.block():
        made = X.cos()
    run.doze()
    run.train(made)


def written_to(run: Run) -> torch.Tensor:
    with run.block():
        made = X.cos()
    return made.mul_(0.9)


def written_to_without_gradients(run: Run) -> torch.Tensor:
    with run.block():
        made = X.cos()
    with torch.no_grad():
        return made.mul_(0.9)


def gradients_within(run: Run) -> None:
    with run.block(), torch.enable_grad():
        run.weight.exp()


def given_to_a_parameter(run: Run) -> None:
    with run.block():
        run.weight.data = X.clone()


def a_lazy_parameter(run: Run) -> nn.Module:
    lazy = nn.LazyLinear(2)
    with run.block():
        lazy(X)
    return lazy


def saved_unseen(run: Run) -> torch.Tensor:
    with run.block():
        made = X.cos()
    run.rest()
    run.train(made)
    return made


def a_view_saved_unseen(run: Run) -> torch.Tensor:
    with run.block():
        made = torch.stack((X, X)).cos()
    run.rest()
    run.train(made[1])
    return made


def written_to_unseen(run: Run) -> torch.Tensor:
    with run.block():
        made = X.cos()
    run.rest()
    return made.mul_(0.9)


def made_to_learn_unseen(run: Run) -> torch.Tensor:
    with run.block():
        made = X.cos()
    run.rest()
    return made.requires_grad_()


@pytest.mark.parametrize(
    ("program", "by"),
    [
        (saved_by_a_graph, "mul"),
        (made_without_a_tensor_before, "mul"),
        (summed_up_in_place, "mul"),
        (work_on_data_that_dozes, "mul"),
        (written_to, "mul_"),
        (written_to_without_gradients, "mul_"),
        (gradients_within, "exp"),
        (given_to_a_parameter, "clone"),
        (a_lazy_parameter, "empty"),
        (saved_unseen, "backward"),
        (a_view_saved_unseen, "backward"),
        (written_to_unseen, "not known"),
        (made_to_learn_unseen, "not known"),
    ],
)
def test_what_a_block_made_is_met(program: Callable[[Run], object], by: str) -> None:
    assert met(program) == by


def used_up(run: Run) -> float:
    with run.block():
        value = (run.weight * X).sum().item()
    run.train(X)
    return value


def a_view_of_data(run: Run) -> None:
    with run.block():
        batch = X[2:].detach()
    (run.weight[2:] * batch).sum().backward()


def computed_with_out_of_place(run: Run) -> torch.Tensor:
    with run.block():
        made = X.cos()
    run.train(made * 0.9 + X)
    return made


def kept_without_use(run: Run) -> torch.Tensor:
    with run.block():
        made = X.cos()
    run.rest()
    run.train(X)
    return made


def written_to_in_the_next_block(run: Run) -> torch.Tensor:
    with run.block():
        made = X.cos()
    run.rest()
    with run.block():
        made += X
    run.train(X)
    return made


def an_argument_written_to(run: Run) -> torch.Tensor:
    made = torch.zeros(8)
    with run.block():
        made += X
    run.train(made)
    return made


@pytest.mark.parametrize(
    "program",
    [
        used_up,
        a_view_of_data,
        computed_with_out_of_place,
        kept_without_use,
        written_to_in_the_next_block,
        an_argument_written_to,
    ],
)
def test_what_inference_mode_allows_is_not_met(program: Callable[[Run], object]) -> None:
    assert met(program) is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "no_grad", torch.inference_mode)
        assert met(program) is None, "it runs"


def test_what_an_inner_block_made_is_met_in_the_outer_one() -> None:
    def program(run: Run) -> torch.Tensor:
        with torch.no_grad():
            with run.block():
                made = X.cos()
            return made.mul_(0.9)

    assert met(program) == "mul_"


def test_blocks_of_other_switches_are_told_apart() -> None:
    def program(run: Run) -> None:
        with torch.no_grad():
            other = X.cos()
        with run.block():
            X.cos()
        run.train(other)

    assert met(program) is None


def test_a_switch_by_a_call_is_in_force_until_the_next_one() -> None:
    def switched(run: Run) -> None:
        torch.set_grad_enabled(False)
        run.switch = run._location()
        made = X.cos()
        torch.set_grad_enabled(True)
        after = X.sin()
        run.train(made if uses_made else after)

    for uses_made in (True, False):
        assert met(switched) == ("mul" if uses_made else None)


def test_a_block_is_followed_while_its_operations_are_seen() -> None:
    with watching(BlocksWithoutGradients) as events:
        run = Run(events)
        found = [run.blocks.follows]
        with run.block():
            found.append(run.blocks.follows)
            run.rest()
            found.append(run.blocks.follows)
    assert found == [False, True, False]
