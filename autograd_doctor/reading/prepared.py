"""What an `Accelerator` of Hugging Face was given to prepare: it steps that once for all the batches of a step."""

from __future__ import annotations

import sys
from typing import Any

from autograd_doctor.reading.frame_locals import variables
from autograd_doctor.reading.places import own_frames
from autograd_doctor.reading.without_running import attributes, is_a


def left_unprepared(optimizer: object, scheduler: object) -> list[str]:
    """Which of the two the program's accelerator does not know: "optimizer", "scheduler". Nothing where it has none."""
    accelerator = _accelerator()
    if accelerator is None:
        return []
    kept = attributes(accelerator)
    given = (("optimizer", optimizer, kept.get("_optimizers")), ("scheduler", scheduler, kept.get("_schedulers")))
    return [role for role, thing, wrappers in given if type(wrappers) is list and not _wraps(wrappers, role, thing)]


def _wraps(wrappers: list[Any], role: str, thing: object) -> bool:
    return any(wrapper is thing or attributes(wrapper).get(role) is thing for wrapper in wrappers)


def _accelerator() -> object | None:
    kind: Any = getattr(sys.modules.get("accelerate.accelerator"), "Accelerator", None)
    if not isinstance(kind, type):
        return None
    values = (value for frame in own_frames() for _, value in variables(frame))
    return next((value for value in values if is_a(value, kind)), None)
