"""Rules about the model, on traces made by hand: the branches that whole programs do not reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from autograd_doctor.events.data import WeightsLoaded
from autograd_doctor.events.errors import BlankTargets
from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import (
    AxesMixed,
    AxesRestored,
    BatchLeakJudged,
    LayersChained,
    LayerUsedOtherwise,
    LookAheadJudged,
    LossSignSeen,
    OutputMoved,
    OutputStoodStill,
    ScoresConfined,
    SeriesReadBackwards,
    TargetLearned,
    TargetsAhead,
)
from autograd_doctor.events.run import ProgramRaised, RunEnded, StackFrame
from autograd_doctor.events.steps import BatchDrawn, ForwardRan, Zeroing
from autograd_doctor.findings import Finding
from autograd_doctor.rules.errors import invalid_target
from autograd_doctor.rules.losses import (
    answer_in_input,
    batch_leak,
    batch_norm_single_sample,
    gradient_through_target,
    loss_ignores_input,
    maximised_loss,
    missing_nonlinearity,
    scores_confined,
    view_permutes_dimensions,
)
from autograd_doctor.views.curves import falls_on
from tests.traces import at, backward, built, examined, module, seen, stepped, steps, targets_seen

HIDDEN, HEAD, THIRD = 0, 1, 2
WHO = (seen(HIDDEN, "net.hidden.weight"), seen(HEAD, "net.head.weight"), seen(THIRD, "net.third.weight"))
TRAINED = (built(HIDDEN, HEAD, THIRD), *steps(3, {HIDDEN: 1.0, HEAD: 1.0, THIRD: 1.0}))
NET = module(0, HIDDEN, HEAD, name="net")


def line(finding: Finding) -> int:
    assert finding.location is not None
    return finding.location.line


# ----------------------------------------------------------------------------------------- AD606 loss-ignores-input


def still(*numbers: int, **more: Any) -> list[Event]:
    facts = {"module": 0, "location": at(18), "samples": 8, "shape": [8, 1], **more}
    return [OutputStoodStill(step=step, **facts) for step in numbers]


def test_an_output_that_stands_still_is_reported_where_the_input_was_lost() -> None:
    (finding,) = examined(loss_ignores_input.RULE, WHO, NET, steps(5, {HEAD: 1.0}), still(0, 1, 2, 3))
    assert (line(finding), finding.severity, finding.confidence, finding.subject) == (18, "error", "high", "net")
    assert finding.parameters == (HIDDEN, HEAD)
    lost = still(0, 1, 2), still(3, operation="long", at=at(12))
    (finding,) = examined(loss_ignores_input.RULE, WHO, NET, steps(5, {HEAD: 1.0}), *lost)
    assert line(finding) == 12
    assert [related.location.line for related in finding.related] == [18]


def test_a_model_that_never_looks_at_its_input_may_be_meant_to_be_a_constant() -> None:
    unread = [*still(0), *still(1, 2, reads=False), *still(3)]
    (finding,) = examined(loss_ignores_input.RULE, WHO, NET, steps(5, {HEAD: 1.0}), unread)
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    calls = [
        ForwardRan(module=each, location=at(18), training=True, grad_enabled=True, builds_graph=True) for each in (0, 1)
    ]
    assert not examined(loss_ignores_input.RULE, WHO, NET, steps(5, {HEAD: 1.0}), unread, calls)
    (finding,) = examined(loss_ignores_input.RULE, WHO, NET, steps(5, {HEAD: 1.0}), still(0, 1, 2, 3), calls)
    assert finding.severity == "error"
    (finding,) = examined(loss_ignores_input.RULE, WHO, NET, steps(5, {HEAD: 1.0}), unread, still(4, reads=True), calls)
    assert finding.severity == "error"


@pytest.mark.parametrize(
    "happened",
    [
        pytest.param(still(0, 1, 2), id="too few steps"),
        pytest.param([*still(0, 1, 2, 3), OutputMoved(step=4, module=0)], id="moved later"),
        pytest.param([*still(0, 1, 2, 3), BatchLeakJudged(module=0, verdict="leaks")], id="samples mixed"),
        pytest.param(still(5, 6, 7, 8), id="never trained in those steps"),
        pytest.param(still(0, 1, 2, 3, module=3), id="a module that does not learn"),
    ],
)
def test_other_outputs_are_silent(happened: list[Event]) -> None:
    assert examined(loss_ignores_input.RULE, WHO, NET, steps(5, {HEAD: 1.0}), happened) == []


def test_an_output_that_an_operation_holds_at_zero_is_told_elsewhere() -> None:
    zeroing = Zeroing(operation="relu", location=at(9), parameters=[HEAD])
    held = steps(5, {HEAD: 0.0}, backward={"zeroings": [zeroing]})
    assert examined(loss_ignores_input.RULE, WHO, NET, held, still(0, 1, 2, 3)) == []


def test_a_branch_with_a_factor_of_0_is_no_matter_of_its_input() -> None:
    """Unlike two matrices of zeros, which hold back one another's gradients."""
    initial = still(0, 1, 2, 3, operation="linear", at=at(12), zero=[HEAD])

    def held(*parameters: int, zero_factors: int) -> list[Finding]:
        zeroing = Zeroing(operation="mul", location=at(20), parameters=list(parameters), zero_factors=zero_factors)
        happened = steps(5, {HIDDEN: 0.0, HEAD: 0.0}, backward={"reached": [HIDDEN, HEAD], "zeroings": [zeroing]})
        return examined(loss_ignores_input.RULE, WHO, NET, happened, initial)

    assert not held(HIDDEN, HEAD, zero_factors=1)
    assert held(HIDDEN, HEAD, zero_factors=2)
    assert held(HIDDEN, zero_factors=1)


def test_beside_others_that_learn_a_module_may_listen_to_its_input_later() -> None:
    happened = steps(5, {HEAD: 1.0, THIRD: 1.0}), still(0, 1, 2, 3)
    (finding,) = examined(loss_ignores_input.RULE, WHO, NET, *happened, RunEnded(reason="steps"))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    (finding,) = examined(loss_ignores_input.RULE, WHO, NET, *happened, RunEnded(reason="finished"))
    assert finding.severity == "error"


# ------------------------------------------------------------------------------------ AD607 batch-norm-single-sample

REFUSED = "Expected more than 1 value per channel when training, got input size torch.Size([1, 8])"


def crashed(step: int) -> ProgramRaised:
    frames = [StackFrame(location=at(30), own=True), StackFrame(location=at(12), own=True)]
    return ProgramRaised(step=step, kind="ValueError", message=REFUSED, frames=frames)


def drawn(step: int, **more: Any) -> BatchDrawn:
    facts = {"name": "loader", "location": at(28), "pass_number": 1, "batches": 1, "length": 5, **more}
    return BatchDrawn(step=step, loader=0, **facts)


@pytest.mark.parametrize(
    ("events", "blames_loader"),
    [
        ([drawn(5), crashed(9)], True),
        ([drawn(5, batches=4, cut=True), crashed(30)], True),
        ([drawn(5), crashed(8)], False),
        ([drawn(5, ended=True), crashed(9)], False),
        ([drawn(5, length=None), crashed(9)], False),
        ([drawn(5, length=1), crashed(5)], False),
        ([crashed(9)], False),
    ],
)
def test_a_batch_of_one_is_blamed_on_the_loader_if_it_was_its_last(events: list[Event], blames_loader: bool) -> None:
    (finding,) = examined(batch_norm_single_sample.RULE, events)
    assert line(finding) == 12
    assert finding.evidence["size"] == "(1, 8)"
    assert ("drop_last" in finding.help) == blames_loader
    assert ("`loader`" in finding.message) == blames_loader
    assert [related.location.line for related in finding.related] == ([30, 28] if blames_loader else [30])


def test_other_crashes_are_not_of_this_kind() -> None:
    other = ProgramRaised(kind="ValueError", message="no", frames=[])
    assert examined(batch_norm_single_sample.RULE, other) == []


# ------------------------------------------------------------------------------------------------ AD608 batch-leak

SEQUENCES = {"shape": [16, 6, 3], "output": [16, 2], "axes": 3}
TABLE = {"shape": [16, 3], "output": [16, 2], "axes": 2, "inputs": 1, "varied": True}


def leaking(operation: str, **more: Any) -> BatchLeakJudged:
    facts = {"samples": 16, "change": 0.5, "inner": "net.rnn", "location": at(12), "called_at": at(18), **more}
    return BatchLeakJudged(module=0, verdict="leaks", operation=operation, **facts)


@pytest.mark.parametrize(
    ("event", "severity", "confidence"),
    [
        (leaking("lstm", time_first=True, **SEQUENCES), "error", "high"),
        (leaking("linear", time_first=True, **SEQUENCES), "error", "high"),
        (leaking("lstm", time_first=True, shape=[16, 6, 3], output=[16, 6, 2], axes=3, collated=True), "error", "high"),
        (
            leaking("lstm", time_first=True, shape=[16, 6], output=[16, 2], axes=3, inputs=1, varied=True),
            "error",
            "high",
        ),
        (leaking("softmax", **TABLE), "error", "high"),
        (leaking("sub", **TABLE), "warning", "medium"),
        (leaking("sub", **TABLE, collated=True), "error", "medium"),
        (leaking("sub", **TABLE, pairs=True), "info", "medium"),
        (leaking("sub", **TABLE, collated=True, pairs=True), "warning", "medium"),
        (leaking("div", shape=[16, 3, 8, 8], output=[16, 3, 8, 8], axes=4), "error", "medium"),
        (leaking("view", **SEQUENCES), "warning", "medium"),
        (leaking("matmul", **TABLE, collated=True), "info", "medium"),
    ],
)
def test_how_sure_it_is_that_samples_should_not_meet(event: BatchLeakJudged, severity: str, confidence: str) -> None:
    (finding,) = examined(batch_leak.RULE, NET, event)
    assert (finding.severity, finding.confidence) == (severity, confidence)
    assert (line(finding), finding.subject) == (12, "net.rnn")
    assert [related.location.line for related in finding.related] == [18]


@pytest.mark.parametrize(
    "event",
    [
        leaking("matmul", shape=[16, 3], output=[16, 16]),
        leaking("cat", **TABLE),
        leaking("batch_norm", **TABLE),
        leaking("lstm", time_first=True, shape=[16, 6, 3], output=[16, 6, 2], axes=3),
        leaking("lstm", time_first=True, shape=[16, 6], output=[16, 6, 9], axes=3, inputs=1, varied=True),
        leaking("lstm", time_first=True, shape=[16, 6], output=[6, 2], axes=3, inputs=1, varied=True),
        leaking("softmax", **{**TABLE, "varied": False}),
        leaking("sub", **{**TABLE, "inputs": 2}),
        leaking("matmul", **TABLE),
        leaking("view", **TABLE),
        leaking("softmax", **{**TABLE, "change": 1e-6}),
        BatchLeakJudged(module=0, verdict="independent"),
        BatchLeakJudged(module=0, verdict="not judged", reason="it is too large to be copied"),
    ],
)
def test_no_leak_is_told_of_these(event: BatchLeakJudged) -> None:
    assert examined(batch_leak.RULE, NET, event) == []


def placed(operation: str = "add", **more: Any) -> BatchLeakJudged:
    facts = {"shape": [16, 6, 3], "output": [16, 2], "inputs": 1, "samples": 16, "change": 0.5, **more}
    return BatchLeakJudged(
        module=0, verdict="knows places", operation=operation, inner="net", location=at(12), called_at=at(18), **facts
    )


@pytest.mark.parametrize(
    ("event", "severity"),
    [
        (placed(), "warning"),
        (placed(collated=True), "error"),
        (placed(collated=True, inputs=2, shape=[16, 3], output=[16, 3]), "error"),
    ],
)
def test_what_depends_on_the_place_in_the_batch(event: BatchLeakJudged, severity: str) -> None:
    (finding,) = examined(batch_leak.RULE, NET, event)
    assert (finding.severity, line(finding)) == (severity, 12)
    assert [related.location.line for related in finding.related] == [18]


@pytest.mark.parametrize(
    "event",
    [
        placed("cat"),
        placed("cat", collated=True),
        placed(shape=[16, 3]),
        placed(output=[16, 6, 2]),
        placed(output=[8, 2]),
        placed(inputs=2),
        placed(change=1e-6, collated=True),
    ],
    ids=["parts", "parts of a loader", "table", "sequence", "time first", "several inputs", "rounding"],
)
def test_rows_that_may_have_places(event: BatchLeakJudged) -> None:
    assert examined(batch_leak.RULE, NET, event) == []


def test_a_leak_without_an_operation_is_reported_where_the_module_was_called() -> None:
    (finding,) = examined(batch_leak.RULE, NET, leaking("", **TABLE, collated=True, location=None))
    assert line(finding) == 18
    assert finding.related == ()


# -------------------------------------------------------------------------------------------- AD609 maximised-loss


def sign(*, negated: bool = True, at_line: int = 20, **more: Any) -> LossSignSeen:
    facts = {"operation": "mse_loss", "is_loss": True, "bounded_at": at(17), "negated_at": at(19), **more}
    return LossSignSeen(backward=0, location=at(at_line), negated=negated, **facts)


def course(losses: Iterable[float], **more: Any) -> list[Event]:
    facts = {"values": [HIDDEN], "reached": [HIDDEN], **more}
    return [backward(step, loss=loss, **facts) for step, loss in enumerate(losses)]


FALLING = [-1.0 * 1.2**step for step in range(12)]


@pytest.mark.parametrize(("steps", "falls"), [(range(12), True), ([3] * 12, False)], ids=["in turn", "of one step"])
def test_losses_of_one_step_have_no_slope(steps: Sequence[int], falls: bool) -> None:
    assert falls_on([(step, -1.0 - number) for number, step in enumerate(steps)], 0.5, 6) is falls


def test_a_loss_that_falls_on_is_reported_at_its_minus() -> None:
    (finding,) = examined(maximised_loss.RULE, WHO, built(HIDDEN), course(FALLING), sign())
    assert (line(finding), finding.severity, finding.confidence, finding.parameters) == (19, "error", "high", (HIDDEN,))
    assert [related.location.line for related in finding.related] == [17, 20]
    (by_hand,) = examined(maximised_loss.RULE, WHO, built(HIDDEN), course(FALLING), sign(is_loss=False))
    assert by_hand.confidence == "medium"


def test_an_optimizer_that_climbs_is_reported_where_it_is_built() -> None:
    rising = course(-loss for loss in FALLING)
    (finding,) = examined(maximised_loss.RULE, WHO, built(HIDDEN), rising, sign(maximises=0))
    assert line(finding) == 5
    assert "`optimizer` maximises" in finding.message


@pytest.mark.parametrize(
    ("first", "severity"), [pytest.param(0.03, "warning", id="knew"), pytest.param(1.0, "error", id="guessed")]
)
def test_a_model_that_knew_its_data_may_be_meant_to_forget(first: float, severity: str) -> None:
    falling = course(-first * 1.2**step for step in range(12))
    labels = targets_seen(logits=4, location=at(17))
    (finding,) = examined(maximised_loss.RULE, WHO, built(HIDDEN), falling, sign(operation="cross_entropy"), labels)
    assert finding.severity == severity
    assert ("guessing has 1.39" in finding.message) == (severity == "warning")


@pytest.mark.parametrize(
    ("event", "severity"),
    [
        pytest.param(WeightsLoaded(step=0, parameters=[HIDDEN]), "warning", id="before"),
        pytest.param(WeightsLoaded(step=3, parameters=[HIDDEN]), "error", id="after it had begun"),
        pytest.param(WeightsLoaded(step=0, parameters=[HEAD]), "error", id="into other parameters"),
    ],
)
def test_a_model_that_was_loaded_may_be_meant_to_forget(event: WeightsLoaded, severity: str) -> None:
    (finding,) = examined(maximised_loss.RULE, WHO, event, built(HIDDEN), course(FALLING), sign())
    assert finding.severity == severity
    assert ("forget" in finding.help) == (severity == "warning")


def test_what_cannot_grow_for_ever_may_be_driven_apart() -> None:
    (finding,) = examined(maximised_loss.RULE, WHO, built(HIDDEN), course(FALLING), sign(limited=True))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "driven apart" in finding.help


@pytest.mark.parametrize(
    "happened",
    [
        pytest.param([built(HIDDEN), *course(FALLING[:6]), sign()], id="short"),
        pytest.param([built(HIDDEN), *course([-1 + 0.5**step for step in range(12)]), sign()], id="slowing down"),
        pytest.param([built(HIDDEN), *course([-1.0, -3.0] * 6), sign()], id="up and down"),
        pytest.param([built(HIDDEN), *course([40.0 - step for step in range(12)]), sign()], id="above zero"),
        pytest.param([built(HIDDEN), *course([0.0 + step for step in range(12)]), sign()], id="rising"),
        pytest.param([built(HIDDEN), *course(FALLING), sign(), sign(negated=False)], id="sometimes"),
        pytest.param([built(HIDDEN), *course(FALLING), sign(negated=False)], id="minimised"),
        pytest.param([built(HEAD), *course(FALLING), sign()], id="not held"),
        pytest.param([built(HIDDEN), *course(FALLING, reached=[HIDDEN, HEAD]), sign()], id="partly held"),
        pytest.param([built(HIDDEN), *course(FALLING, values=[HIDDEN, HEAD]), sign()], id="through a frozen network"),
        pytest.param([built(HIDDEN), *course(FALLING), backward(3, line=40, reached=[HIDDEN]), sign()], id="contested"),
        pytest.param(
            [built(HIDDEN, HEAD), built(HEAD, optimizer=1), *course(FALLING, reached=[HIDDEN, HEAD]), sign()],
            id="held by two",
        ),
    ],
)
def test_other_losses_below_zero_are_silent(happened: list[Event]) -> None:
    assert examined(maximised_loss.RULE, WHO, happened) == []


GAME = [built(HIDDEN), *course(FALLING, values=[HIDDEN, HEAD]), backward(30, line=40, reached=[HIDDEN])]


def test_a_part_in_which_the_other_network_of_a_game_has_no_say() -> None:
    steps = [stepped(step, {HIDDEN: 1.0}) for step in range(12)]
    (finding,) = examined(maximised_loss.RULE, WHO, GAME, steps, sign(alone=True))
    assert (line(finding), finding.severity, finding.confidence) == (19, "warning", "medium")
    assert "another network" in finding.message


@pytest.mark.parametrize(
    ("steps", "more"),
    [
        pytest.param([stepped(2, {HIDDEN: 1.0})], {}, id="all of it is of both"),
        pytest.param([stepped(2, {HIDDEN: 1.0})], {"alone": True, "limited": True}, id="limited"),
        pytest.param([stepped(30, {HIDDEN: 1.0})], {"alone": True}, id="by the gradients of another loss"),
        pytest.param([], {"alone": True}, id="by gradients that nobody saw"),
    ],
)
def test_other_games_are_silent(steps: list[Event], more: dict[str, bool]) -> None:
    assert examined(maximised_loss.RULE, WHO, GAME, steps, sign(**more)) == []


# --------------------------------------------------------------------------------------- AD610 missing-nonlinearity


def pair(first: int = HIDDEN, second: int = HEAD, **more: Any) -> LayersChained:
    facts = {"first_at": at(11), "second_at": at(12), "width_in": 4, "width": 8, "width_out": 2, **more}
    return LayersChained(first=first, second=second, **facts)


def test_a_chain_of_layers_is_one_finding() -> None:
    chain = (pair(), pair(HEAD, THIRD, first_at=at(12), second_at=at(13), width_in=8))
    with_bias = backward(wrote=[HIDDEN, HEAD, THIRD], reached=[HIDDEN, HEAD, THIRD, 3])
    (finding,) = examined(missing_nonlinearity.RULE, WHO, with_bias, chain)
    assert (line(finding), finding.confidence, finding.parameters) == (12, "high", (HIDDEN, HEAD, THIRD))
    assert [related.location.line for related in finding.related] == [11, 13]
    assert "3 layers" in finding.message


def test_weights_that_are_all_a_loss_teaches_are_a_product_of_matrices() -> None:
    beside = backward(wrote=[HIDDEN, HEAD, THIRD], reached=[HIDDEN, HEAD, THIRD])
    alone = backward(wrote=[HIDDEN, HEAD], reached=[HIDDEN, HEAD])
    assert examined(missing_nonlinearity.RULE, WHO, alone, pair()) == []
    assert examined(missing_nonlinearity.RULE, WHO, beside, pair())
    assert examined(missing_nonlinearity.RULE, WHO, alone, beside, pair())


def test_in_a_container_the_layer_itself_is_pointed_at() -> None:
    who = (seen(HIDDEN, "net.0.weight", registered_at=at(3)), seen(HEAD, "net.1.weight", registered_at=at(4)))
    (finding,) = examined(missing_nonlinearity.RULE, who, TRAINED, pair(in_container=True))
    assert line(finding) == 4


@pytest.mark.parametrize(
    ("more", "severity", "confidence"),
    [
        ({"convolutions": 2}, "warning", "medium"),
        ({"shared": True, "of_data": True}, "warning", "medium"),
        ({"convolutions": 2, "depthwise": True}, "info", "medium"),
        ({"width": 2}, "warning", "high"),
    ],
)
def test_how_sure_it_is_that_something_is_missing(more: dict[str, Any], severity: str, confidence: str) -> None:
    (finding,) = examined(missing_nonlinearity.RULE, WHO, TRAINED, pair(**more))
    assert (finding.severity, finding.confidence) == (severity, confidence)


@pytest.mark.parametrize(
    "happened",
    [
        pytest.param([pair(width=1)], id="low rank"),
        pytest.param([pair(factors=True)], id="one axis after the other"),
        pytest.param([pair(shared=True)], id="a projection that is shared"),
        pytest.param([pair(), LayerUsedOtherwise(first=HIDDEN)], id="used otherwise"),
        pytest.param([pair(HIDDEN, 7)], id="one that does not learn"),
    ],
)
def test_other_pairs_are_silent(happened: list[Event]) -> None:
    assert examined(missing_nonlinearity.RULE, WHO, TRAINED, happened) == []


# ----------------------------------------------------------------------------------- AD617 view-permutes-dimensions


def mixing(step: int, **more: Any) -> AxesMixed:
    facts = {"operation": "view", "location": at(12), "how": "samples", "before": [2, 8, 4], "after": [8, 8], **more}
    return AxesMixed(step=step, size=8, **facts)


def test_a_view_counts_if_it_mixes_in_two_steps() -> None:
    (finding,) = examined(view_permutes_dimensions.RULE, backward(0), stepped(3), mixing(0), mixing(1, made_at=at(11)))
    assert (line(finding), finding.severity, finding.confidence, finding.step_count) == (12, "warning", "medium", 2)
    assert examined(view_permutes_dimensions.RULE, backward(0), stepped(3), mixing(0)) == []
    assert examined(view_permutes_dimensions.RULE, stepped(3), mixing(0), mixing(1)) == []
    restored = AxesRestored(location=mixing(0).location)
    assert examined(view_permutes_dimensions.RULE, backward(0), stepped(3), mixing(0), mixing(1), restored) == []


def test_data_that_are_prepared_once_count_if_their_channels_were_last() -> None:
    facts = {"how": "permuted", "before": [60, 9, 7, 3], "after": [60, 3, 9, 7]}
    (finding,) = examined(view_permutes_dimensions.RULE, backward(0), stepped(3), mixing(0, **facts))
    assert line(finding) == 12
    for other in ({"after": [60, 3, 7, 9]}, {"learns": True}, {"before": [60, 9, 3, 7]}):
        assert examined(view_permutes_dimensions.RULE, backward(0), stepped(3), mixing(0, **facts | other)) == []
    assert examined(view_permutes_dimensions.RULE, backward(0), stepped(3), mixing(1, **facts)) == []


def test_what_made_the_input_of_a_view_is_shown_if_it_is_elsewhere() -> None:
    made = {"made_by": "gru", "made_at": at(11)}
    (finding,) = examined(view_permutes_dimensions.RULE, backward(0), stepped(1), mixing(0, **made))
    assert [related.location.line for related in finding.related] == [11]


# ----------------------------------------------------------------------------------- AD618 gradient-through-target


def learned(step: int, **more: Any) -> TargetLearned:
    facts = {"target_at": at(15), "compared_at": at(16), "target_pass_at": at(15), "other_pass_at": at(14), **more}
    return TargetLearned(step=step, backward=step, comparison="mse_loss", parameters=[HIDDEN], **facts)


def test_a_target_that_learns_is_reported_where_it_is_made() -> None:
    (finding,) = examined(gradient_through_target.RULE, WHO, stepped(4), learned(0), learned(1))
    assert (line(finding), finding.severity, finding.confidence, finding.parameters) == (15, "warning", "medium", (0,))
    assert [related.location.line for related in finding.related] == [16, 14]
    assert examined(gradient_through_target.RULE, WHO, stepped(4), learned(0)) == []


# ------------------------------------------------------------------------------------------ AD511 blanks of a CTC loss


def blanks(step: int, **more: Any) -> BlankTargets:
    facts = {"location": at(18), "blank": 0, "blanks": 6, "labels": 24, "samples": 5, "classes": 5, **more}
    return BlankTargets(step=step, **facts)


def test_blanks_among_labels_are_one_finding_of_a_line() -> None:
    found = examined(invalid_target.RULE, blanks(0), blanks(1), blanks(2), blanks(0, location=at(19)))
    assert [(line(each), each.severity, each.step_count) for each in found] == [(18, "error", 3), (19, "error", 1)]
    assert "6 of 24 labels in 5 samples" in found[0].message
    assert "`blank=4`" in found[0].help


# ---------------------------------------------------------------------------------------- AD621 answer-in-input


def targets(ahead: int) -> TargetsAhead:
    return TargetsAhead(module=0, ahead=ahead, dim=1, location=at(19), called_at=at(18), backward=0)


def look(verdict: str, **more: Any) -> LookAheadJudged:
    return LookAheadJudged(module=0, verdict=verdict, called_at=at(18), **more)  # type: ignore[arg-type]


def test_targets_that_a_model_copies_are_told_where_it_is_called() -> None:
    (finding,) = examined(answer_in_input.RULE, NET, targets(0), look("copies"))
    assert (line(finding), finding.severity) == (18, "error")
    assert [related.location for related in finding.related] == [at(19)]


@pytest.mark.parametrize(
    "events",
    [
        (look("copies"),),
        (targets(1), look("copies")),
        (targets(0), targets(1), look("copies")),
        (targets(0), look("blind")),
        (targets(0), look("looks ahead", change=0.5)),
    ],
    ids=["no loss", "shifted", "shifted for another loss", "blind", "of other targets"],
)
def test_what_is_no_copy_of_targets(events: tuple[Event, ...]) -> None:
    assert examined(answer_in_input.RULE, NET, events) == []


def test_a_series_that_is_read_backwards_is_told_once() -> None:
    def backwards(step: int, change: float = 0.1) -> SeriesReadBackwards:
        return SeriesReadBackwards(step=step, module=0, change=change, location=at(18), compared_at=at(19))

    (finding,) = examined(answer_in_input.RULE, NET, backwards(0), backwards(1))
    assert (finding.severity, finding.confidence, finding.location) == ("error", "medium", at(18))
    assert [each.location for each in finding.related] == [at(19)]
    assert finding.step_first == 1
    assert examined(answer_in_input.RULE, NET, backwards(0, change=1e-4)) == []


# ---------------------------------------------------------------------------------------- AD624 scores-confined


def confined(bound: float, classes: int, **more: Any) -> ScoresConfined:
    return ScoresConfined(location=at(18), **{"scaled_at": at(17), "bound": bound, "classes": classes, **more})


def test_scores_that_cannot_differ_are_told_once_where_they_were_scaled() -> None:
    (finding,) = examined(scores_confined.RULE, confined(0.07, 32), confined(0.07, 32))
    assert (line(finding), finding.severity) == (17, "warning")
    assert "within ±0.07: the loss cannot fall below 3.33, and is 3.466 where nothing is known" in finding.message
    (finding,) = examined(scores_confined.RULE, confined(0.1, 32, scaled_at=None))
    assert line(finding) == 18
    assert finding.related == ()


@pytest.mark.parametrize(("bound", "classes", "told"), [(1.0, 1000, 0), (0.15, 1000, 1), (1.0, 2, 0), (5.0, 9, 0)])
def test_scores_may_be_so_near_that_some_of_the_loss_is_left(bound: float, classes: int, told: int) -> None:
    assert len(examined(scores_confined.RULE, confined(bound, classes))) == told
