"""The report for a person at a terminal: what was run, each finding in the user's own source, what was not seen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.text import Text

from autograd_doctor.renderers import Options, Part
from autograd_doctor.renderers.canvas import FAINT, GOOD, SEVERITY_STYLES, Canvas
from autograd_doctor.renderers.changes import later, outcome
from autograd_doctor.renderers.one_finding import finding_lines, later_lines
from autograd_doctor.renderers.printable import one_line, printable
from autograd_doctor.renderers.profile_lines import profile_lines
from autograd_doctor.renderers.remarks import command, is_function, is_profile, remarks
from autograd_doctor.renderers.since import since
from autograd_doctor.renderers.wording import HEADED, SUMMARY, heading, listed, machine, stopped, summary
from autograd_doctor.report import Assumed, OptimizerFacts, Report
from autograd_doctor.reports import Reports, closing
from autograd_doctor.wording import plural

NAME = "full"
SIGN = re.compile(
    r"(doctor (check|fix|profile|gradcheck)|watched)\b[^\n]*(\n[^\n]+)*?\n  (torch |\d+ steps?\b)|  assumed  "
    rf"|(\S\s{{1,3}})?({SUMMARY})|{HEADED}"
)


def render(report: Report, options: Options) -> str:
    """A healthy run takes a few lines; anything else begins with a header and has a block for each finding."""
    canvas = Canvas(options)
    return canvas.text(_lines(canvas, report))


def compose(reports: Reports, parts: Sequence[Part], options: Options) -> str:
    """Each report below a heading, and a line that counts them."""
    canvas = Canvas(options)
    said = []
    for part in parts:
        title = canvas.prose(one_line(heading(reports, part.number, part.name)), "bold")
        said += [canvas.text([*canvas.indented(title), Text("")]), render(part.report, part.options), "\n"]
    return "".join(said) + canvas.text(canvas.indented(canvas.prose(one_line(closing(reports)), "bold")))


def _lines(canvas: Canvas, report: Report) -> Iterator[Text]:
    if report.findings or report.verdict != "passed" or is_profile(report):
        yield from _header(canvas, report)
        yield Text("")
    if report.profile is not None and report.profile.iterations:
        yield from profile_lines(canvas, report.profile, report.course)
        yield Text("")
    if report.assumed:
        yield from _assumed(canvas, report.assumed)
        yield Text("")
    for finding in report.findings:
        yield from finding_lines(canvas, finding, report)
        yield Text("")
    for each in later(report):
        yield from later_lines(canvas, each)
        yield Text("")
    yield from _footer(canvas, report)


# ------------------------------------------------------------------------------------------------------------ header


def _header(canvas: Canvas, report: Report) -> Iterator[Text]:
    typed = command(report)
    yield from canvas.indented(Text.assemble(canvas.prose(one_line(typed), "bold")))
    for facts in (machine(report), seen(report)):
        if facts:
            text = f" {canvas.glyphs.separator} ".join(facts)
            yield from canvas.beside(Text("  "), canvas.prose(text, FAINT))


def _assumed(canvas: Canvas, assumed: Assumed) -> Iterator[Text]:
    """What was assumed, and the settings to copy, whose lines are left as they are."""
    for number, said in enumerate(assumed.said):
        yield from canvas.beside(Text("  assumed  " if number == 0 else "           "), canvas.prose(said))
    yield from canvas.indented(canvas.prose("  the same as settings, to keep or change:", FAINT))
    for line in assumed.settings.splitlines():
        yield Text(f"    {printable(line, unicode=canvas.options.unicode)}")


def seen(report: Report) -> list[str]:
    """Steps, optimizers and phases that were seen, and why no more."""
    if is_function(report):
        return []
    phases = ", ".join(report.run.phases_seen)
    facts = [f"{len(report.run.ranks)} ranks"] if len(report.run.ranks) > 1 else []
    facts += [f"{plural(report.run.steps, 'step')}{f' of {_optimizers(report)}' if report.run.optimizers else ''}"]
    some = 0 < report.run.steps_in_full < report.run.steps
    facts += [f"{report.run.steps_in_full} recorded in full"] if some else []
    return facts + ([f"saw {phases}"] if phases else []) + [stopped(report)]


def _optimizers(report: Report) -> str:
    return listed([_optimizer(each) for each in report.run.optimizers], 3)


def _optimizer(facts: OptimizerFacts) -> str:
    if not facts.kind:
        return facts.name
    return f"`{facts.name}` ({facts.kind})" if facts.name and facts.name != facts.kind else f"`{facts.kind}`"


# ------------------------------------------------------------------------------------------------------------ footer


def _footer(canvas: Canvas, report: Report) -> Iterator[Text]:
    yield from canvas.indented(_summary(canvas, report))
    earlier = canvas.options.earlier
    rows = [*(since(report, earlier) if earlier else ()), *outcome(report), *remarks(report)]
    width = max((len(label) for label, _ in rows), default=0)
    for label, text in rows:
        yield from canvas.beside(Text(f"  {label:<{width}}  ", style=FAINT), canvas.prose(text, FAINT))


def _summary(canvas: Canvas, report: Report) -> Text:
    text = canvas.prose(one_line(summary(report)), "bold")
    if report.findings:
        text.stylize(SEVERITY_STYLES[report.findings[0].severity])
    elif report.verdict == "passed":
        text = Text.assemble((f"{canvas.glyphs.good} ", GOOD), text)
        text.stylize(GOOD)
    else:
        text.stylize(SEVERITY_STYLES["warning"])
    return text
