"""The borders of the design: who may import whom, and what every rule and instrument must say about itself."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autograd_doctor.events import all_events
from autograd_doctor.events.run import (
    CheckEnded,
    InstrumentDetached,
    InstrumentFailed,
    InstrumentLimited,
    RecordingDamaged,
)
from autograd_doctor.instruments.instrument import Instrument, name_of, requirements
from autograd_doctor.instruments.session import all_instruments, needed_for
from autograd_doctor.rules import Rule, all_rules
from autograd_doctor.runner.run import EMITS
from tests.harness import ROOT, body_of, marks

PACKAGE = ROOT / "autograd_doctor"
RULES = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
CHILD_SIDE = ("runner", "signals", "instruments", "reading")
IN_FRAMEWORKS = ("integrations",)
"""What is imported by programs that use a framework, and loads it."""
FAMILIES = ("cycle", "connectivity", "lifetime", "numerics", "errors", "losses", "data", "efficiency", "ranks")
"""The folders of rules, by the first digit of their codes."""


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
        if path.relative_to(PACKAGE).parts[0] not in (*CHILD_SIDE, *IN_FRAMEWORKS) and path.name != "__main__.py"
    ]
    program = (
        f"import importlib, sys\nfor name in {parent_side!r}: importlib.import_module(name)\n"
        "print(*(name for name in ('torch', 'numpy') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


FRAMEWORKS = {"accelerate", "ignite", "lightning", "pytorch_lightning", "transformers"}


@pytest.mark.parametrize("path", _modules(PACKAGE), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_framework_is_imported_only_by_what_is_for_it(path: Path) -> None:
    frameworks = {name.partition(".")[0] for name in _imports(path)} & FRAMEWORKS
    mine = {path.stem, f"pytorch_{path.stem}"} if path.parent.name in IN_FRAMEWORKS else set()
    assert frameworks <= mine


MAY_IMPORT = {
    "findings": set(),
    "accepted": set(),
    "plan": set(),
    "mistakes": set(),
    "screen": {"system"},
    "config_file": {"mistakes"},
    "calling": {"mistakes", "plan"},
    "notebook": {"mistakes"},
    "interrupts": {"system"},
    "clock": set(),
    "system": set(),
    "handing_over": {"clock", "system"},
    "lent": set(),
    "own_python": {"lent"},
    "asked": set(),
    "interpreter": {"asked", "mistakes"},
    "ranks": {"clock", "plan", "system"},
    "keeping": {"clock", "own_python", "system"},
    "events": {"findings", "plan"},
    "wording": {"events"},
    "operations": set(),
    "tape": {"findings", "operations"},
    "summands": {"operations", "tape"},
    "taping": {"events", "findings", "tape"},
    "trace": {"events", "findings", "tape", "taping"},
    "surrogate_pairs": set(),
    "recording": {"events", "surrogate_pairs", "system", "trace", "wording"},
    "members": {"events", "plan", "recording", "trace"},
    # In the child, which is the only side that knows torch.
    "reading": {"clock", "events", "findings", "lent", "operations", "summands", "system", "tape"},
    "signals": {"clock", "reading", "system"},
    "instruments": {
        *("clock", "events", "findings", "operations", "reading", "signals"),
        *("summands", "tape", "taping", "wording"),
    },
    "runner": {
        *(
            "calling",
            "clock",
            "events",
            "findings",
            "instruments",
            "keeping",
            "lent",
            "mistakes",
            "notebook",
            "own_python",
            "plan",
            "reading",
        ),
        *("handing_over", "ranks", "recording", "signals", "system"),
    },
    # From a trace to a report.
    "run_course": set(),
    "profiling": {"events"},
    "profile_changes": {"profiling"},
    "views": {"events", "findings", "operations", "profiling", "run_course", "summands", "tape", "trace", "wording"},
    "rules": {"events", "findings", "operations", "profiling", "summands", "tape", "trace", "views", "wording"},
    "report": {"findings", "profiling", "run_course", "surrogate_pairs"},
    "reports": {"findings", "report", "wording"},
    "judging": {
        *(
            "accepted",
            "events",
            "findings",
            "members",
            "mistakes",
            "notebook",
            "plan",
            "profiling",
            "report",
            "rules",
            "run_course",
            "trace",
            "views",
        ),
        "wording",
    },
    "engine": {
        *(
            "accepted",
            "events",
            "findings",
            "judging",
            "mistakes",
            "notebook",
            "plan",
            "recording",
            "report",
            "rules",
            "trace",
            "views",
        ),
    },
    # From a finding to a change of the source, and to its proof.
    "fixing": {"events", "findings", "notebook", "operations", "report", "trace"},
    "fixers": {"events", "findings", "fixing", "operations", "report", "tape", "trace", "views"},
    "proving": {"events", "findings", "fixers", "fixing", "notebook", "report", "trace", "wording"},
    "renderers": {
        *("findings", "judging", "notebook", "profiling", "report", "reports", "rules", "run_course", "wording"),
    },
    # Runs that last.
    "monitoring": {
        "events",
        "findings",
        "judging",
        "mistakes",
        "plan",
        "recording",
        "report",
        "rules",
        "trace",
        "wording",
    },
    # What the person asks for.
    "config": {"accepted", "config_file", "mistakes", "plan"},
    "target": {"interpreter", "mistakes", "notebook", "plan"},
    "settings": {
        "accepted",
        "calling",
        "config",
        "config_file",
        "events",
        "findings",
        "interpreter",
        "mistakes",
        "plan",
        "rules",
        "target",
    },
    "launch": {
        *("events", "handing_over", "interrupts", "keeping", "members", "mistakes", "own_python", "plan", "ranks"),
        *("recording", "screen", "system", "trace"),
    },
    "serving": {"mistakes", "renderers", "report"},
    "command": {
        *(
            "serving",
            "accepted",
            "config",
            "config_file",
            "engine",
            "events",
            "findings",
            "interpreter",
            "interrupts",
            "launch",
        ),
        *(
            "fixing",
            "members",
            "mistakes",
            "monitoring",
            "plan",
            "profile_changes",
            "profiling",
            "proving",
            "ranks",
            "recording",
        ),
        *(
            "judging",
            "renderers",
            "report",
            "reports",
            "rules",
            "run_course",
            "screen",
            "settings",
            "system",
            "target",
            "trace",
            "wording",
        ),
    },
    "api": {
        *(
            "accepted",
            "command",
            "config",
            "engine",
            "interpreter",
            "mistakes",
            "plan",
            "proving",
            "ranks",
            "reading",
            "recording",
            "renderers",
        ),
        *("clock", "events", "findings", "monitoring", "notebook", "report", "rules", "runner", "settings", "trace"),
        "wording",
    },
    "integrations": {"api", "report"},
    "pytest_plugin": set(),
    "cli": {"command", "config", "findings", "mistakes", "settings"},
    "__main__": {"cli"},
    "__init__": set(),
}
"""Who may import whom, from the vocabulary upwards; whatever is not listed may not."""


def _part(name: str) -> str:
    """The file or folder at the top of the package to which a module of ours belongs."""
    return name.split(".")[1] if "." in name else "__init__"


@pytest.mark.parametrize("path", _modules(PACKAGE), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_imports_only_what_its_layer_may(path: Path) -> None:
    mine = path.relative_to(PACKAGE).with_suffix("").parts[0]
    ours = {_part(name) for name in _imports(path) if name.split(".")[0] == "autograd_doctor"}
    allowed = MAY_IMPORT[mine] | {mine, "__init__", "__version__"}
    assert ours <= allowed, f"{path.relative_to(ROOT)} imports {sorted(ours - allowed)}"


def test_layers_hold_no_circle() -> None:
    """Each layer imports only such as come before it, type-checking imports included."""
    placed: set[str] = set()
    while waiting := set(MAY_IMPORT) - placed:
        ready = {name for name in waiting if MAY_IMPORT[name] <= placed}
        assert ready, f"a circle among {sorted(waiting)}"
        placed |= ready


ONE_NOTION = {
    # A seam, and the instrument that listens to it.
    "signals instruments": "checkpoints clipping flags grad_modes hooks loaders modules optimizers schedulers seeds",
    # How something is read, and who reads it.
    "reading instruments": "axes functional_modes layers memory padding",
    "reading signals": "custom_functions distributions",
    # What is stated, and what rules and pages see of it.
    "events views": "connectivity losses",
    "instruments views": "learning loss_terms targets",
    "events instruments": "replicas",
    "events instruments views": "tapes",
    "reading instruments views": "pairs",
    "reading views": "module_tree",
    "runner views": "crash",
    # What there is, and who makes it or goes on with it.
    "events runner": "run",
    "tape.py instruments": "tape",
    "operations.py signals": "operations",
    "run_course.py judging": "run_course",
    "judging command": "verdict",
    "command api": "checking",
    "wording.py renderers": "wording",
}
"""Base names that several layers share, because one serves the other."""


def test_a_base_name_of_several_layers_has_one_meaning() -> None:
    layers: dict[str, list[str]] = {}
    for path in _modules(PACKAGE):
        if not path.stem.startswith("__"):
            layers.setdefault(path.stem, []).append(path.relative_to(PACKAGE).parts[0])
    shared = {name: sorted(found) for name, found in layers.items() if len(found) > 1}
    allowed = {name: sorted(found.split()) for found, names in ONE_NOTION.items() for name in names.split()}
    assert shared == allowed


def test_no_table_of_operations_is_listed_twice() -> None:
    """What two files know of operations is a kind of `operations`; a rule may have tables of its own."""
    listed: dict[frozenset[str], dict[int, str]] = {}
    for path in (
        PACKAGE / "operations.py",
        *(each for layer in ("reading", "instruments", "views") for each in _modules(PACKAGE / layer)),
    ):
        module = importlib.import_module(_dotted(path))
        for name in re.findall(r"^(\w+) = ", path.read_text(encoding="utf-8"), re.MULTILINE):
            table = getattr(module, name, None)
            if isinstance(table, frozenset) and len(table) > 1:
                listed.setdefault(table, {})[id(table)] = f"{_dotted(path)}.{name}"
    assert [sorted(places.values()) for places in listed.values() if len(places) > 1] == []


def test_no_file_imports_for_type_checking_only() -> None:
    """That would hide a circle."""
    for path in _modules(PACKAGE):
        assert "TYPE_CHECKING" not in path.read_text(encoding="utf-8"), path.relative_to(ROOT)


def test_no_file_is_exempt_from_the_type_checker() -> None:
    """What cannot be typed, as `ctx` of a custom function, is one example: `typing.no_type_check`."""
    exempt = [
        path.relative_to(ROOT).as_posix()
        for path in _modules(PACKAGE)
        if re.search(r"^# *mypy:", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert exempt == []


# ---------------------------------------------------------------------------------------------- rules and instruments


def test_codes_and_names_of_rules_are_unique() -> None:
    codes = [rule.code for rule in all_rules()]
    names = [rule.name for rule in all_rules()]
    assert len(set(codes)) == len(codes)
    assert len(set(names)) == len(names)


@RULES
def test_rule_says_who_it_is(rule: Rule) -> None:
    assert re.fullmatch(r"AD[1-9]\d\d", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    family = FAMILIES[int(rule.code[2]) - 1]
    assert rule.judge.__module__ == f"autograd_doctor.rules.{family}.{rule.name.replace('-', '_')}"
    for text in (rule.title, rule.observes, rule.why, rule.fix, rule.fine):
        assert len(text.strip()) > 10


@RULES
def test_rule_texts_are_sentences(rule: Rule) -> None:
    for text in (rule.observes, rule.why, rule.fix, rule.fine):
        assert text.endswith(".")
        assert text[0].isupper() or text[0] == "`"


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
def test_every_tunable_of_a_rule_has_a_meaning_and_a_source(rule: Rule) -> None:
    for name, tunable in rule.tunables.items():
        assert re.fullmatch(r"[a-z`].{9,}[^.]", tunable.meaning), name
        assert re.fullmatch(r"(chosen|measured|published|arithmetic|PyTorch): .{10,}[^.]", tunable.source), name


@RULES
def test_rule_reads_its_tunables_and_no_others(rule: Rule) -> None:
    tree = ast.parse(Path(inspect.getfile(rule.judge)).read_text(encoding="utf-8"))
    reads = (
        node for node in ast.walk(tree) if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "tunables"
    )
    inside = (node for read in reads for node in ast.walk(read.slice) if isinstance(node, ast.Constant))
    assert {node.value for node in inside} == set(rule.tunables)


@RULES
def test_rule_needs_events_that_some_instrument_or_the_runner_states(rule: Rule) -> None:
    assert set(rule.needs) <= {event for kind in all_instruments() for event in kind.emits} | set(EMITS)


@RULES
def test_rule_folds_other_rules(rule: Rule) -> None:
    assert set(rule.folds) <= {other.code for other in all_rules()} - {rule.code}


INSTRUMENTS = pytest.mark.parametrize("kind", all_instruments(), ids=name_of)


@INSTRUMENTS
def test_instrument_emits_what_it_constructs_and_nothing_else(kind: type[Instrument]) -> None:
    path = Path(inspect.getfile(kind))
    kinds = {event.__name__ for event in all_events()}
    named = {node.id for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Name)}
    assert {event.__name__ for event in kind.emits} <= named & kinds
    assert kind.__doc__


def test_every_event_is_stated_by_somebody() -> None:
    stated = {event for kind in all_instruments() for event in kind.emits} | set(EMITS)
    outside = {CheckEnded, RecordingDamaged, InstrumentDetached, InstrumentFailed, InstrumentLimited}
    assert set(all_events()) - stated == outside


def test_instruments_of_an_event_come_after_those_that_they_read() -> None:
    ordered = needed_for(["BackwardRan", "SurvivorsCounted", "ForwardRan"])
    for position, kind in enumerate(ordered):
        assert set(requirements(kind).values()) <= set(ordered[:position])


def test_the_runner_says_which_events_it_states_itself() -> None:
    """Whatever the files of the runner construct, and nothing else."""
    kinds = {event.__name__ for event in all_events()}
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in _modules(PACKAGE / "runner")]
    calls = (node.func for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    built = {function.id for function in calls if isinstance(function, ast.Name) and function.id in kinds}
    assert built == {event.__name__ for event in EMITS}
