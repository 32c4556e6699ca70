"""Two reports side by side: each finding of either is told of once, by what has become of it."""

from __future__ import annotations

from collections import Counter

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from reports import sick

from autograd_doctor.renderers import COMPARING, Earlier, render, since
from autograd_doctor.report import Report

_MANY = st.lists(st.sampled_from("abc"), max_size=6)


def holding(fingerprints: list[str], *, ran: bool = True) -> Report:
    """A report with a finding for each fingerprint."""
    report = sick()
    one = report.findings[0]
    found = [msgspec.structs.replace(one, fingerprint=each, title=f"about {each}") for each in fingerprints]
    checks = msgspec.structs.replace(report.checks, ran=[one.code] if ran else [])
    return msgspec.structs.replace(report, findings=found, checks=checks)


def became(before: list[str], now: list[str], *, ran: bool = True) -> Counter[tuple[str, str]]:
    return Counter((label, said[-1]) for label, said in since.became(holding(now, ran=ran), holding(before)))


@given(before=_MANY, now=_MANY)
def test_each_finding_of_either_is_told_of_once(before: list[str], now: list[str]) -> None:
    told = became(before, now)
    old, new = Counter(before), Counter(now)
    expected = {
        **{("fixed", each): count for each, count in (old - new).items()},
        **{("new", each): count for each, count in (new - old).items()},
        **{("still there", each): count for each, count in (old & new).items()},
    }
    assert told == expected


def test_what_no_rule_looked_for_again_is_not_fixed() -> None:
    assert became(["a", "b"], ["b"], ran=False) == {("not judged again", "a"): 1, ("still there", "b"): 1}


def test_formats_for_people_tell_it() -> None:
    earlier = Earlier("before.json", holding(["a", "b"]))
    for name in COMPARING:
        text, alone = render(name, holding(["b", "c"]), earlier=earlier), render(name, holding(["b", "c"]))
        for word in ("before.json", "fixed", "new", "still there"):
            assert text.count(word) > alone.count(word), (name, word)
