"""What a `load_state_dict` has left as it was, because the state has other keys."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

from torch import nn

from autograd_doctor.events.data import StateLoaded
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.call_site import keeps_result
from autograd_doctor.reading.module_tree import buffers_in, parameters_in
from autograd_doctor.reading.numbers import Numbers
from autograd_doctor.reading.places import here, stack
from autograd_doctor.reading.state_keys import Shapes, is_shifted, nested_in, renaming, shapes_of, whole_parts
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.states import StateLoad

_MOST_NAMED = 4
"""Keys of each kind in an event: the others look like them."""


class StateLoads(Instrument):
    """Tells of each load that left something over, and of the next one into the same module, which may put it right."""

    emits: ClassVar[tuple[type[Event], ...]] = (StateLoaded,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._modules = Numbers()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.states.loaded, self._loaded)

    def _loaded(self, load: StateLoad) -> None:
        missing, unexpected = list(load.missing or ()), list(load.unexpected or ())
        if (missing and (unexpected or not load.state)) or load.module in self._modules:
            self._tell(load, missing, unexpected)

    def _tell(self, load: StateLoad, missing: list[str], unexpected: list[str]) -> None:
        own, given = _shapes(load.module), shapes_of(load.state)
        lacking = {key: own[key] for key in missing if key in own}
        left_over = {key: given[key] for key in unexpected if key in given}
        loaded = {key: shape for key, shape in own.items() if key in given and key not in lacking}
        explained = renaming(lacking, left_over)
        entry, fitting = nested_in(load.state, lacking)
        self.emit(
            StateLoaded(
                step=self._course.steps,
                module=self._modules.number(load.module),
                name=variable_name(load.module) or type(load.module).__name__,
                location=here(),
                keys=len(own),
                elements=_elements(own.values()),
                loaded_keys=len(loaded),
                loaded_elements=_elements(loaded.values()),
                given_keys=len(given),
                given_elements=_elements(given.values()),
                missing=missing[:_MOST_NAMED],
                unexpected=[str(key) for key in unexpected[:_MOST_NAMED]],
                missing_keys=len(missing),
                unexpected_keys=len(unexpected),
                renamed=explained.how,
                prefix=explained.prefix,
                fitting=explained.fitting or fitting,
                nested_in="" if explained.how else entry,
                alike=(Counter(lacking.values()) & Counter(left_over.values())).total(),
                looked_at=keeps_result(stack()[::-1]),
                parts=whole_parts(load.module, given, missing)[:_MOST_NAMED],
                shifted=is_shifted(load.module, loaded, missing, left_over),
            )
        )


def _shapes(module: nn.Module) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in (*parameters_in(module), *buffers_in(module))}


def _elements(shapes: Iterable[tuple[int, ...]]) -> int:
    return sum(map(math.prod, shapes))
