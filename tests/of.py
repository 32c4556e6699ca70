"""Everything that guards a rule: its examples, programs, tests, and the instruments that it rests on.

python -m tests.of AD628
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from autograd_doctor.instruments.instrument import name_of
from autograd_doctor.instruments.session import all_instruments
from autograd_doctor.rules import Rule, rule_called
from tests.harness import PROGRAMS, ROOT, guarded, marks
from tests.instrument_page import rules_of

_TESTS = ROOT / "tests"


def guards(rule: Rule) -> dict[str, list[str]]:
    """Paths, with what to look for in them, under a heading for each kind."""
    stem = rule.name.replace("-", "_")
    kinds = [kind for kind in all_instruments() if rule.code in rules_of(kind)]
    return {
        "rule": [_shown(Path(inspect.getfile(rule.judge)))],
        "examples": [f"{kind}: {', '.join(each.__name__ for each in getattr(rule, kind))}" for kind in ("bad", "good")],
        "programs that have the fault": [_shown(path) for path in _sick(rule.code)],
        "healthy programs that guard it": [_shown(path) for path in _healthy(rule.code)],
        "instruments": [_shown(Path(inspect.getfile(kind))) for kind in kinds],
        "tests": [_shown(path) for path in _tests(rule.code, stem, {name_of(kind) for kind in kinds})],
    }


def _sick(code: str) -> Iterator[Path]:
    for path in sorted(PROGRAMS.rglob("*.py")):
        if code in {found for found, _ in marks(path.read_text(encoding="utf-8"))}:
            yield path


def _healthy(code: str) -> Iterator[Path]:
    for path in sorted(PROGRAMS.rglob("*.py")):
        if code in guarded(path.read_text(encoding="utf-8")):
            yield path


def _tests(code: str, stem: str, instruments: set[str]) -> Iterator[Path]:
    """Those that name the rule, and those of its instruments."""
    named = re.compile(rf"\b({code}|{stem})\b")
    for path in sorted(_TESTS.rglob("test_*.py")):
        if path.stem.removeprefix("test_") in instruments or named.search(path.read_text(encoding="utf-8")):
            yield path


def _shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def main(arguments: list[str]) -> int:
    rule = rule_called(arguments[0]) if len(arguments) == 1 else None
    if rule is None:
        print("give the code or the name of one rule: `python -m tests.of AD101`", file=sys.stderr)
        return 2
    for heading, found in guards(rule).items():
        print(f"{heading}:", *(f"  {each}" for each in found), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
