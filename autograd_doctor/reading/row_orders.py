"""Whether the rows of two wholes, of which the same parts meet, keep together from one epoch to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch

from autograd_doctor.reading.fingerprint import key_of, row_keys

_MOST_ROWS = 4096
_MOST_BYTES = 2**20
"""Of a whole, that is read once in each step that is looked at closely."""
_MOST_PAIRS = 64
_Pair = tuple[int, int]
"""Of inputs and targets."""


class _Rows(NamedTuple):
    """What rows there are, in whatever order, and in which."""

    bag: int
    order: int


class RowOrders:
    """The orders in which inputs and targets of the same rows were met together."""

    def __init__(self) -> None:
        self._met: dict[_Pair, list[_Pair]] = {}
        self._last: dict[_Pair, tuple[int, _Pair]] = {}
        self._mixed: set[_Pair] = set()

    def changed(self, inputs: Sequence[Any], targets: Any, step: int) -> Literal["", "inputs", "targets"]:
        """Which side is in another order than at an earlier time, while the other is as it was then.

        Of several inputs all must be so; the same rows in two orders in one step, as mixtures have them and null models
        beside the true one, tell nothing.
        """
        given, wanted = {_rows(whole) for whole in inputs}, _rows(targets)
        if len({rows.bag for rows in given if rows is not None}) < len(given) or wanted is None:
            return ""
        changed = {self._changed(rows, wanted, step) for rows in given if rows is not None}
        return changed.pop() if len(changed) == 1 else ""

    def _changed(self, given: _Rows, wanted: _Rows, step: int) -> Literal["", "inputs", "targets"]:
        pair, orders = (given.bag, wanted.bag), (given.order, wanted.order)
        if pair not in self._met and len(self._met) >= _MOST_PAIRS:
            return ""
        met = self._met.setdefault(pair, [])
        last_step, last_orders = self._last.get(pair, (step, orders))
        self._last[pair] = step, orders
        if last_step == step and last_orders != orders:
            self._mixed.add(pair)
        if pair in self._mixed:
            return ""
        inputs_alone = any(wanted.order == order and given.order != other for other, order in met)
        targets_alone = any(wanted.order != order and given.order == other for other, order in met)
        if orders not in met and len(met) < _MOST_PAIRS:
            met.append(orders)
        return "inputs" if inputs_alone else "targets" if targets_alone else ""


def _rows(whole: Any) -> _Rows | None:
    """Of a tensor, or an array of NumPy; None where it is large, or all of its rows are the same."""
    if type(whole).__module__ == "numpy":
        try:
            whole = torch.as_tensor(whole, device="cpu")
        except (TypeError, ValueError):  # strings, objects, or strides that torch has not
            return None
    if not isinstance(whole, torch.Tensor) or not whole.dim() or whole.numel() * whole.element_size() > _MOST_BYTES:
        return None
    keys = row_keys(whole, waits=True) if len(whole) <= _MOST_ROWS else None
    return _Rows(sum(keys), key_of(keys)) if keys and len(set(keys)) > 1 else None
