"""What a custom function takes, by position."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

from autograd_doctor.reading.function_signature import argument_names, parameters, signature


def function(forward: Any, *, setup: bool = False) -> type:
    """A custom function; with `setup`, its forward is not given a context."""
    namespace: dict[str, Any] = {"forward": staticmethod(forward)}
    if setup:
        namespace["setup_context"] = staticmethod(lambda ctx, inputs, output: None)
    return type("Custom", (torch.autograd.Function,), namespace)


@pytest.mark.parametrize(
    ("forward", "setup", "names"),
    [
        (lambda ctx, x, weight: x, False, ["x", "weight"]),
        (lambda x, weight: x, True, ["x", "weight"]),
        (lambda ctx, x, *, scale=1: x, False, ["x"]),
        (lambda ctx, x, *rest: x, False, ["x", "rest"]),
        (lambda *everything: None, False, ["everything"]),
        (lambda **options: None, False, []),
    ],
)
def test_parameters_are_those_that_apply_hands_on(forward: Any, setup: bool, names: list[str]) -> None:
    assert [each.name for each in parameters(function(forward, setup=setup))] == names


@pytest.mark.parametrize(
    ("forward", "names"),
    [
        (lambda ctx, x, y: x, ["x", "y", "", ""]),
        (lambda ctx, x, *rest: x, ["x", "rest[0]", "rest[1]", "rest[2]"]),
    ],
)
def test_every_argument_has_a_name(forward: Any, names: list[str]) -> None:
    assert argument_names(function(forward), 4) == names


def test_annotations_may_name_what_only_type_checkers_know() -> None:
    """Since Python 3.14 they are evaluated late, and without `from __future__ import annotations`."""
    namespace: dict[str, Any] = {}
    late = "def train(model: Unknown, steps: int = 3) -> None: pass"
    if sys.version_info < (3, 14):
        late = f"from __future__ import annotations\n{late}"
    exec(compile(late, "<string>", "exec", dont_inherit=True), namespace)
    assert list(signature(namespace["train"]).parameters) == ["model", "steps"]
