"""One rank of several, as `torchrun` and its kind start them: who it is, and what ranks on one machine tell each other.

They talk through files in a folder of their run, outside of the program's process group: rank 0 gives the word at which
step all stop, and gathers what the others have found. Each begins with files from before it was started left out.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from autograd_doctor.clock import CLOCK
from autograd_doctor.plan import Ranks

ALONE = Ranks()
_RUN = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE")
_APART = 5.0
"""Ranks of one run are started within so many seconds."""
_WORD = "word"
_BETWEEN_LOOKS = 0.05


def this_rank(environment: Mapping[str, str]) -> Ranks:
    """What the launcher tells its processes. Ranks on other machines cannot be talked to, nor those of which no number
    is told: then `folder` is empty."""
    size = _number(environment, "WORLD_SIZE", 1)
    if size < 2:
        return ALONE
    name = f"autograd_doctor_ranks_{os.getuid()}_{launch_of(environment)}"
    near = _number(environment, "LOCAL_WORLD_SIZE", 0) == size
    folder = os.path.join(tempfile.gettempdir(), name) if near else ""
    return Ranks(rank=_number(environment, "RANK", 0), size=size, folder=folder, began=CLOCK.time())


def launch_of(environment: Mapping[str, str]) -> str:
    """A name that all ranks of one launch have in common, empty for what is no rank."""
    if _number(environment, "WORLD_SIZE", 1) < 2:
        return ""
    run = "\0".join(environment.get(name, "") for name in _RUN)
    return hashlib.sha256(run.encode()).hexdigest()[:16]


def _number(environment: Mapping[str, str], variable: str, otherwise: int) -> int:
    text = environment.get(variable, "")
    return int(text) if text.isascii() and text.isdigit() else otherwise


class Talk:
    """What one rank says to the others, and hears of them."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._folder = Path(ranks.folder)

    def give_word(self, step: int) -> None:
        """Let all ranks stop when they have taken so many steps."""
        self._say(_WORD, str(step).encode())

    def word(self) -> int | None:
        """After how many steps to stop, once rank 0 has said so."""
        said = self._heard(_WORD)
        return int(said) if said else None

    def hand_in(self, report: bytes) -> None:
        """Give rank 0 the report of this one."""
        self._say(f"report.{self._ranks.rank}", report)

    def handed_in(self, seconds: float) -> Iterator[tuple[int, bytes | None]]:
        """Reports of the other ranks, None for those who gave none within so many seconds."""
        until = CLOCK.monotonic() + seconds
        for rank in range(1, self._ranks.size):
            while not (report := self._heard(f"report.{rank}")) and CLOCK.monotonic() < until:
                CLOCK.sleep(_BETWEEN_LOOKS)
            yield rank, report

    def end(self) -> None:
        """Take away what was said."""
        with suppress(OSError):
            for file in self._folder.iterdir():
                file.unlink(missing_ok=True)
            self._folder.rmdir()

    def _say(self, name: str, text: bytes) -> None:
        """All at once, so that nobody hears half of it. Where it cannot be said, the others go on by themselves."""
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            unfinished = self._folder / f"{name}.{os.getpid()}.new"
            unfinished.write_bytes(text)
            unfinished.replace(self._folder / name)

    def _heard(self, name: str) -> bytes | None:
        file = self._folder / name
        with suppress(OSError):
            facts = file.stat()
            if facts.st_uid == os.getuid() and facts.st_mtime >= self._ranks.began - _APART:
                return file.read_bytes()
        return None
