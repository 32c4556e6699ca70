"""Whether a second run proves a change: what is asked of it, and what is said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from autograd_doctor.events.steps import BackwardRan, ForwardRan, WeightsFingerprinted
from autograd_doctor.findings import Losses, Proof
from autograd_doctor.fixing.candidate import path_of
from autograd_doctor.fixing.changed_sources import Sources
from autograd_doctor.fixing.line_edits import moved
from autograd_doctor.report import Report, ReportedFinding
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

_Key = tuple[str, str, object]
_JUDGED = ("passed", "faults")
_FAILED = ("raised", "killed", "hung", "timeout")
_NAMED = 3
_LAST_PART = 4
"""The last quarter of the steps is how a loss ends."""
_FEWEST_ENDS, _MOST_HIGHER = 4, 0.75
"""Losses of that part, and the share of them that must be higher: chosen, so that single batches do not decide."""
_CLEARLY = 0.1
"""Of the range that a loss went through: chosen, well above what another order of small steps makes of it."""


@dataclass(frozen=True)
class Seen:
    """A run of the program: its sources, what was recorded, and the report on it."""

    sources: Sources
    trace: Trace
    report: Report

    @property
    def has_failed(self) -> bool:
        """Whether the program died, rather than came to its end or was stopped when enough was seen."""
        return self.report.run.stopped_by in _FAILED or bool(self.report.run.program_exit)

    @cached_property
    def trained(self) -> frozenset[str]:
        """The names of the parameters that steps used gradients of."""
        used = {p for step in self.trace.steps for use in step.uses for p in use.parameters}
        return frozenset(self.trace.parameter_name(parameter) for parameter in used)

    @cached_property
    def losses(self) -> Mapping[int, list[float | None]]:
        """Those of the backwards that were recorded, by the steps before them."""
        found: dict[int, list[float | None]] = {}
        for ran in self.trace.of(BackwardRan):
            found.setdefault(ran.step, []).append(ran.loss)
        return found

    @cached_property
    def weights(self) -> Mapping[int, list[int]]:
        """The fingerprints of the weights, by the steps before."""
        return {each.step: each.fingerprints for each in self.trace.of(WeightsFingerprinted)}


def computes_the_same(one: Seen, other: Seen) -> str:
    """ "" if both runs computed the same losses and weights as far as both went, to the last bit; else what differs."""
    last = min(one.report.run.steps, other.report.run.steps)
    compared = sorted(step for step in one.losses.keys() & other.losses.keys() if step < last)
    if not compared:
        return "no loss was seen in both runs"
    for step in compared:
        loss, changed = one.losses[step], other.losses[step]
        if list(map(repr, loss)) != list(map(repr, changed)):  # as words, so that NaN is the same as NaN
            return f"the loss of step {step + 1} is {_told(changed)} instead of {_told(loss)}"
    for step in sorted(one.weights.keys() & other.weights.keys()):
        if step <= last and one.weights[step] != other.weights[step]:
            return f"the weights differ after step {step}"
    return ""


def _told(losses: Sequence[float | None]) -> str:
    return ", ".join("unknown" if loss is None else f"{loss:.6g}" for loss in losses)


def proof(
    target: ReportedFinding,
    before: Seen,
    after: Seen,
    *,
    differs: str | None,
    fewer: bool = False,
    same_loss: bool = False,
) -> Proof:
    """What the second run shows. differs: how what it computes differs from what it must be the same as; None where the
    change is to alter that. fewer: whether the change takes steps out: it may have fewer then, and no fewer backwards.
    same_loss: whether the loss is made of the same, so that it must not end clearly worse.
    """
    changes = _Changes(before, after)
    against = [*_obstacles(target, changes, fewer), *([f"it changes what is computed: {differs}"] if differs else [])]
    against += _worse(before.report, after.report) if same_loss else ()
    gone = changes.gone
    return Proof(
        proven=not against,
        said=tuple(against or _reasons(target, changes, same=differs == "")),
        gone=tuple(dict.fromkeys(_called(each) for each in gone)),
        steps=(before.report.run.steps, after.report.run.steps),
        before=_losses(before.report),
        after=_losses(after.report),
    )


class _Changes:
    """The findings of two runs side by side. Lines that a change has moved are the same lines."""

    def __init__(self, before: Seen, after: Seen) -> None:
        self.before = before
        self.after = after
        self._lines: dict[str, Mapping[int, int]] = {}

    @cached_property
    def gone(self) -> list[ReportedFinding]:
        """Those of the first run that the second has not."""
        kept = {self._key(each, self.after) for each in self.after.report.findings}
        return [each for each in self.before.report.findings if self._key(each, self.before) not in kept]

    @cached_property
    def new(self) -> list[ReportedFinding]:
        """Those of the second run that the first has not, or has less severe."""
        known = {self._key(each, self.before): each.severity for each in self.before.report.findings}
        return [each for each in self.after.report.findings if self._is_new(each, known)]

    def is_left(self, target: ReportedFinding) -> bool:
        """Whether the second run has a finding of the same rule at the same place, or about the same subject."""
        key, alike = self._key(target, self.before), (target.code, target.subject)
        if [self._key(each, self.before) for each in self.before.report.findings].count(key) > 1 and target.subject:
            return any((each.code, each.subject) == alike for each in self.after.report.findings)
        others = [(each.code, each.subject) for each in self.before.report.findings].count(alike) > 1
        same_subject = bool(target.subject) and not others
        return any(
            self._key(each, self.after) == key or (same_subject and (each.code, each.subject) == alike)
            for each in self.after.report.findings
        )

    def was_hidden(self, finding: ReportedFinding) -> bool:
        """Whether the first run ended before it could have shown this."""
        return self.before.has_failed and finding.step_first >= self.before.report.run.steps

    @property
    def evaluations_ran(self) -> bool:
        """Whether all that was evaluated in the first run was called in the second: with gradients it may be training
        there, as it was meant to be."""
        called = _places(self.after.trace.of(ForwardRan))
        evaluated = _places(self.before.trace.evaluations)
        return all((path, self._moved(path).get(line)) in called for path, line in evaluated)

    def _is_new(self, finding: ReportedFinding, known: Mapping[_Key, str]) -> bool:
        severity = known.get(self._key(finding, self.after))
        return severity is None or (severity != "error" and finding.severity == "error")

    def _key(self, finding: ReportedFinding, seen: Seen) -> _Key:
        """Rule and place, where this has one, in lines of the second run."""
        place = finding.location
        if place is None:
            return finding.code, "", finding.subject
        path = path_of(place, seen.report.target.cwd)
        line = place.line if seen is self.after else self._moved(path).get(place.line, -place.line)
        return finding.code, path, line

    def _moved(self, path: str) -> Mapping[int, int]:
        if path not in self._lines:
            texts = [_text(seen.sources, path) for seen in (self.before, self.after)]
            self._lines[path] = moved(*texts)
        return self._lines[path]


def _places(passes: Sequence[ForwardRan]) -> set[tuple[str, int]]:
    """The lines that called for them."""
    return {(event.location.path, event.location.line) for event in passes if event.location is not None}


def _text(sources: Sources, path: str) -> str:
    """Findings may lie in files that have no text any more; then no line of theirs has moved."""
    try:
        return sources.text(path)
    except (OSError, ValueError):
        return ""


def _obstacles(target: ReportedFinding, changes: _Changes, fewer: bool) -> Iterator[str]:
    """Why the change is not proven, the most telling first."""
    before, after = changes.before, changes.after
    run, report = after.report.run, after.report
    if after.has_failed and not (before.has_failed and run.steps > before.report.run.steps):
        yield f"the changed program {_failure(after)}"
        return
    if report.verdict not in (*_JUDGED, "program-failed"):
        yield f"the changed program could not be judged: {report.exit_reason}"
        return
    if changes.is_left(target):
        yield f"`{target.code}` is still there"
    reason = report.checks.skipped.get(target.code)
    if reason is not None and reason != before.report.checks.skipped.get(target.code):
        yield f"`{target.code}` could not be judged in the changed program: {reason}"
    for each in changes.new:
        if not changes.was_hidden(each):
            yield f"it brings {_called(each)}, which was not there before"
    done, needed, what = run.steps, before.report.run.steps, "step"
    if fewer:
        done, needed, what = run.micro_batches, before.report.run.micro_batches, "backward"
    if not before.has_failed and done < needed:
        yield f"the changed program took {plural(done, what)}, before it were {needed}"
    seen = before.report.run.phases_seen if before.report.run.micro_batches else []  # without a backward all look alike
    missing = [phase for phase in seen if phase not in run.phases_seen]
    if missing and ("training" in missing or not changes.evaluations_ran):
        yield f"the changed program did not come to {', '.join(missing)}"
    paths = [f".{_path(name)}" for name in after.trained]
    if lost := sorted(n for n in before.trained if not any(each.endswith(f".{_path(n)}") for each in paths)):
        yield f"these learned before, and no more: {', '.join(f'`{name}`' for name in lost[:_NAMED])}"
    if not before.has_failed and _ends_non_finite(report) and not _ends_non_finite(before.report):
        yield "its loss does not stay finite"


def _path(name: str) -> str:
    """The name of a parameter as that of one which a module has registered: `self.heads[0].bias` is `heads.0.bias`."""
    return re.sub(r"\[['\"]?(\w+)['\"]?\]", r".\1", name).removeprefix("self.")


def _reasons(target: ReportedFinding, changes: _Changes, *, same: bool) -> Iterator[str]:
    """Why it is proven."""
    before, after = changes.before, changes.after
    others = [_called(each) for each in changes.gone if each.code != target.code]
    steps = plural(after.report.run.steps, "step")
    yield f"`{target.code}` was looked for and is gone in {steps} from the same random numbers"
    if others:
        yield f"with it went {', '.join(dict.fromkeys(others))}"
    if before.has_failed:
        yield f"as it was, the program {_failure(before)}; with the change it {_ended(after)}"
    if same:
        yield "losses and weights are the same to the last bit"
    elif not before.has_failed:
        yield from _last_losses(before.report, after.report)
    if new := list(dict.fromkeys(_called(each) for each in changes.new)):
        yield f"because the program comes further, it shows {', '.join(new)}"


def _last_losses(before: Report, after: Report) -> Iterator[str]:
    """How each loss ended, where both runs have it once."""
    old, new = ({each.name: each.values[-1] for each in _losses(report) if each.values} for report in (before, after))
    for name in [name for name in new if name in old][:_NAMED]:
        if old[name] != new[name]:
            yield f"the loss `{name}` ends at {new[name]} instead of {old[name]}"


def _worse(before: Report, after: Report) -> Iterator[str]:
    """Losses that end clearly higher than before in the same steps, which saw the same batches."""
    curves = [
        {each.name: dict(zip(each.steps, each.values, strict=True)) for each in _losses(report)}
        for report in (before, after)
    ]
    for name in curves[0].keys() & curves[1].keys():
        old, new = ({step: v for step, v in each[name].items() if isinstance(v, float)} for each in curves)
        steps = sorted(old.keys() & new.keys())
        ends = [step for step in steps if _LAST_PART * step > (_LAST_PART - 1) * steps[-1]]
        if len(ends) < _FEWEST_ENDS:
            continue
        higher = sum(new[step] > old[step] for step in ends) / len(ends)
        was, now = (median(each[step] for step in ends) for each in (old, new))
        went_through = max(old[step] for step in steps) - min(old[step] for step in steps)
        if higher >= _MOST_HIGHER and now - was > _CLEARLY * went_through:
            seen = f"{now:.4g} instead of {was:.4g} in the last {len(ends)} steps seen"
            yield f"the loss `{name}` ends clearly higher: {seen}"


def _failure(seen: Seen) -> str:
    crash = seen.trace.crash
    if crash is not None:
        return f"raises `{crash.kind}` in step {crash.step + 1}"
    return f"ends badly ({seen.report.run.stopped_by})"


def _ended(seen: Seen) -> str:
    if seen.has_failed:
        return f"{_failure(seen)} only"
    return "runs to its end" if seen.report.run.stopped_by in ("finished", "exited") else "goes on"


def _called(finding: ReportedFinding) -> str:
    return f"`{finding.code}` {finding.name}"


def _ends_non_finite(report: Report) -> bool:
    return any(isinstance(each.values[-1], str) for each in _losses(report) if each.values)


def _losses(report: Report) -> tuple[Losses, ...]:
    return tuple(Losses(each.name, each.steps, each.values) for each in report.course.series if each.quantity == "loss")
