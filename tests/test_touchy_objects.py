"""Instruments that meet objects of the program run nothing of theirs, whatever the classes define."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.amp.grad_scaler import GradScaler
from torch.optim import SGD
from torch.optim.lr_scheduler import MultiStepLR

from autograd_doctor.events.connectivity import ModeSet
from autograd_doctor.events.cycle import ScalerUsed, SchedulerStepped
from autograd_doctor.events.errors import CheckpointRan
from autograd_doctor.events.lifetime import HooksCounted
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.instruments.connectivity.grad_modes import GradModes
from autograd_doctor.instruments.connectivity.train_modes import TrainModes
from autograd_doctor.instruments.cycle.loss_scales import LossScales
from autograd_doctor.instruments.cycle.schedulers import Schedulers
from autograd_doctor.instruments.errors.checkpoints import Checkpoints
from autograd_doctor.instruments.errors.saved_changes import SavedChanges
from autograd_doctor.instruments.lifetime.hooks import Hooks
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns
from autograd_doctor.instruments.spine.module_calls import ModuleCalls
from autograd_doctor.instruments.spine.optimizer_steps import OptimizerSteps
from autograd_doctor.reading.graph_bytes import saved_bytes
from autograd_doctor.reading.module_tree import buffers_in, modules_in, parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.runner.crash import raised
from autograd_doctor.signals.checkpoints import CheckpointCall
from autograd_doctor.signals.grad_modes import GradSwitched
from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.modules import TrainCall
from autograd_doctor.signals.scalers import ScalerCall
from autograd_doctor.signals.schedulers import ScheduleCall
from tests.inventing import inventing

RAN: list[str] = []


def touchy(base: type[Any]) -> type[Any]:
    """A class of the program that takes note of whatever runs."""

    def noted(name: str, answer: Any) -> Any:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            RAN.append(name)
            return answer(self, *args, **kwargs)

        return method

    def missing(self: Any, name: str) -> Any:
        RAN.append(name)
        return super(kind, self).__getattr__(name)  # type: ignore[misc]

    body: dict[str, Any] = {
        "__getattr__": missing,
        "__hash__": noted("__hash__", id),
        "__eq__": noted("__eq__", lambda self, other: self is other),
        "__bool__": noted("__bool__", lambda self: True),
        "__class__": property(noted("__class__", type)),
    }
    for name in ("parameters", "named_parameters", "modules", "named_modules", "named_children", "named_buffers"):
        if hasattr(base, name):
            body[name] = noted(name, getattr(base, name))
    kind = type(f"Touchy{base.__name__}", (base,), body)
    return kind


@pytest.fixture(autouse=True)
def _nothing_ran() -> Iterator[None]:
    yield
    assert RAN == []


def model() -> Any:
    made = touchy(nn.Sequential)(touchy(nn.Linear)(2, 2), touchy(nn.BatchNorm1d)(2))
    RAN.clear()
    return made


def optimizer(made: nn.Module) -> Any:
    built = touchy(SGD)(list(nn.Sequential.parameters(made)), lr=0.1)
    RAN.clear()
    return built


def test_the_tree_of_modules() -> None:
    made = model()
    assert [path for path, _ in modules_in(made, "model")] == ["model", "model.0", "model.1"]
    assert [path for path, _ in parameters_in(made)] == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert [path for path, _ in buffers_in(made)] == ["1.running_mean", "1.running_var", "1.num_batches_tracked"]


def test_the_tree_of_a_module_that_torch_made_of_another() -> None:
    shared = nn.Linear(2, 2, bias=False)
    plain = nn.Sequential(shared, nn.BatchNorm1d(2), nn.Sequential(shared, nn.ReLU()))
    x = torch.ones(3, 2)
    for made in (plain, torch.jit.script(plain), torch.jit.trace(plain, x), torch.compile(plain)):  # type: ignore[no-untyped-call]
        for ours, theirs in (
            (modules_in(made), made.named_modules()),
            (parameters_in(made), made.named_parameters()),
            (buffers_in(made), made.named_buffers()),
        ):
            assert [path for path, _ in ours] == [path for path, _ in theirs]


def test_a_table_by_identity_forgets_what_has_died() -> None:
    table: IdentityTable[int | None] = IdentityTable()
    kept, gone = (touchy(object)() for _ in range(2))
    table.put(kept, 1)
    table.put(kept, 2)
    table.put(gone, None)
    assert (table.get(kept), table.get(gone), kept in table, gone in table) == (2, None, True, True)
    assert [value for _, value in table.items()] == [2, None]
    del gone
    assert [value for _, value in table.items()] == [2]
    table.discard(kept)
    table.discard(kept)
    assert kept not in table
    assert not table


def test_hooks_of_a_module() -> None:
    made = model()
    with inventing(Hooks) as run:
        nn.Module.register_forward_hook(made[0], lambda *_: None)
        RAN.clear()
        for _ in range(2):
            run.signals.hooks.on_module.send(made[0])
        run.train(SGD([nn.Parameter(torch.ones(1))], lr=0.1))
        assert [(event.subject, event.hooks) for event in run.of(HooksCounted)] == [("made.0", 1)]


def test_modules_that_are_called_and_set_to_a_mode() -> None:
    made = model()
    with inventing(ModuleCalls, TrainModes) as run:
        call = TrainCall(made, True)
        run.signals.train_modes.began.send(call)
        run.signals.train_modes.ended.send(call)
        for _ in range(2):
            with run.calling(made):
                pass
        assert [event.parameters for event in run.of(ModuleSeen)] == [[0, 1, 2, 3]]
        assert (len(run.of(ForwardRan)), len(run.of(ModeSet))) == (1, 1)


def test_optimizers_and_their_schedulers() -> None:
    made = optimizer(model())
    schedule = touchy(MultiStepLR)(made, [2, 5])
    RAN.clear()
    with inventing(OptimizerSteps, Schedulers) as run:
        run.train(made)
        call = ScheduleCall(schedule)
        run.signals.schedulers.began.send(call)
        run.signals.schedulers.ended.send(call)
        (stepped,) = run.of(OptimizerStepped)
        (event,) = run.of(SchedulerStepped)
        assert (stepped.optimizer, event.optimizer, event.length, event.name) == (0, 0, 5, "schedule")


def test_gradient_scalers() -> None:
    made, scaler = optimizer(model()), touchy(GradScaler)("cpu", init_scale=8.0)
    scaler._lazy_init_scale_growth_tracker(torch.device("cpu"))
    RAN.clear()
    with inventing(LossScales) as run:
        for name, argument in (("scale", None), ("unscale_", made)):
            call = ScalerCall(scaler, name, argument)
            run.signals.scalers.began.send(call)
            run.signals.scalers.ended.send(call)
        assert [(event.call, event.scale) for event in run.of(ScalerUsed)] == [("scale", 8.0), ("unscale_", 8.0)]
        assert run.find(LossScales).of_optimizer(made) == 8.0


def test_managers_of_the_grad_mode() -> None:
    manager = touchy(torch.no_grad)()
    RAN.clear()
    with inventing(GradModes) as run:
        run.signals.grad_modes.entered.send(GradSwitched(manager, False, sys._getframe()))
        run.signals.grad_modes.exited.send(GradSwitched(manager, True, sys._getframe()))


def test_what_a_checkpoint_is_given() -> None:
    def segment() -> None: ...

    functions: list[Any] = [touchy(object)(), segment, model()[0]]
    with inventing(Checkpoints) as run:
        for function in functions:
            call = CheckpointCall(function, (touchy(object)(),), True, True)
            run.signals.checkpoints.began.send(call)
            run.signals.checkpoints.ended.send(call)
        names = [event.function for event in run.of(CheckpointRan)]
    assert names == ["Touchyobject", "test_what_a_checkpoint_is_given.segment"]


class Keeps(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.variable = x.clone()
        ctx.odd, ctx.named, ctx.listed = touchy(object)(), touchy(dict)(a=x * 3), touchy(list)([x * 2])
        return x * 2

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0]


def test_what_a_custom_function_keeps() -> None:
    x = torch.ones(2, requires_grad=True)
    out = Keeps.apply(x)  # type: ignore[no-untyped-call]
    RAN.clear()
    assert saved_bytes([out]).bytes == 3 * 8
    assert saved_bytes([out]).nodes == 2
    with inventing(BackwardRuns) as run:
        run.number(x)
        run.ran_backward(out.sum())
        assert run.of(BackwardRan)[-1].reached == [0], "`ctx.variable` is no leaf"


class Refuses(RuntimeError):
    def __str__(self) -> str:
        RAN.append("__str__")
        return "modified by an inplace operation"


def test_an_error_of_the_program_in_a_backward() -> None:
    with inventing(SavedChanges) as run, run.backward(torch.ones(2, requires_grad=True).sum()) as call:
        call.error = Refuses()


def test_the_variables_of_a_program_that_died() -> None:
    odd, error = touchy(object)(), None
    try:
        raise ValueError("no")
    except ValueError as caught:
        error = caught
    assert raised(error, Guard(lambda *_: None), 0).frames
    assert type(odd).__name__ == "Touchyobject"
