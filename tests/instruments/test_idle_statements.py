"""Results that are thrown away, and writes to copies that are gone when their statement has ended."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.events.errors import StatementIdle
from autograd_doctor.instruments.errors.idle_statements import IdleStatements
from tests.watching import Recorded, watching

MASK = torch.tensor([True, False, True, True])


def told(run: Recorded) -> list[tuple[str, str, int]]:
    torch.ones(1) + 1  # the next operation, by which the copy must be gone
    return [(event.operation, event.copied_by, event.elements) for event in run.of(StatementIdle)]


def index_twice(x: torch.Tensor) -> None:
    x[MASK][0] = 1


def write_by_method(x: torch.Tensor) -> None:
    x[MASK].zero_()


def write_by_operator(x: torch.Tensor) -> None:
    x[MASK][:, 0] += 1


def convert(x: torch.Tensor) -> None:
    x.double().clamp_(0, 1)


def name_a_copy(x: torch.Tensor) -> None:
    rows = x[MASK]
    rows.sub_(1).div_(2)


def name_and_assign(x: torch.Tensor) -> None:
    rows = x[MASK]
    rows -= 1


def clear_(rows: torch.Tensor) -> None:
    rows.abs().sum()
    rows.zero_()


def call_a_function(x: torch.Tensor) -> None:
    clear_(x[MASK])


def initialise(x: torch.Tensor) -> None:
    nn.init.ones_(x[[0, 1]])


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (index_twice, ("__setitem__", "__getitem__", 2)),
        (write_by_method, ("zero_", "__getitem__", 6)),
        (write_by_operator, ("__setitem__", "__getitem__", 3)),
        (name_a_copy, ("div_", "__getitem__", 6)),
        (name_and_assign, ("sub_", "__getitem__", 6)),
        (call_a_function, ("zero_", "__getitem__", 6)),
        (convert, ("clamp_", "double", 8)),
        (initialise, ("fill_", "__getitem__", 4)),
    ],
)
def test_a_write_to_a_copy(statement: Callable[[torch.Tensor], None], expected: tuple[str, str, int]) -> None:
    x = torch.rand(4, 2)
    with watching(IdleStatements) as run:
        statement(x)
        assert told(run) == [expected]


def write_to_rows(x: torch.Tensor) -> None:
    x[MASK] = 1
    x[1:3].zero_()
    x[0][1] = 2
    x[MASK] *= 2
    x.float().add_(1)
    x.reshape(-1)[0] = 1
    x[~MASK & MASK].zero_()


def go_on_with_it(x: torch.Tensor) -> torch.Tensor:
    chosen = x[MASK]
    chosen.zero_()
    return chosen + x[MASK].neg_()


def collect(kept: list[torch.Tensor], rows: torch.Tensor) -> None:
    kept.append(rows.zero_())


def hand_it_to_a_function(x: torch.Tensor) -> list[torch.Tensor]:
    kept: list[torch.Tensor] = []
    collect(kept, x[MASK])
    return kept


def read_it_by_its_name(x: torch.Tensor) -> float:
    rows = x[MASK]
    rows.zero_()
    return float(rows.sum())


def copy_of_nothing_that_is_left(x: torch.Tensor) -> None:
    (x + 1)[MASK].zero_()


def numbers_alone(x: torch.Tensor) -> None:
    torch.empty_like(x).normal_()


ELSEWHERE = (
    write_to_rows,
    go_on_with_it,
    hand_it_to_a_function,
    read_it_by_its_name,
    copy_of_nothing_that_is_left,
    numbers_alone,
)


@pytest.mark.parametrize("statement", ELSEWHERE, ids=lambda each: each.__name__)
def test_a_write_to_something_else(statement: Callable[[torch.Tensor], object]) -> None:
    x = torch.rand(4, 2)
    with watching(IdleStatements) as run:
        result = statement(x)
        assert told(run) == [], result


def throw_away(x: torch.Tensor) -> None:
    x.masked_fill(MASK[:, None], 0.0)


def throw_away_a_sum(x: torch.Tensor) -> None:
    x + 1


def throw_away_what_is_cut_off(x: torch.Tensor) -> None:
    x.detach()


def throw_away_what_a_function_of_python_gives(x: torch.Tensor) -> None:
    nn.functional.normalize(x)


@pytest.mark.parametrize(
    ("statement", "operation"),
    [
        (throw_away, "masked_fill"),
        (throw_away_a_sum, "add"),
        (throw_away_what_is_cut_off, "detach"),
        (throw_away_what_a_function_of_python_gives, "normalize"),
    ],
)
def test_a_result_that_is_thrown_away(statement: Callable[[torch.Tensor], None], operation: str) -> None:
    x = torch.rand(4, 2)
    with watching(IdleStatements) as run:
        statement(x)
        assert told(run) == [(operation, "", 8)]


def keep_it_or_do_nothing(x: torch.Tensor) -> torch.Tensor:
    _ = x + 1
    x.float()
    x.mul_(2)
    x.sum()
    x @ x.T
    print(x.relu())
    torch.mul(x, 2, out=x)
    nn.utils.clip_grad_norm_([nn.Parameter(x)], 1.0)
    nn.functional.dropout(x)
    (x * 2).tanh()
    return x.exp()


def test_what_is_kept_or_has_another_use() -> None:
    x = torch.rand(4, 2)
    with watching(IdleStatements) as run:
        result = keep_it_or_do_nothing(x)
        assert told(run) == [], result


def test_a_line_is_told_of_once_in_a_step() -> None:
    x = torch.rand(4, 2)
    with watching(IdleStatements) as run:
        for _ in range(5):
            write_by_method(x)
        assert len(told(run)) == 1


def test_a_write_inside_a_module_is_that_of_the_module() -> None:
    x = torch.rand(4, 2)
    with watching(IdleStatements) as run:
        nn.Sequential(nn.ReLU(inplace=True))(x[MASK])
        assert told(run) == []


def test_parameters_are_named() -> None:
    layer = nn.Linear(2, 4)
    with watching(IdleStatements) as run:
        torch.optim.SGD(layer.parameters(), lr=0.1)
        layer.weight.data[MASK].zero_()
        told(run)
        assert [event.parameters for event in run.of(StatementIdle)] == [[0]]
