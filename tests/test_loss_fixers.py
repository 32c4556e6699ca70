"""Changes of losses and of what is changed in place, in layouts that examples do not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.changes import candidates_for

HIDDEN = "def forward(self, x):\n    h = torch.tanh(x)\n    {}\n    return h\n"


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("«h *= a + b»  # why", "h = h * (a + b)  # why"),
        ("«h **= 2»; g(h)", "h = h ** 2; g(h)"),
        ("«h.mul_(2)»", "h = h.mul(2)"),
        ("«h.mul_(2)».add_(\n        1\n    )", "h = h.mul(2).add(\n        1\n    )"),
        ("«h[0]» = 1", "h = h.clone()\n    h[0] = 1"),
        ("«h[0] += 1»", "h = h.clone()\n    h[0] += 1"),
        ("«h.zero_()»", "h = h.clone()\n    h.zero_()"),
        ("h = «relu(h, inplace=True)»", "h = relu(h)"),
    ],
)
def test_a_tensor_is_made_anew(written: str, instead: str, tmp_path: Path) -> None:
    (text,) = candidates_for("AD501", HIDDEN.format(written), tmp_path)
    assert text == HIDDEN.format(instead)


@pytest.mark.parametrize(
    "program",
    [
        "h = x[0]\n«h += 1»\n",
        "a, h = x.chunk(2)\n«h += 1»\n",
        "h = x if y else z\n«h += 1»\n",
        "def f(h):\n    «h += 1»\n",
        "for h in rows:\n    «h += 1»\n",
        "y = «relu(h, inplace=True)»\ng(h)\n",
    ],
)
def test_what_others_would_see_changed_stays(program: str, tmp_path: Path) -> None:
    assert candidates_for("AD501", program, tmp_path) == []


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("loss = «-a(x)» + b\nloss.backward()\n", "loss = a(x) + b\nloss.backward()\n"),
        ("loss = «b - a(x)»\nloss.backward()\n", "loss = b + a(x)\nloss.backward()\n"),
        ("loss = «1 - a(x)»\nloss.backward()\n", "loss = a(x) - 1\nloss.backward()\n"),
        ("score = «-a(x)»\nscore.backward()\nbest(score)\n", "score = -a(x)\n(-score).backward()\nbest(score)\n"),
    ],
)
def test_a_loss_is_minimised_where_its_sign_is_nothing_to_others(written: str, instead: str, tmp_path: Path) -> None:
    assert candidates_for("AD609", written, tmp_path)[0] == instead


def test_a_sign_that_cannot_be_followed_stays(tmp_path: Path) -> None:
    assert candidates_for("AD609", "scores = [«-a(x)» for x in y]\n", tmp_path) == []
    assert candidates_for("AD609", "«-a(x)»\n", tmp_path, severity="warning") == []


def test_arguments_are_exchanged_however_they_are_given(tmp_path: Path) -> None:
    (text,) = candidates_for("AD612", "loss = «f(\n    target=model(x),  # why\n    input=y,\n)»\n", tmp_path)
    assert text == "loss = f(\n    target=y,  # why\n    input=model(x),\n)\n"


def test_only_a_change_of_the_leaf_itself_is_put_under_no_grad(tmp_path: Path) -> None:
    (text,) = candidates_for("AD502", "import torch as t\n# down\n«w -= w.grad»  # why\n", tmp_path)
    assert text == "import torch as t\n# down\nwith t.no_grad():\n    w -= w.grad  # why\n"
    assert candidates_for("AD502", "loss += «w.mul_(2)».sum()\n", tmp_path) == []
    assert candidates_for("AD502", "y = «w.mul_(2)»\n", tmp_path) == []
