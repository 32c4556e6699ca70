"""Rules at work on a trace: what each found, which of them judged the run, and why the others could not."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from autograd_doctor.events.connectivity import HeldOutScored
from autograd_doctor.events.run import ModelAssumed
from autograd_doctor.events.steps import ForwardRan
from autograd_doctor.findings import Finding, Number
from autograd_doctor.judging.coverage import Coverage, Obstacle
from autograd_doctor.rules import Rule
from autograd_doctor.trace import Trace

NOT_COMPARED = "ranks were not compared"
_ASSUMED = "the doctor, not the program, chose how to train"
RULE_CRASHED = "AD000"


@dataclass
class Examination:
    """`ran` holds codes, `skipped` maps codes to reasons; a rule is in one of them, unless it compares ranks.

    crashed: codes of the rules that failed themselves. unchecked: codes of the rules for errors that a failure of
    an instrument kept from judging, by that failure.
    """

    findings: list[Finding] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    crashed: list[str] = field(default_factory=list)
    unchecked: dict[str, list[str]] = field(default_factory=dict)


def examine(trace: Trace, rules: Sequence[Rule], tunables: Mapping[str, Mapping[str, Number]]) -> Examination:
    """Put every rule to the trace, in the order of their codes. `tunables` are by code and replace defaults."""
    examination, coverage = Examination(), Coverage(trace)
    assumed = {part for event in trace.of(ModelAssumed) for part in event.assumption.parts}
    for rule in sorted(rules, key=lambda rule: rule.code):
        if rule.examine_ranks is not None:
            # Of a program alone there is nothing to say; ranks are compared when each has been judged by itself.
            if trace.world_size > 1:
                obstacle = coverage.obstacle(rule)
                examination.skipped[rule.code] = obstacle.reason if obstacle else NOT_COMPARED
            continue
        if rule.about in assumed:
            examination.skipped[rule.code] = _ASSUMED
            continue
        obstacle = coverage.obstacle(rule)
        if obstacle is None or not obstacle.blind:
            _apply(rule, trace, {**rule.defaults, **tunables.get(rule.code, {})}, examination)
        if obstacle and rule.code not in examination.crashed:
            _discount(rule, obstacle, examination)
    return examination


def _discount(rule: Rule, obstacle: Obstacle, examination: Examination) -> None:
    """Not all that a rule needs had watched: what it found stands, but it does not count as having judged."""
    if rule.code in examination.ran:
        examination.ran.remove(rule.code)
    examination.skipped[rule.code] = obstacle.reason
    if obstacle.failure and rule.severity == "error":
        examination.unchecked.setdefault(obstacle.reason, []).append(rule.code)


def _apply(rule: Rule, trace: Trace, tunables: Mapping[str, Number], examination: Examination) -> None:
    missing = _missing_phases(rule, trace)
    # A program that died before its first backward still has a cause, which the rules for training may know.
    if missing and not (trace.crash and missing == ["training"]):
        examination.skipped[rule.code] = _not_seen(missing[0], trace)
        return
    findings: list[Finding] = []
    try:
        findings.extend(rule.examine(trace, tunables))
    except Exception as error:
        examination.skipped[rule.code] = "the rule crashed"
        examination.crashed.append(rule.code)
        findings.append(rule_crashed(rule, error))
    else:
        if missing and not findings:
            examination.skipped[rule.code] = _not_seen(missing[0], trace)
        elif open_questions := list(dict.fromkeys(rule.left_open(trace) if rule.left_open else ())):
            examination.skipped[rule.code] = "; ".join(open_questions)
        else:
            examination.ran.append(rule.code)
    examination.findings += findings


def _missing_phases(rule: Rule, trace: Trace) -> list[str]:
    """An evaluation that runs just as training does is one for those rules alone that know it by its samples."""
    seen = {*trace.phases, *(("evaluation",) if HeldOutScored in rule.needs and trace.of(HeldOutScored) else ())}
    return [phase for phase in rule.needs_phases if phase not in seen]


def _not_seen(phase: str, trace: Trace) -> str:
    """Forwards in evaluation mode alone are no evaluation: those of frozen parts are part of training."""
    ran_in_eval = phase == "evaluation" and any(not event.training for event in trace.of(ForwardRan))
    return f"no {phase} without gradients was seen" if ran_in_eval else f"no {phase} was seen"


def rule_crashed(rule: Rule, error: Exception) -> Finding:
    """What is said where it was to find something itself."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return Finding(
        code=RULE_CRASHED,
        name="rule-crashed",
        severity="info",
        confidence="high",
        title="a rule of the doctor crashed and judged nothing",
        message=f"`{rule.code}` {rule.name} raised `{type(error).__name__}`: {error}",
        subject=rule.code,
        location=None,
        help="the other findings stand; report this as a bug of autograd_doctor, with the trace (`--save-trace`)",
        evidence={"raised_at": f"{PurePath(last.filename).name}:{last.lineno}"},
    )
