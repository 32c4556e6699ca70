"""Work that ran after a bare call that switched gradients off and was never undone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.connectivity import GradModeLeftOff
from autograd_doctor.instruments.connectivity.grad_mode_left import GradModeLeft
from autograd_doctor.signals.grad_modes import GradSwitched
from tests.inventing import Invented, inventing


@pytest.fixture(autouse=True)
def _gradients_on() -> Iterator[None]:
    yield
    torch._C._set_grad_enabled(True)


def switch(run: Invented, signal: str, which: Any, enabled: bool = False) -> None:
    getattr(run.signals.grad_modes, signal).send(GradSwitched(which, enabled, sys._getframe(1)))


def off(run: Invented) -> Any:
    setter = torch.set_grad_enabled(True)
    switch(run, "called", setter)
    return setter


def forward(run: Invented, module: nn.Module) -> None:
    with run.calling(module):
        pass


ALONE = SGD([nn.Parameter(torch.ones(1))], lr=0.1)
"""Steps again and again without a backward."""


def step(run: Invented) -> None:
    with run.step(ALONE):
        pass


LOSS, CONNECTED = torch.ones(()), torch.ones((), requires_grad=True) * 2


def test_left_off_when_a_backward_finds_no_graph():
    with inventing(GradModeLeft) as run:
        off(run)
        forward(run, nn.Linear(1, 1))
        assert run.of(GradModeLeftOff) == []
        with run.backward(LOSS):
            pass
        (event,) = run.of(GradModeLeftOff)
        assert (event.switch.form, event.work is not None) == ("call", True)
        off(run)
        with run.backward(LOSS):
            pass
        assert len(run.of(GradModeLeftOff)) == 1
        assert not run.signals.modules.began


def test_left_off_when_a_backward_without_any_forward_finds_no_graph():
    with inventing(GradModeLeft) as run:
        with run.backward(LOSS):
            pass
        assert run.of(GradModeLeftOff) == []
        off(run)
        with run.backward(LOSS):
            pass
        assert run.of(GradModeLeftOff)[0].work is not None


def test_left_off_when_a_step_was_taken_without_a_backward():
    with inventing(GradModeLeft) as run:
        off(run)
        step(run)
        assert run.of(GradModeLeftOff) == []
        forward(run, nn.Linear(1, 1))
        step(run)
        assert len(run.of(GradModeLeftOff)) == 1


def test_a_backward_with_a_graph_proves_that_gradients_were_on():
    with inventing(GradModeLeft) as run:
        off(run)
        forward(run, nn.Linear(1, 1))
        with run.backward(LOSS, CONNECTED):
            pass
        step(run)
        assert run.of(GradModeLeftOff) == []


def test_evaluation_may_run_without_gradients():
    with inventing(GradModeLeft) as run:
        off(run)
        forward(run, nn.Linear(1, 1).eval())
        step(run)
        assert run.of(GradModeLeftOff) == []


def test_a_switch_that_was_undone_is_followed_no_more():
    with inventing(GradModeLeft) as run:
        setter = off(run)
        assert run.signals.modules.began
        forward(run, nn.Linear(1, 1))
        switch(run, "decorated", setter, True)
        assert not run.signals.modules.began
        step(run)
        off(run)
        off(run)
        run.session.detach(GradModeLeft)
        assert not run.signals.modules.began


def test_a_block_inside_does_not_end_the_watch():
    with inventing(GradModeLeft) as run:
        setter, block = off(run), torch.no_grad()
        switch(run, "entered", block)
        forward(run, nn.Linear(1, 1))
        step(run)
        assert run.of(GradModeLeftOff) == [], "the block switched it off at that moment"
        switch(run, "exited", block, False)
        assert run.signals.modules.began
        forward(run, nn.Linear(1, 1))
        step(run)
        assert len(run.of(GradModeLeftOff)) == 1
        assert setter is not None


def test_work_under_a_switch_that_was_undone_is_forgotten() -> None:
    with inventing(GradModeLeft) as run:
        setter = off(run)
        forward(run, nn.Linear(1, 1))
        switch(run, "decorated", setter, True)
        off(run)
        step(run)
        assert run.of(GradModeLeftOff) == []


def test_a_module_that_another_one_calls_is_no_work_of_its_own() -> None:
    class Outer(nn.Module):
        def forward(self, run: Invented) -> None:
            forward(run, nn.Linear(1, 1))

    with inventing(GradModeLeft) as run:
        off(run)
        Outer()(run)
        step(run)
        assert run.of(GradModeLeftOff) == []
