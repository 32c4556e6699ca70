"""What a fixer is given, and what it gives: a finding in its program, and changes that may remove its cause."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.findings import Location
from autograd_doctor.fixing.changed_sources import Sources
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source
from autograd_doctor.notebook import cell_file
from autograd_doctor.report import Place, ReportedFinding
from autograd_doctor.trace import Trace


@dataclass(frozen=True)
class Candidate:
    """A change that may remove the cause of a finding.

    description: the change in words, as a command. keeps: whether all that the program computes must stay the same, to
    the last bit. fewer: whether it takes steps out, so that as many backwards are asked for instead of as many steps.
    same_loss: as its fixer says.
    """

    description: str
    sources: Sources
    keeps: bool = False
    fewer: bool = False
    same_loss: bool = False


@dataclass(frozen=True)
class Case:
    """A finding, what was recorded of the run that showed it, and the files of the program as they were then."""

    finding: ReportedFinding
    trace: Trace
    sources: Sources
    cwd: str

    def source(self, place: Place | None) -> Source | None:
        """The file of a place, None where it cannot be changed."""
        return None if place is None else self.sources.get(path_of(place, self.cwd))

    def here(self) -> Source | None:
        """The file of the finding."""
        return self.source(self.finding.location)

    @property
    def is_in_a_library(self) -> bool:
        """Whether what was found happened inside a library that is called at its place."""
        calls = self.trace.end.before_libraries if self.trace.end is not None else []
        return any(self.begins_at(call, self.finding.location) for call in calls)

    @property
    def is_about_a_parameter(self) -> bool:
        """Whether the subject of the finding is a parameter."""
        return any(each.name == self.finding.subject for each in self.trace.of(ParameterSeen))

    def candidate(self, description: str, *changed: Editing, keeps: bool = False, fewer: bool = False) -> Candidate:
        """A change of one file, or of several."""
        sources = self.sources
        for editing in changed:
            sources = sources.with_text(editing.path, editing.text())
        return Candidate(description, sources, keeps, fewer)

    def related(self, *words: str) -> Place | None:
        """The place that takes part in the finding under a label with one of these words; the first words win."""
        labels = ((word, each) for word in words for each in self.finding.related)
        return next((each.location for word, each in labels if word in each.message), None)

    def is_at(self, location: Location | None, place: Place | None) -> bool:
        """Whether an event happened in the line of a place."""
        if location is None or place is None:
            return False
        return (location.path, location.line) == (path_of(place, self.cwd), place.line)

    def begins_at(self, location: Location | None, place: Place | None) -> bool:
        """Whether an event happened at the very place."""
        if location is None or place is None:
            return False
        return self.is_at(location, place) and location.column == place.column

    def optimizer(self) -> int | None:
        """The number of the optimizer that the finding is about, None where its name tells no single one."""
        named = [each for each in self.trace.optimizers if self.trace.optimizer_name(each) == self.finding.subject]
        return named[0] if len(named) == 1 else None


@dataclass(frozen=True)
class Fixer:
    """Knows how to change what findings of some rules are about.

    candidates: the changes that may help, best first. They are made from what was observed: the places of the finding,
    the expressions that stand there, the names that the run has shown. same_loss: whether its changes alter how weights
    are moved and not what the loss is made of, so that the losses of both programs tell which one learns better.
    of_operation: whether they change what an operation is given, at the place of the finding: where that is the call of
    a library which contains the operation, there is nothing to change.
    """

    codes: tuple[str, ...]
    candidates: Callable[[Case], Iterator[Candidate]]
    same_loss: bool = False
    of_operation: bool = False


def path_of(place: Place, cwd: str) -> str:
    """The file of a place as Python knows it."""
    return cell_file(os.path.join(cwd, place.path), place.cell)
