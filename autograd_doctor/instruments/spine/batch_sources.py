"""Which line of a data set's code a field of a batch came from, where the program's own process draws it.

Between the moment a loader is asked for a batch and the one in which it hands it over, operations at lines of the
program are those of its data sets, transforms and collate functions. Those that torch puts batches together with come
down to the line that asks; what they make comes from where their input did. So does what is merely joined, rearranged
or filled up later.
"""

from __future__ import annotations

import dis
from inspect import getattr_static
from types import FunctionType
from typing import Any

from torch.utils.data import Subset

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import JOINS, REARRANGEMENTS
from autograd_doctor.reading.places import Place, is_own, place
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.loaders import BatchAsked

_KEEP = JOINS | REARRANGEMENTS | {"pad"}


class BatchSources(Instrument):
    """Gives the lineage of what is drawn the place that it came from, in steps that are looked at closely."""

    def __init__(self, site: Site, detail: Detail, tensors: Tensors, lineage: Lineage) -> None:
        super().__init__(site)
        self._detail = detail
        self._tensors = tensors
        self._lineage = lineage
        self._draws = False
        self._asking: Place | None = None
        self._data: Any = None

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.asked, self._asked)
        self.listen(signals.loaders.drawn, self._over)
        self.listen(signals.loaders.exhausted, self._over)
        self.listen(self._lineage.recorded, self._recorded)

    def _asked(self, asked: BatchAsked) -> None:
        if self._detail.closely and asked.iterator._num_workers == 0:
            self._draws, self._asking, self._data = True, place(), asked.iterator._dataset

    def _over(self, asked: BatchAsked) -> None:
        self._draws, self._asking, self._data = False, None, None

    def _recorded(self, recorded: Recorded) -> None:
        made = recorded.made
        if not (self._draws or made.operation in _KEEP):
            return
        given = self._tensors.get(recorded.inputs[0]) if recorded.inputs else None
        if not self._draws:
            made.source = given.source if given is not None else None
        elif made.place != self._asking and made.operation not in JOINS:
            made.source = made.place
        elif given is not None:
            made.source = given.source or given.place
        else:
            made.source = end_of_reading(self._data) if made.place == self._asking else made.place


def end_of_reading(data: object) -> Place | None:
    """Where the `__getitem__` of a data set of the program returns: its one `return`, or the function as a whole."""
    while is_a(data, Subset):
        data = attributes(data).get("dataset")
    reading = getattr_static(type(data), "__getitem__", None)
    if not isinstance(reading, FunctionType) or not is_own(reading.__code__.co_filename):
        return None
    code = reading.__code__
    ends = [step.offset for step in dis.get_instructions(code) if step.opname in ("RETURN_VALUE", "RETURN_CONST")]
    return code, ends[0] if len(ends) == 1 else 0
