"""The rules: one file each, found by walking this folder.

A rule file defines `examine(trace, tunables)`, or `examine_ranks(ranks, tunables)` where one process by itself shows
nothing, at least one `bad…()` and one `good…()` example, and binds the whole story to `RULE`. Torch is imported inside
the examples only, so that every rule loads without it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

from autograd_doctor.events.efficiency import PROFILED
from autograd_doctor.events.event import Event
from autograd_doctor.findings import (
    CONFIDENCES,
    SEVERITIES,
    Confidence,
    Evidence,
    Finding,
    Fix,
    Location,
    Number,
    Related,
    Severity,
)
from autograd_doctor.trace import Ranks, Trace

Tunables = Mapping[str, Number]
"""The numbers of a rule by name, as they are in force: its defaults, or what the settings say instead."""
Example = Callable[[], None]
Word = TypeVar("Word", Severity, Confidence)
SO_FAR = "seen so far: the program was still running when the check ended, and a later step may change this"
Part = Literal["model", "data", "loss", "loop", "axes"]
"""Of a training: the model, the data, the loss, the loop with its optimizers, and which axis of data is which."""


MORE_THAN_ONCE = "chosen: a single occurrence may be an exception"
NO_BEGINNING = "chosen: fewer may be part of something else, such as a warm-up"


def _nothing(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    """What one process by itself shows of a fault that only several have."""
    return iter(())


@dataclass(frozen=True)
class Tunable:
    """A number that a rule judges by, and that settings may change.

    `meaning` says what it is a limit of. `source` says where the default comes from, in one word and a reason: it was
    `measured`, is `arithmetic`, was `published`, is that of `PyTorch`, or was `chosen`.
    """

    default: Number
    meaning: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One entry of the catalogue.

    `needs` are the events that `examine` reads; only the instruments that some selected rule needs are attached.
    Each `bad` example is a whole training program that must yield this rule's code on the line marked
    `# <- ADxxx`; each `good` example is one on which *every* rule must stay silent. `folds` are the codes that are
    mere consequences of this fault: the engine turns such findings into notes of this one. `about` is what of a
    training the rule judges: what the doctor made up itself, to train a bare model, is not judged. `references` are
    addresses of what others say of the fault. `left_open` tells what it could not judge although all that it
    needs had watched: then it is not counted among those that found nothing. `lasting`: it says that something never
    happens, or always, which a later stage of the program may refute (see `views/so_far.py`). `examine_ranks` compares
    the ranks of one training, of each of which it is given the events that the rule needs; it is asked once, and where
    there are several.
    """

    code: str
    name: str
    severity: Severity
    title: str
    observes: str
    why: str
    fix: str
    fine: str
    needs: tuple[type[Event], ...]
    bad: tuple[Example, ...]
    good: tuple[Example, ...]
    tunables: dict[str, Tunable] = field(default_factory=dict)
    needs_phases: tuple[str, ...] = ("training",)
    folds: tuple[str, ...] = ()
    about: Part = "model"
    references: tuple[str, ...] = ()
    left_open: Callable[[Trace], Iterator[str]] | None = None
    lasting: bool = False
    examine: Callable[[Trace, Tunables], Iterator[Finding]] = _nothing
    examine_ranks: Callable[[Ranks, Tunables], Iterator[Finding]] | None = None

    @property
    def profiles(self) -> bool:
        """Whether it judges where time and memory go, which is measured on request."""
        return any(event in PROFILED for event in self.needs)

    @property
    def judge(self) -> Callable[..., Iterator[Finding]]:
        """What finds the fault: in one process, or between ranks."""
        return self.examine_ranks or self.examine

    @property
    def defaults(self) -> dict[str, Number]:
        """Its tunables where no settings say otherwise."""
        return {name: tunable.default for name, tunable in self.tunables.items()}

    def finding(
        self,
        message: str,
        *,
        subject: str,
        location: Location | None,
        help: str,
        confidence: Confidence = "high",
        severity: Severity | None = None,
        guessed: bool = False,
        so_far: bool = False,
        evidence: Evidence | None = None,
        related: tuple[Related, ...] = (),
        notes: tuple[str, ...] = (),
        fix: Fix | None = None,
        step_first: int = 0,
        step_count: int = 0,
        parameters: Iterable[int] = (),
        ranks: Iterable[int] = (),
    ) -> Finding:
        """A finding of this rule, with the rule's own severity unless the evidence calls for another.

        One that rests on a guess alone is a warning at most, of low confidence. One of which only the end of the
        program can tell, or a later step (see `views/so_far.py`), is one severity lower, and of medium confidence.
        """
        severity = severity or self.severity
        if guessed:
            severity, confidence = _lesser(SEVERITIES, severity, "warning"), "low"
        if so_far:
            severity = SEVERITIES[min(SEVERITIES.index(severity) + 1, len(SEVERITIES) - 1)]
            confidence = _lesser(CONFIDENCES, confidence, "medium")
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity,
            confidence=confidence,
            title=self.title,
            message=message,
            subject=subject,
            location=location,
            help=help,
            fix=fix,
            evidence=evidence or {},
            related=related,
            notes=(*notes, SO_FAR) if so_far else notes,
            step_first=step_first,
            step_count=step_count,
            parameters=tuple(parameters),
            ranks=tuple(ranks),
        )


def _lesser(scale: tuple[Word, ...], one: Word, other: Word) -> Word:
    """Of two words of a scale that begins with the strongest."""
    return max(one, other, key=scale.index)


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule of the folders in here, in the order of their codes."""
    rules = (_rule(path) for path in _files())
    return tuple(sorted(rules, key=lambda rule: rule.code))


def rule_called(selector: str) -> Rule | None:
    """The rule of this code or name, None if there is none. Only files that may hold it are loaded."""
    for path in _files():
        if f'"{selector}"' in path.read_text(encoding="utf-8"):
            rule = _rule(path)
            if selector in (rule.code, rule.name):
                return rule
    return None


def _files() -> Iterator[Path]:
    """One for each rule, in the folder of its family."""
    here = Path(__path__[0])
    for family in pkgutil.iter_modules(__path__):
        for entry in pkgutil.iter_modules([str(here / family.name)]):
            yield here / family.name / f"{entry.name}.py"


def _rule(path: Path) -> Rule:
    rule: Rule = importlib.import_module(f"{__name__}.{path.parent.name}.{path.stem}").RULE
    return rule
