"""Where a run that is monitored is recorded: a folder that stays small, and tells how the run went when it is dead."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import Target
from autograd_doctor.report import ReportedFinding

ABOUT = "run.json"
FINDINGS = "findings.jsonl"
_VERSION = 1
_EARLIER = "earlier"
_LATEST = 4
_MOST = 16
"""Chapters that are kept of one process: the first two, the latest, and of the others those that found something.
With a megabyte for each, that is little, however long the run."""


class Numbers(Struct, frozen=True, kw_only=True):
    """What a run comes to at a step, as far as it is known."""

    step: int
    loss: float | None = None
    gradient_norm: float | None = None
    update_ratio: float | None = None
    learning_rate: float | None = None
    memory: int | None = None


class About(Struct, frozen=True, kw_only=True):
    """Who records what, and in which working folder: a process of a run.

    began, ended: seconds since 1970; it has not ended, or was killed, where `ended` is 0. how: in a word. failure: of
    the monitor's own, since when nothing was watched. spent: the
    seconds that monitoring has taken.
    """

    tool: str
    target: Target
    process: int
    host: str
    cwd: str
    began: float
    rank: int = 0
    size: int = 1
    budget: float = 0.0
    ended: float = 0.0
    how: str = ""
    failure: str = ""
    steps: int = 0
    seconds: float = 0.0
    spent: float = 0.0
    schema_version: int = _VERSION


class Found(Struct, frozen=True, kw_only=True):
    """A finding, when it was found first, and once more when it was told.

    chapter: in which it was found. step: how many had been taken. at: seconds since 1970. told: to the program and its
    log, rather than only kept, as what a later step may acquit.
    """

    chapter: int
    step: int
    at: float
    told: bool
    finding: ReportedFinding


class RankFolder:
    """What one process of a run leaves: chapters, numbered from 1, and what was found in them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, about: About) -> None:
        """Make it, with what an earlier run has left put aside, that of ranks of which there are fewer now included.
        Raises `OSError`."""
        if self.path.exists():
            earlier = self.path.parent / _EARLIER
            mine = earlier.glob(f"[0-9]*/{self.path.name}")  # other ranks put theirs aside at the same time
            number = 1 + max((int(each.parent.name) for each in mine), default=0)
            (earlier / str(number)).mkdir(parents=True, exist_ok=True)
            self.path.rename(earlier / str(number) / self.path.name)
            for other in _ranks_from(self.path.parent, about.size):
                with suppress(OSError):  # another rank was faster
                    other.rename(earlier / str(number) / other.name)
        self.path.mkdir(parents=True)
        self.say(about)

    def say(self, about: About) -> None:
        """Whole or not at all. Raises `OSError`."""
        new = self.path / f"{ABOUT}.new"
        new.write_bytes(msgspec.json.format(msgspec.json.encode(about), indent=2) + b"\n")
        new.replace(self.path / ABOUT)

    def about(self) -> About | None:
        """None where none was written, or by another version."""
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            about = msgspec.json.decode((self.path / ABOUT).read_bytes(), type=About)
            return about if about.schema_version == _VERSION else None
        return None

    def chapter(self, number: int) -> Path:
        """The trace of a chapter."""
        return self.path / f"{number:05d}.trace"

    def chapters(self) -> dict[int, Path]:
        """Those that are there, in order."""
        return {int(each.stem): each for each in sorted(self.path.glob("[0-9]*.trace"))}

    def write(self, found: Sequence[Found]) -> None:
        """Write down what was found. Raises `OSError`."""
        with (self.path / FINDINGS).open("ab") as file:
            file.writelines(msgspec.json.encode(each) + b"\n" for each in found)

    def found(self) -> Iterator[Found]:
        """What was found, in that order; a last line that was cut off is left out."""
        with suppress(OSError):
            for line in (self.path / FINDINGS).read_bytes().splitlines():
                with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                    yield msgspec.json.decode(line, type=Found)

    def prune(self) -> None:
        """Remove chapters in the middle of the run. Raises `OSError`."""
        numbers = list(self.chapters())
        found_in = [found.chapter for found in self.found()]
        kept = {*numbers[:2], *numbers[-_LATEST:]}
        for number in found_in[: _MOST - len(kept)]:
            kept.add(number)
        for number in numbers:
            if number not in kept:
                os.unlink(self.chapter(number))


def rank_folder(path: Path, rank: int) -> RankFolder:
    """That of one of the processes of a run."""
    return RankFolder(path / f"rank-{rank}")


def rank_folders(path: Path) -> list[RankFolder]:
    """Those of all processes, by rank; none where the folder holds no run."""
    return [folder for each in _ranks_from(path, 0) if (folder := RankFolder(each)).about() is not None]


def _ranks_from(path: Path, least: int) -> list[Path]:
    """What ranks from this one on have left, in order."""
    numbers = (each.name.removeprefix("rank-") for each in path.glob("rank-*"))
    ranks = sorted(int(number) for number in numbers if number.isdigit())
    return [path / f"rank-{rank}" for rank in ranks if rank >= least]


def check_free(path: Path) -> None:
    """Raise `Mistake` where what is there is no run of ours."""
    if path.exists() and not path.is_dir():
        raise Mistake(f"monitor(): {path}: a file is in the way of the folder in which a run is recorded")
    if path.is_dir() and any(path.iterdir()) and not (rank_folders(path) or (path / _EARLIER).is_dir()):
        raise Mistake(f"monitor(): {path}: a folder that holds something else is in the way")
