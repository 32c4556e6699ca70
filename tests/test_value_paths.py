"""Where values go in a file, and arguments that come and go, in layouts that examples do not have."""

from __future__ import annotations

from textwrap import dedent

import libcst as cst
import pytest

from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source
from autograd_doctor.fixing.value_paths import Flow, Lost

MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        x = self.first(x)
        x = torch.softmax(x, 1)
        return x

def train(model, batches):
    for x, y in batches:
        loss = criterion(model(x).squeeze(1), y)
"""


def parsed(code: str) -> Source:
    text = dedent(code)
    return Source("train.py", text, text)


def call(source: Source, code: str) -> cst.Call:
    return next(each for each in source.all(cst.Call) if source.code(each) == code)


def uses(code: str, of: str = "torch.softmax(x, 1)") -> list[str]:
    """The statements in which the result of a call is used at last."""
    source = parsed(code)
    statements = [source.statement_of(use) for use in Flow(source).uses(call(source, of))]
    return [source.code(each).strip() for each in statements if each is not None]


def test_a_value_is_followed_through_modules_parameters_and_views() -> None:
    assert uses(MODEL + "net = Net()\ntrain(net, [])\n") == ["loss = criterion(model(x).squeeze(1), y)"]


def test_all_calls_of_a_module_count() -> None:
    found = uses(MODEL + "net = Net().to(device)\ntrain(net, [])\nwith torch.no_grad():\n    print(net(x))\n")
    assert found == ["loss = criterion(model(x).squeeze(1), y)", "print(net(x))"]


@pytest.mark.parametrize(
    "more",
    [
        "net = prepare(Net())\ntrain(net, [])\n",
        "net = Net()\nnet = prepare(net)\n",
        "net = Net()\nfit(net, [])\n",
        "nets = [Net() for _ in range(2)]\n",
        "net = Net()\nprint(net(x) > 0.5)\n",
        "class Other(Net):\n    pass\n",
    ],
)
def test_what_cannot_be_followed_is_lost(more: str) -> None:
    with pytest.raises(Lost):
        uses(MODEL + more)


def test_what_a_loop_hands_on_is_lost() -> None:
    with pytest.raises(Lost):
        uses("def f(x):\n    for layer in layers:\n        x = torch.softmax(x, 1)\n    return g(x)\n")


def test_a_variable_that_gets_another_value_is_another_one() -> None:
    assert uses("""
        p = torch.softmax(x, 1)
        print(p)
        p = other(x)
        show(p)
    """) == ["print(p)"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(x, dim=1)", "f(x)"),
        ("f(dim=1)", "f()"),
        ("f(dim=1, x=2)", "f(x=2)"),
        ("f(\n    x,  # the input\n    dim=1,\n)", "f(\n    x,  # the input\n)"),
    ],
)
def test_an_argument_is_left_out(before: str, after: str) -> None:
    source = parsed(before)
    (node,) = source.all(cst.Call)
    argument = next(each for each in node.args if each.keyword is not None and each.keyword.value == "dim")
    assert Editing(source).withhold(node, argument).text() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()", "f(dim=1)"),
        ("f(x)", "f(x, dim=1)"),
        ("f(x, y)", "f(x, y, dim=1)"),
        ("f(\n    x,\n    y,\n)", "f(\n    x,\n    y,\n    dim=1,\n)"),
    ],
)
def test_an_argument_is_added(before: str, after: str) -> None:
    source = parsed(before)
    (node,) = source.all(cst.Call)
    assert Editing(source).give(node, "dim", "1").text() == after


def test_a_rewritten_line_keeps_its_comments() -> None:
    source = parsed("# above\nx += 1  # beside\r\ny = 2\r\n")
    node = next(source.all(cst.AugAssign))
    statement = source.statement_of(node)
    assert statement is not None
    text = Editing(source).rewrite(statement, "x = x + 1").text()
    assert text == "# above\nx = x + 1  # beside\r\ny = 2\r\n"


def test_the_only_value_of_a_variable() -> None:
    source = parsed(
        "a, b = one(), two()\nc = three()\nc = four()\nclass A:\n    def __init__(self):\n        self.d = five()\n"
        "    def f(self):\n        return self.d, a, b, c\n"
    )
    (last,) = source.all(cst.Return)
    values = [source.value_of(each.value) for each in cst.ensure_type(last.value, cst.Tuple).elements]
    assert [each and source.code(each) for each in values] == ["five()", "one()", "two()", None]
