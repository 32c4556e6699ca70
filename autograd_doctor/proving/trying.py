"""One change after the other: each is tried on what those proven before it have made of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import msgspec

from autograd_doctor.findings import Fix
from autograd_doctor.fixing.candidate import Candidate, Case
from autograd_doctor.fixing.diffs import fix_of
from autograd_doctor.proving.proof import Seen, computes_the_same, proof
from autograd_doctor.proving.proposing import offered
from autograd_doctor.report import ReportedFinding

Run = Callable[[Candidate], Seen]


@dataclass(frozen=True)
class Trial:
    """A change that was tried for a finding on a program, and what came of it."""

    finding: ReportedFinding
    fix: Fix
    base: Seen

    @property
    def is_proven(self) -> bool:
        """Whether it is part of what is made of the program."""
        return self.fix.proof is not None and self.fix.proof.proven


@dataclass
class Series:
    """What was tried, in this order; `now` is the program with all that was proven. `cut_off`: there was no time left,
    so that some were not tried. `failed`: what is to be said of fixers that failed."""

    now: Seen
    trials: list[Trial] = field(default_factory=list)
    cut_off: bool = False
    failed: list[str] = field(default_factory=list)


def tried(first: Seen, run: Run, reference: Callable[[], Seen], *, is_over: Callable[[], bool]) -> Series:
    """Try changes until there is nothing left to try.

    reference: a run of the program as it is that ends as those of `run` do, for what must compute the same.
    """
    series, refused = Series(first), set[tuple[str, str]]()
    while (found := _next(series, refused)) is not None:
        if is_over():
            series.cut_off = True
            break
        finding, candidate, fix = found
        after = run(candidate)
        differs = _difference(series, reference, after) if candidate.keeps else None
        how = {"fewer": candidate.fewer, "same_loss": candidate.same_loss}
        fix = msgspec.structs.replace(fix, proof=proof(finding, series.now, after, differs=differs, **how))
        series.trials.append(Trial(finding, _relative_to(first, candidate, fix, series), series.now))
        if fix.proof is not None and fix.proof.proven:
            series.now = after
        else:
            refused.add((finding.fingerprint, fix.diff))
    return series


def _next(series: Series, refused: set[tuple[str, str]]) -> tuple[ReportedFinding, Candidate, Fix] | None:
    """The first change that was not refused, for the first finding that has one."""
    now = series.now
    for finding, candidate in _open(now, series.failed):
        fix = fix_of(candidate, now.sources, now.report.target.cwd)
        if (finding.fingerprint, fix.diff) not in refused:
            return finding, candidate, fix
    return None


def _open(now: Seen, failed: list[str]) -> Iterator[tuple[ReportedFinding, Candidate]]:
    for finding in now.report.findings:
        case = Case(finding, now.trace, now.sources, now.report.target.cwd)
        yield from ((finding, candidate) for candidate in offered(case, failed))


def _difference(series: Series, reference: Callable[[], Seen], after: Seen) -> str:
    """How the changed program differs from what it must be the same as."""
    before = series.now if any(each.is_proven for each in series.trials) else reference()
    return computes_the_same(before, after)


def confirmed(series: Series, again: Seen) -> Series:
    """What is left of a series when the program that came of it has run once more, with other random numbers.

    The first change that does not hold then goes, and with it what was tried on top of it.
    """
    known = {(each.code, each.subject) for each in series.now.report.findings}
    back = {each.code for each in again.report.findings if (each.code, each.subject) not in known}
    has_failed = again.has_failed and not series.now.has_failed
    proven = (number for number, each in enumerate(series.trials) if each.is_proven)
    first = next((n for n in proven if has_failed or series.trials[n].finding.code in back), None)
    if first is None:
        return series
    doubted = series.trials[first]
    why = "the program fails" if has_failed else f"`{doubted.finding.code}` came back"
    trials = [
        each if number < first or not each.is_proven else _unproven(each, f"with other random numbers {why}")
        for number, each in enumerate(series.trials)
    ]
    return replace(series, now=doubted.base, trials=trials)


def _unproven(trial: Trial, why: str) -> Trial:
    proof = trial.fix.proof
    if proof is None:
        return trial
    doubted = msgspec.structs.replace(proof, proven=False, said=(why, *proof.said))
    return replace(trial, fix=msgspec.structs.replace(trial.fix, proof=doubted))


def _relative_to(first: Seen, candidate: Candidate, fix: Fix, series: Series) -> Fix:
    """Edits are of the files as the person has them: there are none where earlier changes are in the same files."""
    changed_before = series.now.sources.touched
    return msgspec.structs.replace(fix, edits=()) if changed_before & candidate.sources.touched else fix
