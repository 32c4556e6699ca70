"""Rules on what reached a loss, on traces made by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from msgspec.structs import replace
from traces import at, backward, built, examined, seen, stepped

from autograd_doctor.events.errors import OperationFailed
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.losses import (
    LossComputed,
    LossOperand,
    PaddedTargetsSeen,
    PairsMeant,
    PairsReduced,
    Shaping,
    SoftmaxOfOne,
)
from autograd_doctor.events.run import ProgramRaised, RunEnded
from autograd_doctor.events.steps import Zeroing
from autograd_doctor.findings import Finding
from autograd_doctor.rules import SO_FAR, Rule
from autograd_doctor.rules.losses import (
    broadcast_comparison,
    broadcast_loss,
    double_sigmoid,
    double_softmax,
    invalid_probability,
    loss_arguments_swapped,
    loss_without_bound,
    output_range_excludes_target,
    padding_counted,
    probabilities_as_log_probabilities,
    softmax_over_batch,
    softmax_over_singleton,
    squashed_logits,
)

WEIGHT, FROZEN = 0, 1
WHO = (seen(WEIGHT, "weight"), seen(FROZEN, "frozen.weight", requires_grad=False), built(WEIGHT))
PROBABILITIES = {"sums": [1.0, 1.0], "log_sums": [1.2, 1.4]}
LOG_PROBABILITIES = {"sums": [-9.0, -4.0], "log_sums": [0.0, 0.0]}
SCORES = {"sums": [-3.0, 4.0], "log_sums": [1.0, 5.0]}


def shaping(operation: str, *behind: str, line: int = 8, dim: int | None = None, **more: Any) -> Shaping:
    first = shaping(*behind, line=line - 1) if behind else None
    facts = {"shape": [16, 3], "dim": dim, **({"low": 0.0} if operation == "relu" else {}), **more}
    return Shaping(operation=operation, location=at(line), behind=first, **facts)


def operand(
    low: float, high: float, *, shape: tuple[int, ...] = (16, 3), live: bool = False, **more: Any
) -> LossOperand:
    facts = TensorFacts(shape=list(shape), dtype="float32", name="out" if live else "y", requires_grad=live)
    facts = TensorFacts(**{**{n: getattr(facts, n) for n in facts.__struct_fields__}, "low": low, "high": high})
    return LossOperand(facts=facts, **more)


def prediction(made: Shaping | None, low: float = -2.0, high: float = 2.0, **more: Any) -> LossOperand:
    return operand(low, high, live=True, shaping=made, **{**SCORES, **more})


CLASSES = operand(0, 2, shape=(16,))
BINARY = operand(0, 1, binary=True)


def loss(
    operation: str, given: LossOperand, wanted: LossOperand = CLASSES, *, step: int = 0, **more: Any
) -> list[Event]:
    """A loss, and the backward through it."""
    facts: dict[str, Any] = {"class_dim": 1, "backward": step, "location": at(20), **more}
    event = LossComputed(step=step, operation=operation, prediction=given, target=wanted, **facts)
    return [backward(step, reached=[WEIGHT]), event]


def the_finding(rule: Rule, *events: Any) -> Finding:
    (finding,) = examined(rule, WHO, *events)
    return finding


def line_of(finding: Finding) -> int | None:
    return finding.location.line if finding.location is not None else None


# ------------------------------------------------------------------------------------------------------ which losses


def test_a_loss_counts_if_its_backward_trains_something() -> None:
    _, event = loss("cross_entropy", prediction(shaping("softmax"), 0, 1, **PROBABILITIES))
    assert examined(double_softmax.RULE, WHO, event) == []
    assert examined(double_softmax.RULE, WHO, backward(0, reached=[FROZEN]), event) == []
    assert len(examined(double_softmax.RULE, WHO, backward(0, reached=[WEIGHT]), event)) == 1


def test_what_is_not_so_in_every_call_at_a_line_is_an_accident() -> None:
    beyond, within = operand(-1, 1), operand(0, 1)
    given = prediction(shaping("linear"))
    name = "binary_cross_entropy_with_logits"
    assert examined(invalid_probability.RULE, WHO, loss(name, given, beyond), loss(name, given, within, step=1)) == []
    twice = the_finding(invalid_probability.RULE, loss(name, given, beyond), loss(name, given, beyond, step=1))
    assert (twice.step_count, twice.step_first) == (2, 1)


# ---------------------------------------------------------------------------------------------- softmax and sigmoid


def test_a_double_softmax_is_where_the_first_one_is() -> None:
    found = the_finding(
        double_softmax.RULE, loss("cross_entropy", prediction(shaping("softmax"), 0.1, 0.8, **PROBABILITIES))
    )
    assert (line_of(found), found.severity, found.confidence) == (8, "error", "high")
    assert "`out` came out of `softmax`" in found.message
    assert "0.1 to 0.8 can give none of 3 classes a probability above 0.58" in found.message
    assert [note.location.line for note in found.related] == [20]


def test_probabilities_of_unknown_making_are_told_with_less_confidence() -> None:
    found = the_finding(double_softmax.RULE, loss("cross_entropy", prediction(None, 0.1, 0.8, **PROBABILITIES)))
    assert (line_of(found), found.severity, found.confidence, found.related) == (20, "error", "medium", ())
    assert "holds rows that sum to one" in found.message


@pytest.mark.parametrize(
    ("operation", "made", "line"),
    [
        ("nll_loss", shaping("log_softmax", "softmax"), 7),
        ("cross_entropy", shaping("log_softmax", "softmax"), 7),
        ("mul", shaping("log", "softmax", "softmax"), 6),
        ("nll_loss", shaping("log_softmax", "gumbel_softmax"), 7),
    ],
)
def test_a_softmax_behind_a_log_softmax(operation: str, made: Shaping, line: int) -> None:
    found = the_finding(double_softmax.RULE, loss(operation, prediction(made, -3, -0.1, **LOG_PROBABILITIES)))
    assert (line_of(found), found.severity) == (line, "error")
    assert "between 0 and 1" in found.message


@pytest.mark.parametrize(
    ("operation", "given", "more"),
    [
        ("cross_entropy", prediction(shaping("linear")), {}),
        ("nll_loss", prediction(shaping("log_softmax"), -3, 0, **LOG_PROBABILITIES), {}),
        ("nll_loss", prediction(shaping("log", "softmax"), -3, 0, **LOG_PROBABILITIES), {}),
        ("cross_entropy", operand(0, 1, **PROBABILITIES), {}),
        ("cross_entropy", prediction(shaping("softmax"), 0, 1, sums=[0.2, 3.0], log_sums=[0.5, 2.0]), {}),
        ("cross_entropy", operand(1, 1, shape=(16, 1), live=True, sums=[1.0, 1.0]), {}),
    ],
    ids=["scores", "log-probabilities", "a logarithm", "no graph", "another dimension", "one class"],
)
def test_no_double_softmax(operation: str, given: LossOperand, more: dict[str, Any]) -> None:
    assert examined(double_softmax.RULE, WHO, loss(operation, given, **more)) == []


def test_log_probabilities_for_cross_entropy_are_worth_a_word() -> None:
    given = prediction(shaping("log_softmax"), -3, 0, **LOG_PROBABILITIES)
    found = the_finding(double_softmax.RULE, loss("cross_entropy", given))
    assert (line_of(found), found.severity) == (8, "info")


@pytest.mark.parametrize("operation", ["sigmoid", "hardsigmoid", "softmax"])
def test_a_double_sigmoid(operation: str) -> None:
    given = prediction(shaping(operation), 0.2, 0.9)
    found = the_finding(double_sigmoid.RULE, loss("binary_cross_entropy_with_logits", given, BINARY))
    assert (line_of(found), found.severity) == (8, "error")
    assert "0.2 to 0.9" in found.message
    assert examined(double_sigmoid.RULE, WHO, loss("binary_cross_entropy", given, BINARY)) == []


@pytest.mark.parametrize(
    ("operation", "made"),
    [
        ("binary_cross_entropy", shaping("sigmoid", "sigmoid")),
        ("mul", shaping("sigmoid", "sigmoid")),
        ("mul", shaping("log", "sigmoid", "softmax")),
        ("__rmul__", shaping("logsigmoid", "sigmoid")),
        ("sub", shaping("hardsigmoid", "sigmoid")),
    ],
)
def test_a_double_sigmoid_by_hand(operation: str, made: Shaping) -> None:
    found = the_finding(double_sigmoid.RULE, loss(operation, prediction(made), BINARY))
    assert line_of(found) in (6, 7)
    assert "once more" in found.message
    once = loss(operation, prediction(shaping("sigmoid", "linear")), BINARY)
    assert examined(double_sigmoid.RULE, WHO, once) == []


@pytest.mark.parametrize(
    ("operation", "made", "words"),
    [
        ("cross_entropy", shaping("relu", low=0.0), "gets no gradient"),
        ("cross_entropy", shaping("clamp_min", low=0.0), "none is below 0, and a class"),
        ("cross_entropy", shaping("clamp", low=0.0, high=30.0), "none is below 0, and a class"),
        ("cross_entropy", shaping("gru_cell", low=-1.0, high=1.0), "none is beyond -1 to 1"),
        ("cross_entropy", shaping("tanh", low=-1.0, high=1.0), "none is beyond -1 to 1"),
        ("cross_entropy", shaping("sigmoid", low=0.0, high=1.0), "none is beyond 0 to 1"),
        ("binary_cross_entropy_with_logits", shaping("relu", low=0.0), "no probability is below 0.5"),
    ],
)
def test_squashed_scores(operation: str, made: Shaping, words: str) -> None:
    found = the_finding(squashed_logits.RULE, loss(operation, prediction(made)))
    assert (line_of(found), found.severity) == (8, "error")
    assert words in found.message


def test_squashed_scores_before_a_log_softmax() -> None:
    made = shaping("log_softmax", "relu")
    assert line_of(the_finding(squashed_logits.RULE, loss("nll_loss", prediction(made)))) == 7
    assert line_of(the_finding(squashed_logits.RULE, loss("mul", prediction(made)))) == 7


@pytest.mark.parametrize(
    ("operation", "made"),
    [
        ("cross_entropy", shaping("linear")),
        ("cross_entropy", shaping("mul")),
        ("binary_cross_entropy_with_logits", shaping("sigmoid")),
        ("nll_loss", shaping("relu")),
        ("mse_loss", shaping("relu")),
        ("cross_entropy", shaping("clamp_min", low=-20.0)),
        ("cross_entropy", shaping("clamp_max", high=20.0)),
        ("cross_entropy", shaping("clamp", low=-1.0, high=1.0)),
        ("cross_entropy", None),
    ],
)
def test_scores_that_are_not_squashed(operation: str, made: Shaping | None) -> None:
    assert examined(squashed_logits.RULE, WHO, loss(operation, prediction(made))) == []


# --------------------------------------------------------------------------------------------------- log-probabilities

LOG_LOSS = probabilities_as_log_probabilities.RULE


@pytest.mark.parametrize(
    ("operation", "given", "line"),
    [
        ("nll_loss", prediction(shaping("softmax"), 0, 1, **PROBABILITIES), 8),
        ("nll_loss", prediction(shaping("div"), 0, 1, **PROBABILITIES), 20),
        ("nll_loss", prediction(shaping("sigmoid"), 0, 1), 8),
        ("kl_div", prediction(shaping("softmax", dim=0), 0, 1), 8),
        ("nll_loss", prediction(shaping("linear")), 20),
        ("nll_loss", prediction(shaping("relu"), 0, 3), 20),
        ("kl_div", prediction(shaping("linear")), 20),
    ],
)
def test_what_is_no_log_probability(operation: str, given: LossOperand, line: int) -> None:
    found = the_finding(LOG_LOSS, loss(operation, given, BINARY))
    assert (line_of(found), found.severity, found.confidence) == (line, "error", "high")
    assert f"`{operation}` takes log-probabilities" in found.message


@pytest.mark.parametrize(
    ("operation", "given", "more"),
    [
        ("nll_loss", prediction(shaping("log_softmax"), -3, 0, **LOG_PROBABILITIES), {}),
        ("nll_loss", prediction(shaping("mul"), -3, 0), {}),
        ("nll_loss", prediction(shaping("linear")), {"normalised_elsewhere": True}),
        ("nll_loss", prediction(None), {}),
        ("kl_div", prediction(shaping("linear"), -4, -1), {}),
        ("kl_div", operand(0, 1, **PROBABILITIES), {}),
        ("nll_loss", prediction(shaping("softmax"), 0, 1, sums=[0.1, 2.0], log_sums=[0.5, 2.0]), {}),
    ],
)
def test_what_may_be_a_log_probability(operation: str, given: LossOperand, more: dict[str, Any]) -> None:
    assert examined(LOG_LOSS, WHO, loss(operation, given, BINARY, **more)) == []


def test_the_target_of_a_divergence() -> None:
    given = prediction(shaping("log_softmax"), -3, 0, **LOG_PROBABILITIES)
    probable, logarithmic = operand(0, 1, **PROBABILITIES), operand(-3, 0, **LOG_PROBABILITIES)
    found = the_finding(LOG_LOSS, loss("kl_div", given, probable, log_target=True))
    assert "with `log_target=True`, and `y` holds probabilities" in found.message
    found = the_finding(LOG_LOSS, loss("kl_div", given, logarithmic))
    assert "without `log_target=True`, and `y` holds log-probabilities" in found.message
    assert examined(LOG_LOSS, WHO, loss("kl_div", given, probable)) == []
    assert examined(LOG_LOSS, WHO, loss("kl_div", given, logarithmic, log_target=True)) == []


# ---------------------------------------------------------------------------------------------------- dimensions

OVER_ROWS = {"sums": [0.2, 1.9], "log_sums": [1.0, 2.0]}
BY_ROW = {"sums": [1.0, 1.0], "sums_over_softmax": [2.0, 9.0]}


@pytest.mark.parametrize("operation", ["cross_entropy", "nll_loss", "gather"])
def test_a_softmax_over_the_rows(operation: str) -> None:
    given = prediction(shaping("softmax", dim=0), 0, 1, **OVER_ROWS)
    found = the_finding(softmax_over_batch.RULE, loss(operation, given))
    assert (line_of(found), found.severity, found.evidence["softmax_dim"]) == (8, "error", 0)
    assert "dimension 0 of (16, 3)" in found.message
    assert "sum to 0.2 to 1.9" in found.message
    assert "`dim=1`" in found.help


@pytest.mark.parametrize(
    ("given", "more"),
    [
        (prediction(shaping("softmax", dim=1), 0, 1, **PROBABILITIES), {}),
        (prediction(shaping("softmax", dim=1), 0, 1, **OVER_ROWS), {}),
        (prediction(shaping("softmax", dim=0), 0, 1, **OVER_ROWS), {"in_order": True}),
        (prediction(shaping("softmax", dim=0, shape=[16, 4, 3]), 0, 1, **PROBABILITIES), {}),
        (prediction(shaping("softmax", dim=2, shape=[4, 4, 3]), 0, 1, **OVER_ROWS), {}),
        (prediction(shaping("mul", "softmax"), 0, 1, **OVER_ROWS), {}),
    ],
    ids=["over classes", "scaled", "each row a class", "moved", "as many as classes", "not the last operation"],
)
def test_a_softmax_over_the_classes(given: LossOperand, more: dict[str, Any]) -> None:
    assert examined(softmax_over_batch.RULE, WHO, loss("cross_entropy", given, **more)) == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (operand(0, 1, binary=True, **BY_ROW), 1),
        (operand(0, 1, binary=True, sums=[1.0, 1.0], sums_over_softmax=[1.0, 1.0]), 0),
        (operand(0, 1, binary=True, sums=[0.0, 3.0], sums_over_softmax=[2.0, 9.0]), 0),
        (operand(0, 1, shape=(16,), **BY_ROW), 0),
    ],
    ids=["by row", "shared out likewise", "several in a row", "another shape"],
)
def test_a_softmax_over_the_rows_beside_targets_by_value(wanted: LossOperand, found: int) -> None:
    given = prediction(shaping("softmax", dim=0), 0, 1, **OVER_ROWS)
    assert len(examined(softmax_over_batch.RULE, WHO, loss("mse_loss", given, wanted))) == found


def test_a_softmax_over_a_single_number() -> None:
    alone = shaping("softmax", dim=1, shape=[16, 1])
    found = the_finding(softmax_over_singleton.RULE, loss("mse_loss", prediction(alone, 1, 1), BINARY))
    assert (line_of(found), found.severity) == (8, "error")
    assert "is 1 everywhere" in found.message
    logarithm = shaping("log_softmax", dim=1, shape=[16, 1])
    assert (
        "is 0 everywhere" in the_finding(softmax_over_singleton.RULE, loss("nll_loss", prediction(logarithm))).message
    )
    several = shaping("softmax", dim=1)
    assert examined(softmax_over_singleton.RULE, WHO, loss("mse_loss", prediction(several, 0, 1), BINARY)) == []


def test_a_softmax_of_one_inside_a_model_loses_the_gradient() -> None:
    rule, zeroing = softmax_over_singleton.RULE, Zeroing(operation="softmax", location=at(8), parameters=[WEIGHT])
    alone = SoftmaxOfOne(location=at(8), operation="softmax", shape=[16, 7, 1], dim=2)
    several = SoftmaxOfOne(location=at(8), operation="softmax", shape=[16, 7, 2], dim=2, varies=True)
    lost = backward(0, reached=[WEIGHT], zeroings=[zeroing])
    found = the_finding(rule, lost, alone)
    assert (line_of(found), found.severity, found.parameters) == (8, "warning", (WEIGHT,))
    assert "dimension 2 of (16, 7, 1)" in found.message
    assert examined(rule, WHO, lost, alone, several) == []
    assert examined(rule, WHO, backward(0, reached=[WEIGHT]), alone) == []
    at_the_loss = prediction(shaping("softmax", dim=1, shape=[16, 1]), 1, 1)
    assert len(examined(rule, WHO, lost, alone, loss("mse_loss", at_the_loss, BINARY))) == 1


def test_cross_entropy_of_one_class() -> None:
    column = operand(-1, 1, shape=(16, 1), live=True)
    assert line_of(the_finding(softmax_over_singleton.RULE, loss("cross_entropy", column))) == 20
    assert examined(softmax_over_singleton.RULE, WHO, loss("cross_entropy", prediction(None))) == []
    one_sample = operand(-1, 1, shape=(1,), live=True)
    assert examined(softmax_over_singleton.RULE, WHO, loss("cross_entropy", one_sample, class_dim=0)) == []


SEVERAL = (seen(WEIGHT, "weight"), seen(2, "head.weight"), built(WEIGHT, 2))
ENDED, STOPPED = RunEnded(reason="finished"), RunEnded(reason="steps")


def numbered(low: int, high: int) -> LossOperand:
    """Targets that are numbers of classes."""
    facts = TensorFacts(shape=[16], dtype="int64", name="y", low=low, high=high)
    return LossOperand(facts=facts)


def of_one_class(target: LossOperand, norm: float, end: Event, *more: Any) -> list[Finding]:
    """What is said of a `cross_entropy` that leaves parameter 2 without a gradient, and another one with this."""
    ran, event = loss("cross_entropy", operand(-1, 1, shape=(16, 1), live=True), target)
    ran = replace(ran, wrote=[WEIGHT, 2], reached=[WEIGHT, 2], of_one=[2] if norm else [WEIGHT, 2])
    return examined(softmax_over_singleton.RULE, SEVERAL, ran, event, stepped(0, {WEIGHT: norm, 2: 0.0}), *more, end)


def test_one_class_beside_other_terms_is_told_and_no_fault() -> None:
    (told,) = of_one_class(numbered(0, 0), 0.5, ENDED)
    assert (line_of(told), told.severity, told.parameters) == (20, "info", (2,))
    assert "`head.weight` learn nothing" in told.message
    (ignored,) = of_one_class(numbered(-100, 0), 0.5, ENDED)
    assert ignored.severity == "info"


def test_targets_that_differ_are_none_of_one_class() -> None:
    for norm, end in ((0.5, ENDED), (0.0, ENDED), (0.0, STOPPED)):
        (fault,) = of_one_class(BINARY, norm, end)
        assert (line_of(fault), fault.severity, fault.confidence) == (20, "error", "high")


def test_one_class_from_which_nothing_learns() -> None:
    (fault,) = of_one_class(numbered(0, 0), 0.0, ENDED)
    assert (fault.severity, fault.confidence) == ("error", "high")
    (hedged,) = of_one_class(numbered(0, 0), 0.0, STOPPED)
    assert (hedged.severity, SO_FAR in hedged.notes) == ("warning", True)


def test_a_line_with_more_classes_later_is_silent() -> None:
    more = SoftmaxOfOne(location=at(20), operation="cross_entropy", shape=[16, 2], dim=1, varies=True)
    for norm in (0.0, 0.5):
        assert of_one_class(numbered(0, 0), norm, ENDED, more) == []


def inside(event: SoftmaxOfOne, *more: Any, norm: float = 0.5, end: Event = ENDED) -> list[tuple[str, tuple[int, ...]]]:
    """What is said of a softmax in a model that leaves parameter 2 without a gradient."""
    zeroings = [Zeroing(operation=event.operation, location=at(8), parameters=[WEIGHT, 2])]
    ran = backward(0, wrote=[WEIGHT, 2], of_one=[2], zeroings=zeroings)
    steps = stepped(0, {WEIGHT: norm, 2: 0.0})
    found = examined(softmax_over_singleton.RULE, SEVERAL, ran, steps, event, *more, end)
    return [(each.severity, each.parameters) for each in found]


def test_a_softmax_of_one_that_the_model_was_built_for() -> None:
    alone = SoftmaxOfOne(location=at(8), operation="softmax", shape=[16, 1], dim=1, parameters=[WEIGHT, 2])
    assert inside(alone) == [("info", (2,))]
    assert inside(replace(alone, operation="div")) == [("info", (2,))]
    assert inside(replace(alone, chosen=True)) == [("warning", (WEIGHT, 2))]
    assert inside(replace(alone, operation="div", chosen=True)) == [("warning", (WEIGHT, 2))]
    assert inside(alone, replace(alone, for_none=True)) == [("error", (WEIGHT, 2))]
    assert inside(alone, replace(alone, for_none=True), end=STOPPED) == [("warning", (WEIGHT, 2))]
    assert inside(alone, norm=0.0) == [("error", (WEIGHT, 2))]
    assert inside(alone, replace(alone, varies=True)) == []


def test_what_learns_in_another_way_is_not_idle() -> None:
    alone = SoftmaxOfOne(location=at(8), operation="softmax", shape=[16, 1], dim=1, parameters=[WEIGHT, 2])
    assert inside(alone, stepped(1, {2: 0.3})) == []
    assert inside(alone, backward(1, wrote=[2])) == []  # where something else leaves it without a gradient


# ------------------------------------------------------------------------------------------------ values and ranges


@pytest.mark.parametrize(
    ("wanted", "more", "found"),
    [
        (operand(-2, 2, sums=[-1.0, 3.0]), {}, 1),
        (operand(-1, 1, sums=[-1.0, -1.0]), {}, 1),
        (operand(-2, 2, sums=[-1.0, 3.0]), {"whole": False}, 0),
        (operand(-2, 2, sums=[-2.0, 2.0]), {}, 0),
        (operand(-0.1, 1, sums=[1.0, 1.0]), {}, 0),
        (operand(0, 9, sums=[3.0, 9.0]), {}, 0),
        (operand(-100, 2, shape=(16,)), {}, 0),
    ],
    ids=["scores", "one against the rest", "weighted later", "advantages", "about a distribution", "counts", "classes"],
)
def test_targets_by_class_of_a_cross_entropy(wanted: LossOperand, more: dict[str, Any], found: int) -> None:
    given = prediction(shaping("linear"))
    assert len(examined(invalid_probability.RULE, WHO, loss("cross_entropy", given, wanted, **more))) == found


@pytest.mark.parametrize(
    ("wanted", "more", "found"),
    [
        (operand(-1, 1), {}, 1),
        (operand(0, 255), {}, 1),
        (operand(0, 1.2), {}, 0),
        (operand(-1, 1), {"whole": False}, 0),
    ],
)
def test_targets_that_are_no_probabilities(wanted: LossOperand, more: dict[str, Any], found: int) -> None:
    events = loss("binary_cross_entropy_with_logits", prediction(None), wanted, **more)
    assert len(examined(invalid_probability.RULE, WHO, events)) == found


@pytest.mark.parametrize(
    ("message", "operands", "name"),
    [
        ("all elements of input should be between 0 and 1", [operand(-2, 2, live=True), BINARY], "out"),
        ("all elements of target should be between 0 and 1", [operand(0, 1, live=True), operand(-1, 1)], "y"),
        ("all elements of input should be between 0 and 1", [operand(0, 1, live=True), operand(-1, 1)], None),
        ("all elements of input should be between 0 and 1", [], None),
    ],
    ids=["the prediction", "the target", "not a number", "nothing known"],
)
def test_what_binary_cross_entropy_refuses(message: str, operands: list[LossOperand], name: str | None) -> None:
    facts = [each.facts for each in operands]
    failed = OperationFailed(
        operation="binary_cross_entropy", location=at(12), error=f"RuntimeError: {message}", operands=facts
    )
    raised = ProgramRaised(kind="RuntimeError", message=message, frames=[])
    found = examined(invalid_probability.RULE, WHO, failed, raised)
    assert [finding.subject for finding in found] == ([] if name is None else [name])
    assert [line_of(finding) for finding in found] == ([] if name is None else [12])


@pytest.mark.parametrize(
    ("made", "wanted", "more", "found"),
    [
        (shaping("sigmoid", low=0.0, high=1.0), operand(0, 9, outside=0.5), {}, 1),
        (shaping("relu", low=0.0), operand(-3, 3, outside=0.5), {}, 1),
        (shaping("tanh", low=-1.0, high=1.0), operand(-1.1, 1.1, outside=0.3), {}, 0),
        (shaping("sigmoid", low=0.0, high=1.0), operand(0, 9, outside=0.01), {}, 0),
        (shaping("tanh", low=-1.0, high=1.0), operand(-3, 3, outside=0.5), {"target_of_parameters": True}, 0),
        (shaping("tanh", low=-1.0, high=1.0), operand(-3, 3, outside=0.5), {"whole": False}, 0),
        (shaping("linear"), operand(-3, 3), {}, 0),
        (shaping("exp", low=0.0), operand(-3, 3, outside=0.5), {}, 0),
    ],
    ids=["above", "below", "a little beyond", "a few", "its own", "masked", "no bounds", "no activation"],
)
def test_targets_out_of_reach(made: Shaping, wanted: LossOperand, more: dict[str, Any], found: int) -> None:
    findings = examined(output_range_excludes_target.RULE, WHO, loss("mse_loss", prediction(made), wanted, **more))
    assert [(line_of(finding), finding.severity) for finding in findings] == [(8, "warning")] * found


@pytest.mark.parametrize(
    ("mirrored", "reach", "severity"), [(0.9, 3.0, "info"), (0.9, 1.1, "warning"), (0.4, 3.0, "warning")]
)
def test_targets_about_the_limit_may_be_noise(mirrored: float, reach: float, severity: str) -> None:
    wanted = operand(-1, 3, outside=0.4, mirrored=mirrored, reach=reach)
    events = [loss("mse_loss", prediction(shaping("relu", low=0.0)), each) for each in (wanted, wanted)]
    (finding,) = examined(output_range_excludes_target.RULE, WHO, *events)
    assert finding.severity == severity


LIVE = operand(-2, 2, live=True, **SCORES)


@pytest.mark.parametrize(
    ("operation", "given", "wanted", "found"),
    [
        ("binary_cross_entropy_with_logits", BINARY, LIVE, 1),
        ("binary_cross_entropy_with_logits", operand(0, 1), LIVE, 0),
        ("binary_cross_entropy_with_logits", LIVE, BINARY, 0),
        ("binary_cross_entropy_with_logits", LIVE, LIVE, 0),
        ("cross_entropy", operand(0, 1, binary=True, **PROBABILITIES), LIVE, 1),
        ("cross_entropy", operand(-3, 3, **SCORES), LIVE, 0),
        ("kl_div", operand(0, 1, **PROBABILITIES), LIVE, 1),
        ("kl_div", operand(-3, 0, **LOG_PROBABILITIES), LIVE, 0),
        ("poisson_nll_loss", operand(0, 7, **SCORES), LIVE, 1),
        ("poisson_nll_loss", operand(0.5, 7, **SCORES), LIVE, 0),
        ("mse_loss", BINARY, LIVE, 0),
    ],
)
def test_exchanged_arguments(operation: str, given: LossOperand, wanted: LossOperand, found: int) -> None:
    findings = examined(loss_arguments_swapped.RULE, WHO, loss(operation, given, wanted))
    assert [(line_of(finding), finding.severity) for finding in findings] == [(20, "error")] * found


# -------------------------------------------------------------------------------------------------------------- pairs


def pairs(operation: str = "sub", line: int = 9, **more: Any) -> PairsReduced:
    left = TensorFacts(shape=[8, 1], dtype="float32", name="out", numel=8, made_at=at(7))
    right = TensorFacts(shape=[8], dtype="float32", numel=8)
    facts = {"backward": 0, "reduced_at": at(10), **more}
    return PairsReduced(location=at(line), operation=operation, left=left, right=right, shape=[8, 8], **facts)


def test_pairs_in_a_loss() -> None:
    found = the_finding(broadcast_loss.RULE, backward(0, reached=[WEIGHT]), pairs(), pairs())
    assert (line_of(found), found.severity, found.confidence, found.subject) == (9, "error", "high", "out")
    assert "`out` of shape (8, 1) and a tensor of shape (8,) to (8, 8)" in found.message
    assert "64 pairs of values instead of 8" in found.message
    assert [note.location.line for note in found.related] == [7, 10]
    assert found.evidence["times"] == 2


def test_sums_of_pairs_that_are_averaged() -> None:
    ran = backward(0, reached=[WEIGHT])
    found = the_finding(broadcast_loss.RULE, ran, pairs("add", even=True), pairs("add", even=True))
    assert (line_of(found), found.severity) == (9, "info")
    assert "the mean of these 64 sums is that of the 8" in found.message
    assert the_finding(broadcast_loss.RULE, ran, pairs("add", even=True), pairs("add")).severity == "error"


def test_pairs_in_what_trains_nothing() -> None:
    assert examined(broadcast_loss.RULE, WHO, backward(0, reached=[FROZEN]), pairs()) == []
    assert examined(broadcast_loss.RULE, WHO, pairs(backward=None)) == []


def test_pairs_in_a_metric() -> None:
    found = the_finding(broadcast_comparison.RULE, pairs("__eq__", backward=None))
    assert (line_of(found), found.severity) == (9, "warning")
    assert "`==` compares `out` of shape (8, 1)" in found.message
    assert examined(broadcast_comparison.RULE, WHO, pairs("mse_loss", backward=None), pairs("mse_loss")) == []
    chose = PairsMeant(location=pairs("__eq__").location)
    assert examined(broadcast_comparison.RULE, WHO, pairs("__eq__", backward=None), chose) == []


LATE = [math.exp(-step / 20) for step in range(60)]
"""A loss that is positive for long."""


@pytest.mark.parametrize(
    ("losses", "told"),
    [
        ([-(2.0**step) for step in range(30)], True),
        (LATE + [-(2.0**step) for step in range(30)], True),
        (LATE + [-1e4 * step for step in range(1, 31)], False),
        (LATE + [-1e6 * (1 - 0.9**step) for step in range(1, 31)], False),
        (LATE + [-(2.0**step) for step in range(8)], False),
        ([-(2.0**step) for step in range(30)] + [1.0], False),
    ],
    ids=["at once", "late", "steadily", "slower and slower", "not seen for long", "came back"],
)
def test_a_loss_that_runs_away_below_zero(losses: list[float], told: bool) -> None:
    assert loss_without_bound._runs_away(list(enumerate(losses)), loss_without_bound.RULE.defaults) == told


# ------------------------------------------------------------------------------------------- AD622 padding-counted


@pytest.mark.parametrize(
    ("lengths", "is_end", "severity"),
    [((9, 9, 9), True, "info"), ((9, 7, 9), True, "warning"), ((9, 9, 9), False, "warning")],
    ids=["all positions may be filled", "batches of their own lengths", "another end"],
)
def test_padding_that_ends_sequences_of_one_length_is_asked_about(
    lengths: tuple[int, ...], is_end: bool, severity: str
) -> None:
    facts = {"module": 0, "operation": "cross_entropy", "name": "targets", "filled_with": 0, "target": 0}
    more = {"padded": 20, "counted": 80, "location": at(12), "called_at": at(11), "is_end": is_end}
    events = [PaddedTargetsSeen(step=step, positions=length, **facts, **more) for step, length in enumerate(lengths)]
    (finding,) = examined(padding_counted.RULE, *events)
    assert (finding.severity, bool(finding.notes)) == (severity, severity == "info")
