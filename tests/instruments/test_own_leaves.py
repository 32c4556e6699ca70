"""Leaves that the program made itself: which of them collect gradients, and what it uses them for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD
from torch.utils.checkpoint import checkpoint

from autograd_doctor.events.connectivity import LeafCollected, LeafUsed
from autograd_doctor.instruments.connectivity import own_leaves as module
from autograd_doctor.instruments.connectivity.own_leaves import OwnLeaves
from tests.inventing import Invented, inventing
from tests.watching import watching


class Training:
    """A weight that an optimizer holds, beside a leaf that none does."""

    def __init__(self, run: Invented, leaf: torch.Tensor | None = None) -> None:
        self.run = run
        self.weight = nn.Parameter(torch.ones(2))
        self.optimizer = SGD([self.weight], lr=0.1)
        run.signals.optimizers.built.send(self.optimizer)
        self.leaf = torch.ones(2, requires_grad=True) if leaf is None else leaf

    def step(self, loss: Callable[[], torch.Tensor] | None = None) -> None:
        self.run.ran_backward((self.leaf * self.weight).sum() if loss is None else loss())
        with self.run.step(self.optimizer):
            self.optimizer.step()

    def follow(self) -> None:
        """Two steps, after which the leaf is followed."""
        self.step()
        self.step()


def collected(run: Invented) -> list[int]:
    return [event.parameter for event in run.of(LeafCollected)]


def used(run: Invented) -> list[tuple[int, str]]:
    return [(event.parameter, event.how) for event in run.of(LeafUsed)]


def test_a_leaf_is_told_with_the_second_step_that_writes_to_it_and_once() -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run)
        training.run.ran_backward((training.leaf * training.weight).sum())
        training.step()
        assert collected(run) == [], "two backwards of one step"
        training.step()
        training.step()
        assert collected(run) == [run.number(training.leaf)]
        assert run.of(LeafCollected)[0].step == 1
    assert used(run) == []


def test_what_an_optimizer_holds_and_parameters_are_not_told() -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run, leaf=nn.Parameter(torch.ones(2)))
        held = torch.ones(2, requires_grad=True)
        optimizer = SGD([held], lr=0.1)
        run.signals.optimizers.built.send(optimizer)
        for _ in range(3):
            training.step(lambda: (training.leaf * training.weight * held).sum())
        assert collected(run) == []


def read(run: Invented, *tensors: torch.Tensor) -> None:
    """They are read at one line, which is in another function than what comes next."""
    for tensor in tensors:
        run.signals.gradient_reads.read.send(tensor)


def read_elsewhere(run: Invented, tensor: torch.Tensor) -> None:
    run.signals.gradient_reads.read.send(tensor)


def test_a_parameter_is_used_where_a_line_reads_its_gradient_and_none_of_those_that_learn() -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run, leaf=nn.Parameter(torch.ones(2)))
        training.follow()
        read(run, training.leaf, training.weight)
        training.step()
        read(run, training.leaf)
        training.step()
        assert used(run) == [], "the line reads the gradients of all"
        read_elsewhere(run, training.leaf)
        training.step()
        assert used(run) == [], "once may be to look at it"
        read_elsewhere(run, training.leaf)
        training.step()
        assert used(run) == [(run.number(training.leaf), "read")]
        assert collected(run) == []


@pytest.mark.parametrize("before", [False, True])
def test_a_last_read_is_a_use_of_a_parameter_if_it_was_read_before(before: bool) -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run, leaf=nn.Parameter(torch.ones(2)))
        training.follow()
        if before:
            read(run, training.leaf)
            training.step()
        read(run, training.leaf)
    assert [how for _, how in used(run)] == ["read"] * before


def test_a_parameter_that_changes_now_and_then_is_used() -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run, leaf=nn.Parameter(torch.ones(2)))
        training.follow()
        with torch.no_grad():
            training.leaf += 1.0
    assert [how for _, how in used(run)] == ["changed"]


def test_leaves_made_anew_in_each_step_cost_nothing() -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run)
        for _ in range(4):
            training.leaf = torch.ones(2, requires_grad=True)
            training.step()
        assert collected(run) == []
        assert not run.signals.gradient_reads.read


def test_gradients_that_are_zero_are_none_to_collect() -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run)
        for _ in range(3):
            training.step(lambda: (training.leaf * 0.0 + training.weight).sum())
        assert collected(run) == []


def by_method(leaf: torch.Tensor) -> None:
    leaf.requires_grad_()


def by_assignment(leaf: torch.Tensor) -> None:
    leaf.requires_grad = True


def not_at_all(leaf: torch.Tensor) -> None:
    nn.init.normal_(leaf)


@pytest.mark.parametrize(("prepare", "lines_down"), [(by_method, 1), (by_assignment, 1), (not_at_all, None)])
def test_the_line_is_that_which_made_it_or_had_it_require_a_gradient(
    prepare: Callable[[torch.Tensor], None], lines_down: int | None
) -> None:
    with watching(OwnLeaves) as recorded:
        weight = nn.Parameter(torch.ones(2))
        optimizer = SGD([weight], lr=0.1)
        made_at = sys._getframe().f_lineno + 1
        leaf = torch.ones(2, requires_grad=lines_down is None)
        prepare(leaf)
        for _ in range(2):
            (leaf * weight).sum().backward()
            optimizer.step()
        (event,) = recorded.of(LeafCollected)
        assert event.location is not None
        code = prepare.__code__
        assert event.location.line == (made_at if lines_down is None else code.co_firstlineno + lines_down)


def test_a_leaf_that_nobody_saw_being_made_has_no_line() -> None:
    with inventing(OwnLeaves) as run:
        Training(run).follow()
        assert [event.location for event in run.of(LeafCollected)] == [None]


def test_a_read_of_its_gradient_is_a_use_and_ends_the_watch() -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run)
        training.follow()
        assert run.signals.gradient_reads.read
        run.signals.gradient_reads.read.send(training.weight)
        assert used(run) == []
        run.signals.gradient_reads.read.send(training.leaf)
        assert used(run) == [(run.number(training.leaf), "read")]
        assert run.of(LeafUsed)[0].location is not None
        assert not run.signals.gradient_reads.read
        training.step()
        assert len(collected(run)) == 1


def test_the_watch_ends_with_the_last_leaf_only() -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run)
        others = [torch.ones(2, requires_grad=True)]
        for _ in range(2):
            training.step(lambda: (training.leaf * training.weight * others[0]).sum())
        run.signals.gradient_reads.read.send(training.leaf)
        assert run.signals.gradient_reads.read
        others.clear()
        training.step()
        assert not run.signals.gradient_reads.read, "the leaf is dead"
        assert len(used(run)) == 1


def test_a_gradient_that_was_asked_for_is_a_use() -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run)
        training.follow()
        with run.backward(torch.ones(()), inputs=[training.weight], kind="grad"):
            pass
        assert used(run) == []
        with run.backward(torch.ones(()), inputs=[training.leaf], kind="grad"):
            pass
        assert used(run) == [(run.number(training.leaf), "asked")]


@pytest.mark.parametrize(("with_weight", "expected"), [(False, ["asked"]), (True, [])])
def test_a_slope_at_what_was_made_of_the_leaf_alone_is_one_too(with_weight: bool, expected: list[str]) -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run)
        training.follow()
        if with_weight:
            part = run.operated("mul", training.leaf * training.weight, training.leaf, training.weight)
        else:
            part = run.operated("__getitem__", training.leaf[:1], training.leaf, slice(1))
        with run.backward(torch.ones(()), inputs=[part], kind="grad"):
            pass
        assert [how for _, how in used(run)] == expected


def test_other_values_are_a_use_at_the_latest_when_the_program_is_over() -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run)
        for _ in range(5):
            training.step()
        assert used(run) == []
        with torch.no_grad():
            training.leaf[0] += 1.0
        training.step()
        assert used(run) == [], "it is compared more and more rarely"
    assert [how for _, how in used(run)] == ["changed"]


def hook(leaf: torch.Tensor) -> Any:
    return leaf.register_hook(lambda gradient: None)


def late_hook(leaf: torch.Tensor) -> Any:
    return leaf.register_post_accumulate_grad_hook(lambda each: None)


@pytest.mark.parametrize("register", [hook, late_hook])
def test_a_hook_is_a_use(register: Callable[[torch.Tensor], Any]) -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run)
        training.follow()
        register(training.leaf).remove()
        training.step()
        assert used(run) == []
        register(training.leaf)
        training.step()
        assert [how for _, how in used(run)] == ["hooked"]


@pytest.mark.parametrize(("reentrant", "expected"), [(True, ["checkpointed"]), (False, [])])
def test_the_input_of_a_reentrant_checkpoint_has_to_require_a_gradient(reentrant: bool, expected: list[str]) -> None:
    with inventing(OwnLeaves) as run:
        training = Training(run)

        def loss() -> torch.Tensor:
            part = run.operated("__getitem__", training.leaf[:1], training.leaf, slice(1))
            passed: torch.Tensor = checkpoint(lambda x: x * training.weight, part, use_reentrant=reentrant)
            return passed.sum()

        for _ in range(2):
            training.step(loss)
        assert len(collected(run)) == 1
        assert [how for _, how in used(run)] == expected


def test_only_so_many_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_FOLLOWED", 1)
    with inventing(OwnLeaves) as run:
        training = Training(run)
        other = torch.ones(2, requires_grad=True)
        for _ in range(3):
            training.step(lambda: (training.leaf * training.weight * other).sum())
        assert len(collected(run)) == 1
