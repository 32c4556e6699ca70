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


class _Rows(NamedTuple):
    """What rows there are, in whatever order, and in which."""

    bag: int
    order: int


class RowOrders:
    """The orders in which inputs and targets of the same rows were met together."""

    def __init__(self) -> None:
        self._met: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def changed(self, inputs: Sequence[Any], targets: Any) -> Literal["", "inputs", "targets"]:
        """Which side is in another order than at an earlier time, while the other is as it was then.

        Of several inputs all must be so; the same rows in two orders at once, as mixtures have them, tell nothing.
        """
        given, wanted = {_rows(whole) for whole in inputs}, _rows(targets)
        if len({rows.bag for rows in given if rows is not None}) < len(given) or wanted is None:
            return ""
        changed = {self._changed(rows, wanted) for rows in given if rows is not None}
        return changed.pop() if len(changed) == 1 else ""

    def _changed(self, given: _Rows, wanted: _Rows) -> Literal["", "inputs", "targets"]:
        met = self._met.setdefault((given.bag, wanted.bag), []) if len(self._met) < _MOST_PAIRS else []
        inputs_alone = any(wanted.order == order and given.order != other for other, order in met)
        targets_alone = any(wanted.order != order and given.order == other for other, order in met)
        if (given.order, wanted.order) not in met and len(met) < _MOST_PAIRS:
            met.append((given.order, wanted.order))
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
