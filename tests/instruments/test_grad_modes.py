"""What switched gradients off, at every moment."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType
from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.events.facts import GradSwitch
from autograd_doctor.instruments.connectivity import grad_modes as module
from autograd_doctor.instruments.connectivity.grad_modes import GradModes
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.grad_modes import GradSwitched
from tests.inventing import Invented, inventing
from tests.watching import watching


@pytest.fixture(autouse=True)
def gradients_on() -> Any:
    yield
    torch._C._set_grad_enabled(True)


def manager(kind: str = "no_grad") -> Any:
    """One that switches nothing."""
    with torch.enable_grad():
        return getattr(torch, kind)() if kind != "set_grad_enabled" else torch.set_grad_enabled(True)


def switch(run: Invented, signal: str, which: Any, enabled: bool = False, frame: FrameType | None = None) -> None:
    getattr(run.signals.grad_modes, signal).send(GradSwitched(which, enabled, frame or sys._getframe(1)))


@pytest.mark.parametrize("kind", ["no_grad", "inference_mode"])
def test_a_block(kind):
    with inventing(GradModes) as run:
        modes, block = run.find(GradModes), manager(kind)
        changed = run.heard(modes.changed)
        switch(run, "entered", block)
        assert modes.switch is not None
        assert (modes.switch.kind, modes.switch.form) == (kind, "block")
        assert modes.switch.location is not None
        assert changed == []
        switch(run, "exited", block, True)
        assert modes.switch is None
        assert changed == [modes]


def test_blocks_in_blocks_bring_back_what_they_found():
    with inventing(GradModes) as run:
        modes = run.find(GradModes)
        outer, inner, on = manager(), manager(), manager("enable_grad")
        switch(run, "entered", outer)
        found = modes.switch
        switch(run, "entered", inner)
        assert modes.switch not in (None, found)
        switch(run, "entered", on, True)
        assert modes.switch is None
        switch(run, "exited", on, False)
        assert modes.switch is not found
        switch(run, "exited", inner, False)
        assert modes.switch is found


def test_a_call_switches_at_once_and_its_block_restores_what_it_found():
    with inventing(GradModes) as run:
        modes, setter = run.find(GradModes), manager("set_grad_enabled")
        changed = run.heard(modes.changed)
        switch(run, "called", setter)
        assert modes.switch is not None
        assert (modes.switch.kind, modes.switch.form) == ("set_grad_enabled", "call")
        assert len(changed) == 1
        switch(run, "entered", setter)
        assert modes.switch.form == "block"
        switch(run, "exited", setter, True)
        assert modes.switch is None
        later = manager("set_grad_enabled")
        switch(run, "called", later)
        switch(run, "decorated", later, True)
        assert modes.switch is None


def test_a_setter_that_was_built_under_a_switch_brings_that_back():
    with inventing(GradModes) as run:
        modes, block, setter = run.find(GradModes), manager(), manager("set_grad_enabled")
        switch(run, "entered", block)
        found = modes.switch
        switch(run, "called", setter, True)
        switch(run, "entered", setter, True)
        switch(run, "exited", setter, False)
        assert modes.switch is found is not None


def frame_in(path: str, name: str = "enter", **local: Any) -> FrameType:
    """A frame as if it came from another file, called from here."""
    source = f"def {name}(sys, func=None):\n    return sys._getframe()"
    namespace: dict[str, Any] = {}
    exec(compile(source, path, "exec"), namespace)
    frame: FrameType = namespace[name](sys, **local)
    return frame


def test_what_a_setter_does_inside_torch_is_no_call_of_the_program():
    from torch.autograd import grad_mode

    with inventing(GradModes) as run:
        switch(run, "called", manager("set_grad_enabled"), frame=frame_in(grad_mode.__file__))
        assert run.find(GradModes).switch is None


def test_a_framework_that_switches_off_says_so_unless_it_was_off_already():
    with inventing(GradModes) as run:
        modes, inside = run.find(GradModes), frame_in(torch.__file__)
        first, second = manager(), manager()
        switch(run, "entered", first, frame=inside)
        assert modes.switch is not None
        assert (modes.switch.form, modes.switch.location is not None) == ("framework", True)
        switch(run, "exited", first, True)
        switch(run, "entered", first)
        found = modes.switch
        switch(run, "entered", second, frame=inside)
        assert modes.switch is found


@torch.no_grad()
def decorated() -> None:
    pass


def test_a_decorator_points_at_its_line():
    from torch.utils import _contextlib

    with inventing(GradModes) as run:
        modes = run.find(GradModes)
        switch(run, "entered", manager(), frame=frame_in(_contextlib.__file__, func=decorated))
        found = modes.switch
        assert found is not None
        assert (found.form, found.function, found.kind) == ("decorator", "decorated", "no_grad")
        assert found.location is not None
        assert found.location.line == decorated.__wrapped__.__code__.co_firstlineno
        switch(run, "exited", manager(), True)
        switch(run, "entered", manager(), frame=frame_in(_contextlib.__file__, func=nn.init.zeros_))
        assert modes.switch is not None
        assert modes.switch.form == "framework"


def test_each_thread_has_its_own_switch():
    with inventing(GradModes) as run:
        modes, seen = run.find(GradModes), []
        switch(run, "entered", manager())
        thread = threading.Thread(target=lambda: seen.append(modes.switch))
        thread.start()
        thread.join()
        assert seen == [None]


# ----------------------------------------------------------------------------------- the managers of torch as they are


def inside(modes: GradModes) -> GradSwitch:
    found = modes.switch
    assert found is not None
    return found


def test_a_decorator_that_was_seen_is_where_it_stands() -> None:
    with watching(GradModes) as run:
        line = sys._getframe().f_lineno + 1
        decorated = torch.no_grad()(inside)
        switch = decorated(run.find(GradModes))
        assert switch.location is not None
        assert (switch.form, switch.function, switch.location.line) == ("decorator", "inside", line)
        assert switch.location.function == "inside"


def test_what_is_no_function_may_be_decorated() -> None:
    with watching(GradModes) as run:
        switch = torch.no_grad()(partial(inside, run.find(GradModes)))()
        assert (switch.kind, switch.form) == ("no_grad", "framework")


def test_a_block_on_a_stack_of_blocks_is_where_it_is_entered() -> None:
    with watching(GradModes) as run, ExitStack() as stack:
        line = sys._getframe().f_lineno + 1
        stack.enter_context(torch.no_grad())
        switch = inside(run.find(GradModes))
        assert switch.location is not None
        assert (switch.form, switch.location.line) == ("block", line)


@pytest.mark.parametrize(
    ("block", "conditional"),
    [
        ("with manager:\n        pass", True),
        ("with make():\n        pass", False),
        ("if flag:\n        with make():\n            pass", True),
        ("with make() if flag else other():\n        pass", True),
    ],
)
def test_whether_a_choice_leads_to_a_block(block: str, conditional: bool):
    with inventing(GradModes) as run:
        modes, found = run.find(GradModes), []

        class Manager:
            def __enter__(self) -> None:
                switch(run, "entered", manager(), frame=sys._getframe(1))
                assert modes.switch is not None
                found.append(modes.switch.conditional)

            def __exit__(self, *_: object) -> None:
                pass

        names = {"manager": Manager(), "make": Manager, "other": Manager, "flag": True}
        exec(compile(f"for _ in range(2):\n    {block}", "<string>", "exec"), names)
        assert found == [conditional, conditional]


@contextmanager
def with_switch(run: Invented) -> Any:
    """A block at this very line."""
    block = manager()
    run.signals.grad_modes.entered.send(GradSwitched(block, False, sys._getframe(0)))
    yield run.find(GradModes).switch
    run.signals.grad_modes.exited.send(GradSwitched(block, True, sys._getframe(0)))


def test_in_light_steps_it_is_as_it_was_seen_to_be(monkeypatch):
    asked = iter([True, False])
    monkeypatch.setattr(module, "depends_on_a_choice", lambda: next(asked))
    with inventing(GradModes) as run:
        told = []
        for attention in (Attention.LIGHT, Attention.LIGHT, Attention.FULL):
            run.signals.guard.attend(attention)
            with with_switch(run) as switched:
                told.append(switched.conditional)
    assert told == [True, True, False]
