"""How closely a program is watched: it decides who hears a signal, so that those who do not care cost nothing."""

from __future__ import annotations

from enum import IntEnum


class Attention(IntEnum):
    """Of a step.

    LIGHT: only whether it is as others were. FULL: each operation is recorded. CLOSE: values are read as well.
    """

    LIGHT = 0
    FULL = 1
    CLOSE = 2
