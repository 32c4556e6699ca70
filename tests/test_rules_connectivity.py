"""AD201–AD220 on hand-made traces: each fault fires once and at its cause, and its legitimate twin is silent."""

from __future__ import annotations

import pytest
from msgspec import structs
from traces import LACKS_GRAPH, at, backward, built, examined, forward, in_order, module, seen, stepped, steps, switch

from autograd_doctor.events.connectivity import (
    ForwardsWithoutBackward,
    GradModeLeftOff,
    HeldOutScored,
    IdleForwardUsed,
    IdleOutputSeen,
    LeafCollected,
    LeafUsed,
    LossDropped,
    MaskedValuesMoved,
    ModeNotHeeded,
    ModeSet,
    SamplesUsed,
    TermIdle,
    TermUsed,
    WritesTakenBack,
    WritesWeighed,
    WriteWeighed,
)
from autograd_doctor.events.data import WeightsLoaded
from autograd_doctor.events.errors import OperationFailed
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.run import DetailTurned, ProgramRaised, RunEnded, StackFrame
from autograd_doctor.events.steps import BatchDrawn, Cut
from autograd_doctor.events.subjects import ParameterCopied, ParameterFrozen
from autograd_doctor.findings import Finding
from autograd_doctor.judging.consequences import cases
from autograd_doctor.rules import SO_FAR
from autograd_doctor.rules.connectivity import (
    evaluation_builds_graph,
    evaluation_in_train_mode,
    frozen_parameter_in_optimizer,
    frozen_statistics_move,
    grad_mode_left_off,
    graph_cut,
    idle_loss_term,
    inference_tensor_in_training,
    leaf_not_optimized,
    loss_rewrapped,
    no_grad_in_training,
    parameter_not_optimized,
    parameter_written_in_forward,
    sample_without_gradient,
    stale_optimizer_parameters,
    training_in_eval_mode,
    unregistered_module,
    unused_parameter,
)

ENCODER, HEAD = 0, 1
FINISHED = RunEnded(reason="finished")
WHO = (seen(ENCODER, "encoder.weight"), seen(HEAD, "head.weight"), built(ENCODER, HEAD))


def line(finding: Finding) -> int:
    assert finding.location is not None
    return finding.location.line


def cut(operation: str = "detach", *, where: int = 15, reason: str = "operation", **more: object) -> Cut:
    return Cut(operation=operation, location=at(where), parameters=[ENCODER], reason=reason, **more)


def cut_steps(count: int, *cuts: Cut, held: bool = True) -> list[Event]:
    """The encoder's values reach the loss and its gradient does not; the head learns."""
    facts = {"values": [ENCODER, HEAD], "reached": [HEAD], "wrote": [HEAD], "cuts": list(cuts)}
    return steps(count, {HEAD: 1.0}, backward=facts, missing=[ENCODER] if held else [])


# ---------------------------------------------------------------------------------------------------- AD202 graph-cut


def test_cut_is_reported_once_at_the_operation_with_all_steps() -> None:
    (finding,) = examined(graph_cut.RULE, WHO, cut_steps(6, cut(tensor="features")))
    assert (line(finding), finding.step_count, finding.parameters) == (15, 6, (ENCODER,))
    assert finding.message == (
        "`detach` passes on `features` without the graph, so no gradient of the loss reaches `encoder.weight`"
    )


def test_later_cut_on_the_same_way_is_only_related() -> None:
    (finding,) = examined(graph_cut.RULE, WHO, cut_steps(3, cut(), cut("numpy", where=16)))
    assert line(finding) == 15
    assert 16 in [related.location.line for related in finding.related]


@pytest.mark.parametrize(
    ("conditional", "end", "severity"),
    [
        (True, RunEnded(reason="steps"), "warning"),
        (True, FINISHED, "error"),
        (False, RunEnded(reason="steps"), "error"),
    ],
    ids=["may come later", "never came", "the same in every step"],
)
def test_cut_behind_a_condition_is_an_error_once_the_program_has_ended(
    conditional: bool, end: RunEnded, severity: str
) -> None:
    happened = cut_steps(6, cut(conditional=conditional))
    (finding,) = examined(graph_cut.RULE, WHO, happened, end)
    assert (finding.severity, SO_FAR in finding.notes) == (severity, severity == "warning")


def test_a_program_whose_passes_were_cut_has_not_ended() -> None:
    drawn = BatchDrawn(loader=0, name="loader", location=at(9), pass_number=0, batches=10, ended=True, cut=True)
    (finding,) = examined(graph_cut.RULE, WHO, cut_steps(6, cut(conditional=True)), drawn, FINISHED)
    assert finding.severity == "warning"


def test_cut_of_parameters_with_another_path_is_silent() -> None:
    other_path = steps(1, {ENCODER: 1.0, HEAD: 1.0})
    assert examined(graph_cut.RULE, WHO, cut_steps(5, cut()), other_path) == []


def test_cut_of_parameters_that_no_optimizer_holds_is_silent() -> None:
    assert examined(graph_cut.RULE, WHO[:2], built(HEAD), cut_steps(5, cut(), held=False)) == []


def test_cut_of_frozen_parameters_is_silent() -> None:
    frozen = (seen(ENCODER, "encoder.weight", requires_grad=False), *WHO[1:])
    assert examined(graph_cut.RULE, frozen, cut_steps(5, cut())) == []


def test_cut_is_silent_while_the_optimizer_concerned_has_not_stepped() -> None:
    """A generator whose turn comes after many steps of the critic looks like this until then."""
    generator_waits = [backward(step, cuts=[cut()], values=[ENCODER, HEAD], reached=[HEAD]) for step in range(30)]
    other = steps(30, {HEAD: 1.0}, optimizer=1)
    assert examined(graph_cut.RULE, WHO[:2], built(ENCODER), built(HEAD, optimizer=1), generator_waits, other) == []


def test_cut_of_a_parameter_that_was_replaced_on_the_way_is_silent() -> None:
    later = steps(3, {HEAD: 1.0}, missing=[ENCODER])
    assert examined(graph_cut.RULE, WHO, cut_steps(1, cut()), later) == []


def test_a_backward_that_comes_first_after_light_steps_does_not_know_all_values() -> None:
    """A generator's samples were made in the step before it."""
    woken = DetailTurned(step=8, full=True)
    blind = [backward(8, values=[HEAD], reached=[HEAD]), stepped(8, {HEAD: 1.0}, missing=[ENCODER])]
    assert examined(graph_cut.RULE, WHO, cut_steps(6, cut()), blind) == []
    assert len(examined(graph_cut.RULE, WHO, cut_steps(6, cut()), woken, blind)) == 1


def test_cut_of_a_parameter_that_is_updated_by_hand_is_silent() -> None:
    by_hand = stepped(0, optimizer=None, moved=[ENCODER])
    assert examined(graph_cut.RULE, WHO, cut_steps(5, cut()), by_hand) == []


def test_crash_for_want_of_a_graph_is_explained_by_the_cut() -> None:
    (finding,) = examined(graph_cut.RULE, WHO, backward(values=[ENCODER], cuts=[cut("argmax")], error=LACKS_GRAPH))
    assert (line(finding), finding.severity) == (15, "error")
    assert "AD506" in graph_cut.RULE.folds
    assert "AD599" in graph_cut.RULE.folds


def test_crash_for_another_reason_is_not_blamed_on_a_cut() -> None:
    failed = backward(values=[ENCODER], cuts=[cut()], error="RuntimeError: modified by an inplace operation")
    assert examined(graph_cut.RULE, WHO, failed) == []


def test_rounding_is_a_cut_although_the_graph_is_whole() -> None:
    rounding = cut("round", reason="zero-derivative")
    events = steps(4, {ENCODER: 0.0, HEAD: 1.0}, backward={"cuts": [rounding]})
    (finding,) = examined(graph_cut.RULE, WHO, events)
    assert "derivative zero" in finding.message
    assert "straight-through" in finding.help


def test_rounding_with_a_straight_through_path_is_silent() -> None:
    rounding = cut("round", reason="zero-derivative")
    assert examined(graph_cut.RULE, WHO, steps(4, {ENCODER: 0.5}, backward={"cuts": [rounding]})) == []


@pytest.mark.parametrize(
    ("operation", "words"),
    [("data", ".data"), ("tolist", "number"), ("from_numpy", "torch operations"), ("argmin", "scores")],
)
def test_help_fits_the_operation(operation: str, words: str) -> None:
    (finding,) = examined(graph_cut.RULE, WHO, cut_steps(2, cut(operation)))
    assert words in finding.help


def test_cut_by_grad_mode_is_left_to_another_rule() -> None:
    off = cut("", reason="grad-mode", switch=switch())
    assert examined(graph_cut.RULE, WHO, cut_steps(3, off)) == []


def test_guessed_cut_is_a_warning_until_it_is_seen_once() -> None:
    guessed = cut("item", guessed=True)
    (finding,) = examined(graph_cut.RULE, WHO, cut_steps(4, guessed))
    assert (line(finding), finding.severity, finding.confidence) == (15, "warning", "low")
    (finding,) = examined(graph_cut.RULE, WHO, cut_steps(4, guessed), cut_steps(1, cut("item")))
    assert (finding.severity, finding.confidence, finding.step_count) == ("error", "high", 5)


def test_guessed_cut_takes_no_blame_from_one_that_was_seen() -> None:
    (finding,) = examined(graph_cut.RULE, WHO, cut_steps(4, cut("item", where=11, guessed=True), cut()))
    assert (line(finding), finding.severity) == (15, "error")


def test_function_that_was_only_guessed_to_refuse_does_not_make_a_parameter_unreached() -> None:
    refused = cut("Quantize", reason="function", guessed=True)
    events = steps(4, {HEAD: 1.0}, backward={"reached": [ENCODER, HEAD], "cuts": [refused]}, missing=[ENCODER])
    assert examined(graph_cut.RULE, WHO, events) == []


# -------------------------------------------------------------------------------------- AD201, AD212: gradients are off


def off(form: str = "block", **more: object) -> Cut:
    return cut("", reason="grad-mode", switch=switch(form), **more)


def test_crash_under_a_decorator_is_an_error_at_the_decorator() -> None:
    failed = backward(values=[ENCODER, HEAD], cuts=[off("decorator")], error=LACKS_GRAPH)
    (finding,) = examined(no_grad_in_training.RULE, WHO, failed)
    assert (line(finding), finding.severity, finding.confidence) == (12, "error", "high")
    assert "`no_grad` on `forward`" in finding.message


def test_part_without_gradients_beside_one_that_learns_is_a_warning() -> None:
    (finding,) = examined(no_grad_in_training.RULE, WHO, cut_steps(5, off()))
    assert (finding.severity, finding.step_count) == ("warning", 5)


def test_decorator_on_what_is_trained_is_an_error_even_beside_others_that_learn() -> None:
    (finding,) = examined(no_grad_in_training.RULE, WHO, cut_steps(5, off("decorator")))
    assert (finding.severity, finding.confidence) == ("error", "medium")


def test_guessed_loss_of_gradients_under_a_switch_is_a_warning_until_it_is_seen_once() -> None:
    failed = {"values": [ENCODER, HEAD], "error": LACKS_GRAPH}
    guessed = backward(**failed, guessed=[ENCODER, HEAD], cuts=[off("decorator", guessed=True)])
    (finding,) = examined(no_grad_in_training.RULE, WHO, guessed)
    assert (line(finding), finding.severity, finding.confidence) == (12, "warning", "low")
    (finding,) = examined(no_grad_in_training.RULE, WHO, guessed, backward(**failed, cuts=[off("decorator")]))
    assert (finding.severity, finding.confidence, finding.step_count) == ("error", "high", 2)


def test_guesses_take_no_blame_from_a_switch_that_was_seen() -> None:
    seen_off, item = off("decorator"), cut("item", guessed=True)
    elsewhere = Cut(
        operation="", location=None, parameters=[ENCODER], reason="grad-mode", switch=switch(line=40), guessed=True
    )
    (finding,) = examined(no_grad_in_training.RULE, WHO, cut_steps(4, seen_off, item, elsewhere))
    assert (line(finding), finding.severity) == (12, "error")
    assert examined(no_grad_in_training.RULE, WHO, cut_steps(4, elsewhere, item)) == []


def test_features_of_a_part_that_no_optimizer_holds_are_silent() -> None:
    assert examined(no_grad_in_training.RULE, WHO[:2], built(HEAD), cut_steps(5, off(), held=False)) == []


def test_targets_of_a_network_that_learns_otherwise_are_silent() -> None:
    assert examined(no_grad_in_training.RULE, WHO, steps(5, {ENCODER: 1.0}, backward={"cuts": [off()]})) == []


def test_operation_that_cut_takes_the_blame_before_a_switch() -> None:
    events = (WHO, cut_steps(4, cut(), off()))
    assert examined(no_grad_in_training.RULE, *events) == []
    assert len(examined(graph_cut.RULE, *events)) == 1


def test_untraced_crash_is_explained_by_the_newest_forward_pass() -> None:
    passed = forward(grad_enabled=False, builds_graph=False, switch=switch("call", kind="set_grad_enabled"))
    (finding,) = examined(no_grad_in_training.RULE, WHO, module(0, ENCODER, HEAD), passed, backward(error=LACKS_GRAPH))
    assert (line(finding), finding.confidence, finding.parameters) == (12, "medium", (ENCODER, HEAD))


def test_switch_left_off_is_one_finding_of_its_own() -> None:
    left = GradModeLeftOff(step=3, switch=switch("call", kind="set_grad_enabled"), work=at(18))
    events = (WHO, steps(3, {ENCODER: 1.0}), left, backward(3, cuts=[off("call")], values=[ENCODER], error=LACKS_GRAPH))
    (finding,) = examined(grad_mode_left_off.RULE, *events)
    assert line(finding) == 12
    assert examined(no_grad_in_training.RULE, *events) == []


def test_steps_on_nothing_after_the_switch_are_enough() -> None:
    left = GradModeLeftOff(step=1, switch=switch("call", kind="set_grad_enabled"), work=at(18))
    (finding,) = examined(grad_mode_left_off.RULE, WHO, left, [stepped(s, missing=[ENCODER, HEAD]) for s in (1, 2)])
    assert finding.evidence["steps_without_gradients"] == 2


def test_evaluation_at_the_end_of_a_program_may_leave_gradients_off() -> None:
    left = GradModeLeftOff(step=3, switch=switch("call", kind="set_grad_enabled"), work=at(18))
    assert examined(grad_mode_left_off.RULE, WHO, steps(3, {ENCODER: 1.0}), left) == []


def test_gradients_filled_in_by_hand_need_no_graph() -> None:
    left = GradModeLeftOff(step=0, switch=switch("call", kind="set_grad_enabled"), work=at(18))
    assert examined(grad_mode_left_off.RULE, WHO, left, [stepped(s, {ENCODER: 1.0, HEAD: 1.0}) for s in range(3)]) == []


# -------------------------------------------------------------------------------------------------- AD208, AD213, crash


def test_fresh_leaf_is_found_where_it_was_made() -> None:
    facts = {
        "values": [ENCODER, HEAD],
        "rewrapped_at": at(17),
        "rewrapped_by": "requires_grad_",
        "cuts": [cut("argmax")],
    }
    events = [e for s in range(3) for e in (backward(s, **facts), stepped(s, missing=[ENCODER, HEAD]))]
    (finding,) = examined(loss_rewrapped.RULE, WHO, events)
    assert (line(finding), finding.severity, finding.step_count) == (17, "error", 3)
    assert at(15) in [related.location for related in finding.related]
    assert examined(graph_cut.RULE, WHO, events) == []


def test_leaf_with_nothing_of_an_optimizer_behind_it_is_silent() -> None:
    leaf = backward(values=[], rewrapped_at=at(17), rewrapped_by="requires_grad_")
    assert examined(loss_rewrapped.RULE, WHO, steps(3, {ENCODER: 1.0, HEAD: 1.0}), leaf) == []


def test_gradient_asked_for_by_name_is_wanted_at_the_leaf() -> None:
    sampling = [backward(s, kind="grad", inputs=1, values=[ENCODER], rewrapped_at=at(17)) for s in range(3)]
    assert examined(loss_rewrapped.RULE, WHO, steps(3, {ENCODER: 1.0, HEAD: 1.0}), sampling) == []


def test_rewrapped_loss_beside_one_that_trains_is_a_warning() -> None:
    leaf = backward(values=[ENCODER], rewrapped_at=at(17), rewrapped_by="tensor")
    (finding,) = examined(loss_rewrapped.RULE, WHO, steps(3, {ENCODER: 1.0, HEAD: 1.0}), leaf)
    assert finding.severity == "warning"


def test_fresh_leaf_behind_which_parameters_are_only_guessed_is_a_warning() -> None:
    facts = {"values": [ENCODER, HEAD], "guessed": [ENCODER, HEAD], "rewrapped_at": at(17), "rewrapped_by": "tensor"}
    events = [e for s in range(3) for e in (backward(s, **facts), stepped(s, missing=[ENCODER, HEAD]))]
    (finding,) = examined(loss_rewrapped.RULE, WHO, events)
    assert (finding.severity, finding.confidence, finding.parameters) == ("warning", "low", (ENCODER, HEAD))
    seen_behind = backward(3, **{**facts, "guessed": [HEAD]})
    (finding,) = examined(loss_rewrapped.RULE, WHO, events, seen_behind)
    assert (finding.severity, finding.confidence, finding.parameters) == ("error", "high", (ENCODER,))


def inference_crash(message: str) -> ProgramRaised:
    return ProgramRaised(kind="RuntimeError", message=message, frames=[StackFrame(location=at(30), own=True)])


def test_inference_tensor_is_named_where_it_was_made_and_where_it_entered() -> None:
    message = "Inference tensors cannot be saved for backward. To work around, make a clone"
    features = TensorFacts(shape=[8, 4], dtype="float32", name="features", made_at=at(9))
    failed = OperationFailed(operation="linear", location=at(31), error=f"RuntimeError: {message}", operands=[features])
    (finding,) = examined(inference_tensor_in_training.RULE, failed, inference_crash(message))
    assert (line(finding), finding.subject) == (9, "features")
    assert [related.location for related in finding.related] == [at(31)]
    (bare,) = examined(inference_tensor_in_training.RULE, inference_crash(message))
    assert line(bare) == 30


def test_other_crashes_are_no_business_of_inference_mode() -> None:
    assert examined(inference_tensor_in_training.RULE, inference_crash("shapes do not match")) == []


# ------------------------------------------------------------------------------------ AD203–AD207: who holds parameters


def idle_steps(count: int) -> list[Event]:
    return steps(count, {HEAD: 1.0}, missing=[ENCODER])


def test_unused_parameter_is_reported_at_its_optimizer() -> None:
    (finding,) = examined(unused_parameter.RULE, WHO, idle_steps(5), FINISHED)
    assert (line(finding), finding.severity, finding.parameters) == (5, "warning", (ENCODER,))


def test_unused_parameter_may_be_used_by_a_later_stage_of_a_run_that_was_stopped() -> None:
    (finding,) = examined(unused_parameter.RULE, WHO, idle_steps(5), RunEnded(reason="steps"))
    assert (finding.severity, finding.notes) == ("info", (SO_FAR,))


def test_unused_parameter_with_a_loss_of_its_own_is_told_that_this_never_goes_backward() -> None:
    dropped = LossDropped(location=at(16), operation="mean", name="aux", parameters=[ENCODER, HEAD])
    (finding,) = examined(unused_parameter.RULE, WHO, idle_steps(5), dropped)
    assert "`backward()` never runs on" in finding.help
    assert [(note.message, note.location.line) for note in finding.related] == [
        ("`aux` is computed here, and `backward()` never runs on it", 16)
    ]
    others = [
        LossDropped(location=at(17), operation="mean", name="metric", parameters=[HEAD]),
        LossDropped(location=at(18), operation="sum", name="later", parameters=[ENCODER]),
        TermUsed(location=at(18), operation="sum"),
    ]
    (finding,) = examined(unused_parameter.RULE, WHO, idle_steps(5), others)
    assert "call the layer in `forward`" in finding.help


def test_idle_term_that_alone_would_teach_something_is_a_loss_that_never_goes_backward() -> None:
    (finding,) = examined(idle_loss_term.RULE, WHO, idle_steps(9), idle_term(9, parameters=(ENCODER, HEAD)))
    assert "`backward()` never runs on this loss" in finding.help
    (finding,) = examined(idle_loss_term.RULE, WHO, idle_steps(9), idle_term(9, parameters=(HEAD,)))
    assert "leave it out" in finding.help


def test_unused_parameter_waits_for_a_few_steps() -> None:
    assert examined(unused_parameter.RULE, WHO, idle_steps(2)) == []


def test_parameter_used_in_some_step_is_silent() -> None:
    assert examined(unused_parameter.RULE, WHO, idle_steps(5), steps(1, {ENCODER: 1.0})) == []


def test_value_that_reaches_the_loss_is_not_unused() -> None:
    assert examined(unused_parameter.RULE, WHO, cut_steps(5, cut())) == []


def test_expert_that_was_never_chosen_has_siblings_chosen_now_and_then() -> None:
    experts = [seen(number, f"model.experts.{number}.weight", series="model.experts.*.weight") for number in range(3)]
    now_and_then = [
        event
        for step in range(6)
        for event in (
            backward(step, values=[step % 2], reached=[step % 2], wrote=[step % 2]),
            stepped(step, {step % 2: 1.0}, missing=[1 - step % 2, 2]),
        )
    ]
    assert examined(unused_parameter.RULE, experts, built(0, 1, 2), now_and_then) == []
    always = steps(6, {0: 1.0, 1: 1.0}, missing=[2])
    (finding,) = examined(unused_parameter.RULE, experts, built(0, 1, 2), always)
    assert finding.parameters == (2,)


def test_module_that_runs_only_in_evaluation_is_silent() -> None:
    evaluated = (module(0, ENCODER), forward(2, grad_enabled=False, builds_graph=False, training=False))
    assert examined(unused_parameter.RULE, WHO, idle_steps(5), evaluated) == []


def left_out(count: int = 4, *, behind: bool = True, **sizes: tuple[int, ...]) -> tuple[object, ...]:
    """The encoder gets gradients and only the head is optimized, which comes before it unless it is not `behind`."""
    who = (
        seen(ENCODER, "encoder.weight", shape=sizes.get("encoder", (4, 4))),
        seen(HEAD, "head.weight", shape=sizes.get("head", (4, 4))),
        built(HEAD),
    )
    both = [ENCODER, HEAD]
    facts = {"wrote": both, "reached": both, "behind": [ENCODER] * behind, "before": [ENCODER] * (not behind)}
    return who, steps(count, {HEAD: 1.0}, backward=facts)


def test_parameter_that_no_optimizer_holds_is_an_error() -> None:
    (finding,) = examined(parameter_not_optimized.RULE, *left_out(), forward(), FINISHED)
    assert (line(finding), finding.severity, finding.parameters) == (5, "error", (ENCODER,))


def test_an_optimizer_may_get_them_later_in_a_run_that_was_stopped() -> None:
    (finding,) = examined(parameter_not_optimized.RULE, *left_out(), forward(), RunEnded(reason="time"))
    assert (finding.severity, finding.confidence) == ("warning", "medium")


def test_two_steps_prove_nothing_about_the_optimizer() -> None:
    assert examined(parameter_not_optimized.RULE, *left_out(2), forward()) == []


def test_part_that_comes_before_what_is_optimized_is_an_info() -> None:
    (finding,) = examined(parameter_not_optimized.RULE, *left_out(behind=False), forward())
    assert finding.severity == "info"


def test_part_that_stands_beside_what_is_optimized_is_an_error() -> None:
    who = (seen(ENCODER, "actor.weight"), seen(HEAD, "critic.weight"), built(HEAD))
    both = [ENCODER, HEAD]
    happened = steps(4, {HEAD: 1.0}, backward={"wrote": both, "reached": both})
    (finding,) = examined(parameter_not_optimized.RULE, who, happened, forward(), FINISHED)
    assert (finding.severity, finding.notes) == ("error", ())


def test_part_that_runs_in_eval_mode_is_an_info() -> None:
    circumstance = (module(0, ENCODER), forward(training=False), module(1, HEAD), forward(number=1))
    (finding,) = examined(parameter_not_optimized.RULE, *left_out(), circumstance)
    assert finding.severity == "info"


@pytest.mark.parametrize(
    ("loaded", "at_step", "severity"),
    [
        pytest.param([ENCODER], 0, "info", id="what is left out"),
        pytest.param([ENCODER, HEAD], 0, "warning", id="all"),
        pytest.param([HEAD], 0, "error", id="what is optimized"),
        pytest.param([ENCODER], 3, "error", id="later"),
    ],
)
def test_part_that_was_loaded_may_stay_as_it_is(loaded: list[int], at_step: int, severity: str) -> None:
    weights = WeightsLoaded(step=at_step, parameters=loaded)
    (finding,) = examined(parameter_not_optimized.RULE, *left_out(), forward(), weights, FINISHED)
    assert finding.severity == severity


def test_large_base_under_a_small_adapter_is_an_info() -> None:
    events = left_out(encoder=(64, 64), head=(64, 2))
    (finding,) = examined(parameter_not_optimized.RULE, *events, forward())
    assert finding.severity == "info"


def test_parameter_updated_by_hand_needs_no_optimizer() -> None:
    by_hand = stepped(0, optimizer=None, moved=[ENCODER])
    assert examined(parameter_not_optimized.RULE, *left_out(), by_hand) == []


@pytest.mark.parametrize(
    ("how", "copied", "is_silent"),
    [("read", False, True), ("changed", False, True), ("changed", True, False), ("hooked", False, False)],
)
def test_parameter_that_the_program_uses_itself(how: str, *, copied: bool, is_silent: bool) -> None:
    use = LeafUsed(parameter=ENCODER, how=how)
    copies = [ParameterCopied(parameter=ENCODER, location=None)] * copied
    found = examined(parameter_not_optimized.RULE, *left_out(), forward(), use, copies, FINISHED)
    assert bool(found) is not is_silent


def test_leftovers_of_another_optimizer_are_held() -> None:
    events = (*left_out(), built(ENCODER, optimizer=1))
    assert examined(parameter_not_optimized.RULE, *events) == []


def rebuilt(*names: str) -> tuple[object, ...]:
    """An optimizer over parameter 0, whose place parameter 2 took before the first step."""
    who = (seen(0, names[0]), built(0), seen(2, names[1]), module(0, 2))
    facts = {"wrote": [2], "reached": [2], "values": [2]}
    return who, [event for s in range(4) for event in (backward(s, **facts), stepped(s, missing=[0]))]


def test_rebuilt_model_leaves_a_stale_optimizer() -> None:
    (finding,) = examined(stale_optimizer_parameters.RULE, *rebuilt("model.weight", "model.weight"))
    assert (line(finding), finding.parameters) == (5, (0, 2))
    assert {"AD203", "AD204"} <= set(stale_optimizer_parameters.RULE.folds)


def test_replaced_layer_is_told_by_its_place_in_the_module_and_guessed_by_its_name() -> None:
    def found(**fresh: object) -> Finding:
        who = (seen(0, "model.2.weight"), seen(1, "model.0.weight"), built(0, 1), module(0, 1, 3))
        facts = {"wrote": [1, 3], "reached": [1, 3], "values": [1, 3]}
        events = steps(4, {1: 1.0}, backward=facts, missing=[0])
        (finding,) = examined(stale_optimizer_parameters.RULE, who, seen(2, "x", replaces=0), seen(3, **fresh), events)
        return finding

    placed = found(name="net.2.weight", replaces=2)
    assert (placed.severity, placed.confidence, placed.parameters) == ("error", "high", (0, 3))
    named = found(name="model.2.weight")
    assert (named.severity, named.confidence, named.parameters) == ("warning", "low", (0, 3))


def test_call_that_replaced_what_is_stepped_is_shown() -> None:
    who = (seen(0, "w"), built(0), seen(2, "w", registered_at=at(7), called_from=at(15)), module(0, 2))
    facts = {"wrote": [2], "reached": [2], "values": [2]}
    events = [event for step in range(4) for event in (backward(step, **facts), stepped(step, missing=[0]))]
    (finding,) = examined(stale_optimizer_parameters.RULE, who, events)
    shown = {(related.message, related.location) for related in finding.related}
    assert {("this call made `w`", at(15)), ("`w` was made here", at(7))} <= shown


def test_model_that_never_ran_beside_a_stranger_of_other_shapes_is_not_stale() -> None:
    who = (seen(0, "second.weight"), built(0, 1), seen(1, "first.weight"), seen(2, "vgg.weight", shape=(9, 9)))
    events = steps(6, {1: 1.0}, backward={"wrote": [1, 2], "reached": [1, 2], "values": [1, 2]}, missing=[0])
    assert examined(stale_optimizer_parameters.RULE, who, module(0, 1, 2), events) == []


def test_resting_model_is_not_stale_while_the_other_one_is_optimized() -> None:
    who = (seen(0, "first.weight"), seen(1, "second.weight"), built(0, 1))
    assert examined(stale_optimizer_parameters.RULE, who, module(0, 1), steps(6, {1: 1.0}, missing=[0])) == []


def test_unused_layer_of_a_model_in_use_is_not_stale() -> None:
    who = (seen(0, "model.a.weight"), seen(1, "model.b.weight"), seen(2, "extra.weight"), built(0, 1))
    facts = {"wrote": [1, 2], "reached": [1, 2]}
    events = steps(6, {1: 1.0}, backward=facts, missing=[0])
    assert examined(stale_optimizer_parameters.RULE, who, module(0, 0, 1), events) == []


def test_frozen_parameter_is_told_of_where_most_were_frozen() -> None:
    who = (*(seen(number, f"layers.{number}.weight") for number in range(4)), built(0, 1, 2, 3))
    places = [(0, 7), (0, 9), (1, 8), (2, 9)]
    switched = [ParameterFrozen(parameter=number, location=at(where)) for number, where in places]
    after = ParameterFrozen(step=9, parameter=0, location=at(30))
    found = examined(
        frozen_parameter_in_optimizer.RULE, who, switched, steps(4, {3: 1.0}, frozen=[0, 1, 2], moved=[3]), after
    )
    assert [line(finding) for finding in found] == [9]
    assert [(note.message, note.location.line) for note in found[0].related if note.location] == [
        ("this optimizer holds them", 5),
        ("others of them were frozen here", 8),
    ]


def test_frozen_parameter_is_an_info_and_a_warning_when_it_moves() -> None:
    (finding,) = examined(
        frozen_parameter_in_optimizer.RULE, WHO, steps(4, {HEAD: 1.0}, frozen=[ENCODER], moved=[HEAD])
    )
    assert (line(finding), finding.severity) == (5, "info")
    moving = steps(4, {HEAD: 1.0}, frozen=[ENCODER], moved=[ENCODER, HEAD])
    (finding,) = examined(frozen_parameter_in_optimizer.RULE, WHO, moving)
    assert finding.severity == "warning"


def test_staged_unfreezing_is_silent() -> None:
    staged = (steps(4, {HEAD: 1.0}, frozen=[ENCODER]), steps(2, {ENCODER: 1.0, HEAD: 1.0}))
    assert examined(frozen_parameter_in_optimizer.RULE, WHO, *staged) == []


def masked(count: int, *, moved: int = 6, lifted: tuple[int, ...] = ()) -> list[Event]:
    facts = {"masked": {HEAD: 8}, "moved": {HEAD: moved}, "lifted": list(lifted), "location": at(20)}
    return [MaskedValuesMoved(step=i, optimizer=0, **facts) for i in range(count)]


def test_values_whose_gradients_are_masked_and_that_steps_move() -> None:
    (finding,) = examined(frozen_parameter_in_optimizer.RULE, WHO, masked(3), steps(4, {HEAD: 1.0}))
    assert (finding.severity, finding.parameters) == ("warning", (HEAD,))
    assert finding.location == steps(1, {HEAD: 1.0})[-1].location  # type: ignore[attr-defined]
    assert "moves 75% of those values of `head.weight`" in finding.message
    assert [note.location for note in finding.related][:2] == [at(20), built(HEAD).location]


def test_decay_alone_may_be_meant_for_what_has_no_gradient() -> None:
    events = [structs.replace(event, decayed=[HEAD]) for event in masked(4)]
    (finding,) = examined(frozen_parameter_in_optimizer.RULE, WHO, events, steps(4, {HEAD: 1.0}))
    assert (finding.severity, "weight decay is at work" in finding.message) == ("info", True)
    (finding,) = examined(frozen_parameter_in_optimizer.RULE, WHO, events[1:], masked(1), steps(4, {HEAD: 1.0}))
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    ("decay", "momentum", "said"),
    [
        (0.1, 0.0, "weight decay is at work"),
        (0.0, 0.9, "momentum is at work"),
        (0.1, 0.9, "momentum or weight decay is at work"),
        (0.0, 0.0, "what it adds of its own is at work"),
    ],
)
def test_what_moves_values_whose_gradients_are_masked(decay: float, momentum: float, said: str) -> None:
    who = built(ENCODER, HEAD)
    groups = [structs.replace(group, weight_decay=decay, momentum=momentum) for group in who.groups]
    who = structs.replace(who, groups=groups)
    (finding,) = examined(frozen_parameter_in_optimizer.RULE, *WHO[:2], who, masked(3), steps(4, {HEAD: 1.0}))
    assert said in finding.message


@pytest.mark.parametrize(
    "events",
    [masked(2), masked(4, moved=0), [*masked(3), *masked(1, lifted=(ENCODER,))]],
    ids=["twice", "still", "lifted"],
)
def test_masked_values_that_rest_or_are_not_frozen(events: list[Event]) -> None:
    assert examined(frozen_parameter_in_optimizer.RULE, WHO, events, steps(4, {HEAD: 1.0})) == []


def hidden(number: int, *parameters: int) -> Event:
    return module(number, *parameters, name="", registered=False, parent=0, holder=f"self.layers[{number}]")


def test_hidden_modules_of_one_line_are_one_finding() -> None:
    who = (seen(0, "head.weight"), built(0), module(0, 0))
    events = steps(2, {0: 1.0}, backward={"wrote": [0, 1, 2], "reached": [0, 1, 2]})
    (finding,) = examined(unregistered_module.RULE, who, hidden(1, 1), hidden(2, 2), events)
    assert (line(finding), finding.parameters) == (10, (1, 2))
    assert "`self.layers[1]`, `self.layers[2]` are called in `model`" in finding.message


def test_hidden_module_that_is_optimized_elsewhere_is_silent() -> None:
    who = (built(0, 1), module(0, 0), hidden(1, 1))
    assert examined(unregistered_module.RULE, who, steps(2, {0: 1.0, 1: 1.0})) == []


def test_hidden_module_without_gradients_is_silent() -> None:
    assert examined(unregistered_module.RULE, built(0), module(0, 0), hidden(1, 1), steps(2, {0: 1.0})) == []


def test_training_with_gradients_left_off_is_no_evaluation_in_train_mode() -> None:
    rules = (grad_mode_left_off.RULE, evaluation_in_train_mode.RULE)
    found = [rule.finding(rule.name, subject="model", location=at(9), help="") for rule in rules]
    [case] = cases(found, {rule.code: rule.folds for rule in rules})
    assert (case.finding.code, [each.code for each in case.consequences]) == ("AD212", ["AD211"])


# ------------------------------------------------------------------------------------------- AD209–AD211, AD214: modes


def idle(**more: object) -> ForwardsWithoutBackward:
    facts = {"module": 0, "training": False, "passes": 4, "bytes_held": 2**21, **more}
    return ForwardsWithoutBackward(step=1, location=at(40), **facts)


def test_evaluation_with_a_graph_is_a_warning_and_a_rollout_an_info() -> None:
    who = (module(0, ENCODER), steps(2, {ENCODER: 1.0}, backward={"values": []}))
    (finding,) = examined(evaluation_builds_graph.RULE, who[0], who[1], idle())
    assert (line(finding), finding.severity) == (40, "warning")
    (finding,) = examined(evaluation_builds_graph.RULE, who[0], who[1], idle(training=True))
    assert finding.severity == "info"


def test_teacher_whose_output_a_loss_uses_is_an_info() -> None:
    events = steps(2, {HEAD: 1.0}, backward={"values": [ENCODER, HEAD]})
    (finding,) = examined(evaluation_builds_graph.RULE, module(0, ENCODER), events, idle())
    assert finding.severity == "info"


def test_evaluation_of_the_network_that_trains_in_the_same_step_is_a_warning() -> None:
    who = (module(0, ENCODER), steps(2, {ENCODER: 1.0}), forward(1, training=True))
    (finding,) = examined(evaluation_builds_graph.RULE, *who, idle())
    assert finding.severity == "warning"


def test_target_computed_by_a_network_that_losses_run_through_in_eval_mode_is_an_info() -> None:
    who = (module(0, ENCODER), steps(2, {ENCODER: 1.0}), forward(1, training=False))
    (finding,) = examined(evaluation_builds_graph.RULE, *who, idle())
    assert finding.severity == "info"


def test_a_rollout_that_keeps_next_to_nothing_is_silent() -> None:
    who = (module(0, ENCODER), steps(2, {ENCODER: 1.0}, backward={"values": []}))
    assert examined(evaluation_builds_graph.RULE, *who, idle(training=True, bytes_held=4096)) == []
    assert len(examined(evaluation_builds_graph.RULE, *who, idle(bytes_held=4096))) == 1


def test_modules_that_one_line_calls_are_one_finding() -> None:
    who = (module(0, ENCODER), steps(2, {ENCODER: 1.0}, backward={"values": []}))
    inner = module(1, HEAD, name="attention")
    (finding,) = examined(evaluation_builds_graph.RULE, *who, inner, idle(), idle(module=1))
    assert "8 forward passes of `" in finding.message
    assert "and 1 other module built a graph" in finding.message


def test_single_idle_pass_is_silent() -> None:
    assert examined(evaluation_builds_graph.RULE, steps(2, {ENCODER: 1.0}), idle(passes=1)) == []


def test_line_whose_graphs_are_used_later_is_silent() -> None:
    used = IdleForwardUsed(step=3, module=0, location=at(40), training=True)
    rollouts = idle(training=True)
    assert examined(evaluation_builds_graph.RULE, module(0, ENCODER), steps(2, {ENCODER: 1.0}), rollouts, used) == []
    elsewhere = IdleForwardUsed(step=3, module=0, location=at(41), training=True)
    assert examined(evaluation_builds_graph.RULE, module(0, ENCODER), steps(2, {ENCODER: 1.0}), rollouts, elsewhere)


def in_eval(step: int, **more: object) -> Event:
    return forward(step, training=False, in_eval=["dropout"], mode_set_at=at(50), **more)


def modes(*passes: Event) -> tuple[object, ...]:
    return module(0, ENCODER, mode_dependent=["dropout"]), passes, steps(4, {ENCODER: 1.0})


def test_training_in_eval_mode_after_an_evaluation_is_an_error_at_the_switch() -> None:
    passes = (forward(0, in_train=["dropout"]), in_eval(1), in_eval(2), in_eval(3))
    (finding,) = examined(training_in_eval_mode.RULE, *modes(*passes))
    assert (line(finding), finding.severity) == (50, "error")
    assert "3 of 4 training steps" in finding.message


def frozen(*parameters: int) -> list[Event]:
    return [ParameterFrozen(parameter=number, location=at(48)) for number in parameters]


def test_eval_mode_that_came_with_freezing_may_be_a_new_stage() -> None:
    passes = [forward(0, in_train=["dropout"]), *frozen(HEAD), in_eval(1), in_eval(2), in_eval(3)]
    both = module(0, ENCODER, HEAD, mode_dependent=["dropout"])
    (finding,) = examined(training_in_eval_mode.RULE, in_order(both, passes, steps(4, {ENCODER: 1.0})))
    assert (finding.severity, finding.confidence) == ("info", "medium")
    assert "a new stage" in finding.notes[0]


@pytest.mark.parametrize(
    "passes",
    [
        (frozen(HEAD), forward(0, in_train=["dropout"]), in_eval(1), in_eval(2), in_eval(3)),
        (forward(0, in_train=["dropout"]), frozen(2), in_eval(1), in_eval(2), in_eval(3)),
        (forward(0, in_train=["dropout"]), in_eval(1), in_eval(2), frozen(HEAD), in_eval(3)),
    ],
    ids=["before it trained", "another model", "after the switch"],
)
def test_eval_mode_that_freezing_does_not_explain_is_an_error(passes: tuple[object, ...]) -> None:
    both = module(0, ENCODER, HEAD, mode_dependent=["dropout"])
    events = [event for each in passes for event in (each if isinstance(each, list) else [each])]
    (finding,) = examined(training_in_eval_mode.RULE, in_order(both, events, steps(4, {ENCODER: 1.0})))
    assert finding.severity == "error"


def new_stage(*between: Event, evaluated_before: bool = False, line: int = 30, anew: bool = True) -> list[Event]:
    """Two steps in train mode, then three in eval mode, with what comes between; `anew`: by another optimizer."""

    def step(number: int, event: Event, *, optimizer: int, line: int) -> list[Event]:
        facts = {"values": [ENCODER], "reached": [ENCODER], "wrote": [ENCODER], "line": line}
        return [event, backward(number, **facts), stepped(number, {ENCODER: 1.0}, optimizer=optimizer)]

    helper = [ModeSet(step=1, module=0, training=False, location=at(50))] * evaluated_before
    who = [seen(ENCODER, "encoder.weight"), module(0, ENCODER, mode_dependent=["dropout"]), built(ENCODER)]
    first = [event for number in (0, 1) for event in step(number, forward(number), optimizer=0, line=20)]
    second = [event for number in (2, 3, 4) for event in step(number, in_eval(number), optimizer=int(anew), line=line)]
    return in_order(who, first[:3], helper, first[3:], between, second)


SWITCHED = ModeSet(step=2, module=0, training=False, location=at(50))
BUILT = built(ENCODER, optimizer=1)
MEASURED = in_eval(2, grad_enabled=False, builds_graph=False)


@pytest.mark.parametrize(
    "happened",
    [
        new_stage(SWITCHED, BUILT),
        new_stage(SWITCHED, BUILT, MEASURED),
        new_stage(BUILT, SWITCHED),
        new_stage(SWITCHED, anew=False),
    ],
    ids=["with its optimizer", "that acts before it learns", "after its optimizer", "with a loss of its own"],
)
def test_a_stage_may_begin_with_a_switch_to_eval_mode(happened: list[Event]) -> None:
    assert examined(training_in_eval_mode.RULE, happened) == []


@pytest.mark.parametrize(
    "between",
    [(SWITCHED, MEASURED, BUILT), (BUILT, SWITCHED, MEASURED), (BUILT,)],
    ids=["measured before", "measured with the new one", "no switch"],
)
@pytest.mark.parametrize(("line", "severity"), [(20, "error"), (30, "warning")])
def test_a_switch_for_an_evaluation_may_be_meant_for_a_loss_of_its_own(
    between: tuple[Event, ...], line: int, severity: str
) -> None:
    (finding,) = examined(training_in_eval_mode.RULE, new_stage(*between, line=line))
    assert finding.severity == severity
    assert finding.confidence == ("medium" if severity == "warning" else "high")


@pytest.mark.parametrize(
    "happened",
    [new_stage(SWITCHED, BUILT, evaluated_before=True, line=20), new_stage(SWITCHED, anew=False, line=20)],
    ids=["as every evaluation does", "no new stage"],
)
def test_a_switch_for_an_evaluation_is_not_meant_for_a_new_stage(happened: list[Event]) -> None:
    assert [finding.severity for finding in examined(training_in_eval_mode.RULE, happened)] == ["error"]


@pytest.mark.parametrize(
    ("rounds", "how", "severity"),
    [
        ("ttee", "finished", "error"),
        ("ttteee", "finished", "warning"),
        ("ttte", "finished", "error"),
        ("ttte", "steps", "warning"),
        ("tttete", "finished", "error"),
        ("teee", "finished", "error"),
    ],
    ids=["back once", "back twice", "the last round", "that goes on", "back in between", "never back"],
)
def test_what_went_back_to_train_mode_before_may_mean_to_stay_in_eval_mode(
    rounds: str, how: str, severity: str
) -> None:
    passes = [event for at, mode in enumerate(rounds) for event in one_round(2 * at, mode)]
    happened = in_order(module(0, ENCODER), passes, steps(2 * len(rounds), {ENCODER: 1.0}), [RunEnded(reason=how)])
    assert [finding.severity for finding in examined(training_in_eval_mode.RULE, happened)] == [severity]


def one_round(step: int, mode: str) -> list[Event]:
    """Two steps in one mode, and an evaluation."""
    trained = [forward(number) if mode == "t" else in_eval(number) for number in (step, step + 1)]
    return [*trained, in_eval(step + 1, grad_enabled=False, builds_graph=False)]


def test_training_in_eval_mode_from_the_start_is_a_warning() -> None:
    (finding,) = examined(training_in_eval_mode.RULE, *modes(*(in_eval(step) for step in range(4))))
    assert (finding.severity, finding.confidence) == ("warning", "medium")


def test_switch_is_found_by_its_event_where_the_pass_does_not_name_it() -> None:
    switched = ModeSet(step=1, module=0, training=False, location=at(51))
    later = [forward(step, training=False, in_eval=["dropout"]) for step in (1, 2)]
    (finding,) = examined(training_in_eval_mode.RULE, *modes(forward(0), switched, *later))
    assert line(finding) == 51


def test_probing_pass_in_eval_mode_beside_training_is_silent() -> None:
    passes = [event for step in range(4) for event in (in_eval(step), forward(step, in_train=["dropout"]))]
    assert examined(training_in_eval_mode.RULE, *modes(*passes)) == []


def test_part_that_does_not_learn_may_stay_in_eval_mode() -> None:
    frozen = (module(0, HEAD), [in_eval(step) for step in range(4)], steps(4, {ENCODER: 1.0}))
    assert examined(training_in_eval_mode.RULE, *frozen) == []


def test_batch_norm_whose_parameters_do_not_learn_is_frozen_on_purpose() -> None:
    who = (seen(0, "model.conv.weight"), seen(1, "model.bn.weight"), module(0, 0, 1))
    passes = [forward(step, training=False, in_eval=["bn"]) for step in range(4)]
    assert examined(training_in_eval_mode.RULE, who, passes, steps(4, {0: 1.0})) == []


def test_the_switch_that_a_later_one_restores_is_shown() -> None:
    earlier = structs.replace(SWITCHED, location=at(49))
    (finding,) = examined(training_in_eval_mode.RULE, new_stage(earlier, MEASURED, SWITCHED, anew=False, line=20))
    assert line(finding) == 50
    assert [note.location for note in finding.related] == [at(49), in_eval(2).location]  # type: ignore[attr-defined]


def without_gradients(step: int, **more: object) -> Event:
    facts = {"line": 60, "grad_enabled": False, "builds_graph": False, "in_train": ["bn"], **more}
    return forward(step, **facts)


def training(count: int = 8, **more: object) -> tuple[object, ...]:
    passes = [forward(step, in_train=["bn"], mode_set_at=at(49), **more) for step in range(count)]
    return module(0, ENCODER), passes, steps(count, {ENCODER: 1.0})


def test_evaluation_in_train_mode_now_and_then_is_a_warning() -> None:
    evaluated = [without_gradients(step, statistics_moved=["bn"], mode_set_at=at(49)) for step in (4, 8)]
    (finding,) = examined(evaluation_in_train_mode.RULE, *training(), evaluated)
    assert (line(finding), finding.severity) == (60, "warning")
    assert "statistics of `bn` moved" in finding.message
    assert [note.location for note in finding.related] == [at(49)]


def test_pass_without_gradients_in_every_step_is_an_info() -> None:
    labelled = [without_gradients(step, mode_set_at=at(49)) for step in range(8)]
    (finding,) = examined(evaluation_in_train_mode.RULE, *training(), labelled)
    assert (finding.severity, finding.confidence) == ("info", "low")


def test_what_training_keeps_in_eval_mode_stays_there_after_an_evaluation() -> None:
    evaluated = [without_gradients(step, in_train=["drop"], mode_set_at=at(49)) for step in (4, 8)]
    (finding,) = examined(evaluation_in_train_mode.RULE, *training(in_eval=["backbone.bn"]), evaluated)
    assert finding.help is not None
    assert "training keeps `backbone.bn` in eval mode" in finding.help


def test_samples_that_no_step_learns_from_at_the_line_that_trains() -> None:
    scored = HeldOutScored(step=8, module=0, location=forward(0).location, passes=6, times=3, trained=12)
    (finding,) = examined(evaluation_in_train_mode.RULE, *training(), scored)
    assert (finding.severity, finding.confidence, finding.location) == ("warning", "medium", forward(0).location)
    assert examined(evaluation_in_train_mode.RULE, *training(), structs.replace(scored, module=1)) == []
    assert examined(evaluation_in_train_mode.RULE, *training(), structs.replace(scored, location=at(61))) == []


def test_mode_set_on_purpose_for_the_pass_is_silent() -> None:
    assert examined(evaluation_in_train_mode.RULE, *training(), without_gradients(8, mode_set_at=at(59))) == []


@pytest.mark.parametrize(
    "passed",
    [without_gradients(8, in_train=[]), without_gradients(8, training=False), without_gradients(8, number=1)],
    ids=["no such layers", "Monte-Carlo dropout", "a network that does not learn"],
)
def test_other_passes_without_gradients_are_silent(passed: Event) -> None:
    assert examined(evaluation_in_train_mode.RULE, *training(), passed) == []


def test_a_function_that_does_not_heed_the_mode_in_evaluation_with_gradients() -> None:
    dropout = ModeNotHeeded(step=4, module=0, function="dropout", location=at(30), grad_enabled=True)
    idle = ForwardsWithoutBackward(step=4, module=0, location=at(60), training=False, passes=1, bytes_held=9)
    used = IdleForwardUsed(step=5, module=0, location=at(60), training=False)
    (finding,) = examined(evaluation_in_train_mode.RULE, *training(), dropout, idle)
    assert line(finding) == 30
    assert examined(evaluation_in_train_mode.RULE, *training(), dropout) == []
    assert examined(evaluation_in_train_mode.RULE, *training(), dropout, idle, used) == []
    assert examined(evaluation_in_train_mode.RULE, *training(), dropout, structs.replace(idle, training=True)) == []


def norm(*, frozen: bool) -> tuple[object, ...]:
    who = (seen(0, "model.bn.weight", shape=(4,), requires_grad=not frozen), seen(1, "model.head.weight"), built(1))
    return who, module(0, 0, 1)


def moving(count: int = 4, **more: object) -> list[Event]:
    return [forward(step, statistics_moved=["bn"], **more) for step in range(count)]


def test_moving_statistics_of_a_frozen_norm_are_a_warning() -> None:
    (finding,) = examined(frozen_statistics_move.RULE, *norm(frozen=True), moving(), steps(4, {1: 1.0}))
    assert (line(finding), finding.severity, finding.subject) == (18, "warning", "bn")


def test_frozen_norms_with_nothing_to_keep_are_asked_about() -> None:
    new = moving(new_norms=["bn"])
    (finding,) = examined(frozen_statistics_move.RULE, *norm(frozen=True), new, steps(4, {1: 1.0}))
    assert (finding.severity, finding.confidence) == ("info", "low")
    assert "nothing was learned or loaded before" in finding.notes[0]


def test_norm_that_learns_and_teacher_without_gradients_are_silent() -> None:
    rule = frozen_statistics_move.RULE
    assert examined(rule, *norm(frozen=False), moving(), steps(4, {0: 1.0, 1: 1.0})) == []
    without = moving(grad_enabled=False)
    assert examined(rule, *norm(frozen=True), without, steps(4, {1: 1.0})) == []


def losses_of_both(**more: object) -> list[Event]:
    """Steps whose losses took in what a pass through the norm had made."""
    return steps(4, {1: 1.0}, backward={"wrote": [1], "reached": [1], "values": [0, 1], **more})


def test_frozen_norm_without_gradients_that_feeds_the_loss_is_a_warning() -> None:
    (finding,) = examined(frozen_statistics_move.RULE, *norm(frozen=True), moving(grad_enabled=False), losses_of_both())
    assert (line(finding), finding.severity, finding.confidence) == (18, "warning", "medium")


@pytest.mark.parametrize(
    "events",
    [
        [*moving(grad_enabled=False), *losses_of_both(guessed=[0])],
        [*moving(grad_enabled=False), *losses_of_both(values=[1])],
        [*moving(grad_enabled=False), *losses_of_both(), ParameterCopied(parameter=0, location=at(9))],
        [*moving(), *losses_of_both(), ParameterCopied(parameter=0, location=at(9))],
        [*moving(), *losses_of_both(), forward(4, statistics_moved=["bn"], rewritten_norms=["bn"])],
    ],
    ids=["a guess", "not in the loss", "copied", "copied, with a graph", "rewritten"],
)
def test_norm_that_follows_another_or_feeds_nothing_is_silent(events: list[Event]) -> None:
    assert examined(frozen_statistics_move.RULE, *norm(frozen=True), events) == []


def test_statistics_adapted_outside_of_training_steps_are_silent() -> None:
    later = [forward(step, statistics_moved=["bn"]) for step in (4, 5, 6)]
    assert examined(frozen_statistics_move.RULE, *norm(frozen=True), later, steps(4, {1: 1.0})) == []


def previewed(*, compared: bool = False, borrowed: bool = False, line: int = 7) -> IdleOutputSeen:
    return IdleOutputSeen(step=2, module=0, location=at(line), compared=compared, borrowed=borrowed)


@pytest.mark.parametrize(
    ("more", "is_fault"),
    [
        ((previewed(),), False),
        ((previewed(compared=True, borrowed=True),), False),
        ((), True),
        ((previewed(line=8),), True),
        ((previewed(), previewed(compared=True)), True),
        ((previewed(), forward(1, training=False, grad_enabled=False)), True),
    ],
    ids=["shown", "of adapted weights", "not followed", "elsewhere", "compared as well", "in eval mode as well"],
)
def test_what_is_only_shown_may_use_batch_statistics(more: tuple[Event, ...], is_fault: bool) -> None:
    who = (module(0, ENCODER), steps(8, {ENCODER: 1.0}), *(forward(step, training=True) for step in range(8)))
    idle = forward(3, training=True, grad_enabled=False, in_train=["norm"], statistics_moved=["norm"], line=7)
    assert bool(examined(evaluation_in_train_mode.RULE, *who, idle, *more)) is is_fault


def test_dropout_has_no_statistics_to_show() -> None:
    who = (module(0, ENCODER), steps(8, {ENCODER: 1.0}), *(forward(step, training=True) for step in range(8)))
    idle = forward(3, training=True, grad_enabled=False, in_train=["drop"], line=7)
    assert examined(evaluation_in_train_mode.RULE, *who, idle, previewed())


@pytest.mark.parametrize(
    ("step", "output", "is_fault"),
    [
        (0, (), False),
        (0, (previewed(),), False),
        (0, (previewed(compared=True),), True),
        (3, (), True),
    ],
    ids=["not followed", "not scored", "scored", "later"],
)
def test_before_the_first_step_there_is_nothing_to_score(step: int, output: tuple[Event, ...], is_fault: bool) -> None:
    idle = forward(step, training=True, grad_enabled=False, in_train=["drop"], line=7)
    training = (forward(each, training=True) for each in range(8))
    trace = in_order(module(0, ENCODER), *([idle] if not step else []), *steps(8, {ENCODER: 1.0}), *training)
    trace = in_order(*trace, *([idle] if step else []), *output)
    assert bool(examined(evaluation_in_train_mode.RULE, trace)) is is_fault


def rollout(**output: bool) -> list[Event]:
    """One step after the other: a pass without a graph right after `train()`, one that trains, one in eval mode."""
    idle = {"grad_enabled": False, "in_train": ["drop"], "line": 7}
    found: list[Event] = [module(0, ENCODER)]
    for step in range(1, 20, 6):
        found += [ModeSet(step=step, module=0, training=True, location=at(6)), forward(step, training=True, **idle)]
        found += [forward(later, training=True) for later in range(step, step + 6)]
        found += [ModeSet(step=step + 5, module=0, training=False, location=at(9))]
        found += [forward(step + 5, training=False, grad_enabled=False, line=10)]
    seen = IdleOutputSeen(step=2, module=0, location=at(7), compared=True, **output)
    return [*steps(25, {ENCODER: 1.0}), *found, seen]


def test_a_mode_that_is_set_for_passes_that_torch_does_not_score_is_a_hint() -> None:
    def severities(events: list[Event]) -> list[str]:
        return [each.severity for each in examined(evaluation_in_train_mode.RULE, in_order(*events))]

    decided = rollout(elsewhere=True)
    assert severities(decided) == ["info"]
    assert severities(rollout()) == ["warning"]
    assert severities([each for each in decided if not isinstance(each, ModeSet)]) == ["warning"]
    assert severities([each for each in decided if getattr(each, "training", True)]) == ["warning"]


def scored(step: int = 3, *, unsettled: bool = False) -> list[Event]:
    """A pass with a graph at line 7 that no backward came through and whose output was compared."""
    return [
        forward(step, training=True, in_train=["drop"], line=7),
        structs.replace(idle(training=True), location=at(7), unsettled=unsettled),
        IdleOutputSeen(step=step, module=0, location=at(7), compared=True, grad_enabled=True),
    ]


@pytest.mark.parametrize(
    ("events", "is_fault"),
    [
        (scored(), True),
        (scored(unsettled=True), False),
        ([*scored(unsettled=True), FINISHED], True),
        (scored(step=0), False),
        (scored()[:2], False),
        (scored()[::2], False),
        ([*scored(), IdleForwardUsed(step=9, module=0, location=at(7), training=True)], False),
        ([event for step in range(1, 8) for event in scored(step=step)], False),
    ],
    ids=[
        "score",
        "cut off",
        "at the end",
        "before training",
        "compared with nothing",
        "used",
        "used later",
        "each step",
    ],
)
def test_what_is_scored_with_a_graph_in_train_mode(events: list[Event], is_fault: bool) -> None:
    who = (module(0, ENCODER), steps(8, {ENCODER: 1.0}), *(forward(step, training=True) for step in range(8)))
    assert bool(examined(evaluation_in_train_mode.RULE, *who, *events)) is is_fault


# ----------------------------------------------------------------------------------------------------------- AD215


def writing(**more: object) -> list[Event]:
    facts = {"written_parameters": [ENCODER], "written_at": at(7), **more}
    return [forward(step, **facts) for step in range(4)]


KEPT = WriteWeighed(parameter=ENCODER, moved=100, free=0, held=0, done=1.0, kept=0.8, left=0.8, turned=0.01, heeds=None)
ROUNDED = structs.replace(KEPT, kept=0.01, left=0.5)
REPLACED = structs.replace(KEPT, kept=50.0, left=9e4, turned=1.4)
BOUNDED = structs.replace(KEPT, free=40, held=60, done=0.0, kept=0.0, left=0.0)
AT_BOUND = structs.replace(BOUNDED, moved=1, free=0, held=1, flat=True)
RESTORED = structs.replace(KEPT, kept=0.0, left=0.0)


def leaving(*writes: WriteWeighed) -> list[Event]:
    """What each forward but the first left of the steps before it."""
    return [WritesWeighed(step=1 + step, module=0, writes=[write]) for step, write in enumerate(writes)]


@pytest.mark.parametrize(
    ("writes", "undone", "said"),
    [
        ([], [], ("info", "low")),
        ([], [ENCODER], ("error", "high")),
        ([RESTORED] * 3, [ENCODER], ("error", "high")),
        ([RESTORED] * 3, [], ("warning", "low")),
        ([structs.replace(RESTORED, held=30)] * 3, [ENCODER], ("error", "high")),
        ([KEPT, KEPT, RESTORED], [ENCODER], ("info", "low")),
        ([KEPT] * 3, [], ("info", "low")),
        ([structs.replace(KEPT, kept=0.15, left=0.15)] * 3, [], ("info", "low")),
        ([structs.replace(ROUNDED, rescaled=True)] * 3, [], ("info", "low")),
        ([structs.replace(ROUNDED, free=95)] * 3, [], ("info", "low")),
        ([structs.replace(ROUNDED, kept=0.3)] * 3, [], ("info", "low")),
        ([structs.replace(ROUNDED, moved=4)] * 3, [], ("info", "low")),
        ([ROUNDED] * 3, [], ("warning", "low")),
        ([REPLACED] * 3, [], ("warning", "low")),
        ([BOUNDED] * 3, [], None),
        ([BOUNDED] * 3, [ENCODER], None),
        ([structs.replace(BOUNDED, free=0, held=100)] * 3, [ENCODER], None),
        ([AT_BOUND] * 3, [ENCODER], ("warning", "low")),
        ([structs.replace(AT_BOUND, held=0, free=1), AT_BOUND, AT_BOUND], [ENCODER], None),
        ([AT_BOUND, *[structs.replace(AT_BOUND, heeds=True)] * 2], [ENCODER], None),
        ([AT_BOUND, *[structs.replace(AT_BOUND, heeds=False)] * 2], [ENCODER], ("error", "high")),
    ],
)
def test_what_is_left_of_the_steps_decides(
    writes: list[WriteWeighed], undone: list[int], said: tuple[str, str] | None
) -> None:
    found = examined(
        parameter_written_in_forward.RULE, WHO, writing(undone_parameters=undone), leaving(*writes), steps(4, {0: 1.0})
    )
    assert [(line(each), each.severity, each.confidence) for each in found] == ([(7, *said)] if said else [])


def test_two_models_that_write_at_one_line_are_one_finding() -> None:
    twice = [structs.replace(event, module=module) for event in writing() for module in (0, 1)]
    (finding,) = examined(parameter_written_in_forward.RULE, WHO, twice, steps(4, {0: 1.0}))
    assert finding.step_count == 4
    nowhere = [structs.replace(event, written_at=None) for event in twice]
    assert len(examined(parameter_written_in_forward.RULE, WHO, nowhere, steps(4, {0: 1.0}))) == 2


def test_what_is_taken_back_before_each_step_is_lent() -> None:
    undone = writing(undone_parameters=[ENCODER])
    back = WritesTakenBack(step=1, parameters=[ENCODER])
    assert examined(parameter_written_in_forward.RULE, WHO, undone, back, steps(4, {0: 1.0})) == []
    left = WritesTakenBack(step=2, parameters=[], left=[ENCODER])
    assert examined(parameter_written_in_forward.RULE, WHO, undone, back, left, steps(4, {0: 1.0}))


@pytest.mark.parametrize(
    ("forwards", "parts", "severity"),
    [(12, [[ENCODER]], "info"), (6, [[ENCODER]], "warning"), (12, [[]], "warning"), (12, [[ENCODER], []], "warning")],
    ids=["restarts", "often", "all of it", "once all of it"],
)
def test_some_rows_that_are_seldom_written_may_be_begun_anew(
    forwards: int, parts: list[list[int]], severity: str
) -> None:
    left = [WritesTakenBack(step=1, parameters=[], left=[ENCODER], parts=each) for each in parts]
    others = [forward(step) for step in range(4, forwards)]
    events = (WHO, writing(), others, left, leaving(*[ROUNDED] * 3), steps(forwards, {ENCODER: 1.0}))
    (finding,) = examined(parameter_written_in_forward.RULE, *events)
    assert finding.severity == severity


def test_what_is_learned_after_the_last_write_is_set_by_statistics_first() -> None:
    later = [
        event for step in range(4, 8) for event in (backward(step, wrote=[ENCODER]), stepped(step, {ENCODER: 1.0}))
    ]
    assert examined(parameter_written_in_forward.RULE, WHO, writing(), steps(4, {HEAD: 1.0}), later) == []


def test_average_that_no_gradient_reaches_may_be_written() -> None:
    assert examined(parameter_written_in_forward.RULE, WHO, writing(), steps(4, {HEAD: 1.0})) == []
    assert examined(parameter_written_in_forward.RULE, WHO, writing(grad_enabled=False), steps(4, {0: 1.0})) == []


# -------------------------------------------------------------------------------------- AD218 sample-without-gradient


def sampled(count: int, *made_from: list[int], first: int = 0, estimated: bool = False) -> list[Event]:
    """Backwards that reach the encoder, which a sample that was drawn at line 15 went into."""
    more = {"kind": "Normal", "parameters": list(made_from) or [[ENCODER]], "estimated": estimated}
    return [
        event
        for step in range(first, first + count)
        for event in (backward(step, reached=[ENCODER]), SamplesUsed(backward=step, location=at(15), **more))
    ]


def test_sample_without_gradient_is_reported_at_its_line() -> None:
    (finding,) = examined(sample_without_gradient.RULE, WHO, sampled(3))
    assert (line(finding), finding.step_count, finding.parameters) == (15, 3, (ENCODER,))
    assert (finding.severity, finding.confidence, finding.subject) == ("warning", "medium", "Normal")
    assert [related.location.line for related in finding.related] == [20]
    assert "`encoder.weight`" in finding.message


def test_sample_that_was_used_once_only_is_silent() -> None:
    assert examined(sample_without_gradient.RULE, WHO, sampled(1)) == []


def test_sample_whose_gradient_is_estimated_most_of_the_time_is_silent() -> None:
    often = sampled(4, first=3, estimated=True)
    assert examined(sample_without_gradient.RULE, WHO, sampled(3), often) == []
    assert examined(sample_without_gradient.RULE, WHO, sampled(4, first=10), often)


def test_sample_in_a_loss_that_does_not_train_its_distribution_is_silent() -> None:
    """A critic learns from what an actor does; they may share a trunk."""
    assert examined(sample_without_gradient.RULE, WHO, sampled(3, [HEAD])) == []
    assert examined(sample_without_gradient.RULE, WHO, sampled(3, [ENCODER, HEAD])) == []
    (finding,) = examined(sample_without_gradient.RULE, WHO, sampled(3, [ENCODER, HEAD], [ENCODER]))
    assert finding.parameters == (ENCODER,)


def test_sample_of_a_frozen_distribution_is_silent() -> None:
    frozen = (seen(ENCODER, "encoder.weight", requires_grad=False), *WHO[1:])
    assert examined(sample_without_gradient.RULE, frozen, sampled(3)) == []


def test_sample_of_a_backward_that_is_not_in_the_trace_is_silent() -> None:
    used = [event for event in sampled(3) if isinstance(event, SamplesUsed)]
    assert examined(sample_without_gradient.RULE, WHO, used) == []


# --------------------------------------------------------------------------------------------- AD220 leaf-not-optimized

FIRST, SECOND = 7, 8


def collecting(count: int, *leaves: int) -> list[Event]:
    """The head learns; the leaves get gradients from the same backwards."""
    return steps(count, {HEAD: 1.0}, backward={"wrote": [HEAD, *leaves]})


def leaf(number: int, *, line: int, **more: object) -> tuple[Event, Event]:
    facts = {"kind": "tensor", "shape": (3,), **more}
    return seen(number, f"leaf{number}", **facts), LeafCollected(parameter=number, location=at(line))


def test_leaves_of_one_line_are_one_finding() -> None:
    made = (*leaf(FIRST, line=3), *leaf(SECOND, line=3))
    (found,) = examined(leaf_not_optimized.RULE, WHO, made, collecting(4, FIRST, SECOND), FINISHED)
    assert (line(found), found.severity, found.parameters) == (3, "warning", (FIRST, SECOND))
    assert [related.location.line for related in found.related] == [20, 5]
    apart = (*leaf(FIRST, line=3), *leaf(SECOND, line=4))
    both = examined(leaf_not_optimized.RULE, WHO, apart, collecting(4, FIRST, SECOND), FINISHED)
    assert [line(each) for each in both] == [3, 4]


def test_a_leaf_of_which_the_line_is_unknown_is_put_down_to_its_backward() -> None:
    made = (seen(FIRST, "leaf", kind="tensor"), LeafCollected(parameter=FIRST, location=None))
    (found,) = examined(leaf_not_optimized.RULE, WHO, made, collecting(4, FIRST), FINISHED)
    assert (line(found), found.related) == (20, ())


def test_a_program_that_was_stopped_may_read_the_gradient_at_its_end() -> None:
    for end in ((), (RunEnded(reason="steps"),)):
        (found,) = examined(leaf_not_optimized.RULE, WHO, leaf(FIRST, line=3), collecting(4, FIRST), end)
        assert (found.severity, found.confidence) == ("info", "medium")


@pytest.mark.parametrize(
    "more",
    [
        (LeafUsed(parameter=FIRST, how="read"),),
        (built(FIRST, optimizer=1),),
        (stepped(9, optimizer=None, moved=[FIRST]),),
    ],
    ids=["used", "optimized", "by hand"],
)
def test_a_leaf_that_is_of_use_is_none_of_our_business(more: tuple[Event, ...]) -> None:
    assert examined(leaf_not_optimized.RULE, WHO, leaf(FIRST, line=3), collecting(4, FIRST), more, FINISHED) == []


def test_two_steps_and_losses_that_train_nothing_are_no_evidence() -> None:
    made = leaf(FIRST, line=3)
    assert examined(leaf_not_optimized.RULE, WHO, made, collecting(2, FIRST), collecting(2), FINISHED) == []
    probed = [backward(step, wrote=[FIRST]) for step in range(4)]
    assert examined(leaf_not_optimized.RULE, WHO, made, collecting(4), probed, FINISHED) == []


def test_what_a_module_keeps_beside_its_parameters_is_left_to_the_rule_about_these() -> None:
    kept = (WHO, leaf(FIRST, line=3, module_kind="Model"), collecting(4, FIRST), FINISHED)
    assert examined(leaf_not_optimized.RULE, *kept) == []
    (found,) = examined(parameter_not_optimized.RULE, *kept)
    assert found.parameters == (FIRST,)


# ------------------------------------------------------------------------------------------------- AD219 idle-loss-term


def idle_term(count: int, *, of: int = 10, parameters: tuple[int, ...] = (HEAD,), where: int = 16) -> TermIdle:
    facts = {"location": at(where), "operation": "mean", "name": "penalty"}
    return TermIdle(idle=count, steps=of, parameters=list(parameters), **facts)


def test_a_term_is_found_once_by_the_last_word_on_it() -> None:
    (found,) = examined(
        idle_loss_term.RULE, WHO, steps(4, {HEAD: 1.0}), idle_term(3, of=4), idle_term(6, of=7), FINISHED
    )
    assert found.severity == "warning"
    assert (line(found), found.subject, found.evidence["steps"], found.parameters) == (16, "penalty", 6, (HEAD,))
    assert [related.location.line for related in found.related] == [20]


@pytest.mark.parametrize(
    "happened",
    [
        (idle_term(2, of=2),),
        (idle_term(4, of=9),),
        (idle_term(6, parameters=(5,)),),
        (idle_term(6), TermUsed(location=at(16), operation="mean")),
    ],
    ids=["too few", "not in most steps", "of nothing that is trained", "used"],
)
def test_a_term_that_may_be_of_use_is_let_alone(happened: tuple[Event, ...]) -> None:
    assert examined(idle_loss_term.RULE, WHO, steps(4, {HEAD: 1.0}), *happened) == []


def test_a_term_of_a_program_that_was_stopped_may_be_read_in_a_later_step() -> None:
    (found,) = examined(idle_loss_term.RULE, WHO, steps(4, {HEAD: 1.0}), idle_term(6), RunEnded(reason="steps"))
    assert (found.severity, found.confidence) == ("info", "medium")


def test_a_use_at_another_place_tells_nothing() -> None:
    used = TermUsed(location=at(17), operation="mean")
    assert len(examined(idle_loss_term.RULE, WHO, steps(4, {HEAD: 1.0}), idle_term(6), used)) == 1


def test_a_term_left_out_explains_the_parameters_that_only_it_would_teach() -> None:
    trace = (WHO, steps(6, {HEAD: 1.0}, missing=[ENCODER]), idle_term(6, parameters=(ENCODER, HEAD)))
    rules = (idle_loss_term.RULE, unused_parameter.RULE)
    findings = [finding for rule in rules for finding in examined(rule, *trace)]
    assert {finding.code for finding in findings} == {"AD219", "AD203"}
    (case,) = cases(findings, {rule.code: rule.folds for rule in rules})
    assert (case.finding.code, [each.code for each in case.consequences]) == ("AD219", ["AD203"])


# ------------------------------------------------------------------------------------------- what a later stage leaves


def staged(*, taught_again: bool = False, steps_of_second: int = 12, frozen: bool = False) -> list[Finding]:
    """A first optimizer that trained both parameters, and a second one whose backwards a cut keeps from parameter 0."""
    first = [event for n in range(12) for event in (_whole(n), stepped(n, {0: 1.0, 1: 1.0}, optimizer=0))]
    second: list[Event] = []
    for n in range(12, 12 + steps_of_second):
        missing = {"frozen": [0]} if frozen else {"missing": [0]}
        second += [_cut_off(n), stepped(n, {1: 1.0}, optimizer=1, **missing)]
        if taught_again:
            second += [_whole(n), stepped(n, {0: 1.0, 1: 1.0}, optimizer=0)]
    return examined(graph_cut.RULE, built(0, 1, optimizer=0), built(0, 1, optimizer=1), in_order(first, second))


def _whole(step: int) -> Event:
    return backward(step, values=[0, 1], reached=[0, 1], wrote=[0, 1])


def _cut_off(step: int) -> Event:
    cut = Cut(operation="detach", location=at(30), parameters=[0], reason="operation")
    return backward(step, line=40, values=[0, 1], reached=[1], wrote=[1], cuts=[cut])


def test_what_an_earlier_stage_taught_and_a_later_one_holds_in_vain() -> None:
    (finding,) = staged()
    assert (finding.location, finding.severity) == (at(30), "warning")
    assert any("earlier stage" in note for note in finding.notes)


def test_stages_that_are_short_alternate_or_leave_parameters_out() -> None:
    assert staged(steps_of_second=9) == []
    assert staged(taught_again=True) == []
    assert staged(frozen=True) == []
