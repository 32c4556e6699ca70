"""States of modules: taken by `state_dict`, loaded, set by a copy, and tensors being pickled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch
from torch import nn

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal


@dataclass(eq=False, slots=True)
class StateCall:
    """A `state_dict()`, which calls those of the children. state: when it has ended, None where it raised.

    inner: it is that of a child, which writes into the same state.
    """

    module: nn.Module
    keep_vars: bool
    inner: bool = False
    state: Any = None


@dataclass(eq=False, slots=True)
class StateLoad:
    """A `load_state_dict(state)`. missing, unexpected: the keys that it named when it was through, None before."""

    module: nn.Module
    state: Any
    missing: Sequence[str] | None = None
    unexpected: Sequence[str] | None = None


class States(Seam):
    """`taking` and `taken` around `state_dict`; `loading` and `loaded` around `load_state_dict`, the latter unless it
    raised; `copied` when a module was made from what another one holds; `pickling` before a tensor is."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.taking: Signal[StateCall] = Signal(guard, self)
        self.taken: Signal[StateCall] = Signal(guard, self)
        self.loading: Signal[StateLoad] = Signal(guard, self)
        self.loaded: Signal[StateLoad] = Signal(guard, self)
        self.copied: Signal[nn.Module] = Signal(guard, self)
        self.pickling: Signal[torch.Tensor] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        patches.replace(nn.Module, "state_dict", self._taking(nn.Module.state_dict))
        patches.replace(nn.Module, "load_state_dict", self._loading(nn.Module.load_state_dict))
        patches.replace(nn.Module, "__setstate__", self._copying(nn.Module.__setstate__))
        patches.replace(torch.Tensor, "__reduce_ex__", self._pickling(torch.Tensor.__reduce_ex__))

    def _taking(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def state_dict(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            call = StateCall(module, bool(kwargs.get("keep_vars")), inner=bool(kwargs.get("prefix")))
            self.taking.send(call)
            try:
                call.state = original(module, *args, **kwargs)
            finally:
                self.taken.send(call)
            return call.state

        return state_dict

    def _loading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def load_state_dict(module: nn.Module, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
            load = StateLoad(module, state_dict)
            self.loading.send(load)
            result = original(module, state_dict, *args, **kwargs)
            load.missing, load.unexpected = result if isinstance(result, tuple) else ((), ())
            self.loaded.send(load)
            return result

        return load_state_dict

    def _copying(self, original: Callable[..., None]) -> Callable[..., None]:
        @wraps(original)
        def __setstate__(module: nn.Module, state: Any) -> None:  # noqa: N807
            original(module, state)
            self.copied.send(module)

        return __setstate__

    def _pickling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def __reduce_ex__(tensor: torch.Tensor, proto: Any) -> Any:  # noqa: N807
            self.pickling.send(tensor)
            return original(tensor, proto)

        return __reduce_ex__
