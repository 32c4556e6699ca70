"""Which line put which module into training or evaluation mode."""

from __future__ import annotations

import threading
from typing import Any

from torch import nn

from autograd_doctor.events.connectivity import ModeSet
from autograd_doctor.instruments.connectivity.train_modes import TrainModes
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.signals.modules import TrainCall
from tests.inventing import Invented, inventing


def switch(run: Invented, module: nn.Module, training: bool, *, raised: bool = False) -> None:
    call = TrainCall(module, training)
    run.signals.train_modes.began.send(call)
    call.raised = raised
    run.signals.train_modes.ended.send(call)


def test_a_root_is_announced_with_each_switch():
    model = nn.Linear(1, 1)
    with inventing(TrainModes) as run:
        modes = run.find(TrainModes)
        modes.became_root(model, 4)
        assert run.of(ModeSet) == []
        assert modes.set_at(model) is None
        switch(run, model, False)
        (event,) = run.of(ModeSet)
        assert (event.module, event.training, event.step) == (4, False, 0)
        assert event.location == modes.set_at(model) is not None
        switch(run, model, True)
        assert [event.training for event in run.of(ModeSet)] == [False, True]
        assert modes.changes == 2


def test_in_light_steps_only_a_new_line_is_told():
    model = nn.Linear(1, 1)
    with inventing(TrainModes, Detail) as run:
        run.find(TrainModes).became_root(model, 0)
        switch(run, model, True)
        run.find(Detail)._turn(full=False)
        for _ in range(2):
            switch(run, model, False)
        assert [event.training for event in run.of(ModeSet)] == [True, False]


def test_a_module_whose_mode_was_set_before_is_announced_when_it_becomes_a_root():
    model = nn.Linear(1, 1).eval()
    with inventing(TrainModes) as run:
        switch(run, model, False)
        assert run.of(ModeSet) == []
        run.find(TrainModes).became_root(model, 2)
        run.find(TrainModes).became_root(model, 2)
        assert [(event.module, event.training) for event in run.of(ModeSet)] == [(2, False)]


def test_children_are_set_by_the_line_that_set_the_whole():
    model = nn.Sequential(nn.Linear(1, 1))
    with inventing(TrainModes) as run:
        modes = run.find(TrainModes)
        outer = TrainCall(model, False)
        run.signals.train_modes.began.send(outer)
        switch(run, model[0], False)
        run.signals.train_modes.ended.send(outer)
        assert modes.changes == 1
        assert modes.set_at(model) == modes.set_at(model[0]) is not None
        switch(run, model[0], True)
        assert modes.set_at(model) != modes.set_at(model[0])


def test_a_call_that_raised_has_set_nothing():
    model = nn.Linear(1, 1)
    with inventing(TrainModes) as run:
        run.find(TrainModes).became_root(model, 0)
        switch(run, model, False, raised=True)
        assert (run.of(ModeSet), run.find(TrainModes).set_at(model)) == ([], None)
        switch(run, model, False)
        assert run.find(TrainModes).changes == 2


class Overrides(nn.Module):
    """Sends what torch would, from a `train` of its own that calls `super()`."""

    def train(self, run: Any = True, module: Any = None) -> Overrides:
        if isinstance(run, Invented):
            run.signals.train_modes.began.send(call := TrainCall(module, True))
            run.signals.train_modes.ended.send(call)
        return self


def test_a_line_in_an_override_that_calls_super_is_not_the_programs_own():
    model, other = Overrides(), nn.Linear(1, 1)
    with inventing(TrainModes) as run:
        model.train(run, model)
        model.train(run, other)
        own, foreign = (run.find(TrainModes).set_at(each) for each in (model, other))
        assert own is not None
        assert foreign is not None
        assert own.function.startswith("test_")
        assert foreign.function == "Overrides.train", "an override sets the mode of other modules itself"


def test_another_thread_switches_by_itself():
    model, other = nn.Linear(1, 1), nn.Linear(1, 1)
    with inventing(TrainModes) as run:
        run.signals.train_modes.began.send(TrainCall(model, False))
        thread = threading.Thread(target=lambda: switch(run, other, False))
        thread.start()
        thread.join()
        assert run.find(TrainModes).changes == 2
