"""AD405, AD412 and AD413 on hand-made traces: losses, updates and gradients out of all proportion."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from msgspec import structs
from traces import at, backward, built, clipped, examined, seen, stepped, updated

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.losses import TermWeightGrew
from autograd_doctor.events.numerics import CarriedValueMeasured, GradientMeasured, LossesFollowed, NonFiniteProduced
from autograd_doctor.events.subjects import ParameterGroup
from autograd_doctor.rules.numerics import gradient_spike, loss_diverges, update_ratio_extreme

MODEL = (seen(0, "net.weight"), seen(1, "net.bias", shape=(4,)), built(0, 1))


# ------------------------------------------------------------------------------------------------------------- AD405


def losses(*levels: float, line: int = 20, non_finite: int = 0) -> list[LossesFollowed]:
    """Ten losses for each pair of an opening and a last one; the range lies between them."""
    return [
        LossesFollowed(
            step=10 * number + 10,
            location=at(line),
            first=10 * number,
            backwards=10,
            opening=opening,
            last=last,
            low=min(opening, last),
            high=max(opening, last),
            non_finite=non_finite if number == len(levels) - 2 else 0,
        )
        for number, (opening, last) in enumerate(pairwise(levels))
    ]


RAN = backward(reached=[0, 1], wrote=[0, 1])


def diverged(*levels: float, ratio: float = 0.3, weights: float = 1.0, **more: int) -> list[Event]:
    """With updates of this part of the weights, which in the end are so many times as large."""
    at_end = updated(9, {0: ratio * weights}, weight=weights)
    return [*MODEL, RAN, updated(0, {0: ratio}), updated(1, {0: ratio}), at_end, *losses(*levels, **more)]


def test_a_loss_that_large_steps_have_raised_is_an_error_at_the_optimizer() -> None:
    (finding,) = examined(loss_diverges.RULE, diverged(1.0, 4000.0, 5e5, ratio=0.5))
    assert (finding.location, finding.severity, finding.confidence) == (at(5), "error", "high")
    assert finding.message == (
        "the loss rises from 1 to 4e+03 within 20 backwards and stays there: each step changes the weights by 0.5 "
        "times their size"
    )
    assert (finding.subject, finding.evidence["learning_rate"]) == ("optimizer", 0.1)
    assert finding.related[0].location == at(20)


@pytest.mark.parametrize(
    ("end", "ratio", "weights", "told"),
    [
        (99.0, 5.0, 100.0, 0),
        (101.0, 0.31, 1.0, 1),
        (101.0, 0.29, 1.0, 0),
        (101.0, 0.29, 100.0, 0),
        (9e3, 0.29, 100.0, 0),
        (1.1e4, 0.11, 1.0, 1),
        (1.1e4, 0.09, 1.0, 0),
        (1.1e4, 0.09, 9.0, 0),
        (1.1e4, 0.09, 11.0, 1),
    ],
)
def test_how_far_a_loss_rises_and_what_the_weights_do_decide(
    end: float, ratio: float, weights: float, told: int
) -> None:
    assert len(examined(loss_diverges.RULE, diverged(1.0, end, end, ratio=ratio, weights=weights))) == told


def weighed(by: float, *, size: float = 0.5, line: int = 20) -> TermWeightGrew:
    return TermWeightGrew(at(18), at(line), first=0.1, last=0.1 * by, size_first=1.0, size_last=size)


@pytest.mark.parametrize(
    ("event", "late", "told"),
    [
        (weighed(1e6), 0.02, 0),
        (weighed(1e4), 0.02, 1),
        (weighed(1e6), 0.4, 1),
        (weighed(1e6, size=2.0), 0.02, 1),
        (weighed(1e6, line=21), 0.02, 1),
        (structs.replace(weighed(1e6), size_last=None), 0.02, 1),
    ],
    ids=["a penalty", "less than the loss", "large steps", "the term grows", "of another loss", "not seen"],
)
def test_a_loss_of_which_a_term_is_weighed_more_and_more(event: TermWeightGrew, late: float, told: int) -> None:
    steps = [updated(step, {0: late}) for step in range(10, 16)]
    assert len(examined(loss_diverges.RULE, diverged(1.0, 5e5, 5e5, ratio=0.5), steps, event)) == told


def test_a_loss_that_feeds_on_its_own_growth_is_told_where_it_was_made() -> None:
    root = TensorFacts(shape=[], dtype="float32", name="total", made_at=at(17))
    happened = diverged(1.0, 1e5, 1e5, ratio=0.001, weights=50.0)
    happened = [backward(reached=[0], root=root) if event is RAN else event for event in happened]
    (finding,) = examined(loss_diverges.RULE, happened)
    assert (finding.location, finding.confidence, finding.subject) == (at(17), "medium", "total")
    assert "never reset" in finding.help
    assert "each step" not in finding.message


def test_a_loss_that_comes_back_has_not_diverged() -> None:
    assert examined(loss_diverges.RULE, diverged(1.0, 1e6, 5.0)) == []
    assert examined(loss_diverges.RULE, diverged(1.0, 1e6, 1e6, 3.0)) == []


def test_a_loss_that_ends_not_finite_counts_by_its_last_number() -> None:
    (finding,) = examined(loss_diverges.RULE, diverged(1.0, 1e6, non_finite=4))
    assert "from 1 to 1e+06 within 10 backwards and then is no longer finite" in finding.message


def test_updates_that_are_not_finite_any_more_do_not_hide_the_first_ones() -> None:
    spoiled = [updated(step, {0: math.nan}, weight=math.nan) for step in range(2, 6)]
    assert len(examined(loss_diverges.RULE, diverged(1.0, 1e6, non_finite=4), spoiled)) == 1


@pytest.mark.parametrize("levels", [(1.0, 1.0, -1e6), (-1.0, -1e6, -1e6), (0.0, 1e6, 1e6)])
def test_losses_that_fall_below_zero_or_begin_there_are_let_alone(levels: tuple[float, ...]) -> None:
    assert examined(loss_diverges.RULE, diverged(*levels)) == []


def test_a_loss_may_begin_below_zero_and_rise() -> None:
    assert len(examined(loss_diverges.RULE, diverged(-1.0, 1e6, 1e6))) == 1


def test_two_losses_tell_no_curve() -> None:
    event = LossesFollowed(location=at(20), first=0, backwards=2, opening=1.0, last=1e9, low=1.0, high=1e9)
    assert examined(loss_diverges.RULE, diverged(1.0), event) == []


def test_adversaries_are_not_judged() -> None:
    adversary = (seen(2, "critic.weight"), built(2, optimizer=1, line=6))
    happened = diverged(1.0, 1e6, 1e6)
    assert len(examined(loss_diverges.RULE, adversary, happened)) == 1
    assert examined(loss_diverges.RULE, adversary, happened, backward(1, reached=[0, 2])) == []


def test_each_line_is_judged_for_itself() -> None:
    happened = [*diverged(1.0, 1.0, 1.0), backward(1, line=30, reached=[0]), *losses(1.0, 1e6, 1e6, line=30)]
    (finding,) = examined(loss_diverges.RULE, happened)
    assert finding.related[0].location == at(30)


# ------------------------------------------------------------------------------------------------------------- AD412


def ratios(*values: float) -> list[Event]:
    return [*MODEL, *(updated(step, {0: value, 1: 5.0}) for step, value in enumerate(values))]


@pytest.mark.parametrize(("value", "words"), [(2.0, "overwrites most of"), (1e-7, "leaves them almost unchanged")])
def test_updates_out_of_proportion_are_told_at_the_optimizer(value: float, words: str) -> None:
    (finding,) = examined(update_ratio_extreme.RULE, ratios(*[value] * 6))
    assert (finding.location, finding.severity, finding.confidence) == (at(5), "warning", "medium")
    assert f"changes the weights by {value:.1e} times their size" in finding.message
    assert words in finding.message
    assert finding.help.startswith("lower" if value > 0.1 else "raise")
    assert (finding.evidence["matrices"], finding.evidence["learning_rate"]) == (1, 0.1)
    assert (finding.step_first, finding.step_count) == (1, 6)


def crawling(*losses: float, moved: float = 1e-8, optimizer: int = 0) -> list[Event]:
    """Steps that are small against both of the parameters, while the loss has these values."""
    facts = TensorFacts(shape=[], dtype="float64", name="loss")
    ran = [backward(step, reached=[0, 1], root=facts, loss=level) for step, level in enumerate(losses)]
    steps = [event for step in range(8) for event in (updated(step, {0: 1e-8, 1: moved}), stepped(step, {0: 1.0}))]
    other = stepped(8, {2: 1.0}, optimizer=optimizer)
    followed = LossesFollowed(
        step=9, location=at(20), first=0, backwards=10, opening=losses[0], last=losses[-1], low=0.0, high=9.0
    )
    return [*MODEL, *ran, *steps, other, followed]


@pytest.mark.parametrize(
    ("happened", "told"),
    [
        (crawling(*[1.0] * 5, *[0.2] * 5), 0),
        (crawling(*[1.0] * 5, *[0.9] * 5), 1),
        (crawling(1.0, *[0.2] * 3), 1),
        (crawling(*[-1.0] * 5, *[-9.0] * 5), 1),
        (crawling(*[1.0] * 5, *[0.2] * 5, moved=1e-3), 1),
        (crawling(*[1.0] * 5, *[0.2] * 5, optimizer=1), 1),
    ],
    ids=["it falls", "it hardly falls", "too few losses", "below zero", "a vector moves", "another optimizer steps"],
)
def test_steps_that_are_small_against_large_values_may_lower_the_loss(happened: list[Event], told: int) -> None:
    assert len(examined(update_ratio_extreme.RULE, happened)) == told


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([1.1] * 6, 1),
        ([0.9] * 6, 0),
        ([2.0] * 5, 0),
        ([2.0] * 7 + [0.1], 0),
        ([0.9e-6] * 6, 1),
        ([1.1e-6] * 6, 0),
        ([1e-7] * 7 + [1e-3], 0),
        ([0.0] * 6, 0),
        ([2.0, math.inf, 2.0, 2.0, 2.0, 2.0, 2.0], 1),
    ],
)
def test_all_steps_have_to_be_beyond_the_limits(values: list[float], told: int) -> None:
    assert len(examined(update_ratio_extreme.RULE, ratios(*values))) == told


def test_the_typical_matrix_decides() -> None:
    model = [*(seen(number, f"w{number}") for number in range(3)), built(0, 1, 2)]
    one = [updated(step, {0: 1e-7, 1: 1e-3, 2: 1e-3}) for step in range(6)]
    two = [updated(step, {0: 1e-8, 1: 1e-7, 2: 1e-3}) for step in range(6)]
    assert examined(update_ratio_extreme.RULE, model, one) == []
    (finding,) = examined(update_ratio_extreme.RULE, model, two)
    assert finding.evidence["furthest"] == "w0 at 1.0e-08"


def test_weights_that_are_zero_have_no_proportions() -> None:
    assert examined(update_ratio_extreme.RULE, MODEL, [updated(s, {0: 2.0}, weight=0.0) for s in range(6)]) == []


def test_a_model_without_matrices_is_judged_by_its_vectors() -> None:
    happened = [seen(0, "weight", shape=(4,)), seen(1, "bias", shape=(1,)), built(0, 1)]
    assert examined(update_ratio_extreme.RULE, happened, [updated(s, {1: 2.0}) for s in range(6)]) == []
    assert len(examined(update_ratio_extreme.RULE, happened, [updated(s, {0: 2.0}) for s in range(6)])) == 1


@pytest.mark.parametrize(("rates", "told"), [((1e-9, 1e-8, 1e-7), 0), ((1e-9, 1e-9, 1e-9), 1), ((1e-9, 1e-7, 1e-8), 1)])
def test_a_rate_that_is_on_its_way_up_is_no_fault(rates: tuple[float, ...], told: int) -> None:
    warmed = [stepped(step, {0: 1.0}, learning_rates=[rate]) for step, rate in enumerate(rates)]
    assert len(examined(update_ratio_extreme.RULE, ratios(*[1e-7] * 6), warmed)) == told


def test_warming_up_excuses_no_large_steps() -> None:
    warmed = [stepped(step, {0: 1.0}, learning_rates=[rate]) for step, rate in enumerate((0.1, 0.2))]
    assert len(examined(update_ratio_extreme.RULE, ratios(*[2.0] * 6), warmed)) == 1


def barely_left(limit: float = 1e-7, *, moved: float = 1e-9, highest: float = 0.1, norm: float = 0.5) -> list[Event]:
    """Steps of an optimizer that goes on, with gradients that were clipped to a limit."""
    goes_on = structs.replace(MODEL[2], groups=[ParameterGroup(parameters=[0, 1], lr=0.1, highest_lr=highest)])
    each = [
        [
            structs.replace(clipped(0, 1, norm=norm, limit=limit), step=step),
            stepped(step, {0: limit, 1: limit / 10}, learning_rates=[0.1], given_state=True),
            updated(step, {0: moved, 1: moved}),
        ]
        for step in range(6)
    ]
    return [*MODEL[:2], goes_on, *(event for events in each for event in events)]


def test_steps_that_are_small_for_their_clipping_are_told_there() -> None:
    (finding,) = examined(update_ratio_extreme.RULE, barely_left())
    assert (finding.location, finding.severity, finding.confidence) == (at(21), "warning", "medium")
    assert finding.message.endswith("gradients with a norm of 0.5 are clipped to 1.0e-07")


@pytest.mark.parametrize(
    "happened",
    [
        barely_left(moved=1e-5),
        barely_left(moved=9e-7),
        barely_left(highest=2.0),
        barely_left(norm=1e-5),
        barely_left(norm=math.nan),
        [event for event in barely_left() if not isinstance(event, GradientsClipped)],
    ],
    ids=[
        "not small",
        "of the same size whatever the gradient",
        "a rate that has fallen",
        "much is left",
        "a norm that is not finite",
        "no clipping",
    ],
)
def test_steps_that_are_small_for_something_else_go_on(happened: list[Event]) -> None:
    assert examined(update_ratio_extreme.RULE, happened) == []


def jumps(*sizes: float, first: float = 0.5, after: float = 8.0) -> list[Event]:
    """Steps of these sizes on weights that began so large, and are larger than the steps from the second on."""
    steps = [updated(step, {0: size}, weight=3 * max(sizes) if step else first) for step, size in enumerate(sizes)]
    return [*MODEL, RAN, *steps, *losses(1.0, after, after)]


@pytest.mark.parametrize(
    ("happened", "told"),
    [
        (jumps(*[2.0] * 8), 1),
        (jumps(*[2.0] * 6, 0.1), 1),
        (jumps(*[2.0] * 5, 0.1, 2.0), 0),
        (jumps(2.0, *[0.0] * 6), 1),
        (jumps(2.0, *[0.0] * 5), 0),
        (jumps(*[0.0] * 7), 0),
        (jumps(*[0.4] * 8), 0),
        (jumps(*[2.0] * 8, after=0.9), 0),
        (jumps(*[2.0] * 8, first=0.01), 0),
        (jumps(*[2.0] * 8)[:-2], 0),
    ],
    ids=[
        "large",
        "large at first",
        "too few",
        "dead since",
        "dead for a while",
        "dead from the start",
        "small",
        "loss falls",
        "began small on purpose",
        "no loss followed",
    ],
)
def test_steps_as_large_as_the_first_weights_throw_them_away(happened: list[Event], told: int) -> None:
    found = examined(update_ratio_extreme.RULE, happened)
    assert [finding.location for finding in found] == [at(5)] * told


def of_groups(rate: float, ratio: float, *, others: int = 3, rising: bool = False) -> list[Event]:
    """Six steps of one matrix at a rate of its own, beside others at 1e-3."""
    groups = [
        ParameterGroup(parameters=list(range(1, others + 1)), lr=1e-3),
        ParameterGroup(parameters=[0], lr=rate),
    ]
    matrices = [seen(number, f"net.{number}.weight") for number in range(others + 1)]
    moved = {0: ratio, **dict.fromkeys(range(1, others + 1), 1e-3)}
    happened = [updated(step, moved) for step in range(6)]
    rates = [[1e-3, rate * (1 + step * rising)] for step in range(6)]
    took = [stepped(step, moved, learning_rates=each) for step, each in enumerate(rates)]
    return [*matrices, structs.replace(built(0), groups=groups), *happened, *took]


@pytest.mark.parametrize(
    ("events", "severity"),
    [
        (of_groups(1e-9, 1e-8), "info"),
        (of_groups(1e-9, 0.0), "info"),
        (of_groups(1e-9, 1e-8, others=0), "warning"),
        (of_groups(1e-9, 1e-5), None),
        (of_groups(1e-5, 1e-8), None),
        (of_groups(0.0, 0.0), None),
        (of_groups(1e-9, 1e-8, rising=True), None),
    ],
    ids=["a few", "not at all", "all", "moving", "a hundredth of the rate", "frozen", "warming up"],
)
def test_a_group_that_hardly_moves_beside_others(events: list[Event], severity: str | None) -> None:
    found = examined(update_ratio_extreme.RULE, events)
    assert [finding.severity for finding in found] == ([severity] if severity else [])


def test_a_group_that_holds_most_matrices_is_told_of_with_its_own_rate() -> None:
    events = of_groups(1e-9, 1e-3, others=3)
    events = [updated(e.step, {0: 1e-3, 1: 1e-8, 2: 1e-8, 3: 1e-8}) if hasattr(e, "updates") else e for e in events]
    swapped = [
        structs.replace(e, groups=[structs.replace(e.groups[0], lr=1e-9), structs.replace(e.groups[1], lr=1e-3)])
        if hasattr(e, "groups")
        else e
        for e in events
    ]
    (finding,) = examined(update_ratio_extreme.RULE, swapped)
    assert (finding.severity, finding.evidence["learning_rate"], finding.parameters) == ("warning", 1e-9, (1, 2, 3))


# ------------------------------------------------------------------------------------------------------------- AD413


def norms(*totals: float) -> list[Event]:
    facts = {"wrote": [0, 1]}
    return [*MODEL, backward(**facts), *(stepped(s, {0: total, 1: 0.0}) for s, total in enumerate(totals))]


def spike(step: int, norm: float, *, optimizer: int = 0) -> GradientMeasured:
    return GradientMeasured(
        step=step, optimizer=optimizer, location=at(21), parameters=[0, 1], norms=[norm, norm / 10], loss=90.0
    )


CALM = [1.0, 2.0, 1.0, 1.5, 1.0, 1.0, 1.0, 1.0]


def test_a_spike_is_told_at_the_backward_with_its_step_and_its_layer() -> None:
    (finding,) = examined(gradient_spike.RULE, norms(*CALM), spike(57, 900.0))
    assert (finding.location, finding.severity, finding.confidence) == (at(20), "info", "medium")
    assert finding.message == ("in step 58 the norm of the gradients that `optimizer` used was 904, in others 1")
    assert (finding.subject, finding.step_first, finding.step_count) == ("net.weight", 58, 1)


@pytest.mark.parametrize(
    ("happened", "told"),
    [
        (norms(*CALM[:5], 201.0, 1.0, 1.0), 1),
        (norms(*CALM[:5], 199.0, 1.0, 1.0), 0),
        (norms(*CALM[:5], 201.0, 1.0), 0),
        (norms(1.0, 2.0, 900.0, *CALM[3:]), 0),
        (norms(1.0, 2.0, 1.0, 900.0, *CALM[4:]), 1),
        (norms(*CALM, 900.0, 900.0), 0),
        ([*norms(*CALM), spike(57, 900.0, optimizer=1)], 0),
        ([*norms(*CALM), spike(57, math.inf)], 0),
        (norms(*CALM, math.nan), 0),
        (norms(*CALM, math.nan, 900.0), 1),
        ([*norms(*CALM), spike(57, 900.0), clipped(0)], 0),
        ([*norms(*CALM), spike(57, 900.0), clipped(0, norm=0.5)], 1),
        (norms(*[0.0] * 8, 1.0), 0),
        ([*norms(*CALM), stepped(9, {0: 900.0}, skipped=True)], 0),
    ],
)  # fmt: skip
def test_one_step_has_to_stand_far_above_all_others(happened: list[Event], told: int) -> None:
    assert len(examined(gradient_spike.RULE, happened)) == told


# ------------------------------------------------------------------------------ AD405: what feeds on its own growth


def carried(*sizes: float, given: float | None = 1.0, numel: int = 8, **more: object) -> list[CarriedValueMeasured]:
    """A value in the steps 1, 2, 3 and then every 25."""
    steps = [1, 2, 3, *range(25, 1000, 25)]
    facts = {"value": 0, "operation": "add", "location": at(30), "kept_at": None, "in_loss": True, **more}
    return [
        CarriedValueMeasured(step=step, size=size, given=given, numel=numel, **facts)  # type: ignore[arg-type]
        for step, size in zip(steps, sizes, strict=False)
    ]


def overflow(high: float) -> NonFiniteProduced:
    operand = TensorFacts([8], "float32", low=-1.0, high=high)
    return NonFiniteProduced(
        step=40,
        operation="exp",
        location=at(31),
        output=TensorFacts([8], "float32", inf=1),
        operands=[operand],
        rows=[],
        reached="loss",
    )


FEEDS = (1.0, 1.5, 2.0, 1e3, 1e5)


def test_what_feeds_on_itself_is_told_where_it_does() -> None:
    (finding,) = examined(loss_diverges.RULE, [*diverged(1.0, 4000.0, 5e5, ratio=0.01), *carried(*FEEDS)])
    assert (finding.location, finding.severity, finding.confidence) == (at(30), "error", "high")
    assert "feeds on itself" in finding.message
    assert finding.evidence["sizes"] == "1 in step 2, 1.5 in step 3, 2 in step 4, 1e+03 in step 26, 1e+05 in step 51"
    assert [related.location for related in finding.related] == [at(20)]


def test_a_sum_without_end_is_a_warning() -> None:
    sums = carried(2.0, 3.0, 4.0, 26.0, 51.0, 76.0)
    (finding,) = examined(loss_diverges.RULE, [*diverged(1.0, 4000.0, 4000.0, ratio=0.01), *sums])
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "a sum that is never reset" in finding.message


@pytest.mark.parametrize(
    "happened",
    [
        carried(0.02, 0.03, 0.04, 0.9, 1.0, 1.0),
        carried(*FEEDS, in_loss=False),
        carried(*FEEDS, numel=1),
        carried(*FEEDS[:3], given=1.0) + carried(*FEEDS, given=1e5)[3:],
        carried(1.0, 1.5, 2.0, 3.0),
    ],
    ids=["mean from 0", "not in the loss", "single number", "given grows along", "hardly grows"],
)
def test_what_does_not_explain_a_loss_is_not_told(happened: list[CarriedValueMeasured]) -> None:
    assert examined(loss_diverges.RULE, [*diverged(1.0, 4000.0, 4000.0, ratio=0.01), *happened]) == []


def test_large_steps_are_told_before_what_they_make_grow() -> None:
    (finding,) = examined(loss_diverges.RULE, [*diverged(1.0, 4000.0, 5e5, ratio=0.5), *carried(*FEEDS)])
    assert finding.location == at(5)


@pytest.mark.parametrize(("high", "told"), [(8e4, 1), (40.0, 0)])
def test_an_overflow_of_what_has_grown_is_a_note(high: float, told: int) -> None:
    happened = [*diverged(1.0, 1.0, 1.0, ratio=0.01, non_finite=1), *carried(*FEEDS), overflow(high)]
    found = examined(loss_diverges.RULE, happened)
    assert len(found) == told
    assert all("`exp` in line 31 overflowed in step 41" in finding.notes[0] for finding in found)


# -------------------------------------------------------------------------------------------- AD412, weights that decay


def decayed(*left: float, lr: float = 0.1, decay: float = 1.0, norm: float = 9.0, losses: float = 1.0) -> list[Event]:
    """Of two matrices, what is left at each of the recorded steps, and losses that are so many times those before."""
    held = [ParameterGroup(parameters=[0, 1], lr=lr, weight_decay=decay)]
    two = [seen(0, "one.weight"), seen(1, "two.weight"), structs.replace(built(0, 1), groups=held)]
    ran = [
        backward(step, reached=[0, 1], root=TensorFacts(shape=[], dtype="float32", name="loss"), loss=level)
        for step, level in enumerate([1.0] * 4 + [losses] * 6)
    ]
    norms = [stepped(step, {0: norm, 1: norm}) for step in range(30)]
    sizes = [updated(step, {0: 0.01 * share, 1: 0.01 * share}, weight=share) for step, share in enumerate(left)]
    followed = LossesFollowed(
        step=9, location=at(20), first=0, backwards=10, opening=1.0, last=losses, low=1.0, high=1.0
    )
    return [*two, *ran, *norms, *sizes, followed]


SHRINKING = (1.0, 0.6, 0.4, 0.2, 0.1, 0.05, 0.04)


def test_a_decay_that_leaves_nothing_of_the_weights() -> None:
    (finding,) = examined(update_ratio_extreme.RULE, decayed(*SHRINKING))
    assert (finding.severity, finding.confidence, finding.location) == ("warning", "medium", at(5))
    assert "4.0e-02 of the size that 2 matrices" in finding.message
    (finding,) = examined(update_ratio_extreme.RULE, decayed(*SHRINKING, lr=0.001, norm=3.9))
    assert finding.evidence["weight_decay"] == 1.0, "added to gradients that are smaller"


@pytest.mark.parametrize(
    "happened",
    [
        decayed(*SHRINKING, losses=0.7),
        decayed(*SHRINKING[:-2], 0.2, 0.2),
        decayed(*SHRINKING, decay=0.0),
        decayed(*SHRINKING, lr=0.001, norm=4.1),
        [event for event in decayed(*SHRINKING) if not isinstance(event, LossesFollowed)],
    ],
    ids=["the loss falls", "something is left", "no decay", "gradients are larger", "no loss was followed"],
)
def test_weights_that_shrink_for_other_reasons(happened: list[Event]) -> None:
    assert examined(update_ratio_extreme.RULE, happened) == []
