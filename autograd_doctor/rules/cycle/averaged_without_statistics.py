"""AD120 averaged-without-statistics: an average of weights is evaluated with the statistics of the last weights."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.cycle import AverageEvaluated
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside
from autograd_doctor.views.so_far import has_ended
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    """Of programs that came to their end: what was stopped may have gathered the statistics afterwards."""
    if not has_ended(trace):
        return
    for event in trace.of(AverageEvaluated):
        if event.averaged >= tunables["models"]:
            yield _finding(trace, event)


def _finding(trace: Trace, event: AverageEvaluated) -> Finding:
    name = trace.module_name(event.module)
    shown = ", ".join(f"`{norm}`" for norm in event.norms[:3])
    more = f" and {len(event.norms) - 3} more" if len(event.norms) > 3 else ""
    made_of = plural(event.averaged, "model") + (" or more" if event.by_hand else "")
    return RULE.finding(
        f"`{name}` is the average of {made_of} and is evaluated here, but {shown}{more} "
        "normalise with the running statistics of the last of these: no batch ever ran through the average in training "
        "mode",
        subject=name,
        location=event.location,
        confidence="medium",
        help=f"gather statistics before the evaluation: `torch.optim.swa_utils.update_bn(train_loader, {name})`",
        evidence={"models": event.averaged, "normalisations": event.norms[:20]},
        related=beside(event.location, ("called from here", event.called_from)),
        step_first=event.step + 1,
    )


def bad() -> None:
    import torch
    from torch import nn
    from torch.optim.swa_utils import AveragedModel

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    average = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(12):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step >= 8:
            average.update_parameters(model)
    average.eval()
    with torch.no_grad():
        average(torch.randn(64, 6))  # <- AD120


def good() -> None:
    import torch
    from torch import nn
    from torch.optim.swa_utils import AveragedModel, update_bn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    average = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batches = [torch.randn(32, 6) for _ in range(12)]
    for step, x in enumerate(batches):
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step >= 8:
            average.update_parameters(model)
    update_bn(batches, average)
    average.eval()
    with torch.no_grad():
        average(torch.randn(64, 6))


def good_moving_average() -> None:
    import torch
    from torch import nn
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    moving = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    plain = AveragedModel(nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        moving.update_parameters(model)
        plain.update_parameters(plain.module)
    moving.eval()
    plain.eval()
    with torch.no_grad():
        moving(torch.randn(64, 6))
        plain(torch.randn(64, 6))


RULE = Rule(
    code="AD120",
    name="averaged-without-statistics",
    severity="warning",
    title="averaged weights are evaluated with the batch-norm statistics of the last model",
    observes="Calls of `torch.optim.swa_utils.AveragedModel` in eval mode, where it averages equally, leaves buffers "
    "out, and holds batch-norms; and whether it, or the model that it wraps, was ever called in training mode. And "
    "calls of a model that is not trained, whose weights are, to the bit, what the program has averaged by itself, as "
    "a running mean of models that are steps apart, and whose running means are those of a trained one.",
    why="The averaged weights produce other activations than the last model, but its statistics normalise them: the "
    "average can be worse than any of the models in it.",
    fix="Run the training data through it once, with `update_bn`, before it is evaluated or saved.",
    fine="Averages that gathered statistics, or into which those were averaged, too; moving averages, also while they "
    "begin as a mean of all steps; and models without batch-norm.",
    needs=(AverageEvaluated, ModuleSeen, RunEnded),
    examine=examine,
    bad=(bad,),
    good=(good, good_moving_average),
    tunables={
        "models": Tunable(
            2, "fewest models that an average is made of", "arithmetic: the average of one model is that model"
        )
    },
    about="loop",
    references=("https://docs.pytorch.org/docs/stable/optim.html#taking-care-of-batch-normalization",),
)
