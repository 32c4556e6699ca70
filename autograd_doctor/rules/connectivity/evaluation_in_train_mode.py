"""AD211 evaluation-in-train-mode: evaluation ran with dropout active or while batch-norm statistics moved."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.connectivity import (
    ForwardsWithoutBackward,
    HeldOutScored,
    IdleForwardUsed,
    IdleOutputSeen,
    ModeNotHeeded,
    ModeSet,
)
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_place: dict[tuple[int, Location | None], list[ForwardRan]] = {}
    for event in trace.of(ForwardRan):
        if event.training and trace.is_evaluation(event) and (event.in_train or event.statistics_moved):
            by_place.setdefault((event.module, event.location), []).append(event)
    for (module, _), passes in by_place.items():
        training = _training_passes(trace, module)
        is_meant = _on_purpose(trace, training, passes) or _only_shown(trace, module, passes)
        is_meant = is_meant or _comes_before_learning(trace, module, passes)
        if _trained(trace, module) and not is_meant:
            yield from _finding(trace, module, passes, training)
    for scored in trace.of(HeldOutScored):
        if _trained(trace, scored.module):
            yield from _held_out(trace, scored)
    yield from _unreached(trace)
    heedless: dict[Location | None, ModeNotHeeded] = {}
    idle = _idle_in_eval_mode(trace)
    for told in trace.of(ModeNotHeeded):
        is_evaluation = not told.grad_enabled or told.module in idle
        if is_evaluation and _trained(trace, told.module):
            heedless.setdefault(told.location, told)
    for told in heedless.values():
        yield _heedless(trace, told)


def _trained(trace: Trace, module: int) -> bool:
    """Target and teacher networks run without gradients in train mode as a matter of course, and so does what an
    earlier stage has trained."""
    seen = trace.modules.get(module)
    return seen is not None and bool(trace.learning.intersection(seen.parameters) - trace.left_behind.keys())


def _idle_in_eval_mode(trace: Trace) -> set[int]:
    """Modules whose passes in eval mode built graphs that no backward came through."""
    used = {event.module for event in trace.of(IdleForwardUsed) if not event.training}
    return {event.module for event in trace.of(ForwardsWithoutBackward) if not event.training} - used


def _training_passes(trace: Trace, module: int) -> list[ForwardRan]:
    mine = (event for event in trace.of(ForwardRan) if event.module == module and event.grad_enabled)
    return [event for event in mine if (module, event.location) not in trace.scored_in_train_mode]


def _on_purpose(trace: Trace, training: list[ForwardRan], passes: list[ForwardRan]) -> bool:
    """Whether a `train()` of its own put the module in this mode, as for recalibration; or inputs pass several times,
    as for Monte-Carlo dropout; or what comes out has a part in training."""
    meant = {(event.module, event.location) for event in trace.of(IdleOutputSeen) if event.meant}
    if any((event.module, event.location) in meant for event in passes):
        return True
    by_training = {event.mode_set_at for event in training}
    return all(event.mode_set_at is not None and event.mode_set_at not in by_training for event in passes)


def _only_shown(trace: Trace, module: int, passes: list[ForwardRan]) -> bool:
    """Whether batch statistics are those of all that the module does, and nothing scores what it gives.

    So are previews of a generator drawn, whose samples are made in train mode throughout. A score of weights that were
    adapted to a few samples needs these, too: running statistics are those of no such weights. Dropout may be the noise
    of a generator that another network judges.
    """
    if _knows_eval_mode(trace, module):
        return False
    if any(set(event.in_train) - set(event.statistics_moved) for event in passes) and not _is_judged(trace, module):
        return False
    seen = _outputs(trace, module, passes)
    places = {event.location for event in seen}
    return all(event.location in places for event in passes) and not _is_scored(seen)


def _comes_before_learning(trace: Trace, module: int, passes: list[ForwardRan]) -> bool:
    """Whether nothing has been learned yet that could be scored, nor is: first weights are found by such passes."""
    steps = [event.sequence for event in trace.of(OptimizerStepped)]
    is_before = bool(steps) and all(event.sequence < steps[0] for event in passes)
    return is_before and not _is_scored(_outputs(trace, module, passes))


def _outputs(trace: Trace, module: int, passes: list[ForwardRan]) -> list[IdleOutputSeen]:
    where = {(event.location, event.grad_enabled) for event in passes}
    of_module = (event for event in trace.of(IdleOutputSeen) if event.module == module)
    return [event for event in of_module if (event.location, event.grad_enabled) in where]


def _is_scored(seen: list[IdleOutputSeen]) -> bool:
    return any(event.compared and not event.borrowed for event in seen)


def _was_switched_for_them(trace: Trace, module: int, passes: list[ForwardRan]) -> bool:
    """Whether a `train()` came right before each of them, and `eval()` before others, and no operation of torch
    compares what they give with data: rollouts explore by dropout."""
    switched, asked = False, {event.sequence for event in passes}
    either: list[ModeSet | ForwardRan] = [*trace.of(ModeSet), *trace.of(ForwardRan)]
    for event in sorted((event for event in either if event.module == module), key=lambda event: event.sequence):
        if isinstance(event, ModeSet):
            switched = event.training
        elif event.sequence in asked and not switched:
            return False
        elif event.grad_enabled:
            switched = False
    unscored = all(event.elsewhere for event in _outputs(trace, module, passes))
    return unscored and _knows_eval_mode(trace, module)


def _knows_eval_mode(trace: Trace, module: int) -> bool:
    return any(event.module == module and not event.training for event in trace.of(ForwardRan))


def _is_judged(trace: Trace, module: int) -> bool:
    """Whether it learns through a network that learns without it, too, as a generator does from a discriminator."""
    mine = set(trace.module_parameters(module))
    reached = [set(event.reached) for event in trace.of(BackwardRan)]
    through = {parameter for each in reached if each & mine for parameter in each - mine}
    alone = {parameter for each in reached if not each & mine for parameter in each}
    return bool(through & alone & trace.optimized)


def _finding(trace: Trace, module: int, passes: list[ForwardRan], training: list[ForwardRan]) -> Iterator[Finding]:
    """A pass in nearly every training step is likely part of it (pseudo labels, rollouts); one now and then is not.

    One with a graph is told of only where it is none.
    """
    steps = {event.step for event in training}
    within = len({event.step for event in passes} & steps)
    rare = within <= len(steps) / 2
    name, first = trace.module_name(module), passes[0]
    if first.grad_enabled and not rare:
        return
    moved = sorted({part for event in passes for part in event.statistics_moved})
    active = [part for part in first.in_train if part not in moved]
    notes = () if rare else ("it runs so in most training steps, which pseudo labels and rollouts do by design",)
    if _was_switched_for_them(trace, module, passes):
        rare, notes = False, ("`train()` came right before it each time, as before rollouts that explore by dropout",)
    if active and _is_judged(trace, module) and not _knows_eval_mode(trace, module):
        rare, notes = False, ("it is never in eval mode, which generators whose dropout is their noise are by design",)
    effects = [f"statistics of {_listed(moved)} moved"] if moved else []
    effects += [f"{_listed(active)} {'was' if len(active) == 1 else 'were'} in train mode"] if active else []
    how = (
        "in train mode, with a graph that no backward used" if first.grad_enabled else "without gradients in train mode"
    )
    more = ", and evaluate under `torch.no_grad()`" if first.grad_enabled else ""
    yield RULE.finding(
        f"`{name}` was evaluated {how}: {' and '.join(effects)}",
        subject=name,
        location=first.location,
        help=f"call `eval()` on it before evaluation, and `train()` {_after(training)}{more}",
        severity=None if rare else "info",
        confidence="high" if rare else "low",
        evidence={
            "statistics_moved": moved,
            "in_train_mode": list(first.in_train[:20]),
            "steps_with_such_a_pass": len({event.step for event in passes}),
            "training_steps": len(steps),
        },
        related=() if first.mode_set_at is None else (Related("its mode was set here", first.mode_set_at),),
        notes=notes,
        step_first=first.step,
        step_count=len(passes),
    )


def _after(training: list[ForwardRan]) -> str:
    """What is to be in train mode again when an evaluation is over: not what training keeps in eval mode."""
    resting = sorted({part for event in training for part in event.in_eval})
    active = sorted({part for event in training for part in event.in_train})
    if not resting or not active:
        return "after it"
    return (
        f"after it on what was in train mode alone ({_listed(active)}): training keeps {_listed(resting)} in eval mode"
    )


def _held_out(trace: Trace, told: HeldOutScored) -> Iterator[Finding]:
    """One line serves training and evaluation, which differ in whether a step follows."""
    here = [event for event in trace.of(ForwardRan) if (event.module, event.location) == (told.module, told.location)]
    training = [event for event in here if event.training and event.grad_enabled]
    moved = sorted({part for event in training for part in event.statistics_moved})
    active = sorted({part for event in training for part in event.in_train} - set(moved))
    if not moved and not active:
        return
    effects = [f"statistics of {_listed(moved)} moved"] if moved else []
    effects += [f"{_listed(active)} {'was' if len(active) == 1 else 'were'} in train mode"] if active else []
    name = trace.module_name(told.module)
    yield RULE.finding(
        f"`{name}` was scored {told.times} times on samples that no step learns from, at the line that trains it and "
        f"just as in training: {' and '.join(effects)}",
        subject=name,
        location=told.location,
        help=f"call `eval()` on `{name}` before the passes that no step follows, and `train()` {_after(training)}; run "
        "those passes under `torch.no_grad()`, since nothing uses their graph",
        confidence="medium",
        evidence={
            "passes_without_step": told.passes,
            "passes_that_train": told.trained,
            "statistics_moved": moved,
            "in_train_mode": active[:20],
        },
    )


def _unreached(trace: Trace) -> Iterator[Finding]:
    """Trained modules that a root calls and does not register, so that its `eval()` passes them by."""
    by_root: dict[int, list[ForwardRan]] = {}
    for event in trace.of(ForwardRan):
        if event.unreached and trace.is_evaluation(event):
            by_root.setdefault(event.module, []).append(event)
    for root, passes in by_root.items():
        hidden = [seen for seen in _within(trace, root) if seen.mode_dependent and _trained(trace, seen.module)]
        if hidden:
            yield _out_of_reach(trace, root, hidden, passes)


def _within(trace: Trace, root: int) -> Iterator[ModuleSeen]:
    """What was called inside a module, at any depth, and is registered nowhere in it."""
    waiting, found = [root], set()
    while waiting:
        parent = waiting.pop()
        for seen in trace.of(ModuleSeen):
            if seen.parent == parent and seen.module not in found:
                found.add(seen.module)
                waiting.append(seen.module)
                if not seen.registered:
                    yield seen


def _out_of_reach(trace: Trace, root: int, hidden: list[ModuleSeen], passes: list[ForwardRan]) -> Finding:
    name, first = trace.module_name(root), passes[0]
    held = [seen.holder or seen.name for seen in hidden]
    parts = [part for seen in hidden for part in seen.mode_dependent]
    verb = "is" if len(held) == 1 else "are"
    return RULE.finding(
        f"`{name}` was evaluated in eval mode, and {_listed(held)}, which it does not register, {verb} in train mode "
        f"still: {_listed(parts)} ran as in training",
        subject=held[0],
        location=first.location,
        help="make them attributes of the module, or an `nn.ModuleList`, so that `eval()` reaches them",
        evidence={"in_train_mode": parts[:20], "steps_with_such_a_pass": len({event.step for event in passes})},
        related=tuple(Related("kept here", where) for where in dict.fromkeys(seen.kept_at for seen in hidden) if where),
        step_first=first.step,
        step_count=len(passes),
    )


def _heedless(trace: Trace, event: ModeNotHeeded) -> Finding:
    name = trace.module_name(event.module)
    rate = "`dropout_p`, which is to be 0 then" if event.function == "scaled_dot_product_attention" else "`training`"
    return RULE.finding(
        f"`{name}` was evaluated in eval mode, and `{event.function}` was active in it as in training",
        subject=name,
        location=event.location,
        help=f"hand the mode on: give it {rate} by `self.training`",
        evidence={"function": event.function},
        step_first=event.step,
    )


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    held_out = torch.randn(64, 6)
    for _ in range(3):
        model.train()
        for _ in range(4):
            x = torch.randn(32, 6)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
        with torch.no_grad():
            score = nn.functional.mse_loss(model(held_out), held_out.sum(1, keepdim=True))  # <- AD211
        print("validation:", score.item())


def bad_with_a_graph() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    held_out, labels = torch.randn(64, 6), torch.randint(3, (64,))
    for _ in range(4):
        for _ in range(6):
            x, y = torch.randn(32, 6), torch.randint(3, (32,))
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        right = (model(held_out).argmax(dim=1) == labels).sum()  # <- AD211
        print("validation:", right.item() / 64)


def bad_function() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(6, 16), nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = torch.relu(self.first(x))
            return self.last(nn.functional.dropout(hidden, 0.3))  # type: ignore[no-any-return]  # <- AD211

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    held_out = torch.randn(64, 6)
    for _ in range(3):
        model.train()
        for _ in range(4):
            x = torch.randn(32, 6)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            nn.functional.mse_loss(model(held_out), held_out.sum(1, keepdim=True))


def bad_one_line_for_both() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(120, 6)
    data = TensorDataset(x, x[:, :2].prod(1, keepdim=True))
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    seen = DataLoader(torch.utils.data.Subset(data, range(90)), batch_size=15, shuffle=True)
    held_out = DataLoader(torch.utils.data.Subset(data, range(90, 120)), batch_size=15)
    for epoch in range(10):
        for rows, target in held_out if epoch % 2 else seen:
            loss = nn.functional.mse_loss(model(rows), target)  # <- AD211
            if not epoch % 2:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    held_out = torch.randn(64, 6)
    for _ in range(3):
        model.train()
        for _ in range(4):
            x = torch.randn(32, 6)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            nn.functional.mse_loss(model(held_out), held_out.sum(1, keepdim=True))


def good_monte_carlo_dropout() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.train()
    with torch.no_grad():
        torch.stack([model(torch.ones(1, 6)) for _ in range(20)]).std()


def good_function() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(6, 16), nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = nn.functional.dropout(torch.relu(self.first(x)), 0.3, self.training)
            return self.last(nn.functional.dropout(hidden, 0.1, training=True))  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        torch.stack([model(torch.ones(1, 6)) for _ in range(20)]).std()


def good_recalibration() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    average = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batches = [torch.randn(32, 6) for _ in range(8)]
    for x in batches:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
        average.update_parameters(model)
    torch.optim.swa_utils.update_bn(batches, average)
    model.train()
    with torch.no_grad():
        for x in batches:
            model(x)


def good_rollout() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(8):
        state = torch.randn(32, 4)
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=policy(state)).sample()
        advantage = state[:, 0] * (2 * action - 1).float()
        loss = (nn.functional.cross_entropy(policy(state), action, reduction="none") * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD211",
    name="evaluation-in-train-mode",
    severity="warning",
    title="evaluation ran in train mode",
    observes="Passes without gradients of a model that is being trained, with dropout active or while the running "
    "statistics of batch-norm moved; with gradients on, those that no backward comes through, and whose outputs are "
    "compared with data. Where one line trains and evaluates, it is the samples that tell: those that no step learns "
    "from, and that come again. In eval mode, too, functions that were active because nobody told them the mode, and "
    "trained modules that the evaluated one calls and does not register, whose mode nothing ever set.",
    why="The score is that of a crippled model, it differs from run to run, and the validation data leak into the "
    "statistics that the model keeps.",
    fix="Call `model.eval()` before evaluation and `model.train()` after it; hand the mode on to functions.",
    fine="Recalibration of batch-norm, for which the mode is set on purpose, target networks, and networks without "
    "such layers. Inputs that come again before the next step: several times at one line, as for Monte-Carlo "
    "dropout, in eval mode as well, or in a pass that trains. Outputs that have a part in a loss, or choose "
    "samples to train on. Previews of a network that uses batch statistics everywhere: it is never in eval mode, "
    "and what it gives is compared with nothing, or made with weights that were adapted for it; the same with dropout "
    "in a generator, which learns through a network that also learns without it, and where a score of it is only an "
    "`info`. So is a pass in nearly every training step, and one right after a `train()` where others follow an "
    "`eval()`, and torch compares what it gives with nothing. Passes whose outputs nothing takes, and those before the "
    "first step that nothing scores: for shapes, statistics and first weights. Samples that some step skips, mines or "
    "searches with, and another learns from.",
    needs=(
        BackwardRan,
        ForwardRan,
        ForwardsWithoutBackward,
        HeldOutScored,
        IdleForwardUsed,
        IdleOutputSeen,
        ModeNotHeeded,
        ModeSet,
        ModuleSeen,
        OptimizerStepped,
    ),
    examine=examine,
    bad=(bad, bad_with_a_graph, bad_function, bad_one_line_for_both),
    good=(good, good_function, good_monte_carlo_dropout, good_recalibration, good_rollout),
    needs_phases=("training", "evaluation"),
)
