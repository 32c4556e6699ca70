"""JUnit XML for the test pages of CI systems: a test case for each rule, and one for the run itself.

Rules that judged pass or fail; those that could not are skipped, with the reason. What kept the doctor from a verdict
is an error of the case `run`, so that nothing is green that was not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from autograd_doctor.renderers import Options, Part
from autograd_doctor.renderers.printable import one_line, printable
from autograd_doctor.renderers.spots import spot
from autograd_doctor.renderers.wording import failed_by_itself, summary
from autograd_doctor.report import Report, ReportedFinding
from autograd_doctor.reports import Reports, closing
from autograd_doctor.rules import all_rules
from autograd_doctor.wording import plural

NAME = "junit"
SIGN = re.compile(r'<\?xml [^>]*>\s*<testsuites [^>]*>\s*<testsuite name="autograd_doctor(: [^"]*)?"')

_COUNTED: Mapping[str, type[int] | type[float]] = {"tests": int, "failures": int, "errors": int, "time": float}
_RULE_CRASHED = "AD000"


def render(report: Report, options: Options) -> str:
    """Indented XML in the dialect that Jenkins, GitLab and pytest's own reports share."""
    root = Element("testsuites")
    suite = _add_suite(root, "autograd_doctor", report)
    root.attrib.update({name: value for name, value in suite.attrib.items() if name in _COUNTED})
    return _text_of(root)


def compose(reports: Reports, parts: Sequence[Part], options: Options) -> str:
    """A suite for each target, whose cases are of a class with its name; one that was not checked is an error."""
    root = Element("testsuites")
    suites = [_add_suite(root, f"autograd_doctor: {one_line(part.name)}", part.report, part.name) for part in parts]
    for name in reports.not_checked:
        suites.append(SubElement(root, "testsuite", name=f"autograd_doctor: {one_line(name)}"))
        case = SubElement(suites[-1], "testcase", classname=one_line(name), name="run")
        _add(case, "error", "not-checked", closing(reports), [])
        _count(suites[-1], 0.0)
    for count, kind in _COUNTED.items():
        root.set(count, f"{sum(kind(suite.attrib[count]) for suite in suites):{'.3f' if kind is float else ''}}")
    return _text_of(root)


def _add_suite(root: Element, name: str, report: Report, called: str = "") -> Element:
    suite = SubElement(root, "testsuite", name=name)
    _add_properties(suite, report)
    _add_run(suite, report)
    for code in _codes(report):
        _add_rule(suite, report, code)
    for case in suite.findall("testcase") if called else ():
        case.set("classname", one_line(called))
    _count(suite, report.run.seconds)
    return suite


def _text_of(root: Element) -> str:
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _codes(report: Report) -> list[str]:
    """Every rule that ran, was skipped, or found something."""
    found = [finding.code for finding in (*report.findings, *report.suppressed)]
    return sorted({*report.checks.ran, *report.checks.skipped, *found})


def _add_properties(suite: Element, report: Report) -> None:
    properties = SubElement(suite, "properties")
    about = report.environment
    said = {"python": about.python, "torch": about.torch, "device": about.device, "steps": str(report.run.steps)}
    for name, value in said.items():
        SubElement(properties, "property", name=name, value=one_line(value))


def _add_run(suite: Element, report: Report) -> None:
    case = _case(suite, report, "run")
    if failed_by_itself(report):
        _add(case, "error", report.verdict, report.exit_reason, [summary(report), *report.notes])


def _add_rule(suite: Element, report: Report, code: str) -> None:
    findings = [finding for finding in report.findings if finding.code == code]
    case = _case(suite, report, _titled(code))
    if findings:
        message = findings[0].message or findings[0].title
        more = f" (and {plural(len(findings) - 1, 'more finding')})" if len(findings) > 1 else ""
        kind = "error" if code == _RULE_CRASHED else "failure"
        details = [line for finding in findings for line in _details(report, finding)]
        _add(case, kind, findings[0].severity, f"{spot(report, findings[0])}: {message}{more}", details)
    elif code in report.checks.skipped:
        SubElement(case, "skipped", message=one_line(report.checks.skipped[code]))
    suppressed = [_suppression(report, finding) for finding in report.suppressed if finding.code == code]
    if suppressed:
        SubElement(case, "system-out").text = _text(suppressed)


def _titled(code: str) -> str:
    """A code with the name of its rule, if it has one: the same in every report, since histories go by it."""
    return " ".join([code, *(rule.name for rule in all_rules() if rule.code == code)])


def _case(suite: Element, report: Report, name: str) -> Element:
    return SubElement(suite, "testcase", classname=one_line(report.target.name), name=one_line(name))


def _add(case: Element, kind: str, what: str, message: str, details: Iterable[str]) -> None:
    SubElement(case, kind, type=what, message=one_line(message)).text = _text(details)


def _details(report: Report, finding: ReportedFinding) -> list[str]:
    lines = [f"{finding.severity}[{finding.code}] {finding.name}: {finding.title}"]
    lines += [f"{spot(report, finding)}: {finding.message}", *finding.notes]
    return [*lines, f"help: {finding.help}"] if finding.help else lines


def _suppression(report: Report, finding: ReportedFinding) -> str:
    reason = finding.suppressed.reason if finding.suppressed else ""
    return f"suppressed{f' ({reason})' if reason else ''}: {spot(report, finding)}: {finding.message}"


def _count(suite: Element, seconds: float) -> None:
    cases = suite.findall("testcase")
    counted = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "time": f"{max(0.0, seconds):.3f}",
    }
    suite.attrib.update(counted, skipped=str(sum(case.find("skipped") is not None for case in cases)))


def _text(parts: Iterable[str]) -> str:
    """Text that XML can hold: it has no way to write control characters."""
    return "\n".join(printable(part, unicode=True) for part in parts)
