"""Every fixer on the bad examples of its rules: a change is made, the example runs again, and nothing is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autograd_doctor.fixers import all_fixers
from autograd_doctor.rules import Example, Rule, all_rules
from tests.changes import candidates_for, changed
from tests.harness import body_of

NOT_FIXED = {
    "AD204 bad_backbone_that_is_not_frozen": "whether the backbone is to learn, or to be frozen, nothing tells",
}
"""Bad examples without a change that could be proven, and why."""


def _examples() -> Iterator[tuple[Rule, Example]]:
    codes = {code for fixer in all_fixers() for code in fixer.codes}
    for rule in all_rules():
        if rule.code in codes:
            yield from ((rule, example) for example in rule.bad)


def _name(value: Rule | Example) -> str:
    return value.code if isinstance(value, Rule) else value.__name__


@pytest.mark.parametrize(("rule", "example"), _examples(), ids=_name)
def test_a_proven_change_removes_the_fault_of_a_bad_example(rule: Rule, example: Example) -> None:
    series = changed(body_of(example))
    told = [(each.finding.code, each.fix.description, each.fix.proof) for each in series.trials]
    is_fixed = rule.code not in {finding.code for finding in series.now.report.findings}
    assert is_fixed == (f"{rule.code} {example.__name__}" not in NOT_FIXED), told
    assert not [finding.code for finding in series.now.report.findings if is_fixed], told


def test_each_fixer_names_rules_that_there_are() -> None:
    known = {rule.code for rule in all_rules()}
    for fixer in all_fixers():
        assert set(fixer.codes) <= known


def test_a_result_is_detached_on_a_line_that_others_share(tmp_path: Path) -> None:
    (text,) = candidates_for("AD301", "a = 1; «kept.append(loss)»; b = 2  # why\n", tmp_path)
    assert text == "a = 1; kept.append(loss.detach()); b = 2  # why\n"


def test_of_a_tuple_that_is_kept_the_part_with_a_graph_is_detached(tmp_path: Path) -> None:
    program = "‹loss = f(x)›\nif keep: «kept.append((step, loss))»\n"
    (text,) = candidates_for("AD301", program, tmp_path, related="the tensors are made here")
    assert text == "loss = f(x)\nif keep: kept.append((step, loss.detach()))\n"


def test_a_sum_is_detached_whole_where_the_total_is_weighted(tmp_path: Path) -> None:
    (text,) = candidates_for("AD302", "mean = «0.9 * mean + 0.1 * loss»\n", tmp_path)
    assert text == "mean = (0.9 * mean + 0.1 * loss).detach()\n"


def test_an_argument_goes_with_its_line_and_comments_of_others_stay(tmp_path: Path) -> None:
    program = "«loss.backward(\n    gradient=g,  # why\n    retain_graph=True,  # by habit\n)»\n"
    (text,) = candidates_for("AD304", program, tmp_path)
    assert text == "loss.backward(\n    gradient=g,  # why\n)\n"


def test_an_argument_that_is_sometimes_true_stays(tmp_path: Path) -> None:
    assert candidates_for("AD304", "«loss.backward(retain_graph=step < 3)»\n", tmp_path) == []


def test_a_variable_that_is_only_detached_is_left_as_it_is(tmp_path: Path) -> None:
    (text,) = candidates_for("AD202", "a = f(x); a = «a.detach()»; b = g(a)\n", tmp_path)
    assert text == "a = f(x); b = g(a)\n"


def test_a_number_in_a_product_leaves_its_parentheses(tmp_path: Path) -> None:
    (text,) = candidates_for("AD202", "y = 2 * «float(a + b)»\n", tmp_path)
    assert text == "y = 2 * (a + b)\n"


def test_a_chain_over_several_lines_loses_its_last_link(tmp_path: Path) -> None:
    (text,) = candidates_for("AD202", "y = (\n    «a\n    .b()\n    .detach()»\n)\n", tmp_path)
    assert text == "y = (\n    a\n    .b()\n)\n"


def test_what_several_statements_compute_with_stays_cut(tmp_path: Path) -> None:
    program = "def loss(s, r):\n    v = «critic(s).detach()»\n    a = r - v\n    return a, (v - r).square()\n"
    assert candidates_for("AD202", program, tmp_path) == []


def test_a_state_is_cut_before_its_window_where_it_comes_from_another(tmp_path: Path) -> None:
    program = "for x in window:\n    # short\n    h = «h.detach()»\n    h = cell(x, h)\n"
    texts = candidates_for("AD202", program, tmp_path, evidence={"steps_of_the_window": 4})
    assert texts[0] == "for x in window:\n    h = cell(x, h)\n"
    assert texts[1] == "# short\nh = h.detach()\nfor x in window:\n    h = cell(x, h)\n"


def test_a_state_of_several_tensors_is_detached_after_the_backward(tmp_path: Path) -> None:
    program = "y, h = «cell(x, h)»\n‹y.backward(retain_graph=True)›\n"
    texts = candidates_for("AD303", program, tmp_path, related="this backward runs through them")
    assert texts[0] == "y, h = cell(x, h.detach())\ny.backward()\n"
    assert texts[1] == "y, h = cell(x, h)\ny.backward()\nh = tuple(part.detach() for part in h)\n"


def test_a_block_ends_before_the_loss_with_the_comments_in_their_places(tmp_path: Path) -> None:
    program = "# about\n«with torch.no_grad():\n    # first\n    t = f(x)\n    # second\n    loss = g(t)»\n"
    texts = candidates_for("AD201", f"import torch\n{program}", tmp_path)
    assert texts == [
        "import torch\n# about\nwith torch.no_grad():\n    # first\n    t = f(x)\n# second\nloss = g(t)\n",
        "import torch\n# about\n# first\nt = f(x)\n# second\nloss = g(t)\n",
    ]


def test_one_of_several_decorators_goes(tmp_path: Path) -> None:
    program = "class A:\n    # about\n    @staticmethod\n    @«torch.no_grad()»\n    def f(x): pass\n"
    (text,) = candidates_for("AD201", program, tmp_path)
    assert text == "class A:\n    # about\n    @staticmethod\n    def f(x): pass\n"


def test_a_decorator_comes_below_others_and_above_it_no_comment(tmp_path: Path) -> None:
    program = "import torch\nclass A:\n    # about\n    @staticmethod\n    def f(m, x):\n        «m(x)»\n"
    texts = candidates_for("AD209", program, tmp_path, evidence={"mode": "eval"})
    assert texts[0] == program.replace("    def", "    @torch.no_grad()\n    def").translate({171: None, 187: None})


def test_a_line_that_evaluates_keeps_its_ending_and_its_tabs(tmp_path: Path) -> None:
    program = "import torch\r\nfor x in xs:\r\n\t«m(x)»; n += 1\r\n"
    (text,) = candidates_for("AD209", program, tmp_path, evidence={"mode": "train"})
    assert text == "import torch\r\nfor x in xs:\r\n\twith torch.no_grad():\r\n\t\tm(x); n += 1\r\n"


def test_an_import_comes_below_the_docstring(tmp_path: Path) -> None:
    (text,) = candidates_for("AD310", '"""Trains."""\nbest = «model.state_dict()»\n', tmp_path)
    assert text == '"""Trains."""\nimport copy\nbest = copy.deepcopy(model.state_dict())\n'


def test_an_import_under_another_name_is_used(tmp_path: Path) -> None:
    (text,) = candidates_for("AD310", "import copy as c\nif x: best = c.copy(«m.state_dict()»)\n", tmp_path)
    assert text == "import copy as c\nif x: best = c.deepcopy(m.state_dict())\n"


def test_modules_without_brackets_are_registered(tmp_path: Path) -> None:
    program = "import torch.nn as nn\nclass A(nn.Module):\n    def build(self):\n        «self.a» = B(), C()\n"
    (text,) = candidates_for("AD207", program, tmp_path, subject="self.a[0]")
    assert text.endswith("        self.a = nn.ModuleList((B(), C()))\n")


def test_an_optimizer_moves_with_what_was_made_of_it(tmp_path: Path) -> None:
    program = "opt = «Adam(m.parameters())»\n# slower\nrate = Rate(opt)\nm.head = Linear()\nrun(m, opt)\n"
    (text,) = candidates_for("AD205", program, tmp_path)
    assert text == "m.head = Linear()\nopt = Adam(m.parameters())\n# slower\nrate = Rate(opt)\nrun(m, opt)\n"
