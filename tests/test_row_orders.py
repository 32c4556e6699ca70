"""Whether the rows of two wholes keep together."""

from __future__ import annotations

import numpy as np
import torch

from autograd_doctor.reading.row_orders import RowOrders

X, Y = torch.arange(12.0).view(6, 2), torch.arange(6.0)
ORDER = torch.tensor([3, 1, 0, 5, 4, 2])


def test_one_side_in_another_order_than_before():
    orders = RowOrders()
    assert orders.changed([X], Y, 1) == ""
    assert orders.changed([X], Y, 2) == ""
    assert orders.changed([X[ORDER]], Y, 3) == "inputs"
    assert orders.changed([X], Y[ORDER], 4) == "targets"


def test_several_inputs_must_all_be_so():
    orders, more = RowOrders(), X + 1
    orders.changed([X, more], Y, 5)
    assert orders.changed([X[ORDER], more[ORDER]], Y, 6) == "inputs"
    assert orders.changed([X[ORDER], more + 1], Y, 7) == ""
    assert orders.changed([X, X[ORDER]], Y, 8) == ""


def test_both_sides_in_the_same_new_order():
    orders = RowOrders()
    assert orders.changed([X], Y, 9) == ""
    assert orders.changed([X[ORDER]], Y[ORDER], 10) == ""
    assert orders.changed([X.numpy()[ORDER.flip(0)]], Y.numpy()[ORDER.flip(0)], 11) == ""


def test_an_array_that_is_shuffled_where_it_is():
    orders, inputs = RowOrders(), X.clone().numpy()
    orders.changed([inputs], Y.numpy(), 12)
    inputs[:] = inputs[::-1].copy()
    assert orders.changed([inputs], Y.numpy(), 13) == "inputs"


def test_rows_that_are_other_ones_or_all_alike():
    orders = RowOrders()
    orders.changed([X], Y, 14)
    assert orders.changed([X[ORDER] + 1], Y, 15) == ""
    alike = torch.ones(6)
    orders.changed([X], alike, 16)
    assert orders.changed([X[ORDER]], alike, 17) == ""


def test_what_cannot_be_read_is_left_alone():
    orders = RowOrders()
    large, words = torch.zeros(5000, 1), np.array(["a", "b"])
    for whole in (large, torch.rand(2, 2**18), words, None, torch.tensor(1.0)):
        assert orders.changed([whole], Y, 18) == ""
        assert orders.changed([X], whole, 19) == ""


def test_two_orders_in_one_step_tell_nothing():
    orders = RowOrders()
    assert orders.changed([X], Y, 0) == ""
    assert orders.changed([X], Y[ORDER], 0) == ""
    assert orders.changed([X], Y, 1) == ""
    assert orders.changed([X], Y[ORDER.flip(0)], 2) == ""
