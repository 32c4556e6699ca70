"""AD404 on hand-made traces: overflows of small dtypes, and what a scaler puts right."""

from __future__ import annotations

import math

import pytest
from traces import at, backward, built, examined, in_order, seen, stepped

from autograd_doctor.events.cycle import ScalerUsed
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.numerics import NonFiniteProduced
from autograd_doctor.events.steps import GradientsCleared, NonFiniteGradient
from autograd_doctor.rules.numerics import low_precision_overflow

MODEL = (seen(0, "net.weight"), seen(1, "net.bias", shape=(4,)), built(0, 1))

HALF = TensorFacts(shape=[32], dtype="float16", inf=3, numel=32, name="energy")
HIDDEN = TensorFacts(shape=[32, 64], dtype="float16", name="hidden", low=-210.0, high=300.0, made_at=at(8))


def overflowed(step: int = 0, **more: object) -> NonFiniteProduced:
    facts = {"operation": "sum", "output": HALF, "operands": [HIDDEN], "rows": [3], "reached": "loss"}
    return NonFiniteProduced(step=step, location=at(12), **{"low_precision": True, **facts, **more})  # type: ignore[arg-type]


def overflowed_backward(step: int = 0, **more: object) -> NonFiniteGradient:
    facts = {"node": "MulBackward0", "operation": "mul", "operands": [], "parameters": [0], "absorbed": False}
    facts |= {"low_precision": True, "location": at(14), "backward": step}
    return NonFiniteGradient(step=step, **{**facts, **more})  # type: ignore[arg-type]


def scaled(call: str, *, found_inf: bool = False, line: int = 22) -> ScalerUsed:
    return ScalerUsed(scaler=0, call=call, scale=2.0**16, location=at(line), found_inf=found_inf)  # type: ignore[arg-type]


def test_an_overflow_of_float16_is_told_with_its_limit_and_what_went_in() -> None:
    (finding,) = examined(low_precision_overflow.RULE, overflowed(4))
    assert (finding.location, finding.severity, finding.confidence, finding.step_first) == (at(12), "error", "high", 5)
    assert finding.message == (
        "`sum` overflowed float16: 3 of 32 values are not finite, but in float32 all are finite "
        "(`hidden` of shape [32, 64] from -210 to 300)"
    )
    assert "65,504" in finding.help
    assert (finding.subject, finding.evidence["rows_of_the_batch"]) == ("energy", "3")
    assert [(each.message, each.location) for each in finding.related] == [("`hidden` was made here", at(8))]


def test_an_overflow_backward_names_the_forward_line_and_the_parameters() -> None:
    (finding,) = examined(low_precision_overflow.RULE, MODEL, backward(), overflowed_backward())
    assert (finding.location, finding.parameters) == (at(14), (0,))
    assert finding.message.endswith("which makes the gradients of `net.weight` non-finite")
    assert "GradScaler" in finding.help
    assert finding.related[0].location == at(20)
    (finding,) = examined(low_precision_overflow.RULE, backward(), overflowed_backward(location=None))
    assert finding.location == at(20)


@pytest.mark.parametrize("low", [False, None])
def test_what_float32_does_not_hold_either_is_left_to_others(low: bool | None) -> None:
    assert examined(low_precision_overflow.RULE, overflowed(low_precision=low)) == []
    assert examined(low_precision_overflow.RULE, overflowed_backward(low_precision=bool(low))) == []


def test_only_the_first_spoiled_value_is_a_cause() -> None:
    mathematics = overflowed(1, low_precision=False)
    assert examined(low_precision_overflow.RULE, mathematics, overflowed(2)) == []
    (finding,) = examined(
        low_precision_overflow.RULE, overflowed_backward(3), overflowed(2), mathematics, overflowed(0)
    )
    assert finding.step_first == 1


@pytest.mark.parametrize(
    "happened",
    [
        (overflowed(), scaled("step", found_inf=True), stepped(0, {0: 1.0})),
        (overflowed(3), stepped(3, {0: math.inf}, skipped=True), stepped(3, {0: 1.0})),
        (overflowed_backward(), scaled("step", found_inf=True), stepped(0, {0: 1.0})),
        (overflowed_backward(skipped=True), stepped(1, {0: 1.0})),
        (overflowed_backward(absorbed=True),),
        (scaled("scale", line=12), overflowed(operation="mul"), scaled("step", found_inf=True)),
    ],
    ids=["skipped", "skipped by a fused optimizer", "gradient", "gradient that is marked", "absorbed", "tried scale"],
)
def test_overflows_that_a_scaler_has_put_right_are_silent(happened: tuple[Event, ...]) -> None:
    assert examined(low_precision_overflow.RULE, happened) == []


@pytest.mark.parametrize("event", [overflowed(), overflowed_backward()])
def test_a_scaler_that_skips_every_step_puts_nothing_right(event: Event) -> None:
    assert len(examined(low_precision_overflow.RULE, event, scaled("step", found_inf=True))) == 1


def cleared(step: int = 0, *parameters: int, unused: tuple[int, ...] = ()) -> GradientsCleared:
    return GradientsCleared(step=step, parameters=list(parameters), unused=list(unused), how="by hand", location=at(19))


BOTH = overflowed_backward(parameters=[0, 1])


def test_gradients_that_a_loss_scale_of_the_program_left_unused_are_silent() -> None:
    again = (cleared(0, 0, 1, unused=(0, 1)), stepped(1, {0: 1.0, 1: 1.0}))
    assert examined(low_precision_overflow.RULE, in_order(MODEL, backward(), BOTH, again)) == []


@pytest.mark.parametrize(
    "later",
    [
        (cleared(0, 0, 1), stepped(1, {0: 1.0, 1: 1.0})),
        (cleared(0, 0, 1, unused=(0,)), stepped(1, {0: 1.0, 1: 1.0})),
        (cleared(0, 0, unused=(0,)), stepped(1, {0: 1.0, 1: 1.0})),
        (stepped(0, {0: math.inf, 1: 1.0}), cleared(1, 0, 1), backward(1), cleared(1, 0, 1, unused=(0, 1))),
        (cleared(0, 0, 1, unused=(0, 1)),),
    ],
    ids=["a step used them", "used one of them", "cleared one of them", "cleared without use later", "never goes on"],
)
def test_gradients_that_left_their_range_and_were_not_left_unused(later: tuple[Event, ...]) -> None:
    assert len(examined(low_precision_overflow.RULE, in_order(MODEL, backward(), BOTH, later))) == 1


def test_what_was_cleared_before_the_overflow_excuses_nothing() -> None:
    happened = (cleared(0, 0, 1, unused=(0, 1)), backward(), BOTH, stepped(0, {0: math.inf, 1: 1.0}))
    assert len(examined(low_precision_overflow.RULE, in_order(MODEL, happened))) == 1
