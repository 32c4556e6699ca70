"""The page in Chromium without a window: it is opened, read at two widths, clicked through, and printed.

Debian's `chromium` and `chromium-driver` are enough; without them nothing here is run.
"""

from __future__ import annotations

import base64
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings

from autograd_doctor.api.shown_report import Report as ShownReport
from autograd_doctor.renderers import Earlier, render, render_several
from autograd_doctor.report import Report
from autograd_doctor.reports import Named, together
from tests.harness import PATIENCE, ROOT
from tests.pages import HOSTILE, crowded, curves, drawing, saying
from tests.reports import REPORTS

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
By = pytest.importorskip("selenium.webdriver.common.by").By
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
service = pytest.importorskip("selenium.webdriver.chrome.service")
waiting = pytest.importorskip("selenium.webdriver.support.wait").WebDriverWait

_CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
_DRIVER = shutil.which("chromedriver") or ""
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (_CHROMIUM and _DRIVER), reason="Chromium or its driver is not installed"),
]
DESKTOP, PHONE = 1280, 390
LOADING = 20.0
"""Seconds after which a page that is still drawn hangs."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = _CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=service.Service(_DRIVER))
    browser.set_page_load_timeout(LOADING)
    browser.set_script_timeout(LOADING)
    yield browser
    browser.quit()


class Opened:
    """A page in the browser. Whatever it complains of fails the test."""

    def __init__(self, browser: Any, file: Path, width: int, theme: str = "light") -> None:
        self.browser = browser
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wishes = {"prefers-color-scheme": theme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get("about:blank")
        browser.get_log("browser")
        browser.get(file.as_uri())

    def run(self, script: str) -> Any:
        return self.browser.execute_script(f"return {script}")

    def one(self, selector: str) -> Any:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.browser.find_elements(By.CSS_SELECTOR, selector)
        return found

    def is_fine(self) -> bool:
        """Nothing ran that should not, nothing failed, nothing was asked of a network, and it fits its width."""
        assert self.browser.get_log("browser") == []
        assert self.run("window.hostile") is None
        assert self.run("document.documentElement.dataset.drawn") == ""
        assert self.run("performance.getEntriesByType('resource').map((each) => each.name)") == []
        too_wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return bool(self.run(too_wide) <= 0)


def written(folder: Path, report: Report, earlier: Earlier | None = None) -> Path:
    file = folder / "report.html"
    file.write_text(render("html", report, earlier=earlier), encoding="utf-8")
    return file


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", [*REPORTS, "crowded"])
def test_any_report_is_drawn_at_any_width(chromium: Any, tmp_path: Path, name: str, theme: str, width: int) -> None:
    page = Opened(chromium, written(tmp_path, crowded() if name == "crowded" else REPORTS[name]()), width, theme)
    assert page.is_fine()
    lightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).reduce((sum, part) => sum + +part, 0)"
    assert (page.run(lightness) > 380) == (theme == "light")


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_words_of_a_program_run_nowhere(chromium: Any, tmp_path: Path, width: int) -> None:
    for words in HOSTILE:
        page = Opened(chromium, written(tmp_path, saying(words, crowded())), width)
        assert page.is_fine(), words[:40]
        for link in page.all(".lanes a"):
            page.browser.execute_script(
                "arguments[0].dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))", link
            )
        for box in page.all("details > summary"):
            box.click()
        assert page.run("window.hostile") is None


@settings(max_examples=40)
@example([10.0 ** (-31 * at / 55) for at in range(56)])
@example([10.0 ** (-53 * at / 55) for at in range(56)])
@example([10.0 ** (-323 + 631 * at / 55) for at in range(56)])
@example([1.797e308, -1.797e308])
@example([5e-324])
@given(curves)
def test_any_curve_is_drawn_on_both_scales(chromium: Any, tmp_path: Path, curve: list[float]) -> None:
    page = Opened(chromium, written(tmp_path, drawing(curve)), DESKTOP)
    assert page.is_fine()
    for scale in page.all(".plot button"):
        before = scale.text
        scale.click()
        assert {before, scale.text} == {"log", "linear"}
    assert page.is_fine()
    asked = "JSON.parse(document.getElementById('data').textContent).course.series[0].values"
    finite = f"{asked}.filter((value) => typeof value === 'number')"
    for kind in (f"Axis.linear({finite})", f"Axis.linear({finite}, 1024)", f"Axis.logarithmic({finite})"):
        _axis_is_fit(page, kind, finite)


def _axis_is_fit(page: Opened, kind: str, finite: str) -> None:
    """All values have their place between the ends of the axis, in their order, and it bears a few marks in order."""
    needed = "values.some((value) => value > 0)" if kind.startswith("Axis.log") else "values.length"
    values, places, ends, marks = page.run(
        f"(() => {{ const values = {finite}; if (!{needed}) return [[], [], [0, 1], [0, 1]];"
        f" const axis = {kind}, places = values.map(axis.place);"
        " const ends = axis.range(Math.min(...places), Math.max(...places)); return [values,"
        " places, ends, axis.marks(...ends)]; })()"
    )
    low, high = ends
    assert low < high
    assert all(low <= place <= high and abs(place) < 1100 for place in places)
    by_value = [place for _, place in sorted(zip(values, places, strict=True))]
    assert by_value == sorted(places)
    assert 2 <= len(marks) <= 8
    assert marks == sorted(set(marks))
    assert all(low <= mark <= high for mark in marks)


def test_the_page_works_inside_a_notebook(chromium: Any, tmp_path: Path) -> None:
    """The notebook has parts of the same names, styles of its own, and is reached by nothing on the page."""
    frame = ShownReport.of(crowded())._repr_html_()
    notebook = tmp_path / "notebook.html"
    text = f"<!doctype html><title>notebook</title><style>main {{ display: none }}</style><p id=checks>{frame}"
    notebook.write_text(text, encoding="utf-8")
    page = Opened(chromium, notebook, DESKTOP)
    chromium.switch_to.frame(page.one("iframe"))
    assert page.is_fine()
    assert page.one("main").is_displayed()
    assert page.run("document.querySelectorAll('.plot canvas').length") > 0
    page.one("nav a[href='#checks']").click()
    assert page.run("document.URL") == "about:srcdoc#checks"
    waiting(chromium, LOADING).until(lambda _: page.run("scrollY") > 0)
    assert page.run("(() => { try { return parent.document.title } catch { return 'apart' } })()") == "apart"
    chromium.switch_to.default_content()
    assert page.run("document.URL") == notebook.as_uri()


LABELS = (
    "window.labels = {}; const write = CanvasRenderingContext2D.prototype.fillText;"
    "CanvasRenderingContext2D.prototype.fillText = function (text, x, y) { const figure = this.canvas.closest('.plot');"
    " if (figure) { const all = labels[figure.dataset.quantity] ??= {}; (all[x] ??= []).push([text, y]); }"
    " write.apply(this, arguments); }; document.getElementById('theme').click()"
)
"""Notes what is written on canvases, and has them drawn anew."""


def _labels(page: Opened, quantity: str) -> list[tuple[str, float]]:
    """The names of the marks of the upright axis and how far down they stand, from the top."""
    page.browser.execute_script(LABELS)
    columns = page.run(f"Object.values(labels[{quantity!r}])")
    return sorted(map(tuple, max(columns, key=len)), key=lambda each: each[1])


@pytest.mark.parametrize(
    ("curve", "names"),
    [
        ([10.0**-step for step in range(9)], ["1", "0.01", "1e-4", "1e-6", "1e-8"]),
        ([0.0, *(10.0**-step for step in range(7)), 0.0], ["1", "0.01", "1e-4", "1e-6", "0"]),
        ([0.15 * 1.2**step for step in range(30)], ["30", "10", "3", "1", "0.3"]),
        ([15000.0 + 400 * step for step in range(30)], ["25k", "20k", "15k"]),
        ([0.0005 * step for step in range(6)], ["0.002", "0.001", "0"]),
        ([-3.0, 0.0, 5.0], ["4", "2", "0", "-2"]),
    ],
    ids=["powers", "with zeros", "few powers", "thousands", "small", "negative"],
)
def test_marks_are_few_short_and_apart(chromium: Any, tmp_path: Path, curve: list[float], names: list[str]) -> None:
    page = Opened(chromium, written(tmp_path, drawing(curve)), DESKTOP)
    labels = _labels(page, "loss")
    assert [name for name, _ in labels] == names
    assert all(below - above >= 12 for (_, above), (_, below) in pairwise(labels))


@pytest.mark.parametrize(
    ("curve", "scale", "floor"),
    [([0.0, 1e-6, 1.0], "log", "0"), ([0.0, 0.5, 1.0], "linear", "0"), ([-1.0, 1e-6, 1.0], "linear", "≤ 0")],
    ids=["many powers", "few", "negative"],
)
def test_what_has_no_place_on_a_logarithmic_axis_stands_on_its_floor(
    chromium: Any, tmp_path: Path, curve: list[float], scale: str, floor: str
) -> None:
    page = Opened(chromium, written(tmp_path, drawing(curve)), DESKTOP)
    button, note = (page.one(f'.plot[data-quantity="loss"] {each}') for each in ("button", ".note"))
    assert button.text == scale
    assert note.is_displayed() == (scale == "log")
    if scale == "linear":
        button.click()
    assert note.is_displayed()
    assert note.text.startswith("Zero and less have no place" if floor == "≤ 0" else "Zero has no place")
    assert _labels(page, "loss")[-1][0] == floor
    assert page.is_fine()


def test_from_the_check_to_the_last_click(chromium: Any, tmp_path: Path) -> None:
    """A whole check of a program with a fault, and everything on its page that can be clicked."""
    file = tmp_path / "report.html"
    program = ROOT / "sample_models" / "gradients_pile_up.py"
    command = [sys.executable, "-m", "autograd_doctor", "check", "--output-format", f"html:{file}", str(program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=10 * PATIENCE)
    assert done.returncode == 1, done.stderr
    page = Opened(chromium, file, DESKTOP)
    assert page.is_fine()
    assert "1 error in 64 steps of training" in page.one("h1").text
    assert page.one("#finding-1 mark.primary").text == "optimizer.step()"
    assert page.one("#finding-1 .line.here .no").text == "25"

    titles = [figure.text.splitlines()[0] for figure in page.all(".plot figcaption")]
    assert titles == ["Loss", "Gradient norm", "Update to weight", "Memory"]
    assert all(canvas.size["width"] > 300 for canvas in page.all(".uplot canvas"))
    scale = page.one('.plot[data-quantity="loss"] button')
    assert scale.text == "linear"
    scale.click()
    assert scale.text == "log"
    line = page.all('.plot[data-quantity="loss"] .u-series')[1]
    line.find_element(By.CSS_SELECTOR, "th").click()
    assert "u-off" in line.get_attribute("class")

    page.one("#theme").click()
    assert page.run("document.documentElement.dataset.theme") == "dark"
    assert page.one("#theme").text == "Light"

    explained = page.one("#finding-1 details.explain")
    assert "When this is fine" not in explained.text
    explained.find_element(By.CSS_SELECTOR, "summary").click()
    assert "When this is fine" in explained.text

    flow = page.one("#flow-grid canvas")
    flow.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    assert page.one("#flow-tip").text.startswith("model.0.bias, step 2: ")

    rows = page.all(".tree tbody tr")
    assert [row.is_displayed() for row in rows] == [True] * 4
    page.one(".tree button").click()
    assert [row.is_displayed() for row in rows] == [True, False, False, False]
    page.one(".tree button").click()

    chromium.execute_script(
        "document.querySelector('.lanes a').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert chromium.current_url.endswith("#finding-1")
    page.one("nav a[href='#timeline']").click()
    assert chromium.current_url.endswith("#timeline")
    page.one(".round a.badge").click()
    assert chromium.current_url.endswith("#finding-1")
    assert page.is_fine()


def test_it_can_be_printed_with_everything_open(chromium: Any, tmp_path: Path) -> None:
    page = Opened(chromium, written(tmp_path, crowded()), DESKTOP, "dark")
    chromium.execute_script(
        "window.seen = []; addEventListener('beforeprint', () => seen.push(document.querySelectorAll("
        "'details:not([open])').length, document.documentElement.dataset.theme))"
    )
    printed = base64.b64decode(chromium.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert printed.startswith(b"%PDF")
    assert page.run("window.seen") == [0, "light"]
    assert page.run("document.documentElement.dataset.theme ?? ''") == ""
    assert page.is_fine()


def test_legends_name_the_variable_and_hint_at_its_line(chromium: Any, tmp_path: Path) -> None:
    page = Opened(chromium, written(tmp_path, crowded()), DESKTOP)
    _, *curves = page.all('.plot[data-quantity="loss"] .u-label')
    assert [curve.text for curve in curves] == ["losstrain.py:14", "train.py:15"]
    assert [curve.text for curve in page.all(".u-label .at")] == ["train.py:14"]
    assert [value.text for value in page.all('.plot[data-quantity="loss"] .u-value')] == ["last", "0.25", "inf"]


def test_curves_of_an_earlier_report_are_drawn_beside_those_of_this_one(chromium: Any, tmp_path: Path) -> None:
    report = crowded()
    page = Opened(chromium, written(tmp_path, report, Earlier("before.json", report)), DESKTOP)
    labels = [label.text for label in page.all('.plot[data-quantity="update ratio"] .u-label')]
    assert labels == ["step", "optimizer", "before: optimizer"]
    _, now, before = page.all('.plot[data-quantity="update ratio"] .u-marker')
    assert now.value_of_css_property("border-top-color") == before.value_of_css_property("border-top-color")
    assert page.one(".since h2").text == "Since before.json"
    assert page.is_fine()


def test_an_axis_without_any_finite_value_has_no_marks(chromium: Any, tmp_path: Path) -> None:
    page = Opened(chromium, written(tmp_path, drawing([math.nan] * 8)), DESKTOP)
    page.browser.execute_script(LABELS)
    assert not [text for text in page.run("Object.values(labels.loss).flat().map((each) => each[0])") if "." in text]
    assert page.all('.plot[data-quantity="loss"] .u-value')[-1].text == "NaN"


def test_nothing_of_the_table_is_cut_off_on_a_phone(chromium: Any, tmp_path: Path) -> None:
    page = Opened(chromium, written(tmp_path, crowded()), PHONE)
    card = page.one("#modules .card").rect
    assert all(button.rect["x"] >= card["x"] for button in page.all(".tree button"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_network_has_one_colour_wherever_it_is_drawn(chromium: Any, tmp_path: Path, theme: str) -> None:
    page = Opened(chromium, written(tmp_path, crowded()), DESKTOP, theme)

    def colours(selector: str, style: str) -> list[str]:
        shown = f"[...document.querySelectorAll({selector!r})].map((each) => getComputedStyle(each).{style})"
        found: list[str] = page.run(shown)
        return found

    model, other = colours("#curves > .key .dot", "backgroundColor")
    assert model != other
    assert colours(".tree .dot", "backgroundColor") == [model, other]
    assert colours("#flow-grid .names span", "borderRightColor") == [model] * 4
    assert colours('.plot[data-quantity="gradient norm"] .u-marker', "borderTopColor")[-1] == other
    assert not {model, other} & set(colours('.plot[data-quantity="memory"] .u-marker', "borderTopColor")[-1:])


def test_the_list_of_findings_is_used_with_the_keyboard(chromium: Any, tmp_path: Path) -> None:
    page = Opened(chromium, written(tmp_path, crowded()), PHONE)
    lines = page.all(".index a")
    assert len(lines) == 3
    boxes = [[part.rect for part in line.find_elements(By.CSS_SELECTOR, "span")] for line in lines]
    assert all(part["x"] + part["width"] <= PHONE and part["width"] > 5 for line in boxes for part in line)
    chromium.execute_script("arguments[0].focus()", lines[0])
    chromium.switch_to.active_element.send_keys(Keys.TAB)
    chromium.switch_to.active_element.send_keys(Keys.ENTER)
    assert chromium.current_url.endswith("#finding-2")
    top = page.run("document.getElementById('finding-2').getBoundingClientRect().top")
    assert 0 < top < 100
    chromium.switch_to.active_element.send_keys(Keys.TAB)
    assert page.run("document.activeElement.closest('article').id") == "finding-2"
    assert page.is_fine()


def test_it_is_read_without_a_mouse_and_without_eyes(chromium: Any, tmp_path: Path) -> None:
    page = Opened(chromium, written(tmp_path, crowded()), DESKTOP)
    pictures = page.all("[role=img]")
    assert len(pictures) >= 6
    assert all(len(picture.get_attribute("aria-label")) > 20 for picture in pictures)
    assert "model.body.1: zero" in page.one("#flow-grid canvas").get_attribute("aria-label")
    reached = []
    for _ in range(60):
        chromium.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(page.run("document.activeElement.outerHTML.slice(0, 60)"))
    for wanted in (
        'class="skip"',
        'href="#curves"',
        'id="theme"',
        'class="code"',
        "<summary>",
        "<canvas",
        'class="card scroll"',
    ):
        assert any(wanted in each for each in reached), wanted


@pytest.mark.parametrize("width", [1440, PHONE])
def test_several_targets_are_drawn_on_one_page(chromium: Any, tmp_path: Path, width: int) -> None:
    made = [Named("one", crowded()), Named("<b>two</b>", REPORTS["healthy"]()), Named("three", crowded())]
    file = tmp_path / "report.html"
    file.write_text(render_several("html", together(made, ["never"])), encoding="utf-8")
    page = Opened(chromium, file, width)
    assert page.is_fine()
    assert [link.text for link in page.all(".targets .name")] == ["one", "<b>two</b>", "three"]
    assert page.run("[...document.querySelectorAll('[id]')].length") == page.run(
        "new Set([...document.querySelectorAll('[id]')].map((each) => each.id)).size"
    )
    for at in ("t1-", "t3-"):
        assert page.all(f"#{at}flow-grid canvas")
        assert page.all(f"#{at}lanes svg")
        assert page.all(f"[data-report={at}] .plot canvas")
        assert all(link.get_dom_attribute("href").startswith(f"#{at}finding-") for link in page.all(f"#{at}lanes a"))
    page.all(".targets a")[2].click()
    assert page.run("location.hash") == "#t3-top"
