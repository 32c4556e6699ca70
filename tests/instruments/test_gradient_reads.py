"""Gradients that the program reads before it takes any step."""

from __future__ import annotations

import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.cycle import GradientsRead
from autograd_doctor.instruments.cycle.gradient_reads import GradientReads
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.signals.collectives import Collective
from tests.inventing import Invented, inventing


def backwards(run: Invented, count: int, *, reads: int) -> None:
    for _ in range(count):
        run.ran_backward(torch.ones((), requires_grad=True) * 2)
        for _ in range(reads):
            run.signals.gradient_reads.read.send(torch.ones(()))


def told(run: Invented) -> list[tuple[int, int]]:
    return [(event.read, event.backwards) for event in run.of(GradientsRead)]


def test_each_backward_counts_once_however_often_its_gradients_are_read() -> None:
    with inventing(GradientReads) as run:
        backwards(run, 5, reads=3)
        assert told(run) == [(1, 1), (2, 2), (4, 4)]


def test_backwards_that_nobody_reads_count_too() -> None:
    with inventing(GradientReads) as run:
        run.signals.gradient_reads.read.send(torch.ones(()))
        assert told(run) == [], "what was there before any backward"
        backwards(run, 3, reads=0)
        backwards(run, 2, reads=1)
        assert told(run) == [(1, 4), (2, 5)]


def test_after_a_step_reads_cost_nothing() -> None:
    with inventing(GradientReads) as run:
        backwards(run, 1, reads=1)
        assert run.signals.gradient_reads.read
        run.train(SGD([nn.Parameter(torch.ones(2))], lr=0.1))
        assert not run.signals.gradient_reads.read
        backwards(run, 1, reads=1)
        assert told(run) == [(1, 1)]


def test_weights_that_go_from_rank_to_rank_behind_a_backward() -> None:
    with inventing(GradientReads) as run:
        weight = nn.Parameter(torch.ones(2))
        run.find(Parameters).number(weight)
        for given in (weight.data, torch.ones(2), weight.data):
            backwards(run, 1, reads=0)
            for _ in range(2):
                run.signals.collectives.begins.send(Collective("broadcast", of_all=True, given=[given]))
        assert [(event.exchanged, event.backwards) for event in run.of(GradientsRead)] == [(1, 1), (2, 3)]
