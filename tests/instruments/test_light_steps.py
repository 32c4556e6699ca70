"""What is noticed in light steps, and what is said of them."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.run import LightStepsCounted
from autograd_doctor.instruments.spine import light_steps as module
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import FIRST_STEPS, Detail
from autograd_doctor.instruments.spine.light_steps import LightSteps
from autograd_doctor.reading.graph_structure import make_up_of, nodes_of, structure_of
from tests.harness import check_program
from tests.inventing import Invented
from tests.watching import Recorded, watching


def train(
    model: nn.Module, optimizer: SGD, steps: int, *, clear: bool = True, deeper: bool = False, updates: bool = True
) -> None:
    for _ in range(steps):
        output = model(torch.ones(1, 2))
        loss = (output.tanh() if deeper else output).square().sum()
        if clear:
            optimizer.zero_grad()
        loss.backward()
        if updates:
            optimizer.step()


@pytest.fixture
def model() -> nn.Module:
    return nn.Linear(2, 1)


def settled(recorded: Recorded, model: nn.Module) -> SGD:
    """An optimizer whose first steps are over, and what was new in them known."""
    optimizer = SGD(model.parameters(), lr=1e-3)
    train(model, optimizer, FIRST_STEPS + 3)
    assert not recorded.find(Detail).full
    return optimizer


def test_what_is_as_before_stays_light(model: nn.Module) -> None:
    with watching(LightSteps) as recorded:
        train(model, settled(recorded, model), 3)
        assert not recorded.find(Detail).full


def test_loops_that_run_more_often_or_less_stay_light(model: nn.Module) -> None:
    """Their results are stacked, and the engine adds up the gradients of each round."""

    def episode(optimizer: SGD, rounds: int) -> None:
        state, outputs = torch.ones(1, 2), []
        for _ in range(rounds):
            outputs.append(model(state).squeeze())
            state = torch.randn(1, 2)
        optimizer.zero_grad()
        torch.stack(outputs).square().sum().backward()
        optimizer.step()

    with watching(LightSteps) as recorded:
        optimizer = SGD(model.parameters(), lr=1e-3)
        for number in range(FIRST_STEPS + 3):
            episode(optimizer, 16 + number)
        for rounds in (20, 31, 17, 24):
            assert not recorded.find(Detail).full
            episode(optimizer, rounds)


def test_a_new_structure_makes_the_next_steps_full(model: nn.Module) -> None:
    with watching(LightSteps) as recorded:
        optimizer = settled(recorded, model)
        train(model, optimizer, 1, deeper=True)
        assert recorded.find(Detail).full
        train(model, optimizer, 2, deeper=True)
        assert not recorded.find(Detail).full


def test_gradients_that_are_not_cleared_any_more_make_the_next_steps_full(model: nn.Module) -> None:
    with watching(LightSteps) as recorded:
        optimizer = settled(recorded, model)
        train(model, optimizer, 1, clear=False)
        assert recorded.find(Detail).full


def test_a_parameter_that_gets_no_gradient_any_more_makes_the_next_steps_full(model: nn.Module) -> None:
    with watching(LightSteps) as recorded:
        optimizer = settled(recorded, model)
        model.bias.requires_grad_(False)  # type: ignore[union-attr]
        train(model, optimizer, 1)
        assert recorded.find(Detail).full


def test_backwards_that_no_step_follows_any_more_are_recorded(model: nn.Module) -> None:
    with watching(LightSteps) as recorded:
        optimizer = settled(recorded, model)
        train(model, optimizer, module._PATIENCE - 1, updates=False)
        assert not recorded.find(Detail).full
        train(model, optimizer, 2, updates=False)
        assert recorded.find(Detail).full
        train(model, optimizer, 8)
        assert not recorded.find(Detail).full


def test_accumulation_over_as_many_backwards_as_before_stays_light(model: nn.Module) -> None:
    with watching(LightSteps) as recorded:
        optimizer = SGD(model.parameters(), lr=1e-3)
        for _ in range(2 * FIRST_STEPS):
            for _ in range(module._PATIENCE + 4):
                model(torch.ones(1, 2)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        assert not recorded.find(Detail).full


def test_weights_that_are_loaded_make_the_next_steps_full(model: nn.Module) -> None:
    with watching(LightSteps) as recorded:
        optimizer = settled(recorded, model)
        model.load_state_dict(model.state_dict())
        train(model, optimizer, 1)
        assert recorded.find(Detail).full


def test_a_model_that_is_given_something_makes_the_next_steps_full(model: nn.Module) -> None:
    with watching(LightSteps) as recorded:
        optimizer = settled(recorded, model)
        model.scale = nn.Parameter(torch.ones(1))
        train(model, optimizer, 1)
        assert recorded.find(Detail).full


def test_weights_that_are_lent_to_a_model_for_each_call_are_nothing_new_after_a_while(model: nn.Module) -> None:
    optimizer = SGD(model.parameters(), lr=1e-3)
    weights = dict(model.named_parameters())
    with watching(LightSteps) as recorded:
        for _ in range(FIRST_STEPS + 6):
            for name, weight in weights.items():
                model.register_parameter(name, weight)
            train(model, optimizer, 1)
        assert not recorded.find(Detail).full


def test_light_steps_are_counted(model: nn.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SAY_EVERY", math.inf)
    with watching(LightSteps) as recorded:
        optimizer = settled(recorded, model)
        train(model, optimizer, 2)
        assert recorded.of(LightStepsCounted) == []
        recorded.find(Detail).ask()
        train(model, optimizer, 1)
        light = 3 + 2 + 1 - 1  # the first three include one that a new fate of gradients made full
        (counted,) = recorded.of(LightStepsCounted)
        assert counted.steps in (light, light + 1)
        assert counted.steps == counted.backwards == counted.by_optimizer[0]
        assert counted.first + counted.steps == counted.step == recorded.find(Course).steps
        assert counted.loss == recorded.find(Course).last_loss


def test_light_steps_are_counted_while_they_go_on_and_at_the_end(
    model: nn.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SAY_EVERY", 0.0)
    with watching(LightSteps) as recorded:
        train(model, settled(recorded, model), 2)
        each = recorded.of(LightStepsCounted)
        assert sum(event.steps for event in each) == recorded.find(Course).steps - each[0].first
        assert len(each) > 1


def went_backward(run: Invented, root: torch.Tensor) -> None:
    """From the same place each time: elsewhere it is another phase."""
    with run.backward(root):
        pass


def light(run: Invented) -> None:
    """Let the first steps go by."""
    optimizer = SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    run.signals.optimizers.built.send(optimizer)
    for _ in range(FIRST_STEPS + 3):
        went_backward(run, torch.ones(()))
        with run.step(optimizer):
            pass
    assert not run.find(Detail).full


def leaf() -> torch.Tensor:
    return torch.ones(2, requires_grad=True)


def structure(*roots: torch.Tensor) -> int:
    return structure_of(nodes_of(roots))


class Around(torch.optim.Optimizer):
    """An optimizer that leaves the step to another one."""

    def __init__(self, inner: SGD) -> None:
        super().__init__(inner.param_groups, dict(inner.defaults))
        self.inner = inner

    def step(self, closure: Any = None) -> Any:
        return self.inner.step(closure)


def test_an_optimizer_that_only_calls_another_takes_no_step_of_its_own() -> None:
    report = check_program(
        f"import torch\nfrom typing import Any\nfrom torch import nn\nfrom torch.optim import SGD\n"
        f"{inspect.getsource(Around)}"
        "torch.manual_seed(0)\n"
        "model = nn.Linear(3, 1)\n"
        "optimizer = Around(SGD(model.parameters(), lr=0.01))\n"
        "for _ in range(120):\n"
        "    x = torch.randn(8, 3)\n"
        "    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()\n"
        "    optimizer.zero_grad()\n"
        "    loss.backward()\n"
        "    optimizer.step()\n",
        steps=1000,
    )
    assert (report.run.steps, [each.steps for each in report.run.optimizers]) == (120, [120])


def test_the_structure_of_a_graph() -> None:
    one, other = leaf(), leaf()
    assert structure(one.sum()) == structure(other.sum())
    assert structure(one.sum()) != structure(one.mean())
    assert structure((one * other).sum()) != structure((one * one).sum())
    assert structure(torch.ones(1)) == structure()
    assert structure(one.sum(), other.mean()) != structure(one.sum())


def make_up(root: torch.Tensor) -> int:
    return make_up_of(nodes_of([root]))


def repeated(times: int, *others: torch.Tensor) -> torch.Tensor:
    state = leaf()
    for _ in range(times):
        state = (state * 2.0).tanh()
    return sum((state * other for other in others), state).sum()


def test_what_a_graph_is_made_of() -> None:
    assert make_up(repeated(9)) == make_up(repeated(12))
    assert make_up(repeated(9)) != make_up(repeated(20))
    assert make_up(repeated(9)) != make_up(repeated(9).exp())
    assert make_up(repeated(9, leaf())) != make_up(repeated(8, leaf(), leaf()))


def test_a_loop_of_any_length_stays_light(model: nn.Module) -> None:
    with watching(LightSteps) as recorded:
        optimizer = settled(recorded, model)
        for turn in range(40):
            state = model(torch.ones(1, 2))
            for _ in range(33 + turn % 28):
                state = (state * 0.9).tanh()
            optimizer.zero_grad()
            state.sum().backward()
            optimizer.step()
        full = recorded.find(Detail).full_steps
    assert full < 30
