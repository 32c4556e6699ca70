"""What the stand-in cannot show: a device with times, memory and errors of its own, where a machine has one."""

from __future__ import annotations

from textwrap import dedent

import pytest
import torch

from autograd_doctor.report import Report
from tests.harness import assert_healthy, check_program, summary

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no card that CUDA can use")

TRAINING = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(64, 6)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(60):
        x = data[torch.randint(0, 64, (16,))].cuda()
        labels = x[:, :3].argmax(1)
        loss = nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def check(source: str) -> Report:
    return check_program(dedent(source))


def test_healthy_training_is_healthy() -> None:
    report = check(TRAINING)
    assert_healthy(report)
    assert report.environment.device == "cuda"


def test_gradients_that_nobody_clears_are_found() -> None:
    report = check(TRAINING.replace("        optimizer.zero_grad()\n", ""))
    assert [finding.code for finding in report.findings][:1] == ["AD101"], summary(report)


def test_a_nan_of_a_late_step_is_found() -> None:
    report = check(TRAINING.replace("loss = nn", "x = x * torch.nan if step == 41 else x\n        loss = nn"))
    assert {finding.code for finding in report.findings} & {"AD401", "AD403"}, summary(report)


def test_memory_that_runs_out_is_told_of() -> None:
    report = check(
        TRAINING.replace("for step in range(60)", "torch.empty(2**50, device='cuda')\n    for step in range(60)")
    )
    assert [finding.code for finding in report.findings] == ["AD513"], summary(report)


def test_a_target_that_is_no_class_is_found_on_its_line() -> None:
    source = dedent(TRAINING.replace("        loss = nn", "        labels += 7 * (step == 30)\n        loss = nn"))
    report = check_program(source)
    finding = report.findings[0]
    assert finding.location is not None
    assert "cross_entropy" in source.splitlines()[finding.location.line - 1], summary(report)
