"""Which dimensions products of matrices go through side by side."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from autograd_doctor.reading.products import side_by_side

A, B = torch.ones(2, 3, 4, 5), torch.ones(2, 3, 5, 6)


@pytest.mark.parametrize(
    ("name", "args", "dims"),
    [
        ("matmul", (A, B), [[0, 1], [0, 1]]),
        ("__matmul__", (A, B[:1]), [[1], [1]]),
        ("bmm", (A[0], B[0]), [[0], [0]]),
        ("matmul", (A[0, 0], B[0, 0]), []),
        ("matmul", (A, B[0]), []),
        ("einsum", ("bhqk,bhkd->bhqd", A, B), [[0, 1], [0, 1]]),
        ("einsum", ("b h q k, b k d -> b h q d", A, B[:, 0]), [[0], [0]]),
        ("einsum", ("bhqk,bhkd->bqd", A, B), [[0], [0]]),
        ("einsum", ("bh,bhqk->bhqk", A[:, :, 0, 0], A), []),
        ("einsum", ("...qk,...kd->...qd", A, B), []),
        ("einsum", ("bhqk,bhkd", A, B), []),
        ("einsum", (A, [0, 1, 2, 3], B, [0, 1, 3, 4]), []),
    ],
)
def test_dimensions_that_factors_share_with_the_result(name: str, args: tuple[Any, ...], dims: list[list[int]]) -> None:
    assert [found for _, found in side_by_side(name, args)] == dims
