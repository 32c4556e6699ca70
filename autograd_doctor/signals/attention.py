"""How closely a program is watched: it decides who hears a signal, so that those who do not care cost nothing."""

from __future__ import annotations

from enum import IntEnum


class Attention(IntEnum):
    """Of a step.

    GLANCE: only that it is taken, and its loss. LIGHT: whether it is as others were. FULL: each operation is recorded.
    CLOSE: values are read as well.
    """

    GLANCE = 0
    LIGHT = 1
    FULL = 2
    CLOSE = 3
