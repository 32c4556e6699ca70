"""The vocabulary between instruments and rules: past-tense facts, small and frozen, with numbers but no tensors.

Those that rules of all families read are in `run`, `subjects` and `steps`; the others lie by family, as the instruments
that state them do. Parameters, optimizers, modules, backwards and loaders are referred to by small integers, which the
`…Seen` and `…Built` events introduce. Lists of parameters are lists of those integers.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from autograd_doctor.events.event import Event


@cache
def all_events() -> tuple[type[Event], ...]:
    """Every kind of event, each defined in a file in here."""
    for entry in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{entry.name}")
    return tuple(Event.__subclasses__())
