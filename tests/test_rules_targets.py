"""Rules on what targets, weights and terms of a loss are to one another, on traces made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from traces import at, backward, examined, in_order, steps

from autograd_doctor.events.connectivity import FlatDerivative
from autograd_doctor.events.data import TargetScaleSeen, TargetsSeen
from autograd_doctor.events.losses import (
    BootstrappedBesideMark,
    NoiseApart,
    PositiveRepeated,
    PositivesCompared,
    PredictionsLeftOut,
    ReductionsMixed,
    TermWeightTurned,
)
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules.connectivity import second_derivative_zero
from autograd_doctor.rules.data import unnormalised_target
from autograd_doctor.rules.losses import (
    class_weights_misplaced,
    maximised_loss,
    noise_of_another_draw,
    positives_of_others,
    reductions_mixed,
    terminal_states_bootstrapped,
)

# -------------------------------------------------------------------------------------------------------------- AD626


def weighed(counts: list[int], weights: list[float], operation: str = "cross_entropy", **more: Any) -> list[Finding]:
    logits = len(weights) if operation == "cross_entropy" else 0
    facts: dict[str, Any] = {"location": at(12), "operation": operation, "name": "y", "since": 0, "steps": 10}
    facts |= {"elements": sum(counts), "classes": dict(enumerate(counts)), "class_count": len(counts), "low": 0.0}
    facts |= {"high": 1.0, "logits": logits, "all_ignored": 0, "ignore_index": None, "weighted": True}
    facts |= {"per_sample": True, "stateful": False, "source": "drawn", "chosen_at": None, "rows": 0, "in_order": False}
    facts |= {"loader": "", "clustered": 0.0, "deviations": 0.0, "weights": weights, **more}
    return examined(class_weights_misplaced.RULE, TargetsSeen(**facts))


COUNTS = [800, 400, 100]


def test_weights_that_grow_with_how_often_a_class_comes() -> None:
    (finding,) = weighed(COUNTS, [8.0, 4.0, 1.0])
    assert "grow with how often" in finding.message
    assert (finding.location, finding.related) == (at(12), ())
    (finding,) = weighed(COUNTS, [8.0, 4.0, 1.0], weights_at=at(5))
    assert (finding.location, finding.related[0].location) == (at(5), at(12))


def test_weights_of_other_classes() -> None:
    (finding,) = weighed(COUNTS, [8.0, 1.0, 2.0])
    assert "are those of other classes" in finding.message
    assert "0.542, 1.08, 4.33" in finding.help


def test_a_weight_of_ones_the_wrong_way_round() -> None:
    (finding,) = weighed([900, 100], [100 / 900], "binary_cross_entropy_with_logits")
    assert "9" in finding.help
    assert weighed([900, 100], [9.0], "binary_cross_entropy_with_logits") == []
    assert weighed([900, 100, 50], [0.11], "binary_cross_entropy_with_logits", classes={0: 900, 1: 100, 2: 50}) == []


@pytest.mark.parametrize(
    ("counts", "weights"),
    [
        (COUNTS, [1.0, 2.0, 8.0]),
        (COUNTS, [1.0, 2.0**0.5, 8.0**0.5]),
        (COUNTS, [1.0, 1.0, 1.0]),
        (COUNTS, [1.0, 5.0, 2.0]),
        (COUNTS, [8.0, 4.0, 0.0]),
        ([430, 440, 430], [43.0, 44.0, 43.0]),
        ([80, 40, 10], [8.0, 4.0, 1.0]),
        ([60, 35], [6.0, 3.5]),
        (COUNTS, []),
    ],
    ids=["inverse", "of the root", "equal", "costs", "one left out", "balanced", "too few", "by chance", "none"],
)
def test_weights_that_are_right_or_say_nothing(counts: list[int], weights: list[float]) -> None:
    assert weighed(counts, weights) == []


# -------------------------------------------------------------------------------------------------------------- AD627


def compared(*likeness: float, other: list[float], rows: int = 64, **more: Any) -> list[Finding]:
    facts = {"location": at(9), "rows": rows, "taken": "halves"} | more
    events = [
        PositivesCompared(step=step, likeness=own, other_likeness=another, **facts)
        for step, (own, another) in enumerate(zip(likeness, other, strict=True))
    ]
    return examined(positives_of_others.RULE, events)


def test_positives_that_are_like_each_other_by_chance_only() -> None:
    (finding,) = compared(0.5, 0.51, 0.48, 0.5, other=[0.8, 0.82, 0.79, 0.81])
    assert "row 2i" in finding.message or "rows 2i" in finding.message
    assert compared(0.5, 0.51, 0.48, other=[0.8, 0.82, 0.79]) == []
    assert compared(0.6, 0.61, 0.64, 0.6, other=[0.8, 0.82, 0.79, 0.81]) == []
    assert compared(0.5, 0.51, 0.48, 0.5, other=[0.54, 0.54, 0.54, 0.54], rows=2000) == []
    assert compared(0.5, 0.51, 0.48, 0.5, other=[0.3, 0.9, 0.5, 0.9]) == []
    assert compared(0.5, 0.51, 0.48, 0.5, other=[0.8, 0.82, 0.79, 0.81], neighbour_likeness=0.8) == []
    (finding,) = compared(0.5, 0.51, 0.48, 0.5, other=[0.8, 0.82, 0.79, 0.81], split_at=at(5))
    assert [finding.location, *(each.location for each in finding.related)] == [at(5), at(9)]


def test_positives_among_their_own_negatives() -> None:
    def found(count: int = 4, joined_at: Location | None = None, **shares: float) -> list[Finding]:
        told = {"repeated": 1.0, "by_chance": 0.01, "fixed": 0.0, "level": 0.1} | shares
        facts: dict[str, Any] = {"loss": "cross_entropy", "rows": 32, "columns": 65, "joined_at": joined_at}
        looks = [PositiveRepeated(step=step, location=at(9), **facts, **told) for step in range(count)]
        return examined(positives_of_others.RULE, looks)

    (finding,) = found()
    assert (finding.severity, finding.location) == ("warning", at(9))
    (finding,) = found(joined_at=at(7))
    assert [finding.location, *(each.location for each in finding.related)] == [at(7), at(9)]
    assert found(3) == found(repeated=0.9) == found(by_chance=0.4) == found(fixed=1.0) == found(level=0.9) == []


# -------------------------------------------------------------------------------------------------------------- AD628


def mixed(step: int, **more: Any) -> ReductionsMixed:
    facts: dict[str, Any] = {
        "location": at(30),
        "sum_of": "sum",
        "summed": 640,
        "sum_at": at(29),
        "mean_of": "mse_loss",
    }
    facts |= {"averaged": 9216, "mean_at": at(28), "samples": 64, "backward": step}
    return ReductionsMixed(step=step, **{**facts, **more})


def test_sums_beside_means_in_losses_that_train() -> None:
    trained = steps(3, {0: 1.0})
    (finding,) = examined(reductions_mixed.RULE, trained, mixed(0), mixed(1))
    assert [each.location for each in finding.related] == [at(29), at(28)]
    assert examined(reductions_mixed.RULE, trained, mixed(0)) == []
    assert examined(reductions_mixed.RULE, backward(0), mixed(0), mixed(1)) == []


def test_a_divergence_that_vanished_for_good_in_a_long_run() -> None:
    def found(*sizes: float, since: int = 400, averaged: int = 9216) -> list[Finding]:
        run = range(since, since + len(sizes))
        mixes = [
            mixed(step, divergence=size, averaged=averaged, backward=step)
            for step, size in zip(run, sizes, strict=True)
        ]
        trained = [backward(step, reached=[0], wrote=[0]) for step in run]
        return examined(reductions_mixed.RULE, in_order(steps(since, {0: 1.0}), trained, mixes))

    (finding,) = found(0.2, 0.01, 0.001, -1e-6)
    assert finding.evidence["divergence"] == 0.0
    assert found(0.2, 0.01, 0.06, 0.001) == []
    assert found(0.01, 0.001) == []
    assert found(0.2, 0.01, 0.001, 0.001, since=20) == []
    assert found(0.2, 0.01, 0.001, 0.001, averaged=320) == []


# ------------------------------------------------------------------------------------------------------- AD629, AD630


def test_noise_of_another_draw_in_several_steps() -> None:
    def apart(step: int) -> NoiseApart:
        places = {"drawn_at": at(5), "added_at": at(6), "called_at": at(8)}
        return NoiseApart(step=step, location=at(9), name="noise", shape=[8, 2], **places)

    trained = steps(3, {0: 1.0})
    (finding,) = examined(noise_of_another_draw.RULE, trained, apart(0), apart(1))
    assert {each.location for each in finding.related} == {at(5), at(6), at(8)}
    assert examined(noise_of_another_draw.RULE, trained, apart(0)) == []


def marked(*ones: int, keeps: bool = False, left_out: PredictionsLeftOut | None = None) -> list[Finding]:
    places = {"location": at(7), "compared_at": at(9), "mark_at": at(3)}
    events: list[Any] = [
        BootstrappedBesideMark(step=step, name="target", values=32, ones=count, keeps=keeps, **places)
        for step, count in enumerate(ones)
    ]
    events += [left_out] if left_out is not None else []
    return examined(terminal_states_bootstrapped.RULE, in_order(steps(4, {0: 1.0}), events))


def test_marks_that_mark_something_and_are_not_used() -> None:
    (finding,) = marked(0, 3, 1)
    assert "(4 of 96 are 1)" in finding.message
    assert (finding.severity, finding.confidence) == ("info", "low"), "what they mark is not known"
    assert not marked(3)
    assert not marked(0, 0, 0)
    assert not marked(32, 32, 32)


def test_marks_that_keep_a_prediction_and_are_seldom_there() -> None:
    (finding,) = marked(0, 3, 1, keeps=True)
    assert "in 4 of 96 rows" in finding.message
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert not marked(3, keeps=True)
    assert not marked(0, 0, 0, keeps=True)
    assert not marked(9, 9, 9, keeps=True)


def left_out(kept: int, kept_followed: int, left_out: int, left_out_followed: int) -> PredictionsLeftOut:
    rows = {"kept": kept, "kept_followed": kept_followed, "left_out": left_out, "left_out_followed": left_out_followed}
    return PredictionsLeftOut(step=3, location=at(7), compared_at=at(9), **rows)


def test_predictions_that_are_kept_where_nothing_comes() -> None:
    (finding,) = marked(left_out=left_out(50, 0, 206, 122))
    assert "in 50 of 256 rows" in finding.message
    for few in (left_out(50, 1, 206, 122), left_out(6, 0, 206, 122), left_out(50, 0, 206, 3), left_out(0, 0, 0, 0)):
        assert not marked(left_out=few)


def test_what_the_data_tell_goes_before_the_share_of_ones() -> None:
    (finding,) = marked(0, 3, 1, keeps=True, left_out=left_out(50, 0, 206, 122))
    assert "in 50 of 256 rows" in finding.message
    assert not marked(0, 3, 1, keeps=True, left_out=left_out(4, 2, 92, 30))
    (finding,) = marked(0, 3, 1, keeps=True, left_out=left_out(4, 0, 92, 0))
    assert "in 4 of 96 rows" in finding.message


# ------------------------------------------------------------------------------------------------------- AD718, AD225


def scale(**more: Any) -> list[Finding]:
    facts: dict[str, Any] = {"location": at(9), "operation": "mse_loss", "name": "price", "target": 2e5}
    facts |= {"first_step": 0, "first": 0.1, "last_step": 50, "last": 20.0}
    return examined(unnormalised_target.RULE, TargetScaleSeen(**{**facts, **more}))


def test_targets_that_are_too_far_away() -> None:
    (finding,) = scale()
    assert "at that pace it takes 502,462 more" in finding.message
    (finding,) = scale(last=0.05)
    assert "at that pace" not in finding.message
    assert scale(target=90.0, last=0.1) == []
    assert scale(last_step=19) == []
    assert scale(last=3e4) == []
    assert scale(last=1e3) == []


def test_second_derivatives_that_are_zero_in_several_steps() -> None:
    def flat(step: int, values: int = 64) -> FlatDerivative:
        places = {"taken_at": at(8), "activation_at": at(9)}
        return FlatDerivative(step=step, location=at(9), operation="relu", values=values, **places)

    (finding,) = examined(second_derivative_zero.RULE, steps(3, {0: 1.0}), flat(0), flat(0), flat(1))
    assert (finding.step_count, [each.location for each in finding.related]) == (2, [at(8)])
    assert examined(second_derivative_zero.RULE, steps(3, {0: 1.0}), flat(0), flat(0)) == []
    assert examined(second_derivative_zero.RULE, steps(3, {0: 1.0}), flat(0, values=3), flat(1, values=3)) == []


# ------------------------------------------------------------------------------------------------------------- AD609


def test_the_weight_of_a_term_that_falls_through_zero() -> None:
    def turned(operation: str = "mse_loss", **more: int) -> list[Finding]:
        places: dict[str, Any] = {"location": at(9), "computed_at": at(8), "backward_at": at(11)}
        looks = {"since": 50, "looks": 3, "before": 4, **more}
        event = TermWeightTurned(operation=operation, first=1.0, last=-0.5, **looks, **places)
        return examined(maximised_loss.RULE, steps(3, {0: 1.0}), event)

    (finding,) = turned()
    assert (finding.severity, finding.confidence, finding.step_first) == ("warning", "medium", 51)
    assert {each.location for each in finding.related} == {at(8), at(11)}
    (finding,) = turned("")
    assert "the weight of a KL divergence" in finding.message
    assert turned(looks=2) == turned(before=2) == []
