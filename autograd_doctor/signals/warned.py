"""Warnings that are about to be shown, and the place to which they would be put down without us."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from torch import overrides

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

_PACKAGE = str(Path(__file__).parent.parent) + "/"
Warning_ = warnings.WarningMessage


@dataclass(eq=False, slots=True)
class Warned:
    """A warning, as text, with the file to which it is put down."""

    text: str
    category: type[Warning]
    path: str


class Warnings(Seam):
    """`shown`, for each warning that passed the program's filters.

    torch puts warnings down to whoever called it, and while the function mode is on the stack, that is us: such a
    warning is moved to the caller that there would be without us. If it comes from there, too, when the mode has left,
    it has been shown already. What our own looks provoke is not shown.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.shown: Signal[Warned] = Signal(guard, self)
        self._moved: set[tuple[str, type[Warning], str, int]] = set()

    def patch(self, patches: Patches) -> None:
        if hasattr(warnings, "_showwarnmsg"):
            patches.replace(warnings, "_showwarnmsg", self._showing(warnings._showwarnmsg))

    def _showing(self, original: Callable[[Warning_], None]) -> Callable[[Warning_], None]:
        def show(message: Warning_) -> None:
            if self.guard.busy:
                return
            caller = _caller_without_us(message)
            if caller is not None:
                path, line = caller.f_code.co_filename, caller.f_lineno
                message = Warning_(message.message, message.category, path, line, message.file, None, message.source)
            key = (str(message.message), message.category, message.filename, message.lineno)
            if caller is None and key in self._moved:
                self._moved.discard(key)
                return
            if caller is not None:
                self._moved.add(key)
            self.shown.send(Warned(key[0], message.category, message.filename))
            original(message)

        return show


def _caller_without_us(message: Warning_) -> FrameType | None:
    """The frame that called the function that warned, if it called it through us."""
    if not message.filename.startswith(_PACKAGE):
        return None
    frame: FrameType | None = sys._getframe(2)
    warner = None
    while frame is not None and frame.f_code.co_filename != message.filename:
        warner, frame = frame.f_code, frame.f_back
    # A function of torch that is overridden calls the mode, which calls it again.
    ours = (overrides.__file__, message.filename)
    while frame is not None and (frame.f_code.co_filename in ours or frame.f_code is warner):
        frame = frame.f_back
    return frame
