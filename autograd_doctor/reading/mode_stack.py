"""The stack of function modes: which are on it, and how to put others there."""

from __future__ import annotations

from collections.abc import Sequence

from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils._device import DeviceContext


def modes_on_stack() -> Sequence[TorchFunctionMode]:
    """The modes of this thread, lowest first."""
    modes: Sequence[TorchFunctionMode] = _get_current_function_mode_stack()
    return modes


def default_device(modes: Sequence[TorchFunctionMode]) -> int:
    """How many modes at the bottom of the stack are torch's default device: one or none."""
    return int(bool(modes) and isinstance(modes[0], DeviceContext))


def restack(modes: Sequence[TorchFunctionMode]) -> None:
    """Leave these modes on the stack, lowest first, and no others."""
    while modes_on_stack():
        _pop_mode()
    for mode in modes:
        _push_mode(mode)
