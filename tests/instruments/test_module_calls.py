"""Calls of modules: which are roots, under which modes, and what their forward changed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.checkpoint
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.connectivity import ModeSet
from autograd_doctor.events.steps import ForwardRan
from autograd_doctor.events.subjects import ModuleSeen, ParameterSeen
from autograd_doctor.instruments.connectivity.train_modes import TrainModes
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.module_calls import ModuleCalls
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.signals.grad_modes import GradSwitched
from autograd_doctor.signals.modules import ModuleCall, TrainCall
from tests.inventing import Invented, inventing
from tests.watching import watching


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.norm, self.drop, self.idle = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Dropout(0.0)


def call(run: Invented, module: nn.Module, *inner: nn.Module, output: Any = None, **flags: bool) -> None:
    with run.calling(module, output=output, **flags):
        for each in inner:
            with run.calling(each):
                pass


def ran(run: Invented) -> ForwardRan:
    return run.of(ForwardRan)[-1]


def step(run: Invented) -> None:
    run.train(SGD([nn.Parameter(torch.ones(1))], lr=0.1))


def test_a_root_with_its_modes():
    net = Net()
    with inventing(ModuleCalls) as run:
        call(run, net, net.fc, net.norm, net.drop, net.idle)
        (event,) = run.of(ForwardRan)
        assert (event.module, event.training, event.grad_enabled, event.inference) == (0, True, True, False)
        assert (event.switch, event.builds_graph, event.mode_set_at, event.step) == (None, False, None, 0)
        assert ([name.rpartition(".")[2] for name in event.in_train], event.in_eval) == (["norm", "drop"], [])
        assert (event.statistics_moved, event.written_parameters, event.undone_parameters) == ([], [], [])
        assert event.location is not None
        assert len(run.of(ModuleSeen)) == 1


def test_what_a_root_is_called_under():
    net = Net().eval()
    with inventing(ModuleCalls) as run:
        with torch.enable_grad():
            block = torch.inference_mode()
        run.signals.grad_modes.entered.send(GradSwitched(block, False, sys._getframe()))
        call(run, net, net.norm, grad_enabled=False, inference=True)
        event = ran(run)
        assert (event.training, event.grad_enabled, event.inference) == (False, False, True)
        assert event.switch is not None
        assert event.switch.kind == "inference_mode"
        assert ([name.rpartition(".")[2] for name in event.in_eval], event.in_train) == (["norm"], [])
        call(run, net, grad_enabled=True)
        assert ran(run).switch is None


def test_the_same_call_is_told_once_per_step():
    net, other = Net(), Net()
    with inventing(ModuleCalls) as run:
        for module in (net, other, net, other):
            call(run, module)
        assert [event.module for event in run.of(ForwardRan)] == [0, 1]
        for training in (False, True):
            run.signals.train_modes.began.send(it := TrainCall(net.train(training), training))
            run.signals.train_modes.ended.send(it)
            call(run, net)
        assert [event.training for event in run.of(ForwardRan)] == [True, True, False, True]
        step(run)
        call(run, net)
        call(run, net)
        assert [event.step for event in run.of(ForwardRan)] == [0, 0, 0, 0, 1]


def test_a_part_in_another_mode_names_the_line_that_set_it():
    net = Net()
    with inventing(ModuleCalls) as run:
        for module, mode in ((net, True), (net.norm, False)):
            run.signals.train_modes.began.send(it := TrainCall(module.train(mode), mode))
            run.signals.train_modes.ended.send(it)
            if module is net:
                call(run, net, net.norm)
        call(run, net, net.norm)
        whole, odd = run.of(ForwardRan)
        assert whole.mode_set_at is not None
        assert odd.mode_set_at is not None
        assert whole.mode_set_at.column != 0
        assert ([name[-4:] for name in odd.in_eval], odd.in_train) == (["norm"], [])


def test_statistics_that_moved():
    net = Net()
    with inventing(ModuleCalls) as run:
        with run.calling(net), run.calling(net.norm):
            net.norm.num_batches_tracked.add_(1)
        assert [name.rpartition(".")[2] for name in ran(run).statistics_moved] == ["norm"]
        norm = nn.BatchNorm1d(2)
        with run.calling(norm):
            norm.running_mean.add_(1)
        assert len(ran(run).statistics_moved) == 1, "a root may be a normalisation itself"


def test_a_module_that_ran_twice_is_compared_with_before_the_first():
    net = Net()
    with inventing(ModuleCalls) as run:
        with run.calling(net):
            with run.calling(net.norm):
                net.norm.num_batches_tracked.add_(1)
            with run.calling(net.norm):
                pass
        assert len(ran(run).statistics_moved) == 1


def test_outputs_with_a_graph_are_handed_on():
    net, x = Net(), torch.ones(4, requires_grad=True)
    with inventing(ModuleCalls) as run:
        passed = run.heard(run.find(ModuleCalls).root_passed)
        output, leaf = x * 2, torch.ones(4)
        call(run, net, output={"logits": [output, leaf]})
        assert ran(run).builds_graph
        assert [(each.call.module, [one is output for one in each.outputs]) for each in passed] == [(net, [True])]
        with run.calling(net, x, [x], output=output):
            pass
        assert [one is x for one in passed[1].inputs] == [True, True]
        call(run, net, output=leaf)
        assert len(passed) == 2


def test_a_forward_that_raised_is_no_pass():
    net = Net()
    with inventing(ModuleCalls) as run:
        run.signals.modules.began.send(ModuleCall(net, (), {}, True, False))
        run.signals.modules.ended.send(ModuleCall(net, (), {}, True, False))
        assert run.of(ForwardRan) == []
    with inventing(ModuleCalls) as run:
        call(run, net, raised=True)
        assert run.of(ForwardRan) == []
        other = Net()
        call(run, other)
        assert len(run.of(ForwardRan)) == 1


def test_calls_inside_that_never_ended_go_with_the_one_around_them():
    net = Net()
    with inventing(ModuleCalls) as run:
        with run.calling(net):
            run.signals.modules.began.send(ModuleCall(net.fc, (), {}, True, False))
        call(run, net.fc)
        assert [event.module for event in run.of(ForwardRan)] == [0, 1]
        assert run.find(ModuleCalls)._running.calls == []


def test_replicas_are_no_roots():
    net = Net()
    with inventing(ModuleCalls) as run:
        net._is_replica = True
        call(run, net)
        assert run.of(ModuleSeen) == []


def test_a_recomputation_inside_a_backward_is_no_root():
    net, x = Net(), torch.ones(1, requires_grad=True)
    with inventing(ModuleCalls) as run:
        y = x * 2
        y.register_hook(lambda gradient: call(run, net))
        y.sum().backward()
        assert run.of(ModuleSeen) == []


def test_a_transform_of_functions_has_no_roots():
    with inventing(ModuleCalls) as run:
        net = Net()
        torch.func.vmap(lambda x: (call(run, net), x)[1])(torch.ones(2))
        assert run.of(ModuleSeen) == []


def test_each_thread_has_roots_of_its_own():
    net, other = Net(), Net()
    with inventing(ModuleCalls) as run:
        with run.calling(net):
            thread = threading.Thread(target=lambda: call(run, other))
            thread.start()
            thread.join()
        assert len(run.of(ForwardRan)) == 2


def test_modules_met_inside_that_their_root_does_not_hold():
    net, stray, bare = Net(), nn.Linear(1, 1), nn.Dropout(0.5)
    with inventing(ModuleCalls) as run:
        call(run, net, stray, bare, stray)
        root, met = run.of(ModuleSeen)
        assert (met.registered, met.parent) == (False, root.module)
        assert len(ran(run).in_train) == 1, "what depends on its mode and ran inside counts"
        late = nn.Linear(1, 1)
        net.late = late
        call(run, net, late)
        assert len(run.of(ModuleSeen)) == 2
        names = [event.name.split(".")[-2:] for event in run.of(ParameterSeen)]
        assert names[-2:] == [["late", "weight"], ["late", "bias"]]


def test_parameters_that_a_forward_wrote_to():
    net = Net()
    with inventing(ModuleCalls) as run:
        with run.calling(net), torch.no_grad():
            net.fc.bias.zero_()
        assert len(ran(run).written_parameters) == 1
        assert ran(run).written_at is None
        net.eval()
        with run.calling(net), torch.no_grad():
            net.fc.bias.zero_()
        assert len(ran(run).written_parameters) == 1


def test_operations_are_listened_to_only_where_a_forward_trains():
    net = Net()
    with inventing(ModuleCalls) as run:
        call(run, net)
        for training, enabled in ((True, True), (True, False), (False, True)):
            step(run) if run.steps < 1 else None
            net.train(training)
            with run.calling(net, grad_enabled=enabled):
                assert bool(run.signals.operations.began) == (training and enabled)


def test_the_parent_of_a_stray_is_the_module_that_called_it():
    net, stray = Net(), nn.Linear(1, 1)
    with inventing(ModuleCalls) as run:
        with run.calling(net), run.calling(net.fc), run.calling(stray):
            pass
        root, parent, met = run.of(ModuleSeen)
        assert (parent.kind, parent.parent, met.parent) == ("Linear", root.module, parent.module)


def test_only_what_a_root_does_not_hold_is_looked_up(monkeypatch):
    met: list[nn.Module] = []
    monkeypatch.setattr(ModuleRegister, "met_inside", lambda self, root, module, parent: met.append(module))
    net, stray = Net(), nn.Linear(1, 1)
    with inventing(ModuleCalls) as run:
        for _ in range(2):
            call(run, net, net.fc, stray, net.fc)
        assert met == [stray]


def test_a_forward_that_raised_is_watched_no_more():
    net = Net()
    with inventing(ModuleCalls) as run:
        call(run, net)
        step(run)
        with run.calling(net, raised=True):
            assert run.signals.operations.began
        assert not run.signals.operations.began


def from_checkpoint(act: Callable[[], None]) -> None:
    """Call as the file of torch's checkpoints would."""
    namespace: dict[str, Any] = {}
    exec(compile("def run(act): act()", torch.utils.checkpoint.__file__, "exec"), namespace)
    namespace["run"](act)


def test_the_first_pass_of_a_re_entrant_checkpoint_is_no_root():
    net, block = Net(), torch.no_grad()
    with inventing(ModuleCalls) as run:
        from_checkpoint(lambda: call(run, net, grad_enabled=False))
        assert run.of(ModuleSeen) == []
        from_checkpoint(lambda: call(run, net))
        assert len(run.of(ForwardRan)) == 1
        call(run, net, grad_enabled=False)
        assert len(run.of(ForwardRan)) == 2
        run.signals.grad_modes.entered.send(GradSwitched(block, False, sys._getframe()))
        from_checkpoint(lambda: call(run, net, grad_enabled=False))
        assert len(run.of(ForwardRan)) == 3, "the program itself has switched gradients off"


def test_roots_say_when_their_mode_is_set():
    net = Net()
    with inventing(ModuleCalls) as run:
        call(run, net)
        run.signals.train_modes.began.send(it := TrainCall(net.eval(), False))
        run.signals.train_modes.ended.send(it)
        assert [(event.module, event.training) for event in run.of(ModeSet)] == [(0, False)]


def test_parameters_that_came_to_life_in_a_forward_are_named():
    lazy = nn.LazyLinear(2)
    with inventing(ModuleCalls) as run:
        with run.calling(lazy):
            assert run.of(ParameterSeen) == []
            lazy.initialize_parameters(torch.ones(1, 3))
            lazy.__class__ = nn.Linear
        assert len(run.of(ParameterSeen)) == 2


def test_of_several_parts_in_another_mode_the_first_names_the_line():
    net = Net()
    with inventing(ModuleCalls) as run:
        began = run.signals.train_modes.began
        began.send(first := TrainCall(net.norm.eval(), False))
        run.signals.train_modes.ended.send(first)
        began.send(second := TrainCall(net.drop.eval(), False))
        run.signals.train_modes.ended.send(second)
        call(run, net, net.norm, net.drop)
        modes = run.find(TrainModes)
        assert modes.set_at(net.norm) != modes.set_at(net.drop)
        assert ran(run).mode_set_at == modes.set_at(net.norm) is not None


def acts(policy: nn.Module, rows: int) -> torch.Tensor:
    """A forward with a graph, at this one line."""
    output: torch.Tensor = policy(torch.ones(rows, 4))
    return output


def test_a_policy_that_only_acts_is_looked_at_often_but_not_for_ever():
    policy = nn.Linear(4, 2)
    with watching(ModuleCalls) as run:
        detail, _ = run.find(Detail), SGD(policy.parameters(), lr=0.1)
        for _ in range(64):
            acts(policy, 1)
            assert detail.full
        acts(policy, 1)
        assert not detail.full
        loss = acts(policy, 32).sum()
        assert detail.full  # other sizes: this one may be learned from
        loss.backward()
        acts(policy, 1)
        assert detail.full


def test_forwards_whose_graphs_are_kept_are_all_looked_at():
    policy = nn.Linear(4, 2)
    with watching(ModuleCalls) as run:
        SGD(policy.parameters(), lr=0.1)
        kept = [acts(policy, 1) for _ in range(100)]
        assert run.find(Detail).full
        torch.stack(kept).sum().backward()
