"""AD804 no-grad-where-inference-mode: evaluation would be faster under `inference_mode`."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.efficiency import EvaluationTried, IterationTimed
from autograd_doctor.findings import Finding
from autograd_doctor.profiling import Measured
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.iterations import share_of_evaluation
from autograd_doctor.wording import plural


def bad() -> None:
    """An evaluation of many small steps, of which autograd keeps count although it records none of them."""
    import torch
    from torch import nn

    class Turning(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(len(x)):
                x = x.view(-1, 4).t().t()
            return self.head(x)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Turning()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    held_out = torch.randn(1000, 4)
    for step in range(40):
        inputs = torch.randn(4, 4)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True)).backward()
        optimizer.step()
        if step % 4 == 2:
            model.eval()
            with torch.no_grad():  # <- AD804
                nn.functional.mse_loss(model(held_out), held_out.sum(1, keepdim=True)).item()
            model.train()


def good() -> None:
    """The same under `inference_mode`."""
    import torch
    from torch import nn

    class Turning(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(len(x)):
                x = x.view(-1, 4).t().t()
            return self.head(x)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Turning()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    held_out = torch.randn(3000, 4)
    for step in range(40):
        inputs = torch.randn(4, 4)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True)).backward()
        optimizer.step()
        if step % 8 == 4:
            model.eval()
            with torch.inference_mode():
                nn.functional.mse_loss(model(held_out), held_out.sum(1, keepdim=True)).item()
            model.train()


def good_used_in_training() -> None:
    """What evaluation computes is trained on later, where autograd would refuse to save it."""
    import torch
    from torch import nn

    class Turning(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(len(x)):
                x = x.view(-1, 4).t().t()
            return self.head(x)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    encoder, head = Turning(), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.01)
    samples = torch.randn(3000, 4)
    for step in range(40):
        if step % 8 == 0:
            encoder.eval()
            with torch.no_grad():
                features = encoder(samples)
            encoder.train()
        inputs = torch.randn(4, 4)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(head(encoder(inputs)), inputs.sum(1, keepdim=True))
        (loss + nn.functional.mse_loss(head(features), samples.sum(1, keepdim=True))).backward()
        optimizer.step()


def good_made_once() -> None:
    """The matrix is made by the first who asks for it, which is an evaluation, and is used in training as well."""
    import functools

    import torch
    from torch import nn

    @functools.cache
    def scales() -> torch.Tensor:
        return torch.linspace(0.5, 1.5, 4)

    class Turning(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(len(x)):
                x = x.view(-1, 4).t().t()
            return self.head(x * scales())  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Turning()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    held_out = torch.randn(3000, 4)
    for step in range(40):
        if step % 8 == 0:
            model.eval()
            with torch.no_grad():
                nn.functional.mse_loss(model(held_out), held_out.sum(1, keepdim=True)).item()
            model.train()
        inputs = torch.randn(4, 4, requires_grad=True)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True)).backward()
        optimizer.step()


def good_large_operations() -> None:
    """A few large operations take as long either way."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 256), nn.ReLU(), nn.Linear(256, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    held_out = torch.randn(4000, 8)
    for step in range(40):
        inputs = torch.randn(16, 8)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True)).backward()
        optimizer.step()
        if step % 8 == 4:
            model.eval()
            with torch.no_grad():
                nn.functional.mse_loss(model(held_out), held_out.sum(1, keepdim=True)).item()
            model.train()


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for tried in trace.of(EvaluationTried):
        is_safe = tried.followed and not tried.by and not tried.differs[1]
        if tried.gradients or not is_safe:
            continue
        share = share_of_evaluation(trace, tried)
        if share * (1 - Measured.ratio(*tried.inference).high) >= tunables["saving"]:
            yield _finding(tried, share)


def _finding(tried: EvaluationTried, share: float) -> Finding:
    before, after = map(Measured.of, tried.inference)
    ratio = Measured.ratio(*tried.inference)
    return RULE.finding(
        f"under `inference_mode`, evaluating `{tried.module}` would take {1 - ratio.median:.0%} less time than under "
        f"`no_grad`: {1e3 * after.median:.3g} instead of {1e3 * before.median:.3g} ms a forward",
        subject=tried.module,
        location=tried.location,
        help=_help(tried),
        evidence={
            "seconds_under_no_grad": before.median,
            "seconds_under_inference_mode": after.median,
            "ratio_low": ratio.low,
            "ratio_high": ratio.high,
            "share_of_the_time": share,
            "passes": tried.passes,
            "passes_followed": tried.followed,
        },
        notes=(
            f"{tried.within} such passes in {plural(tried.iterations, 'iteration')} take {share:.0%} of their time",
            f"measured in {len(tried.inference[0])} pairs of runs of a copy; results were the same to the last bit",
            f"autograd had to do with nothing that was made there in {tried.followed} of {tried.passes} passes, which "
            "were followed",
        ),
        step_first=tried.step,
        step_count=1,
    )


def _help(tried: EvaluationTried) -> str:
    """What `set_grad_enabled` is given may be another thing in training, which has to stay as it is."""
    if tried.kind == "set_grad_enabled" and tried.form != "call":
        return (
            "use `torch.inference_mode(mode)` in its place, where `mode` is the opposite of what `set_grad_enabled` is "
            "given: with False, gradients are on"
        )
    return "put the evaluation under `torch.inference_mode()`, and nothing that training uses later"


RULE = Rule(
    code="AD804",
    name="no-grad-where-inference-mode",
    severity="info",
    title="evaluation would be faster under `inference_mode`",
    observes="`doctor profile` runs a copy of the module that is evaluated under `no_grad` and under `inference_mode`, "
    "in turn, with the same inputs. The rule speaks where that saves a share of all the time, beyond the noise, and "
    "where nothing that was made while gradients were off came near autograd afterwards, or was written to: outputs, "
    "and all that other operations made in the block. Not known counts as yes.",
    why="Under `no_grad`, tensors still count their changes and views know what they are views of, in case autograd "
    "meets them later. Under `inference_mode` they do not, so that many small operations take less time.",
    fix="Replace `torch.no_grad()` around the evaluation by `torch.inference_mode()`, and "
    '`torch.set_grad_enabled(phase == "train")` by `torch.inference_mode(phase != "train")`. What is made in there '
    "cannot be used in training later, as samples and tables that are made at their first use; clone it after the "
    "block, if it must be.",
    fine="What the evaluation makes is to be used in training one day.",
    needs=(EvaluationTried, IterationTimed),
    bad=(bad,),
    good=(good, good_used_in_training, good_made_once, good_large_operations),
    tunables={
        "saving": Tunable(
            0.05,
            "the least share of all the time that is saved",
            "measured: runs of one program on one machine differ by 2 to 4 %",
        ),
    },
    references=("https://docs.pytorch.org/docs/stable/notes/autograd.html#inference-mode",),
    examine=examine,
)
