"""Whole numbers that wrap round on their way into a loss."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from autograd_doctor.events.data import IntegersWrapped
from autograd_doctor.instruments.data.wrapped_integers import WrappedIntegers
from tests.watching import watching

BYTES = torch.arange(0, 256, 4, dtype=torch.uint8).reshape(4, 16)
OTHERS = BYTES.flip(1)
Work = Callable[[Tensor, Tensor], Tensor]


def told(work: Work) -> list[tuple[str, str, int, int]]:
    model = nn.Linear(16, 1)
    with watching(WrappedIntegers) as run:
        model(work(BYTES.clone(), OTHERS.clone()).float()).sum().backward()
    assert run.failures == []
    return [(event.operation, event.dtype, event.wrapped, event.values) for event in run.of(IntegersWrapped)]


def in_part(x: Tensor, y: Tensor) -> Tensor:
    x[:, :8] += 100
    return x


@pytest.mark.parametrize(
    ("work", "operation", "dtype", "exact"),
    [
        pytest.param(lambda x, y: x - 128, "sub", torch.uint8, lambda x, y: x - 128, id="less than nothing"),
        pytest.param(lambda x, y: 100 - x, "sub", torch.uint8, lambda x, y: 100 - x, id="reversed"),
        pytest.param(
            lambda x, y: x.add_(y, alpha=2), "add", torch.uint8, lambda x, y: x + 2 * y, id="scaled and in place"
        ),
        pytest.param(lambda x, y: -x, "neg", torch.uint8, lambda x, y: -x, id="negative"),
        pytest.param(
            lambda x, y: (x // 2).to(torch.int8) * 3, "mul", torch.int8, lambda x, y: x // 2 * 3, id="with a sign"
        ),
        pytest.param(lambda x, y: x.short() * y, "mul", torch.int16, lambda x, y: x * y, id="a product"),
        pytest.param(in_part, "add", torch.uint8, lambda x, y: x[:, :8] + 100, id="a part of it"),
        pytest.param(lambda x, y: (x * 2 - 1) / 255, "mul", torch.uint8, lambda x, y: x * 2, id="a chain"),
    ],
)
def test_of_what_reaches_a_loss(work: Work, operation: str, dtype: torch.dtype, exact: Work) -> None:
    true, bounds = exact(BYTES.long(), OTHERS.long()), torch.iinfo(dtype)
    wrapped = int(((true < bounds.min) | (true > bounds.max)).sum())
    assert told(work) == [(operation, str(dtype).removeprefix("torch."), wrapped, true.numel())]


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda x, y: (x - y) + y, id="brought back"),
        pytest.param(lambda x, y: torch.cat([x - y, (x - y) + y])[:4] * 0 + x, id="brought back at the side"),
        pytest.param(lambda x, y: torch.maximum(x, y) + -torch.minimum(x, y), id="a negative that is added"),
        pytest.param(lambda x, y: torch.minimum(x - y, y - x), id="a distance on a circle"),
        pytest.param(lambda x, y: (x + y) % 7, id="a remainder"),
        pytest.param(lambda x, y: (x + y) ^ x, id="bits"),
        pytest.param(lambda x, y: (x + y).view(torch.int8), id="with a sign afterwards"),
        pytest.param(lambda x, y: x.clamp(10, 240) + torch.full_like(x, 251), id="a summand that has a sign"),
        pytest.param(lambda x, y: torch.sin((x + y) / 41), id="an angle"),
        pytest.param(lambda x, y: torch.where(x > y, x - y, 0), id="where it fits"),
        pytest.param(lambda x, y: x[((x - y) % 4).long()[:, 0]], id="an index"),
        pytest.param(lambda x, y: x.float()[(x[0, :4] - 4).clamp(max=3).long()], id="an index that was bounded"),
        pytest.param(lambda x, y: x.int() * 1_103_515_245, id="a hash"),
        pytest.param(lambda x, y: x.int() - 128, id="wide enough"),
        pytest.param(lambda x, y: torch.add(x, y, out=x), id="into what it was made of"),
        pytest.param(lambda x, y: x.float() - y, id="converted first"),
        pytest.param(lambda x, y: torch.stack([x[:2] + 30, y[2:]]).flatten(0, 1).clamp(40, 250) + 5, id="room"),
    ],
)
def test_it_may_be_meant(work: Work) -> None:
    assert told(work) == []


def test_what_goes_into_no_loss() -> None:
    model = nn.Linear(16, 1)
    with watching(WrappedIntegers) as run:
        print((BYTES - 128).float().mean())
        model(BYTES / 255).sum().backward()
    assert run.of(IntegersWrapped) == []


def test_classes_are_no_amounts() -> None:
    model = nn.Linear(16, 256)
    with watching(WrappedIntegers) as run:
        nn.functional.cross_entropy(model(BYTES / 255), (BYTES[:, 0] - 1).long(), ignore_index=255).backward()
    assert run.of(IntegersWrapped) == []
