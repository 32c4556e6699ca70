"""Every backward: what its loss was made of, and what gradients met on the way."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.steps import BackwardRan, NonFiniteGradient
from autograd_doctor.instruments.spine import backward_runs as module
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import CLOSE_STEPS
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading import graph_walk
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.tape import numbers_in
from tests.inventing import Invented, inventing
from tests.watching import watching


def weight(value: float = 1.0) -> nn.Parameter:
    return nn.Parameter(torch.full((2,), value))


def ran(run: Invented) -> BackwardRan:
    return run.of(BackwardRan)[-1]


def step(run: Invented) -> None:
    with run.step(SGD([weight()], lr=0.1)):
        pass


def test_what_a_backward_reached_and_wrote():
    a, b = weight(), weight()
    with inventing(BackwardRuns) as run:
        run.number(b)
        product = run.operated("mul", a * 2, a)
        loss = run.operated("sum", product.sum(), product)
        run.ran_backward(loss)
        event = ran(run)
        assert (event.backward, event.kind, event.step, event.loss, event.error) == (0, "backward", 0, 4.0, "")
        assert (event.values, event.reached, event.wrote, event.cuts) == ([1], [1], [1], [])
        assert (event.root.operation, event.root.shape) == ("sum", [])
        assert event.root.made_at is not None
        assert event.location is not None
        assert (event.nodes, event.divisor, event.zeroings) == (3, 0.0, [])
        assert (event.retain_graph, event.create_graph, event.inputs) == (False, False, 0)
        assert (event.reaches_back, event.reused, event.contains, event.carried_by) == (0, [], [], "")
        assert run.find(Course).last_loss == 4.0


def test_a_root_of_which_nothing_is_known():
    a = weight()
    with inventing(BackwardRuns) as run:
        run.ran_backward(a.sum())
        event = ran(run)
        assert (event.values, event.root.operation, event.root.made_at, event.rewrapped_at) == (None, "", None, None)


@pytest.mark.parametrize(
    ("root", "loss"), [(torch.ones(()), 1.0), (torch.tensor(math.nan), math.nan), (torch.ones(2), None)]
)
def test_the_loss_is_a_single_number(root, loss):
    with inventing(BackwardRuns) as run:
        with run.backward(root):
            pass
        assert str(ran(run).loss) == str(loss)


def test_paths_that_were_cut():
    a, b = weight(), weight()
    with inventing(BackwardRuns) as run:
        lost = run.operated("detach", a.detach(), a)
        loss = run.operated("mul", (b * lost).sum(), b, lost)
        run.ran_backward(loss)
        event = ran(run)
        assert (event.values, event.reached) == ([0, 1], [1])
        assert [(cut.operation, cut.parameters) for cut in event.cuts] == [("detach", [0])]
        assert event.rewrapped_at is None


def test_values_that_were_only_guessed_to_flow_in():
    a, b = weight(), weight()
    with inventing(BackwardRuns) as run:
        run.operated("mul", b * 2, b)
        made = Provenance("tensor", None, 0)
        run.find(Tensors).derive(made, [a])
        guess = torch.ones(2)
        run.find(Tensors).put(guess, Provenance("tensor", None, 0))
        run.find(Tensors).get(guess).absorb(made, connected=False, guessed=True)  # type: ignore[union-attr]
        run.ran_backward(run.operated("mul", (b * guess).sum(), b, guess))
        assert (ran(run).values, ran(run).guessed) == ([0, 1], [1])


def test_a_path_that_was_cut_beside_one_that_was_not_loses_nothing():
    a, b = weight(), weight()
    with inventing(BackwardRuns) as run:
        run.number(b)
        lost = run.operated("detach", a.detach(), a)
        run.ran_backward(run.operated("mul", (a * lost).sum(), a, lost))
        event = ran(run)
        assert (event.values, event.reached, event.cuts) == ([1], [1], [])


def test_of_several_roots_the_first_is_described():
    a, b = weight(), weight(2.0)
    with inventing(BackwardRuns) as run:
        with run.backward(a.sum(), b.sum()):
            pass
        assert (ran(run).loss, ran(run).reached) == (2.0, [0, 1])


def test_gradients_are_followed_during_the_backward_only(monkeypatch):
    looked: list[object] = []
    monkeypatch.setattr(graph_walk, "_magnitude", lambda gradient: looked.append(gradient) or 1.0)
    with inventing(BackwardRuns) as run:
        loss = weight().square().sum()
        with run.backward(loss):
            loss.backward(retain_graph=True)
        seen = len(looked)
        loss.backward()
        assert len(looked) == seen > 0


def test_a_loss_that_was_wrapped_anew():
    a = weight()
    with inventing(BackwardRuns) as run:
        loss = run.operated("sum", a.sum(), a)
        wrapped = run.operated("requires_grad_", loss.detach().requires_grad_(), loss.detach())
        run.find(Tensors).derive(run.find(Tensors).get(wrapped), [loss])  # type: ignore[arg-type]
        run.ran_backward(wrapped)
        event = ran(run)
        assert (event.reached, event.rewrapped_by) == ([], "requires_grad_")
        assert event.rewrapped_at is not None
        both = run.operated("add", wrapped + a.sum(), wrapped, a)
        run.ran_backward(both)
        assert ran(run).rewrapped_at is None, "something was reached"


def test_an_error_of_the_engine_is_told():
    a = weight()
    with inventing(BackwardRuns) as run:
        with run.backward(a.sum(), retain_graph=True, create_graph=True, inputs=[a, a], kind="grad") as call:
            call.error = ValueError("no")
        event = ran(run)
        assert (event.error, event.retain_graph, event.create_graph, event.inputs) == ("ValueError: no", False, True, 2)
        with run.backward(a.sum(), retain_graph=True):
            pass
        assert ran(run).retain_graph


def test_a_backward_that_ended_although_another_began_is_let_alone():
    from autograd_doctor.signals.backward import BackwardCall

    with inventing(BackwardRuns) as run:
        run.signals.backward.began.send(BackwardCall([torch.ones(())], False, False, [], "backward"))
        run.signals.backward.ended.send(BackwardCall([torch.ones(())], False, False, [], "backward"))
        assert run.of(BackwardRan) == []


def test_a_graph_that_goes_back_to_an_earlier_step():
    a = weight()
    with inventing(BackwardRuns) as run:
        carried = run.operated("mul", a * 2, a)
        with run.backward(carried.sum()):
            pass
        step(run)
        loss = run.operated("sum", carried.sum(), carried)
        with run.backward(loss):
            pass
        event = ran(run)
        assert (event.step, event.reaches_back, event.reused, event.contains) == (1, 1, [0], [])
        assert (event.carried_by, event.reaches_back_at is not None) == ("carried", True)
        with run.backward(loss):
            pass
        assert ran(run).contains == [1]


def test_leaves_that_are_no_parameters_count_if_they_have_a_number():
    known, unknown = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    with inventing(BackwardRuns) as run:
        number = run.number(known)
        with run.backward((known * unknown).sum()):
            pass
        assert ran(run).reached == [number]


# ------------------------------------------------------------------------------------------------------------ gradients


def sign(run: Invented, a: nn.Parameter) -> torch.Tensor:
    signs = run.operated("sign", a.sign(), a)
    return run.operated("sum", signs.sum(), signs)


def test_gradients_that_became_zero_on_the_way_are_told():
    a = weight()
    with inventing(BackwardRuns) as run:
        for _ in range(CLOSE_STEPS):
            run.ran_backward(sign(run, a))
            assert [(cut.operation, cut.reason, cut.parameters) for cut in ran(run).cuts] == [
                ("sign", "zero-derivative", [0])
            ]
            step(run)


def test_gradients_are_followed_in_the_first_steps_only():
    a = weight(0.0)
    with inventing(BackwardRuns) as run:
        for steps in range(CLOSE_STEPS + 1):
            run.ran_backward(spoiled(run, a))
            assert len(run.of(NonFiniteGradient)) == min(steps + 1, CLOSE_STEPS)
            a.grad = None
            step(run)


def spoiled(run: Invented, a: nn.Parameter, *, line: int = 0) -> torch.Tensor:
    """Finite, with a gradient that is not."""
    roots = run.operated(f"sqrt{line}", a.sqrt(), a)
    return run.operated("sum", roots.sum(), roots)


def test_the_node_that_made_a_gradient_infinite():
    a = weight(0.0)
    with inventing(BackwardRuns) as run:
        run.ran_backward(spoiled(run, a))
        (event,) = run.of(NonFiniteGradient)
        assert (event.operation, event.node, event.parameters, event.absorbed) == ("sqrt0", "SqrtBackward0", [0], False)
        assert (event.backward, event.location is not None) == (0, True)
        assert ran(run).zeroings == []


def test_a_gradient_that_was_absorbed_is_told_once_for_each_line():
    a = weight(0.0)
    with inventing(BackwardRuns) as run:
        for _ in range(2):
            with run.backward(loss := spoiled(run, a)):
                loss.backward()
                a.grad = torch.ones(2)
        (event,) = run.of(NonFiniteGradient)
        assert (event.parameters, event.absorbed) == ([], True)


def test_only_the_first_spoiled_backwards_are_looked_into():
    a = weight(0.0)
    with inventing(BackwardRuns) as run:
        for _ in range(module._MOST_SPOILED + 1):
            a.grad = None
            run.ran_backward(spoiled(run, a))
        assert len(run.of(NonFiniteGradient)) == module._MOST_SPOILED


def test_a_loss_that_is_spoiled_itself_needs_no_look_at_gradients():
    a = weight(0.0)
    with inventing(BackwardRuns) as run:
        run.ran_backward((a / a).sum())
        run.ran_backward((1 / a).sum())
        assert run.of(NonFiniteGradient) == []


def test_what_spoiled_gradients_that_were_written_is_sent_on():
    a = weight(0.0)
    with inventing(BackwardRuns) as run:
        heard = run.heard(run.find(BackwardRuns).spoiled)
        run.ran_backward(spoiled(run, a))
        assert [each.node.name() for each in heard] == ["SqrtBackward0"]
        a.grad = None
        with run.backward(loss := spoiled(run, a)):
            loss.backward()
            a.grad = torch.ones(2)
        assert len(heard) == 1


@pytest.mark.parametrize("create", [False, True])
def test_gradients_of_parameters_have_a_lineage_where_they_have_a_graph(create):
    a, b = weight(), weight()
    with inventing(BackwardRuns) as run:
        loss = run.operated("mul", (a * b).sum(), a, b)
        with run.backward(loss, create_graph=create):
            a.grad = torch.ones(2)
        assert a.grad is not None
        made = run.find(Tensors).get(a.grad)
        assert (made and (made.operation, made.values, made.connected, made.of_backward)) == (
            ("grad", 3, 3, 0) if create else None
        )


@pytest.mark.parametrize("create", [False, True])
def test_gradients_that_were_asked_for_have_a_lineage(create):
    a, b = weight(), weight()
    with inventing(BackwardRuns) as run:
        loss = run.operated("mul", (a * b).sum(), a, b)
        with run.backward(loss, create_graph=create, inputs=[a, b], kind="grad") as call:
            call.result = (*torch.autograd.grad(loss, [a], create_graph=create), None)
        made = run.find(Tensors).get(call.result[0])
        assert made is not None
        assert (made.operation, numbers_in(made.values)) == ("grad", [0, 1])
        assert (numbers_in(made.connected), made.of_backward) == (([0, 1], 0) if create else ([], None))


def test_gradients_with_a_graph_of_their_own_are_recognised():
    a = weight()
    with inventing(BackwardRuns) as run:
        with run.backward(loss := a.pow(3).sum(), create_graph=True):
            loss.backward(create_graph=True)
        assert a.grad is not None
        with run.backward(a.grad.sum()):
            pass
        assert ran(run).reused == [0]


@pytest.mark.parametrize("by_hook", [True, False])
def test_a_hook_that_spoils_a_gradient_is_told_apart_from_the_node_behind_it(by_hook: bool) -> None:
    def divide(gradient: torch.Tensor) -> torch.Tensor:
        return gradient / 0 if by_hook else gradient

    with watching(BackwardRuns) as run:
        weight = torch.nn.Parameter(torch.zeros(3))
        hidden = weight * 1.0
        hidden.register_hook(divide)
        root = hidden if by_hook else hidden.sqrt()
        sent: list[Any] = []
        run.find(BackwardRuns).spoiled.connect(sent.append, owner="test")
        root.sum().backward()
        assert len(sent) == (not by_hook)
        (event,) = run.of(NonFiniteGradient)
        assert event.operation == ("register_hook" if by_hook else "sqrt")
        assert event.location is not None
        assert (event.location.line == divide.__code__.co_firstlineno) == by_hook
        assert bool(event.operands) != by_hook


def test_a_backward_within_another_is_known_by_its_line():
    a = weight()
    with watching(BackwardRuns) as run:
        SGD([a], lr=0.1)
        loss = torch.zeros((), requires_grad=True)
        loss.register_hook(torch.enable_grad()(lambda gradient: (a * 2).sum().backward()))
        loss.backward()
        (event,) = run.of(BackwardRan)
        assert event.nested_at is not None
        (a * 2).sum().backward()
        assert ran(run).nested_at is None
