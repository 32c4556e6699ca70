"""Copies of samples and the groups that views cut them into, on tapes that are written by hand."""

from __future__ import annotations

import pytest

from autograd_doctor.tape import Value
from autograd_doctor.taping import RecordedValue
from autograd_doctor.views.copies import MixedGroups, mixed_groups
from tests.tapes import data, given, made, tape

N, K = 6, 4
M = N * K


def _repeated(source: Value | None = None) -> Value:
    return made("repeat", source or data(N, 3), K, 1, shape=(M, 3))


def _weights(rows: Value) -> Value:
    scores = made("linear", rows, given(5, 3), shape=(M, 5))
    return made("log_softmax", scores, 1, shape=(M, 5))


def _found(loss: Value) -> list[MixedGroups]:
    (known,) = tape(loss).tapes
    return list(mixed_groups(known))


def _reduced(rows: Value, *shape: int, over: int, by: str = "logsumexp") -> Value:
    one = made("sum", rows, 1, shape=(M,))
    groups = made("view", one, *shape, shape=shape)
    return made("mean", made(by, groups, over, shape=(shape[1 - over],)))


def test_the_copies_of_other_samples_are_in_a_group() -> None:
    (mixed,) = _found(_reduced(_weights(_repeated()), N, K, over=1))
    assert (mixed.copies.copies, mixed.copies.samples) == (K, N)
    assert (mixed.copies.by.name, mixed.view.name, mixed.over.name) == ("repeat", "view", "logsumexp")


def test_copies_side_by_side_are_cut_as_if_they_lay_apart() -> None:
    rows = made("repeat_interleave", data(N, 3), K, shape=(M, 3), dim=0)
    assert _found(_reduced(_weights(rows), K, N, over=0))
    assert not _found(_reduced(_weights(rows), N, K, over=1))


@pytest.mark.parametrize(("shape", "over"), [((K, N), 0), ((K, N), 1), ((N, K), 0), ((8, 3), 1)])
def test_groups_in_order_and_axes_of_no_copies(shape: tuple[int, int], over: int) -> None:
    assert not _found(_reduced(_weights(_repeated()), *shape, over=over))


def test_other_ways_to_copy() -> None:
    x = data(N, 3)
    joined = made("cat", *[x] * K, 0, shape=(M, 3))
    stacked = made("view", made("stack", *[x] * K, 0, shape=(K, N, 3)), M, 3, shape=(M, 3))
    apart = made("unsqueeze", x, 0, shape=(1, N, 3))
    expanded = made("reshape", made("expand", apart, K, N, 3, shape=(K, N, 3)), M, 3, shape=(M, 3))
    for rows in (joined, stacked, expanded):
        assert _found(_reduced(_weights(rows), N, K, over=1))


def test_the_second_axis_of_a_table_of_heads_is_no_copy() -> None:
    keys = made("expand", data(N, K, 1, 3), N, K, K, 3, shape=(N, K, K, 3))
    rows = made("sum", keys, shape=(N, K))
    assert not _found(made("mean", made("softmax", made("view", rows, K, N, shape=(K, N)), 0, shape=(K, N))))


def test_a_total_is_the_same_whatever_the_groups_are() -> None:
    assert not _found(_reduced(_weights(_repeated()), N, K, over=1, by="mean"))
    groups = made("view", made("sum", _weights(_repeated()), 1, shape=(M,)), N, K, shape=(N, K))
    means = made("mean", groups, 1, shape=(N,))
    assert _found(made("mse_loss", means, data(N)))
    assert not _found(made("mean", made("add", made("mul", means, 0.5, shape=(N,)), data(N), shape=(N,))))


@pytest.mark.parametrize(
    "source",
    [
        made("zeros", N, 3, shape=(N, 3)),
        made("expand", data(1, 3), N, 3, shape=(N, 3)),
        data(N, 3, span=(2.0, 2.0)),
        made("arange", N, shape=(N, 1)),
    ],
)
def test_rows_that_are_alike_or_written_down(source: Value) -> None:
    assert not _found(_reduced(_weights(_repeated(source)), N, K, over=1))


def test_other_data_beside_the_copies_ends_what_is_known() -> None:
    drawn_before, rows = made("randn", M, 3, shape=(M, 3)), _repeated()
    for beside in (data(M, 3), made("tensor", shape=(M, 3)), drawn_before):
        assert not _found(_reduced(_weights(made("add", rows, beside, shape=(M, 3))), N, K, over=1))
    for beside in (data(3), made("randn_like", rows, shape=(M, 3)), _repeated()):
        assert _found(_reduced(_weights(made("add", rows, beside, shape=(M, 3))), N, K, over=1))


def test_rows_in_another_order() -> None:
    rows = _repeated()
    shuffled = made("__getitem__", rows, data(M, kind="int"), shape=(M, 3))
    listed = made("__getitem__", rows, shape=(M, 3))
    for other in (shuffled, listed):
        assert not _found(_reduced(_weights(other), N, K, over=1))


def test_rows_that_get_the_spread_of_their_group_as_a_feature() -> None:
    scores = _weights(_repeated())
    one = made("sum", scores, 1, shape=(M,))
    spread = made("std", made("view", one, N, K, shape=(N, K)), 1, shape=(N,))
    column = made("repeat_interleave", spread, K, shape=(M,))
    assert not _found(made("mean", made("stack", one, column, 1, shape=(M, 2))))


def test_empty_tensors() -> None:
    rows = made("__getitem__", _repeated(), shape=(M, 0))
    assert not _found(made("mean", made("view", rows, N, K, 0, shape=(N, K, 0))))
    assert not _found(made("mean", made("repeat", data(0, 3), 2, 1, shape=(0, 3))))


def test_copies_that_are_also_cut_in_their_order() -> None:
    one = made("sum", _weights(_repeated()), 1, shape=(M,))
    crossed = made("logsumexp", made("view", one, N, K, shape=(N, K)), 1, shape=(N,))
    in_order = made("view", one, K, N, shape=(K, N))
    assert not _found(made("mean", made("cat", made("sum", in_order, 0, shape=(N,)), crossed, shape=(2 * N,))))


def test_learned_rows_may_be_copied_beside_samples() -> None:
    members = made("repeat_interleave", RecordedValue((K, 3), "float", True, is_parameter=True), N, 0, shape=(M, 3))
    assert _found(_reduced(_weights(made("mul", _repeated(), members, shape=(M, 3))), N, K, over=1))
    assert not _found(_reduced(_weights(members), N, K, over=1))
