"""Graphs that a backward kept, and whether they were used again."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.lifetime import GraphRetained
from autograd_doctor.instruments.lifetime import retained_graphs as module
from autograd_doctor.instruments.lifetime.retained_graphs import RetainedGraphs
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns
from tests.inventing import Invented, inventing


def weight() -> nn.Parameter:
    return nn.Parameter(torch.ones(4))


def step(run: Invented) -> None:
    run.train(SGD([weight()], lr=0.1))


def graph() -> torch.Tensor:
    return (weight() + 1).square().sum()  # a square keeps its input: 16 bytes


def test_a_graph_that_was_kept_and_never_used():
    loss = graph()
    with inventing(RetainedGraphs) as run:
        with run.backward(loss, retain_graph=True):
            pass
        step(run)
        assert run.of(GraphRetained) == []
        step(run)
        assert run.of(GraphRetained) == [], "a step is seen when the next backward ends"
        with run.backward(graph()):
            pass
        (event,) = run.of(GraphRetained)
        assert (event.backward, event.create_graph, event.used_again, event.bytes_held) == (0, False, False, 16)
        assert (event.step, event.location is not None) == (2, True)


def test_a_graph_through_which_a_later_backward_ran():
    loss = graph()
    with inventing(RetainedGraphs) as run:
        for retain in (True, False):
            with run.backward(loss, retain_graph=retain):
                pass
        run.session.close()
        assert [(event.backward, event.used_again) for event in run.of(GraphRetained)] == [(0, True)]


def test_an_ordinary_backward_keeps_nothing():
    with inventing(RetainedGraphs) as run:
        with run.backward(graph()):
            pass
        run.session.close()
        assert run.of(GraphRetained) == []


@pytest.mark.parametrize("used", [False, True])
def test_a_second_derivative_is_told_by_the_gradients_in_the_graph(used):
    a = weight()
    loss = a.pow(3).sum()
    with inventing(RetainedGraphs, BackwardRuns) as run:
        with run.backward(loss, create_graph=True, retain_graph=True, inputs=[a], kind="grad") as call:
            (gradient,) = call.result = torch.autograd.grad(loss, [a], create_graph=True)
        if used:
            with run.backward(gradient.sum()):
                pass
        with run.backward(loss):  # runs through the first graph, which is no second derivative
            pass
        run.session.close()
        assert [(event.create_graph, event.used_again) for event in run.of(GraphRetained)] == [(True, used)]


def test_only_the_first_graphs_are_measured():
    losses = [graph() for _ in range(module._MEASURED + 1)]
    with inventing(RetainedGraphs) as run:
        for loss in losses:
            with run.backward(loss, retain_graph=True):
                pass
        run.session.close()
        assert [event.bytes_held for event in run.of(GraphRetained)] == [16] * module._MEASURED + [0]
