"""Fields of samples in a batch: together, apart, or not to be told."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from autograd_doctor.reading.collated import misordered

LENGTHS = [3, 5, 2, 4]
TEXTS = [torch.arange(1, length + 1) + 10 * place for place, length in enumerate(LENGTHS)]
KINDS = [0, 1, 2, 3]
SAMPLES = list(zip(TEXTS, KINDS, strict=True))
SORTED = sorted(TEXTS, key=len, reverse=True)
ORDER = sorted(range(4), key=lambda place: -LENGTHS[place])


TWICE = [torch.stack([text, -text], 1) for text in TEXTS]


def padded(texts: list[torch.Tensor], *, first: bool = True) -> torch.Tensor:
    return pad_sequence(texts, batch_first=first)


@pytest.mark.parametrize(
    ("samples", "batch", "moved", "left"),
    [
        (SAMPLES, (padded(SORTED), torch.tensor(KINDS)), "[0]", "[1]"),
        (SAMPLES, [padded(SORTED, first=False), torch.tensor(LENGTHS), torch.tensor(KINDS).float()], "[0]", "[2]"),
        (SAMPLES, (padded(TEXTS), torch.tensor(KINDS).flip(0)), "[1]", "[0]"),
        (
            [{"x": text, "y": kind, "name": "a"} for text, kind in SAMPLES],
            {"x": padded(SORTED), "y": torch.tensor(KINDS)[:, None]},
            "['x']",
            "['y']",
        ),
        (list(zip(TWICE, KINDS, strict=True)), (padded(TWICE[::-1]), torch.tensor(KINDS)), "[0]", "[1]"),
        ([(t, k % 2) for t, k in SAMPLES], (padded(SORTED), torch.tensor([0, 1, 0, 1])), "[0]", "[1]"),
        (SAMPLES, (padded(SORTED), torch.tensor(KINDS), torch.arange(4)), "[0]", "[1]"),
        (SAMPLES, (padded(SORTED), torch.tensor(KINDS), torch.tensor([3, 3, 0, 1])), "[0]", "[1]"),
    ],
    ids=["sorted", "time first", "targets moved", "named", "features", "repeating", "numbered", "other numbers"],
)  # fmt: skip
def test_fields_that_do_not_go_together(samples: Any, batch: Any, moved: str, left: str) -> None:
    found = misordered(samples, batch)
    assert found is not None
    assert (found.moved, found.left) == (moved, left)
    assert 2 <= found.apart <= 4


@pytest.mark.parametrize(
    ("samples", "batch"),
    [
        (SAMPLES, (padded(TEXTS), torch.tensor(KINDS))),
        (SAMPLES, (padded(SORTED), torch.tensor([KINDS[place] for place in ORDER]))),
        (SAMPLES, (padded(SORTED), torch.tensor(KINDS), torch.tensor([KINDS[place] for place in ORDER]))),
        (SAMPLES, (padded(SORTED), torch.tensor(ORDER) * 2 + 1)),
        ([(t, k + 5) for t, k in SAMPLES], (padded(SORTED), torch.tensor(KINDS) + 5, torch.tensor(ORDER).argsort())),
        (SAMPLES, (padded(SORTED) + 100, torch.tensor(KINDS))),
        ([(t, 1) for t, _ in SAMPLES], (padded(SORTED), torch.ones(4))),
        ([(torch.ones(2), k) for k in KINDS], (torch.ones(4, 2), torch.tensor(KINDS))),
        (SAMPLES[:2], (padded(SORTED[:2]), torch.tensor(KINDS[:2]))),
        (TEXTS, padded(SORTED)),
        (["a", "b", "c"], torch.zeros(3)),
        ([object()] * 3, None),
        ([(t, k) if k else (t,) for t, k in SAMPLES], (padded(SORTED), torch.tensor(KINDS))),
    ],
    ids=[
        "as they came", "sorted together", "in both orders", "something new", "the way back", "changed", "one label",
        "samples alike", "two samples", "one field", "no numbers", "objects", "samples of several kinds",
    ],
)  # fmt: skip
def test_fields_that_go_together_or_cannot_be_told(samples: Any, batch: Any) -> None:
    assert misordered(samples, batch) is None
