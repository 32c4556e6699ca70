"""AD104: gradients were computed again and again for an optimizer that never stepped."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from autograd_doctor.events.cycle import GradientsRead, ScalerUsed, StepsSkipped
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BackwardRan, GradientsCleared, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Confidence, Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.so_far import has_ended, may_learn_later
from autograd_doctor.views.step_cycle import called, ordinal, related
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for optimizer, built in trace.optimizers.items():
        # One that was there before anybody watched may step where nobody does.
        if optimizer in _attempted(trace) or built.location is None:
            continue
        first = _first_seen(trace, optimizer)
        waiting = trace.optimizer_parameters[optimizer] - _stepped_since(trace, first)
        since = (event for event in trace.of(BackwardRan) if event.sequence >= first)
        backwards = [event for event in since if not waiting.isdisjoint(event.wrote)]
        thrown_away = _thrown_away(trace, optimizer, waiting)
        unclaimed = _unclaimed(trace, backwards) or _misdirected(trace, backwards)
        meant = unclaimed if len(unclaimed) >= tunables["minimum_backwards"] else backwards if thrown_away > 1 else []
        if (
            len(meant) >= tunables["minimum_backwards"]
            and _judgeable(trace, optimizer)
            and not _are_collected(trace, optimizer)
            and not _are_stepped_elsewhere(trace)
        ):
            skipped = next((event for event in trace.of(StepsSkipped) if event.optimizer == optimizer), None)
            finding = _finding(trace, optimizer, meant, thrown_away, waiting)
            yield finding if skipped is None else _skipped(finding, meant, skipped)
    given_up = _given_up(trace, tunables["minimum_idle"])
    if given_up is not None:
        yield given_up


def _given_up(trace: Trace, minimum: float) -> Finding | None:
    """Steps came to an end, and backwards of the same line went on, with gradients that are cleared unused."""
    if not trace.steps:
        return None
    last = trace.steps[-1]
    used = {backward for step in trace.steps for use in step.uses for backward in use.backwards}
    lines = {trace.backwards[number].location for number in used if number in trace.backwards} - {None}
    held = trace.optimizer_parameters.get(last.optimizer, frozenset()) if last.optimizer is not None else frozenset()
    since = [event for event in trace.of(BackwardRan) if event.sequence > last.sequence and event.location in lines]
    idle = [event for event in since if not held.isdisjoint(event.wrote)]
    cleared = [e for e in trace.of(GradientsCleared) if e.sequence > last.sequence and not held.isdisjoint(e.unused)]
    if min(len(idle), len(cleared)) < minimum:
        return None
    return RULE.finding(
        f"after step {ordinal(last)}, {called(trace, last.optimizer)} never stepped again, and this line went on: "
        f"{plural(len(idle), 'backward')} that were looked at wrote gradients of "
        f"{trace.parameter_names(idle[0].wrote)}, which were cleared unused",
        subject=trace.optimizer_name(last.optimizer),
        location=idle[0].location,
        help="check the condition under which the optimizer steps; if nothing should be trained any more, compute the "
        "loss under `torch.no_grad()`",
        severity="warning",
        confidence="medium",
        evidence={"backwards": len(idle), "cleared_unused": len(cleared), "last_step": ordinal(last)},
        related=related(("the last step was taken here", last.location)),
        step_first=ordinal(idle[0]),
        parameters=idle[0].wrote,
    )


def _attempted(trace: Trace) -> set[int | None]:
    """Optimizers that stepped, if only to be suppressed by a gradient scaler."""
    scaled = {event.optimizer for event in trace.of(ScalerUsed) if event.call == "step"}
    return scaled | {event.optimizer for event in trace.of(OptimizerStepped)}


def _first_seen(trace: Trace, optimizer: int) -> int:
    """Where in the trace it came into view; it is introduced again when it has got a name."""
    return min(event.sequence for event in trace.of(OptimizerBuilt) if event.optimizer == optimizer)


def _stepped_since(trace: Trace, first: int) -> set[int]:
    """Parameters that something has updated since then: another optimizer, or the program by hand, which is as good as
    seen where it writes to them each time before it clears their gradients."""
    steps = (event for event in trace.of(OptimizerStepped) if event.sequence >= first)
    stepped = {parameter for event in steps for use in event.uses for parameter in use.parameters}
    cleared = [event for event in trace.of(GradientsCleared) if event.sequence >= first]
    lost = {parameter for event in cleared for parameter in event.unused if parameter not in event.moved}
    return stepped | {parameter for event in cleared for parameter in event.moved} - lost


def _unclaimed(trace: Trace, backwards: list[BackwardRan]) -> list[BackwardRan]:
    """Backwards whose gradients no step has used, for no parameter: they were not run for another optimizer."""
    used = {backward for event in trace.of(OptimizerStepped) for use in event.uses for backward in use.backwards}
    return [event for event in backwards if event.backward not in used]


def _misdirected(trace: Trace, backwards: list[BackwardRan]) -> list[BackwardRan]:
    """Backwards on each of which another optimizer took a step of its own, between steps on an objective of its own.

    A network that merely trains with the fakes of one that rests has a single objective.
    """
    numbers = {event.backward for event in backwards}
    alone: dict[int | None, set[int]] = {}
    for step in trace.steps:
        new = {backward for use in step.uses for backward in use.backwards[len(use.consumed) :]}
        if len(new) == 1:
            alone.setdefault(step.optimizer, set()).update(new)
    mixed = [used for used in alone.values() if used - numbers]
    return [event for event in backwards if any(event.backward in used for used in mixed)]


def _thrown_away(trace: Trace, optimizer: int, waiting: frozenset[int]) -> int:
    """How often the program cleared unused gradients for this very optimizer: it means to train with it."""
    return sum(
        not waiting.isdisjoint(event.unused) and (event.optimizer == optimizer or not trace.steps)
        for event in trace.of(GradientsCleared)
    )


def _are_read(trace: Trace) -> bool:
    """Whether the program itself has got hold of the gradients of most backwards."""
    reads = trace.of(GradientsRead)
    return bool(reads) and 2 * reads[-1].read > reads[-1].backwards


def _are_collected(trace: Trace, optimizer: int) -> bool:
    """Whether it does so to gather scores before it trains: it clears them, if at all, without this optimizer.

    Who clears them for the optimizer may read them to log them.
    """
    return _are_read(trace) and not any(event.optimizer == optimizer for event in trace.of(GradientsCleared))


def _are_stepped_elsewhere(trace: Trace) -> bool:
    """Whether weights go from rank to rank behind most backwards: another one steps them."""
    reads = trace.of(GradientsRead)
    return bool(reads) and 2 * reads[-1].exchanged > reads[-1].backwards


def _judgeable(trace: Trace, optimizer: int) -> bool:
    """An optimizer with a closure may be in the middle of its first step; after a crash anything may."""
    end = trace.end.reason if trace.end else "time"
    inside = any(event.inside_step == optimizer for event in trace.of(BackwardRan))
    return end == "finished" or (end != "raised" and not inside)


def _finding(
    trace: Trace, optimizer: int, backwards: list[BackwardRan], thrown_away: int, waiting: frozenset[int]
) -> Finding:
    finished = has_ended(trace)
    sure = finished or thrown_away > 1 or bool(trace.steps)
    confidence: Confidence = "high" if sure else "low"
    name = called(trace, optimizer)
    cleared = f", and were cleared unused {plural(thrown_away, 'time')}" if thrown_away else ""
    parameters = [parameter for parameter in backwards[0].wrote if parameter in waiting]
    return RULE.finding(
        f"{plural(len(backwards), 'backward')} wrote gradients for {trace.parameter_names(parameters)}{cleared}, but "
        f"{name}, "
        f"which holds them, never stepped{'' if finished else ' before the run was stopped'}",
        subject=trace.optimizer_name(optimizer),
        location=backwards[0].location,
        help=f"call `{trace.optimizer_name(optimizer)}.step()` after this backward",
        severity="error" if sure else "warning",
        confidence=confidence,
        so_far=sure and (may_learn_later(trace, parameters) or (_are_read(trace) and not finished)),
        evidence={"backwards": len(backwards), "cleared_unused": thrown_away},
        related=related(("the optimizer is made here", trace.optimizers[optimizer].location)),
        step_first=ordinal(backwards[0]),
        parameters=parameters,
    )


def _skipped(finding: Finding, backwards: list[BackwardRan], event: StepsSkipped) -> Finding:
    """The same of an optimizer that is stepped, in micro-batches in which its accelerator passes no step on."""
    name = event.name or "optimizer"
    due = f"behind backwards {_first(event.due_in)}" if event.due_in else "behind none of these"
    return replace(
        finding,
        message=f"`{name}.step()` was called {plural(event.times, 'time')}, behind backwards {_first(event.asked_in)}, "
        f"and skipped each time, because gradients were still being accumulated; it would step {due}",
        subject=name,
        location=event.location,
        help=f"call `{name}.step()` and `{name}.zero_grad()` in every micro-batch: the accelerator skips those that "
        "come too early",
        evidence={**finding.evidence, "calls": event.times},
        related=related(
            ("gradients were computed here", backwards[0].location), *((r.message, r.location) for r in finding.related)
        ),
    )


def _first(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) + ", …"


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()  # <- AD104
    print(loss.item(), optimizer)


def bad_second_optimizer_forgotten() -> None:
    import torch
    from torch import nn

    class Autoencoder:
        def __init__(self) -> None:
            self.encoder, self.decoder = nn.Linear(6, 2), nn.Linear(2, 6)
            self.opt_e = torch.optim.Adam(self.encoder.parameters(), lr=1e-2)
            self.opt_d = torch.optim.Adam(self.decoder.parameters(), lr=1e-2)

        def train(self) -> None:
            for _ in range(8):
                inputs = torch.randn(16, 2) @ torch.ones(2, 6)
                self.opt_e.zero_grad()
                self.opt_d.zero_grad()
                loss = (self.decoder(self.encoder(inputs)) - inputs).square().mean()
                loss.backward()  # <- AD104
                self.opt_d.step()

    torch.manual_seed(0)
    Autoencoder().train()


def bad_steps_the_wrong_optimizer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)), nn.Linear(4, 1)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(8):
        states, actions = torch.randn(16, 3), torch.randn(16, 1)
        values = critic(torch.cat([states, actions], dim=1))
        critic_optimizer.zero_grad()
        (values - states.sum(dim=1, keepdim=True)).square().mean().backward()
        critic_optimizer.step()
        critic_optimizer.zero_grad()
        actor_loss = -critic(torch.cat([states, actor(states)], dim=1)).mean()
        actor_loss.backward()  # <- AD104
        critic_optimizer.step()
    print(actor_loss.item(), actor_optimizer)


def good() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_long_accumulation() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in range(96):
        inputs = torch.randn(4, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True)) / 16
        loss.backward()
        if batch % 16 == 15:
            optimizer.step()
            optimizer.zero_grad()


def good_steps_inside_backward() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizers: dict[torch.Tensor, torch.optim.Optimizer] = {}

    def step(parameter: torch.Tensor) -> None:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        optimizers[parameter] = torch.optim.SGD([parameter], lr=0.01)
        parameter.register_post_accumulate_grad_hook(step)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True)).backward()


RULE = Rule(
    code="AD104",
    name="missing-optimizer-step",
    severity="error",
    title="gradients were computed, and their optimizer did not step",
    observes=(
        "Optimizers that never stepped although backwards wrote gradients for parameters that nothing else updates: "
        "backwards that no step of any optimizer used, or gradients that were cleared unused for this very optimizer. "
        "Of one that an accelerator of Hugging Face has prepared, whether steps were asked for that it skipped. "
        "And lines whose backwards go on, and are cleared unused, after the last step (a warning)."
    ),
    why="The parameters keep their initial values: all the work goes into gradients that nothing reads.",
    fix="Call the optimizer's `step()` after the backward, also for the second and third optimizer of the program.",
    fine=(
        "Gradient accumulation, which ends in a step (a run that was stopped before it is reported with low "
        "confidence and the number of backwards seen); optimizers that step inside the backward; gradients that only "
        "the generator's loss left in its critic, where the generator steps; gradients that the program reads "
        "after each backward, and clears without the optimizer; weights that it writes to by hand after each backward, "
        "or gets from another rank."
    ),
    needs=(
        BackwardRan,
        GradientsCleared,
        GradientsRead,
        OptimizerBuilt,
        OptimizerStepped,
        RunEnded,
        ScalerUsed,
        StepsSkipped,
    ),
    examine=examine,
    bad=(bad, bad_second_optimizer_forgotten, bad_steps_the_wrong_optimizer),
    good=(good, good_long_accumulation, good_steps_inside_backward),
    tunables={
        "minimum_backwards": Tunable(
            3,
            "fewest backwards without a step of the optimizer",
            "chosen: two before a step are common, as of two losses or two micro-batches",
        ),
        "minimum_idle": Tunable(
            16,
            "fewest backwards, and clearings, after the last step",
            "chosen: no pause before another step is as long",
        ),
    },
    folds=("AD116",),
    about="loop",
    lasting=True,
)
