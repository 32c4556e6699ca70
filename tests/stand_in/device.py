"""`from tests.stand_in import device` gives PyTorch a device `stand_in`, for machines that have no accelerator.

Its tensors are of a device type of their own (PrivateUse1) and lie in host memory. It computes what the CPU computes,
from the same random numbers, mostly to the last bit. As on a GPU, tensors of two devices do not mix, backwards run in a
thread of the device, and optimizers take their `foreach` way. What would make the host wait for a real device is
counted:

    before = device.sync_count()
    loss.item()
    assert device.sync_count() - before == 1

What it does not show: errors that come late, times, a generator of the device's own (the default one is the CPU's), and
fused kernels. It is compiled with headers that torch does not promise to keep: see `building`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType

import torch

from tests.stand_in.building import NAME, built

_WAITS = ("scalar", "read", "shape", "fence")


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location(NAME, built())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ------------------------------------------------------------------------------------------------- what tests ask of it


def counts() -> dict[str, int]:
    """What waited so far, by kind.

    scalar: `.item()`, `bool(tensor)` and their like. read: copies to the host. shape: operators whose result is a
    number, or has a size, that depends on values. fence: `synchronize`. upload: blocking copies from the host, which
    wait too on a GPU, but are part of every training, and are not in `sync_count`.
    """
    found: dict[str, int] = _native.counts()
    return found


def sync_count() -> int:
    """How often the host waited so far for what the device had computed."""
    found = counts()
    return sum(found[kind] for kind in _WAITS)


@contextlib.contextmanager
def recorded() -> Iterator[list[tuple[str, str, tuple[str, ...]]]]:
    """A list that fills with each wait: kind, operator, and the Python stack, innermost first.

    In a backward the stack begins in the device's thread, and ends there.
    """
    found: list[tuple[str, str, tuple[str, ...]]] = []

    def note(kind: str, operator: str) -> None:
        if kind == "upload":
            return
        stack, frame = [], sys._getframe().f_back
        while frame is not None:
            stack.append(f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}")
            frame = frame.f_back
        found.append((kind, operator, tuple(stack)))

    _native.listen(note)
    try:
        yield found
    finally:
        _native.listen(None)


def limit_memory(size: int) -> None:
    """From now on the device has no more than so many bytes, 0 for as many as the host has."""
    _native.limit_memory(size)


# --------------------------------------------------------------------------- what torch asks of the module of a device


_initialized = True


def _is_in_bad_fork() -> bool:
    return False


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> int:
    return 0


def set_device(device: object) -> None:
    """There is only one."""


def synchronize(device: object = None) -> None:
    torch.accelerator.synchronize()


def memory_allocated(device: object = None) -> int:
    bytes_in_use: int = _native.bytes_in_use()
    return bytes_in_use


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float16, torch.bfloat16]


def manual_seed(seed: int) -> None:
    """Random numbers come from the CPU's generator, which torch itself seeds."""


manual_seed_all = manual_seed


def get_rng_state(device: object = None) -> torch.Tensor:
    return torch.get_rng_state()


def set_rng_state(state: torch.Tensor, device: object = None) -> None:
    torch.set_rng_state(state)


class device(contextlib.nullcontext[None]):  # noqa: N801  (torch's name)
    """There is only one."""


_native = _load()
torch.utils.rename_privateuse1_backend("stand_in")
torch._register_device_module("stand_in", sys.modules[__name__])
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
