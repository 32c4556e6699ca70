"""Models that nothing trains, and when something gave them new weights."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.connectivity import CopyKept
from autograd_doctor.instruments.connectivity.kept_copies import KeptCopies
from tests.watching import watching

Update = Callable[[nn.Linear, nn.Linear], None]


def load(target: nn.Linear, model: nn.Linear) -> None:
    target.load_state_dict(model.state_dict())


@torch.no_grad()
def average(target: nn.Linear, model: nn.Linear) -> None:
    for slow, fast in zip(target.parameters(), model.parameters(), strict=True):
        slow.lerp_(fast, 0.1)


def leave(target: nn.Linear, model: nn.Linear) -> None:
    """A copy that stays as it is."""


def kept(
    update: Update, *, steps: int = 24, until: int = 24, every: int = 1, trains_both: bool = False
) -> list[CopyKept]:
    """What is told of a model, and of a copy that is updated in some steps, and called in all."""
    torch.manual_seed(0)
    with watching(KeptCopies) as events:
        model = nn.Linear(3, 1)
        target = copy.deepcopy(model)
        parameters = [*model.parameters(), *(target.parameters() if trains_both else ())]
        optimizer = SGD(parameters, lr=0.1)
        for step in range(24):
            x = torch.randn(8, 3)
            with torch.no_grad():
                goal = x.sum(1, keepdim=True) + 0.5 * target(x)
            (model(x) - goal).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            if step < until and step % every == 0:
                update(target, model)
    assert not events.failures
    return events.of(CopyKept)


def test_a_copy_that_is_loaded_every_few_steps() -> None:
    (event,) = kept(load, every=4, until=14)
    assert (event.changes, event.longest, event.changed, event.seen) == (3, 4, 13, 23)
    assert event.calls == 10
    assert event.written_at is not None
    assert event.written_at.function == "load"


def test_an_average_of_each_step() -> None:
    (event,) = kept(average)
    assert (event.changes, event.longest, event.changed, event.calls) == (22, 1, 23, 0)
    assert event.written_at is not None
    assert event.written_at.function == "average"


def test_a_copy_that_stays_as_it_is_is_not_told_of() -> None:
    assert kept(leave) == []


def test_whether_a_few_changes_make_a_rhythm_is_for_the_rule_to_say() -> None:
    (event,) = kept(load, every=12)
    assert event.changes == 1


def test_a_model_that_an_optimizer_holds_is_no_copy() -> None:
    assert kept(average, trains_both=True) == []
