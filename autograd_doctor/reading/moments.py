"""Whether numbers have mean 0 and standard deviation 1, so exactly that they were scaled by just these of their own."""

from __future__ import annotations

import torch

from autograd_doctor.reading.subclasses import bytes_of
from autograd_doctor.reading.tensor_facts import readable

_MEAN, _DEVIATION = 1e-5, 1e-4
"""What rounding leaves, and what is added to a deviation so that it is not zero. Of thousands of other samples of the
same kind, the mean is as near to 0 once in a thousand times, and the deviation as near to 1 once in a hundred."""
_LEAST_ROWS = 20
_LEAST_VALUES = 8
"""Different ones, of the first in a field: those that are 1 or -1 may be so by design."""
_LOOKED_AT = 64
_LEAST_SHARE = 0.25
"""Of the fields: flags and the like are left as they are."""
_LEAST_TOLD, _FURTHEST, _SMALLEST, _LARGEST = 64, 0.4, 0.2, 5.0
"""So many numbers of a standardised set have a mean nearer to 0 than that, and a deviation between these two."""
_MOST_BYTES = 2**24
"""Of all that is added: it is read several times."""
_AT_ONCE = 2**16
"""Numbers that wait until they are added up together: of a small batch, each operation takes longer than its values."""


class _Sums:
    """Of the values in each field, and of their squares: a field is a place along one dimension, None for all of it."""

    def __init__(self, dim: int | None) -> None:
        self._dim = dim
        self._count = 0
        self._sums = self._squares = torch.zeros((), dtype=torch.float64, device="cpu")
        self._first = torch.zeros(0, 0, dtype=torch.float64, device="cpu")
        self.in_parts = False

    def add(self, data: torch.Tensor) -> None:
        self.in_parts |= self._has_standard_part(data)
        fields = data.reshape(1, -1) if self._dim is None else data.movedim(self._dim, 0).flatten(1)
        if self._first.shape[1] < _LOOKED_AT:
            more = fields[:, : _LOOKED_AT - self._first.shape[1]]
            self._first = torch.cat([self._first, more], dim=1) if self._count else more.clone()
        self._sums, self._squares = self._sums + fields.sum(1), self._squares + fields.square().sum(1)
        self._count += fields.shape[1]

    def _has_standard_part(self, data: torch.Tensor) -> bool:
        """Whether enough fields were standardised behind some row before the last one, as series are one by one."""
        by_row = data.reshape(len(data), -1, 1)
        if self._dim is not None:
            by_row = data.movedim(self._dim, -1).reshape(len(data), -1, data.shape[self._dim])
        before = torch.arange(len(data), dtype=torch.float64, device="cpu")
        counts = (self._count + by_row.shape[1] * before)[:, None].clamp_min(1)
        sums, squares = by_row.sum(1), by_row.square().sum(1)
        means = (self._sums + sums.cumsum(0) - sums) / counts
        squares = (self._squares + squares.cumsum(0) - squares) / counts
        is_one = (squares - means.square() - 1).abs() < 2 * _DEVIATION + 1 / counts
        shares = (is_one & (means.abs() < _MEAN)).double().mean(1)
        return bool(((shares >= _LEAST_SHARE) & (counts[:, 0] > 1)).any())

    @property
    def means(self) -> torch.Tensor:
        return self._sums / self._count

    @property
    def standard(self) -> torch.Tensor:
        """Which fields have mean 0 and deviation 1, with or without Bessel's correction."""
        variances = (self._squares / self._count - self.means.square()).clamp_min(0)
        corrected = variances * (self._count / max(1, self._count - 1))
        is_one = torch.stack([variances, corrected]).sqrt().sub(1).abs().amin(dim=0) < _DEVIATION
        is_rich = (self._first.sort(dim=1).values.diff(dim=1) != 0).sum(dim=1) + 1 >= _LEAST_VALUES
        return is_one & (self.means.abs() < _MEAN) & is_rich


class Moments:
    """Of rows of numbers, in batches of shape (rows, …): as a whole, and for each channel or feature.

    rows: how many were added. The moments are worthless if a batch is of another kind than those before it, if the
    first is far from any standard, or if it is too much in all.
    """

    def __init__(self) -> None:
        self._rows = 0
        self._shape: torch.Size | None = None
        self._sums: list[_Sums] = []
        self._waiting: list[torch.Tensor] = []
        self._numbers = 0
        self._by_row = True
        self._bytes = 0

    def add(self, data: torch.Tensor) -> Moments:
        """Add a batch with at least two dimensions."""
        if self._shape is None:
            self._shape = data.shape[1:]
            if _may_be_standard(data):
                self._sums = [*(_Sums(dim) for dim in sorted({1, data.dim() - 1})), _Sums(None)]
        self._bytes += bytes_of(data)
        if data.shape[1:] != self._shape or not readable(data) or self._bytes > _MOST_BYTES:
            self._sums, self._waiting = [], []
        if self._sums:
            self._waiting.append(data.detach().to(torch.float64, copy=True))
            self._numbers += data.numel()
            if self._numbers >= _AT_ONCE:
                self._add_up()
        return self

    def _add_up(self) -> None:
        if not self._waiting:
            return
        values = torch.cat(self._waiting)
        self._waiting, self._numbers = [], 0
        for sums in self._sums:
            sums.add(values)
        self._by_row &= bool((values.flatten(1).mean(1).abs() < _MEAN).all())
        self._rows += len(values)

    @property
    def rows(self) -> int:
        self._add_up()
        return self._rows

    @property
    def _standard(self) -> _Sums | None:
        """Those by which enough fields are standardised, if the rows are not so one by one."""
        if self.rows < _LEAST_ROWS or self._by_row:
            return None
        return next((sums for sums in self._sums if float(sums.standard.double().mean()) >= _LEAST_SHARE), None)

    @property
    def are_standard(self) -> bool:
        return self._standard is not None

    @property
    def in_parts(self) -> bool:
        """Whether that was so already when only a part of the rows had come."""
        return self._standard is not None and self._standard.in_parts

    @property
    def standard_fields(self) -> int:
        """How many fields have mean 0 and deviation 1."""
        return int(self._standard.standard.sum()) if self._standard is not None else 0

    @property
    def largest_mean(self) -> float:
        """Of these fields, the mean that is furthest from 0."""
        sums = self._standard
        return float(sums.means[sums.standard].abs().max()) if sums is not None else 0.0


def _may_be_standard(data: torch.Tensor) -> bool:
    if not readable(data) or data.numel() < _LEAST_TOLD:
        return readable(data)
    deviation, mean = map(float, torch.std_mean(data.detach()))
    return abs(mean) < _FURTHEST and _SMALLEST < deviation < _LARGEST
