"""Ends that are ignored because sequences are filled up with the same token, where the filling was seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils.rnn import pad_sequence

from autograd_doctor.events.data import EndIgnored
from autograd_doctor.instruments.data.sequence_ends import SequenceEnds
from tests.watching import watching

Filled = Callable[[list[list[int]], list[int], int], torch.Tensor]
END = 0
ROWS = [[3, 4, 5, 6], [5, 3], [6, 5, 4], [4, 6]]


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Embedding(8, 4), nn.Linear(4, 8))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.layers(tokens).transpose(1, 2)  # type: ignore[no-any-return]


def in_one(rows: list[list[int]], end: list[int], filling: int) -> torch.Tensor:
    return pad_sequence([torch.tensor(row + end) for row in rows], True, filling)


def row_by_row(rows: list[list[int]], end: list[int], filling: int) -> torch.Tensor:
    tokens = torch.full((len(rows), max(map(len, rows)) + len(end)), filling)
    for place, row in enumerate(rows):
        tokens[place, : len(row) + len(end)] = torch.tensor(row + end)
    return tokens


def train(given: torch.Tensor, target: torch.Tensor, ignored: int) -> None:
    optimizer = torch.optim.SGD((model := Model()).parameters(), lr=0.1)
    F.cross_entropy(model(given), target, ignore_index=ignored).backward()
    optimizer.step()


@pytest.mark.parametrize("filled", [in_one, row_by_row])
@pytest.mark.parametrize("shifted", [False, True], ids=["one batch", "targets put together by themselves"])
@pytest.mark.parametrize(
    ("end", "filling", "ignored", "found"),
    [([END], END, END, True), ([END], END, -100, False), ([END], 7, 7, False), ([], END, END, False)],
    ids=["ignored", "counts", "a filling of its own", "no end"],
)
def test_filled_batches(filled: Filled, shifted: bool, end: list[int], filling: int, ignored: int, found: bool) -> None:
    with watching(SequenceEnds) as recorded:
        if shifted:
            given, target = filled([[1, *row] for row in ROWS], [], filling), filled(ROWS, end, filling)
            given = given[:, : target.shape[1]]
        else:
            whole = filled([[1, *row] for row in ROWS], end, filling)
            given, target = whole[:, :-1], whole[:, 1:]
        target = target[:, : given.shape[1]]
        given = given[:, : target.shape[1]]
        train(given, target, ignored)
        events = recorded.of(EndIgnored)
    assert [(event.token, event.rows, event.ended) for event in events] == ([(END, 4, 4)] if found else [])


def test_what_was_filled_up_before() -> None:
    rows = [[1, *row, *[END] * (-len(row) % 3)] for row in ROWS]
    with watching(SequenceEnds) as recorded:
        whole = in_one(rows, [], END)
        train(whole[:, :-1], whole[:, 1:], END)
        assert not recorded.of(EndIgnored)
