"""AD213: make what training takes in without gradients, but outside of inference mode."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Source
from autograd_doctor.report import Place


def candidates(case: Case) -> Iterator[Candidate]:
    """The block, or the decorator, that was seen to switch inference mode on."""
    here = case.here()
    switch = _switch(here, case.finding.location) if here is not None else None
    if here is not None and switch is not None:
        editing = Editing(here)
        instead = f"{editing.torch()}.no_grad()"
        changed = editing.replace(switch, instead)
        yield case.candidate(f"use `{instead}` instead of `{here.code(switch)}`", changed)


def _switch(source: Source, place: Place | None) -> cst.BaseExpression | None:
    block = source.at(place, cst.With)
    if block is not None:
        return block.items[0].item if len(block.items) == 1 else None
    expression = source.at(place, cst.BaseExpression)  # type: ignore[type-abstract]
    is_decorator = expression is not None and isinstance(source.parent(expression), cst.Decorator)
    return expression if is_decorator else None


FIXER = Fixer(codes=("AD213",), candidates=candidates)
