"""Training programs in many people's styles: the sick ones are found out, the healthy ones left in peace."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from autograd_doctor.rules import all_rules
from tests.harness import (
    PROGRAMS,
    assert_findings,
    assert_healthy,
    check_program,
    guarded,
    hinted,
    marks,
    programs,
    summary,
)

EARLY = programs()
LATE = programs(late=True)
"""Programs that show what they are only after the steps that a check looks at by default."""
NEEDS = {
    "ad101_fully_sharded": ("2.6", "`fully_shard` under its present name"),
    "ad401_bandit_entropy": ("2.5", "random numbers with which it fails within 30 steps"),
    "ad716_anchor_is_the_positive": ("2.6", "nodes that tell the shape of what they made"),
    "ad716_one_view_twice": ("2.6", "nodes that tell the shape of what they made"),
    "healthy_discharge_by_one_component": ("2.6", "nodes that tell the shape of what they made"),
    "healthy_forecast_with_one_regional_token": ("2.6", "nodes that tell the shape of what they made"),
    "healthy_fully_sharded": ("2.6", "`fully_shard` under its present name"),
    "healthy_functions_at_zero": ("2.5", "a finite slope of `atan2` at (0, 0)"),
    "healthy_greenhouse_with_one_lamp": ("2.6", "nodes that tell the shape of what they made"),
    "healthy_heading_of_vehicle": ("2.5", "a finite slope of `atan2` at (0, 0)"),
    "healthy_machines_that_arrive_one_by_one": ("2.6", "nodes that tell the shape of what they made"),
    "healthy_order_with_one_family": ("2.6", "nodes that tell the shape of what they made"),
}


def parameters(paths: list[Path]) -> list[Any]:
    """Parameters of a test, each with the torch that it needs."""
    marked = {name: pytest.mark.needs_torch(*needs) for name, needs in NEEDS.items()}
    return [pytest.param(path, id=path.stem, marks=marked.get(path.stem, ())) for path in paths]


@pytest.mark.parametrize("program", parameters(EARLY))
def test_verdict_on_program(program: Path) -> None:
    assert_verdict(program)


@pytest.mark.parametrize("program", parameters(LATE))
def test_verdict_on_program_that_is_seen_to_its_end(program: Path) -> None:
    assert_verdict(program, steps=10_000, batches_per_epoch=0)


@pytest.mark.parametrize("program", parameters([path for path in LATE if path.stem.startswith("healthy_")]))
def test_a_program_that_was_left_too_early_is_not_called_sick(program: Path) -> None:
    """What the rest of it shows to be right may be hinted at before, and is no error."""
    report = check_program(program)
    assert not [finding for finding in report.findings if finding.severity == "error"], summary(report)


def test_verdict_where_workers_begin_at_a_server(tmp_path: Path) -> None:
    """As they do by default from Python 3.14 on."""
    source = (PROGRAMS / "data" / "ad705_stream_not_divided.py").read_text(encoding="utf-8")
    program = tmp_path / "train.py"
    program.write_text(f"import multiprocessing; multiprocessing.set_start_method('forkserver', force=True)\n{source}")
    assert_verdict(program)


def assert_verdict(program: Path, **plan: object) -> None:
    source = program.read_text(encoding="utf-8")
    expected = marks(source)
    report = check_program(program, **plan)
    if expected:
        assert_findings(report, expected, slack=2)
    else:
        assert_healthy(report, hinted(source))


def test_names_say_whether_a_program_is_sick() -> None:
    for program in [*EARLY, *LATE]:
        codes = {code for code, _ in marks(program.read_text(encoding="utf-8"))}
        assert codes or program.stem.startswith("healthy_"), program.name
        assert not codes or program.stem[:5].upper() in codes, program.name


def test_names_are_unique_over_all_folders() -> None:
    names = [program.name for program in [*EARLY, *LATE]]
    assert len(set(names)) == len(names)


def test_programs_lie_in_the_family_of_the_rule_that_they_have_or_guard() -> None:
    families = {rule.code: Path(inspect.getfile(rule.judge)).parent.name for rule in all_rules()}
    for program in [*EARLY, *LATE]:
        source = program.read_text(encoding="utf-8")
        codes = [program.stem[:5].upper()] if marks(source) else guarded(source)
        assert codes, f"{program.name} does not say on top which rules it guards: `# guards: AD202 AD216`"
        assert not set(codes) - set(families), f"{program.name} names a rule that is none"
        assert program.relative_to(PROGRAMS).parts[0] == families[codes[0]], program.name
