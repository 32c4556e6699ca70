"""An operation has one meaning: the same is found in a program, however its operations are spelt."""

from __future__ import annotations

import os
import warnings
from typing import Any
from zlib import crc32

import pytest

from autograd_doctor.rules import Example, all_rules
from tests.harness import answered, assert_findings, assert_healthy, body_of, check_program, marks
from tests.respelt import respelt

EVERY = int(os.environ.get("RESPELT_EVERY", "8"))
"""Of the examples of the rules, one in so many: all of them, with 1, take five minutes."""
SAME = [
    ("y = 2 * x + 1  # <- AD101", "y = torch.add(torch.multiply(x, 2), 1)  # <- AD101"),
    ("y = 1 - x", "y = torch.rsub(x, 1)"),
    ("y = x.sum(0) / len(x)", "y = torch.divide(torch.sum(x, 0), len(x))"),
    ("y = torch.sum(x, dim=0)", "y = x.sum(dim=0)"),
    ("y = nn.functional.softmax(x, dim=0)", "y = torch.special.softmax(x, dim=0)"),
    ("y = torch.cat([x, x])", "y = torch.concat([x, x])"),
    ("y = x.clamp(\n    0) ** 2", "y = x.clamp(\n    0) ** 2"),
    ("y = 3 * len(x) + max(1, 2)", "y = 3 * len(x) + max(1, 2)"),
    ("é = 'é'; y = [x * each for each in (1, x)]", "é = 'é'; y = [torch.multiply(x, each) for each in (1, x)]"),
    ("y = [each * x for each in (1, x)]", "y = [each * x for each in (1, x)]"),
    ("y = f'{x * 2} {x.sum()}'", "y = f'{x * 2} {x.sum()}'"),
]


@pytest.mark.parametrize(("source", "written"), SAME)
def test_operations_on_tensors_are_spelt_otherwise(source: str, written: str) -> None:
    head = "import torch\nfrom torch import nn\nx = torch.arange(3.0)\n"
    assert respelt(head + source) == head + written


def _twins(kind: str) -> list[Any]:
    examples = {f"{rule.code}-{each.__name__}": each for rule in all_rules() for each in getattr(rule, kind)}
    return [pytest.param(each, id=name) for name, each in examples.items() if crc32(name.encode()) % EVERY == 0]


@pytest.mark.parametrize("example", _twins("bad"))
def test_a_fault_is_found_however_it_is_spelt(example: Example) -> None:
    twin = answered(_twin, body_of(example))
    if twin is not None:
        assert_findings(check_program(twin), marks(twin), slack=0)


@pytest.mark.parametrize("example", _twins("good"))
def test_nothing_is_found_however_it_is_spelt(example: Example) -> None:
    twin = answered(_twin, body_of(example))
    if twin is not None:
        assert_healthy(check_program(twin))


def _twin(source: str) -> str | None:
    """None of a program that cannot be run here, or has nothing to spell otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            twin = respelt(source)
        except Exception:
            return None
    return twin if twin != source else None
