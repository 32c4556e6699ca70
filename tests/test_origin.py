"""The birth of a non-finite value."""

from __future__ import annotations

import math

import pytest
import torch

from autograd_doctor.events.numerics import NonFiniteInput, NonFiniteProduced
from autograd_doctor.reading.origin import Origin
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.tensor_facts import describe

PLACE: Place = (compile("x = 1", "train.py", "exec"), 2)
FACTS = describe(torch.tensor([math.inf]))


@pytest.mark.parametrize(
    ("operation", "value", "deliberate"),
    [
        ("masked_fill", math.inf, True),
        ("masked_fill", math.nan, False),
        ("log", math.inf, False),
        (None, math.inf, False),
    ],
)
def test_only_infinities_that_masks_write_are_meant(operation: str | None, value: float, deliberate: bool) -> None:
    assert Origin(operation, None, describe(torch.tensor([value])), (), ()).deliberate is deliberate


def test_a_birth_is_told_with_its_operands() -> None:
    event = Origin("log", PLACE, FACTS, (FACTS,), (1,)).event(4)
    assert event == NonFiniteProduced(
        step=4, operation="log", location=locate(PLACE), output=FACTS, operands=[FACTS], rows=[1], reached="loss"
    )


def test_what_came_in_spoiled_was_not_born_here() -> None:
    event = Origin(None, PLACE, FACTS, (), (1,)).event(4)
    assert event == NonFiniteInput(step=4, tensor=FACTS, location=locate(PLACE), rows=[1])
