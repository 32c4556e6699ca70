"""Entries of the settings that silence findings: which of them apply, and which were of no use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from fnmatch import fnmatchcase
from pathlib import Path

from autograd_doctor.accepted import Accepted, Ignored
from autograd_doctor.findings import Finding
from autograd_doctor.judging.known import relative
from autograd_doctor.judging.reached import Reached
from autograd_doctor.notebook import parted
from autograd_doctor.report import Suppression
from autograd_doctor.rules import Rule
from autograd_doctor.trace import Trace


class IgnoredFindings:
    """What the settings silence, for a program that ran in `cwd`."""

    def __init__(self, accepted: Accepted, cwd: str) -> None:
        self._entries = accepted.ignored
        self._folder = accepted.folder
        self._cwd = cwd
        self._used: set[Ignored] = set()

    def match(self, finding: Finding) -> Suppression | None:
        """What silences a finding, if anything does."""
        for entry, _ in self._entries:
            if _names(entry, finding) and self._covers(entry, finding):
                self._used.add(entry)
                return Suppression("settings", entry.reason)
        return None

    def unused(self, judged: Sequence[Rule], trace: Trace, reached: Reached) -> Iterator[str]:
        """Entries that silenced nothing although their rules judged a run of what they speak of."""
        subjects = _subjects(trace) if self._entries else frozenset()
        for entry, where in self._entries:
            judges = any(_names(entry, rule) for rule in judged)
            met = self._met(entry, reached) and (not entry.subject or _any_like(subjects, entry.subject))
            if judges and met and entry not in self._used:
                yield f"{where} ({_described(entry)}) silences nothing"

    def _covers(self, entry: Ignored, finding: Finding) -> bool:
        path = self._relative(finding.location.path) if finding.location else ""
        like_subject = not entry.subject or fnmatchcase(finding.subject, entry.subject)
        return like_subject and (not entry.path or fnmatchcase(path, entry.path))

    def _met(self, entry: Ignored, reached: Reached) -> bool:
        """Whether anything was seen in a file that an entry speaks of."""
        return not entry.path or _any_like(map(self._relative, reached.files()), entry.path)

    def _relative(self, path: str) -> str:
        return relative(Path(self._cwd, parted(path)[0]), self._folder)


def _names(entry: Ignored, named: Finding | Rule) -> bool:
    return entry.code == named.name or named.code.startswith(entry.code)


def _any_like(names: Iterator[str] | Set[str], pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)


def _subjects(trace: Trace) -> frozenset[str]:
    """The names of parameters, optimizers and modules in a run; other subjects exist only where they are found."""
    named = (
        *(trace.parameter_name(number) for number in trace.parameters),
        *(trace.optimizer_name(number) for number in trace.optimizers),
        *(trace.module_name(number) for number in trace.modules),
    )
    return frozenset(named)


def _described(entry: Ignored) -> str:
    rest = [f"{name} `{value}`" for name in ("subject", "path") if (value := getattr(entry, name))]
    return ", ".join([entry.code, *rest])
