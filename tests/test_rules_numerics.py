"""AD401 to AD403, AD410, AD414 to AD416, AD418 on hand-made traces: first causes are named, what they spoil is not."""

from __future__ import annotations

import math

import pytest
from traces import at, backward, built, examined, seen, stepped, steps, updated

from autograd_doctor.events.cycle import ScalerUsed
from autograd_doctor.events.data import WeightsLoaded
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.numerics import (
    EvaluationSpoiled,
    LossesFollowed,
    NonFiniteInput,
    NonFiniteProduced,
    PhaseTaken,
    SumStoodStill,
)
from autograd_doctor.events.run import LightStepsCounted, RunEnded
from autograd_doctor.events.steps import (
    BatchDrawn,
    Cut,
    GradientNormsMeasured,
    GradientsFoundBefore,
    NonFiniteGradient,
    Zeroing,
)
from autograd_doctor.rules.numerics import (
    coarse_phase,
    gradients_died,
    non_finite_backward,
    non_finite_evaluation,
    non_finite_forward,
    non_finite_input,
    sum_stands_still,
    zero_gradients,
)

OUTPUT = TensorFacts(shape=[32, 1], dtype="float32", nan=3, inf=2, numel=32)
RATE = TensorFacts(shape=[32, 1], dtype="float32", name="rate", low=0.0, high=1.25, made_at=at(8))


def born(step: int = 0, **more: object) -> NonFiniteProduced:
    facts = {"operation": "log", "output": OUTPUT, "operands": [RATE], "rows": [3, 7], "reached": "loss", **more}
    return NonFiniteProduced(step=step, location=at(12), **facts)  # type: ignore[arg-type]


def spoiled(step: int = 0, **more: object) -> NonFiniteGradient:
    facts = {"node": "SqrtBackward0", "operation": "sqrt", "operands": [RATE], "parameters": [0], "absorbed": False}
    return NonFiniteGradient(step=step, location=at(14), backward=step, **{**facts, **more})  # type: ignore[arg-type]


def came_in(step: int = 0, **facts: object) -> NonFiniteInput:
    tensor = TensorFacts(**{"shape": [8, 4], "dtype": "float32", "name": "features", "nan": 1, "numel": 32, **facts})
    return NonFiniteInput(step=step, tensor=tensor, location=at(30), rows=[1])


def scaled(*, found_inf: bool, call: str, line: int = 22) -> ScalerUsed:
    return ScalerUsed(scaler=0, call=call, scale=2.0**16, location=at(line), found_inf=found_inf)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------------- AD401


def test_birth_is_named_with_operation_ranges_and_rows() -> None:
    (finding,) = examined(non_finite_forward.RULE, born(4))
    assert (finding.location, finding.severity, finding.step_first) == (at(12), "error", 5)
    assert finding.message == (
        "`log` made 3 NaN and 2 Inf out of finite values: `rate` of shape [32, 1] from 0 to 1.25"
    )
    assert finding.evidence["rows_of_the_batch"] == "3, 7"
    assert finding.related[0].location == at(8)
    assert "clamp_min" in finding.help


RISING = [1e-4 * 4**step for step in range(6)]


@pytest.mark.parametrize(
    ("rates", "later", "loaded", "told"),
    [
        (RISING, [1e-3], [0], False),
        (RISING, [1e-3], [], True),
        (RISING, [1.0], [0], True),
        (RISING[:4], [1e-3], [0], True),
        ([1e-3] * 6, [1e-3], [0], True),
        ([2.0**step for step in range(6)], [1e-3], [0], True),
        (RISING, [], [], True),
    ],
    ids=["put back", "not put back", "goes on so", "too few", "no test", "not wide", "the end"],
)
def test_a_test_of_rates_ends_where_training_diverges(
    rates: list[float], later: list[float], loaded: list[int], told: bool
) -> None:
    tried = [stepped(step, {0: 1.0}, learning_rates=[rate]) for step, rate in enumerate(rates)]
    end = len(rates)
    back = [WeightsLoaded(step=end, parameters=loaded)] if loaded else []
    after = [stepped(end + place, {0: 1.0}, learning_rates=[rate]) for place, rate in enumerate(later)]
    events = (built(0), tried, born(end, reached="read"), back, after)
    assert bool(examined(non_finite_forward.RULE, *events)) is told


def test_a_test_of_rates_may_be_made_with_a_copy() -> None:
    tried = [stepped(step, {0: 1.0}, learning_rates=[rate]) for step, rate in enumerate(RISING)]
    other = stepped(9, {1: 1.0}, optimizer=1, learning_rates=[1e-3])
    assert not examined(non_finite_forward.RULE, built(0), built(1, optimizer=1), tried, born(6, reached="read"), other)
    assert examined(non_finite_forward.RULE, built(0), built(1, optimizer=1), tried, born(6, reached="loss"), other)


def test_a_loss_that_stays_spoiled_is_told_although_nothing_tells_why() -> None:
    """Of the step in which it began nobody knows the operations, nor does the graph tell."""

    def losses(first: int, backwards: int, *, spoiled: int) -> LossesFollowed:
        finite = None if spoiled == backwards else 1.0
        return LossesFollowed(
            step=first + backwards,
            location=at(20),
            first=first,
            backwards=backwards,
            opening=finite,
            last=finite,
            low=finite,
            high=finite,
            non_finite=spoiled,
        )

    few = [losses(0, 10, spoiled=3), losses(10, 10, spoiled=10), losses(20, 9, spoiled=9)]
    assert examined(non_finite_forward.RULE, *few) == []
    (finding,) = examined(non_finite_forward.RULE, *few, losses(29, 10, spoiled=10))
    assert (finding.location, finding.severity, finding.step_first, finding.step_count) == (at(20), "error", 11, 29)
    assert finding.message == "the loss is not finite any more: none of the last 29 was"
    assert examined(non_finite_forward.RULE, *few, losses(29, 10, spoiled=10), losses(39, 10, spoiled=9)) == []


def test_nan_that_infinities_of_the_program_became_names_where_these_were_written() -> None:
    masked = TensorFacts([16], "float32", low=0.0, high=1.0, inf=1)
    (finding,) = examined(
        non_finite_forward.RULE,
        born(operation="sub", operands=[masked], output=TensorFacts([16], "float32", nan=1), written_at=at(9)),
    )
    assert finding.message == "`sub` made 1 NaN out of infinities: a tensor of shape [16] from 0 to 1 with 1 Inf"
    assert finding.related[0].location == at(9)
    assert "0 times" in finding.notes[0]


@pytest.mark.parametrize(
    ("operation", "words"), [("__rtruediv__", "divisor"), ("var", "correction"), ("frob", "bound")]
)
def test_help_of_a_birth_fits_the_operation(operation: str, words: str) -> None:
    (finding,) = examined(non_finite_forward.RULE, born(operation=operation))
    assert words in finding.help


def test_operands_out_of_proportion_are_the_cause_rather_than_the_operation() -> None:
    (finding,) = examined(non_finite_forward.RULE, born(operands=[TensorFacts([4], "float32", low=0.0, high=1e30)]))
    assert finding.confidence == "medium"
    assert "made them grow" in finding.help


@pytest.mark.parametrize(
    "happened",
    [
        (born(low_precision=True),),
        (born(operation="from_numpy"),),
        (scaled(found_inf=False, call="scale", line=12), born(operation="mul"), scaled(found_inf=True, call="step")),
        (spoiled(2), born(3)),
        (born(reached="gradient"), spoiled()),
    ],
    ids=["range of the dtype", "imported", "tried scale", "weights spoiled before", "left to the backward"],
)
def test_birth_that_has_another_cause_is_silent(happened: tuple[Event, ...]) -> None:
    assert examined(non_finite_forward.RULE, happened) == []


# ------------------------------------------------------------------------------------------------------------- AD402


def test_spoiled_gradient_is_named_by_the_forward_line() -> None:
    (finding,) = examined(non_finite_backward.RULE, seen(0, "net.weight"), backward(), spoiled())
    assert (finding.location, finding.severity, finding.parameters) == (at(14), "error", (0,))
    assert finding.message == (
        "the backward of `sqrt` made NaN or Inf out of finite gradients at `rate` of shape [32, 1] from 0 to 1.25, "
        "which makes the gradients of `net.weight` non-finite"
    )
    assert finding.related[0].location == at(20)


def test_role_of_a_saved_tensor_is_no_name() -> None:
    saved = TensorFacts(shape=[4], dtype="float32", name="self", low=0.0, high=1.0)
    (finding,) = examined(non_finite_backward.RULE, backward(), spoiled(operands=[saved], parameters=[]))
    assert finding.subject == "sqrt"
    assert finding.message.endswith("at an operand of shape [4] from 0 to 1")


def test_absorbed_value_is_an_info() -> None:
    (finding,) = examined(non_finite_backward.RULE, spoiled(absorbed=True, parameters=[]))
    assert finding.severity == "info"


def test_only_the_first_spoiled_gradient_is_a_cause() -> None:
    (finding,) = examined(non_finite_backward.RULE, spoiled(1), spoiled(2, node="MulBackward0"))
    assert finding.step_first == 2


@pytest.mark.parametrize(
    "happened",
    [
        (spoiled(skipped=True), stepped(0, {0: 1.0})),
        (spoiled(3), stepped(3, {0: math.inf}, skipped=True), stepped(3, {0: 1.0})),
        (spoiled(), scaled(found_inf=True, call="step"), stepped(0, {0: 1.0})),
        (born(2), spoiled(2)),
    ],
    ids=["marked as skipped", "step skipped", "found by the scaler", "spoiled on the way forward"],
)
def test_spoiled_gradient_that_has_another_cause_is_silent(happened: tuple[Event, ...]) -> None:
    assert examined(non_finite_backward.RULE, happened) == []


def test_scaler_that_never_recovers_does_not_excuse_the_gradient() -> None:
    assert len(examined(non_finite_backward.RULE, spoiled(), scaled(found_inf=True, call="step"))) == 1


# ------------------------------------------------------------------------------------------------------------- AD403


def test_spoiled_batch_is_named_with_rows_and_loader() -> None:
    drawn = BatchDrawn(loader=0, name="loader", location=at(25), pass_number=1, batches=1)
    (finding,) = examined(non_finite_input.RULE, drawn, came_in())
    assert (finding.location, finding.subject) == (at(30), "features")
    assert finding.evidence["loader"] == "loader"
    assert finding.message == "the tensor `features` contained 1 NaN before any operation changed it, in rows 1"


def test_data_imported_from_python_are_an_input() -> None:
    (finding,) = examined(non_finite_input.RULE, born(operation="tensor", operands=[]))
    assert finding.location == at(12)


def test_a_batch_that_holds_an_imported_sample_is_no_cause_of_its_own() -> None:
    drawn = [
        BatchDrawn(loader=number, name="", location=at(line), pass_number=1, batches=1, step=number)
        for number, line in enumerate((25, 45))
    ]
    events = drawn[0], born(operation="tensor", operands=[]), came_in(), drawn[1], came_in(1)
    first, second = examined(non_finite_input.RULE, *events)
    assert {first.location, second.location} == {at(12), at(30)}


def test_parameter_that_starts_spoiled_is_named_as_such() -> None:
    (finding,) = examined(non_finite_input.RULE, seen(0, "scale"), came_in(name="scale", requires_grad=True))
    assert finding.message.startswith("the parameter `scale`")
    assert "torch.empty" in finding.help


@pytest.mark.parametrize(
    "happened",
    [(spoiled(1), came_in(2)), (seen(0, "scale"), came_in(5, name="scale", requires_grad=True))],
    ids=["after a spoiled gradient", "parameter spoiled by an update"],
)
def test_spoiled_weights_are_no_input(happened: tuple[Event, ...]) -> None:
    assert examined(non_finite_input.RULE, happened) == []


# ------------------------------------------------------------------------------------------------------------- AD410

WHO = (seen(0, "model.0.weight"), seen(1, "model.2.weight"), seen(2, "model.0.bias", shape=(4,)), built(0, 1, 2))
RELU = Zeroing(operation="relu", location=at(11), parameters=[0, 2])
FINISHED = RunEnded(reason="finished")


def dead(count: int = 6, zeroing: Zeroing = RELU, **more: object) -> list[Event]:
    return steps(count, {0: 0.0, 1: 1.0, 2: 0.0}, backward={"zeroings": [zeroing], "loss": 2.0, **more})


def test_zero_gradients_are_reported_once_at_the_operation() -> None:
    (finding,) = examined(zero_gradients.RULE, WHO, dead(), FINISHED)
    assert (finding.location, finding.severity, finding.parameters) == (at(11), "error", (0, 2))
    assert "in all of 6 steps" in finding.message


def test_zero_gradients_may_pass_by_in_a_run_that_was_stopped_unless_both_factors_are_zero() -> None:
    (finding,) = examined(zero_gradients.RULE, WHO, dead(), RunEnded(reason="steps"))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    for_good = Zeroing("matmul", at(11), [0, 2], zero_factors=2)
    (finding,) = examined(zero_gradients.RULE, WHO, dead(zeroing=for_good), RunEnded(reason="steps"))
    assert finding.severity == "error"


def test_what_had_gradients_in_an_earlier_chapter_may_have_learned_all() -> None:
    before = GradientsFoundBefore(parameters=[0, 2])
    assert examined(zero_gradients.RULE, WHO, before, dead(), FINISHED) == []
    assert examined(zero_gradients.RULE, WHO, GradientsFoundBefore(parameters=[1]), dead(), FINISHED)


def test_where_nothing_learns_there_is_no_stage_to_wait_for() -> None:
    facts = {"zeroings": [RELU], "loss": 2.0}
    nothing = steps(6, {0: 0.0, 2: 0.0}, backward=facts)
    (finding,) = examined(zero_gradients.RULE, WHO, nothing, RunEnded(reason="steps"))
    assert finding.severity == "error"


def test_what_only_shares_of_a_single_number_could_teach_is_left_to_another_rule() -> None:
    alone = {"wrote": [0, 1, 2], "of_one": [0, 2]}
    assert not examined(zero_gradients.RULE, WHO, dead(**alone), FINISHED)
    assert not examined(zero_gradients.RULE, WHO, dead(zeroings=[], **alone), FINISHED)
    otherwise = backward(9, wrote=[0, 2])
    assert examined(zero_gradients.RULE, WHO, dead(**alone), otherwise, FINISHED)


def test_weights_that_are_fed_zeros_belong_to_the_same_cause() -> None:
    facts = {"zeroings": [RELU], "loss": 2.0}
    (finding,) = examined(zero_gradients.RULE, WHO, steps(6, {0: 0.0, 1: 0.0, 2: 0.0}, backward=facts))
    assert finding.parameters == (0, 1, 2)


def test_a_gradient_that_was_measured_in_a_step_between_the_recorded_ones_counts() -> None:
    measured = GradientNormsMeasured(step=3, optimizer=0, parameters=[0, 1], norms=[0.2, 0.1])
    assert not examined(zero_gradients.RULE, WHO, dead(), measured, FINISHED)
    zeros = GradientNormsMeasured(step=3, optimizer=0, parameters=[0, 1], norms=[0.0, 0.0])
    assert examined(zero_gradients.RULE, WHO, dead(), zeros, FINISHED)


def test_zero_gradients_without_an_operation_are_a_warning_at_the_optimizer() -> None:
    (finding,) = examined(zero_gradients.RULE, WHO, dead(zeroings=[]), FINISHED)
    assert (finding.location, finding.severity) == (at(5), "warning")


def test_term_weighted_with_zero_beside_a_loss_that_trains_is_a_warning() -> None:
    (finding,) = examined(zero_gradients.RULE, WHO, dead(zeroing=Zeroing("mul", at(13), [0, 2])), FINISHED)
    assert finding.severity == "warning"


def test_few_steps_prove_nothing() -> None:
    assert examined(zero_gradients.RULE, WHO, dead(3)) == []


def test_gradient_that_was_zero_only_at_first_is_silent() -> None:
    assert examined(zero_gradients.RULE, WHO, dead(), stepped(6, {0: 0.1})) == []


def test_bias_that_cancels_by_mathematics_is_silent() -> None:
    cancelled = steps(8, {0: 1.0, 1: 1.0, 2: 0.0}, backward={"zeroings": [Zeroing("sub", at(11), [2])], "loss": 1.0})
    assert examined(zero_gradients.RULE, WHO, cancelled) == []


def test_loss_of_zero_has_nothing_to_teach() -> None:
    assert examined(zero_gradients.RULE, WHO, dead(loss=0.0)) == []


def test_rounding_is_left_to_the_rule_on_cuts() -> None:
    cut = Cut(operation="round", location=at(11), parameters=[0, 2], reason="zero-derivative")
    assert examined(zero_gradients.RULE, WHO, dead(zeroings=[], cuts=[cut])) == []


def test_expert_with_a_closed_gate_has_siblings_that_open_now_and_then() -> None:
    experts = [seen(number, f"model.experts.{number}.weight", series="model.experts.*.weight") for number in range(3)]
    facts = {"wrote": [0, 1, 2], "reached": [0, 1, 2], "loss": 1.0}
    chosen = [
        event for s in range(6) for event in (backward(s, **facts), stepped(s, {s % 2: 1.0, 1 - s % 2: 0.0, 2: 0.0}))
    ]
    assert examined(zero_gradients.RULE, experts, built(0, 1, 2), chosen) == []


# ------------------------------------------------------------------------------------------------------------- AD414

BOTH = (seen(0, "net.weight"), seen(1, "net.bias"), built(0, 1))


def lives(*norms: float, **more: object) -> list[Event]:
    """Steps that find gradients of these norms, and the backwards that write them."""
    facts = {"wrote": [0, 1], "loss": 3.0, **more}
    return [
        event
        for step, norm in enumerate(norms)
        for event in (backward(step, **facts), stepped(step, {0: norm, 1: norm}))
    ]


def test_gradients_that_died_are_told_at_the_backward() -> None:
    (finding,) = examined(gradients_died.RULE, BOTH, lives(1.0, 2.0, *[0.0] * 10))
    assert (finding.severity, finding.confidence, finding.location) == ("error", "medium", at(20))
    assert finding.message.startswith("step 2 was the last with a nonzero gradient: in all 10 later steps")
    assert finding.parameters == (0, 1)


def test_gradients_that_died_are_told_at_the_operation_or_at_the_optimizer_that_threw_the_weights() -> None:
    clamp = Zeroing(operation="clamp", location=at(12), parameters=[0, 1])
    died = lives(1.0, *[0.0] * 10, zeroings=[clamp])
    (finding,) = examined(gradients_died.RULE, BOTH, died)
    assert (finding.location, finding.confidence) == (at(12), "high")
    (finding,) = examined(gradients_died.RULE, BOTH, died, updated(0, {0: 50.0, 1: 50.0}))
    assert (finding.location, finding.confidence) == (at(5), "high")
    (finding,) = examined(gradients_died.RULE, BOTH, died, updated(0, {0: 0.5, 1: 0.5}))
    assert finding.location == at(12)


@pytest.mark.parametrize(
    "happened",
    [
        lives(1.0, *[0.0] * 9),
        lives(*[0.0] * 20),
        lives(1.0, *[0.0] * 12, 0.5),
        lives(1.0, *[0.0] * 12, loss=0.0),
        lives(1.0, *[0.0] * 12, wrote=[0]),
        [*lives(1.0, *[0.0] * 12), backward(13, wrote=[0, 1], sent_to=[1], loss=3.0)],
        [*lives(1.0, *[0.0] * 12), LightStepsCounted(step=20, first=13, steps=7, backwards=7, loss=0.0)],
        [*lives(1.0, wrote=[0, 1]), *(stepped(step, {0: 0.0, 1: 0.0}) for step in range(1, 13))],
    ],
    ids=[
        "few steps",
        "never alive",
        "came back",
        "all is learned",
        "a part rests",
        "masked",
        "all is learned later",
        "cleared",
    ],
)
def test_gradients_that_are_not_dead(happened: list[Event]) -> None:
    assert examined(gradients_died.RULE, BOTH, happened) == []


# ------------------------------------------------------------------------------------------------------------- AD415


def still(step: int, **more: object) -> SumStoodStill:
    facts = {"location": at(9), "name": "calls", "dtype": "bfloat16", "value": 256.0, "added": 1.0, **more}
    return SumStoodStill(step=step, **facts)  # type: ignore[arg-type]


def test_a_counter_that_stands_still() -> None:
    (finding,) = examined(sum_stands_still.RULE, still(256), still(257))
    assert (finding.severity, finding.location, finding.step_count) == ("warning", at(9), 2)
    assert finding.message.endswith(
        "adding 1 to it changes nothing in bfloat16; bfloat16 can count in ones only up to 256"
    )


@pytest.mark.parametrize(
    "events",
    [[still(256)], [still(256), still(257, value=512.0)], [still(256), still(257, location=at(10))]],
    ids=["once", "it goes on", "at two lines"],
)
def test_sums_that_go_on(events: list[SumStoodStill]) -> None:
    assert examined(sum_stands_still.RULE, events) == []


# ------------------------------------------------------------------------------------------------------------- AD416


@pytest.mark.parametrize(("counted", "evaluations", "told"), [(False, 2, 1), (True, 2, 0), (True, 3, 1)])
def test_what_is_counted_may_be_nothing_at_first(counted: bool, evaluations: int, told: int) -> None:
    event = EvaluationSpoiled(
        step=9,
        born=born(operation="div"),
        read_at=at(40),
        evaluations=evaluations,
        spoiled=evaluations,
        nan=True,
        lasts=True,
        in_training=True,
        counted=counted,
    )
    assert len(examined(non_finite_evaluation.RULE, event)) == told


# ------------------------------------------------------------------------------------------------------------- AD418


def phase(**more: object) -> PhaseTaken:
    facts = {"location": at(9), "made_at": at(4), "operation": "remainder", "dtype": "float32", "period": 180.0, **more}
    sizes = {"largest": 1.7e9, "error": 64.0}
    return PhaseTaken(step=0, **{**sizes, **facts})  # type: ignore[arg-type]


def test_times_that_are_too_coarse_are_told_once_where_they_became_so() -> None:
    (finding,) = examined(coarse_phase.RULE, phase(period=400.0), phase(), phase(operation="fmod", period=500.0))
    assert (finding.severity, finding.location) == ("warning", at(4))
    assert "`remainder` is taken of numbers up to 1,700,000,000 that float32 has rounded" in finding.message
    assert "they are off by 64, and the period is 180" in finding.message
    assert [place.location for place in finding.related] == [at(9)]


def test_where_numbers_became_coarse_may_not_be_known() -> None:
    (finding,) = examined(coarse_phase.RULE, phase(made_at=None, operation="sin", period=2 * math.pi))
    assert finding.location == at(9)
    assert not finding.related
    assert "a turn is 6.28" in finding.message


@pytest.mark.parametrize("event", [phase(period=86_400.0), phase(error=3.0)], ids=["a long period", "hardly off"])
def test_phases_that_are_fine_enough(event: PhaseTaken) -> None:
    assert examined(coarse_phase.RULE, event) == []
