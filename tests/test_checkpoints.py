"""The probe of activation checkpoints: what is compared between the two passes, and what is not disturbed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.utils.checkpoint
from torch import nn

from autograd_doctor.events.errors import CheckpointRan
from autograd_doctor.events.event import Event
from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.instruments.errors.checkpoints import Checkpoints
from tests.watching import watching

BOTH = pytest.mark.parametrize("reentrant", [False, True], ids=["without re-entrance", "re-entrant"])


def run(segment: Callable[..., Any], x: torch.Tensor, **options: Any) -> None:
    """One checkpointed forward and its backward."""
    output = torch.utils.checkpoint.checkpoint(segment, x, **options)
    if output.requires_grad:
        output.square().sum().backward()


def watched(program: Callable[[], Any]) -> list[Event]:
    with watching(Checkpoints) as seen:
        program()
    return seen


def ran(segment: Callable[..., Any], requires_grad: bool = True, **options: Any) -> CheckpointRan:
    torch.manual_seed(0)
    x = torch.randn(8, 6, requires_grad=requires_grad)
    (event,) = [event for event in watched(lambda: run(segment, x, **options)) if isinstance(event, CheckpointRan)]
    return event


def layers(*more: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 6), *more, nn.Tanh(), nn.Linear(6, 6))


# ---------------------------------------------------------------------------------------------------- the second pass


@BOTH
def test_repeatable_segment_gives_the_same_values(reentrant: bool) -> None:
    event = ran(layers(nn.Dropout(0.5)), use_reentrant=reentrant)
    assert event.difference == 0.0
    assert event.magnitude is not None
    assert event.magnitude > 0
    assert (event.reentrant, event.operation, event.statistics_moved_twice) == (reentrant, "", [])
    assert len(event.parameters) == 4
    assert event.location is not None
    assert event.location.path == __file__


@BOTH
def test_randomness_that_is_not_restored_differs(reentrant: bool) -> None:
    event = ran(layers(nn.Dropout(0.5)), use_reentrant=reentrant, preserve_rng_state=False)
    assert event.operation == "dropout"
    assert event.difference is not None
    assert event.difference > 0.1


@BOTH
def test_state_that_changes_between_the_passes_differs(reentrant: bool) -> None:
    linear, calls = nn.Linear(6, 6), [0]

    def segment(x: torch.Tensor) -> torch.Tensor:
        calls[0] += 1
        return torch.tanh(linear(x) * calls[0])

    event = ran(segment, use_reentrant=reentrant)
    assert event.operation == "mul"
    assert event.differs_at is not None
    assert event.differs_at.path == __file__
    assert "segment" in event.function


@BOTH
def test_batch_norm_moves_its_statistics_twice_without_another_result(reentrant: bool) -> None:
    event = ran(layers(nn.BatchNorm1d(6)), use_reentrant=reentrant)
    assert len(event.statistics_moved_twice) == 1
    assert event.difference == 0.0


@pytest.mark.parametrize("norm", [nn.BatchNorm1d(6).eval(), nn.BatchNorm1d(6, track_running_stats=False)])
def test_batch_norm_that_keeps_its_statistics_does_not_count(norm: nn.Module) -> None:
    assert ran(layers(norm), use_reentrant=False).statistics_moved_twice == []


@BOTH
@pytest.mark.parametrize("momentum", [1 - 0.9**0.5, 0.0513, 0.0253, None])
def test_a_momentum_of_which_two_updates_make_one(momentum: float | None, reentrant: bool) -> None:
    segment = layers(nn.BatchNorm1d(6, momentum=momentum))
    assert [ran(segment, use_reentrant=reentrant).statistics_moved_twice for _ in range(2)] == [[], []]


@pytest.mark.parametrize("momentum", [0.2, 0.1, 0.01, 0.005, 1 - 0.95, 1 - 0.999, 1 / 16, 1 / 3])
def test_any_other_momentum_was_made_for_one_update(momentum: float) -> None:
    assert len(ran(layers(nn.BatchNorm1d(6, momentum=momentum)), use_reentrant=False).statistics_moved_twice) == 1


# ------------------------------------------------------------------------------------------------------ no way through


def test_reentrant_checkpoint_without_gradient_is_seen_at_once() -> None:
    event = ran(layers(), requires_grad=False, use_reentrant=True)
    assert event.no_input_requires_grad
    assert len(event.parameters) == 4
    assert event.difference is None


def test_frozen_segment_has_no_parameters_to_cut_off() -> None:
    assert ran(layers().requires_grad_(False), requires_grad=False, use_reentrant=True).parameters == []


def test_checkpoint_without_reentrance_needs_no_gradient_at_its_input() -> None:
    assert not ran(layers(), requires_grad=False, use_reentrant=False).no_input_requires_grad


def test_evaluation_is_not_watched() -> None:
    def program() -> None:
        with torch.no_grad():
            run(layers(), torch.randn(2, 6), use_reentrant=False)

    assert watched(program) == []


# ----------------------------------------------------------------------------------------------- without being noticed


def trained(reentrant: bool) -> list[torch.Tensor]:
    model = layers(nn.Dropout(0.3), nn.BatchNorm1d(6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        run(model, torch.randn(8, 6, requires_grad=True), use_reentrant=reentrant)
        optimizer.step()
    return [*(tensor.detach().clone() for tensor in model.state_dict().values()), torch.random.get_rng_state()]


@BOTH
def test_training_and_random_state_stay_as_they_were(reentrant: bool) -> None:
    plain = trained(reentrant)
    beside: list[torch.Tensor] = []
    events = watched(lambda: beside.extend(trained(reentrant)))
    assert any(isinstance(event, CheckpointRan) for event in events)
    assert all(torch.equal(one, other) for one, other in zip(plain, beside, strict=True))


def test_only_the_first_runs_of_a_line_are_compared() -> None:
    events = watched(lambda: trained(False))
    assert sum(isinstance(event, CheckpointRan) for event in events) == 2
    assert sum(isinstance(event, ParameterSeen) for event in events) == 6


def test_patch_is_taken_back() -> None:
    before = dict(vars(torch.utils.checkpoint))
    with watching(Checkpoints):
        assert vars(torch.utils.checkpoint) != before
    assert vars(torch.utils.checkpoint) == before


@pytest.mark.skipif(
    inspect.signature(torch.utils.checkpoint.checkpoint).parameters["function"].default is inspect.Parameter.empty,
    reason="this torch has no checkpoint in the form of a decorator",
)
@BOTH
def test_checkpoint_as_a_decorator(reentrant: bool) -> None:
    body = layers(nn.Dropout(0.5))
    x = torch.randn(8, 6, requires_grad=True)

    def program() -> None:
        @torch.utils.checkpoint.checkpoint(use_reentrant=reentrant)
        def segment(x: torch.Tensor) -> torch.Tensor:
            return body(x)

        segment(x).square().sum().backward()

    (event,) = [event for event in watched(program) if isinstance(event, CheckpointRan)]
    assert (event.reentrant, event.difference) == (reentrant, 0.0)
    assert event.function.endswith("segment")
    assert event.location is not None
    assert event.location.path == __file__


def test_exception_in_the_segment_reaches_the_program() -> None:
    def segment(x: torch.Tensor) -> torch.Tensor:
        raise KeyError("mask")

    with pytest.raises(KeyError, match="mask"):
        watched(lambda: run(segment, torch.randn(2, 6, requires_grad=True), use_reentrant=False))
