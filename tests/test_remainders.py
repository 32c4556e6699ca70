"""Whether a remainder decides if a line runs, told by the instructions around it."""

from __future__ import annotations

from typing import Any

import pytest

from autograd_doctor.reading.places import Place, stack
from autograd_doctor.reading.remainders import hangs_on_a_remainder

REMAINDER = {
    "a multiple": "for i in range(4):\n    if i % 2 == 0:\n        ask()",
    "no rest": "for i in range(4):\n    if not i % 2:\n        ask()",
    "all others left out": "for i in range(4):\n    if i % 2:\n        continue\n    ask()",
    "in a while": "i = 0\nwhile i < 4:\n    i += 1\n    if i % 2 == 0:\n        ask()",
    "by a call": "def update():\n    ask()\nfor i in range(4):\n    if i % 2 == 0:\n        update()",
    "in a call": "def update(i):\n    if i % 2 == 0:\n        ask()\nfor i in range(4):\n    update(i)",
    "an early return": "def update(i):\n    if i % 2:\n        return\n    ask()\nfor i in range(4):\n    update(i)",
    "in an inner loop": "for i in range(4):\n    if i % 2 == 0:\n        for _ in range(2):\n            ask()",
    "beside another flag": "for i in range(4):\n    if flag and i % 2 == 0:\n        ask()",
    "behind an order outside": "if flag > 0:\n    for i in range(4):\n        if i % 2 == 0:\n            ask()",
    "an order that spares the other line": (
        "for i in range(4):\n    if i > 0:\n        other()\n        if i % 2 == 0:\n            ask()"
    ),
    "an order that spares a call of the other line": (
        "def learn():\n    other()\n"
        "for i in range(4):\n    if i < 1:\n        continue\n    learn()\n    if i % 2 == 0:\n        ask()"
    ),
    "an order of others": "for i in range(4):\n    if i > 5:\n        other()\n    if i % 2 == 0:\n        ask()",
}
NONE = {
    "each time": "for i in range(4):\n    ask()",
    "an end": "for i in range(4):\n    if i < 3:\n        ask()",
    "an end as well": "for i in range(4):\n    if i < 3 and i % 2 == 0:\n        ask()",
    "an end outside": (
        "def update(i):\n    if i % 2 == 0:\n        ask()\nfor i in range(4):\n    if i < 3:\n        update(i)"
    ),
    "an order behind the call of the other line": (
        "def learn():\n    other()\n"
        "for i in range(4):\n    learn()\n    if i < 1:\n        continue\n    if i % 2 == 0:\n        ask()"
    ),
    "a flag": "for i in range(4):\n    if flag:\n        ask()",
    "a remainder of others": "for i in range(4):\n    if i % 2:\n        other()\n    ask()",
    "a remainder that is used": "for i in range(4):\n    rest = i % 2\n    if flag:\n        ask(rest)",
    "a remainder that spares neither": "for i in range(4):\n    if i % 2 == 0:\n        other()\n        ask()",
    "no loop": "i = 4\nif i % 2 == 0:\n    ask()",
}


def told(source: str) -> bool:
    """What is told of the call of `ask`, where `other` is a line that still runs."""
    places: dict[str, tuple[Place, ...]] = {}

    def ask(*_: Any) -> None:
        places["ask"] = tuple(each for each in stack() if each[0].co_filename == "program.py")

    def other() -> None:
        places["other"] = tuple(each for each in stack() if each[0].co_filename == "program.py")

    exec(compile(source, "program.py", "exec"), {"ask": ask, "other": other, "flag": True})
    return hangs_on_a_remainder(places["ask"], places.get("other", ()))


@pytest.mark.parametrize("source", REMAINDER.values(), ids=REMAINDER)
def test_a_remainder_decides(source: str) -> None:
    assert told(source)


@pytest.mark.parametrize("source", NONE.values(), ids=NONE)
def test_no_remainder_decides_alone(source: str) -> None:
    assert not told(source)
