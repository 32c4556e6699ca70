"""Which rules run, and with which tunables: settings meet the catalogue."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from autograd_doctor.accepted import Ignored
from autograd_doctor.config import Loaded
from autograd_doctor.config_file import describe
from autograd_doctor.events.errors import ContextAttributeKept, FunctionJudged
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.findings import Number
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.rules import Rule

_PREFIX = re.compile(r"AD\d{0,2}")


def selected(loaded: Loaded, catalogue: Sequence[Rule]) -> list[Rule]:
    """The rules that are selected and not ignored; the more specific word wins, and `ignore` wins a draw.

    Those that judge a profile are for a run that makes one.
    """
    select, more, ignore = loaded.settings.select, loaded.settings.extend_select, loaded.ignored_rules
    for key, selectors in (("select", select), ("extend_select", more), ("ignore", ignore)):
        for selector in selectors:
            _check_selector(selector, catalogue, loaded.where(key))
    rules = [rule for rule in catalogue if not rule.profiles]
    return [rule for rule in rules if _strength(rule, [*select, *more]) > _strength(rule, ignore)]


def ignored(loaded: Loaded, catalogue: Sequence[Rule]) -> list[tuple[Ignored, str]]:
    """The findings that the settings silence, and where they say so. Raises `Mistake`."""
    entries = loaded.ignored_findings
    for entry, where in entries:
        if entry.code == "ALL":
            raise Mistake(f"{where}: ignore.code: name a rule or a prefix; ignoring everything is not possible")
        _check_selector(entry.code, catalogue, f"{where}: ignore.code")
    return entries


def about_profiles(loaded: Loaded, catalogue: Sequence[Rule]) -> list[Rule]:
    """The rules that judge a profile, without those that are ignored."""
    return [rule for rule in catalogue if rule.profiles and not _strength(rule, loaded.ignored_rules)]


def about_functions(catalogue: Sequence[Rule]) -> list[Rule]:
    """The rules that judge a custom function by itself, whatever is selected: on it, and on why it failed."""
    events = {FunctionJudged, ContextAttributeKept, ProgramRaised}
    return [rule for rule in catalogue if events.intersection(rule.needs)]


def find(selector: str, catalogue: Sequence[Rule]) -> Rule:
    """The rule of this code or name. Raises `Mistake`, with the nearest one."""
    found = next((rule for rule in catalogue if selector in (rule.code, rule.name)), None)
    if found is None:
        raise Mistake(f"{describe(selector)}: no such rule{nearest(selector, _words(catalogue))}")
    return found


def tunables(loaded: Loaded, catalogue: Sequence[Rule]) -> dict[str, dict[str, Number]]:
    """Every rule's tunables: its own defaults, and what the settings say instead."""
    values = {rule.code: rule.defaults for rule in catalogue}
    where = loaded.where("rules")
    for selector, wanted in loaded.settings.rules.items():
        rule = next((rule for rule in catalogue if selector in (rule.code, rule.name)), None)
        if rule is None:
            raise Mistake(f"{where}.{selector}: no such rule{nearest(selector, _words(catalogue))}")
        values[rule.code] |= _overrides(rule, wanted, f"{where}.{selector}")
    return values


def _overrides(rule: Rule, wanted: Any, where: str) -> dict[str, Number]:
    if not isinstance(wanted, dict):
        raise Mistake(f"{where}: expected a mapping of tunables, found {describe(wanted)}")
    for name, value in wanted.items():
        if name not in rule.tunables:
            there = "" if rule.tunables else ": the rule has none"
            raise Mistake(f"{where}.{name}: no such tunable{there}{nearest(name, rule.tunables)}")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Mistake(f"{where}.{name}: expected a number, found {describe(value)}")
    return wanted


def _check_selector(selector: str, catalogue: Sequence[Rule], where: str) -> None:
    if not any(_matches(rule, selector) for rule in catalogue) and selector != "ALL":
        kind = "no rule starts with" if _PREFIX.fullmatch(selector) else "no such rule:"
        raise Mistake(f"{where}: {kind} {describe(selector)}{nearest(selector, ['ALL', *_words(catalogue)])}")


def _words(catalogue: Sequence[Rule]) -> list[str]:
    return [word for rule in catalogue for word in (rule.code, rule.name)]


def _matches(rule: Rule, selector: str) -> bool:
    is_prefix = _PREFIX.fullmatch(selector) and rule.code.startswith(selector)
    return selector in ("ALL", rule.code, rule.name) or bool(is_prefix)


def _strength(rule: Rule, selectors: Sequence[str]) -> int:
    """How specific the most specific selector is that names the rule: 0 for none, 1 for `ALL`, then by length."""
    strengths = {"ALL": 1, rule.name: len(rule.code)}
    return max((strengths.get(word, len(word)) for word in selectors if _matches(rule, word)), default=0)
