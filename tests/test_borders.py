"""The borders of the design: who may import whom, and what every rule and probe must say about itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from autograd_doctor.probes import providers

from autograd_doctor import recording
from autograd_doctor.rules import Rule, all_rules
from tests.harness import ROOT, body_of, marks

PACKAGE = ROOT / "autograd_doctor"
RULES = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
CHILD_SIDE = ("runner", "probes", "watching")
LAST_OF_ITS_HUNDRED = {1: 116, 2: 220, 3: 310, 4: 413, 5: 512, 6: 617, 7: 711, 8: 806, 9: 906}
CATALOGUE = {
    f"AD{code}" for hundred, last in LAST_OF_ITS_HUNDRED.items() for code in range(100 * hundred + 1, last + 1)
}
CATALOGUE.add("AD599")


def _modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py"))


def _imports(path: Path) -> set[str]:
    """Every module that a file imports, wherever in the file it does so."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


# --------------------------------------------------------------------------------------------------------- who imports


def test_parent_side_and_rules_and_renderers_load_without_torch() -> None:
    parent_side = [
        _dotted(path)
        for path in _modules(PACKAGE)
        if path.relative_to(PACKAGE).parts[0] not in CHILD_SIDE and path.name != "__main__.py"
    ]
    program = (
        f"import importlib, sys\nfor name in {parent_side!r}: importlib.import_module(name)\n"
        "print(*(name for name in ('torch', 'numpy') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_list_of_probes_is_read_without_torch() -> None:
    program = "import sys, autograd_doctor.probes as p; p.providers(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("probes", ("rules", "engine", "report", "renderers", "cli", "config", "launch")),
        ("watching", ("probes", "rules", "engine", "report", "renderers", "cli", "config", "launch")),
        ("runner", ("rules", "engine", "report", "renderers", "cli", "config", "launch")),
        ("rules", ("probes", "watching", "runner", "engine", "renderers", "cli", "config", "launch")),
        ("renderers", ("probes", "watching", "runner", "engine", "cli", "config", "launch")),
    ],
)
def test_folder_imports_nothing_from_across_its_border(folder: str, forbidden: tuple[str, ...]) -> None:
    wrong = tuple(f"autograd_doctor.{name}" for name in forbidden)
    for path in _modules(PACKAGE / folder):
        across = {name for name in _imports(path) if name.startswith(wrong)}
        assert not across, f"{path.relative_to(ROOT)} imports {sorted(across)}"


def test_vocabulary_imports_nothing_of_the_package_but_itself() -> None:
    vocabulary = tuple(f"autograd_doctor.{name}" for name in ("events", "findings", "plan"))
    for name in vocabulary:
        ours = {
            module for module in _imports(PACKAGE / f"{name.split('.')[1]}.py") if module.startswith("autograd_doctor")
        }
        assert all(module.startswith(vocabulary) for module in ours), f"{name} imports {sorted(ours)}"


# --------------------------------------------------------------------------------------------------- rules and probes


def test_codes_and_names_of_rules_are_unique() -> None:
    codes = [rule.code for rule in all_rules()]
    names = [rule.name for rule in all_rules()]
    assert len(set(codes)) == len(codes)
    assert len(set(names)) == len(names)


@RULES
def test_rule_says_who_it_is(rule: Rule) -> None:
    assert re.fullmatch(r"AD[1-9]\d\d", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert rule.examine.__module__ == f"autograd_doctor.rules.{rule.name.replace('-', '_')}"
    for text in (rule.title, rule.observes, rule.why, rule.fix, rule.fine):
        assert len(text.strip()) > 10


@RULES
def test_rule_title_is_a_plain_phrase(rule: Rule) -> None:
    assert not rule.title.split()[0].istitle()
    assert not rule.title.endswith(".")


@RULES
def test_rule_has_examples_with_one_marked_line_in_each_bad_one(rule: Rule) -> None:
    assert rule.bad
    assert rule.good
    for example in rule.bad:
        assert [code for code, _ in marks(body_of(example))] == [rule.code], example.__name__
    for example in rule.good:
        assert marks(body_of(example)) == [], example.__name__
    for example in (*rule.bad, *rule.good):
        compile(body_of(example), example.__name__, "exec")


@RULES
def test_rule_needs_events_that_some_probe_or_the_runner_emits(rule: Rule) -> None:
    from autograd_doctor.runner.run import EMITS

    emitted = frozenset().union(*providers().values()) | {event.__name__ for event in EMITS}
    assert {event.__name__ for event in rule.needs} <= emitted


@RULES
def test_rule_folds_what_the_catalogue_or_a_rule_defines(rule: Rule) -> None:
    assert re.fullmatch(r"AD[1-9]\d\d", rule.code)
    assert set(rule.folds) <= (CATALOGUE | {other.code for other in all_rules()}) - {rule.code}


def test_every_probe_says_which_events_it_yields() -> None:
    known = {event.__name__ for event in recording.EVENT_TYPES}
    with_probe = {
        path.stem
        for path in (PACKAGE / "probes").glob("*.py")
        if re.search(r"^PROBE\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert with_probe <= set(providers())
    for name, events in providers().items():
        assert events, name
        assert events <= known, f"{name} yields {sorted(events - known)}"


def test_the_runner_says_which_events_it_states_itself() -> None:
    """Whatever the files of the runner construct, and nothing else."""
    from autograd_doctor.runner.run import EMITS

    kinds = {event.__name__ for event in recording.EVENT_TYPES}
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in _modules(PACKAGE / "runner")]
    calls = (node.func for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    built = {function.id for function in calls if isinstance(function, ast.Name) and function.id in kinds}
    assert built == {event.__name__ for event in EMITS}
