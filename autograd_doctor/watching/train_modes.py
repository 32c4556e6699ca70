"""Remembers which line put which module into training or evaluation mode."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from torch import nn

from autograd_doctor.events import ModeSet
from autograd_doctor.findings import Location
from autograd_doctor.watching.care import careful
from autograd_doctor.watching.frame_locals import local_variables
from autograd_doctor.watching.places import Place, locate, own_frames
from autograd_doctor.watching.watch import Watch


class _Setting(threading.local):
    where: Place | None = None
    depth = 0


class TrainModes:
    """`changes` counts the calls. A module that is not a root yet is announced when it becomes one."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._setting = _Setting()
        self._set_at: WeakKeyDictionary[nn.Module, Place | None] = WeakKeyDictionary()
        self._announced: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()
        self.changes = 0

    def watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`train` as it is to be called from now on; `eval` goes through it, and so do the children of a module."""

        @wraps(original)
        def train(module: nn.Module, mode: bool = True) -> Any:
            setting = self._setting
            if setting.depth == 0:
                self._begins(module)
            setting.depth += 1
            try:
                result = original(module, mode)
            finally:
                setting.depth -= 1
            self._done(module, mode)
            return result

        return train

    def set_at(self, module: nn.Module) -> Location | None:
        """The line that last set the mode of a module, None if no line did."""
        return locate(self._set_at.get(module))

    def became_root(self, module: nn.Module, number: int) -> None:
        if module not in self._announced:
            self._announced[module] = number
            if module in self._set_at:
                self._announce(module, module.training)

    @careful
    def _begins(self, module: nn.Module) -> None:
        """The call is the program's own line, not the one in an override of `train` that calls `super()`."""
        frames = (frame for frame in own_frames() if not _overrides(frame, module))
        frame = next(frames, None)
        self._setting.where = None if frame is None else (frame.f_code, frame.f_lasti)
        self.changes += 1

    @careful
    def _done(self, module: nn.Module, training: bool) -> None:
        self._set_at[module] = self._setting.where
        if module in self._announced:
            self._announce(module, training)

    def _announce(self, module: nn.Module, training: bool) -> None:
        self._watch.emit(
            ModeSet(
                step=self._watch.step,
                module=self._announced[module],
                training=training,
                location=locate(self._set_at.get(module)),
            )
        )


def _overrides(frame: FrameType, module: nn.Module) -> bool:
    return frame.f_code.co_name in ("train", "eval") and local_variables(frame).get("self") is module
