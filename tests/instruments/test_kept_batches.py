"""Batches that a line goes on to train on, after others; also those of a session that goes on with another one."""

from __future__ import annotations

import torch
from torch import nn
from torch.optim import SGD, Optimizer

from autograd_doctor.events.data import BatchKept
from autograd_doctor.instruments.data.kept_batches import KeptBatches
from tests.inventing import Invented, inventing

MODEL = nn.Linear(3, 2)


def trained(run: Invented, batch: torch.Tensor, optimizer: Optimizer, steps: int = 1) -> None:
    for _ in range(steps):
        with run.calling(MODEL, batch):
            pass
        run.train(optimizer)


def test_a_batch_that_is_kept_after_others() -> None:
    with inventing(KeptBatches) as run:
        sgd = SGD(MODEL.parameters(), lr=0.1)
        for size in (4, 6, 6):
            trained(run, torch.randn(size, 3), sgd)
        kept = torch.randn(4, 3)
        trained(run, kept, sgd, 4)
        trained(run, kept.clone(), sgd)
    (event,) = run.of(BatchKept)
    assert (event.changes, event.since, event.until, event.steps, event.longest) == (3, 3, 7, 4, 0)
    assert (event.samples, event.largest, event.same_optimizer) == (4, 6, True)


def test_what_is_no_batch_that_is_kept() -> None:
    with inventing(KeptBatches) as run:
        sgd = SGD(MODEL.parameters(), lr=0.1)
        trained(run, torch.randn(4, 3), sgd, 8)
        for _ in range(4):
            trained(run, torch.randn(4, 3), sgd)
        trained(run, torch.randn(1, 3).expand(4, 3), sgd, 8)
        trained(run, torch.randn(4, 3), sgd)
        written = torch.randn(4, 3)
        for _ in range(8):
            trained(run, written.add_(1.0), sgd)
        differentiated = torch.randn(4, 3, requires_grad=True)
        trained(run, differentiated, sgd, 8)
    assert run.of(BatchKept) == []


def test_the_most_steps_on_a_batch_before_and_another_optimizer() -> None:
    with inventing(KeptBatches) as run:
        first, second = (SGD(MODEL.parameters(), lr=0.1) for _ in range(2))
        trained(run, torch.randn(4, 3), first, 5)
        trained(run, torch.randn(4, 3), first)
        trained(run, torch.randn(4, 3), second, 6)
    (event,) = run.of(BatchKept)
    assert (event.longest, event.steps, event.same_optimizer) == (4, 5, False)


def test_a_later_session_of_the_same_run_knows_what_was_given_before() -> None:
    sgd, kept = SGD(MODEL.parameters(), lr=0.1), torch.randn(4, 3)
    with inventing(KeptBatches) as run:
        for _ in range(3):
            trained(run, torch.randn(4, 3), sgd)
    with inventing(KeptBatches, memories=run.session.memories) as later:
        trained(later, kept, sgd, 6)
    (event,) = later.of(BatchKept)
    assert (event.changes, event.steps, event.same_optimizer) == (3, 5, True)
