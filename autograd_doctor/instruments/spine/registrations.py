"""The lines at which parameters and buffers were given to modules: where a person would look for a layer."""

from __future__ import annotations

from itertools import islice
from types import CodeType, FunctionType

import torch
from torch import nn

from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.reading.asked_for import is_call_of_library
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, own_frames
from autograd_doctor.signals import Signals
from autograd_doctor.signals.registration import Registered

_MOST_CALLERS = 8
"""Modules inside modules whose constructors may be running."""


class Registrations(Instrument):
    """Of a layer of torch, it is the line that builds it."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._places: IdentityTable[tuple[Place, ...]] = IdentityTable()
        self._of_libraries: IdentityTable[bool] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.registration.parameter, self._registered)
        self.listen(signals.registration.buffer, self._registered)

    def _registered(self, registered: Registered) -> None:
        if registered.given is not None and registered.given not in self._places:
            frames = islice(own_frames(), _MOST_CALLERS)
            self._places.put(registered.given, tuple((frame.f_code, frame.f_lasti) for frame in frames))
            if is_call_of_library():
                self._of_libraries.put(registered.given, True)

    def line_of(self, given: torch.Tensor) -> Location | None:
        """Where a parameter or a buffer was first given to a module."""
        return locate(next(iter(self._places.get(given) or ()), None))

    def is_of_library(self, given: torch.Tensor) -> bool:
        """Whether a library other than torch built the layer, as a part of what the program asked for."""
        return given in self._of_libraries

    def caller_of(self, parameter: torch.Tensor) -> Location | None:
        """The outermost call that led there, None if there is no other."""
        places = self._places.get(parameter) or ()
        return locate(places[-1]) if len(places) > 1 else None

    def built_at(self, module: nn.Module) -> Location | None:
        """Where it was built, as far as its parameters tell: the line that calls its constructor."""
        known = (self._places.get(parameter) for _, parameter in parameters_in(module))
        places = next((each for each in known if each), ())
        constructors = _constructors(type(module))
        inner = max((level for level, (code, _) in enumerate(places) if code in constructors), default=-1)
        return locate(places[inner + 1]) if inner + 1 < len(places) else None


def _constructors(kind: type) -> set[CodeType]:
    found = (vars(each).get("__init__") for each in kind.__mro__)
    return {each.__code__ for each in found if isinstance(each, FunctionType)}
