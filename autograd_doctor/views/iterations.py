"""The profile that a trace holds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from autograd_doctor.events.efficiency import (
    BESIDE,
    Activity,
    EvaluationTried,
    GraphMeasured,
    IterationTimed,
    LineCost,
    LinesMeasured,
    MemoryBudgeted,
    ModulesTimed,
    PassTimed,
    Spent,
)
from autograd_doctor.events.run import RecordingStarted
from autograd_doctor.findings import Location
from autograd_doctor.profiling import (
    Beside,
    CodeLine,
    EvaluationModes,
    GraphSize,
    LoaderRead,
    Measured,
    Memory,
    ModuleCost,
    Part,
    Profile,
    Waiting,
)
from autograd_doctor.trace import Trace
from autograd_doctor.views.block_trials import as_reported

_TRIMMED = 10
"""One in so many at each end: on a busy machine, one iteration may take as long as all others."""
_LINES = 2
"""That are named for one activity."""
Line = Callable[[Location | None], str]


def typical(trace: Trace) -> list[IterationTimed]:
    """The iterations that tell how long one takes: nothing was recorded, evaluated or saved in them."""
    return [each for each in _undisturbed(trace) if not each.recorded]


def _undisturbed(trace: Trace) -> list[IterationTimed]:
    """Those in which nothing was evaluated or saved, unless most do that."""
    rare = _rare(trace.of(IterationTimed))
    return [each for each in trace.of(IterationTimed) if not {spent.activity for spent in each.spent} & rare]


def _rare(iterations: Sequence[IterationTimed]) -> set[Activity]:
    """A teacher that is asked in each iteration, or a validation after each, is a part of it."""
    counted = Counter(activity for each in iterations for activity in {spent.activity for spent in each.spent})
    return {activity for activity in BESIDE if 2 * counted[activity] <= len(iterations)}


def split(iterations: Sequence[IterationTimed]) -> list[IterationTimed]:
    """Those of which the parts are known: where an accelerator was waited for, if there is one."""
    return [each for each in iterations if each.waited] or list(iterations)


def whole(iterations: Sequence[IterationTimed]) -> list[IterationTimed]:
    """Those that took as long as without the doctor: nobody waited for an accelerator."""
    return [each for each in iterations if not each.waited] or list(iterations)


def was_asked_for(trace: Trace) -> bool:
    """Whether the run was to be timed."""
    return any(IterationTimed.__name__ in started.needs for started in trace.of(RecordingStarted))


def profile(trace: Trace, line: Line) -> Profile | None:
    """None where none was asked for; without iterations where none was timed that tells anything."""
    if not was_asked_for(trace):
        return None
    timed = typical(trace)
    while_recorded = not timed
    if while_recorded:
        timed = _undisturbed(trace)
    if not timed:
        return Profile()
    seconds = Measured.of([each.seconds for each in whole(timed)])
    costs = trace.of(LinesMeasured)
    return Profile(
        iterations=len(timed),
        while_recorded=while_recorded,
        recorded=sum(each.iterations for each in costs),
        seconds=seconds,
        samples=median(each.samples for each in timed) / seconds.median,
        tokens=median(each.tokens for each in timed) / seconds.median,
        parts=_parts(split(timed), line),
        beside=list(_beside(trace, line)),
        waiting=_waiting([each for each in timed if not each.waited], line),
        loaders=list(_loaders(trace.of(PassTimed), line)),
        modules=list(_modules(trace)),
        lines=[_line(cost, line) for each in costs for cost in _joined(each.lines)],
        memory=next((_memory(budget, line) for budget in trace.of(MemoryBudgeted)), None),
        graphs=[
            GraphSize(each.step, each.nodes, each.depth, each.saved, each.left) for each in trace.of(GraphMeasured)
        ],
        checkpoints=as_reported(trace),
        evaluations=[_evaluation(each, line) for each in trace.of(EvaluationTried)],
    )


def shares(iterations: Sequence[IterationTimed]) -> dict[Activity, float]:
    """What part of the time goes to each activity, without the tenth of the iterations that took longest, or shortest.

    What is done in some iterations only, as waiting for workers that prepare batches ahead, counts as well.
    """
    ordered = sorted(iterations, key=lambda each: each.seconds)
    outside = len(ordered) // _TRIMMED
    kept = ordered[outside : len(ordered) - outside]
    sums: defaultdict[Activity, float] = defaultdict(float)
    for each in kept:
        for spent in each.spent:
            sums[spent.activity] += spent.seconds
    total = sum(each.seconds for each in kept)
    return {activity: seconds / total for activity, seconds in sums.items()} if total else {}


def share_of_evaluation(trace: Trace, tried: EvaluationTried) -> float:
    """What part of the time goes to evaluating a module, by what a forward of a copy and an iteration take.

    Passes of the program are too often recorded to tell that. 0 where no iteration was timed that is not.
    """
    timed = typical(trace)
    if not timed:
        return 0.0
    evaluating = tried.within * median(tried.inference[0])
    iterations = tried.iterations * median(each.seconds for each in whole(timed))
    is_beside = "evaluation" in _rare(trace.of(IterationTimed))
    return evaluating / (iterations + evaluating if is_beside else max(iterations, evaluating))


def lines_of(spent: Sequence[Spent], activity: Activity) -> list[Location]:
    """Where most of an activity happens, the line that takes most first."""
    sums: defaultdict[Location, float] = defaultdict(float)
    for each in spent:
        if each.activity == activity and each.location is not None:
            sums[each.location] += each.seconds
    return sorted(sums, key=lambda location: -sums[location])


def _parts(iterations: Sequence[IterationTimed], line: Line) -> list[Part]:
    spent = [spent for each in iterations for spent in each.spent]
    by_iteration: defaultdict[Activity, list[float]] = defaultdict(lambda: [0.0] * len(iterations))
    for number, each in enumerate(iterations):
        for part in each.spent:
            by_iteration[part.activity][number] += part.seconds
    share = shares(iterations)
    parts = [
        Part(activity, Measured.of(seconds), share[activity], list(map(line, lines_of(spent, activity)[:_LINES])))
        for activity, seconds in by_iteration.items()
    ]
    return sorted(parts, key=lambda part: -part.share)


def _beside(trace: Trace, line: Line) -> Iterator[Beside]:
    iterations = trace.of(IterationTimed)
    for activity in sorted(_rare(iterations)):
        found = [(part, each) for each in iterations for part in each.spent if part.activity == activity]
        if found:
            parts = [part for part, _ in found]
            seconds = _unrecorded(found, trace.of(EvaluationTried)) if activity == "evaluation" else None
            yield Beside(
                activity,
                len({id(each) for _, each in found}),
                sum(part.seconds for part in parts) if seconds is None else seconds,
                [line(location) for location in lines_of(parts, activity)[:_LINES]],
                while_recorded=activity == "evaluation" and seconds is None,
            )


def _unrecorded(found: Sequence[tuple[Spent, IterationTimed]], tried: Sequence[EvaluationTried]) -> float | None:
    """What evaluations take while nobody records their operations, which takes several times as long.

    It is told by passes at the same line that were not recorded or, where there are none, by those of a copy. None
    where there are neither.
    """
    seconds: defaultdict[Location | None, list[float]] = defaultdict(list)
    for part, each in found:
        if not each.recorded:
            seconds[part.location].append(part.seconds / _passes(part))
    for copied in tried:
        if not copied.gradients and copied.called not in seconds:
            seconds[copied.called].extend(copied.inference[0])
    if not all(part.location in seconds for part, _ in found):
        return None
    return sum(
        _passes(part) * median(seconds[part.location]) if each.recorded else part.seconds for part, each in found
    )


def _passes(part: Spent) -> int:
    return max(1, part.times)


def _waiting(iterations: Sequence[IterationTimed], line: Line) -> list[Waiting]:
    """Where the host waits longest first."""
    by_line: defaultdict[str, list[Spent]] = defaultdict(list)
    for each in iterations:
        for spent in each.spent:
            if spent.activity == "synchronisation":
                by_line[line(spent.location)].append(spent)
    found = [
        Waiting(name, sum(each.times for each in spent) / count, sum(each.seconds for each in spent) / count)
        for count in [len(iterations)]
        for name, spent in by_line.items()
    ]
    return sorted(found, key=lambda each: -each.seconds)


def _evaluation(tried: EvaluationTried, line: Line) -> EvaluationModes:
    return EvaluationModes(
        tried.module,
        tried.gradients,
        tried.saved,
        Measured.of(tried.recording[0]),
        Measured.of(tried.inference[0]),
        Measured.of(tried.inference[1]),
        Measured.ratio(*tried.inference),
        line(tried.met) if tried.by else "",
    )


def _loaders(passes: Sequence[PassTimed], line: Line) -> Iterator[LoaderRead]:
    by_line: defaultdict[tuple[str, int], list[PassTimed]] = defaultdict(list)
    for each in passes:
        by_line[line(each.location), each.workers].append(each)
    for (where, workers), found in by_line.items():
        waits = [each.wait for each in found if each.wait is not None]
        start = Measured.of([each.start for each in found])
        yield LoaderRead(where, workers, len(found), start, Measured.of(waits) if waits else None)


def _modules(trace: Trace) -> Iterator[ModuleCost]:
    """Most expensive first, by what they take themselves in forward and backward."""
    by_module: defaultdict[str, list[LineCost]] = defaultdict(list)
    for measured in trace.of(LinesMeasured):
        for cost in measured.lines:
            by_module[cost.module].append(cost)
    for timed in trace.of(ModulesTimed):
        yield from sorted(
            (
                ModuleCost(
                    each.name,
                    each.kind,
                    each.calls,
                    Measured.of(each.seconds),
                    Measured.of(each.own),
                    sum(cost.backward for cost in by_module[each.name]),
                    sum(cost.saved for cost in by_module[each.name]),
                )
                for each in timed.modules
            ),
            key=lambda module: -(module.own.median + module.backward),
        )


def _joined(costs: Sequence[LineCost]) -> list[list[LineCost]]:
    """Those at one line, which may run within several modules; the lines that take most time first."""
    by_line: defaultdict[tuple[str, int], list[LineCost]] = defaultdict(list)
    for cost in costs:
        where = cost.location
        by_line[(where.path, where.line) if where is not None else ("", 0)].append(cost)
    return sorted(by_line.values(), key=lambda found: -sum(each.forward + each.backward for each in found))


def _line(costs: Sequence[LineCost], line: Line) -> CodeLine:
    return CodeLine(
        line(costs[0].location),
        list(dict.fromkeys(name for cost in costs for name in cost.operations)),
        sum(cost.calls for cost in costs),
        sum(cost.forward for cost in costs),
        sum(cost.backward for cost in costs),
        sum(cost.saved for cost in costs),
        sum(cost.waits for cost in costs),
    )


def _memory(budget: MemoryBudgeted, line: Line) -> Memory:
    peak = budget.peak
    return Memory(
        parameters=budget.parameters,
        buffers=budget.buffers,
        gradients=budget.gradients,
        optimizer=budget.optimizer,
        activations=budget.activations,
        highest=budget.highest,
        peak=peak.bytes if peak is not None else None,
        peak_line=line(peak.location) if peak is not None else "",
        peak_during=peak.during if peak is not None else None,
    )


def _graph(graph: GraphMeasured) -> GraphSize:
    return GraphSize(graph.step, graph.nodes, graph.depth, graph.saved, graph.left)
