"""AD709: a generator is given the same seed in every training step, or in every epoch, which then draw the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_doctor.events.data import DrawsRepeated, SeedRepeated, SeedReturned
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import elsewhere
from autograd_doctor.wording import plural

_AGAIN = 2
"""Times that another line gives a function another seed, or seeds between two steps, so that they are what it is called
with."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    latest: dict[tuple[object, ...], SeedRepeated] = {}
    by_line: dict[tuple[object, ...], dict[object, SeedRepeated]] = {}
    for event in trace.of(SeedRepeated):
        by_line.setdefault((event.generator, event.location), {})[event.called_from] = event
        if event.repeated >= tunables["steps"] and 2 * event.repeated >= event.steps - 2:
            latest[event.generator, event.location, event.called_from] = event
    by_caller: dict[tuple[object, ...], list[SeedRepeated]] = {}
    for event in latest.values():
        if _is_search(by_line[event.generator, event.location].values()):
            continue
        function = event.location and (event.location.path, event.location.function)
        by_caller.setdefault((function, event.called_from), []).append(event)
    for events in by_caller.values():
        yield _finding(events)
    told = {event.location for events in by_caller.values() for event in events}
    returned: dict[object, list[SeedReturned]] = {}
    for again in trace.of(SeedReturned):
        is_often = again.repeated >= tunables["epochs"] and 2 * again.repeated >= again.times - 2
        if is_often and again.drawing >= tunables["drawing"] and again.location not in told:
            function = again.location and (again.location.path, again.location.function)
            returned.setdefault((function, again.called_from), []).append(again)
    for each in returned.values():
        yield _every_few_steps(each)
    for drawn in trace.of(DrawsRepeated):
        if drawn.others_vary and drawn.steps >= tunables["steps"]:
            yield _same_rows(drawn)


def _is_search(events: Collection[SeedRepeated]) -> bool:
    """Whether a line seeds in closures alone, which steps call several times, by one line of theirs or by several."""
    times = sum(event.times for event in events)
    return sum(event.in_closures for event in events) == times > max(event.steps for event in events)


def _finding(events: list[SeedRepeated]) -> Finding:
    """Of several generators that a function seeds, torch's is the one to name.

    A function that sets several seeds, or is called from elsewhere as well, is there to set seeds: what is wrong is to
    call it there. One that is given a seed of its own by another line, again and again, or several with no step in
    between, may draw the same for each of its callers on purpose, as scenarios on which all candidates are compared.
    """
    event = max(events, key=lambda each: (each.generator == "torch", each.repeated))
    generators = " and ".join(sorted({each.generator for each in events}, key=lambda name: name != event.generator))
    by_helper = event.called_from is not None and (event.shared or len(events) > 1)
    helper = (Related("sets the seed", event.location),) if by_helper and event.location is not None else ()
    is_given = all(each.others >= _AGAIN for each in events)
    return RULE.finding(
        f"{generators} got the seed {event.seed} anew in each of {plural(event.steps, 'step')}, and "
        f"{event.repeated} of these left the generator just where the step before had left it: all that was drawn in "
        "them was the same",
        subject="seed",
        location=event.called_from if by_helper else event.location,
        severity="info" if is_given else None,
        confidence="low" if is_given else "high",
        notes=(
            "another line has this function set other seeds, again and again: if each seed stands for scenarios of its "
            "own, and all steps are to be compared on the same ones, it is right",
        )
        if is_given
        else (),
        help="set the seed once, before training; to repeat only some draws, give these a generator of their own",
        evidence={
            "seed": event.seed,
            "generators": sorted({each.generator for each in events}),
            "steps": event.steps,
            "steps_repeated": event.repeated,
            "times": event.times,
        },
        related=helper,
        step_first=event.since + 1,
        step_count=event.steps,
    )


def _every_few_steps(events: list[SeedReturned]) -> Finding:
    event = max(events, key=lambda each: (each.generator == "torch", each.repeated))
    generators = " and ".join(sorted({each.generator for each in events}, key=lambda name: name != event.generator))
    by_helper = event.called_from is not None and (event.shared or len(events) > 1)
    helper = (Related("sets the seed", event.location),) if by_helper and event.location is not None else ()
    return RULE.finding(
        f"{generators} got the seed {event.seed} {event.times} times, with steps of training in between, and "
        f"{event.repeated} times these drew the same numbers as after the time before: masks, noise and samples are "
        "those of the last epoch",
        subject="seed",
        location=event.called_from if by_helper else event.location,
        confidence="medium",
        help="set the seed once, before training; what is to be the same each time, as an evaluation, draws under "
        "`torch.random.fork_rng()`, or from a generator of its own",
        evidence={
            "seed": event.seed,
            "generators": sorted({each.generator for each in events}),
            "times": event.times,
            "times_repeated": event.repeated,
            "steps_compared": event.steps,
            "steps_that_drew": event.drawing,
        },
        related=helper,
        step_first=event.since + 1,
        step_count=event.step - event.since,
    )


def _same_rows(event: DrawsRepeated) -> Finding:
    return RULE.finding(
        f"the same {plural(event.rows, 'row')} were drawn here in all {plural(event.steps, 'step')} that were "
        "recorded, while the rest of what the model was given changed: the generator begins anew each time",
        subject="generator",
        location=event.location,
        confidence="medium",
        help="make the generator once, and seed it where it is made, before training: it goes on from draw to draw",
        evidence={"rows": event.rows, "steps_compared": event.steps},
        related=elsewhere("the rows are looked up here", event.used_at),
        step_first=event.first + 1,
        step_count=event.steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = torch.randn(400, 8)
    for _ in range(16):
        torch.manual_seed(0)  # <- AD709
        x = data[torch.randint(0, 400, (16,))]
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_numpy() -> None:
    import numpy as np
    import torch
    from torch import nn

    def draw(count: int) -> torch.Tensor:
        np.random.seed(42)  # <- AD709
        return torch.from_numpy(np.random.randn(count, 8)).float()

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(16):
        x = draw(16)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_evaluation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data, held_out = torch.randn(80, 8), torch.randn(40, 8)
    for _ in range(5):
        for rows in data.split(16):
            loss = nn.functional.mse_loss(model(rows), rows.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        torch.manual_seed(0)  # <- AD709
        model.eval()
        with torch.no_grad():
            model(held_out + 0.1 * torch.randn_like(held_out))
        model.train()


def bad_negatives() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words = nn.Embedding(500, 8)
    optimizer = torch.optim.SGD(words.parameters(), lr=0.1)
    generator = torch.Generator()
    for _ in range(16):
        pairs = torch.randint(0, 250, (32, 2)) * 2 + torch.tensor([0, 1])
        generator.manual_seed(5)
        others = torch.randint(0, 500, (32,), generator=generator)  # <- AD709
        word, near = words(pairs).unbind(1)
        scores = (word * (near - words(others))).sum(1)
        loss = nn.functional.softplus(-scores).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = torch.randn(400, 8)
    for _ in range(16):
        x = data[torch.randint(0, 400, (16,))]
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_seed_per_epoch_and_per_step() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(3)
    data = torch.randn(80, 8)
    for epoch in range(4):
        torch.manual_seed(0)
        for number, chosen in enumerate(torch.randperm(80).split(16)):
            torch.manual_seed(1000 * epoch + number)
            x = data[chosen]
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_evaluation_that_restores_the_generator() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(16):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(7)
            noise = torch.randn(32, 8)
            nn.functional.mse_loss(model(noise), noise.sum(1, keepdim=True)).item()
        model.train()


def good_seed_without_draws() -> None:
    import random

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(16, 8)
    for _ in range(16):
        random.seed(0)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_closure_of_a_line_search() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Dropout(0.3), nn.Linear(32, 1))
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, line_search_fn="strong_wolfe")
    x = torch.randn(64, 8)

    def closure() -> torch.Tensor:
        torch.manual_seed(7)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        return loss

    for _ in range(8):
        optimizer.step(closure)


RULE = Rule(
    code="AD709",
    name="reseeded-every-step",
    severity="warning",
    title="the random seed is set to the same value in every step or epoch",
    observes="A line that gives a generator the same seed in one training step after the other, and a generator that "
    "stands at the end of each step just where it stood at the end of the one before, after numbers were drawn. The "
    "same of a line that does so every few steps: where the generator stands after each of the steps that follow. And "
    "rows that are drawn with a generator of the program's own to look up what learns, the same in each step, while "
    "models are given other data.",
    why="Dropout masks, noise and the choice of a batch are the same in every step, or in every epoch: what looks "
    "random is a constant, and the model learns it. An evaluation that sets the seed for itself sets it for the epoch "
    "that follows. Negatives of a generator that begins anew in each step are the same few rows for ever.",
    fix="Set the seed once, before the loop.",
    fine="Seeds that are set once per run, fold or worker, or for an order that each epoch draws before its first "
    "step, another seed in each epoch, another seed in each step, a generator that is put back afterwards, orders and "
    "subsets that are fixed by a seed, steps that draw nothing, and closures which an optimizer calls several times in "
    "a step: what it compares there must differ in the weights alone. Where another line "
    "has the same function set another seed, again and again, or several with no step in between, the scenarios may be "
    "meant to be the same: an `info`.",
    folds=("AD701",),
    needs=(DrawsRepeated, SeedRepeated, SeedReturned),
    examine=examine,
    bad=(bad, bad_numpy, bad_evaluation, bad_negatives),
    good=(
        good,
        good_seed_per_epoch_and_per_step,
        good_evaluation_that_restores_the_generator,
        good_seed_without_draws,
        good_closure_of_a_line_search,
    ),
    tunables={
        "steps": Tunable(
            4, "fewest steps that ended like the one before", "chosen: an epoch of one step may be seeded a few times"
        ),
        "epochs": Tunable(2, "fewest times that the steps after a seed drew the same as before", MORE_THAN_ONCE),
        "drawing": Tunable(2, "fewest steps after a seed in which numbers were drawn", MORE_THAN_ONCE),
    },
)
