"""Masks of attention that hide what sequences hold, and show what they were filled up with."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar, Literal, NamedTuple

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import MaskInverted
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.losses.padding import PaddedTargets
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.tensor_facts import at_home, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_MASKING = frozenset({"multi_head_attention_forward", "scaled_dot_product_attention", "masked_fill", "masked_fill_"})
_FAR_BELOW = -1e4
"""Scores that leave a position no weight; half precision ends at -65504."""
_MOST_ELEMENTS = 2**20
_MOST_SPECIAL = 2
"""Tokens that a model puts before or behind those that it is given, as one that stands for the whole."""
_TOLD = 3
"""Steps of a line to tell of."""


class _Hidden(NamedTuple):
    """Which keys a mask hides: two axes, batch and time. means: what True says in it."""

    keys: torch.Tensor
    means: Literal["hidden", "shown", ""]


class KeyMasks(Instrument):
    """Compares masks with the padding of what the root was given, in steps that are looked at closely.

    Where another attention of the step hides the padding, the places that are filled up are slots, say, which attend to
    one another besides.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (MaskInverted,)

    def __init__(self, site: Site, course: Course, padded_targets: PaddedTargets) -> None:
        super().__init__(site)
        self._course = course
        self._padded = padded_targets
        self._told: Counter[Place | None] = Counter()
        self._inverted: dict[Place | None, MaskInverted] = {}
        self._masked: set[int] = set()
        """Modules in which an attention of this step has hidden the padding."""

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.began, self._operation_began, names=_MASKING, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _operation_began(self, operation: Operation) -> None:
        where = operation.place
        if not self._padded.calls or self._told[where] >= _TOLD:
            return
        hidden = _hidden(operation)
        for call in reversed(self._padded.calls) if hidden is not None else ():
            padding = call.padding.mask
            if hidden is not None and _are_alike(hidden.keys, padding):
                self._masked.add(call.module)
                return
            if hidden is not None and _are_alike(hidden.keys, ~padding):
                self._inverted[where] = MaskInverted(
                    step=self._course.steps,
                    module=call.module,
                    operation=operation.name,
                    filled_with=call.padding.value,
                    hides=int((~padding).sum()),
                    shows=int(padding.sum()),
                    means=hidden.means,
                    location=locate(where),
                    called_at=locate(call.place),
                )
                return

    def _step_taken(self, course: Course) -> None:
        for where, event in self._inverted.items():
            if event.module not in self._masked:
                self._told[where] += 1
                self.emit(event)
        self._inverted.clear()
        self._masked.clear()

    def finish(self) -> None:
        self._step_taken(self._course)


def _are_alike(hidden: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Whether just these are hidden; beyond the tokens there may be a few that were put to one end."""
    more = hidden.shape[-1] - wanted.shape[-1]
    if len(hidden) != len(wanted) or not 0 <= more <= _MOST_SPECIAL:
        return False
    ends = (
        (hidden[:, more:], hidden[:, :more]),
        (hidden[:, : hidden.shape[-1] - more], hidden[:, hidden.shape[-1] - more :]),
    )
    return any(torch.equal(own, wanted) and bool((special == special[:1]).all()) for own, special in ends)


def _hidden(operation: Operation) -> _Hidden | None:
    """None where the operation has no mask, or one that is another for each query or head."""
    name, kwargs = operation.name, operation.kwargs
    args = dict(enumerate(operation.args))
    if name == "multi_head_attention_forward":
        return _of_mask(kwargs.get("key_padding_mask"), "hidden")
    if name == "scaled_dot_product_attention":
        return _of_mask(kwargs.get("attn_mask", args.get(3)), "shown")
    value = kwargs.get("value", args.get(2))
    is_far_below = isinstance(value, float | int) and value <= _FAR_BELOW
    return _of_mask(kwargs.get("mask", args.get(1)), "hidden") if is_far_below else None


def _of_mask(mask: Any, means: Literal["hidden", "shown"]) -> _Hidden | None:
    if not isinstance(mask, torch.Tensor) or not readable(mask):
        return None
    if mask.dim() < 2 or not 0 < mask.numel() <= _MOST_ELEMENTS:
        return None
    keys = at_home(mask).reshape(mask.shape[0], -1, mask.shape[-1])
    if not bool((keys == keys[:, :1]).all()):
        return None
    keys = keys[:, 0]
    if keys.dtype is not torch.bool:
        return _Hidden(keys <= _FAR_BELOW, "") if keys.is_floating_point() else None
    return _Hidden(keys if means == "hidden" else ~keys, means)
