"""AD122 on metrics made by hand: what a schedule is given, and whether it goes the other way."""

from __future__ import annotations

from typing import Any

import pytest

from autograd_doctor.events.cycle import MetricFollowed
from autograd_doctor.events.event import Event
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.rules.cycle.plateau_reversed import RULE
from autograd_doctor.trace import Trace

FALLING = [2.0, 1.0, 0.5, 0.4, 0.3]
RATES = [0.1, 0.1, 0.01, 0.01, 0.001]
ROWS = [200] * 5


def followed(metrics: list[float], mode: str = "min", **told: Any) -> MetricFollowed:
    told = {"learning_rates": RATES, "losses": FALLING, "rows": ROWS, "equal": [[]] * len(metrics), **told}
    return MetricFollowed(scheduler=0, name="plateau", optimizer=0, location=None, mode=mode, metrics=metrics, **told)


RISING = [0.4, 0.7, 0.8, 0.9, 0.91]


def seen(shares: list[float]) -> list[list[tuple[int, int]]]:
    """As if a line had found so many of the samples of each evaluation equal."""
    return [[(round(share * 200), 200)] for share in shares]


@pytest.mark.parametrize(
    ("event", "confidence"),
    [
        (followed([0.4, 0.7, 0.8, 0.9, 0.91]), "medium"),
        (followed([40.0, 70.0, 80.5, 90.0, 91.5]), "medium"),
        (followed([0.6, 0.3, 0.2, 0.1, 0.09], "max"), "medium"),
        (followed(FALLING, "max"), "high"),
        (followed([0.4, 0.7, 0.8, 0.9, 0.91], "max"), ""),
        (followed([0.4131, 0.7772, 0.8001, 0.9119, 0.9131]), ""),
        (followed([0.4, 0.7, 0.3, 0.9, 0.91]), ""),
        (followed([0.4, 0.41, 0.42, 0.43, 0.44]), ""),
        (followed([0.4, 0.7, 0.8, 0.9, 0.91], learning_rates=[0.1] * 5), ""),
        (followed([0.4, 0.7, 0.8, 0.9, 0.91], losses=FALLING[::-1]), ""),
        (followed([0.4, 0.7, 0.8, 0.9, 0.91], rows=[0] * 5), ""),
        (followed([2.1, 2.7, 3.1, 3.5, 3.6]), ""),
        (followed([4.0, 1.0, 0.5, 0.4, 0.3], "max"), ""),
    ],
    ids=[
        "share",
        "percentage",
        "mistakes in mode max",
        "the loss in mode max",
        "the right mode",
        "no share",
        "up and down",
        "hardly",
        "never lowered",
        "nothing learned",
        "nothing evaluated",
        "a loss of validation",
        "another loss in mode max",
    ],
)
def test_metrics_that_get_better_the_other_way(event: MetricFollowed, confidence: str) -> None:
    found = [finding.confidence for finding in RULE.examine(Trace((event,)), RULE.defaults)]
    assert found == ([confidence] if confidence else [])


@pytest.mark.parametrize(
    ("event", "severity"),
    [
        (followed(RISING), "info"),
        (followed(RISING, equal=seen(RISING)), "warning"),
        (followed(RISING, equal=seen([1 - share for share in RISING])), None),
        (followed(RISING[::-1], "max", equal=seen(RISING[::-1])), None),
        (followed(RISING[::-1], "max", equal=seen([1 - share for share in RISING[::-1]])), "warning"),
        (followed(RISING, equal=[[(100, 200)]] * 5), "info"),
    ],
    ids=["not seen", "hits", "mistakes", "hits in mode max", "mistakes in mode max", "something else"],
)
def test_a_share_means_what_was_counted(event: MetricFollowed, severity: str | None) -> None:
    found = [finding.severity for finding in RULE.examine(Trace((event,)), RULE.defaults)]
    assert found == ([severity] if severity else [])


def test_losses_that_were_not_all_read_tell_nothing_of_the_metric() -> None:
    losses = [*FALLING, None, 0.25]
    event = followed([*FALLING, 0.27, 0.25], "max", losses=losses, learning_rates=[*RATES, 1e-3, 1e-4], rows=[0] * 7)
    (finding,) = RULE.examine(Trace((event,)), RULE.defaults)
    assert finding.confidence == "high"


# ------------------------------------------------------------------------------------------------- what is chosen by it


def chosen(metrics: list[float], mode: str = "min", **told: Any) -> MetricFollowed:
    """A checkpoint that has turned all but the first away."""
    told = {"kind": "ModelCheckpoint", "monitor": "val", "refused": len(metrics) - 1, "at": [9, 18, 27, 36, 45], **told}
    return followed(metrics, mode, learning_rates=[None] * len(metrics), **told)


def stepped(*optimizers: int, at: int) -> list[Event]:
    return [OptimizerStepped(optimizer=optimizer, location=None, step=at) for optimizer in optimizers]


SLOW = [9.0, 8.0, 7.0, 6.0, 5.0]
MEANS = [[(loss, loss, loss)] for loss in FALLING]
TWO_MEANS = [[*means, (7.0, 7.0, 7.0)] for means in MEANS]
HITS = seen(RISING)
TOKENS = [[(round(share * 900), 900)] for share in RISING]


@pytest.mark.parametrize(
    ("events", "confidence"),
    [
        ([chosen(RISING, equal=HITS)], "medium"),
        ([chosen(RISING, equal=TOKENS, rows=[7] * 5)], "medium"),
        ([chosen(RISING, equal=[[*lines, *lines] for lines in HITS])], "medium"),
        ([chosen([1 - share for share in RISING], "max", equal=HITS)], "medium"),
        ([chosen(FALLING, "max")], "high"),
        ([chosen(FALLING, "max", losses=SLOW, evaluated=MEANS, sizes=[[200]] * 5)], "high"),
        ([chosen(FALLING, "max", losses=SLOW, evaluated=TWO_MEANS, sizes=[[200, 700]] * 5)], "high"),
        ([chosen(RISING, equal=[[*lines, (3, 700)] for lines in HITS])], "medium"),
        ([chosen(RISING)], ""),
        ([chosen(RISING, equal=HITS, refused=0)], ""),
        ([chosen(RISING, "max", equal=HITS)], ""),
        ([chosen(RISING, equal=[[*lines, (3, 200)] for lines in HITS])], ""),
        ([chosen([1 - share for share in RISING], equal=HITS)], ""),
        ([chosen(FALLING, "max", losses=SLOW, evaluated=TWO_MEANS, sizes=[[200, 200]] * 5)], ""),
        ([chosen(FALLING, "max"), chosen(FALLING, "min")], ""),
        ([chosen(FALLING, "max"), chosen(FALLING, "min", kind="EarlyStopping", refused=0)], "high"),
        ([chosen(RISING, equal=HITS), *stepped(0, 1, at=20)], ""),
        ([chosen(RISING, equal=HITS), *stepped(0, at=20), *stepped(1, at=60)], "medium"),
    ],
    ids=[
        "hits",
        "hits of tokens",
        "hits that two lines count",
        "mistakes in mode max",
        "the loss in mode max",
        "the loss of an evaluation",
        "the loss of an evaluation beside that of other samples",
        "hits beside those of other samples",
        "a share of what nobody saw",
        "all are kept",
        "the right mode",
        "two things are compared",
        "mistakes",
        "two losses are evaluated",
        "the best and the worst are kept",
        "another follows the same rightly",
        "two optimizers",
        "another fold with its own optimizer",
    ],
)
def test_models_that_are_chosen_the_other_way(events: list[Event], confidence: str) -> None:
    found = [finding.confidence for finding in RULE.examine(Trace(tuple(events)), RULE.defaults)]
    assert found == ([confidence] if confidence else [])


@pytest.mark.parametrize(
    ("told", "change"),
    [
        ({}, "pass `mode='max'` to `ModelCheckpoint`"),
        (
            {"kind": "TrainingArguments", "argument": "greater_is_better"},
            "pass `greater_is_better=True` to `TrainingArguments`",
        ),
        (
            {"kind": "Checkpoint", "argument": "score_function"},
            "return the negative of it from the `score_function` of `Checkpoint`",
        ),
    ],
    ids=["Lightning", "Transformers", "Ignite"],
)
def test_what_is_to_be_changed_is_said_in_the_words_of_the_framework(told: dict[str, Any], change: str) -> None:
    (finding,) = RULE.examine(Trace((chosen(RISING, equal=HITS, **told),)), RULE.defaults)
    assert finding.help == change
