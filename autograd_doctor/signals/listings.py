"""Folders whose names the program asks for: by `os.listdir`, `os.scandir`, and what stands on them, as `glob`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal


class Listings(Seam):
    """`listed` with the path of a folder, as the program gave it."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.listed: Signal[Any] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        for name in ("listdir", "scandir"):
            patches.replace(os, name, self._listing(getattr(os, name)))

    def _listing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def listing(path: Any = None) -> Any:
            result = original(path)
            self.listed.send(path)
            return result

        return listing
