"""Scalars with a graph: which of them nothing takes in, and what counts as a use."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.connectivity import LossDropped, TermIdle, TermUsed
from autograd_doctor.instruments.connectivity.idle_terms import IdleTerms
from autograd_doctor.instruments.instrument import Instrument
from autograd_doctor.instruments.spine.detail import Detail
from tests.inventing import Invented, inventing

Use = Callable[[torch.Tensor], object]


class Training:
    """A model whose loss goes backward, and a term beside it."""

    def __init__(self, run: Invented) -> None:
        self.run = run
        self.model = nn.Linear(2, 1)
        self.optimizer = SGD(self.model.parameters(), lr=0.1)
        run.signals.optimizers.built.send(self.optimizer)

    def term(self) -> torch.Tensor:
        """Nothing of the test refers to it but what calls this."""
        weight = self.model.weight
        term = weight.square().sum()
        self.run.operated("sum", term, weight)
        self.run.nodes.clear()
        return term

    def train(self) -> None:
        self.run.ran_backward(self.model(torch.ones(1, 2)).sum())
        with self.run.step(self.optimizer):
            self.optimizer.step()

    def steps(self, count: int, use: Use = lambda term: None) -> None:
        for _ in range(count):
            term = self.term()
            use(term)
            self.train()
            del term


def told(run: Invented) -> list[tuple[int, int]]:
    return [(event.idle, event.steps) for event in run.of(TermIdle)]


def test_a_term_that_dies_unused_is_told_after_three_steps_and_when_they_have_doubled() -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)
        training.steps(3)
        assert told(run) == [], "the last one was alive at the end of its step"
        training.steps(1)
        assert told(run) == [(3, 4)]
        training.steps(4)
        assert told(run) == [(3, 4), (6, 7)]
        (event, _) = run.of(TermIdle)
        assert (event.operation, event.name, event.parameters) == ("sum", "term", [0])
        assert event.location is not None
    assert told(run)[2:] == [(7, 8)], "the last word"
    assert run.of(TermUsed) == []


def test_without_an_optimizer_that_holds_what_it_is_made_of_it_is_no_term() -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)
        training.model = nn.Linear(2, 1)
        training.steps(6)
        assert told(run) == []


@pytest.mark.parametrize(
    "result", [torch.ones(2), torch.ones((), dtype=torch.int64), torch.ones(())], ids=["vector", "whole", "constant"]
)
def test_what_is_no_scalar_with_a_graph_is_no_term(result: torch.Tensor) -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)
        for _ in range(6):
            run.operated("sum", result.clone(), training.model.weight)
            training.train()
        assert told(run) == []


def reading(run: Invented, how: str) -> Use:
    """A use of one kind, as its signal tells of it."""

    def backward(term: torch.Tensor) -> None:
        run.ran_backward(term)

    def slope(term: torch.Tensor) -> None:
        with run.backward(term, kind="grad"):
            pass

    def taken_in(term: torch.Tensor) -> None:
        run.operated("stack", torch.ones(1), [term, term])

    def escaped(term: torch.Tensor) -> None:
        run.escaped("item", 1.0, term)

    def shown(term: torch.Tensor) -> None:
        run.signals.operations.shown.send(term)

    def pickled(term: torch.Tensor) -> None:
        run.signals.states.pickling.send(term)

    uses: dict[str, Use] = {use.__name__: use for use in (backward, slope, taken_in, escaped, shown, pickled)}
    return uses[how]


@pytest.mark.parametrize("how", ["backward", "slope", "taken_in", "escaped", "shown", "pickled"])
@pytest.mark.parametrize("late", [False, True])
def test_one_use_is_enough_for_all_of_its_place(how: str, late: bool) -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)
        training.steps(5 if late else 0)
        before = len(told(run))
        assert before == late
        training.steps(1, reading(run, how))
        training.steps(9)
        assert len(told(run)) == before
        assert len(run.of(TermUsed)) == late
        assert [event.location for event in run.of(TermUsed)] == [event.location for event in run.of(TermIdle)]


def test_the_last_of_a_chain_alone_can_be_idle() -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)

        def scale(term: torch.Tensor) -> None:
            run.operated("mul", term * 0.5, term)
            run.nodes.clear()

        training.steps(5, scale)
        assert {event.operation for event in run.of(TermIdle)} == {"mul"}


@pytest.mark.parametrize("shape", [(), (1,)])
def test_what_one_line_adds_up_is_one_term(shape: tuple[int, ...]) -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)
        for _ in range(5):
            total = training.term()
            for _ in range(3):
                more = (total + training.model.weight.sum()).reshape(shape if total.dim() else ())
                total = run.operated("add", more, total, training.model.weight)
            run.operated("add", total.reshape(shape), total)
            run.nodes.clear()
            training.train()
            del total, more
        assert {event.operation for event in run.of(TermIdle)} == ({"add"} if shape == () else set())


def test_what_is_kept_is_not_idle_yet() -> None:
    kept: list[torch.Tensor] = []
    with inventing(IdleTerms) as run:
        Training(run).steps(6, kept.append)
        assert told(run) == []


def test_many_of_one_step_are_parts_of_something() -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)
        training.steps(6, lambda term: training.term())
        assert len(told(run)) == 0


def test_terms_of_an_evaluation_are_none_of_training() -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)
        for _ in range(6):
            training.model.eval()
            output = training.model(torch.ones(1, 2))
            with run.calling(training.model, torch.ones(1, 2), output=output):
                pass
            with run.calling(nn.MSELoss(), output, output=output.sum()):
                pass
            training.term()
            training.model.train()
            training.train()
        assert told(run) == []


def test_where_a_tracker_is_switched_off_nothing_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", sys)
    with inventing(IdleTerms) as run:
        Training(run).steps(6)
        assert told(run) == []


def light(run: Invented, *, full: bool = False) -> None:
    run.find(Detail)._turn(full=full)


def test_reads_are_watched_in_light_steps_while_there_is_a_suspect() -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)
        reads = run.signals.value_reads.read
        training.steps(2)
        assert not reads
        training.steps(3)
        assert reads
        light(run)
        reads.send(training.model(torch.ones(1, 2)).sum())
        reads.send(training.model.weight)
        reads.send(torch.ones(()))
        assert run.of(TermUsed) == []
        reads.send(training.model.weight.square().sum())
        assert len(run.of(TermUsed)) == 1
        training.train()
        assert not reads


def test_what_was_made_in_a_full_step_may_be_read_after_it() -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)
        training.steps(5)
        term = training.term()
        light(run)
        light(run, full=True)
        run.signals.value_reads.read.send(term)
        assert len(run.of(TermUsed)) == 1


def test_what_lived_on_into_a_light_step_is_not_idle() -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)
        training.steps(2)
        term = training.term()
        light(run)
        del term
        light(run, full=True)
        training.train()
        training.steps(1)
        assert told(run) == []


def look(run: Invented, *, closely: bool) -> None:
    """From here on all steps are full ones, and looked at in this way."""
    detail = run.find(Detail)
    Instrument.detach(detail)
    detail._near = closely
    detail._turn(full=True)


def test_steps_that_are_not_looked_at_closely_do_not_count() -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)
        training.steps(1)
        look(run, closely=False)
        training.steps(5)
        look(run, closely=True)
        training.steps(4)
        assert told(run) == [(3, 4)], "one of the first look, and of the second those that have died"


def test_while_there_is_a_suspect_all_full_steps_are_listened_to() -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)
        training.steps(3)
        look(run, closely=False)
        training.steps(2)
        assert told(run) == [(3, 4)]
        training.steps(1, reading(run, "taken_in"))
        assert len(run.of(TermUsed)) == 1
        training.steps(1)
        assert not any(isinstance(heard.owner, IdleTerms) for heard in run.signals.operations.ended.listeners)


def test_a_scalar_that_was_only_read_is_told_of_once_when_it_has_died() -> None:
    with inventing(IdleTerms) as run:
        training = Training(run)
        training.steps(1, reading(run, "escaped"))
        assert run.of(LossDropped) == [], "it was alive at the end of its step"
        training.steps(6, reading(run, "shown"))
        (event,) = run.of(LossDropped)
        assert (event.operation, event.parameters) == ("sum", [0])
        assert run.of(TermUsed) == []
        training.steps(1, run.ran_backward)
        training.steps(1, run.ran_backward)
        assert [(used.location, used.operation) for used in run.of(TermUsed)] == [(event.location, "sum")]


@pytest.mark.parametrize("how", ["backward", "taken_in_with_a_graph", "pickled_first", "unknown", "kept"])
def test_a_scalar_that_goes_further_than_that_is_not_dropped(how: str) -> None:
    kept = []
    with inventing(IdleTerms) as run:
        training = Training(run)

        def use(term: torch.Tensor) -> None:
            reading(run, "escaped")(term)
            if how == "backward":
                run.ran_backward(term)
            elif how == "taken_in_with_a_graph":
                run.operated("mul", term * 2.0, term)
            elif how == "pickled_first":
                reading(run, "pickled")(term)
                run.ran_backward(term)
            elif how == "kept":
                kept.append(term)

        if how == "unknown":
            training.model = nn.Linear(2, 1)
        training.steps(3, use)
        assert run.of(LossDropped) == []
