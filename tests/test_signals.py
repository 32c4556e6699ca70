"""Signals: each entry point of torch is patched once, while somebody listens, and tells what happens there."""

from __future__ import annotations

import importlib
import inspect
import os
import random
import sys
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy
import pytest
import torch
import torch.utils.checkpoint
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograd_doctor.instruments.cycle.clipping import Clipping
from autograd_doctor.reading.subclasses import gradient_of
from autograd_doctor.reading.tensor_facts import extent
from autograd_doctor.signals import Signals, reads
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.choosers import Choosers, _EntryPoint
from autograd_doctor.signals.guard import Guard, LookClock, hide_from_observers
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import NamedSignal, Seam, Signal
from tests.watching import Recorded, Replaced, global_state, recording_replacements

SEAMS = [type(seam) for seam in Signals(lambda *_: None).seams]


def raises(*failed: object) -> None:
    raise AssertionError(failed)


def signals_of(seam: Seam) -> list[Signal[Any]]:
    return [value for value in vars(seam).values() if isinstance(value, Signal)]


def seam_of(kind: type[Seam]) -> Seam:
    return next(seam for seam in Signals(raises).seams if type(seam) is kind)


@pytest.fixture
def replaced() -> Iterator[Replaced]:
    with recording_replacements() as found:
        yield found


# -------------------------------------------------------------------------------------------------------------- seams


def test_every_seam_gives_signals():
    assert len(SEAMS) > 10
    for kind in SEAMS:
        assert signals_of(seam_of(kind)), kind


@pytest.mark.parametrize("kind", SEAMS)
def test_a_seam_is_patched_while_any_of_its_signals_has_a_listener(kind, replaced):
    state = global_state()
    seam = seam_of(kind)
    heard: list[Any] = []
    for signal in signals_of(seam):
        replaced.clear()
        assert not signal
        signal.connect(heard.append, owner="test")
        assert signal
        patched = [(owner, name) for owner, name, _ in replaced]
        touched = {id(owner): dict(vars(owner)) for owner, _, _ in replaced}
        assert patched or global_state() != state
        assert all(vars(owner)[name] is not before for owner, name, before in replaced)
        for other in signals_of(seam):
            other.connect(heard.append, owner="test", order=1)
        assert [(owner, name) for owner, name, _ in replaced] == patched, "one listener more patches nothing more"
        for other in signals_of(seam):
            other.disconnect(heard.append)
            if any(each for each in signals_of(seam)):
                assert all(dict(vars(owner)) == touched[id(owner)] for owner, _, _ in replaced)
        assert all(vars(owner).get(name) is before for owner, name, before in replaced)
        assert global_state() == state
    assert heard == []


@pytest.mark.parametrize("kind", SEAMS)
def test_disconnecting_who_never_listened_keeps_the_patch(kind, replaced):
    seam = seam_of(kind)
    for signal in signals_of(seam):
        signal.connect(raises, owner="test")
        signal.disconnect(print)
        assert signal
        signal.disconnect(raises)
        assert not signal


def test_who_asks_for_more_attention_hears_only_then_also_if_it_rises_meanwhile():
    guard, heard = Guard(raises), []
    signal: Signal[int] = Signal(guard)

    def rises(_: int) -> None:
        guard.attend(Attention.FULL)

    signal.connect(lambda _: heard.append("close"), owner="test", order=3, attention=Attention.CLOSE)
    signal.connect(lambda _: heard.append("before"), owner="test", order=0, attention=Attention.FULL)
    signal.connect(rises, owner="test", order=1)
    signal.connect(lambda _: heard.append("full"), owner="test", order=2, attention=Attention.FULL)
    guard.attend(Attention.LIGHT)
    signal.send(1)
    assert heard == ["full"]
    signal.send(1)
    assert heard == ["full", "before", "full"]


def test_of_what_has_a_name_each_hears_what_it_wants():
    class Thing(NamedTuple):
        name: str

    signal: NamedSignal[Thing] = NamedSignal(Guard(raises))
    heard: list[tuple[str, str]] = []
    signal.connect(lambda thing: heard.append(("some", thing.name)), owner="test", wants={"a"}.__contains__)
    signal.connect(lambda thing: heard.append(("all", thing.name)), owner="test")
    for name in "ab":
        signal.send(Thing(name))
    assert heard == [("some", "a"), ("all", "a"), ("all", "b")]


def test_each_entry_point_is_replaced_by_one_seam_only(replaced):
    signals = Signals(raises)
    for seam in signals.seams:
        for signal in signals_of(seam):
            signal.connect(raises, owner="test")
    places = [(id(owner), name) for owner, name, _ in replaced]
    for seam in signals.seams:
        for signal in signals_of(seam):
            signal.disconnect(raises)
    assert len(places) > 30
    assert len(set(places)) == len(places)


def test_a_seam_that_cannot_be_patched_leaves_nothing_behind():
    class Half(Seam):
        def __init__(self, guard: Guard) -> None:
            super().__init__(guard)
            self.signal: Signal[int] = Signal(guard, self)

        def patch(self, patches: Patches) -> None:
            patches.replace(torch, "from_numpy", print)
            patches.replace(torch, "randn_like", torch.no_such_thing)  # type: ignore[attr-defined]

    before = torch.from_numpy
    half = Half(Guard(raises))
    with pytest.raises(AttributeError):
        half.signal.connect(raises, owner="test")
    assert torch.from_numpy is before
    assert not half.signal


def test_an_inherited_attribute_is_inherited_again():
    class Child(nn.Linear):
        pass

    with Patches() as patches:
        patches.replace(Child, "forward", None)
        assert Child.forward is None
    assert "forward" not in vars(Child)


# ------------------------------------------------------------------------------------------------------------ signals


def test_listeners_hear_in_their_order():
    signal: Signal[int] = Signal(Guard(raises))
    heard: list[str] = []
    for name, order in (("late", 5), ("first", 0), ("last", 9), ("second", 0), ("early", -1)):
        signal.connect(lambda what, name=name: heard.append(name), owner="test", order=order)
    signal.send(1)
    assert heard == ["early", "first", "second", "late", "last"]


def test_who_names_no_order_is_between_the_early_and_the_late() -> None:
    signal: Signal[int] = Signal(Guard(raises))
    heard: list[str] = []
    signal.connect(lambda what: heard.append("zero"), owner="test", order=0)
    signal.connect(lambda what: heard.append("none"), owner="test")
    signal.connect(lambda what: heard.append("zero again"), owner="test", order=0)
    signal.send(1)
    assert heard == ["zero", "none", "zero again"]


def test_instruments_that_read_others_hear_after_them():
    recorded = Recorded()
    recorded.session.attach([Clipping])
    heard = [listener.owner for listener in recorded.session.signals.backward.began.listeners]
    recorded.session.close()
    names = [type(owner).__name__ for owner in heard]
    assert names == ["LateValues", "Detail", "Ledger", "Course"], (
        "the course counts a backward when all others have seen it begin"
    )


def test_who_has_left_hears_nothing():
    signal: Signal[int] = Signal(Guard(raises))
    first: list[int] = []
    second: list[int] = []
    signal.connect(first.append, owner="test")
    signal.connect(second.append, owner="test")
    signal.disconnect(first.append)
    signal.send(1)
    assert (first, second) == ([], [1])


def test_a_listener_that_raises_stops_neither_the_others_nor_the_program():
    failed: list[tuple[object, str, str]] = []
    signal: Signal[int] = Signal(Guard(lambda owner, look, error: failed.append((owner, look, str(error)))))
    heard: list[int] = []

    def breaks(what: int) -> None:
        raise KeyError("mine")

    signal.connect(breaks, owner="me")
    signal.connect(heard.append, owner="test")
    signal.send(1)
    assert heard == [1]
    assert failed == [("me", "breaks", "'mine'")]


def test_a_listener_looks_without_gradients_unless_the_signal_is_bare():
    guard, enabled = Guard(raises), []
    for bare in (False, True):
        signal: Signal[int] = Signal(guard, bare=bare)
        signal.connect(lambda what: enabled.append((torch.is_grad_enabled(), guard.busy)), owner="test")
        signal.send(1)
        signal.relay(1)
    assert enabled == [(False, True), (True, False), (True, False), (True, False)]
    assert torch.is_grad_enabled()


class Seeing(TorchDispatchMode):
    """A dispatch mode of the program, and what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def test_nobody_watches_where_nobody_looks() -> None:
    assert not Guard(raises).busy
    assert hide_from_observers() is None


def test_a_dispatch_mode_of_the_program_sees_no_look_and_goes_on() -> None:
    with Seeing() as mode:
        with Guard(raises).looking():
            torch.ones(2)
        torch.zeros(2)
    assert mode.seen == ["zeros"]


def test_a_tracer_of_the_program_sees_no_look_and_goes_on() -> None:
    hidden: list[bool] = []

    def program(x: torch.Tensor) -> torch.Tensor:
        with Guard(raises).looking():
            hidden.append(torch._C._get_tracing_state() is None)
        return x * 2

    graph = str(torch.jit.trace(program, torch.ones(2), check_trace=False).graph)  # type: ignore[no-untyped-call]
    assert hidden == [True]
    assert "aten::mul" in graph


def test_a_profiler_of_the_program_sees_no_look_and_goes_on() -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        with Guard(raises).looking():
            torch.ones(2).exp()
        torch.ones(2).sin()
    names = {event.name for event in profiler.events() or ()}
    assert ("aten::exp" in names, "aten::sin" in names) == (False, True)


def test_nothing_is_signalled_inside_a_look():
    guard = Guard(raises)
    signal: Signal[int] = Signal(guard)
    heard: list[int] = []
    signal.connect(heard.append, owner="test")
    assert guard.idle
    with guard.looking():
        with guard.looking():
            assert (guard.busy, guard.idle) == (True, False)
            signal.send(1)
        signal.send(2)
        signal.relay(3)
    signal.send(4)
    assert heard == [3, 4]


def test_nothing_is_signalled_in_a_forked_child():
    guard = Guard(raises)
    signal: Signal[int] = Signal(guard)
    heard: list[int] = []
    signal.connect(heard.append, owner="test")
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        signal.send(1)
        os.write(writer, f"{guard.idle} {heard}".encode())
        os._exit(0)
    os.waitpid(process, 0)
    os.close(writer)
    assert os.read(reader, 100) == b"False []"
    signal.send(2)
    assert heard == [2]


def test_what_is_deferred_runs_after_the_look_and_may_raise():
    guard = Guard(raises)
    signal: Signal[int] = Signal(guard)
    busy: list[bool] = []

    def stop() -> None:
        busy.append(guard.busy)
        raise KeyboardInterrupt

    def listen(what: int) -> None:
        guard.defer(lambda: busy.append(guard.busy))
        guard.defer(stop)
        guard.run_deferred()
        assert busy == []

    signal.connect(listen, owner="test")
    with pytest.raises(KeyboardInterrupt):
        signal.send(1)
    assert busy == [False, False]


# ------------------------------------------------------------------------------------------- what each of them tells


class Heard(list[tuple[str, Any]]):
    """The signals of one seam while torch is called, by name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.signals = Signals(raises)
        self.seam = getattr(self.signals, name)

    def __enter__(self) -> Heard:
        for name, signal in vars(self.seam).items():
            if isinstance(signal, Signal):
                signal.connect(partial(self._hear, name), owner="test")
        return self

    def __exit__(self, *error: object) -> None:
        for signal in signals_of(self.seam):
            for listener in list(signal.listeners):
                signal.disconnect(listener.handle)

    def _hear(self, name: str, what: Any) -> None:
        self.append((name, what))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self]


def weight() -> nn.Parameter:
    return nn.Parameter(torch.ones(2))


def test_backwards():
    a = weight()
    with Heard("backward") as heard:
        loss = a.square().sum()
        loss.backward(retain_graph=True)
        (gradient,) = torch.autograd.grad(loss, [a], create_graph=True)
        with pytest.raises(RuntimeError):
            torch.ones(()).backward()
        torch.func.grad(lambda x: x.square().sum())(torch.ones(2))
    assert heard.names == ["began", "ended"] * 3
    first, second, third = (call for name, call in heard if name == "ended")
    assert (first.kind, first.retain_graph, first.create_graph, len(first.inputs)) == ("backward", True, False, 0)
    assert (second.kind, second.retain_graph, second.create_graph, len(second.inputs)) == ("grad", True, True, 1)
    assert (first.result, first.error, second.result[0] is gradient) == ((), None, True)
    assert first.roots[0] is loss
    assert isinstance(third.error, RuntimeError)
    assert all(began is ended for (_, began), (_, ended) in zip(heard[::2], heard[1::2], strict=True))


def test_a_backward_inside_a_backward_belongs_to_it():
    a, inner = weight(), weight()
    hidden = a * 2

    def differentiate(gradient: torch.Tensor) -> None:
        with torch.enable_grad():
            inner.sum().backward()

    hidden.register_hook(differentiate)
    with Heard("backward") as heard:
        hidden.sum().backward()
    assert heard.names == ["began", "nested", "ended"]
    assert inner.grad is not None


def test_operations():
    a = weight()
    with Heard("operations") as heard:
        doubled = a * 2
        assert a.dim() == 1
        with pytest.raises(RuntimeError), torch.no_grad():
            torch.mm(a, a)
        number = doubled.sum().item()
        heard.signals.guard.muted = 1
        torch.ones(2)
        heard.signals.guard.muted = 0
        array = torch.from_numpy(numpy.ones(2))
        wrapped = torch.autograd.Variable(a)
        assert not torch.overrides.has_torch_function((a, array))
        torch.func.vmap(lambda x: x * 2)(a)
        assert heard.signals.operations.in_place
        with torch._C.DisableTorchFunction():
            torch.ones(2)
    assert heard.signals.operations.in_place, "there is none that could be out of place"
    told = [(name, each.name, each.kind.name) for name, each in heard]
    assert told[:2] == [("began", "mul", "OPERATION"), ("ended", "mul", "OPERATION")]
    assert ("failed", "mm", "OPERATION") in told
    assert ("ended", "item", "ESCAPE") in told
    assert not [name for _, name, _ in told if name in ("dim", "ones")]
    results = {each.name: each.result for name, each in heard if name == "ended"}
    assert results["mul"] is doubled
    assert results["item"] == number
    assert results["from_numpy"] is array
    assert results["Variable"] is wrapped
    (failed,) = [each for name, each in heard if name == "failed"]
    assert failed.error is not None
    assert not failed.grad_enabled
    assert heard[0][1].grad_enabled
    assert heard[0][1].args[0] is a


def test_operations_on_lists_of_tensors_are_told_of_one_by_one() -> None:
    a, b = torch.ones(2), torch.ones(3)
    found = [a._version, b._version]
    with Heard("operations") as heard:
        torch._foreach_mul_([a, b], [2.0, 3.0])
        sums = torch._foreach_add([a, b], 1.0)
        with pytest.raises(RuntimeError):
            torch._foreach_add_([a, b], [b, a])
    ended = [each for name, each in heard if name == "ended"]
    assert [(each.name, each.args[1]) for each in ended] == [("mul_", 2.0), ("mul_", 3.0), ("add", 1.0), ("add", 1.0)]
    assert [id(each.result) for each in ended] == [id(a), id(b), *map(id, sums)]
    assert [each.found for each in ended[:2]] == found
    assert [name for name, each in heard if each.error is not None] == ["failed"]


def test_operations_are_looked_at_without_gradients_and_unseen_by_the_program() -> None:
    looks: list[bool] = []
    deferred: list[bool] = []

    def look(each: Any) -> None:
        looks.append(torch.is_grad_enabled())
        each.args[0].exp()
        guard.defer(lambda: deferred.append(torch.is_grad_enabled()))

    a = weight()
    with Heard("operations") as heard, Seeing() as mode:
        guard = heard.signals.guard
        heard.signals.operations.ended.connect(look, owner="test")
        doubled = a.mul(2)
        with torch.no_grad():
            a.mul(3)
    assert (looks, mode.seen) == ([False, False], ["mul", "mul"])
    assert deferred == [True, False], "what is deferred runs as if the program had done it"
    assert doubled.requires_grad


def test_a_mode_whose_rest_ends_within_a_backward_is_in_its_place() -> None:
    """A step in a hook of the backward may end the rest that could not begin before."""
    a, found = weight(), []

    def looked_at_again(parameter: torch.Tensor) -> None:
        operations.resume("test")
        found.append(operations.in_place)

    with Heard("operations") as heard:
        operations = heard.signals.operations
        a.register_post_accumulate_grad_hook(looked_at_again)
        loss = (a * 2).sum()
        operations.reasons_to_rest.add("test")
        loss.backward()
        heard.clear()
        a.detach().neg()
    assert found == [True]
    assert heard.names == ["began", "ended"] * 2


def test_a_function_mode_of_the_programs_own_overrides_everything() -> None:
    class Mine(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    with Heard("operations"), Mine():
        assert torch.overrides.has_torch_function((torch.ones(1),))


def test_operations_of_a_subclass_are_looked_at_without_its_overrides():
    seen: list[str] = []

    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    mine = torch.ones(2).as_subclass(Mine)
    with Heard("operations") as heard:
        heard.signals.operations.ended.connect(lambda each: each.result + 1, owner="test")
        mine * 2
        assert torch.overrides.has_torch_function((mine,))
    assert "add" not in seen
    assert heard.names[:2] == ["began", "ended"]


def test_operations_inside_a_checkpoint_that_a_backward_runs_again():
    a, names = weight(), []
    with Heard("checkpoints") as heard:
        heard.signals.checkpoints.began.connect(lambda call: setattr(call, "follow", True), owner="test")
        heard.signals.operations.ended.connect(lambda each: names.append(each.name), owner="test")
        out = torch.utils.checkpoint.checkpoint(lambda x: x.sin().exp(), a, use_reentrant=False)
        heard.signals.operations.ended.disconnect(heard.signals.operations.ended.listeners[0].handle)
        assert heard.names == ["began", "pass_began", "pass_ended", "ended"]
        again: list[str] = []
        heard.signals.operations.ended.connect(lambda each: again.append(each.name), owner="test")
        out.sum().backward()
        assert heard.names[4:] == ["pass_began", "pass_ended"]
        assert (names.count("sin"), again.count("sin")) == (1, 1)
        heard.signals.operations.ended.disconnect(heard.signals.operations.ended.listeners[0].handle)
        call = heard[0][1]
        assert (call.reentrant, call.grad_enabled, call.args) == (False, True, ())


@pytest.mark.parametrize(("options", "reentrant"), [({"use_reentrant": True}, True), ({"use_reentrant": False}, False)])
def test_checkpoints(options, reentrant):
    a, args = weight(), []
    with Heard("checkpoints") as heard:
        heard.signals.checkpoints.began.connect(lambda call: args.append(call.args), owner="test")
        with torch.no_grad():
            torch.utils.checkpoint.checkpoint(torch.exp, a, **options)
    assert heard.names == ["began", "ended"], "nobody asked for the passes"
    assert (heard[0][1].function, heard[0][1].reentrant, heard[0][1].grad_enabled) == (torch.exp, reentrant, False)
    assert args == [(a,)]


def test_a_checkpoint_hands_on_its_result_and_its_place_among_decorators() -> None:
    a = weight()
    with Heard("checkpoints"):
        out = torch.utils.checkpoint.checkpoint(torch.exp, a, use_reentrant=False)
        assert torch.utils.checkpoint.checkpoint.__name__ == "checkpoint"
    assert torch.equal(out, a.exp())


def test_clipping():
    a = weight()
    a.grad = torch.ones(2)
    with Heard("clipping") as heard:
        norm = nn.utils.clip_grad_norm_((each for each in [a]), 1.0)
        nn.utils.clip_grad.clip_grad_value_(a, clip_value=0.5)
        with pytest.raises(TypeError):
            nn.utils.clip_grad_value_([a])  # type: ignore[call-arg]
    outer = [(name, call) for name, call in heard if call.name != "clip_grads_with_norm_"]
    assert [name for name, _ in outer] == ["began", "ended"] * 3
    first, second, third = (call for name, call in outer if name == "ended")
    assert (first.name, first.args, first.result is norm, first.raised) == ("clip_grad_norm_", (1.0,), True, False)
    assert (second.name, second.kwargs, second.raised) == ("clip_grad_value_", {"clip_value": 0.5}, False)
    assert third.raised
    assert [len(call.tensors) for call in (first, second, third)] == [1, 1, 1]


def test_an_empty_generator_is_handed_on_as_one():
    alone = float(nn.utils.clip_grad_norm_((each for each in list[torch.Tensor]()), 1.0))
    with Heard("clipping"):
        assert float(nn.utils.clip_grad_norm_((each for each in list[torch.Tensor]()), 1.0)) == alone


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        if x.numel() == 1:
            raise ValueError("one")
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


def test_custom_functions():
    a = weight()
    with Heard("custom_functions") as heard:
        out = Doubled.apply(a)
        with pytest.raises(ValueError, match="one"):
            Doubled.apply(torch.ones(1))
    assert heard.names == ["began", "ended", "began"]
    assert (heard[0][1].function, heard[0][1].args, heard[1][1].result is out) == (Doubled, (a,), True)


class Tripled(torch.autograd.Function):
    """May be called under transforms of functions."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 3


def test_custom_functions_inside_a_look_are_not_signalled() -> None:
    with Heard("custom_functions") as heard, heard.signals.guard.looking():
        result = Tripled.apply(torch.ones(2))  # type: ignore[no-untyped-call]
    assert (heard, result.tolist()) == ([], [3, 3])


def test_of_a_custom_function_under_a_transform_only_what_torch_makes_of_it_is_signalled() -> None:
    with Heard("custom_functions") as heard:
        result = torch.func.vmap(Tripled.apply)(torch.ones(2))
    assert Tripled not in [call.function for _, call in heard]
    assert result.tolist() == [3, 3]


def test_gradients_that_transforms_take():
    a, b, stacked = torch.ones(2), torch.ones(3), torch.ones(4, 2)

    def loss(p: dict[str, torch.Tensor], scale: float = 1.0) -> torch.Tensor:
        return (p["a"].sum() * p["b"].sum()) * scale

    with Heard("transforms") as heard:
        gradients, value = torch.func.grad_and_value(loss)({"a": a, "b": b}, 2.0)
        torch.func.grad(lambda x, y: (loss({"a": x, "b": y}), y), argnums=(1, -2), has_aux=True)(a, b)
        torch.func.vmap(lambda x: torch.func.grad(lambda p: (p * x).sum())(a))(stacked)
        torch.func.vmap(torch.func.grad(lambda p: p.square().sum()))(stacked)
        torch.func.vmap(torch.func.grad(lambda p: p.square().sum()), in_dims=1)(torch.ones(2, 4))
        _, pull = torch.func.vjp(lambda p: p * 2, a)
        pull(torch.ones(2))
        torch.func.vmap(torch.square)(stacked)
        with pytest.raises(RuntimeError, match="scalar"):
            torch.func.grad(torch.square)(a)
    began = [call.name for signal, call in heard if signal == "began"]
    assert began == ["grad", "grad", "vmap", "vmap", "vmap", "vjp", "vmap", "grad"]
    calls = [call for signal, call in heard if signal == "ended"]
    assert [call.name for call in calls] == ["grad", "grad", "vmap", "vmap", "vmap", "vjp"]
    held = [*calls[:4], calls[5]]  # the other one got a tensor of which nothing is left
    for call, expected in zip(held, [(a, b), (b, a), (a,), (stacked,), (a,)], strict=True):
        assert [id(tensor) for tensor in call.differentiated] == [id(tensor) for tensor in expected]
    assert [call.value if call.value is None else float(call.value) for call in calls[:3]] == [12.0, 6.0, None]
    assert calls[0].value is value
    assert calls[0].result[0] is gradients


def test_what_transforms_inside_others_differentiate_is_told_as_the_program_holds_it():
    a, b = torch.ones(2), torch.ones(3)
    with Heard("transforms") as heard:
        torch.func.grad(lambda x, y: x.sum() * y.sum(), argnums=-1)(a, b)
        torch.func.vmap(torch.func.grad(lambda p: p.square().sum()))(a.unsqueeze(1) * 2)
        torch.func.vmap(lambda x: torch.func.grad(lambda p: p.square().sum())(x * 2))(torch.ones(4, 2))
        torch.func.vmap(lambda x: torch.func.grad(lambda p: (p * x).sum())(b * 2))(torch.ones(4, 1))
    ended = [call for signal, call in heard if signal == "ended"]
    told = [[tuple(tensor.shape) for tensor in call.differentiated] for call in ended]
    assert told[:2] == [[(3,)], [(2, 1)]]
    assert all(not torch._C._functorch.is_functorch_wrapped_tensor(t) for call in ended for t in call.differentiated)
    assert len(told) == 3  # the third got what was computed inside


def test_decorators_hand_on_what_they_decorate() -> None:
    with Heard("grad_modes"):
        assert [manager(lambda: 5)() for manager in (torch.no_grad(), torch.set_grad_enabled(True))] == [5, 5]


def test_grad_modes():
    with Heard("grad_modes") as heard:
        with torch.no_grad():
            pass
        with torch.enable_grad():
            pass
        with torch.inference_mode():
            pass
        torch.set_grad_enabled(False)
        torch.set_grad_enabled(True)(lambda: None)
        torch.set_grad_enabled(True)
    assert [each.manager for name, each in heard if name == "applied"] != []
    switched = [(name, each) for name, each in heard if name != "applied"]
    own = [(name, each) for name, each in switched if each.frame.f_code.co_filename == __file__]
    told = [(name, type(each.manager).__name__, each.enabled) for name, each in own]
    assert told == [
        ("entered", "no_grad", False),
        ("exited", "no_grad", True),
        ("entered", "enable_grad", True),
        ("exited", "enable_grad", True),
        ("entered", "inference_mode", False),
        ("exited", "inference_mode", True),
        ("called", "set_grad_enabled", False),
        ("called", "set_grad_enabled", True),
        ("decorated", "set_grad_enabled", False),
        ("called", "set_grad_enabled", True),
    ]
    assert {each.frame.f_code.co_name for _, each in own} == {"test_grad_modes"}


def test_gradient_reads():
    weights, descriptor = torch.ones(2, requires_grad=True), torch.Tensor.grad
    with Heard("gradient_reads") as heard:
        assert weights.grad is None
        weights.grad = torch.ones(2)
        assert getattr(weights, "grad", None) is not None
        nn.utils.clip_grad_norm_([weights], 1.0)
        with torch.no_grad():
            assert nn.Parameter(torch.ones(1)).grad is None
        assert gradient_of(weights) is not None, "a read of ours"
        del weights.grad
        assert torch.Tensor.grad is descriptor
        told = [(name, each is weights) for name, each in heard]
    assert told == [("read", True), ("read", True), ("read", False)]
    assert weights.grad is None
    assert "grad" not in vars(torch.Tensor)


def test_value_reads():
    number = torch.tensor(2.5)
    with Heard("value_reads") as heard:
        told = [number.item(), float(number), f"{number:.1f}", int(number), number.tolist(), number.detach().cpu()]
        assert repr(number) == "tensor(2.5000)"
        assert number.sum().dim() == 0, "no read"
        assert extent(number).dim() == 0, "a read of ours"
        number.data = torch.tensor(3.5)
        assert torch.Tensor.item is torch._C.TensorBase.item
    assert [each is number for _, each in heard] == [True] * 6 + [False, True]
    assert told == [2.5, 2.5, "2.5", 2, 2.5, torch.tensor(2.5)]
    assert float(number) == 3.5


def test_what_waits_for_an_accelerator(monkeypatch):
    number, flags = torch.tensor(2.5), torch.tensor([0, 1])
    originals = {name: getattr(torch.Tensor, name) for name in ("nonzero", "__bool__", "__index__")}
    with Heard("value_reads") as heard:
        assert type(number.item) is type(torch._C.TensorBase.item.__get__(number)), (
            "on the CPU nothing is put around it"
        )
        monkeypatch.setattr(reads, "_is_remote", lambda tensor: True)
        told: list[object] = [bool(number), [1, 2][flags[1]], flags.nonzero().tolist(), f"{number:.1f}", number.item()]
        with pytest.raises(RuntimeError):
            flags.item()
    waits = [(name, each.name, each.raised) for name, each in heard if isinstance(each, reads.Wait)]
    names = ["__bool__", "__index__", "nonzero", "tolist", "__format__", "item", "item"]
    assert [name for what, name, _ in waits if what == "began"] == names
    assert [(name, raised) for what, name, raised in waits if what == "ended"] == [
        *((name, False) for name in names[:-1]),
        ("item", True),
    ]
    assert told == [True, 2, [[1]], "2.5", 2.5]
    assert {name: getattr(torch.Tensor, name) for name in originals} == originals


def test_questions_whether_a_value_is_finite_are_reads():
    number = torch.tensor(2.5)
    originals = [getattr(torch, name) for name in ("isfinite", "isinf", "isnan")]
    with Heard("value_reads") as heard:
        told = [number.isnan(), number.isinf(), number.isfinite()]
        told += [torch.isnan(number), torch.isinf(number), torch.isfinite(number), torch.isnan(input=number)]
        with pytest.raises(TypeError):
            torch.isnan()
        with pytest.raises(TypeError):
            torch.isfinite(2.5)
        assert torch.isnan.__name__ == "isnan"
        torch.testing.assert_close(number, number)
    assert [each is number for _, each in heard] == [True] * 6
    assert [bool(each) for each in told] == [False, False, True, False, False, True, False]
    assert [getattr(torch, name) for name in ("isfinite", "isinf", "isnan")] == originals


def test_what_is_put_into_words_is_shown():
    weights = weight()
    with Heard("operations") as heard:
        assert f"{weights.sum():.1f}" == "2.0"
        print(weights)
    assert [(name, type(what)) for name, what in heard if name == "shown"] == [
        ("shown", torch.Tensor),
        ("shown", nn.Parameter),
    ]


def test_hooks():
    model, tensor = nn.Linear(1, 1), torch.ones(1, requires_grad=True)
    with Heard("hooks") as heard:
        handle = model.register_forward_hook(lambda *_: None)
        tensor.register_hook(lambda gradient: gradient)
    assert [(name, what is each) for (name, what), each in zip(heard, (model, tensor), strict=True)] == [
        ("on_module", True),
        ("on_tensor", True),
    ]
    handle.remove()
    assert not model._forward_hooks


def test_registration():
    model, layer, weight = nn.Module(), nn.Linear(1, 1), nn.Parameter(torch.ones(1))
    with Heard("registration") as heard:
        model.weight = weight
        model.layer = layer
        model.bias = None  # neither a parameter nor a module
    told = [(name, each.module is model, each.name, each.given) for name, each in heard]
    assert told == [
        ("parameter", True, "weight", weight),
        ("submodule", True, "layer", layer),
    ]
    assert (model.layer, model.weight) == (layer, weight)


def test_the_last_batch_alone_may_be_asked_for():
    data = torch.utils.data.DataLoader(torch.arange(5.0).reshape(5, 1), batch_size=2)  # type: ignore[arg-type]
    with Heard("loaders") as heard:
        heard.signals.loaders.asked.connect(lambda call: setattr(call, "only_the_last", True), owner="test", order=1)
        assert [batch.tolist() for batch in data] == [[[4.0]]]


def test_loaders():
    data = torch.utils.data.DataLoader(torch.ones(3, 1))  # type: ignore[arg-type]
    with Heard("loaders") as heard:
        assert len(list(data)) == 3
        lengths = heard.names.count("length_asked")
        names = [name for name in heard.names if name not in ("length_asked", "indexed")]
        assert names == ["pass_asked", "began", *["asked", "drawn"] * 3, "asked", "exhausted"]
        assert heard.names.count("indexed") == 3
        assert heard[0][1].loader is data
        heard.signals.loaders.asked.connect(lambda call: setattr(call, "stop", True), owner="test", order=1)
        heard.signals.loaders.length_asked.connect(lambda asked: setattr(asked, "length", 1), owner="test")
        assert list(data) == []
        assert len(data) == 1
        other = torch.utils.data.DataLoader(torch.ones(3, 1))  # type: ignore[arg-type]
        assert [each for name, each in heard if name == "built"] == [other]
        assert lengths < heard.names.count("length_asked")
    assert len(data) == 3


def test_fetches():
    data = torch.utils.data.DataLoader(torch.arange(4), batch_size=2)  # type: ignore[arg-type]
    with Heard("fetches") as heard:
        batches = list(data)
    assert heard.names == ["began", "ended"] * 2
    assert [call.index for name, call in heard if name == "ended"] == [[0, 1], [2, 3]]
    assert all(call.batch is batch for (_, call), batch in zip(heard[1::2], batches, strict=True))
    assert heard[0][1].dataset is data.dataset


def test_moves() -> None:
    """To a device that is always there."""
    here, there = torch.ones(2), torch.ones(2, device="meta")
    with Heard("moves") as heard:
        here.to(torch.float64)
        here.to("cpu", non_blocking=True)
        here.copy_(torch.ones(2))
        here.to(torch.ones(1, dtype=torch.float64))
        assert torch.Tensor.to is torch._C.TensorBase.to
        assert heard.names == []
        assert (
            here.to("meta").device == here.to(there).device == here.to(device="meta", copy=True).device == there.device
        )
        there.copy_(here)
        with pytest.raises(NotImplementedError):
            there.to("cpu")
        with pytest.raises(NotImplementedError):
            there.to("cpu", non_blocking=True)
        with pytest.raises(RuntimeError):
            here.to("nowhere")
        nn.Linear(2, 1).to("meta")
        with heard.signals.guard.looking():
            here.to("meta")
    assert heard.names == ["began", "ended"] * 6
    ended = [call for name, call in heard if name == "ended"]
    assert [call.tensor is there for call in ended] == [False, False, False, True, True, True]
    assert [call.waits for call in ended] == [False] * 4 + [True, False]
    assert heard[-1][1].raised


def test_batches_are_handed_on() -> None:
    data = torch.utils.data.DataLoader(torch.arange(4), batch_size=2)  # type: ignore[arg-type]
    with Heard("loaders"):
        assert [batch.tolist() for batch in data] == [[0, 1], [2, 3]]


def test_module_calls_are_looked_at_only_where_a_listener_needs_it() -> None:
    with Heard("modules") as heard:
        busy: list[bool] = []
        for signal in (heard.signals.modules.began, heard.signals.modules.ended):
            signal.connect(lambda call: busy.append(heard.signals.guard.busy), owner="test")
        nn.Identity()(1)
    assert busy == [False, False]


def test_module_calls():
    class Echo(nn.Module):
        def forward(self, x: Any, fail: bool = False) -> Any:
            return {}[x] if fail else x

    echo = Echo()
    with Heard("modules") as heard:
        with torch.inference_mode():
            assert echo(1) == 1
        with pytest.raises(KeyError):
            echo(2, fail=True)
        with heard.signals.guard.looking():
            assert echo(3) == 3
    assert heard.names == ["began", "entered", "left", "ended"] * 2
    first, second = heard[3][1], heard[7][1]
    assert (first.module, first.args, first.kwargs, first.output, first.raised) == (echo, (1,), {}, 1, False)
    assert (first.grad_enabled, first.inference) == (False, True)
    assert (second.kwargs, second.output, second.raised) == ({"fail": True}, None, True)
    assert (second.grad_enabled, second.inference) == (True, False)


def test_calls_inside_one_that_is_alone_are_entered_and_left() -> None:
    inner = nn.Identity()
    with Heard("modules") as heard:
        heard.signals.modules.began.connect(lambda call: setattr(call, "alone", True), owner="test")
        nn.Sequential(inner)(1)
    assert heard.names == ["began", "entered", "entered", "left", "left", "ended"]
    assert heard[2][1].module is heard[3][1].module is inner


def test_train_modes():
    model = nn.Sequential(nn.Dropout())
    with Heard("train_modes") as heard:
        assert model.eval() is model
        model.train()
        with pytest.raises(ValueError, match="boolean"):
            model.train("yes")  # type: ignore[arg-type]
    told = [(name, call.module is model, call.training) for name, call in heard]
    assert told[:4] == [
        ("began", True, False),
        ("began", False, False),
        ("ended", False, False),
        ("ended", True, False),
    ]
    assert [call.raised for name, call in heard if name == "ended"] == [False] * 4 + [True]


def test_optimizers():
    a, b = weight(), weight()
    with Heard("optimizers") as heard:
        sgd = torch.optim.SGD([a], lr=0.1)
        sgd.add_param_group({"params": [b]})
    assert heard.names == ["group_added", "built", "group_added"]
    assert (heard[1][1], heard[2][1].optimizer) == (sgd, sgd)
    assert heard[2][1].group["params"] == [b]
    assert [group["params"] for group in sgd.param_groups] == [[a], [b]]


@pytest.mark.parametrize("by_name", [False, True])
def test_steps_and_their_closures(by_name):
    a, calls = weight(), []
    sgd = torch.optim.SGD([a], lr=0.1)
    with Heard("steps") as heard:
        sgd.step()
        closure: Any = lambda: calls.append(1) or torch.ones(())  # noqa: E731
        loss = sgd.step(closure=closure) if by_name else sgd.step(closure)
        with pytest.raises(ZeroDivisionError):
            sgd.step(lambda: 1 / 0)
    assert loss == 1.0
    assert calls == [1]
    assert heard.names == ["began", "ended", "began", "closure_began", "closure_ended", "ended", "began",
                           "closure_began", "closure_ended"]  # fmt: skip
    assert [call.closure for _, call in heard] == [False] * 2 + [True] * 7
    assert all(call.optimizer is sgd for _, call in heard)


def test_what_a_step_is_given_after_its_closure_is_handed_on() -> None:
    class Scaled(torch.optim.SGD):
        def step(self, closure: Any = None, scale: float = 1.0, shift: float = 0.0) -> Any:  # type: ignore[override]
            return closure() * scale + shift

    with Heard("steps"):
        assert Scaled([weight()], lr=0.1).step(lambda: 2, 3, 4) == 10


def test_clearing():
    model = nn.Linear(1, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    model.weight.grad = torch.ones(1, 1)
    with Heard("clearing") as heard:
        model.zero_grad(set_to_none=False)
        assert model.weight.grad.tolist() == [[0.0]]
        sgd.zero_grad()
        assert model.weight.grad is None
    assert [(name, call.cleared, call.how) for name, call in heard] == [
        ("began", model, "module.zero_grad"),
        ("ended", model, "module.zero_grad"),
        ("began", sgd, "optimizer.zero_grad"),
        ("ended", sgd, "optimizer.zero_grad"),
    ]


def test_scalers():
    a = weight()
    a.grad = torch.ones(2)
    sgd = torch.optim.SGD([a], lr=0.1)
    with Heard("scalers") as heard:
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        assert scaler.scale(torch.ones(())) == 4.0
        scaler.unscale_(optimizer=sgd)
        with pytest.raises(RuntimeError):
            scaler.unscale_(sgd)
        scaler.update()
    told = [(name, call.name, call.argument is sgd, call.raised) for name, call in heard]
    assert told == [
        ("began", "scale", False, False),
        ("ended", "scale", False, False),
        ("began", "unscale_", True, False),
        ("ended", "unscale_", True, False),
        ("began", "unscale_", True, True),
        ("ended", "unscale_", True, True),
        ("began", "update", False, False),
        ("ended", "update", False, False),
    ]


def test_the_optimizer_of_a_scaler_comes_first() -> None:
    a = weight()
    a.grad = torch.ones(2)
    sgd = torch.optim.SGD([a], lr=0.1)
    with Heard("scalers") as heard:
        torch.amp.GradScaler("cpu", enabled=False).step(sgd, None)
    assert [call.argument is sgd for _, call in heard] == [True, True]


def test_schedulers():
    from torch.optim import lr_scheduler

    sgd = torch.optim.SGD([weight()], lr=0.1)
    with Heard("schedulers") as heard:
        schedule = lr_scheduler.StepLR(sgd, 1)
        constructing = [(name, call.constructing) for name, call in heard]
        schedule.step()
        plateau = lr_scheduler.ReduceLROnPlateau(sgd)
        with pytest.raises(TypeError):
            plateau.step()  # type: ignore[call-arg]
    assert constructing[0] == ("began", True)
    assert constructing[-1] == ("ended", True)
    mine = [(name, call.constructing, call.raised) for name, call in heard if call.scheduler is schedule][-2:]
    assert mine == [("began", False, False), ("ended", False, False)]
    assert [call.raised for name, call in heard if name == "ended" and call.scheduler is plateau][-1]


def test_wrapped_steps():
    def step(self):
        return "stepped"

    def arriving(module):
        return type("AcceleratedOptimizer", (torch.optim.Optimizer,), {"__module__": module, "step": step})

    before = arriving("accelerate.optimizer")
    with Heard("wrapped_steps") as heard:
        later, other = arriving("accelerate.optimizer"), arriving("mine")
        assert [kind.step(kind.__new__(kind)) for kind in (before, later, other)] == ["stepped"] * 3
    assert heard.names == ["asked", "asked"]
    assert [vars(kind)["step"] for kind in (before, later, other)] == [step] * 3
    assert "__init_subclass__" not in vars(torch.optim.Optimizer)


class Stopping:
    """As that of a framework."""

    def __init__(self, patience=1):
        self.monitor, self.mode, self.patience, self.wait_count = "score", "max", patience, 0

    def _evaluate_stopping_criteria(self, current):
        self.wait_count += 1
        return self.wait_count > 1, None


def test_choosers_of_a_framework_that_is_there(monkeypatch):
    module = ModuleType("lightning.pytorch.callbacks.early_stopping")
    module.EarlyStopping = Stopping
    monkeypatch.setitem(sys.modules, module.__name__, module)
    before = dict(vars(Stopping))
    with Heard("choosers") as heard:
        stopping = Stopping(2)
        assert [stopping._evaluate_stopping_criteria(current) for current in (0.5, 0.25)] == [
            (False, None),
            (True, None),
        ]
    assert heard.names == ["made", "chose", "chose"]
    choices = [what for name, what in heard if name == "chose"]
    assert [(each.metric, each.refused) for each in choices] == [(0.5, False), (0.25, True)]
    assert (choices[0].chooser, choices[0].monitor, choices[0].mode) == (stopping, "score", "max")
    assert dict(vars(Stopping)) == before


def test_choosers_wait_for_a_framework_and_leave_it_alone_afterwards(monkeypatch, tmp_path):
    source = inspect.getsource(Stopping)
    for name in ("comes", "stays_away"):
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def points(seam):
        return {name: [_EntryPoint("Stopping", "__init__", seam._making)] for name in ("comes", "stays_away")}

    monkeypatch.setattr(Choosers, "_entry_points", points)
    finders = list(sys.meta_path)
    with Heard("choosers") as heard:
        later = importlib.import_module("comes").Stopping
        later()
    importlib.import_module("stays_away").Stopping()
    assert heard.names == ["made"]
    assert not hasattr(later.__init__, "__wrapped__")
    assert sys.meta_path == finders


def test_a_score_is_heard_where_it_is_made():
    class Handler:
        def __init__(self):
            self.score_function, self.patience, self.counter = lambda engine: 3 * engine, 5, 0

        def __call__(self, engine):
            return self.score_function(engine)

    with Heard("choosers") as heard:
        handler = Handler()
        score = handler.score_function
        assert heard.seam._scoring(Handler.__call__)(handler, 2) == 6
    ((name, choice),) = heard
    assert (name, choice.metric, choice.mode, choice.argument) == ("chose", 6, "max", "score_function")
    assert handler.score_function is score


def test_distributions():
    from torch.distributions import Independent, Normal, TransformedDistribution
    from torch.distributions.transforms import TanhTransform

    base = Independent(Normal(weight().expand(3, 2), 1.0), 1)
    squashed = TransformedDistribution(base, [TanhTransform()])
    with Heard("distributions") as heard:
        drawn = squashed.sample()
        with torch.no_grad():
            base.base_dist.sample((4,))
        result = squashed.log_prob(value=drawn)
        torch.func.vmap(lambda x: Normal(x, 1.0, validate_args=False).log_prob(x))(torch.ones(2))
    assert heard.names == ["drawn", "drawn", "evaluated"]
    first, second, third = (what for _, what in heard)
    assert (first.distribution is squashed, first.grad_enabled, first.result is drawn) == (True, True, True)
    assert (second.distribution is base.base_dist, second.grad_enabled, second.result.shape[0]) == (True, False, 4)
    assert (third.distribution is squashed, third.value is drawn, third.result is result) == (True, True, True)


def test_every_distribution_of_torch_tells_what_is_drawn_from_it() -> None:
    from torch.distributions import OneHotCategoricalStraightThrough, RelaxedOneHotCategorical

    with Heard("distributions") as heard:
        for kind in (OneHotCategoricalStraightThrough, partial(RelaxedOneHotCategorical, torch.ones(()))):
            kind(logits=weight()).sample()
    assert heard.names == ["drawn"] * 2


def test_a_distribution_is_heard_after_calls_of_it_that_raised() -> None:
    from torch.distributions import Normal

    normal = Normal(weight(), 1.0)
    with Heard("distributions") as heard:
        with pytest.raises(TypeError):
            normal.sample("ten")
        normal.sample()
        with pytest.raises(ValueError, match="value argument"):
            normal.log_prob("nothing")  # type: ignore[arg-type]
        normal.log_prob(torch.ones(2))
    assert heard.names == ["drawn", "evaluated"]


def test_states():
    import pickle

    model = nn.Sequential(nn.Linear(1, 1))
    with Heard("states") as heard:
        state = model.state_dict()
        model.state_dict(keep_vars=True)
        assert model.load_state_dict(state).missing_keys == []
        pickle.dumps(state["0.weight"])
    names = heard.names
    assert names[:4] == ["taking", "taking", "taken", "taken"]
    assert names[-3:] == ["loading", "loaded", "pickling"]
    assert (heard[3][1].module, heard[3][1].state is state, heard[3][1].keep_vars) == (model, True, False)
    assert heard[4][1].keep_vars
    assert (heard[-2][1].module, heard[-2][1].state) == (model, state)
    assert (heard[-2][1].missing, heard[-2][1].unexpected) == ([], [])
    assert heard[-1][1] is state["0.weight"]


def test_seeds():
    with Heard("seeds") as heard:
        torch.manual_seed(3)
        random.seed(a=4)
        numpy.random.seed(None)
    assert [(call.generator, call.seed) for _, call in heard] == [("torch", 3), ("Python", 4), ("NumPy", None)]


def test_initialisers():
    with Heard("initialisers") as heard:
        layer = nn.Linear(2, 3)
        nn.init.xavier_normal_(tensor=layer.weight)
        nn.init.zeros_(layer.bias)
        layer.reset_parameters()
    drawn = [tensor for _, tensor in heard]
    assert {id(tensor) for tensor in drawn} == {id(layer.weight), id(layer.bias)}
    assert sum(tensor is layer.weight for tensor in drawn) == 3


# --------------------------------------------------------------------------------------------------- the clock of looks


def test_the_clock_stands_still_while_a_signal_is_heard_but_for_what_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("autograd_doctor.signals.guard._now", lambda: now[0])

    def passes(seconds: float) -> None:
        now[0] += seconds

    clock = LookClock()
    passes(1.0)
    assert clock.seconds() == 1.0
    assert clock.begin()
    passes(5.0)
    assert not clock.begin()
    assert clock.seconds() == 1.0
    clock.counting(lambda: passes(2.0))
    assert clock.seconds() == 3.0
    passes(1.0)
    clock.end()
    assert clock.seconds() == 3.0
    clock.counting(lambda: passes(4.0))
    assert clock.seconds() == 7.0


# ------------------------------------------------------------------------------------------------------------ captures


def test_what_a_graph_of_an_accelerator_captures_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    captured: list[str] = []
    monkeypatch.setattr(torch.cuda.CUDAGraph, "capture_begin", lambda graph, *args: captured.append("begin"))
    monkeypatch.setattr(torch.cuda.CUDAGraph, "capture_end", lambda graph: captured.append("end"))
    model = torch.nn.Linear(2, 2)
    signals, began, called = Signals(raises), list[object](), list[object]()
    signals.captures.began.connect(began.append, owner="test")
    signals.modules.began.connect(called.append, owner="test")
    torch.cuda.CUDAGraph.capture_begin(object())  # type: ignore[arg-type]
    model(torch.ones(1, 2))
    assert called == []
    torch.cuda.CUDAGraph.capture_end(object())  # type: ignore[arg-type]
    model(torch.ones(1, 2))
    signals.captures.began.disconnect(began.append)
    signals.modules.began.disconnect(called.append)
    assert (len(began), len(called), captured) == (1, 1, ["begin", "end"])
