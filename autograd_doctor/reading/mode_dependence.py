"""Torch's own modules whose forward depends on train/eval: dropout, and normalisations with running statistics."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from autograd_doctor.reading.module_tree import modules_in
from autograd_doctor.reading.without_running import attributes, is_a

_KINDS = (_DropoutNd, _NormBase, nn.RReLU, nn.MultiheadAttention, nn.RNNBase)

Versions = tuple[int, ...]


def may_depend_on_mode(module: nn.Module) -> bool:
    """Cheap test for torch's own kinds; what they are set to is asked later, because it can change."""
    return is_a(module, _KINDS)


def depends_on_mode(module: nn.Module) -> bool:
    """Whether train/eval makes a difference to one of torch's own kinds as it is set now."""
    kept = attributes(module)
    if is_a(module, _NormBase):
        return kept["_buffers"].get("running_mean") is not None
    if is_a(module, nn.RReLU):
        return bool(kept["lower"] != kept["upper"])
    if is_a(module, nn.RNNBase):
        return bool(kept["dropout"] > 0 and kept["num_layers"] > 1)
    if is_a(module, nn.MultiheadAttention):
        return bool(kept["dropout"] > 0)
    return is_a(module, _DropoutNd) and bool(kept["p"] > 0)


def draws_in_training(module: nn.Module) -> bool:
    """Whether one of torch's own kinds gives something else at each time as it is set now, as dropout does."""
    return may_depend_on_mode(module) and not is_a(module, _NormBase) and depends_on_mode(module)


def mode_dependent(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Paths and modules below (and including) a module that depend on the mode."""
    for path, inner in modules_in(module):
        if may_depend_on_mode(inner) and depends_on_mode(inner):
            yield path, inner


def statistics_versions(module: nn.Module) -> Versions:
    """Version counters of the running statistics: they count every change in place."""
    if not is_a(module, _NormBase):
        return ()
    kept = attributes(module)["_buffers"]
    buffers = (kept.get(name) for name in ("running_mean", "running_var", "num_batches_tracked"))
    return tuple(buffer._version for buffer in buffers if buffer is not None and not buffer.is_inference())
