"""Evaluations are tried in other modes on a copy, and what they make is followed to where autograd meets it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.events.efficiency import EvaluationTried
from autograd_doctor.events.run import InstrumentLimited
from autograd_doctor.instruments.efficiency import evaluation_trials
from autograd_doctor.instruments.efficiency.evaluation_trials import EvaluationTrials
from autograd_doctor.reading.graph_bytes import saved_bytes
from tests.watching import Recorded, watching

STEPS = 40
X = torch.linspace(-1, 1, 32 * 6).view(32, 6)
Beside = Callable[[nn.Module, int], torch.Tensor | None]
"""What a program does in a step beside training its model: a term of the loss, if it returns one."""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_trials, "_SECONDS", 0.0)


def model_of(*others: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), *others, nn.Linear(16, 6))


def train(beside: Beside, model: nn.Module | None = None) -> nn.Module:
    model = model if model is not None else model_of()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(STEPS):
        model.eval()
        term = beside(model, step)
        model.train()
        optimizer.zero_grad()
        loss = (model(X) - X).pow(2).mean()
        (loss if term is None else loss + term).backward()
        optimizer.step()
    return model


def watched(beside: Beside, model: nn.Module | None = None) -> Recorded:
    with watching(EvaluationTrials) as events:
        train(beside, model)
    return events


def tried(beside: Beside, model: nn.Module | None = None) -> EvaluationTried:
    (event,) = watched(beside, model).of(EvaluationTried)
    return event


@torch.no_grad()
def without(model: nn.Module, given: torch.Tensor = X) -> torch.Tensor:
    return model(given)  # type: ignore[no-any-return]


def every_tenth(model: nn.Module, step: int) -> None:
    if step % 10 == 3:
        without(model).mean().item()


def test_a_validation_is_tried_in_all_modes() -> None:
    event = tried(every_tenth)
    assert (event.module, event.gradients, event.passes, event.followed) == ("model", False, 4, 4)
    assert (event.within, event.iterations) == (4, STEPS - 1)
    assert event.differs == (0.0, 0.0)
    assert event.saved == 4 * 32 * 16
    assert {len(each) for each in (*event.recording, *event.inference)} == {5}
    assert event.location is not None
    assert event.location.function == "without"
    assert (event.met, event.by) == (None, "")


def test_the_program_computes_what_it_computes_without_us() -> None:
    def sampled(model: nn.Module, step: int) -> None:
        model[2].train()  # type: ignore[index]
        without(model)

    plain = train(sampled, model_of(nn.Dropout(0.5)))
    drawn = torch.rand(4)
    with watching(EvaluationTrials) as events:
        seen = train(sampled, model_of(nn.Dropout(0.5)))
        drawn_then = torch.rand(4)
    assert all(torch.equal(one, other) for one, other in zip(plain.parameters(), seen.parameters(), strict=True))
    assert torch.equal(drawn, drawn_then)
    (event,) = events.of(EvaluationTried)
    assert event.differs == (0.0, 0.0)


@pytest.mark.parametrize("samples", [False, True])
def test_it_is_tried_in_the_modes_of_the_evaluation(samples: bool) -> None:
    """By then the program has gone back to those of training."""

    def beside(model: nn.Module, step: int) -> None:
        model[2].train(samples)  # type: ignore[index]
        every_tenth(model, step)

    model = model_of(nn.Dropout(0.5)).eval()
    model[2].train(samples)
    saved = saved_bytes([model(X)], [X]).bytes
    assert tried(beside, model_of(nn.Dropout(0.5))).saved == saved
    assert (saved > 4 * 32 * 16) is samples


def test_it_is_tried_under_the_autocast_of_the_program() -> None:
    class Seeing(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result = super().forward(x)
            assert result.dtype is torch.bfloat16 or self.training
            return result.float()

    def half(model: nn.Module, step: int) -> None:
        if step % 10 == 3:
            with torch.autocast("cpu", torch.bfloat16):
                without(model)

    assert tried(half, Seeing(6, 6)).passes == 4


def teacher(model: nn.Module, step: int) -> torch.Tensor:
    target = without(model, X + 0.1)
    return (model(X) - target).pow(2).mean()  # met


class Kept:
    """What an evaluation made, for later steps."""

    made: torch.Tensor


def used_as(use: Callable[[nn.Module, torch.Tensor], torch.Tensor | None]) -> Beside:
    def beside(model: nn.Module, step: int) -> torch.Tensor | None:
        if step % 10 == 3:
            Kept.made = without(model)
        return use(model, Kept.made) if step % 10 == 4 else None

    return beside


def a_view(model: nn.Module, made: torch.Tensor) -> torch.Tensor:
    return model(made[2:9]).mean()  # type: ignore[no-any-return]


def written_to(model: nn.Module, made: torch.Tensor) -> None:
    made.mul_(0.9)


def changed_without_gradients(model: nn.Module, made: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        made = made / 2
    return model(made).mean()  # type: ignore[no-any-return]


class Saves(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(y)
        return x * y

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient * ctx.saved_tensors[0], None


def by_a_function_of_its_own(model: nn.Module, made: torch.Tensor) -> torch.Tensor:
    return Saves.apply(model(X), made).mean()  # type: ignore[no-any-return, no-untyped-call]


@pytest.mark.parametrize(
    ("beside", "by"),
    [
        (teacher, "sub"),
        (used_as(a_view), "linear"),
        (used_as(written_to), "mul_"),
        (used_as(changed_without_gradients), "linear"),
        (used_as(by_a_function_of_its_own), "Saves"),
    ],
    ids=["a teacher", "a view", "written to", "changed without gradients", "a custom function"],
)
def test_what_meets_autograd_later_is_told(beside: Beside, by: str) -> None:
    event = tried(beside)
    assert event.by == by
    assert event.met is not None
    assert event.met.path == __file__


def a_copy(model: nn.Module, made: torch.Tensor) -> torch.Tensor:
    return model(made.clone()).mean()  # type: ignore[no-any-return]


def some_rows(model: nn.Module, made: torch.Tensor) -> torch.Tensor:
    return model(made[torch.tensor([2, 3])]).mean()  # type: ignore[no-any-return]


@pytest.mark.parametrize("use", [a_copy, some_rows])
def test_what_inference_mode_allows_is_not_told(use: Callable[[nn.Module, torch.Tensor], torch.Tensor]) -> None:
    assert not tried(used_as(use)).by
    with torch.inference_mode():
        made = model_of()(X)
    use(model_of(), made).backward()


def test_what_a_forward_keeps_for_training_is_told() -> None:
    class Caching(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model_of()
            self.kept: torch.Tensor | None = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not self.training:
                self.kept = torch.cos(torch.arange(6.0))
            return self.inner(x if self.kept is None else x * self.kept)  # type: ignore[no-any-return]

    class Times(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cached, self.scale = Caching(), nn.Parameter(torch.ones(6))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.cached(x * self.scale)  # type: ignore[no-any-return]

    assert tried(every_tenth, Times()).by == "mul"


def test_an_evaluation_with_gradients_is_tried_if_no_backward_comes_back() -> None:
    def idle(model: nn.Module, step: int) -> None:
        if step % 10 == 3:
            model(X).mean().item()

    event = tried(idle)
    assert (event.gradients, event.by) == (True, "")

    def used(model: nn.Module, step: int) -> torch.Tensor:
        return model(X).mean()  # type: ignore[no-any-return]

    assert not watched(used).of(EvaluationTried)


def test_nothing_is_tried_where_nothing_is_to_be_gained() -> None:
    def inferring(model: nn.Module, step: int) -> None:
        with torch.inference_mode():
            model(X)

    assert not watched(inferring).of(EvaluationTried)
    assert not watched(lambda model, step: None).of(EvaluationTried)


def test_a_module_that_is_not_copied_is_not_tried_and_that_is_said() -> None:
    model = model_of()
    model[0].register_forward_hook(lambda module, given, output: None)
    events = watched(every_tenth, model)
    assert not events.of(EvaluationTried)
    (limit,) = events.of(InstrumentLimited)
    assert limit.reason == "what `inference_mode` would save was not tried: the program has hooks on it"


def test_an_evaluation_at_the_end_is_tried_then() -> None:
    def last(model: nn.Module, step: int) -> None:
        if step == STEPS - 1:
            without(model)

    model = model_of()
    assert tried(last, model).passes == 1
