"""Halves of surrogate pairs, which Python's strings can hold and no file can."""

from __future__ import annotations

from typing import Any


def spelt_out(value: Any) -> Any:
    """Plain data in whose strings each half, as in names that are no UTF-8, is written as its escape."""
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {spelt_out(key): spelt_out(held) for key, held in value.items()}
    return [spelt_out(held) for held in value] if isinstance(value, list | tuple) else value
