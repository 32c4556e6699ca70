"""What releases of torch differ in, asked of the torch that is there: by what it has, never by its number.

Everything else may rely on the oldest release that `pyproject.toml` allows, 2.4.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from torch._C import _autograd
from torch._C._autograd import SavedTensor
from torch.nn import utils

from autograd_doctor.reading.without_running import attributes, is_a

WAITING = {"CUDA_LAUNCH_BLOCKING": "1", "HIP_LAUNCH_BLOCKING": "1"}
"""Settings with which each line waits for what it asks of an accelerator, read when that is used first."""
_LATE = re.compile(r"(?:CUDA|HIP|XPU|NPU|MUSA) error: ")
"""How an older torch begins what it has no exception of its own for."""
CLIPPING = tuple(
    name for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_") if hasattr(utils, name)
)
"""The functions that clip gradients; an older torch lacks the last."""


def accelerator() -> str | None:
    """The kind of accelerator that this torch can use, "cuda", whether or not there is one; an older torch is asked for
    the two that it knows best."""
    if hasattr(torch, "accelerator"):
        current = torch.accelerator.current_accelerator()
        return None if current is None else current.type
    if torch.backends.mps.is_built():
        return "mps"
    return "cuda" if torch.backends.cuda.is_built() else None


def accelerator_in_use() -> str | None:
    """The same, once the program has used it: nothing is set up by asking. An older torch tells it of CUDA alone."""
    kind = accelerator()
    if kind == "mps":  # takes nothing to set up
        return kind if torch.backends.mps.is_available() else None
    if kind is None or kind == "cuda" or not hasattr(torch._C, "_accelerator_isAllocatorInitialized"):
        return "cuda" if torch.cuda.is_initialized() else None
    try:
        return kind if torch._C._accelerator_isAllocatorInitialized() else None
    except RuntimeError:  # a kind of which torch does not tell it
        return None


def wait_for_accelerator() -> None:
    """Until the one that the program uses has done what it was asked to do."""
    kind = accelerator_in_use()
    if kind is not None:
        getattr(torch, kind).synchronize()


def is_late(error: BaseException) -> bool:
    """Whether it tells of what an accelerator was asked for before, and may be raised by whoever asks for anything."""
    if type(error).__name__ == "AcceleratorError":
        return True
    # Classes of the program's own may say how they are put into words.
    return type(error) is RuntimeError and bool(_LATE.match(str(error)))


def is_shortage(error: BaseException) -> bool:
    """Whether a device had no memory left. An older torch has the class under this name alone."""
    return type(error) is torch.cuda.OutOfMemoryError


def waits_for_kernels() -> bool:
    """Whether each line waits for what it asks of an accelerator, so that errors are raised where they are made."""
    return any(os.environ.get(name) == value for name, value in WAITING.items())


def mark_now(device: torch.device) -> Any:
    """An event of a device, by which one can ask whether it has done all that it was asked for until now; None if this
    torch has none for it."""
    if not hasattr(torch, "accelerator"):
        return None
    try:
        mark = torch.Event(device)
        mark.record(torch.accelerator.current_stream(device))
    except (RuntimeError, NotImplementedError):
        return None
    return mark


def allocated_bytes() -> int | None:
    """Bytes of tensors on all accelerators, None if the program uses none, or if torch does not tell."""
    if accelerator_in_use() == "mps":
        return torch.mps.current_allocated_memory()
    return _asked_of_accelerators("memory_allocated")


def highest_allocated() -> int | None:
    """The most that tensors have had there at once, or None."""
    return _asked_of_accelerators("max_memory_allocated")


def _asked_of_accelerators(name: str) -> int | None:
    kind = accelerator_in_use()
    asked: Any = torch.cuda if kind == "cuda" else getattr(torch, "accelerator", None)
    if kind is None or not hasattr(asked, name):
        return None
    try:
        return int(sum(map(getattr(asked, name), range(asked.device_count()))))
    except RuntimeError:  # a kind that is still being set up, as while its package is imported
        return None


def random_states() -> list[bytes]:
    """Where torch's generators stand: that of the CPU, and that of the current accelerator if one is in use."""
    device = getattr(torch, accelerator_in_use() or "cpu")
    states = [torch.default_generator.get_state()]
    states += [device.get_rng_state()] if hasattr(device, "get_rng_state") else []
    return [bytes(state.tolist()) for state in states]


def generators_kept() -> AbstractContextManager[None]:
    """A block after which torch's generators stand where they stood before; no accelerator is set up for that."""
    kind = accelerator_in_use()
    devices = range(getattr(torch, kind).device_count()) if kind is not None else ()
    return torch.random.fork_rng(devices, device_type=kind or "cuda")


def seed_generators(seed: int) -> None:
    """Seed torch's generators: an accelerator that is set up later begins with the program's own seed."""
    if accelerator_in_use() is not None:
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


def clones(tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Copies of tensors, made in one go where torch can."""
    if hasattr(torch, "_foreach_clone"):
        return torch._foreach_clone(list(tensors))
    return [tensor.clone() for tensor in tensors]


def uncompiled(compile: Callable[..., Any], model: Any = None, **options: Any) -> Any:
    """What `torch.compile` returns, which runs as it is written: in the stance for that, where torch has one.

    An older torch has a way to run only what was compiled before, which is nothing. Either imports the compiler, which
    costs a second.
    """
    if hasattr(torch.compiler, "set_stance"):
        torch.compiler.set_stance("force_eager")
        return compile(model, **options)
    from torch import _dynamo

    return _dynamo.run if model is None else _dynamo.run(model)


def _counts_own_references() -> bool:
    holder, held = torch.empty(0, device="cpu"), torch.empty(0, device="cpu")
    before = sys.getrefcount(held)
    holder.grad = held
    return sys.getrefcount(held) > before


_COUNTS_OWN_REFERENCES = _counts_own_references()
"""Whether torch refers to the Python object of a tensor as long as it refers to the tensor. An older torch does so only
when nobody else does any more."""


def torch_refers(tensor: torch.Tensor) -> bool:
    """Whether one of the references to the Python object of a tensor (`sys.getrefcount`) is torch's own."""
    if _COUNTS_OWN_REFERENCES:
        return bool(tensor._use_count() > 1)  # type: ignore[attr-defined]
    tensor.resolve_neg()  # it returns the tensor itself: with that, torch hands its own reference over
    return False


# ------------------------------------------------------------------------------------- what nodes saved, as packed

_TELL_PACKED = hasattr(SavedTensor, "unpack_hook")
"""Whether saved tensors tell what they hold. Of an older torch it is found out by unpacking, during which the hooks of
the program, if it set any, are kept from running: see `packing_watched`."""


class Packed(NamedTuple):
    """What a newer torch tells of a saved tensor. data: None if there is nothing, or nothing any more."""

    data: Any
    unpack_hook: Callable[[Any], Any] | None = None


class _Peeking(threading.local):
    hooked: list[Packed] | None = None
    """What the hooks were asked to unpack since a peek began; None outside one."""


_peeking = _Peeking()


def packed(node: Any, name: str) -> list[Packed]:
    """What a node saved under a name ("_saved_result"), each tensor as packed; a hook of the program is not run.

    It raises RuntimeError where a custom function says that its tensors were freed.
    """
    raw = getattr(node, f"_raw{name}")
    entries = [entry for entry in (raw if type(raw) is tuple else (raw,)) if is_a(entry, SavedTensor)]
    if _TELL_PACKED:
        return [_told(entry) for entry in entries]
    return _peek(node, name) if entries else []


def _told(entry: Any) -> Packed:
    return Packed(entry.data, entry.unpack_hook)


def _peek(node: Any, name: str) -> list[Packed]:
    hooked: list[Packed] = []
    _peeking.hooked = hooked
    try:
        found = getattr(node, name) if hasattr(type(node), name) else node.saved_tensors
    except RuntimeError as error:
        return [Packed(None if "a second time" in str(error) else ())]  # freed, or held but changed in place
    finally:
        _peeking.hooked = None
    values = [value for value in (found if type(found) is tuple else (found,)) if value is not None]
    return [*hooked, *(Packed(value) for value in values if not hooked or value.numel())]  # what hooks gave is empty


def checkpointed(value: object) -> Any:
    """The inputs of a segment, if this is what a checkpoint keeps of it; anything else comes back as it is.

    An older torch has a node of their own save them.
    """
    kept = attributes(value)
    if "saved_args" in kept:
        return [_told(entry) if is_a(entry, SavedTensor) else entry for entry in kept["saved_args"]]
    return kept.get("input_saver", value)


@contextmanager
def packing_watched() -> Iterator[None]:
    """Within it, hooks on saved tensors that the program sets are kept from running while `packed` looks.

    A torch that tells what is packed needs nothing of this, and nothing is changed in it.
    """
    if _TELL_PACKED:
        yield
        return
    with ExitStack() as restored:
        for owner, name in ((_autograd, "_push_saved_tensors_default_hooks"), (SavedTensor, "register_hooks")):
            restored.callback(setattr, owner, name, vars(owner)[name])
            setattr(owner, name, _with_peekable_unpack(getattr(owner, name)))
        yield


def _with_peekable_unpack(original: Callable[..., Any]) -> Callable[..., Any]:
    def set_hooks(*args: Any) -> Any:
        return original(*args[:-1], _peekable(args[-1]))

    return set_hooks


def _peekable(unpack: Callable[[Any], torch.Tensor]) -> Callable[[Any], torch.Tensor]:
    def unpack_hook(packed: Any) -> torch.Tensor:
        if _peeking.hooked is None:
            return unpack(packed)
        _peeking.hooked.append(Packed(packed, unpack))
        return torch.empty(0, device="cpu")

    return unpack_hook
