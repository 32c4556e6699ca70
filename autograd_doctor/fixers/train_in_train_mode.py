"""AD210: switch to train mode before training."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.training import called_module, passes_at, switched_before_training, wakes_only_what_learns


def candidates(case: Case) -> Iterator[Candidate]:
    """In front of each pass that trains, so that no evaluation between two of them can leave the model at rest."""
    place = case.related("was trained on")
    source, passes = case.source(place), passes_at(case, place)
    if source is None or not passes or case.finding.severity == "info":
        return
    module = passes[0].module
    if not wakes_only_what_learns(case, module):
        return
    changed = switched_before_training(case, module)
    if changed:
        name = called_module(source, place)
        yield case.candidate(f"call `{name}.train()` in front of each pass that trains", *changed)


FIXER = Fixer(codes=("AD210",), candidates=candidates)
