"""Whether a line is run each time round, or only while something chooses it, told by the instructions around it."""

from __future__ import annotations

import contextlib
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from autograd_doctor.reading.conditions import _names, depends_on_a_choice, is_chosen

EACH_TIME = {
    "in a loop": "for _ in range(2):\n    ask()",
    "in loops": "for _ in range(2):\n    for _ in range(2):\n        ask()",
    "in an endless loop": "count = 0\nwhile True:\n    ask()\n    count += 1\n    if count > 3:\n        break",
    "while something lasts": "count = 0\nwhile count < 3:\n    count += 1\n    for _ in range(2):\n        ask()",
    "behind what leaves the loop": "for step in range(4):\n    if step > 2:\n        break\n    ask()",
    "behind what raises": (
        "for step in range(2):\n    assert flag\n    if not flag:\n        raise ValueError\n    ask()"
    ),
    "in blocks": (
        "for _ in range(2):\n    with nothing():\n        try:\n            ask()\n        finally:\n            pass"
    ),
    "in a comprehension": "for _ in range(2):\n    [ask() for _ in range(2)]",
    "in a function": "def inner():\n    value = 3 if flag else 4\n    return ask()\nfor _ in range(2):\n    inner()",
    "under a condition outside": "if flag:\n    for _ in range(2):\n        ask()",
    "before an evaluation": "def look():\n    for _ in range(2):\n        print\nfor _ in range(2):\n    ask()\nlook()",
    "without a loop": "ask()",
}
CHOSEN = {
    "a branch": "for _ in range(2):\n    if flag:\n        ask()",
    "an expression": "for _ in range(2):\n    ask() if flag else None",
    "a part of a condition": "for _ in range(2):\n    flag and ask()",
    "a branch before": "for _ in range(2):\n    if not flag:\n        continue\n    ask()",
    "a call on a branch": "def inner():\n    ask()\nfor _ in range(2):\n    if flag:\n        inner()",
    "a branch in a call": "def inner(on):\n    if on:\n        ask()\nfor _ in range(2):\n    inner(flag)",
    "an early return": "def inner(on):\n    if not on:\n        return\n    ask()\nfor _ in range(2):\n    inner(flag)",
    "what a filter lets pass": "for _ in range(2):\n    [ask() for _ in range(2) if flag]",
    "a failure": (
        "for _ in range(2):\n    try:\n        if flag:\n            raise KeyError\n"
        "    except KeyError:\n        ask()"
    ),
    "a first of two loops": "for _ in range(2):\n    ask()\nfor _ in range(0):\n    loss.backward()",
    "a first of two stages": (
        "def warm_up():\n    for _ in range(2):\n        ask()\n"
        "def train(loss):\n    loss.backward()\n"
        "def main():\n    warm_up()\n    if not flag:\n        train(loss)\n"
        "main()"
    ),
    "a first of two methods": (
        "class Trainer:\n"
        "    def first(self):\n        for _ in range(2):\n            ask()\n"
        "    def second(self):\n        self.third()\n"
        "    def third(self):\n        loss.backward()\n"
        "trainer = Trainer()\ntrainer.first()\nif not flag:\n    trainer.second()"
    ),
}


def answers(source: str, **names: Any) -> set[bool]:
    """What is said of each of the calls of `ask` in a program."""
    found: set[bool] = set()
    space = {"ask": lambda: found.add(depends_on_a_choice()), "flag": True, "nothing": contextlib.nullcontext, **names}
    # A thread has no loop of a test runner around it.
    thread = threading.Thread(target=exec, args=(compile(source, "<string>", "exec"), space))
    thread.start()
    thread.join()
    return found


@pytest.mark.parametrize("source", EACH_TIME.values(), ids=EACH_TIME)
def test_it_is_run_each_time(source: str) -> None:
    assert answers(source) == {False}


@pytest.mark.parametrize("source", CHOSEN.values(), ids=CHOSEN)
def test_something_chooses_it(source: str) -> None:
    assert answers(source) == {True}


def test_a_line_that_ran_before_is_asked_for_from_where_it_was_called() -> None:
    source = (
        "def forward(on):\n    if on:\n        note()\n    return 1\n"
        "for _ in range(2):\n    forward(flag)\n    found.append(ask_of(places[-1]))"
    )
    places: list[Any] = []
    found: list[bool] = []

    def note() -> None:
        frame = sys._getframe(1)
        places.append((frame.f_code, frame.f_lasti))

    answers(source, note=note, places=places, found=found, ask_of=depends_on_a_choice)
    assert found == [True, True]


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        ("context(False)", False),
        ("context(0)", False),
        ("context()", False),
        ("context(flag)", True),
        ("context(not flag) if flag else context()", True),
        ("made", True),
    ],
)
def test_which_context_a_block_enters(header: str, chosen: bool) -> None:
    found: list[bool] = []

    class Context(contextlib.nullcontext[None]):
        def __enter__(self) -> None:
            frame = sys._getframe(1)
            found.append(is_chosen(frame.f_code, frame.f_lasti, of_constants="context()" not in header))

    space = SimpleNamespace(context=Context, flag=True, made=Context())
    exec(compile(f"with {header}:\n    pass", "<string>", "exec"), vars(space))
    assert found == [chosen]


def test_variables_are_named_also_where_one_instruction_loads_two() -> None:
    def trains(make: Any, model: Any) -> None:
        train = make(); train(model, make)  # fmt: skip  # noqa: E702

    assert {"train", "make", "model"} <= _names(trains.__code__, -1)
