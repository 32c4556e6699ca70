"""The page: whatever a program is called and says, it stays text; nothing else may run, and nothing is loaded."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings

from autograd_doctor.renderers import Earlier, render
from autograd_doctor.renderers.printable import printable
from autograd_doctor.renderers.wording import line_of, summary
from autograd_doctor.report import Report
from autograd_doctor.run_course import Course
from tests.pages import HOSTILE, crowded, curves, drawing, saying
from tests.reports import REPORTS, healthy

_TEXT_ONLY = ("script", "style", "title")


class Page(HTMLParser):
    """The elements, their attributes, and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.contents: dict[str, list[str]] = {name: [] for name in _TEXT_ONLY}
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self._inside = tag if tag in _TEXT_ONLY else ""
        if self._inside:
            self.contents[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.contents[self._inside][-1] += data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


def page(report: Report) -> Page:
    return Page(render("html", report))


def beside_an_earlier_one(words: str) -> str:
    """A page on two reports that say nothing but these words."""
    report = saying(words, crowded())
    return render("html", report, earlier=Earlier(words, report))


@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
def test_words_of_a_program_stay_words(words: str) -> None:
    text = beside_an_earlier_one(words)
    text.encode()
    hostile, harmless = Page(text), Page(beside_an_earlier_one("x"))
    assert hostile.tags == harmless.tags
    assert [(tag, name) for tag, name, _ in hostile.attributes] == [(tag, name) for tag, name, _ in harmless.attributes]
    told = "".join(printable(words, unicode=True).split())
    assert "".join(hostile.texts).replace(" ", "").replace("\n", "").count(told) > 60
    assert words in json.loads(hostile.contents["script"][0])["course"]["series"][0]["name"]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\u202e\ud800-\udfff]", text)


@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
def test_source_stays_source(words: str) -> None:
    report = crowded()
    found = report.findings[0]
    assert found.location is not None
    place = msgspec.structs.replace(found.location, path="gone.py", snippet=f'    call("""{words}')
    gone = msgspec.structs.replace(found, location=place, related=[])
    made = page(msgspec.structs.replace(report, findings=[gone]))
    assert set(made.tags) <= set(page(report).tags)
    assert printable(words, unicode=True)[:100] in "".join(made.texts)


@pytest.mark.parametrize("report", [crowded(), saying(HOSTILE[0], crowded()), healthy()], ids=["all", "hostile", "few"])
def test_only_what_the_page_brings_may_run_and_nothing_is_loaded(report: Report) -> None:
    made = page(report)
    policy = next(value for _, name, value in made.attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    data, *scripts = made.contents["script"]
    for kind, contents in (("style-src", made.contents["style"]), ("script-src", scripts)):
        hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in contents]
        assert re.search(rf"{kind} ([^;]+)", policy)[1].split() == [f"'sha256-{each}'" for each in hashes]  # type: ignore[index]
    assert json.loads(data).keys() == {"course", "networks", "findings", "earlier"}
    addresses = [value for _, name, value in made.attributes if name in ("src", "href", "action", "srcset", "data")]
    assert all(value.startswith("#") or value == "data:," for value in addresses)
    assert not [name for _, name, _ in made.attributes if name.startswith("on") or name == "style"]


def test_links_lead_somewhere() -> None:
    made = page(crowded())
    names = [value for _, name, value in made.attributes if name == "id"]
    assert len(set(names)) == len(names)
    assert {value[1:] for _, name, value in made.attributes if name == "href" and value.startswith("#")} <= set(names)


@pytest.mark.parametrize("name", REPORTS)
def test_the_verdict_is_said_in_the_same_words_as_in_the_terminal(name: str) -> None:
    report = REPORTS[name]()
    assert " ".join(summary(report).replace("`", "").split()) in page(report).text


def test_findings_are_told_in_full() -> None:
    text = page(crowded()).text
    for finding in crowded().findings:
        for said in (
            finding.title,
            finding.message,
            finding.help,
            *finding.notes,
            *(r.message for r in finding.related),
        ):
            assert " ".join(said.replace("`", "").split()) in text
    assert "optimizer.zero_grad()" in text


def test_more_than_a_few_findings_are_listed_first() -> None:
    report = crowded()
    text = " ".join(render("html", report).split())
    (listed,) = re.findall(r'<nav class="card index".*?</nav>', text)
    assert text.index(listed) < text.index('id="finding-1"')
    lines = [Page(line).text for line in re.findall(r"<li>.*?</li>", listed)]
    for number, (finding, line) in enumerate(zip(report.findings, lines, strict=True), start=1):
        assert finding.location is not None
        place, said = line_of(finding.location), finding.message.replace("`", "")
        assert line == f"{number}{finding.severity} {finding.code}{finding.name}{place}{said}"
    assert re.findall(r'href="(#[^"]+)"', listed) == ["#finding-1", "#finding-2", "#finding-3"]
    few = page(msgspec.structs.replace(report, findings=report.findings[:2]))
    assert "All findings" not in [value for _, _, value in few.attributes]


def test_curves_are_called_by_their_variables_with_the_line_beside() -> None:
    said = [value for tag, name, value in page(crowded()).attributes if name == "aria-label" and "over steps" in value]
    assert said[0].startswith("Loss over steps. loss (train.py:14): 3 in step 1,")
    assert "; train.py:15: 1 in step 2," in said[0]


def test_one_network_alone_has_no_colour_to_tell_it_by() -> None:
    report = crowded()
    assert any(value == "dot network-1" for _, _, value in page(report).attributes)
    course = msgspec.structs.replace(report.course, series=[])
    alone = page(msgspec.structs.replace(report, course=course))
    assert not any(value.startswith("dot") for _, _, value in alone.attributes)


def test_what_was_not_reached_is_told_at_the_top_and_in_full_below() -> None:
    made = page(crowded())
    assert ("a", "href", "#not-reached") in made.attributes
    assert "2 places not reached" in made.text
    told = made.text[made.text.index("Not reached") :]
    assert told.startswith("Not reached no backward of these ran; raise --steps or --seconds to watch longer")
    assert "train.py:30in Tuner.fit: loss.backward()train.py:44loss.backward()" in told
    assert made.text.count("Tuner.fit") == 1
    assert "not reached" not in page(healthy()).text.lower()


def test_of_very_many_places_that_were_not_reached_some_are_counted() -> None:
    report = crowded()
    run = msgspec.structs.replace(report.run, not_reached=report.run.not_reached * 50)
    text = page(msgspec.structs.replace(report, run=run)).text
    assert "100 places not reached" in text
    assert text.count("Tuner.fit") == 15
    assert "and 70 more" in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seen_whole": True, "stopped_by": "finished"}, "✓ the whole program"),
        ({"stopped_by": "steps"}, "– not the whole program: stopped after enough steps"),
        ({"stopped_by": "time"}, "– not the whole program: stopped when time ran out"),
        ({"stopped_by": "finished"}, None),
    ],
    ids=["whole", "steps", "time", "cut passes"],
)
def test_whether_the_whole_program_was_seen_is_told(changes: dict[str, Any], said: str | None) -> None:
    report = healthy()
    text = page(msgspec.structs.replace(report, run=msgspec.structs.replace(report.run, **changes))).text
    assert (said in text) if said else "whole program" not in text


def test_sections_without_anything_to_show_are_left_out() -> None:
    report = msgspec.structs.replace(healthy(), course=Course())
    names = {value for _, name, value in page(report).attributes if name == "id"}
    assert names.isdisjoint({"curves", "flow", "modules", "timeline"})
    assert {"findings", "checks", "run"} <= names


def test_a_report_of_a_version_without_a_course_is_drawn_all_the_same() -> None:
    saved = json.loads(render("json", crowded()))
    del saved["course"]
    assert "<h1>" in render("html", msgspec.json.decode(json.dumps(saved), type=Report))


def test_what_was_saved_as_json_gives_the_same_page() -> None:
    report = crowded()
    assert render("html", msgspec.json.decode(render("json", report), type=Report)) == render("html", report)


@settings(max_examples=40)
@example([1.7976e308, -1.7976e308])
@given(curves)
def test_any_curve_has_its_place_on_the_page(curve: list[float]) -> None:
    made = page(drawing(curve))
    course = json.loads(made.contents["script"][0], parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))[
        "course"
    ]
    assert [len(each["values"]) for each in course["series"]] == [len(curve)] * 5
    assert "data-quantity" in [name for _, name, _ in made.attributes]


def test_the_page_is_small() -> None:
    assert len(render("html", healthy()).encode()) < 110_000
    assert len(render("html", crowded()).encode()) < 130_000
