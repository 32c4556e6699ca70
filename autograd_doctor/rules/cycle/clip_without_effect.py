"""AD105: gradients were clipped when there were none to clip, or where no step would use them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import MEASURES_ONLY, is_handmade, ordinal, related, same_objective, share
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for location, clips in _by_place(trace).items():
        idle = [clip for clip in clips if not clip.fresh]
        if len(trace.steps) < tunables["minimum_repeats"] or len(clips) < tunables["minimum_repeats"]:
            continue
        if len(idle) == len(clips):
            yield _nothing_to_clip(trace, location, clips)
        elif all(not clip.parameters for clip in clips[1:]):
            yield _used_up(trace, location, clips[1:])
        elif _never_stepped(trace, clips):
            yield _not_stepped(trace, location, clips)
        elif all(_added_to(trace, clip) for clip in clips):
            yield _too_early(trace, location, clips)


def _by_place(trace: Trace) -> dict[Location | None, list[GradientsClipped]]:
    """Clippings that were to change gradients of backwards; gradients made by hand have a history of their own."""
    handmade = {p for step in trace.steps for use in step.uses if is_handmade(use) for p in use.parameters}
    grouped: dict[Location | None, list[GradientsClipped]] = {}
    for clip in trace.of(GradientsClipped):
        if clip.limit < MEASURES_ONLY and handmade.isdisjoint(clip.parameters):
            grouped.setdefault(clip.location, []).append(clip)
    return grouped


def _never_stepped(trace: Trace, clips: list[GradientsClipped]) -> bool:
    stepped = {p for step in trace.of(OptimizerStepped) for use in step.uses for p in use.parameters}
    clipped = {parameter for clip in clips for parameter in clip.parameters}
    return (stepped | trace.optimized).isdisjoint(clipped) and not _are_handed_on(trace, stepped)


def _are_handed_on(trace: Trace, stepped: set[int]) -> bool:
    """Whether steps use gradients that no backward computed for their parameters, as master copies of weights get them:
    put there by the program, or written by a backward of others, whose buffers they share."""
    is_put_there = any(is_handmade(use) for step in trace.of(OptimizerStepped) for use in step.uses)
    return is_put_there or any(
        not stepped.isdisjoint(set(ran.wrote) - set(ran.reached)) for ran in trace.of(BackwardRan)
    )


def _added_to(trace: Trace, clip: GradientsClipped) -> bool:
    """Whether a further backward on the same loss added to what was clipped before a step used it.

    Clipping the part of one objective and adding another is a choice.
    """
    position, wanted = trace.events.index(clip), set(clip.parameters)
    before = [e for e in trace.events[:position] if isinstance(e, BackwardRan) and wanted.intersection(e.wrote)]
    for event in trace.events[position:]:
        if isinstance(event, OptimizerStepped) and any(wanted.intersection(use.parameters) for use in event.uses):
            return False
        if isinstance(event, BackwardRan) and wanted.intersection(event.wrote):
            return bool(before) and same_objective(trace, before[-1].backward, event.backward)
    return False


def _too_early(trace: Trace, location: Location | None, clips: list[GradientsClipped]) -> Finding:
    names = trace.parameter_names(clips[0].parameters)
    seen = f"gradients were clipped before the last backward of their step, which added to them unclipped: {names}"
    return _finding(trace, location, clips, seen, "move the clipping between the last `backward()` and the step")


def _nothing_to_clip(trace: Trace, location: Location | None, clips: list[GradientsClipped]) -> Finding:
    first = clips[0]
    count = len(first.parameters)
    names = trace.parameter_names(first.parameters)
    if not any(clip.parameters for clip in clips):
        seen = "the parameters to clip were an empty list"
        advice = "pass `model.parameters()` itself: a generator that was read before is empty"
    elif trace.learning.isdisjoint(first.parameters):
        seen = f"none of the {plural(count, 'parameter')} clipped ever had a gradient ({names})"
        trained, untrained = "clip the parameters of the model that is trained", "run a backward that reaches them"
        advice = trained if trace.learning else untrained
    elif _precedes_every_backward(trace, first):
        seen = f"gradients were clipped before the backward that computes them: {names}"
        advice = "move the clipping between `backward()` and the step"
    else:
        seen = f"gradients were clipped after the step that had used them: {names}"
        advice = "move the clipping between `backward()` and the step"
    return _finding(trace, location, clips, seen, advice)


def _used_up(trace: Trace, location: Location | None, clips: list[GradientsClipped]) -> Finding:
    """Only the first call was given parameters."""
    seen = "the parameters to clip were there in the first call, and an empty list in all others"
    return _finding(
        trace,
        location,
        clips,
        seen,
        "call `model.parameters()` anew for each clipping: the generator can be read only once",
    )


def _precedes_every_backward(trace: Trace, clip: GradientsClipped) -> bool:
    return not any(isinstance(event, BackwardRan) for event in trace.events[: trace.events.index(clip)])


def _not_stepped(trace: Trace, location: Location | None, clips: list[GradientsClipped]) -> Finding:
    names = trace.parameter_names(clips[0].parameters)
    seen = f"gradients were clipped of parameters that no optimizer steps: {names}"
    return _finding(trace, location, clips, seen, "clip the parameters that the optimizer holds")


def _finding(trace: Trace, location: Location | None, clips: list[GradientsClipped], seen: str, advice: str) -> Finding:
    first = clips[0]
    step = next((step for step in trace.steps if step.step >= first.step), trace.steps[-1])
    backward = next((ran for ran in trace.of(BackwardRan) if ran.kind == "backward"), None)
    return RULE.finding(
        f"{seen}; {share(len(clips), len(clips), 'call')} left the step that followed unclipped",
        subject=trace.parameter_names(first.parameters, limit=1).replace("`", "") or "the gradients",
        location=location,
        help=advice,
        evidence={
            "calls": len(clips),
            "limit": first.limit,
            "without_gradient": len(first.missing),
            "parameters": len(first.parameters),
        },
        related=related(
            ("the gradients are computed here", backward.location if backward else None),
            ("and used by this step", step.location),
        ),
        step_first=ordinal(first),
        step_count=len(clips),
        parameters=first.parameters,
    )


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <- AD105
        loss.backward()
        optimizer.step()


def bad_after_the_step() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.GRU(2, 8, batch_first=True)
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

        def step(self, inputs: torch.Tensor) -> None:
            outputs, _ = self.model(inputs)
            loss = (outputs.mean(dim=2) - inputs.cumsum(dim=1)[..., 0]).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            nn.utils.clip_grad_value_(self.model.parameters(), 0.5)  # <- AD105

    torch.manual_seed(0)
    trainer = Trainer()
    for _ in range(8):
        trainer.step(torch.randn(8, 5, 2))


def bad_before_the_last_micro_batch() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in range(24):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True)) / 3
        if batch % 3 == 2:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # <- AD105
        loss.backward()
        if batch % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()


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
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def good_every_micro_batch() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in range(24):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True)) / 3
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)
        if batch % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()


def good_one_network_of_two() -> None:
    import torch

    torch.manual_seed(0)
    actor, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-2)
    for _ in range(8):
        states = torch.randn(32, 4)
        policy = torch.distributions.Categorical(logits=actor(states))
        actions = policy.sample()
        returns = (actions == (states[:, 0] > 0)).float()
        advantage = returns - critic(states).squeeze(1)
        loss = advantage.square().mean() - (policy.log_prob(actions) * advantage.detach()).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(critic.parameters(), 0.5)
        optimizer.step()


RULE = Rule(
    code="AD105",
    name="clip-without-effect",
    severity="error",
    title="clipping gradients has no effect on any step",
    observes=(
        "Per call that clips: for which of its parameters a backward had written a gradient that no step had used "
        "yet, whether any optimizer steps these parameters, and whether further backwards on the same loss added to "
        "them before the step. A call at fault clipped nothing, or never what a step used."
    ),
    why="Training runs unclipped while the code says otherwise: the first exploding gradient goes through.",
    fix="Clip between the last backward and the step, and clip the parameters that the optimizer holds.",
    fine=(
        "Clipping one network out of several, clipping after each micro-batch (AD125 judges that), limits so high that "
        "they only measure the norm, and gradients that the program computed by itself are not reported."
    ),
    needs=(BackwardRan, GradientsClipped, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_after_the_step, bad_before_the_last_micro_batch),
    good=(good, good_every_micro_batch, good_one_network_of_two),
    tunables={"minimum_repeats": Tunable(2, "fewest calls of a clipping that had no effect", MORE_THAN_ONCE)},
    about="loop",
)
