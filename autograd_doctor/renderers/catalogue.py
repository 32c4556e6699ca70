"""The rules themselves: `rules_text`, `rules_json` for `doctor rules`; `explain_text`, `explain_json` for `explain`.

The text functions take the same `width`, `color` and `unicode` as `renderers.render`, the JSON functions rules only.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Struct
from rich.text import Text

from autograd_doctor.findings import Severity
from autograd_doctor.renderers import MIN_WIDTH, Options
from autograd_doctor.renderers.canvas import FAINT, SEVERITY_STYLES, Canvas
from autograd_doctor.renderers.drawing import highlighted
from autograd_doctor.renderers.printable import code_line
from autograd_doctor.rules import Example, Rule, Tunable
from autograd_doctor.wording import plural

_HUNDREDS = {
    "1": "the step life cycle",
    "2": "connectivity: does the loss reach every parameter?",
    "3": "graph lifetime and memory",
    "4": "numerics",
    "5": "autograd errors, custom functions, checkpointing",
    "6": "loss and model",
    "7": "data",
    "8": "efficiency",
    "9": "distributed",
}

_REPORTED: dict[Severity, str] = {"error": "an error", "warning": "a warning", "info": "as information"}

_UNTIL_ITS_END = (
    "If the check ends before the program does, or did not watch all its steps, whatever a later stage may still "
    "change is reported as seen so far, one severity lower."
)
_TYPE_REMARK = re.compile(r"  # type: ignore\[[^\]]*\]")


@dataclass(frozen=True)
class Section:
    """A part of a rule's page: paragraphs, in which what stands in backticks is code, and then perhaps a program."""

    heading: str
    prose: str
    program: Example | None = None


def sections(rule: Rule) -> list[Section]:
    """What there is to say of a rule, in order; what has nothing to say is left out."""
    told = [
        Section("What it does", _in_short(rule)),
        Section("Why it is bad", rule.why),
        Section("Evidence", rule.observes),
        Section("Example", "The finding points to the marked line.", rule.bad[0]),
        Section("Use instead", rule.fix, rule.good[0]),
        Section("When this is fine", _fine(rule)),
        Section("Options", _options(rule)),
        Section("How to silence it", _silencing(rule)),
        Section("References", "\n\n".join(rule.references)),
    ]
    return [section for section in told if section.prose.strip()]


class Entry(Struct, frozen=True, kw_only=True):
    """One line of the catalogue."""

    code: str
    name: str
    severity: Severity
    title: str
    needs_phases: tuple[str, ...]
    tunables: dict[str, Tunable]


class Page(Entry, frozen=True, kw_only=True):
    """Everything about a rule. `bad` and `good` are the sources of whole programs."""

    observes: str
    why: str
    fix: str
    fine: str
    needs: list[str]
    folds: tuple[str, ...]
    bad: list[str]
    good: list[str]
    references: tuple[str, ...]


def rules_json(rules: Iterable[Rule]) -> str:
    """The catalogue as a list."""
    return _json([Entry(**_entry(rule)) for rule in rules])


def explain_json(rules: Iterable[Rule]) -> str:
    """The pages of some rules as a list."""
    return _json([_page(rule) for rule in rules])


def rules_text(rules: Sequence[Rule], *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """The catalogue as a table, grouped by hundreds."""
    canvas = Canvas(Options(max(width, MIN_WIDTH), color, unicode))
    return canvas.text(_table(canvas, sorted(rules, key=lambda rule: rule.code)))


def explain_text(rule: Rule, *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """The page of a rule, section by section."""
    canvas = Canvas(Options(max(width, MIN_WIDTH), color, unicode))
    return canvas.text(_explanation(canvas, rule))


def group(code: str) -> str:
    """What the rules of this hundred are about; nothing for one that the doctor does not know."""
    return _HUNDREDS.get(code[2:3], "")


def example_source(example: Example) -> str:
    """The body of an example as the script that it stands for, without remarks to the type checker."""
    lines = textwrap.dedent(_TYPE_REMARK.sub("", inspect.getsource(example))).split("\n")
    header = next(number for number, line in enumerate(lines) if line.startswith("def "))
    return textwrap.dedent("\n".join(lines[header + 1 :])).rstrip() + "\n"


# -------------------------------------------------------------------------------------------------------------- JSON


def _json(entries: Sequence[Entry]) -> str:
    return msgspec.json.format(msgspec.json.encode(entries), indent=2).decode() + "\n"


def _entry(rule: Rule) -> dict[str, Any]:
    return {field: getattr(rule, field) for field in Entry.__struct_fields__}


def _page(rule: Rule) -> Page:
    return Page(
        **_entry(rule),
        observes=rule.observes,
        why=rule.why,
        fix=rule.fix,
        fine=_fine(rule),
        needs=[event.__name__ for event in rule.needs],
        folds=rule.folds,
        bad=[example_source(example) for example in rule.bad],
        good=[example_source(example) for example in rule.good],
        references=rule.references,
    )


# ------------------------------------------------------------------------------------------------------------- table


def _table(canvas: Canvas, rules: Sequence[Rule]) -> Iterator[Text]:
    widest = max((len(rule.name) for rule in rules), default=0)
    for hundred, members in groupby(rules, key=lambda rule: rule.code[2:3]):
        yield from canvas.indented(Text(f"AD{hundred}xx  {group(f'AD{hundred}')}".rstrip(), style="bold"))
        for rule in members:
            yield from _row(canvas, rule, widest)
        yield Text("")
    yield Text(f"{plural(len(rules), 'rule')}; `doctor explain CODE` explains one", style=FAINT)


def _row(canvas: Canvas, rule: Rule, widest: int) -> Iterator[Text]:
    severity = Text(f"{rule.severity:<8}", style=SEVERITY_STYLES[rule.severity])
    prefix = Text.assemble("  ", (rule.code, "bold"), "  ", severity, f" {rule.name:<{widest}}  ")
    if canvas.width - prefix.cell_len < 32:
        yield Text.assemble("  ", (rule.code, "bold"), "  ", severity, f" {rule.name}")
        prefix = Text(" " * 9)
    yield from canvas.beside(prefix, canvas.prose(rule.title))


# -------------------------------------------------------------------------------------------------------------- page


def _in_short(rule: Rule) -> str:
    sentences = [f"Reports {_REPORTED[rule.severity]}: {rule.title}."]
    if rule.needs_phases:
        sentences.append(f"The run must include {' and '.join(rule.needs_phases)}.")
    if rule.folds:
        sentences.append(
            f"Findings that only follow from this one become notes on it: {', '.join(sorted(rule.folds))}."
        )
    return " ".join(sentences)


def _sentence(text: str) -> str:
    """A remark that begins in lower case and has no full stop, as a sentence."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _fine(rule: Rule) -> str:
    return f"{rule.fine} {_UNTIL_ITS_END}" if rule.lasting else rule.fine


def _options(rule: Rule) -> str:
    if not rule.tunables:
        return ""
    name, first = next(iter(rule.tunables.items()))
    example = f"To change one, write in the settings: `rules: {{{rule.code}: {{{name}: {first.default}}}}}`."
    return "\n\n".join([*(_option(*each) for each in rule.tunables.items()), example])


def _option(name: str, tunable: Tunable) -> str:
    return f"- `{name}` = {tunable.default}: {tunable.meaning}. {_sentence(tunable.source)}"


def _silencing(rule: Rule) -> str:
    return (
        f"One place: `# doctor: ignore[{rule.code}] reason` on the line, or alone on the line above. One subject: "
        f"`ignore: [{{code: {rule.code}, subject: NAME, reason: WHY}}]` in the settings. Everything found today: "
        f"`doctor check --write-baseline`. The whole rule: `--ignore {rule.code}`."
    )


def _explanation(canvas: Canvas, rule: Rule) -> Iterator[Text]:
    head = Text.assemble((f"{rule.severity}[{rule.code}]", SEVERITY_STYLES[rule.severity]), (f" {rule.name}", "bold"))
    yield from canvas.indented(head)
    for section in sections(rule):
        yield from _section(canvas, section)


def _section(canvas: Canvas, section: Section) -> Iterator[Text]:
    yield Text("")
    yield Text(section.heading.lower(), style="bold cyan")
    for paragraph in inspect.cleandoc(section.prose).split("\n\n"):
        mark = "- " if paragraph.startswith("- ") else ""
        yield from canvas.beside(Text(f"  {mark}"), canvas.prose(" ".join(paragraph.removeprefix(mark).split())))
    if section.program:
        yield Text("")
        yield from _program(canvas, section.program)


def _program(canvas: Canvas, example: Example) -> Iterator[Text]:
    for line in example_source(example).rstrip().split("\n"):
        shown, _ = code_line(line, unicode=canvas.options.unicode)
        code = highlighted(shown) if canvas.options.color else Text(shown)
        if "# <- AD" in shown:
            code.stylize("bold red")
        yield Text.assemble("    ", code)
