"""AD721 evaluation-off-scale: a model is evaluated on numbers of another scale than those that it was trained on."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import EvaluationOffScale, ScaledAgain
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    told: set[object] = set()
    for event in trace.of(EvaluationOffScale):
        scaled = event.scaled if event.scaled is not None and event.scaled.calls >= tunables["calls"] else None
        if event.batches < tunables["batches"] or (event.module, event.location) in told:
            continue
        if scaled is not None or event.times >= tunables["times"]:
            told.add((event.module, event.location))
            yield _finding(trace, event) if scaled is None else _scaled_again(trace, event, scaled)


def _scaled_again(trace: Trace, event: EvaluationOffScale, scaled: ScaledAgain) -> Finding:
    name = trace.module_name(event.module)
    what = f"`{event.name}`" if event.name else "what it is given"
    (low, high), (now_low, now_high), (before_low, before_high) = scaled.whole, scaled.most, scaled.before
    return RULE.finding(
        f"`{name}` is evaluated here on numbers that were scaled twice, as those that it was trained on were once: "
        f"most of {what} lies between {now_low:.3g} and {now_high:.3g}, all of training between {low:.3g} and "
        f"{high:.3g}; scaled once, most of it lay between {before_low:.3g} and {before_high:.3g}",
        subject=name,
        location=event.location,
        confidence="medium",
        help="scale data for evaluation as often as those for training: these come scaled already",
        evidence={
            "low": now_low,
            "high": now_high,
            "low_in_training": low,
            "high_in_training": high,
            "low_before": before_low,
            "high_before": before_high,
            "calls": scaled.calls,
            "batches": event.batches,
        },
        related=(Related("they are scaled once more here", scaled.location),)
        if scaled.location not in (None, event.location)
        else (),
        step_first=event.step + 1,
    )


def _finding(trace: Trace, event: EvaluationOffScale) -> Finding:
    name = trace.module_name(event.module)
    what = f"`{event.name}`" if event.name else "what it is given"
    (trained, trained_largest), (evaluated, evaluated_largest) = event.trained, event.evaluated
    less = "far above all" if event.above else "far below nearly all"
    return RULE.finding(
        f"`{name}` is evaluated here on numbers {less} that it was trained on: of absolute values, the median of "
        f"{what} is {evaluated:.3g} and the largest {evaluated_largest:.3g}, while in training they were {trained:.3g} "
        f"and {trained_largest:.3g}",
        subject=name,
        location=event.location,
        severity="info" if event.drawn_alike else None,
        confidence="low" if event.drawn_alike else "medium",
        notes=(
            "both are drawn by the same lines, which are asked for other numbers here: if the question is how far the "
            "model goes on beyond what it has seen, it is right",
        )
        if event.drawn_alike
        else (),
        help="prepare data for evaluation as those for training: divide by the same number, or scale by the same mean "
        "and deviation",
        evidence={
            "median": evaluated,
            "largest": evaluated_largest,
            "median_in_training": trained,
            "largest_in_training": trained_largest,
            "times": round(event.times, 1),
            "calls": event.calls,
            "batches": event.batches,
        },
        step_first=event.step + 1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    raw, held_out = 40 + 12 * torch.randn(200, 6), 40 + 12 * torch.randn(80, 6)
    inputs = (raw - raw.mean(0)) / raw.std(0)
    for _ in range(3):
        model.train()
        for rows in torch.randperm(200).split(20):
            loss = nn.functional.mse_loss(model(inputs[rows]), inputs[rows].sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            model(held_out).mean().item()  # <- AD721


def bad_raw_time() -> None:
    import torch
    from torch import nn

    class Denoiser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 2))

        def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
            noise: torch.Tensor = self.layers(torch.cat([x, t[:, None]], dim=1))
            return noise

    torch.manual_seed(0)
    model, steps = Denoiser(), 100
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(25):
        x, noise, t = torch.randn(64, 2), torch.randn(64, 2), torch.randint(steps, (64,))
        kept = 1 - t / steps
        noisy = kept[:, None] * x + (1 - kept)[:, None] * noise
        loss = nn.functional.mse_loss(model(noisy, t / steps), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        x = torch.randn(16, 2)
        for step in reversed(range(steps)):
            x = x - 0.01 * model(x, torch.full((16,), float(step)))  # <- AD721


def bad_scaled_twice() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    pictures, labels = torch.randint(256, (90, 1, 8, 8)).float() / 255, torch.randint(3, (90,))
    for _ in range(3):
        for rows in torch.randperm(60).split(10):
            loss = nn.functional.cross_entropy(model(pictures[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            model(pictures[60:] / 255).argmax(1)  # <- AD721
        model.train()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    raw, held_out = 40 + 12 * torch.randn(200, 6), 40 + 12 * torch.randn(80, 6)
    mean, deviation = raw.mean(0), raw.std(0)
    inputs = (raw - mean) / deviation
    for _ in range(3):
        model.train()
        for rows in torch.randperm(200).split(20):
            loss = nn.functional.mse_loss(model(inputs[rows]), inputs[rows].sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            model((held_out - mean) / deviation).mean().item()


def good_further_than_seen() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(30):
        x = 4 * torch.rand(40, 1) - 2
        loss = nn.functional.mse_loss(model(x), torch.sin(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        model(torch.linspace(-10, 10, 200)[:, None]).std().item()
        model(torch.zeros(1, 1)).item()


def good_goes_on_from_what_it_said() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(25):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), 1.5 * x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        state = torch.randn(8, 4)
        for _ in range(30):
            state = 2 * state + model(state)


RULE = Rule(
    code="AD721",
    name="evaluation-off-scale",
    severity="warning",
    title="the data of an evaluation are of another scale than those of training",
    observes="The absolute values of each floating point tensor that a module is given, column by column where it is a "
    "table: all that a line evaluates it on has medians ten times as large as the largest values of training, or the "
    "largest values of the evaluation are less than a tenth of the medians of training, in a quarter of the columns. "
    "And the lines by which both were made. Or that the data of an evaluation go twice through arithmetic with "
    "constants that those of training go through once: a quarter of the numbers is then beyond all of training, or "
    "three quarters beyond nearly all of it, and nearly none was in between.",
    why="A model says nothing useful about numbers that are far from all that it has learned from, as are those that "
    "were not divided or standardised like the data of training, or were twice.",
    fix="Put what prepares the data into one place that training and evaluation share.",
    fine="Evaluations that go some way beyond the range of training, columns of zeros, whole numbers, what a model is "
    "given of its own results, and a cohort that is unlike the others, where each in its turn is evaluated here. Where "
    "the lines that draw the data of training are asked for larger or smaller numbers, these are prepared as those "
    "are, and the model may be meant to be tried beyond them: an `info`.",
    needs=(EvaluationOffScale, ModuleSeen),
    needs_phases=("training", "evaluation"),
    examine=examine,
    bad=(bad, bad_raw_time, bad_scaled_twice),
    good=(good, good_further_than_seen, good_goes_on_from_what_it_said),
    tunables={
        "times": Tunable(
            10,
            "factor between the scales",
            "chosen: augmentations change a scale by less, a forgotten division by 255 by more",
        ),
        "batches": Tunable(4, "fewest batches of training", "chosen: fewer may be odd ones"),
        "calls": Tunable(2, "fewest calls of the evaluation on data that were scaled twice", MORE_THAN_ONCE),
    },
    about="data",
    references=("https://scikit-learn.org/stable/common_pitfalls.html#inconsistent-preprocessing",),
)
