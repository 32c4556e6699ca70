"""Golden files: what a page looked like when somebody last read it."""

from __future__ import annotations

import os
from pathlib import Path


def check_golden(path: Path, text: str) -> None:
    """The text is that of the file; `--bless`, or `BLESS=1`, writes it there."""
    if os.environ.get("BLESS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "run with --bless if the change is wanted, and read the difference"
