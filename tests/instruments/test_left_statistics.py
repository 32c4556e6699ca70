"""Running statistics that copies of weights leave behind."""

from __future__ import annotations

import torch
from torch import nn

from autograd_doctor.events.data import StatisticsLeft
from autograd_doctor.instruments.data.left_statistics import LeftStatistics
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.signals.registration import Registered
from autograd_doctor.signals.states import StateLoad
from tests.inventing import Invented, inventing


def learned(size: int = 4) -> nn.BatchNorm1d:
    """A normalisation that was trained: uneven weights, and statistics of data."""
    norm = nn.BatchNorm1d(size)
    nn.init.normal_(norm.weight)
    norm(3 + torch.randn(8, size))
    return norm


def call(run: Invented, module: nn.Module) -> None:
    with run.calling(module, torch.ones(2, 4)):
        pass


def copied(run: Invented, source: nn.BatchNorm1d, target: nn.BatchNorm1d) -> None:
    run.operated("copy_", target.weight.data.copy_(source.weight.data), target.weight.data, source.weight.data)


def test_a_copy_that_is_used_as_it_is():
    with inventing(LeftStatistics) as run:
        source, target = learned(), nn.BatchNorm1d(4).eval()
        call(run, source)
        copied(run, source, target)
        call(run, target)
        call(run, target)
    (event,) = run.of(StatisticsLeft)
    assert (event.count, event.loaded, event.norms, event.source) == (1, False, ["module"], "module")
    assert event.location is not None
    assert event.used_at is not None
    assert event.mean == float(source.running_mean.abs().max())
    assert (event.lowest, event.highest) == (float(source.running_var.min()), float(source.running_var.max()))


def test_copies_that_leave_nothing_behind():
    with inventing(LeftStatistics) as run:
        source, new = learned(), nn.BatchNorm1d(4)
        nn.init.normal_(new.weight)
        trained, whole, changed, untrained = (nn.BatchNorm1d(4) for _ in range(4))
        for norm in (source, new):
            call(run, norm)
        for norm in (trained, whole, changed):
            copied(run, source, norm)
        copied(run, new, untrained)
        trained(torch.randn(8, 4))
        whole.load_state_dict(source.state_dict())
        changed.weight.data.mul_(0.5)
        in_training_mode = nn.BatchNorm1d(4)
        copied(run, source, in_training_mode)
        for norm in (trained.eval(), whole.eval(), changed.eval(), untrained.eval(), in_training_mode):
            call(run, norm)
    assert run.of(StatisticsLeft) == []


def test_weights_as_they_are_at_first_are_nobodys():
    with inventing(LeftStatistics) as run:
        source, target = nn.BatchNorm1d(4), nn.BatchNorm1d(4).eval()
        source(torch.randn(8, 4))
        call(run, source)
        copied(run, source, target)
        call(run, target)
    assert run.of(StatisticsLeft) == []


def test_a_copy_that_was_not_seen():
    with inventing(LeftStatistics) as run:
        source, target = learned(), nn.BatchNorm1d(4).eval()
        call(run, source)
        run.train(torch.optim.SGD(source.parameters()))
        target.weight.data.copy_(source.weight.data)
        call(run, target)
    (event,) = run.of(StatisticsLeft)
    assert (event.location, event.source) == (None, "module")


def test_a_load_without_statistics():
    with inventing(LeftStatistics) as run:
        model = nn.Sequential(nn.BatchNorm1d(4), nn.BatchNorm1d(4)).eval()
        state = {"0.weight": torch.randn(4), "0.bias": torch.randn(4)}
        missing, unexpected = model.load_state_dict(state, strict=False)
        run.signals.states.loaded.send(StateLoad(model, state, missing, unexpected))
        call(run, model)
    (event,) = run.of(StatisticsLeft)
    assert (event.loaded, event.norms, event.source, event.mean) == (True, ["module.0"], "", None)


def test_a_normalisation_that_is_built_late_makes_the_step_a_full_one():
    with inventing(LeftStatistics) as run:
        detail, optimizer = run.find(Detail), torch.optim.SGD(learned().parameters())
        run.signals.optimizers.built.send(optimizer)
        for _ in range(14):
            run.train(optimizer)
        assert not detail.full
        run.signals.registration.submodule.send(Registered(nn.Sequential(), "0", nn.Linear(4, 4)))
        assert not detail.full
        run.signals.registration.submodule.send(Registered(nn.Sequential(), "0", nn.BatchNorm1d(4)))
        assert detail.full
