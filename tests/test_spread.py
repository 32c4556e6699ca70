"""Some values of tensors, and how large they are."""

from __future__ import annotations

import pytest
import torch

from autograd_doctor.reading.spread import copies, differences, root_mean_squares, spread


@pytest.mark.parametrize("numel", [1, 4095, 4096])
def test_of_small_tensors_all_values_are_taken(numel: int) -> None:
    values = spread(torch.arange(float(numel)))
    assert values is not None
    assert values.tolist() == list(range(numel))


@pytest.mark.parametrize("numel", [4097, 8191, 8192, 10_000, 100_000])
def test_of_large_tensors_values_are_spread_evenly(numel: int) -> None:
    values = spread(torch.arange(float(numel)).view(1, -1))
    assert values is not None
    assert 1000 < len(values) <= 4096
    (step,) = set(values.diff().tolist())
    assert numel - step <= values[-1].item() < numel


def test_all_rows_and_columns_are_met() -> None:
    values = spread(torch.arange(8192.0).view(64, 128))
    assert values is not None
    assert set((values % 128).tolist()) == set(range(128))
    assert set((values // 128).tolist()) == set(range(64))


def test_copies_stay_as_they_were() -> None:
    tensor, other = torch.zeros(3, requires_grad=True), torch.zeros(1)
    values = spread(tensor)
    assert values is not None
    before = copies([values, other])
    with torch.no_grad():
        tensor += 1.0
    assert [(copy.tolist(), copy.requires_grad) for copy in before] == [([0.0] * 3, False), ([0.0], False)]
    assert [change.tolist() for change in differences([values, other], before)] == [[1.0] * 3, [0.0]]
    assert (copies([]), differences([], [])) == ((), ())


@pytest.mark.parametrize("size", [10, 100])
def test_a_tensor_whose_values_lie_in_another_order_is_read_in_its_own(size: int) -> None:
    tensor = torch.arange(float(size * size)).view(size, size)
    first, second = spread(tensor.T), spread(tensor.T.contiguous())
    assert first is not None
    assert second is not None
    assert torch.equal(first, second)


def test_of_nothing_there_are_no_values() -> None:
    assert spread(torch.ones(0, 3)) is None


def sizes_of(tensors: list[torch.Tensor]) -> list[float]:
    coming = root_mean_squares(tensors)
    return coming.put_together([float(norm) for norm in coming.norms.parts])


def test_root_mean_squares() -> None:
    assert sizes_of([torch.tensor([3.0, 4.0]), torch.full((100,), 2.0)]) == pytest.approx([12.5**0.5, 2.0])
    assert sizes_of([]) == []


def test_the_values_of_a_large_tensor_tell_how_large_all_are() -> None:
    torch.manual_seed(0)
    tensor = torch.randn(300, 300) * 0.02
    values = spread(tensor)
    assert values is not None
    assert sizes_of([values]) == pytest.approx([0.02], rel=0.05)
