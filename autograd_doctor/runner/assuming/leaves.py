"""What modules of PyTorch take in, read off their documented attributes: shapes that an input might have."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.modules.rnn import RNNBase, RNNCellBase

from autograd_doctor.runner.assuming.guess import LENGTH, LENGTHS, SIDES, Guess

_SIDES_3D = (16, 32, 8, 64)
COLOURS = 3
SEQUENCES = (RNNBase, nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer, nn.Transformer)
"""They have `batch_first`, or an attention inside that has."""


def vocabulary(module: nn.Module) -> int:
    """How many different whole numbers a module takes, 0 if it takes other things."""
    return module.num_embeddings if isinstance(module, nn.Embedding | nn.EmbeddingBag) else 0


def width(module: nn.Module) -> int:
    """The length that the last axis of an input must have, 0 if it may have any."""
    if isinstance(module, nn.Linear):
        return module.in_features
    if isinstance(module, RNNBase | RNNCellBase):
        return module.input_size
    if isinstance(module, nn.MultiheadAttention):
        return int(module.embed_dim)
    if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
        return int(module.self_attn.embed_dim)
    if isinstance(module, nn.Transformer):
        return int(module.d_model)
    if isinstance(module, nn.LayerNorm | nn.RMSNorm):
        return module.normalized_shape[-1]
    return module.in1_features if isinstance(module, nn.Bilinear) else 0


def channels(module: nn.Module) -> tuple[int, int]:
    """The length of the axis after that of the batch, and how many axes follow; (0, 0) if there is no such axis."""
    if isinstance(module, _ConvNd):
        lazy = isinstance(module, LazyModuleMixin) and not module.in_channels
        return (COLOURS if lazy else module.in_channels), len(module.kernel_size)
    if isinstance(module, _BatchNorm):
        axes = {nn.BatchNorm1d: 0, nn.BatchNorm2d: 2, nn.BatchNorm3d: 3}
        return module.num_features, next((count for kind, count in axes.items() if isinstance(module, kind)), 2)
    return (module.num_channels, 2) if isinstance(module, nn.GroupNorm) else (0, 0)


def taken_in(module: nn.Module) -> Iterator[Guess]:
    """Inputs that a module takes as they are, the most usual first."""
    if classes := vocabulary(module):
        yield from (Guess(shape, classes) for shape in ((LENGTH,), (), (1,)))
    elif wanted := width(module):
        narrow, sequence = Guess((wanted,)), Guess((LENGTH, wanted))
        yield from (sequence, narrow) if isinstance(module, SEQUENCES) else (narrow, sequence)
    elif channels(module)[0]:
        yield from _images(*channels(module), upwards=_is_upwards(module))


def _is_upwards(module: nn.Module) -> bool:
    return isinstance(module, nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d)


def _images(count: int, axes: int, *, upwards: bool) -> Iterator[Guess]:
    """Where a model begins by making images larger, it may begin with a single point."""
    if axes == 0:
        yield Guess((count,))
        return
    sides = SIDES if axes == 2 else _SIDES_3D if axes == 3 else (64, *LENGTHS)
    for side in (*((1, 4, 8) if upwards else ()), *sides):
        yield Guess((count, *[side] * axes))
