"""What torch warned of while it was used, at the program's own lines."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.run import Noted
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.places import here
from autograd_doctor.signals import Signals
from autograd_doctor.signals.warned import Warned
from autograd_doctor.wording import first_line

_TORCH = str(Path(torch.__file__).parent) + "/"
_FROM_C = "(Triggered internally at"
"""What torch appends to warnings of its C++ code, which are put down to the line that called it."""
_MOST = 5
"""A report is no log."""


class TorchWarnings(Instrument):
    """Notes each text once, with the first line of the program that provoked it."""

    emits: ClassVar[tuple[type[Event], ...]] = (Noted,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._texts: set[str] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.warned.shown, self._shown)

    def _shown(self, warned: Warned) -> None:
        text = first_line(warned.text.partition(_FROM_C)[0].strip())
        is_torchs = warned.path.startswith(_TORCH) or _FROM_C in warned.text
        about_use = issubclass(warned.category, UserWarning)
        if not (is_torchs and about_use) or text in self._texts or len(self._texts) >= _MOST:
            return
        self._texts.add(text)
        place = here()
        where = f" at {Path(place.path).name}:{place.line}" if place is not None else ""
        self.emit(Noted(step=self._course.steps, text=f"torch warned{where}: {text}"))
