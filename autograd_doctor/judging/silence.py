"""All that silences findings: comments, entries of the settings, a baseline; and what is to be said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_doctor.accepted import Accepted, Known
from autograd_doctor.findings import Finding
from autograd_doctor.judging.examination import Examination
from autograd_doctor.judging.ignored import IgnoredFindings
from autograd_doctor.judging.known import KnownFindings
from autograd_doctor.judging.presentation import Presenter
from autograd_doctor.judging.reached import Reached
from autograd_doctor.judging.suppressions import Ignore, Ignores
from autograd_doctor.mistakes import nearest
from autograd_doctor.report import BaselineFacts, ReportedFinding, Suppression
from autograd_doctor.rules import Rule, all_rules
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

_MOST_NAMED = 5


class Silence:
    """What a person has accepted, put to the findings of one run of `target` in `cwd`."""

    def __init__(self, accepted: Accepted, cwd: str, target: str) -> None:
        self._comments = Ignores(cwd, target, honoured=accepted.comments)
        self._settings = IgnoredFindings(accepted, cwd)
        self._baseline = KnownFindings(accepted.baseline, cwd) if accepted.baseline else None

    def of(self, finding: Finding) -> Suppression | None:
        """What a comment or the settings say of a finding."""
        return self._comments.match(finding) or self._settings.match(finding)

    def known(self, findings: Sequence[ReportedFinding]) -> list[ReportedFinding]:
        """The same findings, those suppressed that the baseline holds."""
        return [self._baseline.match(finding) for finding in findings] if self._baseline else list(findings)

    def baseline(self, examination: Examination, settled: Sequence[ReportedFinding]) -> BaselineFacts | None:
        """What came of the baseline, None if none was read."""
        if self._baseline is None:
            return None
        matched = sum(each.suppressed is not None and each.suppressed.kind == "baseline" for each in settled)
        stale = sum(known.count for known in self._baseline.stale(examination.ran))
        return BaselineFacts(path=self._baseline.path, matched=matched, stale=stale)

    def notes(
        self, trace: Trace, reached: Reached, rules: Sequence[Rule], examination: Examination, presenter: Presenter
    ) -> Iterator[str]:
        """What silences nothing, names no rule, or is stale."""
        judged = [rule for rule in rules if rule.code in examination.ran]
        for ignore in self._comments.unused({word for rule in judged for word in (rule.code, rule.name)}, reached):
            yield f"{_comment(ignore, presenter)} silences nothing"
        names = {word for rule in all_rules() for word in (rule.code, rule.name)}
        for ignore in self._comments.unknown(names):
            yield f"{_comment(ignore, presenter)} names no rule{nearest(ignore.rule, names)}"
        yield from self._settings.unused(judged, trace, reached)
        if self._baseline and (stale := self._baseline.stale(examination.ran)):
            yield _stale(stale, self._baseline.path)


def _comment(ignore: Ignore, presenter: Presenter) -> str:
    kind = "file-ignore" if ignore.whole_file else "ignore"
    return f"`doctor: {kind}[{ignore.rule}]` at {presenter.line(ignore.path, ignore.line)}"


def _stale(stale: Sequence[Known], path: str) -> str:
    named = [f"{known.code} in {known.function or known.path or known.subject}" for known in stale]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    count = sum(known.count for known in stale)
    names = f"{', '.join(named[:_MOST_NAMED])}{more}"
    are = f"{plural(count, 'finding')} of {path} {'is' if count == 1 else 'are'} stale"
    return f"{are}, fixed or ignored by now ({names}): `--prune-baseline` removes {'it' if count == 1 else 'them'}"
