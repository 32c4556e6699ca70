"""Calling the program's own code once more without leaving a mark."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import warnings
from collections.abc import Iterator

import torch

from autograd_doctor.reading.torch_versions import generators_kept


@contextlib.contextmanager
def unnoticed() -> Iterator[None]:
    """Call the program's code with gradients on, and leave random state, output and warnings as they were."""
    numpy = sys.modules.get("numpy")
    states = random.getstate(), numpy.random.get_state() if numpy else None
    output = io.StringIO()
    try:
        with (
            generators_kept(),
            torch.enable_grad(),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(states[0])
        if numpy:
            numpy.random.set_state(states[1])
