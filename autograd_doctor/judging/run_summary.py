"""What a report says about the run as a whole: target, environment, steps, phases, how it ended, what to know."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

from autograd_doctor.events.run import (
    InstrumentFailed,
    LightStepsCounted,
    ModelAssumed,
    Noted,
    ProcessStarted,
    RecordingStarted,
    RunEnded,
    RunStarted,
)
from autograd_doctor.events.subjects import DevicesUsed
from autograd_doctor.plan import Outcome, Target
from autograd_doctor.report import Assumed, Environment, OptimizerFacts, Run, StoppedBy, TargetFacts
from autograd_doctor.trace import Trace

PHASES = ("training", "evaluation", "training after evaluation")


def target_facts(trace: Trace, target: Target) -> TargetFacts:
    """What was run, where. The folder is the child's, or ours if the child never came to say."""
    started = next(iter(trace.of(RunStarted)), None)
    cwd = started.cwd if started else _text(os.getcwd())
    argv = [_text(word) for word in (target.name, *target.arguments)]
    if target.kind == "module":
        return TargetFacts(module=argv[0], argv=argv, cwd=cwd)
    if target.kind == "notebook":
        return TargetFacts(notebook=argv[0], argv=argv, cwd=cwd)
    if target.kind == "call":
        return TargetFacts(call=argv[0], argv=argv, cwd=cwd)
    if target.kind == "model":
        return TargetFacts(model=argv[0], argv=argv, cwd=cwd)
    if target.kind == "function":
        return TargetFacts(function=argv[0], argv=argv, cwd=cwd)
    if target.kind == "block":
        return TargetFacts(block=argv[0], argv=argv, cwd=cwd)
    return TargetFacts(script=argv[0], argv=argv, cwd=cwd)


def _text(word: str) -> str:
    """A word of the shell whose bytes need not be text."""
    return word.encode(errors="surrogateescape").decode(errors="replace")


def environment(trace: Trace) -> Environment:
    """The versions that the child stated, and the devices of the parameters: the best there is if none was seen."""
    started = next(iter(trace.of(RunStarted)), None)
    if started is None:
        return Environment()
    used = trace.of(DevicesUsed)
    return Environment(
        python=started.python,
        torch=started.torch,
        device=" and ".join(used[-1].kinds) if used else started.device,
        packages=dict(started.packages),
        world_size=trace.world_size,
    )


def assumed(trace: Trace) -> Assumed | None:
    """What was assumed to train a model without settings."""
    for event in trace.of(ModelAssumed):
        return Assumed(said=event.assumption.said, settings=event.assumption.settings)
    return None


def run_facts(trace: Trace, outcome: Outcome) -> Run:
    """Steps, phases and the end of the run."""
    seconds = trace.end.seconds if trace.end else outcome.seconds
    return Run(
        steps=trace.steps_in_all,
        steps_in_full=len(trace.steps),
        micro_batches=_micro_batches(trace),
        optimizers=list(_optimizers(trace)),
        phases_seen=list(trace.phases),
        phases_not_seen=[phase for phase in PHASES if phase not in trace.phases],
        stopped_by=_stopped_by(trace, outcome),
        program_exit=_program_exit(trace, outcome),
        processes_started=sum(not started.watched for started in trace.of(ProcessStarted)),
        seconds=seconds if math.isfinite(seconds) else 0.0,
    )


def _micro_batches(trace: Trace) -> int:
    told = sum(event.kind == "backward" and not event.error for event in trace.backwards.values())
    return told + sum(event.backwards for event in trace.of(LightStepsCounted))


def _optimizers(trace: Trace) -> Iterator[OptimizerFacts]:
    """Of two that step inside one another, that one whose steps are told of."""
    steps = trace.steps_by_optimizer
    around = {event.inside for event in trace.steps}
    for number, built in trace.optimizers.items():
        if number in trace.called_by_others or (number in around and not steps[number]):
            continue
        held = len(trace.optimizer_parameters[number])
        yield OptimizerFacts(name=built.name, kind=built.kind, parameters=held, steps=steps[number])
    if steps[None]:
        yield OptimizerFacts(name="an update by hand", kind="", parameters=0, steps=steps[None])


def _stopped_by(trace: Trace, outcome: Outcome) -> StoppedBy:
    """What the program does once it is being ended, such as leaving with 0 as it is told to, does not count."""
    if outcome.interrupted:
        return "interrupted"
    if outcome.timed_out:
        return "timeout"
    if trace.end:
        return trace.end.reason if outcome.lingered else _last_end(trace.end, outcome)
    if outcome.signal is not None:
        return "killed"
    if trace.crash:
        return "raised"
    return "exited" if outcome.exit_code is not None else "unknown"


def _last_end(end: RunEnded, outcome: Outcome) -> StoppedBy:
    """A program that came to its end may still fail on the way out: in an exit function, or as Python shuts down."""
    if end.reason in ("finished", "exited") and outcome.signal is not None:
        return "killed"
    return "exited" if end.reason == "finished" and outcome.exit_code else end.reason


def _program_exit(trace: Trace, outcome: Outcome) -> int | None:
    end = trace.end
    failed_on_the_way_out = outcome.signal is not None or bool(outcome.exit_code)
    if end is None or (end.reason in ("finished", "exited") and failed_on_the_way_out and not outcome.lingered):
        return outcome.exit_code
    return end.exit_code


def notes(trace: Trace, outcome: Outcome) -> list[str]:
    """What the doctor changed or left out, and what was odd about the end, each once."""
    said = list(dict.fromkeys(event.text for event in trace.of(Noted)))
    said += list(_cut_short(trace))
    said += [f"`{each.instrument}` failed in `{each.look}`: {each.error}" for each in trace.of(InstrumentFailed)]
    if outcome.first_run is not None:
        said.append(f"in the first run, {outcome.first_run.how}; this is a second run, with {outcome.first_run.wanted}")
    if outcome.lingered:
        said.append(
            f"the program finished, but its process did not exit and was terminated after {outcome.seconds:.0f} s"
        )
    elif outcome.timed_out or outcome.stacks:
        running = f"; this was running:\n{outcome.stacks.rstrip()}" if outcome.stacks else ""
        said.append(f"the program hung and was terminated{running}")
    return said


def _cut_short(trace: Trace) -> Iterator[str]:
    """Fewer steps than were asked for, because the time was up."""
    taken = trace.steps_in_all
    for asked in trace.of(RecordingStarted):
        if trace.end is not None and trace.end.reason == "time" and 0 < taken < asked.steps:
            limit = f"after {asked.max_seconds:g} s (`--max-seconds`)"
            yield f"{taken} of the {asked.steps} requested steps were seen: time ran out {limit}"
