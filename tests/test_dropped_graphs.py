"""Graphs that somebody keeps, and graphs that nobody does."""

from __future__ import annotations

import torch

from autograd_doctor.reading.dropped_graphs import DroppedGraphs


def result() -> torch.Tensor:
    return torch.ones(2, requires_grad=True) * 2


def test_those_of_which_only_the_newest_lives_are_dropped():
    graphs: DroppedGraphs[str] = DroppedGraphs(3)
    last = None
    for _ in range(2):
        last = result()
        graphs.built("policy", [last])
        assert not graphs.are_dropped("policy")
    last = result()
    graphs.built("policy", [last])
    assert graphs.are_dropped("policy")
    assert not graphs.are_dropped("critic")


def test_those_of_which_an_older_one_lives_are_kept():
    graphs: DroppedGraphs[str] = DroppedGraphs(3)
    kept = [result() for _ in range(3)]
    for each in kept:
        graphs.built("policy", [each])
    assert not graphs.are_dropped("policy")
    kept[:-1] = []
    del each
    assert graphs.are_dropped("policy")


def test_a_graph_lives_in_what_was_made_of_it():
    graphs: DroppedGraphs[str] = DroppedGraphs(2)
    total = torch.zeros(())
    for _ in range(2):
        given = result()
        graphs.built("policy", [given])
        total = total + given.sum()
    assert not graphs.are_dropped("policy")


def test_one_of_several_results_is_enough():
    graphs: DroppedGraphs[str] = DroppedGraphs(2)
    states = []
    for _ in range(2):
        output, state = result(), result()
        graphs.built("cell", [output, state])
        states.append(state)
    assert not graphs.are_dropped("cell")


def test_what_was_before_a_stretch_is_forgotten():
    graphs: DroppedGraphs[str] = DroppedGraphs(1)
    graphs.within(1).built("policy", [result()])
    assert graphs.within(1)
    assert graphs.are_dropped("policy")
    assert not graphs.within(2)
    assert not graphs.are_dropped("policy")
