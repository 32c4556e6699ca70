"""`doctor rules` and `doctor explain`: the catalogue on standard output."""

from __future__ import annotations

import os
import sys
from typing import TypedDict

from autograd_doctor.command.outputs import colored, say, width
from autograd_doctor.renderers import catalogue, shows_unicode
from autograd_doctor.rules import all_rules, rule_called


def print_rules(as_json: bool, color: str) -> None:
    """Every rule in one table."""
    rules = all_rules()
    say(catalogue.rules_json(rules) if as_json else catalogue.rules_text(rules, **_look(color)))


def print_pages(selector: str, as_json: bool, color: str) -> None:
    """The page of one rule, all of them if `selector` is empty, or the list of those whose codes begin like it."""
    if selector and not (rule := rule_called(selector)):
        _print_family(selector, as_json, color)
        return
    rules = [rule] if selector and rule else list(all_rules())
    if as_json:
        say(catalogue.explain_json(rules))
        return
    say("\n".join(catalogue.explain_text(rule, **_look(color)) for rule in rules))


def _print_family(selector: str, as_json: bool, color: str) -> None:
    """Raises `Mistake` where no code begins so."""
    from autograd_doctor.settings.selection import find

    found = [rule for rule in all_rules() if rule.code.startswith(selector.upper())] or [find(selector, all_rules())]
    say(catalogue.rules_json(found) if as_json else catalogue.rules_text(found, **_look(color)))


class _Look(TypedDict):
    width: int
    color: bool
    unicode: bool


def _look(color: str) -> _Look:
    return _Look(
        width=width(),
        color=colored(color, sys.stdout, os.environ),
        unicode=shows_unicode(sys.stdout.encoding),
    )
