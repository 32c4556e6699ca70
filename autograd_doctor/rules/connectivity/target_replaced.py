"""AD224 target-replaced: a line that called a copy of the model calls, from some step on, the model itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from autograd_doctor.events.connectivity import EntriesAreOne, RatioOfItself, ReferenceCompared
from autograd_doctor.events.steps import ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt, ParametersAdded, ParameterSeen
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import in_several_steps
from autograd_doctor.views.step_cycle import related
from autograd_doctor.wording import plural

_OF_A_REFERENCE = (
    "a result with a reference",
    "",
    "take the reference from a copy that stays as it is: `reference = copy.deepcopy(model)` before training, instead "
    "of `reference = model`",
)
_OF_ITSELF = (
    "a result with one",
    "; this term of the loss is 0, and so is its gradient",
    "give the comparison what is to learn on one side, as the output of the student, and what it is to learn from on "
    "the other",
)
"""What is compared with what, what comes of it, and what to change."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    runs = trace.of(ForwardRan)
    lines: dict[object, list[ForwardRan]] = defaultdict(list)
    for run in runs:
        if not run.grad_enabled and run.location is not None:
            lines[run.location].append(run)
    for here in lines.values():
        last = here[-1].module
        before = [run for run in here if run.module != last]
        after = here[len(before) :]
        if min(len(before), len(after)) < tunables["steps"] or any(run.module != last for run in after):
            continue
        if len({run.module for run in before}) == 1 and _took_over(trace, runs, before, after):
            yield _finding(trace, before, after)
    for events in _compared_with_itself(trace, tunables["steps"]):
        yield _itself(trace, events)
    for ratios in _ratios_of_itself(trace, tunables["steps"]):
        yield _ratio(trace, ratios)
    for entries in in_several_steps(trace, trace.of(EntriesAreOne), lambda each: each.location, tunables["steps"]):
        yield _one_for_all(trace, entries)


def _one_for_all(trace: Trace, events: Sequence[EntriesAreOne]) -> Finding:
    first = events[0]
    return RULE.finding(
        f"this line puts one module {first.times} times into a list, and all of its entries share "
        f"{trace.parameter_names(first.parameters)}: in each step it is called on {first.times} different data",
        subject=trace.parameter_name(first.parameters[0]) if first.parameters else "module",
        location=first.location,
        confidence="medium",
        help="build each of them: `nn.ModuleList([layer() for _ in range(n)])` instead of `[layer()] * n`; where the "
        "data are to share their weights, call one module by one name",
        evidence={"entries": first.times, "parameters": len(first.parameters)},
        step_first=first.step,
        step_count=len(events),
        parameters=first.parameters,
    )


def _compared_with_itself(trace: Trace, fewest: float) -> Iterator[list[ReferenceCompared]]:
    """Comparisons that were equal in every step that was looked at, those of the same parameters together."""
    lines: dict[object, list[ReferenceCompared]] = defaultdict(list)
    for event in trace.of(ReferenceCompared):
        lines[event.location].append(event)
    models: dict[tuple[bool, *tuple[int, ...]], list[ReferenceCompared]] = defaultdict(list)
    for events in lines.values():
        if len({event.step for event in events}) >= fewest and all(event.equal for event in events):
            models[events[0].itself, *events[0].parameters] += events
    yield from models.values()


def _ratios_of_itself(trace: Trace, fewest: float) -> Iterator[list[RatioOfItself]]:
    """Ratios that were 1 in every step that was looked at, after steps that had moved what they are made of."""
    lines: dict[object, list[RatioOfItself]] = defaultdict(list)
    for event in trace.of(RatioOfItself):
        lines[event.location].append(event)
    steps = [(step.step, set(step.moved or ())) for step in trace.of(OptimizerStepped)]
    for events in lines.values():
        first = events[0]
        has_moved = any(at < first.step and not moved.isdisjoint(first.parameters) for at, moved in steps)
        if has_moved and len({event.step for event in events}) >= fewest and all(event.own for event in events):
            yield events


def _took_over(
    trace: Trace, runs: Sequence[ForwardRan], before: Sequence[ForwardRan], after: Sequence[ForwardRan]
) -> bool:
    """Whether what was called until then is a copy that no optimizer holds, never called again, and what is called
    since then has trained all the while."""
    copy, model, turn = before[0].module, after[0].module, after[0].sequence
    trained = [run.sequence for run in runs if run.module == model and run.grad_enabled and run.builds_graph]
    is_gone = all(run.sequence < turn for run in runs if run.module == copy)
    meanwhile = any(before[0].sequence < at < turn for at in trained) and any(at > turn for at in trained)
    shapes = [_shapes(trace, module) for module in (copy, model)]
    held = set().union(*trace.optimizer_parameters.values())
    is_copy = bool(shapes[0]) and shapes[0] == shapes[1] and held.isdisjoint(trace.modules[copy].parameters)
    return is_gone and meanwhile and is_copy


def _shapes(trace: Trace, module: int) -> list[list[int]]:
    known = trace.modules.get(module)
    return [trace.parameters[p].shape for p in known.parameters if p in trace.parameters] if known is not None else []


def _itself(trace: Trace, events: Sequence[ReferenceCompared]) -> Finding:
    first, steps = events[0], len({event.step for event in events})
    what, effect, change = _OF_ITSELF if first.itself else _OF_A_REFERENCE
    return RULE.finding(
        f"this line compares {what} that is equal to it in every element, in all {plural(steps, 'step')} that were "
        f"looked at: both come from {trace.parameter_names(first.parameters)}{effect}",
        subject=trace.parameter_name(first.parameters[0]),
        location=first.location,
        confidence="medium",
        help=change,
        evidence={"steps": steps, "parameters": len(first.parameters)},
        related=related(("the reference was computed here", first.reference_at)),
        step_first=first.step + 1,
        step_count=steps,
        parameters=first.parameters,
    )


def _ratio(trace: Trace, events: Sequence[RatioOfItself]) -> Finding:
    first, steps = events[0], len({event.step for event in events})
    return RULE.finding(
        f"this ratio is 1 in every element, in all {plural(steps, 'step')} that were looked at: both sides come from "
        f"{trace.parameter_names(first.parameters)} as they are in that step, though earlier steps have learned from "
        "the same data; it corrects nothing, and no clipping of it ever acts",
        subject=trace.parameter_name(first.parameters[0]),
        location=first.location,
        confidence="medium",
        help="compute the old log-probabilities once, under `torch.no_grad()`, with the weights that chose the "
        "actions: when these are drawn, before the loop over epochs and batches",
        evidence={"steps": steps, "parameters": len(first.parameters)},
        related=related(("the old side was computed here", first.reference_at)),
        step_first=first.step + 1,
        step_count=steps,
        parameters=first.parameters,
    )


def _finding(trace: Trace, before: Sequence[ForwardRan], after: Sequence[ForwardRan]) -> Finding:
    """A warning: labels, or moves of an opponent, may come from the model itself from a stage on."""
    copy, model, first = trace.module_name(before[0].module), trace.module_name(after[0].module), after[0]
    return RULE.finding(
        f"until step {before[-1].step + 1} this line called a copy of `{model}` that no optimizer moved; since step "
        f"{first.step + 1} it calls `{model}` itself, the very object that is trained, and the copy is gone",
        subject=copy,
        location=first.location,
        confidence="medium",
        help="copy the weights, not the reference: `target.load_state_dict(model.state_dict())` instead of "
        "`target = model`",
        evidence={"copy_called": len(before), "model_called": len(after)},
        step_first=first.step + 1,
        step_count=after[-1].step - first.step + 1,
    )


def bad() -> None:
    import copy

    import torch
    from torch import nn

    class Learner:
        def __init__(self) -> None:
            self.model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
            self.target = copy.deepcopy(self.model)
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)

        def learn(self, states: torch.Tensor) -> None:
            with torch.no_grad():
                values = states.sum(1, keepdim=True) + 0.9 * self.target(states)  # <- AD224
            loss = nn.functional.mse_loss(self.model(states), values)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    torch.manual_seed(0)
    learner = Learner()
    for step in range(20):
        learner.learn(torch.randn(16, 4))
        if step % 8 == 7:
            learner.target = learner.model


def bad_teacher_of_itself() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(0)
    teacher, student = nn.Linear(6, 4), nn.Linear(6, 4)
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
    for _ in range(12):
        x = torch.randn(32, 6)
        with torch.no_grad():
            wanted = teacher(x)
        scores = student(x)
        soft = functional.kl_div((wanted / 2).log_softmax(1), (wanted / 2).softmax(1))  # <- AD224
        loss = functional.cross_entropy(scores, x[:, :4].argmax(1)) + 4 * soft
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_ratio_of_itself() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    for _ in range(6):
        states = torch.randn(64, 3)
        with torch.no_grad():
            actions = Categorical(logits=policy(states)).sample()
        gains = states[:, 0] * (actions == 1) - 0.1
        for _ in range(3):
            now = Categorical(logits=policy(states)).log_prob(actions)
            with torch.no_grad():
                before = Categorical(logits=policy(states)).log_prob(actions)
            ratio = (now - before).exp()  # <- AD224
            loss = -torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    target = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(20):
        states = torch.randn(16, 4)
        with torch.no_grad():
            values = states.sum(1, keepdim=True) + 0.9 * target(states)
        loss = nn.functional.mse_loss(model(states), values)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 8 == 7:
            target = copy.deepcopy(model)


def good_ratio_to_what_was_drawn() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    for _ in range(6):
        states = torch.randn(64, 3)
        with torch.no_grad():
            choices = Categorical(logits=policy(states))
            actions = choices.sample()
            before = choices.log_prob(actions)
        gains = states[:, 0] * (actions == 1) - 0.1
        for _ in range(3):
            now = Categorical(logits=policy(states)).log_prob(actions)
            ratio = (now - before).exp()
            loss = -torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_one_update_for_each_draw() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    states = torch.randn(64, 3)
    for _ in range(18):
        choices = Categorical(logits=policy(states))
        actions = choices.sample()
        gains = states[:, 0] * (actions == 1) - 0.1
        now = choices.log_prob(actions)
        ratio = (now - now.detach()).exp()
        loss = -torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_folds() -> None:
    import torch
    from torch import nn

    def score(model: nn.Module, x: torch.Tensor) -> float:
        with torch.no_grad():
            distance: torch.Tensor = model(x) - x.sum(1, keepdim=True)
            return distance.square().mean().item()

    torch.manual_seed(0)
    for _ in range(2):
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(8):
            x = torch.randn(16, 4)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(score(model, torch.randn(16, 4)))


RULE = Rule(
    code="AD224",
    name="target-replaced",
    severity="warning",
    title="a model is used in the place of its copy, or compared with itself",
    observes="Which modules a line calls without gradients: at first one with the shapes of another that is "
    "trained, held by no optimizer; from some step on the trained one, while the first is never called again. "
    "Differences in a loss, between what has a gradient and what the same parameters gave without one, that are "
    "exactly zero. Terms of a loss that compare a result with itself, or with what the same parameters gave where "
    "neither has a gradient, and that are zero in every step. Ratios that weigh data, as those of the probabilities of "
    "actions, between what the parameters give and what the same ones gave in the same step, that are 1 in each step "
    "that was looked at, although earlier steps have learned from all of these data. And a module that stands several "
    "times in one `nn.ModuleList` or `nn.ModuleDict`, and is called in each step on as many inputs, whose numbers "
    "hardly correlate.",
    why="A target that moves with the model chases itself: values of one network bootstrap from the same network, and "
    "diverge or collapse. A penalty that should keep the model near a reference compares it with itself, and does "
    "nothing. Nor does a distillation of the teacher from the teacher. An importance ratio corrects for the policy "
    "that chose the actions: where the old log-probabilities are computed anew in each update, it is 1, clipping never "
    "acts, and from the second update on the gradient is that of another policy's actions.",
    fix="Copy the weights into the target; compare what is to learn with what it is to learn from. Keep the "
    "log-probabilities that actions were drawn with.",
    fine="Targets that are made anew by `copy.deepcopy`, teachers that stay fixed, and lines that evaluate one model "
    "after another. A stage in which the model labels data for itself, or plays against itself, looks the same: "
    "ignore it there. Layers that are repeated with the same weights, one after the other, heads that several layers "
    "share, and one encoder for two views. Ratios of probabilities, which are 1 in the first of several updates, and "
    "differences from what was only detached, or from what is the same in a part of the run alone. Lines that compare "
    "other results as well, as those that go through the layers of two models that share one, and what weighs a term. "
    "Ratios of 1 where each sample is used for one step, in however many backwards; where actions are drawn or chosen "
    "in the step, or picked by an array or a list; where the policy has not moved; where a ratio at this line was "
    "another one in any step, or is multiplied by one that is; and `exp(x - x.detach())` that nothing clips, as "
    "estimators have it.",
    needs=(
        EntriesAreOne,
        ForwardRan,
        ModuleSeen,
        OptimizerBuilt,
        OptimizerStepped,
        ParametersAdded,
        ParameterSeen,
        RatioOfItself,
        ReferenceCompared,
    ),
    examine=examine,
    bad=(bad, bad_teacher_of_itself, bad_ratio_of_itself),
    good=(good, good_ratio_to_what_was_drawn, good_one_update_for_each_draw, good_folds),
    tunables={
        "steps": Tunable(
            3, "fewest calls of the copy, and of the model after it, at the line", "chosen: fewer may be a trial"
        )
    },
    about="model",
    references=("Mnih et al. 2015, Human-level control through deep reinforcement learning",),
)
