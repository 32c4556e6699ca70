"""AD720 evaluation-scaled-by-itself: samples of an evaluation were scaled by their own mean and deviation."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import ScaledByItself
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    told: set[int] = set()
    for event in trace.of(ScaledByItself):
        if event.samples >= tunables["samples"] and event.module not in told:
            told.add(event.module)
            yield _finding(trace, event)


def _finding(trace: Trace, event: ScaledByItself) -> Finding:
    name = trace.module_name(event.module)
    what = f"`{event.name}`" if event.name else "what it is given"
    where = f"in {event.fields} of its features" if event.fields > 1 else "in all of it"
    return RULE.finding(
        f"`{name}` is evaluated here on {plural(event.samples, 'sample')} that it was not trained on, and together "
        f"they have mean 0 and standard deviation 1 {where}, but for rounding ({event.mean:.0e}): {what} was scaled by "
        "the statistics of these very samples, not by those of the training data",
        subject=name,
        location=event.location,
        severity="info" if event.other_units else None,
        confidence="low" if event.other_units else "medium",
        notes=(
            "mean and deviation of the training data are nothing like those that were taken out of these: if they come "
            "from another source, as an instrument with units of its own, it is right",
        )
        if event.other_units
        else (),
        help="compute mean and deviation of the training data once, and scale all data by these: "
        "`scaler.fit_transform(train)`, then `scaler.transform(test)`",
        evidence={"samples": event.samples, "fields": event.fields, "mean": event.mean, "trained": event.trained},
        step_first=event.step + 1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return (x - x.mean(0)) / x.std(0)

    train, test = 3 + 2 * torch.randn(200, 4), 4 + 3 * torch.randn(80, 4)
    inputs, held_out = scaled(train), scaled(test)
    for _ in range(4):
        for rows in torch.randperm(200).split(50):
            loss = nn.functional.mse_loss(model(inputs[rows]), train[rows].sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            nn.functional.mse_loss(model(held_out), test.sum(1, keepdim=True))  # <- AD720
        model.train()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train, test = 3 + 2 * torch.randn(200, 4), 4 + 3 * torch.randn(80, 4)
    mean, deviation = train.mean(0), train.std(0)
    inputs, held_out = (train - mean) / deviation, (test - mean) / deviation
    for _ in range(4):
        for rows in torch.randperm(200).split(50):
            loss = nn.functional.mse_loss(model(inputs[rows]), train[rows].sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            nn.functional.mse_loss(model(inputs), train.sum(1, keepdim=True))
            nn.functional.mse_loss(model(held_out), test.sum(1, keepdim=True))
        model.train()


def good_each_batch_by_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train, test = torch.randn(200, 4), torch.randn(40, 4)

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return (x - x.mean(0)) / x.std(0)

    for _ in range(4):
        for x in train.split(40):
            loss = nn.functional.mse_loss(model(scaled(x)), scaled(x).square().sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            nn.functional.mse_loss(model(scaled(test)), scaled(test).square().sum(1, keepdim=True))
        model.train()


def good_each_row_by_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv1d(1, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def waves(count: int) -> torch.Tensor:
        raw = torch.sin(torch.rand(count, 1, 1) * torch.arange(16.0)) + 0.1 * torch.randn(count, 1, 16)
        return (raw - raw.mean(-1, keepdim=True)) / raw.std(-1, keepdim=True, unbiased=False)

    train, test = waves(60), waves(40)
    for _ in range(10):
        loss = nn.functional.mse_loss(model(train), train[:, 0, -1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            nn.functional.mse_loss(model(test), test[:, 0, -1:])
        model.train()


RULE = Rule(
    code="AD720",
    name="evaluation-scaled-by-itself",
    severity="warning",
    title="the data of an evaluation are scaled by their own statistics",
    observes="Mean and standard deviation of all that a model is given in an evaluation, channel by channel, feature "
    "by feature and altogether: they are 0 and 1 to the last digits, as are those of all that it is trained on, though "
    "no part of either is so, and they have no sample in common. And, where torch has computed it, by what both were "
    "scaled.",
    why="The same measurement means another number to the model than in training, so that what it has learned does not "
    "fit; and as the scale is that of the whole set, it is not known when a single sample is to be predicted.",
    fix="Keep mean and deviation of the training data, and scale all other data by them.",
    fine="Data scaled by the statistics of the training data, evaluations on training data, and inputs that are scaled "
    "batch by batch, sample by sample or series by series, in training as in evaluation. Where what was taken out of "
    "the two sets is so unlike that the scale of the one would not do for the other, they may come from sources with "
    "units of their own: an `info`.",
    needs=(ScaledByItself, ModuleSeen),
    needs_phases=("training", "evaluation"),
    examine=examine,
    bad=(bad,),
    good=(good, good_each_batch_by_itself, good_each_row_by_itself),
    tunables={
        "samples": Tunable(
            20,
            "fewest samples that were scaled together",
            "chosen: of fewer, mean and deviation are near 0 and 1 to some digits by chance",
        )
    },
    about="data",
    references=("https://scikit-learn.org/stable/common_pitfalls.html#inconsistent-preprocessing",),
)
