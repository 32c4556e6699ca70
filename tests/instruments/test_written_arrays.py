"""Tensors that share the memory of an array which is written over."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from autograd_doctor.events.data import ArrayWrittenOver
from autograd_doctor.events.run import InstrumentLimited
from autograd_doctor.instruments.data import written_arrays as module
from autograd_doctor.instruments.data.written_arrays import WrittenArrays
from autograd_doctor.signals.attention import Attention
from tests.watching import Recorded, watching

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Make = Callable[[Array], torch.Tensor]


def kept(array: Array, times: int = 5, make: Make = lambda array: torch.from_numpy(array)) -> list[torch.Tensor]:
    """One tensor for each of so many contents."""
    tensors = []
    for number in range(times):
        array[...] = array + number + 1
        tensors.append(make(array))
    return tensors


def told(run: Recorded) -> list[tuple[int, int]]:
    return [(event.tensors, event.contents) for event in run.of(ArrayWrittenOver)]


@pytest.mark.parametrize(
    "make",
    [
        lambda array: torch.from_numpy(array),
        torch.as_tensor,
        torch.asarray,
        lambda array: torch.frombuffer(array, dtype=torch.float32),
        lambda array: torch.from_numpy(array).unsqueeze(0),
        lambda array: torch.from_numpy(array[::2]),
    ],
)
def test_of_one_memory_that_was_written_over(make: Make) -> None:
    with watching(WrittenArrays) as run:
        torch.stack(kept(np.zeros(6, np.float32), make=make))
    assert told(run) == [(5, 5)]
    assert run.failures == []


def test_of_several_operations_of_a_step() -> None:
    with watching(WrittenArrays) as run:
        for tensor in kept(np.zeros((3, 2), np.float32)):
            assert told(run) == []
            tensor.relu()
            if len(told(run)):
                break
    assert told(run) == [(4, 4)]
    assert run.of(ArrayWrittenOver)[0].used_by == "relu"


def test_each_is_used_while_it_is_as_it_was() -> None:
    array = np.zeros(3, np.float32)
    with watching(WrittenArrays) as run:
        made = []
        for _ in range(8):
            array += 1
            made.append(torch.from_numpy(array))
            made[-1].sum()
            made[0].mul_(1)
    assert told(run) == []


@pytest.mark.parametrize(
    "make", [lambda array: torch.from_numpy(array).clone(), torch.tensor, lambda array: torch.from_numpy(array.copy())]
)
def test_of_copies_nothing_is_lost(make: Make) -> None:
    with watching(WrittenArrays) as run:
        torch.stack(kept(np.zeros(3, np.float32), make=make))
    assert told(run) == []


def test_of_contents_that_are_alike_nothing_is_lost() -> None:
    array = np.ones(3, np.float32)
    with watching(WrittenArrays) as run:
        torch.stack([torch.from_numpy(array) for _ in range(9)] + kept(array, 2))
        torch.stack([kept(array, 1)[0]] * 9)
    assert told(run) == []


def test_other_parts_and_shapes_are_other_memories() -> None:
    array = np.zeros(12, np.float32)
    with watching(WrittenArrays) as run:
        windows = [kept(array[i : i + 3], 1)[0] for i in range(8)]
        torch.stack(windows)
        torch.cat([*kept(array, 3), *kept(array[:6], 3)])
    assert told(run) == []


def test_it_looks_at_recorded_steps_alone() -> None:
    array = np.zeros(3, np.float32)
    with watching(WrittenArrays) as run:
        run.attend(Attention.LIGHT)
        tensors = kept(array)
        run.attend(Attention.FULL)
        torch.stack(tensors)
        assert told(run) == []


def test_it_says_how_many_it_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_KEPT", 4)
    with watching(WrittenArrays) as run:
        torch.stack(kept(np.zeros(3, np.float32)))
    assert told(run) == [(4, 4)]
    assert [event.instrument for event in run.of(InstrumentLimited)] == ["written_arrays"]


def test_it_tells_once_more_of_new_ones_and_of_other_contents() -> None:
    array = np.zeros(3, np.float32)
    with watching(WrittenArrays) as run:
        tensors = kept(array)
        torch.stack(tensors)
        torch.stack(tensors)
        array += 1
        torch.stack(tensors)
        array += 1
        torch.stack(tensors)
        tensors += kept(array, 1)
        torch.stack(tensors)
        torch.stack(tensors + kept(array, 1))
    events = run.of(ArrayWrittenOver)
    assert [event.newest > events[0].made for event in events] == [False, False, True]
    assert len({event.held for event in events}) == 3


def test_a_single_value_that_was_spread_has_no_stride() -> None:
    spread = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (1,), (0,))
    with watching(WrittenArrays) as run:
        torch.cat([torch.as_tensor(spread) for _ in range(6)])
    assert told(run) == []
