"""The pages of the rules in `docs/rules/`, from the rule files, in the words of `doctor explain`.

    python -m tests.rule_pages

writes those that have changed, and removes those of rules that are no more.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from autograd_doctor.renderers import catalogue
from autograd_doctor.renderers.catalogue import Section
from autograd_doctor.rules import Rule, all_rules
from tests.harness import ROOT

FOLDER = ROOT / "docs" / "rules"
COMMAND = "python -m tests.rule_pages"

_CODE_SPAN = re.compile(r"(`[^`]*`)")
_RULE_CODE = re.compile(r"\bAD\d{3}\b")


def pages(rules: Sequence[Rule]) -> dict[str, str]:
    """The text of each file of the folder: a page for each rule, under its code, and the list of them all."""
    known = {rule.code for rule in rules}
    return {"README.md": _index(rules), **{f"{rule.code}.md": _page(rule, known - {rule.code}) for rule in rules}}


def _index(rules: Sequence[Rule]) -> str:
    lines = [
        "# The rules",
        "",
        f"What `doctor check` looks for: {len(rules)} rules. `doctor explain CODE` says the same in the terminal.",
    ]
    for hundred, members in groupby(rules, key=lambda each: each.code[:3]):
        lines += ["", f"## {hundred}xx: {catalogue.group(hundred)}", ""]
        lines += ["| code | name | severity | what it finds |", "|---|---|---|---|"]
        lines += [f"| {_link(rule.code)} | {rule.name} | {rule.severity} | {rule.title} |" for rule in members]
    return "\n".join([*lines, "", _generated()])


def _page(rule: Rule, others: set[str]) -> str:
    source = Path(inspect.getfile(rule.judge))
    parts = [
        f"# {rule.name} ({rule.code})",
        f"`{rule.severity}` · {catalogue.group(rule.code)} · [source](../../{source.relative_to(ROOT).as_posix()}) · "
        "[all rules](README.md)",
        *(_section(section, others) for section in catalogue.sections(rule)),
    ]
    return "\n\n".join([*parts, _generated()])


def _section(section: Section, others: set[str]) -> str:
    paragraphs = [_linked(" ".join(each.split()), others) for each in inspect.cleandoc(section.prose).split("\n\n")]
    program = [f"```python\n{catalogue.example_source(section.program)}```"] if section.program else []
    return "\n\n".join([f"## {section.heading}", *paragraphs, *program])


def _linked(prose: str, others: set[str]) -> str:
    """Codes of other rules lead to their pages; what stands in backticks stays as it is."""
    parts = _CODE_SPAN.split(prose)
    parts[::2] = [
        _RULE_CODE.sub(lambda code: _link(code[0]) if code[0] in others else code[0], part) for part in parts[::2]
    ]
    return "".join(parts)


def _link(code: str) -> str:
    return f"[{code}]({code}.md)"


def _generated() -> str:
    return f"<!-- Written by `{COMMAND}` from the rule files: change those. -->\n"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    texts = pages(all_rules())
    for left_over in {path.name for path in FOLDER.iterdir()} - set(texts):
        (FOLDER / left_over).unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
