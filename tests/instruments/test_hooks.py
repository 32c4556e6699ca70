"""Hooks that the program registers and leaves."""

from __future__ import annotations

import sys

import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.lifetime import HooksCounted
from autograd_doctor.instruments.lifetime import hooks as module
from autograd_doctor.instruments.lifetime.hooks import Hooks
from tests.inventing import Invented, inventing


def sgd() -> SGD:
    return SGD([nn.Parameter(torch.ones(2))], lr=0.1)


def told(run: Invented) -> list[tuple[str, int, int]]:
    return [(event.subject, event.hooks, event.step) for event in run.of(HooksCounted)]


def test_hooks_of_modules_and_leaves_are_counted_when_a_step_was_taken():
    model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    weight = torch.ones(1, requires_grad=True)
    with inventing(Hooks) as run:
        optimizer = sgd()
        model[0].register_forward_hook(lambda *_: None)
        model[0].register_forward_pre_hook(lambda *_: None)
        weight.register_hook(lambda gradient: None)
        weight.register_post_accumulate_grad_hook(lambda each: None)
        run.signals.hooks.on_module.send(model[0])
        run.signals.hooks.on_tensor.send(weight)
        assert told(run) == []
        run.train(optimizer)
        assert told(run) == [("model.0", 2, 1), (f"parameter {run.number(weight)}", 2, 1)]
        assert all(event.location is not None for event in run.of(HooksCounted))
        run.train(optimizer)
        assert len(told(run)) == 2, "nothing has changed"
        handle = model[0].register_full_backward_hook(lambda *_: None)
        run.train(optimizer)
        assert told(run)[2:] == [("model.0", 3, 3)]
        handle.remove()
        run.train(optimizer)
        assert told(run)[3:] == [("model.0", 2, 4)]


def test_the_newest_line_is_told():
    model = nn.Linear(1, 1)
    with inventing(Hooks) as run:
        for _ in range(2):
            run.signals.hooks.on_module.send(model)
        model.register_forward_hook(lambda *_: None)
        newest = sys._getframe().f_lineno + 1
        run.signals.hooks.on_module.send(model)
        run.train(sgd())
        (event,) = run.of(HooksCounted)
        assert event.location is not None
        assert (event.subject, event.location.line) == ("model", newest)


def test_a_tensor_that_is_no_leaf_dies_with_its_graph():
    hidden = torch.ones(1, requires_grad=True) * 2
    with inventing(Hooks) as run:
        hidden.register_hook(lambda gradient: None)
        run.signals.hooks.on_tensor.send(hidden)
        run.train(sgd())
        assert told(run) == []


def test_leaves_without_hooks_are_not_told():
    quiet, hooked = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    with inventing(Hooks) as run:
        run.number(quiet)
        quiet.register_hook(lambda gradient: None)
        hooked.register_hook(lambda gradient: None)
        run.signals.hooks.on_tensor.send(hooked)
        run.train(sgd())
        assert told(run) == [("parameter 1", 1, 1)]


def test_after_the_first_steps_only_what_is_added_is_counted():
    model, weight, unknown = nn.Linear(1, 1), torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    optimizer = sgd()
    with inventing(Hooks) as run:
        number = run.number(weight)
        for _ in range(module._STEPS):
            run.train(optimizer)
        model.register_forward_hook(lambda *_: None)
        run.train(optimizer)
        assert told(run) == [], "it was not said that one was added"
        for _ in range(2):
            weight.register_hook(lambda gradient: None)
            unknown.register_hook(lambda gradient: None)
            for signal, carrier in ((run.signals.hooks.on_module, model), (run.signals.hooks.on_tensor, weight)):
                signal.send(carrier)
            run.signals.hooks.on_tensor.send(unknown)
            run.train(optimizer)
            run.train(optimizer)
        first = module._STEPS + 2
        assert told(run) == [
            ("model", 1, first), (f"parameter {number}", 1, first), (f"parameter {number}", 2, first + 2),
        ]  # fmt: skip


def test_modules_with_hooks_that_are_built_all_the_time_are_not_all_counted(monkeypatch):
    monkeypatch.setattr(module, "_MOST_MODULES", 2)
    models = [nn.Linear(1, 1) for _ in range(3)]
    with inventing(Hooks) as run:
        for model in models:
            model.register_forward_hook(lambda *_: None)
            run.signals.hooks.on_module.send(model)
        run.train(sgd())
        assert len(told(run)) == 2
