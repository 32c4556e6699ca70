"""What all events have in common: small, frozen facts in the past tense, with numbers but no tensors."""

from __future__ import annotations

from msgspec import Struct


class Event(Struct, frozen=True, tag=True, kw_only=True):
    """Something that happened. `step` is the number of optimizer steps that had taken effect before it.

    The recorder alone stamps what it writes: `sequence` counts the events of one rank from 1 without a gap, and `time`
    is in seconds since its recording began. 0 in all three: not written by a recorder.
    """

    step: int = 0
    sequence: int = 0
    rank: int = 0
    time: float = 0.0
