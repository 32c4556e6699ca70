"""Modules whose forward depends on train/eval: dropout kinds, and normalisations with running statistics."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

_KINDS = (_DropoutNd, _NormBase, nn.RReLU, nn.MultiheadAttention, nn.RNNBase)

Versions = tuple[int, ...]


def may_depend_on_mode(module: nn.Module) -> bool:
    """Cheap test for the kinds; what they are set to is asked later, because it can change."""
    return isinstance(module, _KINDS) or hasattr(module, "drop_prob")


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
    rate: object = getattr(module, "p", None) or getattr(module, "drop_prob", None)
    return isinstance(rate, int | float) and rate > 0


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
