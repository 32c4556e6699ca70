"""One report on processes that trained together: each is judged by itself, and then all of them against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from autograd_doctor.findings import SEVERITIES, ExitCode, Finding, Number
from autograd_doctor.judging.consequences import PROGRAM_CRASHED
from autograd_doctor.judging.examination import NOT_COMPARED, rule_crashed
from autograd_doctor.judging.standing import Stood, in_words, standing
from autograd_doctor.judging.verdict import faults
from autograd_doctor.members import Death, Member, death, ended_well_at, was_left
from autograd_doctor.report import Checks, Report, ReportedFinding, Statistics
from autograd_doctor.rules import Rule
from autograd_doctor.trace import Ranked, Ranks
from autograd_doctor.wording import plural

_WORSE = (ExitCode.OK, ExitCode.NOT_JUDGED, ExitCode.PROGRAM_FAILED, ExitCode.FINDINGS, ExitCode.USAGE)
"""Which exit code counts where ranks differ: a fault that was found is more than a rank of which nothing is known."""
_NOTES = 50
_STOOD = 8

Judge = Callable[[Member, Sequence[Finding]], Report]
"""What is said of one rank by itself, with findings that others have shown besides."""


class Part(NamedTuple):
    """What is kept of a rank when the next one is judged.

    death: how it died. left: its recording breaks off. ended_at: when it came to its end by itself. stood: where it was
    when they were ended.
    """

    rank: int
    size: int
    report: Report
    death: Death | None = None
    left: bool = False
    ended_at: float | None = None
    stood: Stood = Stood("")


def judge_together(
    members: Iterable[Member],
    judge: Judge,
    rules: Sequence[Rule],
    tunables: Mapping[str, Mapping[str, Number]],
    *,
    fail_on: str,
) -> Report:
    """The report on several, of which one is in memory at a time, and the one that the report is told by."""
    parts: list[Part] = []
    ranked: list[Ranked] = []
    teller: Member | None = None
    kept = [rule for rule in rules if rule.examine_ranks is not None]
    for member in members:
        ended = (death(member), was_left(member), ended_well_at(member), in_words(member))
        parts.append(Part(member.rank, member.size, judge(member, ()), *ended))
        seen = member.trace.only(event for rule in kept for event in rule.needs)
        ranked.append(Ranked(member.rank, seen, standing(member)))
        if teller is None or _teller(parts).rank == member.rank:
            teller = member
    between = list(_between(Ranks(tuple(ranked)), kept, tunables))
    if between and teller is not None:
        told = _teller(parts)
        report = judge(teller, between)
        parts = [part._replace(report=report) if part is told else part for part in parts]
    return together(parts, fail_on=fail_on)


def _between(ranks: Ranks, rules: Iterable[Rule], tunables: Mapping[str, Mapping[str, Number]]) -> Iterator[Finding]:
    for rule in rules:
        if rule.examine_ranks is not None and len(ranks.all) > 1:
            try:
                yield from rule.examine_ranks(ranks, {**rule.defaults, **tunables.get(rule.code, {})})
            except Exception as error:
                yield rule_crashed(rule, error)


def _teller(parts: Sequence[Part]) -> Part:
    """The rank whose run the report is on: the one that died first, else one that hung, rather at a line of its own
    than where it waited for the others; else the first."""
    dead = [part for part in parts if part.death is not None]
    if dead:
        return min(dead, key=lambda part: part.death.at if part.death else 0.0)
    hung = sorted(filter(_hung, parts), key=lambda part: (not part.stood.own, part.rank))
    return hung[0] if hung else parts[0]


def _hung(part: Part) -> bool:
    return part.report.run.stopped_by in ("hung", "timeout")


def together(parts: Sequence[Part], *, fail_on: str) -> Report:
    """The report by one rank, with what others have besides, and with the ranks that have each finding."""
    teller = _teller(parts)
    others = [part for part in parts if part is not teller]
    findings = _merged(parts, teller, lambda report: report.findings)
    suppressed = _merged(parts, teller, lambda report: report.suppressed)
    report = msgspec.structs.replace(
        teller.report,
        findings=findings,
        suppressed=suppressed,
        statistics=Statistics.of(findings),
        checks=_checks(parts),
        notes=_notes(teller, others),
        run=msgspec.structs.replace(
            teller.report.run, ranks=sorted({part.rank for part in parts}), told_by=teller.rank
        ),
        environment=msgspec.structs.replace(
            teller.report.environment, world_size=max(part.size for part in (*parts, teller))
        ),
    )
    return _decided(report, parts, teller, fail_on)


def _merged(
    parts: Sequence[Part], teller: Part, of: Callable[[Report], Sequence[ReportedFinding]]
) -> list[ReportedFinding]:
    """Each finding once, as the first of those that have it tells it, with the numbers of all that have it."""
    found: dict[str, ReportedFinding] = {}
    ranks: dict[str, list[int]] = {}
    for part in (teller, *(part for part in parts if part is not teller)):
        for finding in of(part.report):
            key = finding.fingerprint
            if key not in found and part is not teller and teller.death and _tells_of_the_end(finding):
                continue
            found.setdefault(key, finding)
            ranks.setdefault(key, []).append(part.rank)
    numbered = [
        finding if finding.ranks else msgspec.structs.replace(finding, ranks=tuple(sorted(set(ranks[key]))))
        for key, finding in found.items()
    ]
    return sorted(numbered, key=lambda finding: SEVERITIES.index(finding.severity))


def _tells_of_the_end(finding: ReportedFinding) -> bool:
    """Whether it is on what a rank died of. Those that did so later were left alone by the first."""
    return finding.code == PROGRAM_CRASHED or finding.explains_crash


def _checks(parts: Sequence[Part]) -> Checks:
    """A rule has judged where it could judge one of them; a rank alone may evaluate, or write what is looked at."""
    ran = {code for part in parts for code in part.report.checks.ran}
    if len(parts) > 1:
        reasons = [part.report.checks.skipped for part in parts]
        ran |= {code for code in reasons[0] if all(each.get(code) == NOT_COMPARED for each in reasons)}
    skipped: dict[str, str] = {}
    for part in parts:
        for code, reason in part.report.checks.skipped.items():
            if code not in ran:
                skipped.setdefault(code, reason)
    return Checks(sorted(ran), dict(sorted(skipped.items())))


def _notes(teller: Part, others: Sequence[Part]) -> list[str]:
    said = list(teller.report.notes)
    if teller.death is not None:
        said += list(_afterwards(teller.death, others))
    if stood := [part for part in sorted((teller, *others), key=lambda part: part.rank) if part.stood.said]:
        each = "; ".join(f"rank {part.rank} {part.stood.said}" for part in stood[:_STOOD])
        more = f"; and {len(stood) - _STOOD} more" if len(stood) > _STOOD else ""
        said.append(f"where the ranks stood: {each}{more}")
    known = dict.fromkeys(note for part in others for note in part.report.notes if not _hung(part) and not part.death)
    return list(dict.fromkeys([*said, *known]))[: _NOTES + len(said)]


def _afterwards(first: Death, others: Sequence[Part]) -> Iterator[str]:
    """What the others did once one of them was gone, said once for all that did the same; and who had left before."""
    for part in others:
        if part.ended_at is not None and part.ended_at <= first.at:
            yield f"rank {part.rank} had finished before that, after {plural(part.report.run.steps, 'step')}"
    later: dict[str, list[int]] = {}
    for part in others:
        if part.death is not None:
            later.setdefault(part.death.how, []).append(part.rank)
        elif part.left:
            later.setdefault("terminated by the launcher", []).append(part.rank)
    for how, ranks in later.items():
        were = how if how.startswith(("raised", "exited")) else f"{'were' if len(ranks) > 1 else 'was'} {how}"
        yield f"{named(ranks)} {were.replace('was was', 'was')} after that"


def _decided(report: Report, parts: Sequence[Part], teller: Part, fail_on: str) -> Report:
    """The worst of what ranks were found to be. Where one has died, what became of the others follows from it."""
    verdict, code, reason = report.verdict, report.exit_code, report.exit_reason
    if teller.rank != min(part.rank for part in parts) or teller.death:
        reason = f"rank {teller.rank}: {reason}"
    worst = teller
    for part in parts:
        if part is not teller and not (teller.death and (part.death or part.left)) and not _is_no_worse(part, worst):
            worst = part
    if worst is not teller:
        verdict, code = worst.report.verdict, worst.report.exit_code
        reason = f"rank {worst.rank}: {worst.report.exit_reason}"
    absent = sorted({*range(max(part.size for part in parts))} - {part.rank for part in parts})
    if absent and not teller.death and _is_worse(ExitCode.NOT_JUDGED, code):
        verdict, code, reason = "not-judged", int(ExitCode.NOT_JUDGED), f"{named(absent)} left no trace"
    if absent:
        report = msgspec.structs.replace(report, notes=[*report.notes, f"{named(absent)} left no trace"])
    if (decision := faults(report.findings, fail_on)) and (verdict == "faults" or not report.run.steps):
        verdict, code, reason = decision[0], int(decision[1]), decision[2]
    advice = worst.report.advice if not report.findings else [f"doctor explain {report.findings[0].code}"]
    return msgspec.structs.replace(report, verdict=verdict, exit_code=code, exit_reason=reason, advice=advice)


def _is_no_worse(part: Part, than: Part) -> bool:
    return not _is_worse(part.report.exit_code, than.report.exit_code)


def _is_worse(code: int, than: int) -> bool:
    return code in _WORSE and than in _WORSE and _WORSE.index(ExitCode(code)) > _WORSE.index(ExitCode(than))


def named(ranks: Sequence[int]) -> str:
    """ "rank 1", "ranks 0, 2 and 5 more"."""
    shown = ", ".join(map(str, ranks[:4]))
    more = f" and {len(ranks) - 4} more" if len(ranks) > 4 else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}{more}"


def with_starter(report: Report, starter: Report) -> Report:
    """The report on what a process had started, with what is to be said of that process itself.

    It trained nothing. If it failed although all that it had started ended well, that is said as well.
    """
    notes = list(dict.fromkeys([*report.notes, *starter.notes]))
    report = msgspec.structs.replace(report, notes=notes)
    failed = starter.run.stopped_by in ("raised", "killed") or bool(starter.run.program_exit)
    if report.exit_code != ExitCode.OK or not (failed or starter.verdict == "interrupted"):
        return report
    findings = [*report.findings, *starter.findings]
    return msgspec.structs.replace(
        report,
        findings=findings,
        statistics=Statistics.of(findings),
        verdict=starter.verdict,
        exit_code=starter.exit_code,
        exit_reason=starter.exit_reason,
        advice=starter.advice,
    )
