"""AD115: a schedule made for epochs runs per batch, or one made for batches per epoch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from math import isclose, log

from autograd_doctor.events.cycle import SchedulerStepped
from autograd_doctor.events.run import LightStepsCounted, RunEnded
from autograd_doctor.events.steps import BatchDrawn, OptimizerStepped, PassesCounted
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside
from autograd_doctor.views.rates import known
from autograd_doctor.views.so_far import has_ended
from autograd_doctor.views.step_cycle import ordinal, prepared, steps_by_optimizer
from autograd_doctor.wording import plural

_ROUNDING = 1 + 1e-6
_FEWEST_BATCHES = 4
"""Of an epoch: any length is a multiple of one, two or three."""
_NO_CHANCE = 32
"""Steps of an epoch of which the length of a schedule is hardly a multiple by chance."""
_GOES_ON = 0.1
"""Of what the rates added up to before, as much in as many steps: 1 / t leaves a seventh, a decay that ends 1 to 5%."""
_FEWEST_SAMPLES = 4
"""Of a batch: any length is a multiple of one, two or three."""
_FEWEST_PASSES = 3
"""Of a run, that a schedule has as many steps as."""
_FEWEST_CALLS = 5
"""Of a warm-up: runs of fewer epochs try something out."""
_SMALL_PART = 0.2
"""Of its base, which a rate has not exceeded when the run is over. Chosen: a warm-up that is stepped in its own unit is
over, or has come further, by the time that a run ends by itself."""
_PARTIAL = 0.05
"""Of the steps, those that were taken since the last epoch ended."""
_RARER = 1.5
"""Calls for each optimizer step, from which on steps are another unit than calls: micro-batches are two or more."""
_FEW = 0.25
"""Of the steps of a run of which no passes are known, so few that they are rather counted in epochs."""
_EACH_EPOCH, _EACH_STEP = "once per epoch, after its last batch", "after every optimizer step"
_SOME_UNIT = "as often as its length says"
Calls = list[SchedulerStepped]


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_scheduler = _calls_by_scheduler(trace)
    for calls in by_scheduler.values():
        steps = steps_by_optimizer(trace).get(calls[-1].optimizer, [])
        if calls[0].follows_metric or not steps:
            continue
        is_per_step = len(calls) >= tunables["minimum_calls"] and _per_step(calls, steps)
        if is_per_step:
            others = [first for first, *_ in by_scheduler.values() if first.optimizer == calls[-1].optimizer]
            taken_over = [first.step for first in others if first is not calls[0] and first.step >= calls[-1].step]
            last = min([_last_step(trace, calls[-1].optimizer, steps), *taken_over])
            seen = (
                _collapsed(calls, last, tunables, is_often=_is_often(trace, calls))
                or _will_collapse(trace, calls, tunables)
                or _counts_passes(trace, calls)
            )
            advice = _unit(trace, calls, tunables["small_fraction"])
        else:
            is_alone = not any(_is_stepped_beside(calls, others) for others in by_scheduler.values())
            seen = _crawled(trace, calls) or (is_alone and _never_arrives(trace, calls)) or ""
            advice = _EACH_STEP
        if not seen:
            seen, advice = _outlasts(trace, calls), _SOME_UNIT
        if seen:
            yield _finding(trace, calls, seen, advice)
        elif not is_per_step and (seen := _crawls(trace, calls)):
            length = calls[0].length or 0
            is_whole = has_ended(trace) and (1 - _PARTIAL) * length <= trace.steps_taken <= length
            yield _finding(trace, calls, seen, _EACH_STEP, is_hint=not is_whole)


def _calls_by_scheduler(trace: Trace) -> dict[int, Calls]:
    """Calls with rates, including the constructor's own, which knows the rate at the start."""
    grouped: dict[int, Calls] = {}
    for call in trace.of(SchedulerStepped):
        if known(call.learning_rates):
            grouped.setdefault(call.scheduler, []).append(call)
    return grouped


def _is_stepped_beside(calls: Calls, others: Calls) -> bool:
    """Whether another schedule sets the rates, too. Those that are stepped by it have but been made."""
    return others is not calls and others[-1].optimizer == calls[-1].optimizer and not others[-1].first


def _per_step(calls: Calls, steps: list[OptimizerStepped]) -> bool:
    """Of steps that were recorded in full, since calls in others are told of some alone."""
    around = {number for step in steps for number in (step.step, step.step + 1)}
    taken = sum(not call.first and call.step in around for call in calls)
    return 2 * taken >= len([step for step in steps if step.step >= calls[0].step])


def _unit(trace: Trace, calls: Calls, small: float) -> str:
    """When it was to be stepped: the run has about as many of that unit as the schedule has steps.

    Where it is stepped as often as the optimizer, the unit that is left is the epoch, unless its length is nearer to
    the calls that were made: then it is the length that is wrong.
    """
    span, epochs = _span(calls, small), _epochs(trace, calls)
    times, steps = _times(calls), trace.steps_by_optimizer[calls[-1].optimizer]
    unit, count = (_EACH_STEP, steps) if _is_often(trace, calls) else (_SOME_UNIT, times)
    if epochs is None:
        return unit if span > _FEW * count else _EACH_EPOCH
    return unit if abs(log(span / count)) < abs(log(span / epochs)) else _EACH_EPOCH


def _is_often(trace: Trace, calls: Calls) -> bool:
    """Whether it is stepped more often than the optimizer."""
    return _times(calls) >= _RARER * trace.steps_by_optimizer[calls[-1].optimizer]


def _span(calls: Calls, small: float) -> float:
    """After how many of its own steps the schedule has run through, or its rate is next to nothing."""
    if calls[0].length:
        return calls[0].length
    rates = _rates(calls)
    over = (call for call, rate in zip(calls, rates, strict=True) if rate <= _ROUNDING * small * max(rates))
    last = next((call for call in over if call.count > calls[0].count), calls[-1])
    counted = max(1, last.count - calls[0].count)
    falls = 0 < rates[-1] < rates[0] and rates[-1] > small * rates[0]
    return counted * log(small) / log(rates[-1] / rates[0]) if falls else counted


def _epochs(trace: Trace, calls: Calls) -> float | None:
    """As many as its calls would be if it is called for each batch of the loader that most batches came from."""
    most = max(trace.of(PassesCounted), key=lambda total: total.batches, default=None)
    if most is None or not most.passes or not most.batches:
        return None
    return max(1.0, _times(calls) * most.passes / most.batches)


def _times(calls: Calls) -> int:
    """How often it was stepped, with the calls that were not recorded."""
    return max(sum(not call.first for call in calls), calls[-1].count - calls[0].count)


def _last_step(trace: Trace, optimizer: int | None, steps: list[OptimizerStepped]) -> int:
    """How many steps of the run had been taken when this optimizer took its last: others may go on after it."""
    light = [event for event in trace.of(LightStepsCounted) if optimizer in event.by_optimizer]
    return max([step.step + 1 for step in steps] + [event.first + event.steps for event in light])


def _rates(calls: Calls) -> list[float]:
    """The highest rate of any group, call by call."""
    return [max(known(call.learning_rates)) for call in calls]


def _collapsed(calls: Calls, last: int, tunables: Tunables, *, is_often: bool) -> str:
    """The rate came to nearly nothing, and at least as many steps again were taken after that as before.

    Where it is stepped for each of two micro-batches, that is in the middle of the run, and the call may not have been
    seen that came first: then it is enough if the one before it came in the first half.
    """
    rates = _rates(calls)
    peak = 0.0
    for position, rate in enumerate(rates):
        peak = max(peak, rate)
        if position > 1 and peak > 0 and rate <= _ROUNDING * tunables["small_fraction"] * peak:
            before = calls[position].step - calls[0].step
            after = last - calls[position].step
            earliest = calls[position - 1].step - calls[0].step if is_often else before
            comes_back = calls[0].length is None and max(rates[position:]) > rate / tunables["small_fraction"] / 2
            is_early = before > 0 and after > 0 and 2 * earliest <= before + after
            if is_early and not comes_back and not _goes_on(calls, position):
                return (
                    f"the rate fell from {peak:g} to {rate:g} within {plural(before, 'step')}, and "
                    f"{plural(after, 'more step')} {'was' if after == 1 else 'were'} taken after that{_length(calls)}"
                )
            return ""
    return ""


def _goes_on(calls: Calls, position: int) -> bool:
    """Whether the rate falls ever more slowly, as 1 / t does: it never stops to move the weights."""
    end, rates = calls[position].step, _rates(calls[position:])
    before = _moved(calls[: position + 1], end)
    falls = all(later <= _ROUNDING * earlier for earlier, later in pairwise(rates))
    return falls and _moved(calls[position:], 2 * end - calls[0].step) >= _GOES_ON * before


def _moved(calls: Calls, end: int) -> float:
    """The rates added up, step by step; between the calls that were seen they are taken to change evenly."""
    rates, total = _rates(calls), 0.0
    for (call, following), (rate, other) in zip(pairwise(calls), pairwise(rates), strict=True):
        steps = max(0, min(following.step, end) - call.step)
        total += steps * (rate + other) / 2
    return total + max(0, end - calls[-1].step) * rates[-1]


def _length(calls: Calls) -> str:
    return f" (the schedule is {plural(calls[0].length, 'step')} long)" if calls[0].length else ""


def _will_collapse(trace: Trace, calls: Calls, tunables: Tunables) -> str:
    """The rate decays by the same factor at each call, and comes to nearly nothing early in the first epoch."""
    batches = _batches_per_epoch(trace)
    rates = [rate for rate in _rates(calls) if rate > 0]
    steady = {round(after / before, 9) for before, after in pairwise(rates)}
    factor = next(iter(steady), 1.0)
    if batches is None or len(steady) != 1 or not 0 < factor < 1:
        return _ends_early(calls, batches, tunables)
    needed = log(tunables["small_fraction"]) / log(factor)
    if needed > tunables["first_part"] * batches:
        return ""
    return (
        f"the rate is multiplied by {factor:g} at every batch, so that after {needed:.0f} of the {batches} batches of "
        f"the first epoch {tunables['small_fraction']:.0%} of it is left"
    )


def _ends_early(calls: Calls, batches: int | None, tunables: Tunables) -> str:
    length = calls[0].length
    if length is None or batches is None or length > tunables["first_part"] * batches:
        return ""
    epoch = plural(batches, "batch")
    return f"it is stepped at every batch and {plural(length, 'step')} long, while one epoch has {epoch}"


def _crawls(trace: Trace, calls: Calls) -> str:
    """One call after so many steps, on a schedule as long as the steps of whole epochs of these, which the run did not
    exceed, or of one, of which it made several. Unless the run is as long as that, a schedule of so many epochs may be
    a multiple of these steps by chance."""
    last, length = calls[-1], calls[0].length
    steps = round(last.step / last.count) if last.count else 0
    if length is None or steps < _FEWEST_BATCHES or abs(last.step - steps * last.count) > _PARTIAL * last.step:
        return ""
    if length % steps or not steps <= trace.steps_taken or (steps < _NO_CHANCE and not has_ended(trace)):
        return ""
    if trace.steps_taken > length and not (length == steps >= _NO_CHANCE and has_ended(trace) and last.count < length):
        return ""
    return (
        f"it is stepped once in {steps} steps and {length} steps long, which is "
        f"{plural(length // steps, 'epoch')} of {steps} steps"
    )


def _crawled(trace: Trace, calls: Calls) -> str:
    """The program came to its end, and its schedule is as long as the batches of all the passes after which it was
    stepped, though these may have been cut."""
    last, length, batches = calls[-1], calls[0].length, _batches_per_epoch(trace)
    if not trace.ended_by_itself or batches is None or last.count < 2 or batches < _FEWEST_BATCHES:
        return ""
    if length != batches * last.count:
        return ""
    return (
        f"it is stepped once in an epoch of {plural(batches, 'batch')} and {length} steps long, which is as many as "
        f"the {last.count} epochs of the run have"
    )


def _never_arrives(trace: Trace, calls: Calls) -> str:
    """The program came to its end, and the rate has risen by the same amount at each call, to a small part of its base.
    At this pace a whole number of calls leads there, fewer than the run has steps and many times as many as it has
    calls: a run of a few epochs that tries out a warm-up over many has not been stepped so often."""
    base, steps = calls[-1].base_rate, trace.steps_by_optimizer[calls[-1].optimizer]
    first, taken = calls[0].count, calls[-1].count
    if not trace.ended_by_itself or base is None or first > 1 or taken < _FEWEST_CALLS:
        return ""
    rates = _rates(calls)
    pace = (rates[-1] - rates[0]) / (taken - first)
    if pace <= 0 or rates[-1] > _SMALL_PART * base or not _is_even(calls, pace):
        return ""
    needed = (base - rates[0]) / pace + first
    if not isclose(needed, round(needed), rel_tol=1e-6) or steps < max(needed, _FEWEST_BATCHES * taken):
        return ""
    return (
        f"its warm-up takes {round(needed)} steps, and the rate ended at {rates[-1]:g}, which is "
        f"{rates[-1] / base:.0%} of {base:g}"
    )


def _is_even(calls: Calls, pace: float) -> bool:
    """Whether the rate was on the line through the first and the last at the calls between them, too."""
    expected = [max(known(calls[0].learning_rates)) + (call.count - calls[0].count) * pace for call in calls]
    return len({call.count for call in calls}) > 2 and all(map(partial(isclose, rel_tol=1e-6), _rates(calls), expected))


def _outlasts(trace: Trace, calls: Calls) -> str:
    """The program came to its end, and its schedule is as long as all of its passes have samples or batches, of which
    several come to one step of the schedule. Of a run that stops early, is continued or tried out, it is not."""
    length, taken = calls[0].length, calls[-1].count - calls[0].count
    if not trace.ended_by_itself or length is None or taken < 2:
        return ""
    steps = trace.steps_by_optimizer[calls[-1].optimizer]
    for total in trace.of(PassesCounted):
        if total.length is None or total.batches < max(taken, steps):
            continue
        passes = f"the {total.passes} passes of the run have" if total.passes > 1 else "the one pass of the run has"
        pace = "at every batch" if total.batches == taken else f"once in {total.batches / taken:.3g} batches"
        if total.batches >= 2 * taken and length == total.passes * total.length:
            return f"it is stepped {pace} and {length} steps long, which is as many as {passes} batches"
        size = total.batch_size or 0
        samples = {total.passes * rows for rows in (total.length * size, total.samples) if rows}
        if size >= _FEWEST_SAMPLES and length in samples:
            return f"it is stepped {pace} of {size} and {length} steps long, which is as many as {passes} samples"
    return ""


def _counts_passes(trace: Trace, calls: Calls) -> str:
    """The program came to its end, and its schedule is as long as the run has passes over a loader, and was stepped for
    each batch of them."""
    length, taken = calls[0].length, calls[-1].count - calls[0].count
    if not trace.ended_by_itself or length is None or length < _FEWEST_PASSES:
        return ""
    for total in trace.of(PassesCounted):
        if total.passes == length and total.batches == taken >= 2 * length:
            return f"it is stepped at every batch and {length} steps long, which is as many as the run has passes"
    return ""


def _batches_per_epoch(trace: Trace) -> int | None:
    """The length of the loader that most passes were taken over."""
    lengths = [drawn.length for drawn in trace.of(BatchDrawn) if drawn.length]
    return max(lengths, key=lengths.count, default=None)


def _finding(trace: Trace, calls: Calls, seen: str, advice: str, *, is_hint: bool = False) -> Finding:
    taken = [call for call in calls if not call.first]
    first = taken[0]
    name = first.name or first.kind
    rates = _rates(calls)
    times = _times(calls)
    by_framework = "" if first.name else '; where a framework calls it, tell it so, as Lightning by `"interval"`'
    made_at = next((call.location for call in calls if call.first), None)
    where = made_at if made_at is not None and _is_stepped_by_a_framework(trace, first) else first.location
    steps = trace.steps_by_optimizer[first.optimizer]
    driven = sorted(trace.optimizer_parameters[first.optimizer]) if first.optimizer is not None else ()
    return RULE.finding(
        f"`{name}` ({first.kind}) was stepped {plural(times, 'time')} in {plural(steps, 'optimizer step')}: {seen}",
        subject=name,
        location=where,
        help=prepared(
            trace,
            taken[-1],
            f"call `{name}.step()` {advice}, or give the schedule its length in the unit in which it is stepped"
            f"{by_framework}",
        ),
        severity="info" if is_hint else None,
        confidence="medium",
        notes=("a plan of as many epochs, which the run did not come to, may be as long",) if is_hint else (),
        evidence={
            "calls": times,
            "steps": steps,
            "first_rate": rates[0],
            "last_rate": rates[-1],
        },
        related=beside(where, ("the schedule is made here", made_at), ("its steps are taken here", first.location)),
        step_first=ordinal(first),
        step_count=len(taken),
        parameters=driven,
    )


def _is_stepped_by_a_framework(trace: Trace, call: SchedulerStepped) -> bool:
    """Whether one line of the program takes the steps of optimizers as well."""
    return any(step.location == call.location for step in trace.steps)


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    epochs = 6
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=epochs // 3, gamma=0.1)
    for _ in range(epochs):
        for _ in range(4):
            inputs = torch.randn(16, 4)
            loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()  # <- AD115


def bad_cosine_over_epochs() -> None:
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    inputs = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(inputs, inputs.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
    epochs = 4
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    for _ in range(epochs):
        for batch, targets in loader:
            loss = torch.nn.functional.mse_loss(model(batch), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()  # <- AD115


def bad_each_micro_batch() -> None:
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    inputs = torch.randn(96, 4)
    loader = DataLoader(TensorDataset(inputs, inputs.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
    epochs, several = 4, 3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    updates = epochs * len(loader) // several
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=1.0, end_factor=0.0, total_iters=updates)
    for _ in range(epochs):
        for number, (batch, targets) in enumerate(loader, start=1):
            loss = torch.nn.functional.mse_loss(model(batch), targets) / several
            loss.backward()
            if number % several == 0:
                optimizer.step()
                optimizer.zero_grad()
            scheduler.step()  # <- AD115


def bad_cycle_as_long_as_samples() -> None:
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    inputs = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(inputs, inputs.sum(dim=1, keepdim=True)), batch_size=16, shuffle=True)
    epochs = 5
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=epochs * len(loader) * 16)
    for _ in range(epochs):
        for batch, targets in loader:
            loss = torch.nn.functional.mse_loss(model(batch), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()  # <- AD115


def bad_warmup_of_steps() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters=28)
    for step in range(29):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            scheduler.step()  # <- AD115


def good_warmup_of_epochs() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.2, total_iters=4)
    for _ in range(8):
        for _ in range(12):
            inputs = torch.randn(16, 4)
            loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()


def good() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    epochs = 6
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=epochs // 3, gamma=0.1)
    for _ in range(epochs):
        for _ in range(4):
            inputs = torch.randn(16, 4)
            loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()


def good_one_for_each_fold() -> None:
    import torch

    torch.manual_seed(0)
    for _ in range(4):
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)
        for _ in range(8):
            inputs = torch.randn(16, 4)
            loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()


def bad_steps_of_all_epochs() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    epochs, batches = 4, 6
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=epochs * batches)
    for _ in range(epochs):
        for _ in range(batches):
            inputs = torch.randn(16, 4)
            loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()  # <- AD115


def good_epochs_of_few_batches() -> None:
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    inputs = torch.randn(32, 4)
    loader = DataLoader(TensorDataset(inputs, inputs.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)
    for _ in range(8):
        for batch, targets in loader:
            loss = torch.nn.functional.mse_loss(model(batch), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()


RULE = Rule(
    code="AD115",
    name="scheduler-stepped-too-often",
    severity="warning",
    title="a schedule is stepped in another unit than it was made for",
    observes=(
        "The rate after each call of a scheduler, the number of calls per optimizer step, and the lengths of the "
        "schedule and of the loader. It is a fault if the rate comes to nearly nothing while at least as many steps "
        "follow, or will do so early in the first epoch; if a schedule whose length is that of whole epochs of "
        "batches is stepped once per epoch; or, in a run that has come to its end, if one that is as long as the run "
        "has samples, or batches, was stepped more rarely, or one that is as long as it has epochs for each batch, or "
        "if an even warm-up of fewer steps than the run has was stepped so rarely that the rate never came above a "
        "fifth of its base."
    ),
    why="The rate is spent early in training and the rest learns nothing, or the schedule never unfolds.",
    fix="Step the scheduler in the unit in which its length was given: once per epoch, or once per optimizer step.",
    fine="Schedules as long as the run or until another takes over, those of a longer training of which the run is a "
    "part, those that oscillate or follow a metric by design, rates that fall ever more slowly, as 1 / t, and a "
    "warm-up over some epochs in a run that goes on after it, or that is tried out in fewer than five. A "
    "schedule that is stepped once per epoch, and as long as whole epochs of batches, is an `info` where the run does "
    "not come to its length, or has several epochs of which it is as long as one: a plan of 100 epochs is a multiple "
    "of 25 batches, too.",
    needs=(BatchDrawn, LightStepsCounted, OptimizerStepped, PassesCounted, RunEnded, SchedulerStepped),
    examine=examine,
    bad=(
        bad,
        bad_cosine_over_epochs,
        bad_steps_of_all_epochs,
        bad_each_micro_batch,
        bad_cycle_as_long_as_samples,
        bad_warmup_of_steps,
    ),
    good=(good, good_one_for_each_fold, good_epochs_of_few_batches, good_warmup_of_epochs),
    tunables={
        "minimum_calls": Tunable(
            3,
            "fewest times that the schedule has set a rate, its first one included",
            "chosen: fewer do not tell a schedule by batches from one by epochs",
        ),
        "small_fraction": Tunable(
            0.01,
            "share of the highest rate that is next to nothing",
            "chosen: the usual schedules end at 0 to 1% of the rate",
        ),
        "first_part": Tunable(
            0.25,
            "part of an epoch within which the rate comes to next to nothing, or the schedule to its end",
            "chosen: the usual schedules do so not before three quarters of the run",
        ),
    },
    folds=("AD108",),
    about="loop",
)
