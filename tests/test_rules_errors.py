"""Crashes explained, custom functions and checkpoints: the rules AD501 to AD599 on traces made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from autograd_doctor.events.errors import (
    CheckpointRan,
    FunctionJudged,
    InPlaceChange,
    OperationFailed,
    SavedTensorChanged,
)
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.run import ProgramRaised, StackFrame
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, all_rules
from autograd_doctor.trace import Trace

RULES = {rule.code: rule for rule in all_rules() if rule.code.startswith("AD5")}
FREED = "Trying to backward through the graph a second time (or directly access saved tensors)"
CHANGED = "one of the variables needed for gradient computation has been modified by an inplace operation: …"
LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
SCALAR = "grad can be implicitly created only for scalar outputs"
NO_GRAPH = "element 0 of tensors does not require grad and does not have a grad_fn"
MISMATCH = "mat1 and mat2 shapes cannot be multiplied (16x16 and 32x1)"


def at(line: int) -> Location:
    return Location(path="train.py", line=line)


def findings(code: str, *events: Event) -> list[Finding]:
    rule: Rule = RULES[code]
    return list(rule.examine(Trace.of_events(*events), rule.defaults))


def facts(name: str = "", shape: tuple[int, ...] = (), **more: Any) -> TensorFacts:
    return TensorFacts(**{"shape": list(shape), "dtype": "float32", "name": name, **more})


def crash(
    message: str, kind: str = "RuntimeError", tensors: tuple[TensorFacts, ...] = (), **more: Any
) -> ProgramRaised:
    """Line 3 of the program called line 9, which called into torch."""
    frames = [
        StackFrame(location=at(3), own=True),
        StackFrame(location=at(9), own=True, tensors=list(tensors)),
        StackFrame(location=Location(path="torch/nn.py", line=1), own=False),
    ]
    return ProgramRaised(kind=kind, message=message, frames=frames, **more)


def failed(operation: str, message: str, *operands: TensorFacts, kind: str = "RuntimeError") -> OperationFailed:
    return OperationFailed(operation=operation, location=at(9), error=f"{kind}: {message}", operands=list(operands))


def backward(number: int, message: str = "", **more: Any) -> BackwardRan:
    defaults: dict[str, Any] = {"location": at(12), "kind": "backward", "root": facts("loss")}
    error = f"RuntimeError: {message}" if message else ""
    return BackwardRan(backward=number, error=error, **{**defaults, **more})


# ------------------------------------------------------------------------------------------------------ every crash


CRASHES = {
    "AD501": crash(CHANGED),
    "AD502": crash(LEAF),
    "AD504": crash(FREED),
    "AD505": crash(SCALAR),
    "AD506": crash(NO_GRAPH),
    "AD511": crash("Target 7 is out of bounds.", kind="IndexError"),
    "AD512": crash(MISMATCH),
    "AD599": crash("no such key", kind="KeyError"),
}
BY_CODE = pytest.mark.parametrize("code", CRASHES)


@BY_CODE
def test_crash_is_explained_even_if_only_the_traceback_is_known(code: str) -> None:
    (finding,) = findings(code, CRASHES[code])
    assert finding.severity == "error"
    assert finding.location == at(9)
    assert finding.help


@BY_CODE
def test_other_crashes_are_left_to_other_rules(code: str) -> None:
    for other, event in CRASHES.items():
        if other != code and code != "AD599":
            assert findings(code, event) == [], other


@BY_CODE
def test_what_the_program_caught_is_silent(code: str) -> None:
    caught = CRASHES[code].message
    assert findings(code, failed("linear", caught, facts("x", (2, 2))), backward(0, caught)) == []


@pytest.mark.parametrize("code", [code for code in CRASHES if code != "AD599"])
def test_explained_crash_folds_the_general_one(code: str) -> None:
    assert "AD599" in RULES[code].folds


# --------------------------------------------------------------------------------------------------- AD501 and AD503


def change(silently: bool, error: float | None = None, number: int = 0) -> SavedTensorChanged:
    return SavedTensorChanged(
        backward=number,
        tensor=facts("hidden", (16, 8), operation="tanh", made_at=at(5)),
        saved_by="tanh",
        saved_at=at(5),
        changed=InPlaceChange(operation="add_", location=at(6), version=1),
        needed_at=at(12),
        silently=silently,
        relative_error=error,
    )


def test_change_in_place_names_every_line_involved() -> None:
    (finding,) = findings("AD501", change(silently=False), backward(0, CHANGED), crash(CHANGED))
    assert finding.location == at(6)
    assert [related.location.line for related in finding.related] == [5, 5, 12]
    assert "`hidden` (from `tanh`, shape (16, 8), float32)" in finding.message
    assert "`add_`" in finding.message


def test_change_before_another_backward_is_not_blamed() -> None:
    (finding,) = findings("AD501", change(silently=False, number=7), backward(0, CHANGED), crash(CHANGED))
    assert finding.location == at(9)


def test_change_that_nothing_noticed_is_measured() -> None:
    (finding,) = findings("AD503", change(silently=True, error=0.5), change(silently=True, error=0.8))
    assert (finding.severity, finding.confidence, finding.location) == ("error", "high", at(6))
    assert "off by 80%" in finding.message


def test_change_that_was_not_measured_is_less_sure() -> None:
    assert findings("AD503", change(silently=True))[0].confidence == "medium"


def test_change_without_effect_or_with_a_loud_one_is_silent() -> None:
    assert findings("AD503", change(silently=True, error=1e-7), change(silently=False)) == []


# ---------------------------------------------------------------------------------------- AD502, AD504, AD505, AD506


def test_leaf_is_named() -> None:
    leaf = facts("weight", (8,), requires_grad=True, is_leaf=True)
    (finding,) = findings("AD502", failed("sub_", LEAF, leaf, facts("update", (8,))), crash(LEAF))
    assert "`sub_` would change `weight`" in finding.message


def test_second_backward_names_the_first() -> None:
    first = backward(0, location=at(11))
    (finding,) = findings("AD504", first, backward(1, FREED, reused=[0]), crash(FREED))
    assert "freed by an earlier backward in the same step" in finding.message
    assert finding.related[0].location == at(11)
    assert "retain_graph" in finding.help


def test_shared_part_from_an_earlier_step_asks_for_another_remedy() -> None:
    again = backward(1, FREED, step=1, reused=[0], reaches_back=1, reaches_back_at=at(2), carried_by="features")
    (finding,) = findings("AD504", backward(0), again, crash(FREED))
    assert "operations from 1 step ago" in finding.message
    assert "`features`" in finding.message
    assert "retain_graph" not in finding.help
    assert [related.location.line for related in finding.related] == [12, 2]


def test_reduction_that_is_missing_is_found_in_the_frame() -> None:
    loss = facts("loss", (16, 1), operation="MseLossBackward0", requires_grad=True, is_leaf=False, numel=16)
    (finding,) = findings("AD505", crash(SCALAR, tensors=(facts("x", (16, 8), numel=128), loss)))
    assert "`loss` (from `mse_loss`, shape (16, 1), float32), 16 numbers" in finding.message
    assert 'reduction="none"' in finding.help


def test_loss_without_a_graph_says_whose_values_it_has() -> None:
    seen = ParameterSeen(parameter=4, name="fc.weight", shape=[1], dtype="float32", requires_grad=False)
    (finding,) = findings("AD506", seen, backward(0, NO_GRAPH, values=[4]), crash(NO_GRAPH))
    assert "depends on `fc.weight`, none of which requires grad" in finding.message
    assert finding.parameters == (4,)


# ------------------------------------------------------------------------------------------------- AD507 and AD508


def judged(verdict: str, **more: Any) -> FunctionJudged:
    defaults: dict[str, Any] = {"function": "Cube", "location": at(20), "applied_at": at(30), "verdict": verdict}
    return FunctionJudged(**{**defaults, **more})


def test_wrong_gradient_is_an_error_with_both_numbers() -> None:
    wrong = judged(
        "wrong", input=1, error=0.5, expected=2.0, found=1.5, reason="all of it is 0.75 times the derivative"
    )
    (finding,) = findings("AD507", wrong)
    assert (finding.severity, finding.confidence, finding.location) == ("error", "high", at(20))
    assert "for input 2: it returned 1.5, but the finite difference is 2" in finding.message
    assert finding.notes == ("all of it is 0.75 times the derivative",)


def test_gradient_where_the_forward_is_flat_is_less_sure() -> None:
    (finding,) = findings("AD507", judged("wrong", input=0, error=1.0, expected=0.0, found=1.0))
    assert finding.confidence == "medium"


def test_what_may_be_an_estimator_is_a_warning_unless_somebody_asked() -> None:
    cosine = {
        "input": 0,
        "error": 1.0,
        "expected": 1.0,
        "found": 2.0,
        "reason": "its direction agrees to 0.90 (cosine)",
    }
    (finding,) = findings("AD507", judged("differs", **cosine))
    assert (finding.severity, finding.confidence, finding.notes) == ("warning", "medium", (cosine["reason"],))
    (finding,) = findings("AD507", judged("differs", requested=True, **cosine))
    assert (finding.severity, finding.confidence) == ("error", "high")


def test_a_surrogate_is_named_to_who_asked_about_it() -> None:
    (finding,) = findings("AD507", judged("surrogate", reason="it is what it is", requested=True))
    assert finding.severity == "info"
    assert "it is what it is" in finding.message


@pytest.mark.parametrize("verdict", ["surrogate", "not judged"])
def test_what_is_meant_or_unknown_is_no_finding(verdict: str) -> None:
    assert findings("AD507", judged(verdict, reason="it is what it is")) == []


def test_right_gradients_are_silent() -> None:
    assert findings("AD507", judged("right"), judged("wrong", double=True)) == []


def test_gradients_that_autograd_refused_are_explained_once() -> None:
    refused = crash("function CubeBackward returned an incorrect number of gradients (expected 2, got 1)")
    (finding,) = findings("AD507", refused)
    assert finding.subject == "Cube"
    (finding,) = findings("AD507", judged("wrong", reason=refused.message), refused)
    assert finding.location == at(20)
    assert findings("AD599", refused) == []


def test_second_derivatives_count_only_where_they_are_used() -> None:
    wrong = judged("wrong", double=True, reason="constant")
    assert findings("AD508", wrong) == []
    (finding,) = findings("AD508", wrong, backward(0, create_graph=True))
    assert finding.severity == "info"
    assert findings("AD508", judged("right", double=True), backward(0, create_graph=True)) == []


# ------------------------------------------------------------------------------------------------- AD509 and AD510


def checkpoint(**more: Any) -> CheckpointRan:
    return CheckpointRan(**{"location": at(7), "reentrant": True, "function": "body", "parameters": [0, 1], **more})


def test_checkpoint_that_cuts_its_parameters_off() -> None:
    (finding,) = findings("AD509", checkpoint(no_input_requires_grad=True), checkpoint(no_input_requires_grad=True))
    assert finding.parameters == (0, 1)
    assert finding.location == at(7)


@pytest.mark.parametrize(
    "events",
    [
        [checkpoint()],
        [checkpoint(no_input_requires_grad=True, parameters=[])],
        [checkpoint(no_input_requires_grad=True, reentrant=False)],
        [checkpoint(no_input_requires_grad=True), backward(0, wrote=[0, 1])],
    ],
    ids=["input requires grad", "no parameters", "not re-entrant", "they learn elsewhere"],
)
def test_checkpoint_that_lets_gradients_pass(events: list[Event]) -> None:
    assert findings("AD509", *events) == []


def test_recomputed_values_that_differ() -> None:
    (finding,) = findings("AD510", checkpoint(difference=0.5, magnitude=2.0, operation="dropout", differs_at=at(4)))
    assert finding.severity == "error"
    assert "`dropout`, by up to 0.5 in values of up to 2" in finding.message
    assert finding.related[0].location == at(4)


def test_statistics_that_move_twice_are_a_warning() -> None:
    (finding,) = findings("AD510", checkpoint(difference=0.0, magnitude=1.0, statistics_moved_twice=["body.1"]))
    assert finding.severity == "warning"
    assert finding.subject == "body.1"


def test_recomputed_values_within_rounding_or_not_compared_are_silent() -> None:
    assert findings("AD510", checkpoint(difference=1e-6, magnitude=1.0), checkpoint()) == []


def test_checkpoint_error_of_torch_is_explained() -> None:
    refused = crash("a different number of tensors was saved", kind="CheckpointError")
    assert findings("AD510", refused)[0].severity == "error"
    assert findings("AD599", refused) == []


# ------------------------------------------------------------------------------------------- AD511, AD512 and AD599


def test_class_index_is_shown_with_the_ranges() -> None:
    message = "Target 3 is out of bounds."
    target = facts("labels", (16,), low=1.0, high=3.0, made_at=at(6))
    operation = failed("cross_entropy", message, facts("", (16, 3)), target, kind="IndexError")
    (finding,) = findings("AD511", operation, crash(message, kind="IndexError"))
    assert "class index 3" in finding.message
    assert "range from 1 to 3, the classes from 0 to 2" in finding.message
    assert finding.evidence["target_high"] == 3.0
    assert finding.related[0].location == at(6)


@pytest.mark.parametrize(
    ("operation", "message", "target", "said"),
    [
        ("cross_entropy", "expected target dtype to be Long or Byte, but got Float", (16,), "dtype float32"),
        ("mse_loss", "The size of tensor a (3) must match the size of tensor b (2)", (16, 2), "shape (16, 2)"),
        ("cross_entropy", "0D or 1D target tensor expected, multi-target not supported", (16, 1), "shape (16, 1)"),
    ],
)
def test_refused_target_is_described(operation: str, message: str, target: tuple[int, ...], said: str) -> None:
    event = failed(operation, message, facts("", (16, 3)), facts("y", target))
    (finding,) = findings("AD511", event, crash(message))
    assert said in finding.message


LATE = "CUDA error: device-side assert triggered"


def test_an_error_that_an_accelerator_tells_late_may_be_of_an_earlier_line() -> None:
    (finding,) = findings("AD599", crash(LATE, kind="AcceleratorError", late=True))
    assert "an earlier one" in finding.message
    assert "CUDA_LAUNCH_BLOCKING" in finding.help
    (finding,) = findings("AD599", crash(LATE, kind="AcceleratorError"))
    assert "earlier" not in finding.message


def test_a_loss_whose_kernel_meets_no_class_has_a_wrong_target() -> None:
    event = failed("cross_entropy", LATE, facts("", (16, 3)), facts("labels", (16,)), kind="AcceleratorError")
    (finding,) = findings("AD511", event, crash(LATE, kind="AcceleratorError"))
    assert "labels" in finding.message


def test_device_of_a_target_is_no_matter_of_its_values() -> None:
    message = "Expected all tensors to be on the same device, but found at least two devices"
    event = failed("cross_entropy", message, facts("", (16, 3), device="cuda:0"), facts("y", (16,)))
    assert findings("AD511", event, crash(message)) == []
    assert "devices" in findings("AD512", event, crash(message))[0].message


def test_mismatched_operands_are_shown_with_where_they_come_from() -> None:
    hidden = facts("hidden", (16, 16), operation="tanh", made_at=at(8))
    weight = facts("head.weight", (1, 32), parameter=0)
    (finding,) = findings("AD512", failed("linear", MISMATCH, weight, hidden), crash(MISMATCH))
    assert "shapes do not match: `hidden` (from `tanh`" in finding.message
    assert [related.location.line for related in finding.related] == [8]


def test_line_of_the_data_set_that_a_tensor_was_drawn_from_is_shown() -> None:
    drawn = facts("x", (16, 16), operation="stack", made_at=at(30), drawn_from=at(7))
    (finding,) = findings("AD512", failed("linear", MISMATCH, facts("w", (1, 32), parameter=0), drawn), crash(MISMATCH))
    assert [related.location.line for related in finding.related] == [30, 7]
    message = "expected target dtype to be Long or Byte, but got Float"
    (finding,) = findings("AD511", failed("cross_entropy", message, facts("", (16, 3)), drawn), crash(message))
    assert [related.location.line for related in finding.related] == [7, 30]


def test_exception_of_the_program_itself_is_no_mismatch() -> None:
    own = ProgramRaised(kind="ValueError", message="size mismatch", frames=[StackFrame(location=at(3), own=True)])
    assert findings("AD512", own) == []
    assert len(findings("AD599", own)) == 1


def test_crash_shows_the_calls_and_the_tensors() -> None:
    x = facts("x", (16, 8), low=-1.0, high=2.0)
    (finding,) = findings("AD599", crash("'mask'", kind="KeyError", tensors=(x, x), step=4))
    assert finding.message == "the program crashed with `KeyError` after 4 steps: 'mask'"
    assert finding.notes == ("in the failing frame: `x` (shape (16, 8), float32), values -1 to 2",)
    assert [related.location.line for related in finding.related] == [3]
    assert "tensors" in finding.help


def test_crash_without_tensors_speaks_of_none_and_drops_colours() -> None:
    (finding,) = findings("AD599", crash("two options, \x1b[1monly\x1b[0m if", kind="UnpicklingError"))
    assert finding.message.endswith("two options, only if")
    assert "tensors" not in finding.help


def test_single_value_is_no_range() -> None:
    (finding,) = findings("AD599", crash("'mask'", kind="KeyError", tensors=(facts("x", (), low=0.5, high=0.5),)))
    assert finding.notes == ("in the failing frame: `x` (shape (), float32), value 0.5",)


@pytest.mark.parametrize(("kind", "message"), [("SystemExit", "0"), ("SystemExit", ""), ("KeyboardInterrupt", "")])
def test_end_by_will_is_no_crash(kind: str, message: str) -> None:
    assert findings("AD599", crash(message, kind=kind)) == []


def test_program_that_did_not_crash_is_silent_under_all() -> None:
    for code in RULES:
        assert findings(code, backward(0)) == []
