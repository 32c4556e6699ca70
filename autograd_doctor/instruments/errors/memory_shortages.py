"""What held the memory of a device when it ran out: counted once, when the program dies of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import ClassVar

import torch

from autograd_doctor.events.errors import MemoryRanOut, SavedAt
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.counted_storages import CountedStorages
from autograd_doctor.reading.graph_bytes import savers
from autograd_doctor.reading.graph_walk import lineage_of
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.subclasses import gradient_of
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.torch_versions import accelerator_in_use, allocated_bytes, is_shortage
from autograd_doctor.signals import Signals
from autograd_doctor.tape import Op

_MOST_LINES = 12
_MOST_PLACES, _MOST_MODULES = 2000, 64
_UNITS = {"B": 1, "bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_ASKED = re.compile(r"(?:[Tt]r(?:ied|ying)|Unable) to allocate (?P<count>[\d.]+) ?(?P<unit>bytes|[KMGT]?i?B)")
_OF_THE_HOST = re.compile(r"DefaultCPUAllocator: (?:can't allocate memory|not enough memory)")


class MemoryShortages(Instrument):
    """Is asked by whoever sees the program die; the frames of the traceback still hold what was being computed."""

    emits: ClassVar[tuple[type[Event], ...]] = (MemoryRanOut,)

    def __init__(
        self,
        site: Site,
        course: Course,
        parameters: Parameters,
        optimizers: Optimizers,
        tensors: Tensors,
        lineage: Lineage,
        tape: Tape,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._optimizers = optimizers
        self._tensors = tensors
        self._tape = tape
        self._modules: dict[Location | None, dict[str, None]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._tape.recorded, self._recorded)

    def _recorded(self, op: Op) -> None:
        if op.module and op.output.learns and len(self._modules) < _MOST_PLACES:
            modules = self._modules.setdefault(op.location, {})
            if len(modules) < _MOST_MODULES:
                modules[op.module] = None

    def died_of(self, error: BaseException) -> None:
        """State what held the memory, if the program died of a shortage of it. Nothing is computed on the device."""
        kind = _device_short_of_memory(error)
        if kind is None:
            return
        parameters = [parameter for _, parameter in self._parameters.living()]
        gradients = [gradient for each in parameters if (gradient := gradient_of(each)) is not None]
        state = tensors_in([optimizer.state for _, optimizer in self._optimizers.living()], EVERYTHING)
        counted = CountedStorages(kind)
        held = [counted.add(each) for each in (parameters, gradients, state)]
        living = [tensor for tensor, _ in self._tensors.living()]
        lines, saved, older = self._saved(counted, living)
        asked = _ASKED.search(str(error))
        self.emit(
            MemoryRanOut(
                step=self._course.steps,
                device=kind,
                asked=int(float(asked["count"]) * _UNITS.get(asked["unit"], 1)) if asked else None,
                allocated=allocated_bytes() if kind != "cpu" else None,
                parameters=held[0],
                gradients=held[1],
                optimizer_state=held[2],
                saved_bytes=saved,
                older_bytes=older,
                other_bytes=counted.add(living),
                saved=lines,
            )
        )

    def _saved(self, counted: CountedStorages, living: Iterable[torch.Tensor]) -> tuple[list[SavedAt], int, int]:
        """By line what graphs keep; all of it, and what was made in earlier steps."""
        sizes: dict[tuple[str, Place | None], list[tuple[int, int]]] = defaultdict(list)
        graphs = (tensor for tensor in living if has_graph(tensor))
        for node, address, size in savers(graphs, lambda node: lineage_of(node) is not None):
            made = lineage_of(node)
            if made is not None and counted.take(address, size):
                sizes[made.operation, made.place].append((size, made.step))
        lines = [self._line(operation, locate(where), each) for (operation, where), each in sizes.items()]
        everything = [entry for each in sizes.values() for entry in each]
        older = sum(size for size, step in everything if step < self._course.steps)
        lines.sort(key=lambda line: line.bytes, reverse=True)
        return lines[:_MOST_LINES], sum(size for size, _ in everything), older

    def _line(self, operation: str, where: Location | None, saved: Sequence[tuple[int, int]]) -> SavedAt:
        """saved: bytes, and the step in which they were."""
        size, oldest = sum(size for size, _ in saved), min(step for _, step in saved)
        return SavedAt(operation, where, size, len(saved), oldest, [*self._modules.get(where, ())])


def _device_short_of_memory(error: BaseException) -> str | None:
    """The kind of device of which an error says so."""
    if is_shortage(error):
        return accelerator_in_use() or "cpu"
    of_torch = type(error) is RuntimeError and _OF_THE_HOST.search(str(error))
    return "cpu" if of_torch or isinstance(error, MemoryError) else None
