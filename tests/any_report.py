"""Any report: findings, places and texts as hostile as a program can make them."""

from __future__ import annotations

from typing import get_args

import msgspec
from hypothesis import strategies as st
from reports import finding_rule, judged, rule, training

from autograd_doctor.findings import Evidence, Location, Related
from autograd_doctor.report import Checks, Report, Suppression, TargetFacts, Verdict, writable

_NUISANCES = [
    "",
    "\n",
    "a\tb",
    "\x1b[31mred",
    "\0",
    "\x85",
    "\u2028",
    "\ufffe",
    "\ud800",
    "caf\udce9.py",
    "e\u0301\u202e",
]
_LONG = ["日本語" * 30, "word" * 60, "`code` and\r\nmore"]
_MARKUP = [
    "``` \n# out",
    "`` ` ``",
    "`a``b`",
    "`|`",
    "a \\| b",
    "\\",
    "| a |\n|---|",
    "$x$ *y* _z_ ~~a~~",
    "[x](http://e)",
]
_FORGERIES = ["]]>", "<b>&amp;</b>", "<!--", "::error::x", "##[error]x", "%0A::warning::x", "@all #1", "a.ipynb#cell-3"]
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=60) | st.sampled_from(
    [*_NUISANCES, *_LONG, *_MARKUP, *_FORGERIES]
)
numbers = st.integers(0, 12)
locations = st.builds(
    Location,
    path=st.sampled_from(["train.py", "gone.py", "\0", "a b.py"]) | texts,
    line=numbers,
    column=st.integers(0, 200),
    end_line=numbers,
    end_column=st.integers(0, 200),
    function=texts,
)
evidence: st.SearchStrategy[Evidence] = st.dictionaries(
    texts, st.integers() | st.floats() | texts | st.lists(texts, max_size=3), max_size=3
)
findings = st.fixed_dictionaries(
    {
        "message": texts,
        "subject": texts,
        "help": texts,
        "location": st.none() | locations,
        "evidence": evidence,
        "related": st.lists(st.builds(Related, texts, locations), max_size=3).map(tuple),
        "notes": st.lists(texts, max_size=2).map(tuple),
        "severity": st.sampled_from(["error", "warning", "info"]),
        "confidence": st.sampled_from(["high", "medium", "low"]),
        "step_first": numbers,
        "step_count": numbers,
    }
)
sources = st.lists(texts, max_size=12).map("\n".join)


codes = st.sampled_from(["AD101", "AD000", "AD210", "X9"])
checks = st.builds(Checks, st.lists(codes, unique=True, max_size=2), st.dictionaries(codes, texts, max_size=2))
suppressions = st.builds(Suppression, st.sampled_from(["comment", "file-comment"]), texts)


def _targets() -> st.SearchStrategy[TargetFacts]:
    kinds = st.sampled_from(["script", "module", "notebook", "call", "model", "function"])
    return st.builds(
        lambda kind, name, argv, cwd: TargetFacts(**{kind: name or kind}, argv=argv, cwd=cwd),
        kinds,
        texts,
        st.lists(texts, max_size=2),
        st.sampled_from(["/nowhere", "", "/", "/a b/\u00e4%"]),
    )


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """A report as the engine would make it, with every text in it replaced."""
    found = draw(st.lists(findings, max_size=4))
    rules = finding_rule("AD101", *found, title=draw(texts)) if found else rule()
    report = judged(training(2, cwd="/nowhere"), rules)
    changed = [
        msgspec.structs.replace(finding, code=draw(codes), suppressed=draw(st.none() | suppressions))
        for finding in report.findings
    ]
    return writable(
        msgspec.structs.replace(
            report,
            target=draw(_targets()),
            verdict=draw(st.sampled_from(get_args(Verdict))),
            exit_reason=draw(texts),
            findings=[finding for finding in changed if finding.suppressed is None],
            suppressed=[finding for finding in changed if finding.suppressed],
            checks=Checks(
                draw(st.lists(codes, unique=True, max_size=2)), draw(st.dictionaries(codes, texts, max_size=2))
            ),
            notes=draw(st.lists(texts, max_size=2)),
        )
    )
