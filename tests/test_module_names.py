"""What the user would type for a module, in programs of a few lines."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from torch import nn

from autograd_doctor.reading.module_names import _CONTAINER_LIMIT, held_name, path_name, plain_holder, root_name


class Keeper(nn.Module):
    def __init__(self, **kept: Any) -> None:
        super().__init__()
        for name, value in kept.items():
            setattr(self, name, value)


class Runs(nn.Module):
    """Does not want to be asked for its modules."""

    def named_modules(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("something of the program ran")


def run(program: str) -> Any:
    """What a program calls `found`, in a thread that no frame of a test is below."""
    namespace = {
        "Linear": lambda: nn.Linear(1, 1), "Sequential": nn.Sequential, "Keeper": Keeper, "Runs": Runs,
        "Space": SimpleNamespace, "root_name": root_name, "path_name": path_name, "held_name": held_name,
        "plain_holder": plain_holder,
    }  # fmt: skip
    thread = Thread(target=exec, args=(program, namespace))
    thread.start()
    thread.join()
    return namespace["found"]


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("model = Linear(); found = root_name(model)", "model"),
        ("def call(self): return root_name(self)\nfound = call(Linear())", "self"),
        ("def call(self): return root_name(self)\nmodel = Linear(); found = call(model)", "model"),
        ("def call(self): return root_name(self)\nmodel = Sequential(Linear()); found = call(model[0])", "model.0"),
        ("model = Sequential(Linear()); found = root_name(model[0])", "model.0"),
        ("model = Keeper(a=Sequential(Linear())); found = root_name(model.a[0])", "model.a.0"),
        ("def call(self): return root_name(self.fc)\nfound = call(Keeper(fc=Linear()))", "self.fc"),
        ("models = [Linear(), Linear()]; found = root_name(models[1])", "models[1]"),
        ("models = (Linear(),); found = root_name(models[0])", "models[0]"),
        ("models = {'a': Linear()}; found = root_name(models['a'])", "models['a']"),
        ("models = {(1, 2): Linear()}; found = root_name(models[1, 2])", "models[…]"),
        ("found = root_name(Linear())", "Linear"),
    ],
)
def test_names_of_modules_that_are_called_by_themselves(program: str, name: str) -> None:
    assert run(program) == name


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("model = Sequential(Linear()); found = path_name(model[0])", "model.0"),
        ("model = Sequential(Linear()); found = path_name(model)", ""),
        ("other = Sequential(Linear()); found = path_name(Linear())", ""),
        ("model = Runs(); model.a = Linear(); found = path_name(model.a)", "model.a"),
        ("def call(one): return path_name(model[0])\nmodel = Sequential(Linear()); found = call(1)", "model.0"),
    ],
)
def test_paths_lead_from_a_larger_module(program: str, name: str) -> None:
    assert run(program) == name


@pytest.mark.parametrize(
    ("owner", "inside", "name"),
    [
        ("Space(layers=[1, Linear()])", "layers[1]", "self.layers[1]"),
        ("Keeper(layers=[Linear()])", "layers[0]", "self.layers[0]"),
        ("Keeper(table={'a': Linear()})", "table['a']", "self.table['a']"),
        ("Space(inner=Linear())", "inner", "self.inner"),
        ("Keeper(inner=Linear())", "inner", "self.inner"),
        ("Space(far=[[Linear()]])", "far[0][0]", "Linear"),
    ],
)
def test_modules_that_self_keeps(owner: str, inside: str, name: str) -> None:
    assert run(f"def call(self): return held_name(self.{inside})\nfound = call({owner})") == name


def test_a_module_that_self_does_not_keep_goes_by_the_variable_that_does() -> None:
    assert run("def call(self): return held_name(models[0])\nmodels = [Linear()]; found = call(Space())") == "models[0]"


@pytest.mark.parametrize(
    ("owner", "inside", "holds"),
    [
        ("Keeper(layers=[Linear()])", "layers[0]", True),
        ("Keeper(inner=Linear())", "inner", False),
        ("Keeper(inner=Linear(), layers=[])", "inner", False),
        ("Space(layers=[Linear()])", "layers[0]", False),
    ],
)
def test_only_a_module_holds_another_where_its_modules_are_not_found(owner: str, inside: str, holds: bool) -> None:
    program = f"def call(self):\n    found = plain_holder(self.{inside})\n    return found is self, found is None\n"
    assert run(f"{program}found = call({owner})") == (holds, not holds)


def test_a_module_kept_in_a_list_and_registered_too_has_no_plain_holder() -> None:
    program = "def call(self): return plain_holder(self.layers[0])\ninner = Linear()\n"
    assert run(f"{program}found = call(Keeper(layers=[inner], registered=inner))") is None


def test_a_stranger_has_no_plain_holder() -> None:
    assert run("def call(self): return plain_holder(Linear())\nfound = call(Keeper(layers=[Linear()]))") is None
    assert run("found = plain_holder(Linear())") is None


def test_where_no_frame_is_the_users_there_is_no_holder() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(plain_holder, nn.Identity()).result() is None


@pytest.mark.parametrize("kind", ["[Linear()] * {}", "(Linear(),) * {}", "dict.fromkeys(range({}), Linear())"])
def test_large_containers_hold_data(kind: str) -> None:
    for count, name in ((_CONTAINER_LIMIT, "models[0]"), (_CONTAINER_LIMIT + 1, "Linear")):
        assert run(f"models = {kind.format(count)}; found = root_name(models[0])") == name
