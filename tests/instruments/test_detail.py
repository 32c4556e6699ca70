"""Which steps are full, and that nothing listens to operations in the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.optim import SGD
from torch.overrides import BaseTorchFunctionMode, _get_current_function_mode_stack

from autograd_doctor.events.run import DetailTurned
from autograd_doctor.instruments.spine import detail as module
from autograd_doctor.instruments.spine.detail import (
    CLOSE_SAMPLES_UNTIL,
    CLOSE_STEPS,
    FIRST_STEPS,
    GLANCED_AFTER,
    RARER_FROM,
    SAMPLED_EVERY,
    Detail,
    Standing,
    attention_to,
)
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.signals.attention import Attention
from tests.inventing import Invented, inventing
from tests.watching import watching


class Training:
    """Steps of an optimizer, each with the phases that it is told to meet."""

    def __init__(self, run: Invented) -> None:
        self.run = run
        self.detail = run.find(Detail)
        self.optimizer = SGD([nn.Parameter(torch.ones(1))], lr=0.1)
        run.signals.optimizers.built.send(self.optimizer)

    def step(self, *phases: str) -> bool:
        """Whether the step that is taken was full, after its phases were met."""
        for phase in phases:
            self.detail.met(phase)
        full = self.detail.full
        self.run.train(self.optimizer)
        return full

    def fulls(self, steps: int, *phases: str) -> list[int]:
        """Which of the next steps are full."""
        return [self.run.steps for _ in range(steps) if self.step(*phases)]


@contextmanager
def training() -> Iterator[Training]:
    with inventing(Detail) as run:
        yield Training(run)


def test_the_first_steps_are_full_and_later_ones_are_sampled_two_at_a_time() -> None:
    with training() as run:
        sampled = [SAMPLED_EVERY + 1, SAMPLED_EVERY + 2, 2 * SAMPLED_EVERY + 1]
        assert run.fulls(2 * SAMPLED_EVERY + 1, "forward") == [*range(1, FIRST_STEPS + 1), *sampled]


def test_samples_of_a_long_run_come_ever_more_rarely() -> None:
    with training() as run:
        full = run.fulls(4 * RARER_FROM + 1, "forward")
    firsts = [step for step in full if step - 1 not in full and step > FIRST_STEPS]
    gaps = {later: later - earlier for earlier, later in pairwise(firsts)}
    assert {gap for step, gap in gaps.items() if step <= RARER_FROM} == {SAMPLED_EVERY}
    assert {gap for step, gap in gaps.items() if RARER_FROM + 1 < step <= 2 * RARER_FROM} == {2 * SAMPLED_EVERY}
    assert {gap for step, gap in gaps.items() if step > 2 * RARER_FROM + 1} == {4 * SAMPLED_EVERY}


def test_a_phase_that_begins_later_has_first_steps_of_its_own() -> None:
    with training() as run:
        run.fulls(SAMPLED_EVERY + 5, "forward")
        assert run.fulls(15, "forward", "another") == list(range(SAMPLED_EVERY + 6, SAMPLED_EVERY + 6 + FIRST_STEPS))


def test_a_phase_that_is_met_seldom_is_full_when_it_is() -> None:
    with training() as run:
        run.fulls(FIRST_STEPS, "forward")
        for _ in range(3):
            assert run.step("forward", "evaluation")
            assert run.step("forward"), "what it left behind shows in the next"
            assert not run.step("forward")


def test_of_many_passes_in_a_step_only_the_first_are_looked_at() -> None:
    with training() as run:
        full = []
        for _ in range(7):
            run.detail.met("rollout", most=4)
            full.append(run.detail.full)
        assert full == [True] * 4 + [False] * 3
        run.detail.met("forward")
        assert run.detail.full


def test_who_asks_gets_two_full_steps() -> None:
    with training() as run:
        run.fulls(FIRST_STEPS + 2, "forward")
        run.detail.ask()
        assert run.fulls(5, "forward") == [FIRST_STEPS + 4, FIRST_STEPS + 5]


def test_phases_that_never_end_to_be_new_get_a_share_of_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ALWAYS_GRANTED", 20)
    with training() as run:
        full = sum(run.step(f"model {number}") for number in range(200))
        assert 40 < full < 90, "every fifth of them, what was granted, and samples"


def test_steps_about_the_one_that_a_second_run_is_made_for_are_full() -> None:
    with training() as run:
        run.detail.full_from = 15
        assert run.fulls(24, "forward") == [*range(1, FIRST_STEPS + 1), *range(15, 20)]


def test_updates_that_operations_alone_tell_of_leave_all_steps_full() -> None:
    with inventing(Detail) as run:
        detail = run.find(Detail)
        for _ in range(30):
            run.train(SGD([nn.Parameter(torch.ones(1))], lr=0.1))
        assert detail.full, "no optimizer was built"
    with training() as mixed:
        mixed.detail._course.rebinds = True
        assert len(mixed.fulls(20, "forward")) == 20


def test_each_turn_is_stated_and_told() -> None:
    with training() as run:
        told: list[bool] = []
        run.detail.turned.connect(lambda detail: told.append(detail.full), owner="test")
        run.fulls(SAMPLED_EVERY + 4, "forward")
        turns = [(event.step, event.full) for event in run.run.of(DetailTurned)]
        assert turns == [(FIRST_STEPS, False), (SAMPLED_EVERY, True), (SAMPLED_EVERY + 2, False)]
        assert told == [False, True, False]
        assert run.detail.full_steps == FIRST_STEPS + 2


def test_the_ledger_forgets_what_light_steps_have_left_behind() -> None:
    """A gradient that was there before a light step may have been used, cleared or written since."""
    with inventing(Ledger) as run:
        parameter = nn.Parameter(torch.ones(1))
        number, ledger, detail = run.number(parameter), run.find(Ledger), run.find(Detail)
        run.ran_backward((parameter * 2).sum())
        assert ledger.fresh(number)
        detail._turn(full=False)
        detail._turn(full=True)
        assert not ledger.fresh(number)
        run.ran_backward((parameter * 2).sum())
        assert ledger.fresh(number)


class Mode(BaseTorchFunctionMode):
    """A mode of the program, which changes nothing."""


def test_the_mode_leaves_the_stack_in_light_steps_wherever_it_lies() -> None:
    with watching(Lineage) as recorded:
        operations = recorded.session.signals.operations
        before = _get_current_function_mode_stack()
        assert len(before) == 1
        with Mode() as mine, torch.device("cpu"):
            above = _get_current_function_mode_stack()
            operations.rest("test")
            operations.rest("test")
            assert _get_current_function_mode_stack() == [mode for mode in above if mode is not before[0]]
            operations.resume("test")
            operations.resume("test")
            assert _get_current_function_mode_stack() == above
            assert mine in above
        assert _get_current_function_mode_stack() == before
    assert _get_current_function_mode_stack() == []


def test_who_looks_closely_is_told_when_that_begins_and_ends() -> None:
    with training() as run:
        heard: list[tuple[int, bool]] = []
        run.detail.focused.connect(lambda detail: heard.append((run.run.steps, detail.closely)), owner="test")
        run.fulls(CLOSE_STEPS + 2, "forward")
        assert heard == [(CLOSE_STEPS, False)]
        run.fulls(CLOSE_STEPS + 2, "forward", "another")
        assert heard[1:] == [(CLOSE_STEPS + 2, True), (2 * CLOSE_STEPS + 2, False)]


def test_later_samples_are_looked_at_closely_every_other_time() -> None:
    with training() as run:
        closely = []
        for _ in range(RARER_FROM // 2):
            run.step("forward")
            closely += [run.run.steps] if run.detail.closely else []
        first = [step for step in closely if step >= SAMPLED_EVERY]
        assert first == [*range(25, CLOSE_SAMPLES_UNTIL, 25), *range(CLOSE_SAMPLES_UNTIL + 25, 1001, 50)]


def test_light_steps_are_glanced_at_but_for_pairs_that_follow_no_rhythm() -> None:
    with training() as run:
        looked_at = []
        for _ in range(RARER_FROM):
            run.step("forward")
            looked_at += [] if run.detail.glancing else [run.run.steps]
        assert [step for step in looked_at if step < GLANCED_AFTER] == list(range(1, GLANCED_AFTER))
        for rhythm in range(2, 20):
            assert {step % rhythm for step in looked_at if step > 100} == set(range(rhythm))
        assert 0.2 < len(looked_at) / RARER_FROM < 0.35
        pairs = [first for first, second in pairwise(looked_at) if second == first + 1]
        assert len(pairs) > 0.4 * len(looked_at)


def test_what_is_new_ends_the_glancing() -> None:
    with training() as run:
        run.fulls(3 * GLANCED_AFTER, "forward")
        while not run.detail.glancing:
            run.step("forward")
        run.step("forward", "another")
        for _ in range(GLANCED_AFTER):
            assert not run.detail.glancing
            run.step("forward")


def test_a_second_run_is_full_about_its_step_also_among_glances() -> None:
    with training() as run:
        run.detail.full_from = 90
        full = [step for step in run.fulls(100, "forward") if step > 60]
        assert full == [76, 77, *range(90, 95)]


def test_nothing_is_looked_at_closely_in_a_light_part_of_a_step() -> None:
    with training() as run:
        for _ in range(2):
            run.detail.met("rollout", most=1)
        assert not run.detail.closely
        run.detail.met("forward")
        assert run.detail.closely


@pytest.mark.parametrize(
    ("now", "attention"),
    [
        (Standing(20), Attention.LIGHT),
        (Standing(30), Attention.GLANCE),
        (Standing(30, fresh=True), Attention.FULL),
        (Standing(30, fresh=True, young=True), Attention.CLOSE),
        (Standing(30, fresh=True, young=True, granted=False), Attention.GLANCE),
        (Standing(30, asked=1), Attention.FULL),
        (Standing(30, asked=2), Attention.CLOSE),
        (Standing(30, wanted=True), Attention.FULL),
        (Standing(30, wanted=True, repeated=True), Attention.CLOSE),
        (Standing(SAMPLED_EVERY), Attention.CLOSE),
        (Standing(SAMPLED_EVERY + 1), Attention.FULL),
        (Standing(SAMPLED_EVERY + 2, news_at=10), Attention.LIGHT),
        (Standing(CLOSE_SAMPLES_UNTIL + SAMPLED_EVERY), Attention.CLOSE),
        (Standing(CLOSE_SAMPLES_UNTIL + 2 * SAMPLED_EVERY), Attention.FULL),
        (Standing(RARER_FROM + SAMPLED_EVERY), Attention.GLANCE),
        (Standing(31, news_at=6), Attention.GLANCE),
        (Standing(31, news_at=7), Attention.LIGHT),
        (Standing(31, was_full=True), Attention.LIGHT),
        (Standing(35), Attention.LIGHT),
    ],
)
def test_how_closely_a_step_is_looked_at(now: Standing, attention: Attention) -> None:
    assert attention_to(now) is attention
