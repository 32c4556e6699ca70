"""What Linux says of processes and threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

PROCESSES = Path("/proc")


def stats(folder: Path = PROCESSES) -> Iterator[tuple[int, list[str]]]:
    """Every process, or thread of one, with what `stat` says of it from its state on: proc(5)."""
    for entry in os.listdir(folder):
        if entry.isdigit():
            try:
                text = (folder / entry / "stat").read_text(errors="replace")
            except OSError:  # gone since it was listed
                continue
            yield int(entry), text.rpartition(")")[2].split()
