"""The baseline of a project: where it lies, and how it is read and written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from autograd_doctor.accepted import BASELINE_VERSION, Baseline, Known, KnownBefore
from autograd_doctor.command import writing
from autograd_doctor.config_file import shown, upward
from autograd_doctor.judging.known import Keys, gathered, relative
from autograd_doctor.mistakes import Mistake, nearest_file
from autograd_doctor.plan import Target
from autograd_doctor.report import Report, ReportedFinding

FOLDER = ".autograd_doctor"
NAME = "baseline.json"


class Shelf(NamedTuple):
    """The place of what is known of one target: a file, and the key under which it is kept there."""

    file: Path
    key: str
    baseline: Baseline

    @property
    def root(self) -> Path:
        """The folder to which the paths in the file are relative."""
        folder = self.file.parent
        return folder.parent if folder.name == FOLDER else folder

    def before(self) -> KnownBefore:
        """What was known before this check."""
        return KnownBefore(shown(self.file), self.root, self.baseline.checks.get(self.key, []))


def find(folder: Path) -> Path | None:
    """The nearest baseline from a folder upward, no further than the repository's root."""
    return next((file for here in upward(folder) if (file := here / FOLDER / NAME).is_file()), None)


def default(folder: Path, settings: Path | None) -> Path:
    """Where a first baseline goes: beside the settings, else to the repository's root, else to the folder itself."""
    root = settings.parent if settings else repository(folder)
    return root.resolve() / FOLDER / NAME


def repository(folder: Path) -> Path:
    """The root of the repository that a folder lies in, the folder itself if it lies in none."""
    return next((here for here in upward(folder) if (here / ".git").exists()), folder)


def shelf(file: Path, what: Target, cwd: str, label: str = "") -> Shelf:
    """What a file holds, nothing if it is not there. Raises `Mistake`.

    label: what the settings call the target, which may run a program that another runs, too.
    """
    empty = Shelf(file, "", Baseline())
    key = _key(what, cwd, empty.root)
    return empty._replace(
        key=f"{key} ({label})" if label else key, baseline=_read(file) if file.exists() else Baseline()
    )


def missing(file: Path, where: str) -> Mistake:
    """That a baseline that was asked for is not there."""
    instead = nearest_file(file) or " (`--write-baseline` writes it)"
    return Mistake(f"{where}: {shown(file)}: no such baseline{instead}")


def _key(what: Target, cwd: str, root: Path) -> str:
    """The target, named alike from every working folder."""
    if what.kind == "module":
        return f"-m {what.name}"
    where, colon, function = what.name.rpartition(":") if what.kind == "call" else (what.name, "", "")
    if colon and not where.endswith((".py", ".ipynb")):
        return what.name
    return relative(Path(cwd, where), root) + colon + function


def _read(file: Path) -> Baseline:
    try:
        baseline = msgspec.json.decode(file.read_bytes(), type=Baseline)
    except OSError as error:
        raise Mistake(f"{shown(file)}: cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Mistake(f"{shown(file)}: not a baseline: {error}") from None
    if baseline.schema_version != BASELINE_VERSION:
        version = f"{baseline.schema_version}, but this version of the doctor reads {BASELINE_VERSION}"
        raise Mistake(f"{shown(file)}: a baseline of version {version}: rewrite it with `--write-baseline`")
    return baseline


# ------------------------------------------------------------------------------------------------------- bringing up to


def accepting(shelf: Shelf, report: Report) -> Shelf:
    """The shelf with the findings of a report; those of rules that did not judge it stay."""
    found = gathered(report.findings, Keys(report.target.cwd, shelf.root))
    return _with(shelf, [*_of_others(shelf, [*report.checks.ran, *(known.code for known in found)]), *found])


def pruned(shelf: Shelf, report: Report) -> Shelf:
    """The shelf without what did not come again in a report."""
    known = (finding for finding in report.suppressed if _is_known(finding))
    again = gathered(known, Keys(report.target.cwd, shelf.root))
    ran = report.checks.ran
    return _with(shelf, [*_of_others(shelf, ran), *(known for known in again if known.code in ran)])


def _of_others(shelf: Shelf, codes: Iterable[str]) -> list[Known]:
    judged = set(codes)
    return [known for known in shelf.baseline.checks.get(shelf.key, []) if known.code not in judged]


def _is_known(finding: ReportedFinding) -> bool:
    return finding.suppressed is not None and finding.suppressed.kind == "baseline"


def _with(shelf: Shelf, findings: list[Known]) -> Shelf:
    checks = {**shelf.baseline.checks, shelf.key: sorted(findings)}
    kept = {key: checks[key] for key in sorted(checks) if checks[key]}
    return shelf._replace(baseline=Baseline(checks=kept))


def check_writable(file: Path) -> None:
    """Say before the run, not after it, that a baseline cannot be written. Raises `Mistake`."""
    place = next(each for each in (file, *file.parents) if each.exists())
    if file.is_dir() or (place != file and not place.is_dir()):
        raise Mistake(f"{shown(file)}: cannot be written: {shown(place)} is in the way")
    if not os.access(place, os.W_OK):
        raise Mistake(f"{shown(file)}: cannot be written: permission denied")


def write(shelf: Shelf) -> None:
    """Put the shelf in the place of what was there, whole or not at all. Raises `Mistake`."""
    text = msgspec.json.format(msgspec.json.encode(shelf.baseline), indent=2) + b"\n"
    try:
        shelf.file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Mistake(f"{shown(shelf.file)}: cannot be written: {error.strerror}") from None
    writing.write(shelf.file, text)
