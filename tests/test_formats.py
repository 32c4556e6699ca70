"""The formats that machines read: golden files, the schemas of others, and properties that hold for any report.

`pytest --bless tests/test_formats.py` writes the golden files anew; read the difference.
"""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import msgspec
import pytest
from any_report import reports
from golden_files import check_golden
from hypothesis import given, settings
from jsonschema import Draft4Validator, Draft7Validator
from markdown_it import MarkdownIt
from markdown_it.token import Token
from reports import GOLDEN, REPORTS, notebook, rule, sick
from xmlschema import XMLSchema

from autograd_doctor import __version__
from autograd_doctor.renderers import formats, render, sarif_rules
from autograd_doctor.renderers.markdown import within
from autograd_doctor.renderers.printable import one_line, printable
from autograd_doctor.report import BaselineFacts, Report, ReportedFinding, Suppression, from_json

SCHEMAS = Path(__file__).parent / "schemas"
SARIF = Draft4Validator(json.loads((SCHEMAS / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8")))
GITLAB = Draft7Validator(json.loads((SCHEMAS / "gitlab-code-quality.json").read_text(encoding="utf-8")))
JUNIT = XMLSchema(SCHEMAS / "junit-10.xsd")
MARKDOWN = MarkdownIt("commonmark").enable("table").enable("strikethrough")
ENDINGS = {"json": "json", "json-lines": "jsonl", "sarif": "sarif", "github": "github", "gitlab": "gitlab.json"}
ENDINGS |= {"junit": "xml", "markdown": "md", "agent": "agent.txt"}

anything = settings(max_examples=80)


@pytest.mark.parametrize("format_name", ENDINGS)
@pytest.mark.parametrize("name", REPORTS)
def test_golden(name: str, format_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif_rules, "all_rules", lambda: (rule("AD101", name="missing-zero-grad"),))
    text = render(format_name, REPORTS[name]())
    text = text.replace(str(GOLDEN), "/golden").replace(f'"version": "{__version__}"', '"version": "0"')
    # It depends on where the tests lie, as the folder of the program does.
    text = re.sub(r'"checksum": "[0-9a-f]{64}"', '"checksum": "0"', text)
    check_golden(GOLDEN / f"{name}.{ENDINGS[format_name]}", text)


def test_every_format_is_golden() -> None:
    assert {*formats()} - {"html"} == {"full", "concise", *ENDINGS}


def in_order(report: Report) -> list[ReportedFinding]:
    return [*report.findings, *report.suppressed]


def shown(finding: ReportedFinding) -> str:
    return one_line(finding.message or finding.title)


def green_or_told(report: Report) -> bool:
    """Whether the findings tell why the check is not green, if it is not."""
    return report.verdict == "passed" or (report.verdict == "faults" and bool(report.findings))


def is_harmless(text: str) -> bool:
    """Whether nothing in it can move a cursor, ring, or turn the order of letters."""
    return all(character == "\n" or unicodedata.category(character) not in ("Cc", "Cs") for character in text)


# -------------------------------------------------------------------------------------------------------------- JSON


@anything
@given(reports())
def test_json_gives_the_same_report_when_read(report: Report) -> None:
    text = render("json", report)
    assert from_json(text.encode()) == report
    lines = render("json-lines", report).split("\n")
    assert lines.pop() == ""
    assert [msgspec.json.decode(line, type=ReportedFinding) for line in lines] == in_order(report)


# -------------------------------------------------------------------------------------------------- full and concise


@anything
@given(reports())
def test_any_report_can_be_shown_to_people(report: Report) -> None:
    lines = render("concise", report).split("\n")
    assert len(lines) == len(report.findings) + 2
    assert all(is_harmless(line) for line in lines)
    assert is_harmless(render("full", report))


# ------------------------------------------------------------------------------------------------------------- SARIF


def sarif_run(report: Report) -> dict[str, Any]:
    log = json.loads(render("sarif", report))
    SARIF.validate(log)
    (run,) = log["runs"]
    return dict(run)


@pytest.mark.parametrize("name", REPORTS)
def test_sarif_is_what_oasis_and_github_ask_for(name: str) -> None:
    report = REPORTS[name]()
    run = sarif_run(report)
    for described in run["tool"]["driver"]["rules"]:
        assert described["shortDescription"]["text"]
        assert 0 < len(described["fullDescription"]["text"]) <= 1024
        assert described["help"]["text"]
        assert described["properties"]["precision"] in ("high", "medium", "low")
        assert len(described["properties"]["tags"]) <= 20
    assert all(result["locations"] for result in run["results"])
    assert run["invocations"][0]["exitCode"] == report.exit_code
    assert run["invocations"][0]["executionSuccessful"] == (report.verdict in ("passed", "faults"))


def test_sarif_says_which_rules_could_not_look() -> None:
    results = sarif_run(sick())["results"]
    silent = {
        result["ruleId"]: result["message"]["text"] for result in results if result.get("kind") == "notApplicable"
    }
    assert silent == dict.fromkeys(["AD209", "AD211", "AD608"], "not checked: no evaluation was seen")


def test_sarif_gives_a_cell_no_region_and_names_it() -> None:
    first, second, silenced = sarif_run(notebook())["results"]
    assert "region" not in first["locations"][0]["physicalLocation"]
    assert first["message"]["text"].startswith("train.ipynb:cell 3:5:9: ")
    assert second["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "train.ipynb"
    assert silenced["suppressions"] == [{"kind": "inSource", "justification": "the graph is drawn later"}]


def test_sarif_says_what_a_baseline_held() -> None:
    report = notebook()
    first, *others = report.findings
    held = msgspec.structs.replace(first, suppressed=Suppression("baseline", ""))
    facts = BaselineFacts(path="b.json", matched=1, stale=0)
    report = msgspec.structs.replace(report, findings=others, suppressed=[held], baseline=facts)
    states = [result.get("baselineState") for result in sarif_run(report)["results"]]
    assert states == [*["new"] * len(others), "unchanged"]
    assert "baselineState" not in sarif_run(notebook())["results"][0]


def test_sarif_cuts_long_descriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif_rules, "all_rules", lambda: (rule("AD101", observes="word " * 500),))
    described = sarif_run(sick())["tool"]["driver"]["rules"][0]
    assert len(described["fullDescription"]["text"]) == 1024


@anything
@given(reports())
def test_any_report_is_sarif(report: Report) -> None:
    run = sarif_run(report)
    codes = [described["id"] for described in run["tool"]["driver"]["rules"]]
    failed = [result for result in run["results"] if result.get("kind") != "notApplicable"]
    assert len(set(codes)) == len(codes)
    assert all(codes[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    assert [result["ruleId"] for result in failed] == [finding.code for finding in in_order(report)]
    for result, finding in zip(failed, in_order(report), strict=True):
        assert is_harmless(result["message"]["text"])
        assert bool(result.get("suppressions")) == (finding.suppressed is not None)
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9%/._~:-]*", uri)
        if finding.location:
            assert unquote(urlsplit(uri).path if uri.startswith("file:") else uri) == finding.location.path


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("read [this](http://e)", r"read \[this\](http://e)"),
        ("`x[0]` is (1, 2)", "`x[0]` is (1, 2)"),
        ("", "(no message)"),
    ],
)
def test_a_program_makes_no_links_in_sarif(text: str, wanted: str) -> None:
    from autograd_doctor.renderers.sarif_text import plain

    assert plain(text) == wanted


# ------------------------------------------------------------------------------------------------------------ GitHub

COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def unescaped(text: str) -> str:
    for code, character in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """The commands among the lines, as the runner reads them; every other line is plain."""
    found = []
    for line in re.split(r"\r\n|\r|\n", text):
        if match := COMMAND.fullmatch(line):
            pairs = (pair.partition("=") for pair in match[2].split(","))
            found.append((match[1], {key: unescaped(value) for key, _, value in pairs}, unescaped(match[3])))
        else:
            assert not line.strip().startswith("::")
            assert "##[" not in line
    return found


@anything
@given(reports())
def test_any_report_is_annotations(report: Report) -> None:
    found = commands(render("github", report))
    judged = green_or_told(report)
    assert len(found) == len(report.findings) + (not judged)
    ordered = sorted(report.findings, key=lambda each: ["error", "warning", "info"].index(each.severity))
    for (_, properties, data), finding in zip(found[not judged :], ordered, strict=True):
        assert set(properties) <= {"title", "file", "line", "endLine", "col", "endColumn"}
        assert f"{finding.code} {printable(finding.message or finding.title, unicode=True)}" in data
        assert is_harmless(data)
        assert ("col" in properties) <= (properties.get("line") == properties.get("endLine"))
        assert ("endColumn" in properties) <= ("col" in properties)
        if finding.location is None or finding.location.cell:
            assert "line" not in properties


def test_github_takes_ten_of_a_kind_and_the_log_has_the_others() -> None:
    report = sick()
    many = [msgspec.structs.replace(report.findings[0], subject=str(number)) for number in range(13)]
    text = render("github", msgspec.structs.replace(report, findings=[*many, *report.findings[1:]]))
    assert [kind for kind, _, _ in commands(text)] == ["error"] * 10 + ["warning", "notice"]
    assert text.count("AD101 this backward") == 13


# ------------------------------------------------------------------------------------------------------------ GitLab


@anything
@given(reports())
def test_any_report_is_code_quality(report: Report) -> None:
    issues = json.loads(render("gitlab", report))
    GITLAB.validate(issues)
    assert [issue["check_name"] for issue in issues] == [finding.code for finding in report.findings]
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    assert all(is_harmless(issue["description"]) for issue in issues)


def test_a_fingerprint_stays_that_of_the_finding_unless_it_is_taken() -> None:
    report = sick()
    twice = msgspec.structs.replace(report, findings=[report.findings[0], *report.findings])
    once, again = (json.loads(render("gitlab", each)) for each in (report, twice))
    assert [issue["fingerprint"] for issue in once] == [finding.fingerprint for finding in report.findings]
    assert again[0]["fingerprint"] == once[0]["fingerprint"] != again[1]["fingerprint"]


# ------------------------------------------------------------------------------------------------------------- JUnit


@anything
@given(reports())
def test_any_report_is_junit(report: Report) -> None:
    text = render("junit", report)
    JUNIT.validate(text)
    suite = ElementTree.fromstring(text.encode())[0]
    cases = {case.attrib["name"].partition(" ")[0]: case for case in suite.iter("testcase")}
    assert len(cases) == len(list(suite.iter("testcase"))) == int(suite.attrib["tests"])
    assert (cases["run"].find("error") is None) == green_or_told(report)
    found = {finding.code for finding in report.findings}
    for code in {*found, *report.checks.ran, *report.checks.skipped}:
        outcomes = {child.tag for child in cases[code]} - {"system-out"}
        broken = {"error" if code == "AD000" else "failure"}
        assert outcomes == (broken if code in found else {"skipped"} if code in report.checks.skipped else set())
    said = "\n".join(text for case in cases.values() for text in case.itertext())
    assert all(printable(finding.message, unicode=True) in said for finding in in_order(report))


# ---------------------------------------------------------------------------------------------------------- Markdown


def inline_text(token: Token) -> str:
    return "".join(
        child.content for child in token.children or () if child.type in ("text", "code_inline", "softbreak")
    )


@anything
@given(reports())
def test_any_report_is_markdown_with_nothing_but_text_in_it(report: Report) -> None:
    tokens = MARKDOWN.parse(render("markdown", report))
    inline = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in (*tokens, *inline)}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "s_open", "code_block", "blockquote_open"}
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h2"] + ["h3"] * len(report.findings)
    cells = [inline_text(tokens[at + 1]) for at, token in enumerate(tokens) if token.type == "td_open"]
    assert len(cells) == 4 * len(report.findings)
    for (severity, _, _, what), finding in zip(zip(*[iter(cells)] * 4, strict=True), report.findings, strict=True):
        assert severity == finding.severity
        assert without_marks(what) == without_marks(shown(finding))


def without_marks(text: str) -> str:
    """Text without what Markdown may lose: backticks of code, and the space that keeps a name from being notified."""
    return re.sub("[`\\\\\u200b ]", "", text)


@given(reports())
@settings(max_examples=30)
def test_no_fence_is_closed_from_within(report: Report) -> None:
    tokens = MARKDOWN.parse(render("markdown", report))
    places = sum(finding.location is not None or bool(finding.related) for finding in report.findings)
    assert sum(token.type == "fence" for token in tokens) == places


def test_markdown_leaves_out_details_that_do_not_fit() -> None:
    report = sick()
    whole = within(report, None)
    assert (whole.left_out, whole.text) == (0, render("markdown", report))
    assert within(report, len(whole.text.encode())).left_out <= 1
    for limit in (1500, 2000, 3000):
        part = within(report, limit)
        assert len(part.text.encode()) <= limit
        assert part.left_out == 3 - part.text.count("\n### ")
        assert f"The details of {part.left_out} finding" in part.text
        assert "AD210" in part.text
