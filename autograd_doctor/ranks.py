"""One rank of several: who it is, and what processes of one training tell each other.

They talk through files in a folder of their check or of their launch, outside of the program's process group: who has
seen enough first gives the word at which step all stop. What was left there before a run began is not heard.
"""

from __future__ import annotations

import hashlib
import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from autograd_doctor import system
from autograd_doctor.clock import CLOCK
from autograd_doctor.plan import Ranks

ALONE = Ranks()
_RUN = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE")
_SLURM = {"WORLD_SIZE": "SLURM_NTASKS", "RANK": "SLURM_PROCID", "LOCAL_RANK": "SLURM_LOCALID"}
_APART = 5.0
"""Ranks of one run are started within so many seconds."""
_WORD, _TRAINS, _OVER, _STILL, _LEFT = "word", "trains", "over", "still", "left"
_BETWEEN_LOOKS = 0.05


def this_rank(environment: Mapping[str, str], *, slurm: bool = False) -> Ranks:
    """What the launcher tells its processes. Ranks on other machines cannot be talked to, nor those of which no number
    is told: then `folder` is empty. slurm: its word counts as well, which it also gives to what is no rank."""
    if slurm and "WORLD_SIZE" not in environment:
        environment = {name: environment.get(told, "") for name, told in _SLURM.items()}
    size = _number(environment, "WORLD_SIZE", 1)
    if size < 2:
        return ALONE
    name = f"autograd_doctor_ranks_{system.user()}_{launch_of(environment)}"
    near = _number(environment, "LOCAL_WORLD_SIZE", 0) == size
    folder = os.path.join(tempfile.gettempdir(), name) if near else ""
    rank = _number(environment, "RANK", _number(environment, "LOCAL_RANK", 0))
    return Ranks(rank=rank, size=size, folder=folder, began=CLOCK.time())


def local_rank(environment: Mapping[str, str]) -> int:
    """Which one it is among those on its machine, -1 where nobody says."""
    return _number(environment, "LOCAL_RANK", -1)


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
    """What one process says to the others, and hears of them."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._folder = Path(ranks.folder)
        self._host = socket.gethostname()

    def give_word(self, step: int) -> None:
        """Let all stop when they have taken so many steps. Who says so first is heard."""
        self._say(_WORD, str(step).encode(), once=True)

    def word(self) -> int | None:
        """After how many steps to stop, once somebody has said so."""
        if not os.path.exists(f"{self._ranks.folder}/{_WORD}"):  # asked in each step
            return None
        said = self._heard(_WORD)
        return int(said) if said else None

    def say_training(self) -> None:
        """This process trains."""
        self._say(f"{_TRAINS}.{self._me}", b"")

    def say_over(self) -> None:
        """This process has come to its end, whichever."""
        self._say(f"{_OVER}.{self._me}", b"")

    def others_train(self) -> bool:
        """Whether another process that has begun to train is still there."""
        return any(self._is_alive(name) for name in self._named(_TRAINS) - self._named(_OVER) - {self._me})

    def somebody_is_over(self) -> bool:
        """Whether another process that trained has come to its end, or is gone without a word."""
        trained = self._named(_TRAINS) - {self._me}
        return any(name in self._named(_OVER) or not self._is_alive(name) for name in trained)

    def say_still(self, still: bool) -> None:
        """Nothing moves here at present, or it does again."""
        if still:
            self._say(f"{_STILL}.{self._me}", b"")
        else:
            with suppress(OSError):
                (self._folder / f"{_STILL}.{self._me}").unlink(missing_ok=True)

    def all_are_still(self) -> bool:
        """Whether nothing moves in any of those that train, and none of them is gone."""
        return self._named(_TRAINS) <= self._named(_STILL) and not self.somebody_is_over()

    def hand_in(self, trace: bytes) -> None:
        """Give rank 0 the trace of this one."""
        self._say(f"trace.{self._ranks.rank}", trace)

    def handed_in(self, seconds: float) -> Iterator[tuple[int, bytes | None]]:
        """Traces of the other ranks, None for those who gave none within so many seconds."""
        until = CLOCK.monotonic() + seconds
        for rank in range(1, self._ranks.size):
            while not (trace := self._heard(f"trace.{rank}")) and CLOCK.monotonic() < until:
                CLOCK.sleep(_BETWEEN_LOOKS)
            yield rank, trace

    def leave(self) -> None:
        """This rank has nothing more to say or hear; who is the last takes away what was said."""
        self._say(f"{_LEFT}.{self._ranks.rank}", b"")
        if len(self._named(_LEFT)) >= self._ranks.size:
            self.end()

    def end(self) -> None:
        """Take away what was said."""
        with suppress(OSError):
            for file in self._folder.iterdir():
                file.unlink(missing_ok=True)
            self._folder.rmdir()

    @property
    def _me(self) -> str:
        return f"{os.getpid()}.{self._host}"

    def _named(self, what: str) -> set[str]:
        """Those who have said this, also of earlier runs: these are dead."""
        with suppress(OSError):
            return {each.partition(".")[2] for each in os.listdir(self._folder) if each.startswith(f"{what}.")}
        return set()

    def _is_alive(self, name: str) -> bool:
        """What runs on other machines is taken to be."""
        process, _, host = name.partition(".")
        return host != self._host or is_running(int(process))

    def _say(self, name: str, text: bytes, *, once: bool = False) -> None:
        """All at once, so that nobody hears half of it. Where it cannot be said, the others go on by themselves."""
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            unfinished = self._folder / f".{name}.{self._me}.new"
            unfinished.write_bytes(text)
            if once and self._heard(name) is not None:
                unfinished.unlink()
            elif once:
                (self._folder / name).unlink(missing_ok=True)  # that of an earlier run
                os.link(unfinished, self._folder / name)
                unfinished.unlink()
            else:
                unfinished.replace(self._folder / name)

    def _heard(self, name: str) -> bytes | None:
        file = self._folder / name
        with suppress(OSError):
            facts = file.stat()
            if system.is_own(facts) and facts.st_mtime >= self._ranks.began - _APART:
                return file.read_bytes()
        return None


def is_running(process: int) -> bool:
    """Whether a process of this machine is alive; one that has ended and was not waited for is not."""
    try:
        if not (system.PROCESSES / "self").is_dir():
            os.kill(process, 0)
            return True
        told = (system.PROCESSES / str(process) / "stat").read_text(errors="replace")
        return told.rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False
