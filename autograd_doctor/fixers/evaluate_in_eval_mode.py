"""AD211: switch to eval mode before evaluation, and back to train mode after it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.events.connectivity import ModeSet
from autograd_doctor.events.steps import ForwardRan
from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing
from autograd_doctor.fixing.source_tree import Line, Source
from autograd_doctor.fixing.training import (
    apart,
    called_module,
    passes_at,
    switched_before_training,
    training_passes,
    wakes_only_what_learns,
)


def candidates(case: Case) -> Iterator[Candidate]:
    """Around the loop, or the line, that evaluates. Where the program switches back by itself, it need not be told."""
    here, place = case.here(), case.finding.location
    passes = [event for event in passes_at(case, place) if event.training]
    call = here.at(place, cst.Call) if here is not None else None
    name = called_module(here, place) if here is not None else ""
    if here is None or call is None or not passes or not name:
        return
    module = passes[0].module
    block = apart(case, here, call)
    if block is None or _also_trains(case, passes):
        return
    block = _with_its_context(here, block)
    if _switches_back(case, module, passes):
        changed = _evaluated(here, block, name, passes[0])
        yield case.candidate(f"call `{name}.eval()` before evaluation", changed)
    elif wakes_only_what_learns(case, module):
        if not _leaves(here, block):
            changed = _evaluated(here, block, name, passes[0]).after(block, f"{name}.train()")
            yield case.candidate(f"call `{name}.eval()` before evaluation, and `{name}.train()` after it", changed)
        both = switched_before_training(case, module, _evaluated(here, block, name, passes[0]))
        if both:
            description = f"call `{name}.eval()` before evaluation, and `{name}.train()` in front of training"
            yield case.candidate(description, *both)


def _evaluated(source: Source, block: Line, name: str, event: ForwardRan) -> Editing:
    editing = Editing(source)
    if event.grad_enabled:
        editing.wrap([block], f"with {editing.torch()}.no_grad():")
    return editing.before(block, f"{name}.eval()")


def _also_trains(case: Case, passes: list[ForwardRan]) -> bool:
    """Whether training passes at the same place."""
    return any(event.location == passes[0].location for event in training_passes(case, passes[0].module))


def _with_its_context(source: Source, block: Line) -> Line:
    """A statement with the contexts around it that hold nothing else, as `with torch.no_grad():` may."""
    while isinstance(around := source.around(block, cst.With, cst.FunctionDef, cst.For, cst.If, cst.While), cst.With):
        if list(around.body.body) != [block]:
            break
        block = around
    return block


def _leaves(source: Source, block: Line) -> bool:
    """Whether a statement may be left on other ways than by its end."""
    kinds: tuple[type[cst.CSTNode], ...] = (cst.Return, cst.Yield, cst.Raise)
    if not isinstance(block, cst.For | cst.While):
        kinds = (*kinds, cst.Break, cst.Continue)
    return next(source.all(*kinds, inside=block), None) is not None


def _switches_back(case: Case, module: int, passes: list[ForwardRan]) -> bool:
    """Whether `train()` follows each of the passes before the module trains again, or it never does."""
    either: list[ModeSet | ForwardRan] = [*case.trace.of(ModeSet), *training_passes(case, module)]
    course = sorted((event for event in either if event.module == module), key=lambda event: event.sequence)
    following = [next((each for each in course if each.sequence > event.sequence), None) for event in passes]
    if not any(following):
        return case.trace.ended_by_itself
    return all(each is None or (isinstance(each, ModeSet) and each.training) for each in following)


FIXER = Fixer(codes=("AD211",), candidates=candidates)
