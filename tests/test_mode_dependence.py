"""Torch's own modules that do something else in training than in evaluation."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from autograd_doctor.reading.mode_dependence import (
    depends_on_mode,
    may_depend_on_mode,
    mode_dependent,
    statistics_versions,
)


@pytest.mark.parametrize(
    ("module", "depends"),
    [
        (nn.Dropout(0.5), True),
        (nn.Dropout2d(0.0), False),
        (nn.BatchNorm1d(2), True),
        (nn.BatchNorm1d(2, track_running_stats=False), False),
        (nn.InstanceNorm1d(2), False),
        (nn.InstanceNorm1d(2, track_running_stats=True), True),
        (nn.RReLU(), True),
        (nn.RReLU(0.2, 0.2), False),
        (nn.LSTM(2, 2, num_layers=2, dropout=0.1), True),
        (nn.LSTM(2, 2, num_layers=2), False),
        (nn.MultiheadAttention(2, 1, dropout=0.1), True),
        (nn.MultiheadAttention(2, 1), False),
    ],
)
def test_what_a_module_is_set_to_decides(module: nn.Module, depends: bool) -> None:
    assert may_depend_on_mode(module)
    assert depends_on_mode(module) is depends


@pytest.mark.filterwarnings("ignore:dropout option adds dropout")
def test_dropout_between_layers_needs_two_of_them() -> None:
    assert not depends_on_mode(nn.LSTM(2, 2, num_layers=1, dropout=0.1))


def test_other_modules_do_not_depend_on_the_mode() -> None:
    assert not may_depend_on_mode(nn.Linear(1, 1))
    assert not depends_on_mode(nn.Linear(1, 1))


def test_modules_that_depend_are_told_with_their_paths() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout()), nn.Dropout(0.0))
    assert [(path, type(module)) for path, module in mode_dependent(model)] == [("1.0", nn.Dropout)]


@pytest.mark.needs_torch("2.5", "statistics of InstanceNorm that rest in eval mode")
@pytest.mark.parametrize("norm", [nn.BatchNorm1d(2), nn.InstanceNorm1d(2, track_running_stats=True)])
def test_versions_of_statistics_change_with_them(norm: nn.Module) -> None:
    before = statistics_versions(norm)
    norm.eval()(torch.randn(4, 2, 3))
    assert statistics_versions(norm) == before
    norm.train()(torch.randn(4, 2, 3))
    assert statistics_versions(norm) != before
    assert len(before) == 3


def test_what_keeps_no_statistics_has_no_versions() -> None:
    assert statistics_versions(nn.Dropout()) == ()
    assert statistics_versions(nn.BatchNorm1d(2, track_running_stats=False)) == ()
    with torch.inference_mode():
        assert statistics_versions(nn.BatchNorm1d(2)) == ()
