"""AD408, AD409 and AD411 on hand-made traces: units that do not react, and units that are copies of one another."""

from __future__ import annotations

import pytest
from traces import at, built, examined, seen, stepped

from autograd_doctor.events.numerics import SaturationMeasured, UnitsAlike, UnitsCounted
from autograd_doctor.rules.numerics import dead_relu, saturated_activation, symmetric_initialization

MODEL = (seen(0, "net.hidden.weight", registered_at=at(7)), seen(1, "net.head.weight", registered_at=at(8)))


# ------------------------------------------------------------------------------------------------------------- AD408


def counted(
    silent: int,
    lost: int = 0,
    *,
    units: int = 10,
    samples: int = 96,
    line: int = 12,
    at_weight: int = 0,
    step: int = 0,
) -> UnitsCounted:
    return UnitsCounted(
        step=step,
        location=at(line),
        operation="relu",
        parameters=[at_weight],
        units=units,
        silent=silent,
        lost=lost,
        looks=4,
        samples=samples,
    )


def test_a_layer_of_dead_units_is_told_with_its_share() -> None:
    (finding,) = examined(dead_relu.RULE, MODEL, counted(9))
    assert (finding.location, finding.severity, finding.subject) == (at(12), "warning", "net.hidden.weight")
    assert finding.message == (
        "9 of 10 units after `net.hidden.weight` are inactive on all of the last 96 samples: `relu` outputs zero for "
        "them, and they can no longer learn"
    )
    assert (finding.evidence["share"], finding.evidence["steps_looked_at"]) == (0.9, 4)
    assert finding.parameters == (0,)


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        (counted(8), 1),
        (counted(7), 0),
        (counted(4, 4), 1),
        (counted(3, 4), 0),
        (counted(10, samples=32), 1),
        (counted(10, samples=31), 0),
    ],
)
def test_most_units_have_to_be_dead_on_enough_samples(counts: UnitsCounted, told: int) -> None:
    assert len(examined(dead_relu.RULE, MODEL, counts)) == told


@pytest.mark.parametrize(("silent", "lost", "words"), [(6, 3, "since the first step"), (3, 6, "active at first")])
def test_the_help_goes_by_what_most_of_them_were(silent: int, lost: int, words: str) -> None:
    (finding,) = examined(dead_relu.RULE, MODEL, counted(silent, lost))
    assert words in finding.help


def test_a_rise_of_the_rate_is_told_of_if_units_were_lost_after_it() -> None:
    def told(*rates: float, of: int = 0) -> list[str]:
        taken = [stepped(step, {of: 1.0}, learning_rates=[rate]) for step, rate in enumerate(rates)]
        words = (counted(1, step=1), counted(1, 8, step=4))
        (finding,) = examined(dead_relu.RULE, MODEL, built(of), *taken, *words)
        return [related.message for related in finding.related]

    assert told(0.01, 0.01, 0.01, 0.5, 0.5) == [
        "before that, the learning rate rose from 0.01 in step 3 to 0.5 in step 4"
    ]
    assert told(0.01, 0.5, 0.5, 0.5, 0.5) == []
    assert told(0.01, 0.01, 0.01, 0.04, 0.04) == []
    assert told(0.01, 0.01, 0.01, 0.5, 0.5, of=1) == []


def test_the_last_word_on_each_layer_counts() -> None:
    assert examined(dead_relu.RULE, MODEL, counted(10), counted(2)) == []
    found = examined(dead_relu.RULE, MODEL, counted(10), counted(2, at_weight=1), counted(1), counted(10, at_weight=1))
    assert [(finding.location, finding.subject) for finding in found] == [(at(12), "net.head.weight")]


def test_of_a_layer_at_several_lines_the_one_with_the_fewest_dead_units_counts() -> None:
    (finding,) = examined(dead_relu.RULE, MODEL, counted(10), counted(9, line=14))
    assert (finding.location, finding.evidence["never_active"]) == (at(14), 9)
    assert examined(dead_relu.RULE, MODEL, counted(10), counted(1, line=14)) == []


# ------------------------------------------------------------------------------------------------------------- AD409


def saturated(
    *shares: float, at_low: float | None = 0.5, operation: str = "tanh", at_weight: int | None = 0
) -> SaturationMeasured:
    return SaturationMeasured(
        location=at(15),
        operation=operation,
        parameters=[] if at_weight is None else [at_weight],
        shares=list(shares),
        at_low=at_low,
        low=-812.5,
        high=900.0,
    )


def test_values_at_both_limits_are_told_with_what_went_in() -> None:
    (finding,) = examined(saturated_activation.RULE, MODEL, saturated(0.9, 0.8, 0.85))
    assert (finding.location, finding.severity, finding.subject) == (at(15), "warning", "net.hidden.weight")
    assert finding.message == (
        "80% or more of the values of `tanh` after `net.hidden.weight` are saturated in each of 3 steps: its "
        "inputs range from -812.5 to 900"
    )
    assert "smaller weights" in finding.help
    assert (finding.step_first, finding.step_count, finding.parameters) == (1, 3, (0,))


def test_a_softmax_is_told_by_its_rows() -> None:
    softmax = saturated(0.9, 0.9, 0.9, at_low=None, operation="softmax", at_weight=None)
    (finding,) = examined(saturated_activation.RULE, MODEL, softmax)
    assert finding.message.startswith("90% or more of the rows of `softmax` are saturated")
    assert "square root" in finding.help
    assert finding.subject == "softmax"


@pytest.mark.parametrize(
    ("measured", "told"),
    [
        (saturated(0.5, 0.5, 0.5), 1),
        (saturated(0.9, 0.9, 0.49), 0),
        (saturated(0.49, 0.9, 0.9), 0),
        (saturated(0.9, 0.9, 0.9, at_low=0.021), 1),
        (saturated(0.9, 0.9, 0.9, at_low=0.019), 0),
        (saturated(0.9, 0.9, 0.9, at_low=0.979), 1),
        (saturated(0.9, 0.9, 0.9, at_low=0.981), 0),
        (saturated(0.9, 0.9, 0.9, at_low=None), 1),
    ],
)
def test_most_values_have_to_lie_at_both_limits_in_all_steps(measured: SaturationMeasured, told: int) -> None:
    assert len(examined(saturated_activation.RULE, MODEL, measured)) == told


def test_the_last_word_on_each_activation_counts() -> None:
    assert examined(saturated_activation.RULE, MODEL, saturated(0.9, 0.9, 0.9), saturated(0.9, 0.9, 0.9, 0.1)) == []
    both = (saturated(0.9, 0.9, 0.9), saturated(0.9, 0.9, 0.9, at_weight=1))
    assert len(examined(saturated_activation.RULE, MODEL, both)) == 2


# ------------------------------------------------------------------------------------------------------------- AD411


def alike(parameter: int, *, line: int | None = 30) -> UnitsAlike:
    return UnitsAlike(parameter=parameter, units=16, updates=3, filled_at=at(line) if line else None)


def test_layers_that_one_line_filled_are_one_fault() -> None:
    (finding,) = examined(symmetric_initialization.RULE, MODEL, alike(0), alike(1))
    assert (finding.location, finding.severity, finding.parameters) == (at(30), "warning", (0, 1))
    assert finding.message.startswith("all 16 units of `net.hidden.weight`, `net.head.weight` started equal")
    assert "after 3 updates" in finding.message
    assert finding.evidence["layers"] == 2
    assert [each.location for each in finding.related] == [at(7)]
    assert (finding.step_first, finding.step_count) == (1, 4)


def test_layers_that_other_lines_filled_are_told_apart() -> None:
    found = examined(symmetric_initialization.RULE, MODEL, alike(0), alike(1, line=31))
    assert [finding.location for finding in found] == [at(30), at(31)]


def test_where_nobody_saw_the_filling_the_layer_is_told() -> None:
    found = examined(symmetric_initialization.RULE, MODEL, alike(0, line=None), alike(1, line=None))
    assert [(finding.location, finding.related) for finding in found] == [(at(7), ()), (at(8), ())]
