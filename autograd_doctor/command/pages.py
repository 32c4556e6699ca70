"""`doctor rules` and `doctor explain`: the catalogue on standard output."""

from __future__ import annotations

import os
import sys
from typing import TypedDict

from autograd_doctor.command.outputs import colored, say, width
from autograd_doctor.renderers import catalogue, shows_unicode
from autograd_doctor.rules import Rule, all_rules, rule_called


def print_rules(as_json: bool, color: str) -> None:
    """Every rule in one table."""
    rules = all_rules()
    say(catalogue.rules_json(rules) if as_json else catalogue.rules_text(rules, **_look(color)))


def print_pages(selector: str, as_json: bool, color: str) -> None:
    """The page of one rule, or all of them if `selector` is empty."""
    rules = [_found(selector)] if selector else list(all_rules())
    if as_json:
        say(catalogue.explain_json(rules))
        return
    say("\n".join(catalogue.explain_text(rule, **_look(color)) for rule in rules))


def _found(selector: str) -> Rule:
    """The rule of this code or name. Raises `Mistake`."""
    if rule := rule_called(selector):
        return rule
    from autograd_doctor.settings.selection import find

    return find(selector, all_rules())


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
