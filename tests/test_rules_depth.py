"""AD406 and AD407 on hand-made traces: gradients that grow or shrink on their way, or from step to step."""

from __future__ import annotations

import math

import pytest
from traces import at, built, clipped, examined, seen, stepped, updated

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import Layer, LayersMeasured, LossesFollowed, UpdatesMeasured
from autograd_doctor.rules.numerics import exploding_gradients, vanishing_gradients

MODEL = (seen(0, "net.weight"), seen(1, "net.bias", shape=(4,)), built(0, 1))
DEEP = [seen(number, f"net.{number}.weight") for number in range(8)]
ALL = tuple(range(8))


def measured(step: int, gradients: list[float], *, line: int = 20, first: int = 0) -> LayersMeasured:
    """A backward through so many layers, each at a line of its own."""
    layers = [
        Layer(parameters=[first + place], location=at(40 + place), operation="linear", gradients=[gradient])
        for place, gradient in enumerate(gradients)
    ]
    return LayersMeasured(step=step, backward=step, location=at(line), layers=layers)


def slope(decades: float, layers: int = 8) -> list[float]:
    return [10 ** (decades * place / (layers - 1)) for place in range(layers)]


def looks(decades: float, *, count: int = 3, layers: int = 8) -> list[LayersMeasured]:
    return [measured(step, slope(decades, layers)) for step in range(count)]


def through_time(decades: float, *, times: int = 16, count: int = 3) -> list[LayersMeasured]:
    layer = Layer(parameters=[3], location=at(31), operation="linear", gradients=slope(decades, times))
    return [LayersMeasured(step=step, backward=step, location=at(20), layers=[layer]) for step in range(count)]


def test_gradients_that_grow_through_depth_are_told_where_that_begins() -> None:
    (finding,) = examined(exploding_gradients.RULE, DEEP, looks(3.5))
    assert (finding.severity, finding.confidence, finding.location) == ("warning", "high", at(41))
    assert "grow by a factor of 3e+03 backward through 8 layers, from 1 to 3.2e+03" in finding.message
    assert finding.related[0].location == at(20)
    assert finding.parameters == ALL


def stepped_and_updated(norms: dict[int, float], updates: dict[int, float]) -> list[Event]:
    return [built(*ALL), stepped(0, norms), updated(0, updates)]


@pytest.mark.parametrize(
    ("happened", "severity"),
    [
        (stepped_and_updated({0: 1.0, 7: 1000.0}, {0: 1e-3, 7: 2e-3}), "info"),
        (stepped_and_updated({0: 1.0, 7: 1000.0}, {0: 1e-3, 7: 1.0}), "warning"),
        (stepped_and_updated({0: 1.0, 7: 20.0}, {0: 1e-3, 7: 1e-3}), "warning"),
        (stepped_and_updated({0: 0.0, 7: 1000.0}, {0: 0.0, 7: 1e-3}), "warning"),
    ],
    ids=["rescaled", "not proportional", "too close to tell", "only one"],
)
def test_what_an_optimizer_rescales_is_an_info(happened: list[Event], severity: str) -> None:
    (finding,) = examined(exploding_gradients.RULE, DEEP, looks(3.5), happened)
    assert finding.severity == severity
    assert bool(finding.notes) == (severity == "info")


def test_rescaling_does_not_help_through_time() -> None:
    happened = stepped_and_updated({3: 1.0, 7: 1000.0}, {3: 1e-3, 7: 2e-3})
    (finding,) = examined(exploding_gradients.RULE, DEEP, through_time(3.5), happened)
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    ("happened", "told"),
    [
        (looks(2.6), 1),
        (looks(2.4), 0),
        (looks(3.5, layers=5), 1),
        (looks(3.5, layers=4), 0),
        (looks(3.5, count=2), 0),
        ([*looks(3.5), *looks(2.4, count=1)], 0),
        ([*looks(3.5), *looks(-3.5, count=1)], 0),
        (through_time(2.6), 1),
        (through_time(2.4), 0),
        (through_time(3.5, times=15), 0),
        (through_time(3.5, count=2), 0),
        ([*through_time(3.5), measured(4, [1.0])], 0),
    ],
)
def test_growth_has_to_be_large_on_a_long_way_in_all_looks(happened: list[Event], told: int) -> None:
    assert len(examined(exploding_gradients.RULE, DEEP, happened)) == told


def test_growth_through_time_is_told_at_the_layer() -> None:
    (finding,) = examined(exploding_gradients.RULE, DEEP, through_time(3.5))
    assert (finding.location, finding.parameters) == (at(31), (3,))
    assert "through the sequence" in finding.message
    assert "smaller gain" not in finding.help


def test_a_jump_in_one_place_is_no_slope() -> None:
    jump = [measured(step, [1.0, 1.1, 1.2, 900.0, 1000.0, 1100.0]) for step in range(3)]
    assert examined(exploding_gradients.RULE, DEEP, jump) == []
    drop = [measured(step, [1.0, 0.9, 0.8, 1e-9, 1e-9, 1e-9]) for step in range(3)]
    assert examined(vanishing_gradients.RULE, DEEP, drop) == []


def test_ways_through_different_layers_are_not_compared() -> None:
    other = [measured(step, slope(3.5), first=1) for step in range(3)]
    assert examined(exploding_gradients.RULE, DEEP, looks(3.5), other) == []


@pytest.mark.parametrize(
    ("clip", "told"),
    [
        (clipped(*ALL), 0),
        (clipped(7), 0),
        (clipped(*ALL, norm=0.5), 1),
        (clipped(9), 1),
        (clipped(0, norm=None, kind="value"), 0),
        (clipped(0, norm=None), 1),
    ],
    ids=["clipped", "one of them", "below the limit", "another", "by value", "not known"],
)
def test_clipping_that_takes_effect_tames_gradients(clip: GradientsClipped, told: int) -> None:
    assert len(examined(exploding_gradients.RULE, DEEP, looks(3.5), clip)) == told


def grown(*totals: float, ratio: float = 0.2) -> list[Event]:
    return [*MODEL, *(stepped(step, {0: total}) for step, total in enumerate(totals)), updated(9, {0: ratio})]


GROWS = (1.0, 2.0, 3.0, 10.0, 40.0, 200.0, 900.0, 1000.0)


def test_norms_that_grow_over_steps_are_told_at_the_optimizer() -> None:
    (finding,) = examined(exploding_gradients.RULE, grown(*GROWS))
    assert (finding.location, finding.severity, finding.confidence) == (at(5), "warning", "medium")
    assert "grows from 1 to 1e+03 in 7 steps, and nothing clips them" in finding.message
    assert (finding.step_first, finding.step_count) == (1, 8)


@pytest.mark.parametrize(
    "happened",
    [
        grown(*GROWS[1:]),
        grown(*GROWS[:-2], 600.0, 1000.0),
        grown(*GROWS[:-1], 3.0),
        grown(*GROWS, ratio=0.09),
        [*grown(*GROWS), clipped(0)],
        [event for event in grown(*GROWS) if not isinstance(event, UpdatesMeasured)],
        grown(*GROWS[:-2], math.inf, math.inf),
        grown(*[0.0] * 4, *GROWS[:-2]),
    ],
    ids=["few", "less", "back", "small updates", "clipped", "unknown updates", "not finite", "zeros before"],
)
def test_norms_that_do_not_grow_so_or_do_no_harm_are_silent(happened: list[Event]) -> None:
    assert examined(exploding_gradients.RULE, happened) == []


def test_growth_over_steps_is_a_consequence_of_growth_through_depth() -> None:
    (finding,) = examined(exploding_gradients.RULE, grown(*GROWS), DEEP, looks(3.5))
    assert "layers" in finding.message


def test_gradients_that_vanish_through_depth_are_a_warning() -> None:
    (finding,) = examined(vanishing_gradients.RULE, DEEP, looks(-7.0))
    assert (finding.severity, finding.location, finding.subject) == ("warning", at(41), "net.7.weight")
    assert finding.message == (
        "gradients shrink by a factor of 1e+07 over 8 layers, from 1 at `net.0.weight` to 1e-07 at `net.7.weight`"
    )
    assert finding.evidence["begins_at"] == "`net.1.weight`"
    assert finding.parameters == ALL


@pytest.mark.parametrize(
    ("happened", "told"),
    [
        (looks(-5.1), 1),
        (looks(-4.9), 0),
        (looks(-6.0, layers=4), 0),
        (looks(-6.0, count=2), 0),
        (looks(6.0), 0),
        ([*looks(-6.0), *looks(-4.0, count=1)], 0),
        ([measured(step, [*slope(-4.9), 0.0]) for step in range(3)], 0),
        (through_time(-7.3), 1),
        (through_time(-7.1), 0),
        (through_time(-9.0, times=15), 0),
    ],
)
def test_gradients_have_to_shrink_far_on_a_long_way_in_all_looks(happened: list[Event], told: int) -> None:
    assert len(examined(vanishing_gradients.RULE, DEEP, happened)) == told


@pytest.mark.parametrize(
    ("far", "near", "severity"), [(0.02, 0.1, "info"), (0.005, 0.1, "warning"), (0.0, 0.0, "warning")]
)
def test_where_the_optimizer_rescales_its_updates_it_is_an_info(far: float, near: float, severity: str) -> None:
    (finding,) = examined(vanishing_gradients.RULE, DEEP, looks(-7.0), updated(0, {0: near, 7: far}))
    assert finding.severity == severity
    assert bool(finding.notes) == (severity == "info")


def test_memory_that_fades_is_an_info() -> None:
    (finding,) = examined(vanishing_gradients.RULE, DEEP, through_time(-8.0))
    assert (finding.severity, finding.location, finding.parameters) == ("info", at(31), (3,))
    assert "nothing is learned from its beginning" in finding.message


def course(*losses: float, backwards: int = 300, line: int = 20) -> list[LossesFollowed]:
    """So many losses of a line, spread evenly over its backwards."""
    each = backwards // len(losses)
    return [
        LossesFollowed(
            step=each * (place + 1), location=at(line), first=each * place, backwards=each,
            opening=loss, last=loss, low=loss, high=loss,
        )
        for place, loss in enumerate(losses)
    ]  # fmt: skip


STAYS, FALLS = [1.6] * 20, [1.6 - 0.01 * place for place in range(20)]


@pytest.mark.parametrize(
    ("losses", "severity"),
    [
        (course(*STAYS), "warning"),
        (course(*STAYS, backwards=180), "info"),
        (course(*STAYS, line=22), "info"),
        (course(*FALLS), "info"),
        (course(*STAYS[:-1], 0.2), "warning"),
        (course(0.2, *STAYS[1:]), "warning"),
        (course(*FALLS[:-1], 1.6), "info"),
        (course(*[0.0] * 20), "info"),
    ],
    ids=[
        "stays",
        "too early to say",
        "of another line",
        "falls",
        "one batch is easy at the end",
        "one batch is easy at the beginning",
        "one batch is hard at the end",
        "has nothing left to learn",
    ],
)
def test_memory_that_fades_is_a_warning_where_the_loss_stays(losses: list[Event], severity: str) -> None:
    (finding,) = examined(vanishing_gradients.RULE, DEEP, through_time(-8.0), losses)
    assert finding.severity == severity
    assert ("the loss stays where it was" in finding.message) == (severity == "warning")


def test_gradients_below_what_float32_holds_count_as_its_smallest_number() -> None:
    gone = [10.0**-decades for decades in (0, 9, 18, 27, 36, 44)] + [0.0, 0.0]
    (finding,) = examined(vanishing_gradients.RULE, DEEP, [measured(step, gone) for step in range(3)])
    assert finding.message.startswith("gradients shrink by a factor of 7e+44 ")
