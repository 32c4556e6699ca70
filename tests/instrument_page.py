"""The page of the instruments, `docs/instruments.md`, from the instruments themselves.

    python -m tests.instrument_page

writes it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from pathlib import Path

from autograd_doctor.instruments.instrument import Instrument, name_of, requirements
from autograd_doctor.instruments.session import all_instruments
from autograd_doctor.rules import all_rules
from tests.harness import ROOT

PAGE = ROOT / "docs" / "instruments.md"
COMMAND = "python -m tests.instrument_page"
FAMILIES = ("spine", "cycle", "connectivity", "lifetime", "numerics", "errors", "losses", "data", "efficiency", "ranks")
_INTRODUCTION = f"""# The instruments

What is watched while the program runs, by family: what each instrument knows, which others it reads, and the rules that
read what it states. Those of the spine serve all. `{COMMAND}` writes this page.
"""


def page() -> str:
    by_family: dict[str, list[type[Instrument]]] = {family: [] for family in FAMILIES}
    for kind in all_instruments():
        by_family[kind.__module__.split(".")[-2]].append(kind)
    return "\n".join([_INTRODUCTION, *(_table(family, kinds) for family, kinds in by_family.items())])


def _table(family: str, kinds: Iterable[type[Instrument]]) -> str:
    package = sys.modules[f"autograd_doctor.instruments.{family}"]
    lines = [
        f"## {family}",
        "",
        (package.__doc__ or "").strip(),
        "",
        "| instrument | knows | reads | rules |",
        "|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(_row, kinds), ""])


def _row(kind: type[Instrument]) -> str:
    source = Path(inspect.getfile(kind)).relative_to(ROOT)
    text = inspect.cleandoc(sys.modules[kind.__module__].__doc__ or "").split("\n\n")[0]
    knows = " ".join(text.split()).replace("|", "\\|")
    reads = ", ".join(f"`{name_of(each)}`" for each in requirements(kind).values())
    rules = ", ".join(f"[{code}](rules/{code}.md)" for code in rules_of(kind))
    return f"| [`{name_of(kind)}`](../{source.as_posix()}) | {knows} | {reads} | {rules} |"


def rules_of(kind: type[Instrument]) -> list[str]:
    """The codes of the rules that read what an instrument states; none for the spine, which nearly all do."""
    if kind.__module__.split(".")[-2] == "spine":
        return []
    return [rule.code for rule in all_rules() if set(rule.needs) & set(kind.emits)]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
