"""AD614 output-range-excludes-target: the last activation cannot give the values that it is to predict."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from autograd_doctor.events.losses import LossComputed
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.operations import STATES
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import (
    CONFINING,
    SOFTMAXES,
    SQUARED,
    elsewhere,
    faulty_losses,
    named,
    sum_to_one,
)
from autograd_doctor.wording import value_range


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    def where(event: LossComputed) -> bool:
        return _is_excluded(event, tunables["share"], tunables["beyond"])

    for events in faulty_losses(trace, *SQUARED, where=where, blamed=lambda event: event.prediction.shaping):
        yield _finding(events, noise=_is_noise(events, tunables["mirrored"], tunables["reach"]))

    def shares(event: LossComputed) -> bool:
        return _has_too_much_to_share(event, tunables["sum"])

    for events in faulty_losses(
        trace, "binary_cross_entropy", *SQUARED, where=shares, blamed=lambda event: event.prediction.shaping
    ):
        yield _shared(events)


def _has_too_much_to_share(event: LossComputed, most: float) -> bool:
    """Whether there are targets that sum to more than one where a softmax made the predictions sum to one."""
    shaping, target = event.prediction.shaping, event.target
    if shaping is None or shaping.operation not in SOFTMAXES or not shaping.dim or event.target_of_parameters:
        return False
    same_shape = shaping.shape == event.prediction.facts.shape == target.facts.shape
    if not same_shape or shaping.shape[shaping.dim] < 2 or (target.facts.low or 0.0) < 0:
        return False
    if not sum_to_one(event.prediction.sums_over_softmax):  # its axes were moved since
        return False
    return bool(target.sums_over_softmax) and target.sums_over_softmax[1] > most


def _is_excluded(event: LossComputed, share: float, beyond: float) -> bool:
    """Whether a good part of the targets cannot be reached, and some of them by far."""
    shaping, target = event.prediction.shaping, event.target
    low, high = target.facts.low, target.facts.high
    if shaping is None or low is None or high is None or event.target_of_parameters or not event.whole:
        return False
    if shaping.operation not in CONFINING | SOFTMAXES or target.outside < share:
        return False
    floor, ceiling = shaping.low, shaping.high
    width = ceiling - floor if floor is not None and ceiling is not None else high - low
    under = floor is not None and low < floor - beyond * width
    return under or (ceiling is not None and high > ceiling + beyond * width)


def _is_noise(events: list[LossComputed], mirrored: float, reach: float) -> bool:
    """Whether what cannot be reached lies about the limit as noise does: as much on its other side, others far off.

    On the whole: a batch alone has few values near the limit.
    """
    targets = [event.target for event in events]
    return fmean(each.mirrored for each in targets) >= mirrored and fmean(each.reach for each in targets) >= reach


def _finding(events: list[LossComputed], *, noise: bool) -> Finding:
    first = events[0]
    shaping, target = first.prediction.shaping, first.target
    assert shaping is not None
    place = shaping.location or first.location
    floor = f"{shaping.low:g}" if shaping.low is not None else "minus infinity"
    ceiling = f"{shaping.high:g}" if shaping.high is not None else "infinity"
    return RULE.finding(
        f"{named(first.prediction, 'the prediction')} came out of `{shaping.operation}`, which gives values from "
        f"{floor} to {ceiling}, and {target.outside:.0%} of the targets lie outside: they range from "
        f"{value_range(target.facts)}",
        subject=first.prediction.facts.name,
        location=place,
        severity="info" if noise else None,
        confidence="low" if noise else "high",
        notes=("about as many lie as near on the other side: if it is noise about the limit, it is right",)
        if noise
        else (),
        help="put a linear layer behind it, or scale the targets to the range that it gives"
        if shaping.operation in STATES
        else "leave out the last activation, or scale the targets to the range that it gives",
        evidence={
            "activation": shaping.operation,
            "target_low": target.facts.low or 0.0,
            "target_high": target.facts.high or 0.0,
            "share_outside": target.outside,
            "losses": len(events),
        },
        related=elsewhere("this loss compares the two", first.location, place),
        step_first=first.step + 1,
        step_count=len(events),
    )


def _shared(events: list[LossComputed]) -> Finding:
    first = events[0]
    shaping, sums = first.prediction.shaping, first.target.sums_over_softmax
    assert shaping is not None
    place = shaping.location or first.location
    return RULE.finding(
        f"{named(first.prediction, 'the prediction')} came out of `{shaping.operation}` over dimension {shaping.dim}, "
        f"along which it sums to 1, and the targets sum to up to {sums[1]:g} there: not all of them can be reached",
        subject=first.prediction.facts.name,
        location=place,
        help="where several labels may hold at once, give each its own `sigmoid`, or leave the activation to "
        "`BCEWithLogitsLoss`; where only one may, make the targets sum to 1",
        evidence={"activation": shaping.operation, "smallest_sum": sums[0], "largest_sum": sums[1]},
        related=elsewhere("this loss compares the two", first.location, place),
        step_first=first.step + 1,
        step_count=len(events),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(6, 16), nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        hidden = torch.relu(body(x))
        price = torch.sigmoid(head(hidden))  # <- AD614
        target = 20 + 5 * x[:, :1]
        loss = nn.functional.mse_loss(price, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_rectified() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3), nn.ReLU())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        rebuilt = model(x)  # <- AD614
        loss = nn.functional.smooth_l1_loss(rebuilt, x[:, :3])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_labels_that_hold_together() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        labels = (x[:, :5] > 0.3).float()
        chances = torch.softmax(model(x), dim=1)  # <- AD614
        loss = nn.functional.binary_cross_entropy(chances, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2), nn.Tanh())
    decoder = nn.Sequential(nn.Linear(6, 4), nn.Sigmoid())
    optimizer = torch.optim.Adam([*actor.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        steering = 2 * actor(x)
        pixels = torch.rand(32, 4) + 0.01 * torch.randn(32, 4)
        loss = nn.functional.mse_loss(steering, 2 * x[:, :2].clamp(-1, 1))
        loss = loss + nn.functional.mse_loss(decoder(x), pixels)
        loss = loss + nn.functional.l1_loss(actor(x), x[:, :2].clamp(-1, 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_one_label_or_shares() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        one = nn.functional.one_hot(x[:, :5].argmax(1), 5).float()
        several = (x[:, :5] > 0.3).float()
        chances = torch.softmax(model(x), dim=1)
        loss = nn.functional.binary_cross_entropy(chances, one) + nn.functional.mse_loss(chances, one * 0.9 + 0.02)
        loss = loss - (several * chances.log()).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD614",
    name="output-range-excludes-target",
    severity="warning",
    title="the last activation cannot give the values of the targets",
    observes="The prediction of a loss by value came straight out of a sigmoid, tanh, ReLU, softmax, clamp or the "
    "like, or is the state of a recurrent layer, and a good part of the targets lies beyond the range of that, in "
    "every call that was looked at; or it came out of a softmax, and targets sum to more than 1 where it sums to 1.",
    why="What cannot be reached is approached until the activation saturates: the output sticks to its limit, its "
    "gradient goes to zero, and the loss keeps what is left of the distance.",
    fix="End with a linear layer, or scale the targets into the range of the activation and the output back.",
    fine="Targets that the model itself gave, such as actions that were drawn, activations that are scaled or shifted "
    "behind, and targets a little beyond, as noise puts them. Where as many lie as near on the other side of the only "
    "limit, and others much further, it is an `info`: noise about quantities that are never negative.",
    needs=(BackwardRan, LossComputed),
    examine=examine,
    bad=(bad, bad_rectified, bad_labels_that_hold_together),
    good=(good, good_one_label_or_shares),
    tunables={
        "share": Tunable(
            0.05, "smallest share of targets that cannot be reached", "chosen: with less, they may be outliers"
        ),
        "beyond": Tunable(
            0.1,
            "how far out of reach the furthest target must be, relative to the range",
            "chosen: what is nearer is nearly reached",
        ),
        "mirrored": Tunable(
            0.7,
            "fewest targets near the limit that can be reached, for each that cannot, so that they may be noise",
            "arithmetic: 1 for noise about the limit, and 0.6 or less for skewed data that were standardised",
        ),
        "reach": Tunable(
            1.5,
            "how many times further off those that can be reached must be, so that the others may be noise",
            "arithmetic: 1 for data that are spread evenly about the limit",
        ),
        "sum": Tunable(
            1.5,
            "sum of the targets above which a softmax cannot give them",
            "arithmetic: labels that are smoothed or rounded sum to 1 and a little, two labels at once to 2",
        ),
    },
    folds=("AD407", "AD408", "AD409", "AD410", "AD412"),
    about="data",
)
