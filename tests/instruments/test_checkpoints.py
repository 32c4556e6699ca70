"""Activation checkpoints: two passes of a segment, operation by operation."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

from autograd_doctor.events.errors import CheckpointRan
from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.instruments.errors import checkpoints as module
from autograd_doctor.instruments.errors.checkpoints import Checkpoints
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.signals.checkpoints import CheckpointCall
from autograd_doctor.signals.operations import Operation
from tests.inventing import Invented, inventing


def segment() -> None:
    """What the checkpoint is given."""


def learned(*values: float) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


def call(*args: Any, reentrant: bool = False, grad_enabled: bool = True, function: Any = segment) -> CheckpointCall:
    return CheckpointCall(function, args, reentrant, grad_enabled)


def begin(run: Invented, it: CheckpointCall) -> CheckpointCall:
    run.signals.checkpoints.began.send(it)
    return it


def run_pass(run: Invented, it: CheckpointCall, *results: tuple[str, torch.Tensor], args: Any = ()) -> None:
    run.signals.checkpoints.pass_began.send(it)
    for name, result in results:
        operation = Operation(torch.add, Kind.OPERATION, name, args, {}, True)
        run.signals.operations.began.send(operation)
        operation.result = result
        run.signals.operations.ended.send(operation)
    run.signals.checkpoints.pass_ended.send(it)


def compared(*passes: list[tuple[str, torch.Tensor]]) -> CheckpointRan:
    with inventing(Checkpoints) as run:
        it = begin(run, call())
        for results in passes:
            run_pass(run, it, *results)
        (event,) = run.of(CheckpointRan)
        return event


def test_two_passes_that_agree():
    event = compared([("mul", learned(1.0, -4.0))], [("mul", learned(1.0, -4.0))])
    assert (event.difference, event.magnitude, event.operation, event.differs_at) == (0.0, 4.0, "", None)
    assert (event.reentrant, event.no_input_requires_grad, event.parameters) == (False, False, [])
    assert (event.function, event.step) == ("segment", 0)
    assert event.location is not None


def test_the_first_operation_that_differs_is_named_and_the_largest_difference_told():
    event = compared(
        [("mul", learned(1.0)), ("add", learned(2.0, 4.0)), ("exp", learned(1.0))],
        [("mul", learned(1.0)), ("add", learned(2.0, 5.0)), ("exp", learned(3.0))],
    )
    assert (event.operation, event.difference, event.magnitude) == ("add", 2.0, 1.0)
    assert event.differs_at is not None


def test_differences_of_rounding_are_none():
    event = compared([("mul", learned(1.0))], [("mul", learned(1.0 + 0.9e-4))])
    assert event.operation == ""
    assert event.difference == pytest.approx(0.9e-4, rel=0.01)
    assert compared([("mul", learned(1.0))], [("mul", learned(1.0 + 1.1e-4))]).operation == "mul"
    assert compared([("mul", learned(0.0))], [("mul", learned(1e-9))]).operation == "mul"


@pytest.mark.parametrize(
    "again",
    [
        [("other", learned(2.0))],
        [("other", learned(2.0)), ("mul", learned(2.0))],
        [("mul", torch.tensor([2.0]))],
        [("mul", learned(2.0, 2.0))],
        [("mul", torch.tensor([2]))],
        [],
    ],
    ids=["another", "another before", "without gradient", "another shape", "whole numbers", "nothing"],
)
def test_what_cannot_be_compared(again):
    event = compared([("mul", learned(1.0)), ("mul", learned(1.0))], again)
    assert (event.difference, event.operation) == (None, "")


def test_passes_are_compared_as_long_as_they_go_the_same_way():
    event = compared([("mul", learned(1.0))], [("mul", learned(1.0)), ("add", learned(2.0))])
    assert (event.difference, event.operation) == (0.0, "")


def test_counters_that_go_up_are_no_results():
    event = compared(
        [("add_", torch.ones(1)), ("mul", learned(1.0))],
        [("mul", learned(1.5))],
    )
    assert event.operation == "mul"


def test_values_that_are_not_numbers_are_equal():
    event = compared([("mul", learned(float("nan")))], [("mul", learned(float("nan")))])
    assert (event.difference, event.operation) == (0.0, "")
    assert compared([("mul", learned())], [("mul", learned())]).difference == 0.0


def test_large_results_are_sampled(monkeypatch):
    monkeypatch.setattr(module, "_SAMPLE", 4)
    before, after = torch.zeros(16, requires_grad=True), torch.zeros(16, requires_grad=True)
    with torch.no_grad():
        after[1] = 1.0
    assert compared([("mul", before)], [("mul", after)]).difference == 0.0
    with torch.no_grad():
        after[12] = 1.0
    assert compared([("mul", before)], [("mul", after)]).difference == 1.0


def test_a_sample_keeps_no_tensor_of_the_program():
    values = torch.ones(8)
    sample = module._sample(values)
    assert sample is not None
    values.zero_()
    assert sample.tolist() == [1.0] * 8
    for other in (torch.ones(1, dtype=torch.int64), torch.eye(2).to_sparse(), torch.ones(1, device="meta")):
        assert module._sample(other) is None


def test_a_third_pass_is_not_compared():
    with inventing(Checkpoints) as run:
        it = begin(run, call())
        for value in (1.0, 1.0, 5.0):
            run_pass(run, it, ("mul", learned(value)))
        assert len(run.of(CheckpointRan)) == 1
        run.signals.checkpoints.pass_began.send(it)
        assert not run.signals.operations.began


# ----------------------------------------------------------------------------------------------------- what is followed


def test_operations_are_listened_to_only_while_a_segment_runs():
    with inventing(Checkpoints) as run:
        first, second = begin(run, call()), begin(run, call())
        assert not run.signals.operations.began
        run.signals.checkpoints.pass_began.send(first)
        run.signals.checkpoints.pass_began.send(second)
        assert run.signals.operations.began
        run.signals.checkpoints.pass_ended.send(second)
        assert run.signals.operations.ended
        run.signals.checkpoints.pass_ended.send(first)
        assert not run.signals.operations.began
        assert not run.signals.operations.ended
        run.signals.checkpoints.pass_began.send(first)
        run.session.detach(Checkpoints)
        assert not run.signals.operations.began
        assert not run.signals.operations.ended


def test_a_segment_inside_a_segment():
    with inventing(Checkpoints) as run:
        outer, inner = begin(run, call()), begin(run, call())
        for value in (1.0, 2.0):
            run.signals.checkpoints.pass_began.send(outer)
            run_pass(run, inner, ("mul", learned(1.0)))
            operation = Operation(torch.add, Kind.OPERATION, "exp", (), {}, True, learned(value))
            run.signals.operations.ended.send(operation)
            run.signals.checkpoints.pass_ended.send(outer)
        assert [event.operation for event in run.of(CheckpointRan)] == ["", "exp"]


def test_the_first_checkpoints_of_a_place_are_followed():
    with inventing(Checkpoints) as run:
        followed = [begin(run, call()).follow for _ in range(module._RUNS_PER_PLACE + 1)]
        assert followed == [True] * module._RUNS_PER_PLACE + [False]
        other = call()
        run.signals.checkpoints.began.send(other)
        assert other.follow, "another place"


def test_without_gradients_there_is_nothing_to_recompute():
    with inventing(Checkpoints) as run:
        it = begin(run, call(grad_enabled=False))
        assert not it.follow
        run_pass(run, it, ("mul", learned(1.0)))
        run.signals.checkpoints.ended.send(it)
        assert run.of(CheckpointRan) == []


@pytest.mark.parametrize(
    ("reentrant", "inputs", "told"),
    [(True, [torch.ones(1)], True), (True, [torch.ones(1), learned(1.0)], False), (False, [torch.ones(1)], False)],
)
def test_a_re_entrant_checkpoint_of_which_no_input_asks_for_a_gradient(reentrant, inputs, told):
    with inventing(Checkpoints) as run:
        it = begin(run, call(*inputs, reentrant=reentrant))
        run_pass(run, it)
        run.signals.checkpoints.ended.send(it)
        assert [(event.no_input_requires_grad, event.reentrant) for event in run.of(CheckpointRan)] == [
            (True, True)
        ] * told


def test_parameters_that_a_segment_uses():
    trained, frozen = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1), requires_grad=False)
    leaf, view = torch.ones(1, requires_grad=True), nn.Parameter(torch.ones(1)) * 1
    with inventing(Checkpoints) as run:
        it = begin(run, call())
        for _ in range(2):
            run_pass(run, it, ("mul", torch.ones(1)), args=([trained, frozen], leaf, view))
        assert run.of(CheckpointRan)[0].parameters == [run.number(trained)]
        assert len(run.of(ParameterSeen)) == 1


# --------------------------------------------------------------------------------------------------------- statistics


@pytest.mark.parametrize(("moves", "told"), [((1, 1), True), ((1, 0), False), ((0, 0), False)])
@pytest.mark.parametrize("by_keyword", [False, True])
def test_statistics_that_moved_in_both_passes(moves, told, by_keyword):
    model = nn.Sequential(nn.BatchNorm1d(2))
    mean = model[0].running_mean
    with inventing(Checkpoints) as run:
        run.find(Modules).add(model, "net")
        it = begin(run, call())
        for move in moves:
            run.signals.checkpoints.pass_began.send(it)
            args = (torch.ones(1),) if by_keyword else (torch.ones(1), mean)
            operation = Operation(
                torch.add, Kind.OPERATION, "batch_norm", args, {"running_mean": mean} if by_keyword else {}
            )
            run.signals.operations.began.send(operation)
            mean.data.add_(move)
            run.signals.operations.ended.send(operation)
            other = Operation(torch.add, Kind.OPERATION, "add", args, {})
            run.signals.operations.began.send(other)
            mean.data.add_(1)
            run.signals.operations.ended.send(other)
            run.signals.checkpoints.pass_ended.send(it)
        assert run.of(CheckpointRan)[0].statistics_moved_twice == (["net.0"] if told else [])


def test_a_batch_norm_that_nobody_knows_and_one_without_statistics():
    layer = nn.BatchNorm1d(2)
    with inventing(Checkpoints) as run:
        modules = run.find(Modules)
        kept = SimpleNamespace(running_mean=torch.ones(2))
        held = module._owner_name(modules, kept.running_mean)
        unknown = module._owner_name(modules, torch.ones(1))
        modules.add(layer, "norm")
        known = module._owner_name(modules, layer.running_mean)
        assert (held, unknown, known) == ("kept", "a batch-norm", "norm")
    bare = Operation(torch.add, Kind.OPERATION, "batch_norm", (torch.ones(1),), {})
    assert module._running_mean(bare) is None
    bare.args = (torch.ones(1), None)
    assert module._running_mean(bare) is None


def test_what_the_user_calls_a_segment():
    block = nn.Linear(1, 1)
    assert module._name(block) == "block"
    unnamed = module._name(nn.Tanh())
    assert unnamed == "Tanh"
    assert module._name(segment) == "segment"

    def inner() -> None:
        pass

    assert module._name(inner) == "test_what_the_user_calls_a_segment.inner"

    class Callable:
        def __call__(self) -> None:
            pass

    assert module._name(Callable()) == "Callable"


def test_who_calls_for_a_segment_is_not_what_it_is_called() -> None:
    block = nn.Linear(2, 2)
    assert module._name(partial(block.__call__, torch.ones(2))) == "block"
    assert module._name(block.forward) == "Linear.forward"
    segments = checkpointed_by_torch(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    assert segments == ["checkpoint_sequential"]


def checkpointed_by_torch(sequence: nn.Sequential) -> list[str]:
    names: list[str] = []

    def told(function: Any, *args: Any, **kwargs: Any) -> Any:
        names.append(module._name(function))
        return function(*args)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(torch.utils.checkpoint, "checkpoint", told)
        checkpoint_sequential(sequence, 2, torch.ones(1, 2, requires_grad=True), use_reentrant=False)
    return names
