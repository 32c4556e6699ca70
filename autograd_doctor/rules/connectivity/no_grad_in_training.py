"""AD201 no-grad-in-training: the forward pass to be trained on ran with gradients switched off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from sys import maxsize
from typing import NamedTuple

from autograd_doctor.events.connectivity import GradModeLeftOff, LossExamined
from autograd_doctor.events.facts import GradSwitch
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import missed_by
from autograd_doctor.views.crash import lacks_graph
from autograd_doctor.views.cuts import described
from autograd_doctor.views.loss_terms import LossTerm, steady_terms
from autograd_doctor.views.so_far import may_be_undone


@dataclass
class _Deprived:
    """What a switch took the gradient from, and the backwards in which it did. `guessed`: not seen in any of them."""

    guessed: bool = True
    parameters: set[int] = field(default_factory=set)
    backwards: list[BackwardRan] = field(default_factory=list)


class _Switched(NamedTuple):
    """A switch under which these parameters lost their gradient in one backward, as was seen or only guessed."""

    switch: GradSwitch
    parameters: set[int]
    guessed: bool = False


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    found: dict[GradSwitch, _Deprived] = {}
    left_off = {event.switch.location for event in trace.of(GradModeLeftOff)}
    last: ForwardRan | None = None
    ran_under: dict[GradSwitch, int] = {}
    for position, event in enumerate(trace.events):
        if isinstance(event, ForwardRan):
            last = event
            if event.switch is not None:
                ran_under[event.switch] = position
        elif isinstance(event, BackwardRan):
            for switch, parameters, guessed in _newest(list(_switches(trace, event, last)), ran_under):
                if switch.location not in left_off:
                    deprived = found.setdefault(switch, _Deprived())
                    deprived.guessed &= guessed
                    deprived.parameters |= parameters
                    deprived.backwards.append(event)
    terms = list(steady_terms(trace, tunables["backwards"], in_vain=True))
    told: list[LossTerm] = []
    for switch, deprived in found.items():
        term = next((each for each in terms if deprived.parameters and deprived.parameters <= each.trained), None)
        if term is None or _is_slip(switch) or _is_whole(deprived):
            yield _finding(trace, switch, deprived)
        elif term not in told:
            told.append(term)
            yield _taken_from_before(trace, switch, term)


def _switches(trace: Trace, backward: BackwardRan, last: ForwardRan | None) -> Iterator[_Switched]:
    """What switched gradients off for this backward, with the parameters that lost their gradient by it."""
    if backward.rewrapped_at is not None or (backward.kind == "grad" and not lacks_graph(backward)):
        return
    operations = [cut for cut in backward.cuts if cut.reason != "grad-mode"]
    for cut in backward.cuts:
        # What was seen of a switch is not put down to an operation that was only guessed.
        otherwise = {p for other in operations if cut.guessed or not other.guessed for p in other.parameters}
        lost = missed_by(trace, backward, cut.parameters) - otherwise
        if cut.switch is not None and lost:
            yield _Switched(cut.switch, set(lost), cut.guessed)
    if lacks_graph(backward) and not backward.cuts and last is not None and last.switch is not None:
        module = trace.modules.get(last.module)
        yield _Switched(last.switch, set(missed_by(trace, backward, module.parameters if module else ())))


def _newest(switches: list[_Switched], ran_under: dict[GradSwitch, int]) -> Iterator[_Switched]:
    """Blame each parameter on the newest switch that was seen: what was collected before is data by then.

    A switch under which no module ran cut a graph that had been built for this very loss.
    """
    blamed: set[int] = set()
    newest = sorted(switches, key=lambda each: ran_under.get(each.switch, maxsize), reverse=True)
    for each in sorted(newest, key=lambda each: each.guessed):
        if not each.parameters or each.parameters - blamed:
            yield each._replace(parameters=each.parameters - blamed)
        blamed |= each.parameters


def _is_slip(switch: GradSwitch) -> bool:
    return switch.form == "decorator" or switch.kind == "set_grad_enabled"


def _is_whole(deprived: _Deprived) -> bool:
    first = deprived.backwards[0]
    return lacks_graph(first) or not first.reached


def _taken_from_before(trace: Trace, switch: GradSwitch, term: LossTerm) -> Finding:
    """The loss has a term of values that were made with gradients off, and those with a graph lie beside it unused."""
    who = trace.parameter_names(term.parameters)
    return RULE.finding(
        f"{term.words} is computed from what {described(switch)} kept without a graph, so no gradient reaches {who}; a "
        "forward of the same step built a graph for them, and no backward uses it",
        subject=term.seen.name or term.seen.operation,
        location=term.location,
        help="compute this term from what that forward returns, and keep the values from before for the targets",
        evidence=term.evidence(trace),
        related=tuple(term.related()),
        step_first=term.backwards[0].step + 1,
        step_count=len(term.backwards),
        parameters=term.parameters,
    )


def _finding(trace: Trace, switch: GradSwitch, deprived: _Deprived) -> Finding:
    """A block around one part says on its face that the part is not to be trained; anything else is a slip."""
    parameters, backwards = sorted(deprived.parameters), deprived.backwards
    first = backwards[0]
    whole, slip = _is_whole(deprived), _is_slip(switch)
    who = trace.parameter_names(parameters) or "anything"
    return RULE.finding(
        f"{described(switch)} kept the graph from being built, so no gradient of the loss reaches {who}",
        subject=switch.function or (trace.parameter_name(parameters[0]) if parameters else first.root.name or "loss"),
        location=switch.location or first.location,
        help="let only evaluation run with gradients off, and the forward pass of training outside of it"
        if whole or slip
        else "let this part run with gradients on, or leave its parameters out of the optimizer if it is to stay fixed",
        severity=None if (whole or slip) and not trace.left_behind.keys() >= deprived.parameters else "warning",
        confidence="high" if whole and first.cuts else "medium",
        guessed=deprived.guessed,
        so_far=not lacks_graph(first) and may_be_undone(trace, [switch]),
        evidence={
            "switched_off_by": switch.kind,
            "parameters_without_gradient": [trace.parameter_name(parameter) for parameter in parameters[:20]],
            "number_of_parameters": len(parameters),
            "backwards": len(backwards),
        },
        related=(Related("this backward needs the graph", first.location),) if first.location else (),
        notes=(f"the backward failed: {first.error}",) if first.error else (),
        step_first=first.step + 1,
        step_count=len(backwards),
        parameters=parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.head = nn.Linear(6, 8), nn.Linear(8, 1)

        @torch.no_grad()  # <- AD201
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(torch.relu(self.encoder(x)))  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def bad_block() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x, labels = torch.randn(32, 6), torch.randint(0, 3, (32,))
    for _ in range(8):
        optimizer.zero_grad()
        with torch.inference_mode():  # <- AD201
            loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()


def bad_flag() -> None:
    import torch
    from torch import nn

    def run(model: nn.Module, x: torch.Tensor, y: torch.Tensor, phase: str) -> torch.Tensor:
        with torch.set_grad_enabled(phase == "training"):  # <- AD201
            return nn.functional.mse_loss(model(x), y)

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        loss = run(model, x, y, "train")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    average = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, held_out = torch.randn(32, 6), torch.randn(16, 6)
    for _ in range(8):
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update_parameters(model)
        model.eval()
        with torch.no_grad():
            nn.functional.mse_loss(model(held_out), held_out.sum(1, keepdim=True))
        model.train()


def good_frozen_features() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone, head = nn.Sequential(nn.Linear(6, 16), nn.ReLU()).eval(), nn.Linear(16, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True).tanh()
    for _ in range(8):
        with torch.no_grad():
            features = backbone(x)
        loss = nn.functional.mse_loss(head(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_pseudo_labels() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(32, 6)
    for _ in range(8):
        with torch.no_grad():
            wanted = (2 * model(x)).softmax(dim=1)
        loss = nn.functional.cross_entropy(model(x + 0.1 * torch.randn_like(x)), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD201",
    name="no-grad-in-training",
    severity="error",
    title="the forward pass of training ran with gradients off",
    observes="Parameters of an optimizer whose values reach the loss through operations that ran under `no_grad`, "
    "`inference_mode` or `set_grad_enabled(False)`, and that no backward of the run reaches.",
    why=(
        "Autograd records nothing that is computed this way, so `backward` fails, or the parameters behind it "
        "silently stay the same."
    ),
    fix="Move the switch so that it covers evaluation only. For a part that is to stay fixed, give the optimizer only "
    "the parameters that learn.",
    fine="Evaluation, target and teacher networks, pseudo labels, rollouts, moving averages and features from "
    "parts that no optimizer holds. A block around one part, "
    "beside others that learn, is a warning; a switch that a condition may leave on later is one severity lower until "
    "the program has ended.",
    needs=(BackwardRan, ForwardRan, GradModeLeftOff, LossExamined, OptimizerBuilt, OptimizerStepped, RunEnded),
    examine=examine,
    bad=(bad, bad_block, bad_flag),
    good=(good, good_frozen_features, good_pseudo_labels),
    folds=("AD203", "AD103", "AD104", "AD111", "AD506", "AD599", "AD116", "AD216", "AD217"),
    tunables={
        "backwards": Tunable(
            2, "fewest backwards whose loss has a term from before, beside a forward that had a graph", MORE_THAN_ONCE
        )
    },
    references=("https://docs.pytorch.org/docs/stable/notes/autograd.html",),
)
