"""The instruments on small real programs: what they state, and that they leave nothing behind."""

from __future__ import annotations

import copy
import gc
import inspect
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
from torch import nn
from torch.amp import GradScaler
from torch.nn.modules import module as module_globals
from torch.optim import SGD, lr_scheduler
from torch.utils.checkpoint import checkpoint

from autograd_doctor.events.connectivity import ForwardsWithoutBackward, GradModeLeftOff, IdleForwardUsed, ModeSet
from autograd_doctor.events.cycle import GradientsClipped, ScalerUsed, SchedulerStepped
from autograd_doctor.events.errors import OperationFailed
from autograd_doctor.events.event import Event
from autograd_doctor.events.lifetime import HooksCounted, SnapshotKept
from autograd_doctor.events.steps import ForwardRan
from autograd_doctor.events.subjects import ModuleSeen, ParameterSeen
from autograd_doctor.findings import Location
from autograd_doctor.instruments.connectivity.grad_mode_left import GradModeLeft
from autograd_doctor.instruments.connectivity.grad_modes import GradModes
from autograd_doctor.instruments.connectivity.unused_forwards import UnusedForwards
from autograd_doctor.instruments.cycle.clipping import Clipping
from autograd_doctor.instruments.cycle.loss_scales import LossScales
from autograd_doctor.instruments.cycle.schedulers import Schedulers
from autograd_doctor.instruments.errors.checkpoints import Checkpoints
from autograd_doctor.instruments.errors.failures import Failures
from autograd_doctor.instruments.instrument import name_of
from autograd_doctor.instruments.lifetime.hooks import Hooks
from autograd_doctor.instruments.lifetime.retained_graphs import RetainedGraphs
from autograd_doctor.instruments.lifetime.snapshots import Snapshots
from autograd_doctor.instruments.session import all_instruments
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.instruments.spine.optimizer_steps import OptimizerSteps
from autograd_doctor.reading.frame_locals import local_variables
from tests.watching import Recorded, watching

SEAMS = (Clipping, GradModeLeft, Hooks, UnusedForwards, LossScales, Schedulers, Snapshots, RetainedGraphs, Checkpoints)
PATCHED: tuple[Any, ...] = (
    nn.Module,
    torch.Tensor,
    torch.autograd,
    torch.no_grad,
    torch.enable_grad,
    torch.inference_mode,
    torch.set_grad_enabled,
    nn.utils,
    nn.utils.clip_grad,
    GradScaler,
    lr_scheduler.LRScheduler,
    lr_scheduler.SequentialLR,
    lr_scheduler.ChainedScheduler,
    lr_scheduler.ReduceLROnPlateau,
    lr_scheduler.CosineAnnealingWarmRestarts,
)
HOOK_TABLES = [name for name in vars(module_globals) if name.startswith("_global_") and "hooks" in name]

E = TypeVar("E", bound=Event)


def source_line(location: Location | None) -> str:
    """The text that a location points at, so that tests do not count lines."""
    assert location is not None
    return Path(location.path).read_text(encoding="utf-8").splitlines()[location.line - 1].strip()


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 1) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).sum().backward()
        optimizer.step()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.norm, self.drop = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)
        self.idle = nn.Dropout(0.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.idle(self.drop(self.norm(self.fc(x))))


# ------------------------------------------------------------------------------------------------- leaving no trace


@pytest.mark.parametrize("seam", SEAMS)
def test_what_was_patched_is_restored(seam):
    train(Net(), SGD(Net().parameters(), lr=0.1))  # torch imports parts of itself at the first step
    before = [dict(vars(owner)) for owner in PATCHED]
    tables = {name: copy.copy(getattr(module_globals, name)) for name in HOOK_TABLES}
    with watching(OptimizerSteps, seam):
        during = [dict(vars(owner)) for owner in PATCHED]
        train(Net(), SGD(Net().parameters(), lr=0.1))
    assert during != before
    assert [dict(vars(owner)) for owner in PATCHED] == before
    assert {name: getattr(module_globals, name) for name in HOOK_TABLES} == tables


def test_weights_and_random_state_do_not_notice():
    def run() -> tuple[list[torch.Tensor], torch.Tensor]:
        torch.manual_seed(0)
        model = Net()
        optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)
        for _ in range(4):
            train(model, optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            model.eval()
            model(torch.randn(3, 4)).sum().item()
            model.train().state_dict()
        return [*model.state_dict().values()], torch.get_rng_state()

    alone, alone_state = run()
    with watching(OptimizerSteps, *SEAMS):
        watched, watched_state = run()
    assert all(torch.equal(one, other) for one, other in zip(alone, watched, strict=True))
    assert torch.equal(alone_state, watched_state)


def test_no_tensor_is_kept_alive():
    with watching(OptimizerSteps, *SEAMS):
        model = Net()
        x = torch.randn(8, 4)
        output = model(x)
        kept = [weakref.ref(x), weakref.ref(output), weakref.ref(model)]
        output.sum().backward()
        del x, output, model
        gc.collect()
        assert [reference() for reference in kept] == [None] * 3


def test_reading_a_frame_leaves_the_program_its_own_locals():
    def read() -> dict[str, Any]:
        return local_variables(sys._getframe(1))

    value = torch.ones(1)
    mine = locals()
    assert read()["value"] is value
    assert mine["value"] is value
    del mine
    assert read()["value"] is value
    assert locals()["value"] is value


def test_an_exception_of_the_program_passes_through_and_leaves_no_root_behind():
    class Broken(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise KeyError("mine")

    with watching(ModuleCalls, UnusedForwards) as events:
        with pytest.raises(KeyError, match="mine"):
            Broken()(torch.ones(1))
        Net()(torch.randn(2, 4))
    assert [event.kind for event in events.of(ModuleSeen)] == ["Broken", "Net"]


def test_a_failure_of_ours_is_stated_once_and_hidden_from_the_program(monkeypatch):
    recorded = Recorded()
    recorded.session.attach([ModuleCalls])
    monkeypatch.setattr(recorded.find(Modules), "get", lambda module: 1 / 0)
    model = Net()
    assert model(torch.randn(2, 4)).shape == model(torch.randn(2, 4)).shape
    recorded.session.close()
    assert recorded.of(ForwardRan) == []
    (failure,) = recorded.failures
    assert (failure.instrument, failure.look) == ("module_calls", "_began")
    assert "ZeroDivisionError" in failure.error


# ------------------------------------------------------------------------------------------------------- grad modes


def switch_in(act: Callable[[Callable[[], None]], None]) -> tuple[str, str, str, str] | None:
    """Kind, form, function and source line of the switch in force where `act` calls what it is given."""
    seen: list[Any] = []
    with watching(GradModes, GradModeLeft) as events:
        act(lambda: seen.append((events.find(GradModes).switch, torch.is_grad_enabled())))
        assert events.find(GradModes).switch is None
    ((switch, enabled),) = seen
    assert (switch is None) == enabled
    return switch and (switch.kind, switch.form, switch.function.rpartition(".")[2], source_line(switch.location))


def test_a_block():
    def act(look: Callable[[], None]) -> None:
        with torch.no_grad():
            look()

    assert switch_in(act) == ("no_grad", "block", "", "with torch.no_grad():")


def test_a_block_through_an_exit_stack():
    def act(look: Callable[[], None]) -> None:
        with ExitStack() as stack:
            stack.enter_context(torch.inference_mode())
            look()

    assert switch_in(act) == ("inference_mode", "block", "", "stack.enter_context(torch.inference_mode())")


def test_a_decorated_method_points_at_the_decorator():
    def act(look: Callable[[], None]) -> None:
        class Evaluator:
            @staticmethod
            @torch.inference_mode()
            def run(look: Callable[[], None]) -> None:
                look()

        Evaluator.run(look)

    assert switch_in(act) == ("inference_mode", "decorator", "run", "@torch.inference_mode()")


def test_a_function_that_was_decorated_unseen_points_at_its_first_decorator():
    def marked(function: Callable[..., None]) -> Callable[..., None]:
        return function

    @marked
    @torch.no_grad()
    def act(look: Callable[[], None]) -> None:
        look()

    assert switch_in(act) == ("no_grad", "decorator", "act", "@marked")


def test_a_manager_applied_by_a_call_points_at_the_call():
    def act(look: Callable[[], None]) -> None:
        def plain() -> None:
            look()

        quiet = torch.no_grad()(plain)
        quiet()

    assert switch_in(act) == ("no_grad", "decorator", "plain", "quiet = torch.no_grad()(plain)")


def test_a_decorator_without_parentheses():
    @torch.no_grad
    def act(look: Callable[[], None]) -> None:
        look()

    assert switch_in(act) == ("no_grad", "decorator", "act", "@torch.no_grad")


def test_a_decorated_generator_is_off_only_while_it_runs():
    @torch.no_grad()
    def batches(look: Callable[[], None]) -> Iterator[int]:
        yield 1
        look()

    with watching(GradModes, GradModeLeft) as events:
        for _ in batches(lambda: None):
            assert events.find(GradModes).switch is None
    assert switch_in(lambda look: [None for _ in batches(look)] and None) == (
        "no_grad",
        "decorator",
        "batches",
        "@torch.no_grad()",
    )


@pytest.mark.parametrize("training", [True, False])
def test_set_grad_enabled_as_a_block(training):
    def act(look: Callable[[], None]) -> None:
        with torch.autograd.set_grad_enabled(training):
            look()

    line = "with torch.autograd.set_grad_enabled(training):"
    assert switch_in(act) == (None if training else ("set_grad_enabled", "block", "", line))


def test_set_grad_enabled_as_a_call():
    def act(look: Callable[[], None]) -> None:
        torch.set_grad_enabled(False)
        look()
        torch.set_grad_enabled(True)

    assert switch_in(act) == ("set_grad_enabled", "call", "", "torch.set_grad_enabled(False)")


def test_enabled_again_inside_and_off_again_outside():
    with watching(GradModes, GradModeLeft) as events:
        with torch.no_grad():
            outer = events.find(GradModes).switch
            with torch.enable_grad():
                assert events.find(GradModes).switch is None
                with torch.set_grad_enabled(False):
                    assert events.find(GradModes).switch not in (None, outer)
            assert events.find(GradModes).switch is outer is not None
            torch.nn.init.zeros_(torch.empty(3))
            assert events.find(GradModes).switch is outer
        assert events.find(GradModes).switch is None


def test_other_threads_have_their_own_mode():
    seen: list[object] = []
    with watching(GradModes, GradModeLeft) as events, torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(events.find(GradModes).switch))
        thread.start()
        thread.join()
        assert events.find(GradModes).switch is not None
    assert seen == [None]


@pytest.mark.needs_torch("2.6", "`clip_grad._get_total_norm`")
def test_what_torch_does_by_itself_is_a_framework():
    model = nn.Linear(4, 1)
    model(torch.randn(2, 4)).sum().backward()
    seen = []
    with watching(GradModes, GradModeLeft) as events:
        original = torch.nn.utils.clip_grad._get_total_norm
        torch.nn.utils.clip_grad._get_total_norm = lambda *args, **kwargs: (
            seen.append(  # type: ignore
                events.find(GradModes).switch
            )
            or original(*args, **kwargs)
        )
        try:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        finally:
            torch.nn.utils.clip_grad._get_total_norm = original  # type: ignore
    (switch,) = seen
    assert (switch.form, source_line(switch.location)) == (
        "framework",
        "nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    )


def test_left_off_when_a_backward_fails():
    model, x = Net(), torch.randn(8, 4)
    with watching(GradModes, GradModeLeft) as events:
        torch.set_grad_enabled(False)
        model.eval()(x)
        model.train()
        loss = model(x).sum()
        with pytest.raises(RuntimeError, match="does not require grad"):
            loss.backward()
        torch.set_grad_enabled(True)
    (left,) = events.of(GradModeLeftOff)
    assert source_line(left.switch.location) == "torch.set_grad_enabled(False)"
    assert source_line(left.work) == "loss = model(x).sum()"


def test_not_left_off_when_undone_or_when_training_goes_on_inside_a_block():
    model, x = Net(), torch.randn(8, 4)
    with watching(OptimizerSteps, GradModes, GradModeLeft) as events:
        optimizer = SGD(model.parameters(), lr=0.1)
        torch.set_grad_enabled(False)
        model(x)
        with torch.enable_grad():
            model(x).sum().backward()
        optimizer.step()
        torch.set_grad_enabled(True)
        train(model, optimizer)
    assert events.of(GradModeLeftOff) == []


# ---------------------------------------------------------------------------------------------------------- modules


def test_a_root_its_modes_and_its_statistics():
    model = Net()
    with watching(GradModes, GradModeLeft, ModuleCalls, UnusedForwards) as events:
        model(torch.randn(8, 4))
        model(torch.randn(8, 4))
    (seen,) = events.of(ModuleSeen)
    assert (seen.name, seen.kind, seen.mode_dependent) == ("model", "Net", ["model.norm", "model.drop"])
    assert [event.name for event in events.of(ParameterSeen)][:2] == ["model.fc.weight", "model.fc.bias"]
    first, second = events.of(ForwardRan)
    assert first.in_train == ["model.norm", "model.drop"]
    assert first.in_eval == []
    assert first.statistics_moved == ["model.norm"]
    assert first.training
    assert first.grad_enabled
    assert first.builds_graph
    assert first.location != second.location


def test_a_line_is_reported_once_per_step_and_mode():
    model = Net()
    with watching(ModuleCalls, UnusedForwards) as events:
        for training in (True, False, True):
            model.train(training)
            for _ in range(3):
                model(torch.randn(8, 4))
        assert [event.training for event in events.of(ForwardRan)] == [True, False, True]
        events.find(Course).steps += 1
        model(torch.randn(8, 4))
    assert events.of(ForwardRan)[-1].step == 1


def test_a_submodule_left_in_eval_names_the_line_that_did_it():
    model = Net()
    with watching(ModuleCalls, UnusedForwards) as events:
        model.train()
        model.norm.eval()
        model(torch.randn(8, 4))
    (ran,) = events.of(ForwardRan)
    assert (ran.in_eval, ran.in_train, ran.statistics_moved) == (["model.norm"], ["model.drop"], [])
    assert source_line(ran.mode_set_at) == "model.norm.eval()"


def test_modes_of_roots_are_stated_also_when_set_before_the_first_call():
    class Frozen(Net):
        def train(self, mode: bool = True) -> Frozen:
            super().train(mode)
            self.norm.eval()
            return self

    model = Frozen()
    with watching(ModuleCalls, UnusedForwards) as events:
        model.train()
        model(torch.randn(8, 4))
        model.eval()
    assert [(event.training, source_line(event.location)) for event in events.of(ModeSet)] == [
        (True, "model.train()"),
        (False, "model.eval()"),
    ]


def test_gradients_off_come_with_their_switch():
    model = Net().eval()
    with watching(GradModes, GradModeLeft, ModuleCalls, UnusedForwards) as events, torch.inference_mode():
        model(torch.randn(8, 4))
    (ran,) = events.of(ForwardRan)
    assert (ran.grad_enabled, ran.inference, ran.builds_graph) == (False, True, False)
    assert ran.switch is not None
    assert ran.switch.kind == "inference_mode"


def test_modules_in_a_plain_list():
    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(4, 4), nn.Linear(4, 4)]
            self.last = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = nn.functional.relu(layer(x))
            return self.last(x)

    model = Stack()
    with watching(ModuleCalls, UnusedForwards) as events:
        model(torch.randn(8, 4))
    root, *strays = events.of(ModuleSeen)
    assert [stray.holder for stray in strays] == ["self.layers[0]", "self.layers[1]"]
    for stray in strays:
        assert (stray.registered, stray.parent, len(stray.parameters)) == (False, root.module, 2)
        assert source_line(stray.location) == "x = nn.functional.relu(layer(x))"


def test_a_layer_given_to_its_root_later_is_no_stray():
    model = nn.Sequential(nn.Linear(4, 4))
    with watching(ModuleCalls, UnusedForwards) as events:
        model(torch.randn(8, 4))
        model.append(nn.Linear(4, 1))
        model(torch.randn(8, 4))
    assert len(events.of(ModuleSeen)) == 1
    assert "model.1.weight" in [event.name for event in events.of(ParameterSeen)]


def test_losses_made_anew_for_each_call_share_a_number():
    with watching(ModuleCalls, UnusedForwards) as events:
        for _ in range(3):
            nn.MSELoss()(torch.ones(3), torch.zeros(3))
    assert [(event.name, event.parameters) for event in events.of(ModuleSeen)] == [("MSELoss", [])]


class Lit(nn.Module):
    """Called by its methods, as frameworks do, so that its parts are the roots."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.heads = nn.Linear(4, 4), [nn.Linear(4, 1)]

    def training_step(self, x: torch.Tensor) -> torch.Tensor:
        return self.heads[0](self.encoder(x)).sum()


def test_roots_called_by_methods_of_an_outer_module():
    lit = Lit()
    with watching(ModuleCalls, UnusedForwards) as events:
        lit.training_step(torch.randn(2, 4))
    encoder, outer, head = events.of(ModuleSeen)
    assert (encoder.name, encoder.registered) == ("self.encoder", True)
    assert (head.holder, head.registered, head.parent) == ("self.heads[0]", False, outer.module)
    assert outer.name == "lit"


class Writes(nn.Module):
    def __init__(self, write: Callable[[nn.Module], object]) -> None:
        super().__init__()
        self.fc, self.write = nn.Linear(4, 4), write

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.write(self)
        return self.fc(x)


def through_data(module: Any) -> None:
    module.fc.weight.data = module.fc.weight.data.clamp(-0.1, 0.1)


def in_place_on_data(module: Any) -> None:
    module.fc.weight.data.mul_(0.5)


def by_init(module: Any) -> None:
    nn.init.constant_(module.fc.weight, 0.1)


@torch.no_grad()
def by_index(module: Any) -> None:
    module.fc.weight[0] = 0.0


@pytest.mark.parametrize("write", [through_data, in_place_on_data, by_init, by_index])
def test_a_forward_that_writes_to_a_parameter(write):
    model = Writes(write)
    with watching(ModuleCalls, UnusedForwards) as events:
        model(torch.randn(2, 4))
    (ran,) = events.of(ForwardRan)
    names = {event.parameter: event.name for event in events.of(ParameterSeen)}
    assert [names[number] for number in ran.written_parameters] == ["model.fc.weight"]
    assert source_line(ran.written_at) in inspect.getsource(write)


def test_what_is_written_again_after_each_step_is_undone():
    model = Writes(by_init)
    with watching(OptimizerSteps, ModuleCalls, UnusedForwards) as events:
        train(model, SGD(model.parameters(), lr=0.1), steps=3)
    names = {event.parameter: event.name for event in events.of(ParameterSeen)}
    undone = [[names[number] for number in event.undone_parameters] for event in events.of(ForwardRan)]
    assert undone == [[], ["model.fc.weight"], ["model.fc.weight"]]


@pytest.mark.parametrize("write", [lambda module: module.fc.weight.mul(2), lambda module: module.zero_grad()])
def test_a_forward_that_only_reads(write):
    model = Writes(write)
    with watching(ModuleCalls, UnusedForwards) as events:
        model(torch.randn(2, 4))
    assert [event.written_parameters for event in events.of(ForwardRan)] == [[]]


def test_wrappers_and_compilers_are_coped_with():
    inner, x = nn.Linear(4, 4), torch.randn(2, 4, requires_grad=True)
    lazy = nn.Sequential(nn.LazyLinear(3))
    with watching(GradModes, GradModeLeft, ModuleCalls, UnusedForwards) as events:
        torch.jit.script(inner)(x)
        torch.nn.DataParallel(inner)(x)
        torch.func.vmap(inner)(x)
        torch.func.functional_call(inner, {name: p.detach() for name, p in inner.named_parameters()}, (x,))
        checkpoint(inner, x, use_reentrant=True).sum().backward()
        checkpoint(inner, x, use_reentrant=False).sum().backward()
        lazy(x)
    assert all(event.grad_enabled for event in events.of(ForwardRan))
    assert "lazy.0.weight" in [event.name for event in events.of(ParameterSeen)]


def test_an_inner_call_costs_next_to_nothing():
    deep, x = nn.Sequential(*(nn.Identity() for _ in range(500))), torch.ones(1)

    def calls() -> float:
        """Python functions called for each inner module; unlike seconds, always the same."""
        counted = 0

        def count(frame: Any, event: str, argument: Any) -> None:
            nonlocal counted
            counted += event == "call"

        deep(x)
        sys.setprofile(count)
        deep(x)
        sys.setprofile(None)
        return counted / len(deep)

    alone = calls()
    with watching(ModuleCalls, UnusedForwards):
        watched = calls()
    assert watched - alone < 20


# ---------------------------------------------------------------------------------------- graphs that nothing used


def evaluate(model: nn.Module) -> None:
    model.eval()
    for _ in range(3):
        model(torch.randn(8, 4)).sum().item()
    model.train()


def test_evaluation_that_builds_graphs():
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
    with watching(OptimizerSteps, ModuleCalls, UnusedForwards) as events:
        optimizer = SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            train(model, optimizer)
            evaluate(model)
    unused = events.of(ForwardsWithoutBackward)
    assert [(event.step, event.passes, event.training) for event in unused] == [
        (1, 3, False),
        (2, 3, False),
        (3, 3, False),
    ]
    assert {source_line(event.location) for event in unused} == {"model(torch.randn(8, 4)).sum().item()"}
    assert {event.bytes_held for event in unused} == {4 * 8 * 16}


def saliency(model: nn.Module) -> None:
    x = torch.randn(8, 4, requires_grad=True)
    torch.autograd.grad(model.eval()(x).sum(), x)
    model.train()


def two_halves(model: nn.Module) -> None:
    sum(model(torch.randn(8, 4)).sum() for _ in range(2)).backward()  # type: ignore[union-attr]


def without_gradients(model: nn.Module) -> None:
    with torch.no_grad():
        evaluate(model)


@pytest.mark.parametrize("use", [saliency, two_halves, without_gradients])
def test_graphs_that_were_used_or_never_built(use):
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
    with watching(OptimizerSteps, ModuleCalls, UnusedForwards) as events:
        optimizer = SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            train(model, optimizer)
            use(model)
    assert events.of(ForwardsWithoutBackward) == []


def test_a_graph_used_after_another_optimizer_stepped():
    maker, judge = nn.Linear(4, 4), nn.Linear(4, 4)
    with watching(OptimizerSteps, ModuleCalls, UnusedForwards) as events:
        first, second = SGD(maker.parameters(), lr=0.1), SGD(judge.parameters(), lr=0.1)
        for _ in range(4):
            fake = maker(torch.randn(8, 4))
            judge(fake.detach()).sum().backward()
            second.step()
            judge(fake).sum().backward()
            first.step()
    assert events.of(ForwardsWithoutBackward) == []


def test_a_line_whose_first_passes_were_idle():
    policy, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    with watching(OptimizerSteps, ModuleCalls, UnusedForwards) as events:
        actors, critics = SGD(policy.parameters(), lr=0.1), SGD(critic.parameters(), lr=0.1)

        def act() -> torch.Tensor:
            return policy(torch.randn(8, 4))

        for _ in range(4):
            critic(act().detach()).sum().backward()
            critics.step()
        critic(act()).sum().backward()
        actors.step()
    assert events.of(ForwardsWithoutBackward)
    (used,) = events.of(IdleForwardUsed)
    assert source_line(used.location) == "return policy(torch.randn(8, 4))"


def test_a_backward_around_the_outputs_is_the_models_and_not_the_criterions():
    class Rewrapped(nn.Module):
        def forward(self, output: torch.Tensor) -> torch.Tensor:
            return output.pow(2).mean()

    model, criterion = nn.Linear(4, 4), Rewrapped()
    with watching(OptimizerSteps, ModuleCalls, UnusedForwards, BackwardRuns) as events:
        optimizer = SGD(model.parameters(), lr=0.1)
        for _ in range(5):
            loss = criterion(model(torch.randn(8, 4)))
            loss.detach().requires_grad_().backward()
            optimizer.step()
            del loss
    assert events.of(ForwardsWithoutBackward) == []


def test_a_training_pass_that_the_end_cut_short():
    model = nn.Linear(4, 4)
    with watching(OptimizerSteps, ModuleCalls, UnusedForwards) as events:
        model(torch.randn(8, 4))
    assert [event.unsettled for event in events.of(ForwardsWithoutBackward)] == [True]


# --------------------------------------------------------------------------- scalers, clipping, schedulers and hooks


def test_a_scaler_knows_whose_gradients_are_scaled():
    model = nn.Linear(4, 1)
    with watching(OptimizerSteps, LossScales, Clipping) as events:
        optimizer, scaler = SGD(model.parameters(), lr=0.1), GradScaler("cpu", init_scale=1024.0)
        scalers = events.find(LossScales)
        assert scalers.of_optimizer(optimizer) == 1.0
        scaler.scale(model(torch.randn(2, 4)).sum()).backward()
        assert scalers.of_optimizer(optimizer) == 1024.0
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.unscale_(optimizer)
        assert scalers.of_optimizer(optimizer) == 1.0
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    assert [(event.call, event.scale) for event in events.of(ScalerUsed)] == [
        ("scale", 1024.0),
        ("unscale_", 1024.0),
        ("step", 1024.0),
        ("update", 1024.0),
    ]
    assert [event.loss_scale for event in events.of(GradientsClipped)] == [1024.0, 1.0]


def test_a_skipped_step():
    model = nn.Linear(4, 1)
    with watching(OptimizerSteps, LossScales) as events:
        optimizer, scaler = SGD(model.parameters(), lr=0.1), GradScaler("cpu", init_scale=1024.0)
        scaler.scale(model(torch.randn(2, 4)).sum() * float("inf")).backward()
        scaler.step(optimizer)
        scaler.update()
    assert [(event.call, event.found_inf, event.scale) for event in events.of(ScalerUsed)][1:] == [
        ("step", True, 1024.0),
        ("update", False, 512.0),
    ]


def test_a_scaler_that_is_switched_off_says_nothing():
    model = nn.Linear(4, 1)
    with watching(OptimizerSteps, LossScales) as events:
        optimizer, scaler = SGD(model.parameters(), lr=0.1), GradScaler("cpu", enabled=False)
        scaler.scale(model(torch.randn(2, 4)).sum()).backward()
        scaler.step(optimizer)
    assert events.of(ScalerUsed) == []


@pytest.mark.needs_torch("2.6", "`clip_grads_with_norm_`")
def test_clipping_by_norm_and_by_value_under_both_names():
    model = nn.Linear(4, 1)
    model.bias.requires_grad_(False)
    with watching(OptimizerSteps, BackwardRuns, Clipping) as events:
        SGD(model.parameters(), lr=0.1)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        model(torch.ones(1, 4)).sum().backward()
        nn.utils.clip_grad_value_(model.parameters(), clip_value=0.5)
        norm = nn.utils.clip_grad.clip_grad_norm_((p for p in model.parameters()), 0.25)
        nn.utils.clip_grads_with_norm_([model.weight], 3.0, torch.tensor(7.0))
    early, by_value, by_norm, given = events.of(GradientsClipped)
    assert (early.fresh, early.missing) == ([], early.parameters)
    assert (by_value.kind, by_value.limit, by_value.norm) == ("value", 0.5, None)
    assert (by_norm.kind, by_norm.limit, by_norm.norm) == ("norm", 0.25, pytest.approx(float(norm)))
    assert by_norm.fresh == by_norm.parameters[:1]
    assert (given.limit, given.norm) == (3.0, 7.0)
    assert source_line(by_value.location).startswith("nn.utils.clip_grad_value_")


def test_schedulers_count_once_per_call_of_the_program():
    model = nn.Linear(4, 1)
    with watching(OptimizerSteps, Schedulers) as events:
        optimizer = SGD(model.parameters(), lr=1.0)
        plateau = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.1)
        chained = lr_scheduler.ChainedScheduler([lr_scheduler.StepLR(optimizer, 1), lr_scheduler.StepLR(optimizer, 1)])
        built = len(events.of(SchedulerStepped))
        chained.step()
        plateau.step(1.0)
    steps = events.of(SchedulerStepped)
    assert [event.first for event in steps[:built]] == [True, True]
    assert [(event.name, event.kind, event.first) for event in steps[built:]] == [
        ("chained", "ChainedScheduler", False),
        ("plateau", "ReduceLROnPlateau", False),
    ]
    assert steps[built].learning_rates == pytest.approx([0.01])
    assert {event.optimizer for event in steps} == {0}


def test_hooks_that_pile_up():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    with watching(OptimizerSteps, Hooks) as events:
        optimizer = SGD(model.parameters(), lr=0.1)
        model[1].register_forward_hook(lambda *_: None)
        for _ in range(3):
            model[0].register_forward_pre_hook(lambda *_: None)
            model[0].bias.register_hook(lambda gradient: None)
            handle = model[1].register_full_backward_hook(lambda *_: None)
            train(model, optimizer)
            handle.remove()
    counted = Counter((event.subject, event.hooks) for event in events.of(HooksCounted))
    growing = {(subject, hooks): 1 for subject in ("model.0", "model.0.bias") for hooks in (1, 2, 3)}
    assert counted == {**growing, ("model.1", 2): 1}
    newest = {event.subject: source_line(event.location) for event in events.of(HooksCounted)}
    assert newest["model.0"] == "model[0].register_forward_pre_hook(lambda *_: None)"


# -------------------------------------------------------------------------------------------------------- snapshots


SNAPSHOTS: list[Callable[[nn.Module], Any]] = [
    lambda model: model.state_dict(),
    lambda model: dict(model.state_dict()),
    lambda model: {"weights": model.state_dict(), "epoch": 1},
    lambda model: {name: value.cpu() for name, value in model.state_dict().items()},
    lambda model: {name: value.detach() for name, value in model.state_dict().items()},
]


@pytest.mark.parametrize("take", SNAPSHOTS)
def test_a_snapshot_that_follows_the_weights(take):
    model = Net()
    with watching(OptimizerSteps, Snapshots) as events:
        optimizer = SGD(model.parameters(), lr=0.1)
        best = take(model)
        train(model, optimizer, steps=2)
    kept = events.of(SnapshotKept)
    assert [(event.step, event.taken_in_step, event.used_at_once) for event in kept] == [(1, 0, False), (2, 0, False)]
    assert {event.holder.partition("[")[0] for event in kept} == {"best"}
    assert len(kept[-1].parameters) == 4
    assert len(best) > 0


def test_a_snapshot_held_by_an_object():
    class Stopping:
        def __init__(self) -> None:
            self.weights: Any = None

    model, stopping = Net(), Stopping()
    with watching(OptimizerSteps, Snapshots) as events:
        optimizer = SGD(model.parameters(), lr=0.1)
        stopping.weights = model.state_dict()
        train(model, optimizer)
    (kept,) = events.of(SnapshotKept)
    assert kept.holder == "stopping.weights"
    assert source_line(kept.location) == "stopping.weights = model.state_dict()"


def test_a_snapshot_that_was_saved_or_loaded_at_once(tmp_path):
    model, target = Net(), Net()
    with watching(OptimizerSteps, Snapshots) as events:
        optimizer = SGD(model.parameters(), lr=0.1)
        saved = {"model": model.state_dict()}
        torch.save(saved, tmp_path / "saved.pt")
        train(model, optimizer)
        loaded = model.state_dict()
        target.load_state_dict(loaded)
        train(model, optimizer)
        assert not events.of(SnapshotKept)
        kept = model.state_dict()
        train(model, optimizer)
    found = {(event.holder, event.used_at_once) for event in events.of(SnapshotKept)}
    assert found == {("saved['model']", True), ("loaded", True), ("kept", False)}
    assert kept


@pytest.mark.parametrize(
    "take",
    [
        lambda model: copy.deepcopy(model.state_dict()),
        lambda model: {name: value.clone() for name, value in model.state_dict().items()},
        lambda model: list(model.parameters()),
        lambda model: [value.sum().item() for value in model.state_dict().values()],
    ],
)
def test_what_is_no_alias_of_a_snapshot(take):
    model = Net()
    with watching(OptimizerSteps, Snapshots) as events:
        optimizer = SGD(model.parameters(), lr=0.1)
        best = take(model)
        train(model, optimizer, steps=2)
    assert events.of(SnapshotKept) == []
    assert len(best) > 0


# ------------------------------------------------------------------------------------------- operations that raised


def test_what_filled_a_parameter_did_not_make_it():
    layer = nn.Linear(4, 3)
    with watching(Failures) as events:
        nn.init.orthogonal_(layer.weight)
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            layer(torch.randn(8, 5) * 2)
    (failed,) = events.of(OperationFailed)
    assert [(each.operation, each.made_at is None) for each in failed.operands] == [
        ("mul", False),
        ("", True),
        ("", True),
    ]


def test_what_instruments_knew_is_gone_when_they_are_detached() -> None:
    """Their tables refer to objects of the program; left to the garbage collector, they would outlive the watch.

    An object dies while the collector visits references to it, and Python 3.11 ends in a segmentation fault.
    """
    gc.collect()
    gc.disable()
    try:
        model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(), nn.BatchNorm1d(2))
        optimizer = SGD(model.parameters(), lr=0.1)
        with watching(*all_instruments()) as recorded:
            for _ in range(6):
                model(torch.randn(5, 3)).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()
            known = {name_of(kind): weakref.ref(recorded.find(kind)) for kind in all_instruments()}
        left = {name for name, reference in known.items() if reference() is not None}
        assert left == {"course", "late_values"}, "the session dates its last events by the first, which has the other"
    finally:
        gc.enable()
