"""AD126 evaluation-changes-model: `eval()` writes to a model what `train()` does not take back."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.cycle import EvaluationChangedModel
from autograd_doctor.findings import Finding, Severity
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import elsewhere


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(EvaluationChangedModel):
        if event.alike or (event.trained and not trace.frozen.issuperset(event.parameters)):
            yield _finding(trace, event)


def _severity(event: EvaluationChangedModel) -> Severity:
    """What is another model to evaluations, too, may be meant to be: weights that are pruned, averaged or exchanged
    between rounds."""
    if not event.alike:
        return "info"
    return "error" if event.again else "warning"


def _finding(trace: Trace, event: EvaluationChangedModel) -> Finding:
    """What changes with each evaluation, and is no other model to an evaluation, was to be taken back."""
    name = trace.module_name(event.module)
    names = [f"{name}.{path}" for path in event.tensors]
    shown = ", ".join(f"`{each}`" for each in names[:3])
    shown += f" and {len(names) - 3} more" if len(names) > 3 else ""
    location = event.back_at or event.written_at or event.evaluated_at
    grows = ", and each further evaluation changes it again" if event.again else ""
    return RULE.finding(
        f"after `eval()` and `train()`, `{name}` computes something else in training: for the same input its output "
        f"differs by {event.change:.2g} of its largest value{grows}; {shown} "
        f"{'is' if len(names) == 1 else 'are'} not what the last step left, after {event.times} of {event.returns} "
        "evaluations",
        subject=names[0],
        location=location,
        severity=_severity(event),
        confidence="high" if event.alike else "medium",
        help=_help(event),
        evidence={
            "output_differs_by": event.change,
            "tensors": names[:20],
            "number_of_tensors": len(names),
            "evaluations": event.returns,
            "changed_by": event.times,
            "same_function_in_evaluation": event.alike,
            "changes_again": event.again,
        },
        related=(
            *elsewhere("this line writes to it", event.written_at, location),
            *elsewhere("the model is put into evaluation mode here", event.evaluated_at, location, event.written_at),
        ),
        step_first=event.since,
        parameters=event.parameters,
    )


def _help(event: EvaluationChangedModel) -> str:
    if event.alike:
        return (
            "take out again in `train()` what `eval()` has merged in (`weight -= delta`, with the same delta), or keep "
            "the weights before `eval()` changes them and put them back; or merge into a copy of the model"
        )
    return (
        "keep the weights before `eval()` changes them, and put them back in `train()`; or evaluate a changed copy "
        "of the model"
    )


def bad() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            self.base = nn.Linear(inputs, outputs).requires_grad_(False)
            self.down = nn.Parameter(torch.randn(2, inputs) / inputs**0.5)
            self.up = nn.Parameter(torch.zeros(outputs, 2))
            self.merged = False

        def train(self, mode: bool = True) -> Any:
            super().train(mode)
            if mode and self.merged:
                self.merged = False  # <- AD126
            elif not mode and not self.merged:
                self.base.weight.data += (self.up @ self.down).detach()
                self.merged = True
            return self

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.base(x)
            return out if self.merged else out + x @ self.down.T @ self.up.T

    torch.manual_seed(0)
    model = nn.Sequential(Adapted(8, 32), nn.Tanh(), Adapted(32, 1))
    optimizer = torch.optim.Adam([each for each in model.parameters() if each.requires_grad], lr=0.01)
    held_out = torch.randn(64, 8)
    for step in range(24):
        x = torch.randn(64, 8)
        loss = nn.functional.mse_loss(model(x), x[:, :1] * x[:, 1:2])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 6 == 5:
            model.eval()
            with torch.no_grad():
                model(held_out)
            model.train()


def bad_rounded_weights() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Rounded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))

        def eval(self) -> Any:
            with torch.no_grad():
                for weight in self.net.parameters():
                    scale = weight.abs().max() / 7
                    weight.copy_((weight / scale).round() * scale)  # <- AD126
            return super().eval()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.net(x)
            return out

    torch.manual_seed(0)
    model = Rounded()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    held_out = torch.randn(64, 4)
    for step in range(24):
        x = torch.randn(64, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 6 == 5:
            model.eval()
            with torch.no_grad():
                model(held_out)
            model.train()


def good() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            self.base = nn.Linear(inputs, outputs).requires_grad_(False)
            self.down = nn.Parameter(torch.randn(2, inputs) / inputs**0.5)
            self.up = nn.Parameter(torch.zeros(outputs, 2))
            self.merged = False

        def train(self, mode: bool = True) -> Any:
            super().train(mode)
            if mode == self.merged:
                self.base.weight.data += (-1 if mode else 1) * (self.up @ self.down).detach()
                self.merged = not mode
            return self

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.base(x)
            return out if self.merged else out + x @ self.down.T @ self.up.T

    torch.manual_seed(0)
    model = nn.Sequential(Adapted(8, 32), nn.Tanh(), Adapted(32, 1))
    optimizer = torch.optim.Adam([each for each in model.parameters() if each.requires_grad], lr=0.01)
    held_out = torch.randn(64, 8)
    for step in range(24):
        x = torch.randn(64, 8)
        loss = nn.functional.mse_loss(model(x), x[:, :1] * x[:, 1:2])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 6 == 5:
            model.eval()
            with torch.no_grad():
                model(held_out)
            model.train()


def good_merged_for_good_and_begun_anew() -> None:
    """Each evaluation merges what was learned, and the adapter begins at zero again."""
    from typing import Any

    import torch
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            self.base = nn.Linear(inputs, outputs).requires_grad_(False)
            self.down = nn.Parameter(torch.randn(2, inputs) / inputs**0.5)
            self.up = nn.Parameter(torch.zeros(outputs, 2))

        def eval(self) -> Any:
            with torch.no_grad():
                self.base.weight += self.up @ self.down
                self.up.zero_()
            return super().eval()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.base(x) + x @ self.down.T @ self.up.T
            return out

    torch.manual_seed(0)
    model = Adapted(8, 1)
    optimizer = torch.optim.Adam([each for each in model.parameters() if each.requires_grad], lr=0.01)
    held_out = torch.randn(64, 8)
    for step in range(24):
        x = torch.randn(64, 8)
        loss = nn.functional.mse_loss(model(x), x[:, :1] - x[:, 1:2])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 6 == 5:
            model.eval()
            with torch.no_grad():
                model(held_out)
            model.train()


RULE = Rule(
    code="AD126",
    name="evaluation-changes-model",
    severity="error",
    title="`eval()` and then `train()` leave a model that computes something else",
    observes=(
        "Copies of modules for which the program says itself what `train()` or `eval()` does: what they compute in "
        "training mode for the newest input, before they are put into evaluation mode and after they have come back. "
        "And whether evaluations leave the module itself so, and steps follow."
    ),
    why=(
        "An adapter that is merged into the weights for an evaluation and not taken out again counts twice in "
        "training, and once more with each evaluation; weights that are rounded, fused or exchanged for an evaluation "
        "take the place of those that were trained. What is trained then depends on how often it is evaluated, and "
        "evaluations themselves look right."
    ),
    fix=(
        "Take back in `train()` what `eval()` has done: subtract the same delta, or put back weights that were kept. "
        "Or evaluate a copy."
    ),
    fine=(
        "Merging after which the adapter begins at zero, or which is taken out again, also by the loop; changes that "
        "training computes nothing from; norms that an override keeps in evaluation mode; conversions after which "
        "nothing is trained, or a new optimizer is built; buffers and counters that each evaluation moves on, where "
        "evaluations then compute something else as well. Only a warning where a second evaluation changes nothing "
        "more, and an `info` where evaluations compute something else, too: weights may be meant to be rounded, pruned "
        "or averaged between rounds."
    ),
    needs=(EvaluationChangedModel,),
    folds=("AD121",),
    examine=examine,
    bad=(bad, bad_rounded_weights),
    good=(good, good_merged_for_good_and_begun_anew),
    about="model",
    references=("https://arxiv.org/abs/2106.09685", "https://arxiv.org/abs/2101.03697"),
)
