"""Calling the program's own code so that nothing of it is noticed: no output, no random numbers, no long wait."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

import torch

from autograd_doctor.reading.torch_versions import generators_kept
from autograd_doctor.system import interrupted_after

_PATIENCE = 30.0
"""Seconds for something of the program's that may never come back."""


class _TooLong(BaseException):
    """Not an `Exception`, so that the program's own error handling lets it through."""


class Apart:
    """Calls things and keeps what they raised. The generators of random numbers are put back afterwards."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._patience = patience
        self.error: BaseException | None = None

    @property
    def why(self) -> str:
        """What the last call failed of."""
        if isinstance(self.error, _TooLong):
            return f"it took longer than {self._patience:g} seconds"
        return f"{type(self.error).__name__}: {self.error}"

    def call(self, function: Callable[[], Any]) -> Any:
        """What it returns; None if it fails, and then `error` says how."""
        self.error = None
        try:
            with _unnoticed(), interrupted_after(self._patience, _TooLong):
                return function()
        except (Exception, SystemExit, _TooLong) as error:
            self.error = error
            return None


@contextmanager
def _unnoticed() -> Iterator[None]:
    numpy = sys.modules.get("numpy")
    state, drawn = random.getstate(), numpy.random.get_state() if numpy is not None else None
    grad, kind = torch.is_grad_enabled(), torch.get_default_dtype()
    try:
        with generators_kept(), torch.enable_grad(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            yield
    finally:
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(kind)
        random.setstate(state)
        if numpy is not None:
            numpy.random.set_state(drawn)
