"""Modules whose forward depends on train/eval: dropout of any kind, and normalisations with running statistics."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import FunctionType

from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

_KINDS = (_DropoutNd, _NormBase, nn.RReLU, nn.MultiheadAttention, nn.RNNBase)

Versions = tuple[int, ...]

_read_by_forward: dict[type, tuple[str, ...]] = {}


def may_depend_on_mode(module: nn.Module) -> bool:
    """Cheap test for the kinds; what they are set to is asked later, because it can change."""
    return isinstance(module, _KINDS) or hasattr(module, "drop_prob") or bool(_functional_dropout(module))


def depends_on_mode(module: nn.Module) -> bool:
    """Whether train/eval makes a difference to this module as it is set now."""
    if isinstance(module, _NormBase):
        return module.running_mean is not None
    if isinstance(module, nn.RReLU):
        return bool(module.lower != module.upper)
    if isinstance(module, nn.RNNBase):
        return module.dropout > 0 and module.num_layers > 1
    if isinstance(module, nn.MultiheadAttention):
        return bool(module.dropout > 0)
    if isinstance(module, _DropoutNd) or hasattr(module, "drop_prob"):
        rate: object = getattr(module, "p", None) or getattr(module, "drop_prob", None)
        return isinstance(rate, int | float) and rate > 0
    told = [getattr(module, name, None) for name in _functional_dropout(module)]
    rates = [rate for rate in told if isinstance(rate, int | float)]
    return not rates or max(rates) > 0


def _functional_dropout(module: nn.Module) -> tuple[str, ...]:
    """What a forward that hands `self.training` to a dropout function reads under names of dropout."""
    kind = type(module)
    if kind not in _read_by_forward:
        _read_by_forward[kind] = _dropout_names(inspect.getattr_static(kind, "forward", None))
    return _read_by_forward[kind]


def _dropout_names(forward: object) -> tuple[str, ...]:
    if not isinstance(forward, FunctionType) or forward.__module__.startswith("torch."):  # a scripted one, for example
        return ()
    names = forward.__code__.co_names
    return tuple(name for name in names if "drop" in name) if "training" in names and "dropout" in names else ()


def mode_dependent(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Paths and modules below (and including) a module that depend on the mode."""
    for path, inner in module.named_modules():
        if may_depend_on_mode(inner) and depends_on_mode(inner):
            yield path, inner


def statistics_versions(module: nn.Module) -> Versions:
    """Version counters of the running statistics: they count every change in place."""
    if not isinstance(module, _NormBase):
        return ()
    buffers = (module.running_mean, module.running_var, module.num_batches_tracked)
    return tuple(buffer._version for buffer in buffers if buffer is not None and not buffer.is_inference())
