"""What the program writes: files by `torch.save`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch

from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import CallSeam


@dataclass(eq=False, slots=True)
class SaveCall:
    """A call of `torch.save`."""

    raised: bool = False


class Saves(CallSeam[SaveCall]):
    """Calls of `torch.save`, under both names that it has."""

    def patch(self, patches: Patches) -> None:
        saving = self._saving(torch.save)
        patches.replace(torch, "save", saving)
        patches.replace(torch.serialization, "save", saving)

    def _saving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def save(*args: Any, **kwargs: Any) -> Any:
            with self.around(SaveCall()):
                return original(*args, **kwargs)

        return save
