"""Programs that train on an accelerator, by a stand-in for one: what is found there, and what is said not to be."""

from __future__ import annotations

import os
from textwrap import dedent
from zlib import crc32

import pytest

from autograd_doctor.report import Report
from autograd_doctor.rules import Example, Rule, all_rules
from tests.harness import assert_healthy, body_of, check_program, marks, summary
from tests.stand_in.building import lacking

pytestmark = [
    pytest.mark.skipif(lacking() is not None, reason=f"the stand-in cannot be compiled: {lacking()}"),
    pytest.mark.needs_torch("2.13", "the headers that the stand-in is compiled with"),
]

EVERY = int(os.environ.get("ACCELERATOR_EVERY", "16"))
"""Of the examples of the rules, one in so many: all of them, with 1, take a quarter of an hour."""
NEEDS_THE_HOST = {("AD403", "bad")}
"""Examples that fail of themselves where tensors are made on a device: their data come from NumPy."""
ON_IT = "from tests.stand_in import device as _\n"
ALL_ON_IT = ON_IT + "import torch\ntorch.set_default_device('stand_in')\n"


def check(source: str, *, before: str = ON_IT) -> Report:
    """A program that has the device `stand_in`."""
    return check_program(before + dedent(source))


# ----------------------------------------------------------------------------------------------------- healthy programs


def test_an_evaluation_in_inference_mode_is_healthy() -> None:
    report = check("""
        import torch
        from torch import nn

        torch.manual_seed(0)
        device = "stand_in"
        features, labels = torch.randn(256, 8), torch.randint(0, 3, (256,))
        centres = torch.randn(3, 8) * 3
        features = features + centres[labels]
        model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3)).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for epoch in range(4):
            model.train()
            for rows in torch.randperm(192).split(32):
                x, y = features[rows].to(device), labels[rows].to(device)
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.inference_mode():
                right = model(features[192:].to(device)).argmax(1).cpu() == labels[192:]
                print(epoch, right.float().mean().item())
    """)
    assert_healthy(report)
    assert report.environment.device == "stand_in"


def test_a_padding_row_that_is_filled_without_gradients_is_healthy() -> None:
    report = check("""
        import torch
        from torch import nn

        torch.manual_seed(0)
        device = "stand_in"

        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(30, 16, padding_idx=0, device=device)
                self.scale = nn.Parameter(torch.randn(4, 16, device=device))
                with torch.no_grad():
                    self.scale[0].fill_(0.5)
                self.head = nn.Linear(16, 2, device=device)

            def forward(self, words):
                return self.head((self.embedding(words) * self.scale.mean(0)).mean(1))

        model = Tagger()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        for step in range(40):
            words = torch.randint(1, 30, (32, 6))
            answers = (words < 15).float().mean(1).gt(0.5).long().to(device)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(words.to(device)), answers)
            loss.backward()
            optimizer.step()
    """)
    assert_healthy(report)


# --------------------------------------------------------------------------------------------------- examples of rules


def _drawn(kind: str) -> list[object]:
    return [
        pytest.param(rule, example, id=f"{rule.code}-{example.__name__}")
        for rule in all_rules()
        for example in getattr(rule, kind)
        if crc32(f"{rule.code} {example.__name__}".encode()) % EVERY == 0
        and (rule.code, example.__name__) not in NEEDS_THE_HOST
    ]


@pytest.mark.parametrize(("rule", "example"), _drawn("bad"))
def test_a_fault_is_found_or_said_not_to_have_been_looked_for(rule: Rule, example: Example) -> None:
    source = ALL_ON_IT + body_of(example)
    report = check_program(source)
    found = {(finding.code, finding.location.line) for finding in report.findings if finding.location}
    is_found = set(marks(source)) <= found
    assert is_found or rule.code in report.checks.skipped, summary(report)


@pytest.mark.parametrize(("rule", "example"), _drawn("good"))
def test_a_healthy_example_is_healthy(rule: Rule, example: Example) -> None:
    report = check_program(ALL_ON_IT + body_of(example))
    assert not report.findings, summary(report)
    assert report.verdict != "not-judged", report.exit_reason
