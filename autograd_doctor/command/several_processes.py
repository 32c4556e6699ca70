"""A check of several processes: torch's own launcher as what is run, and traces that the ranks of another one leave."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from autograd_doctor.members import SUFFIX
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import Plan, Ranks, Target
from autograd_doctor.ranks import Talk, launch_of, this_rank

_LAUNCHER = "torch.distributed.run"
_LAUNCHED = ("script", "module")


def started_by_torch(plan: Plan, ranks: int) -> Plan:
    """The same program under torch's launcher, whose workers are the ranks."""
    target = plan.target
    if target.kind not in _LAUNCHED:
        raise Mistake(f"--nproc-per-node: {target.name}: torch's launcher starts only scripts and modules")
    named = ["-m", target.name] if target.kind == "module" else [target.name]
    logs = str(Path(plan.scratch) / "logs")
    arguments = ["--standalone", "--nproc-per-node", str(ranks), "--log-dir", logs, *named, *target.arguments]
    return msgspec.structs.replace(plan, target=Target("module", _LAUNCHER, arguments), assumes=False)


def check_is_launched_once(environment: Mapping[str, str]) -> None:
    """Raises `Mistake` where a launcher has started this very process."""
    if this_rank(environment).are_several:
        raise Mistake("--nproc-per-node: this process is already one rank of several; leave the option out")


def rank_of(folder: Path) -> Ranks:
    """Which rank this is, of a launch whose ranks share a folder, be they on one machine or on several. Raises
    `Mistake`."""
    ranks = this_rank(os.environ, slurm=True)
    talk = folder.absolute() / f".{_name(ranks)}"
    try:
        talk.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None
    return msgspec.structs.replace(ranks, folder=str(talk))


def leave(folder: Path, trace: bytes, ranks: Ranks) -> None:
    """Put the trace of this rank into the folder, all at once. Raises `Mistake`."""
    file = folder / f"{_name(ranks)}.rank-{ranks.rank:05}{SUFFIX}"
    try:
        unfinished = file.with_suffix(".new")
        unfinished.write_bytes(trace)
        unfinished.replace(file)
    except OSError as error:
        raise _unwritable(folder, error) from None
    Talk(ranks).leave()


def _unwritable(folder: Path, error: OSError) -> Mistake:
    return Mistake(f"--rank-reports: {folder}: cannot be written: {error.strerror}")


def _name(ranks: Ranks) -> str:
    return launch_of(os.environ) or f"of-{ranks.size}"


def latest(folder: Path) -> list[Path]:
    """The traces of the last launch that left some. Raises `Mistake`."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob(f"*.rank-*{SUFFIX}")):
        found.setdefault(path.name.partition(".")[0], []).append(path)
    if not found:
        raise Mistake(f"{folder}: no traces of ranks here (`doctor check --rank-reports {folder}` writes them)")
    return max(found.values(), key=lambda paths: max(path.stat().st_mtime for path in paths))
