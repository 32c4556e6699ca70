"""The lines at which parameters were given to modules: where a person would look for a layer."""

from __future__ import annotations

import torch

from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.signals import Signals
from autograd_doctor.signals.registration import Registered


class Registrations(Instrument):
    """Of a layer of torch, it is the line that builds it."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._places: IdentityTable[Place] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.registration.parameter, self._registered)

    def _registered(self, registered: Registered) -> None:
        where = place()
        if where is not None and registered.given not in self._places:
            self._places.put(registered.given, where)

    def line_of(self, parameter: torch.Tensor) -> Location | None:
        """Where it was first given to a module."""
        return locate(self._places.get(parameter))
