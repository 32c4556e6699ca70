"""AD210 training-in-eval-mode: training steps ran with dropout or batch-norm in eval mode."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator

from autograd_doctor.events.connectivity import ModeSet
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt, ParameterFrozen
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.so_far import has_ended

_AGAIN = 2
"""Evaluations after which a program does the same, before that is its habit."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for module in sorted({event.module for event in trace.of(ForwardRan)}):
        passes = _training_passes(trace, module)
        resting = [event for event in passes if _all_in_eval(event, passes)]
        if len({event.step for event in resting}) < tunables["minimum_steps"]:
            continue
        if not (_normalisation_frozen(trace, resting[0]) or _meant_for_a_stage(trace, resting[0], passes)):
            yield _finding(trace, resting, passes)


def _training_passes(trace: Trace, module: int) -> list[ForwardRan]:
    """Passes of a module in steps that used gradients which a backward had written to its parameters."""
    seen = trace.modules.get(module)
    own = set(seen.parameters) if seen else set()
    written = {event.step for event in trace.of(BackwardRan) if own.intersection(event.wrote)}
    used = {step.step for step in trace.steps if any(own.intersection(use.parameters) for use in step.uses)}
    passes = [event for event in trace.of(ForwardRan) if event.module == module and event.builds_graph]
    return [event for event in passes if event.step in written & used]


def _all_in_eval(event: ForwardRan, passes: list[ForwardRan]) -> bool:
    """Whether no pass of the module in this step ran in train mode: attacks and probes do so before the real one."""
    same_step = [other for other in passes if other.step == event.step]
    return bool(event.in_eval) and not any(other.training or other.in_train for other in same_step)


def _normalisation_frozen(trace: Trace, event: ForwardRan) -> bool:
    """Whether all that ran in eval mode has parameters, none of which learns: batch-norm frozen on purpose."""
    seen = trace.modules.get(event.module)
    own = {parameter: trace.parameter_name(parameter) for parameter in (seen.parameters if seen else ())}
    for name in event.in_eval:
        inside = {parameter for parameter, full in own.items() if f".{name}." in f".{full}"}
        if not inside or inside & trace.learning:
            return False
    return True


def _switched_by_evaluation(trace: Trace, event: ForwardRan) -> bool:
    """Whether the module ran without gradients, or had trained in train mode, before it trained in eval mode.

    What it was switched for came before the optimizer was built, where the switch did: rollouts of a policy come later.
    """
    before = trace.events[: trace.events.index(event)]
    own = [other for other in before if isinstance(other, ForwardRan) and other.module == event.module]
    if any(other.training for other in own):
        return True
    switch, held = _last_switch(trace, event), set(trace.module_parameters(event.module))
    begins = event.sequence
    for built in trace.of(OptimizerBuilt):
        is_later = switch is not None and switch.optimizers <= built.optimizer
        if is_later and held.intersection(trace.optimizer_parameters[built.optimizer]):
            begins = min(begins, built.sequence)
    return any(not other.grad_enabled for other in own if other.sequence < begins)


def _meant_for_a_stage(trace: Trace, first: ForwardRan, passes: list[ForwardRan]) -> bool:
    """Whether a stage of the training was begun in eval mode, by a line that says so for it and for no evaluation.

    The stage has an optimizer of its own, or its loss goes backward at a line of its own. An evaluation that ran
    between this switch and the beginning of the stage may be what it was made for.
    """
    last = max((event.sequence for event in passes if event.training and event.sequence < first.sequence), default=None)
    if last is None or first.mode_set_at is None:
        return False
    switches = [each for each in trace.of(ModeSet) if (each.module, each.location) == (first.module, first.mode_set_at)]
    said = [each.sequence for each in switches if not each.training and each.sequence < first.sequence]
    if not said or said[0] < last:  # what a helper for evaluations does is not said for this stage
        return False
    own = set(trace.module_parameters(first.module))
    built = [sequence for sequence in _optimizers_built(trace, own) if last < sequence < first.sequence]
    begins = next((sequence for sequence in built if sequence > said[-1]), first.sequence)
    between = (event for event in trace.evaluations if said[-1] < event.sequence < begins)
    if any(own.intersection(trace.module_parameters(event.module)) for event in between):
        return False
    return bool(built) or _has_a_loss_of_its_own(trace, first)


def _optimizers_built(trace: Trace, own: set[int]) -> list[int]:
    """Where in the trace optimizers over parameters of a module came into view, in order."""
    first: dict[int, int] = {}
    for event in trace.of(OptimizerBuilt):
        if own.intersection(trace.optimizer_parameters[event.optimizer]):
            first.setdefault(event.optimizer, event.sequence)
    return sorted(first.values())


def _has_a_loss_of_its_own(trace: Trace, first: ForwardRan) -> bool:
    """Whether no loss had gone backward, before this pass, at the line at which its own does."""
    backwards = [event for event in trace.of(BackwardRan) if event.location is not None]
    own = next((event.location for event in backwards if event.sequence > first.sequence), None)
    return own is not None and own not in {event.location for event in backwards if event.sequence < first.sequence}


def _is_a_stage_of_its_own(trace: Trace, resting: list[ForwardRan], passes: list[ForwardRan]) -> bool:
    """Whether the losses that were trained on in eval mode go backward at lines at which none ever did in train mode.

    A stage that follows an evaluation may leave the mode as it is on purpose, as where dropout would only add noise.
    """
    own = {event.sequence for event in resting}
    at_rest = {_backward_line(trace, event) for event in resting}
    awake = {_backward_line(trace, event) for event in passes if event.sequence not in own}
    return bool(awake) and None not in at_rest | awake and not at_rest & awake


def _backward_line(trace: Trace, event: ForwardRan) -> Location | None:
    own = set(trace.module_parameters(event.module))
    later = (other for other in trace.of(BackwardRan) if other.sequence > event.sequence)
    return next((other.location for other in later if own.intersection(other.wrote)), None)


def _went_back_before(trace: Trace, resting: list[ForwardRan], passes: list[ForwardRan]) -> bool:
    """Whether evaluations were followed by training in train mode, again and again, and from one on no longer.

    What forgets to switch does so at the first evaluation, or at each of its kind: this was a choice of the program.
    """
    awake = [event for event in passes if event.sequence < resting[0].sequence]
    if len(awake) + len(resting) < len(passes):
        return False
    return _returns(trace, awake) >= _AGAIN and _returns(trace, resting) >= (_AGAIN if has_ended(trace) else 1)


def _returns(trace: Trace, passes: list[ForwardRan]) -> int:
    """How many of the passes are the first after an evaluation of their module."""
    evaluated = [event.sequence for event in trace.evaluations if event.module == passes[0].module] if passes else []
    return len({bisect(evaluated, event.sequence) for event in passes} - {0})


def _frozen_with_it(trace: Trace, passes: list[ForwardRan], first: ForwardRan) -> bool:
    """Whether parameters of the module were frozen between its last pass in train mode and this one in eval mode.

    Then both were done for a new stage of the training, and nobody has forgotten an evaluation.
    """
    trained = [event.sequence for event in passes if event.training and event.sequence < first.sequence]
    seen = trace.modules.get(first.module)
    own = set(seen.parameters) if seen else set()
    switched = (event for event in trace.of(ParameterFrozen) if event.parameter in own)
    return any(max(trained, default=0) < event.sequence < first.sequence for event in switched)


def _finding(trace: Trace, resting: list[ForwardRan], passes: list[ForwardRan]) -> Finding:
    first, name = resting[0], trace.module_name(resting[0].module)
    steps = len({event.step for event in passes})
    staged = _frozen_with_it(trace, passes, first)
    switched = _switched_by_evaluation(trace, first) and not staged
    doubt = _doubt(trace, resting, passes, staged=staged, switched=switched)
    set_at = first.mode_set_at or _last_switch(trace, first)
    location = (set_at.location if isinstance(set_at, ModeSet) else set_at) or first.location
    before = _switched_before(trace, first, passes)
    places = [("it had been switched here", before if before != location else None)]
    places.append(("this forward pass was trained on", first.location))
    count = len({event.step for event in resting})
    names = ", ".join(f"`{part}`" for part in first.in_eval[:3])
    return RULE.finding(
        f"{count} of {steps} training steps ran `{name}` in eval mode, with {names} switched to evaluation",
        subject=name,
        location=location,
        help="call `train()` on it before training, and again after every evaluation",
        severity="info" if staged else "warning" if doubt else None,
        confidence="medium" if doubt else "high",
        evidence={"in_eval_mode": list(first.in_eval[:20]), "steps_in_eval_mode": count, "training_steps": steps},
        related=tuple(Related(text, place) for text, place in places if place is not None),
        notes=(doubt,) if doubt else (),
        step_first=first.step + 1,
        step_count=count,
    )


def _doubt(trace: Trace, resting: list[ForwardRan], passes: list[ForwardRan], *, staged: bool, switched: bool) -> str:
    if staged:
        return "parameters of it were frozen together with this switch: both may be meant for a new stage"
    if not switched:
        return "it never trained in train mode: this may be meant, to keep normalisation as it was learned"
    if _is_a_stage_of_its_own(trace, resting, passes):
        return "what trained in train mode goes backward at another line: this may be meant for a stage of its own"
    if _went_back_before(trace, resting, passes):
        return "it went back to train mode after evaluations before: this may be meant, to keep normalisation as it is"
    if trace.steps_before:
        return "what came before was not seen: this may be meant from a step on, to keep normalisation as it is"
    return ""


def _last_switch(trace: Trace, event: ForwardRan) -> ModeSet | None:
    before = trace.events[: trace.events.index(event)]
    own = [other for other in before if isinstance(other, ModeSet) and other.module == event.module]
    return own[-1] if own and not own[-1].training else None


def _switched_before(trace: Trace, first: ForwardRan, passes: list[ForwardRan]) -> Location | None:
    """The first line that put it into eval mode since it trained in train mode: a later one may restore that."""
    last = max((event.sequence for event in passes if event.training and event.sequence < first.sequence), default=0)
    own = (each for each in trace.of(ModeSet) if each.module == first.module and not each.training)
    return next((each.location for each in own if last < each.sequence < first.sequence), None)


def bad() -> None:
    import torch
    from torch import nn

    def evaluate(model: nn.Module, x: torch.Tensor) -> float:
        model.eval()  # <- AD210
        with torch.no_grad():
            return float(nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)))

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    held_out = torch.randn(64, 6)
    for _ in range(3):
        for _ in range(4):
            x = torch.randn(32, 6)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
        evaluate(model, held_out)


def bad_first_measured() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    held_out = torch.randn(64, 6)
    model.eval()  # <- AD210
    with torch.no_grad():
        print("untrained:", nn.functional.mse_loss(model(held_out), held_out.sum(1, keepdim=True)).item())
    for _ in range(8):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
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


def good_frozen_batch_norm() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
    optimizer = torch.optim.SGD([*model[0].parameters(), *model[4].parameters()], lr=0.05)
    model[1].requires_grad_(False)
    for _ in range(8):
        model.train()
        model[1].eval()
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()


def good_without_modes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 1)).eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()


RULE = Rule(
    code="AD210",
    name="training-in-eval-mode",
    severity="error",
    title="training ran in eval mode",
    observes="Training steps in which every mode-dependent layer of the model (dropout, batch-norm) was in eval mode, "
    "after an evaluation had switched it or since the start, and the line that switched it.",
    why="Dropout does nothing and batch-norm normalises by old statistics, which no longer move: the model trains "
    "differently after the first evaluation, without a word.",
    fix="Call `model.train()` at the start of every training phase.",
    fine="Batch-norm frozen in fine-tuning, models without mode-dependent layers, frozen parts. A stage with an "
    "optimizer or a loss of its own that begins with a switch to eval mode, and with no evaluation. A model that never "
    "was in train mode, and was not evaluated before, or between this switch and the making of its optimizer, is a "
    "warning. So is a stage of which the loss goes backward at a "
    "line of its own, in eval mode from its first step to its last, and a training that went back to train mode after "
    "several evaluations, and after several later ones to the end no longer.",
    needs=(ForwardRan, ParameterFrozen, BackwardRan, ModeSet, ModuleSeen, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_first_measured),
    good=(good, good_frozen_batch_norm, good_without_modes),
    tunables={"minimum_steps": Tunable(2, "fewest training steps in eval mode", MORE_THAN_ONCE)},
    references=("https://docs.pytorch.org/docs/stable/notes/autograd.html",),
)
