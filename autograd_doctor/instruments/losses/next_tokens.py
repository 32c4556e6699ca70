"""Losses, and picked log-probabilities, whose targets are the tokens that a module took in, or those one place on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import nn

from autograd_doctor.clock import CLOCK
from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import LookAheadJudged, TargetsAhead
from autograd_doctor.instruments.instrument import Instrument, Site, failure_of_copy
from autograd_doctor.instruments.spine.batch_sources import BatchSources
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan, RootPassed
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import CLASSES, GATHERS
from autograd_doctor.reading.call_copies import copied_call
from autograd_doctor.reading.first_rows import first_row, order_of
from autograd_doctor.reading.later import (
    Ahead,
    Shift,
    heeds,
    is_answer,
    is_tokens,
    looks_ahead,
    mask_of,
    reads_on,
    sees_itself,
    shift_of,
)
from autograd_doctor.reading.loss_arguments import operands_of, picked_classes
from autograd_doctor.reading.module_tree import has_parameters, modules_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.tensor_facts import at_home, readable
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_Verdict = Literal["blind", "copies", "sees itself"]
_MOST_MODULES = 4
_MOST_SECONDS = 0.2
"""Of one call, under our eyes; a trial makes up to six."""
_MOST_SLOW = 2
"""Calls of a module that took longer, before that counts."""
_TOLD = 3
"""Losses of a module to tell of: what is shifted is so from the start."""
_MOST_TRIALS = 4
"""Of a module: a mask or a table may be right for the lengths at first, and not for longer ones that come later."""


@dataclass(eq=False, slots=True)
class _Call:
    """The newest call of a root in training. others: tokens among its arguments that are not the same; made_at: where
    the tokens and those were made. began: when.
    ahead: those of which the targets are the tokens one position on, and along which dimension; None if there are
    several such. answer: those of the tokens that are the targets themselves; masks: all but those that were masked.
    """

    module: nn.Module
    number: int
    place: Place | None
    tokens: torch.Tensor
    others: list[torch.Tensor]
    made_at: list[Place | None]
    args: Any
    kwargs: Any
    began: float
    seconds: float = 0.0
    made_by: int | None = None
    ahead: tuple[torch.Tensor, int] | None = None
    answer: torch.Tensor | None = None
    masks: bool = False


class NextTokens(Instrument):
    """Tries, after a step, the first roots whose targets are their own tokens, or those one position further along.

    The latter only where that holds of one sequence that they take in: of two, one may be a source, known as a whole.
    So it is where they look at the targets, with which a decoder inside of them begins.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (TargetsAhead, LookAheadJudged)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        lineage: Lineage,
        module_calls: ModuleCalls,
        module_register: ModuleRegister,
        tensors: Tensors,
        batch_sources: BatchSources,
    ) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self._detail = detail
        self._lineage = lineage
        self._module_calls = module_calls
        self._register = module_register
        self._tensors = tensors
        self._calls: dict[int, _Call] = {}
        self._told: IdentityTable[int] = IdentityTable()
        self._tried: IdentityTable[list[torch.Size]] = IdentityTable()
        self._slow: IdentityTable[int] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._module_calls.root_passed, self._root_passed, attention=Attention.CLOSE)
        self.listen(self._lineage.operated, self._operation_ended, names=CLASSES | GATHERS)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    # --------------------------------------------------------------------------------------------------------- calls

    def _root_began(self, began: RootBegan) -> None:
        """A module that computes its own loss does so inside its forward."""
        call, module = began.call, began.call.module
        beyond = len(self._told) >= _MOST_MODULES and module not in self._told
        if not (call.grad_enabled and module.training) or beyond or not has_parameters(module):
            return
        given = tensors_in((call.args, call.kwargs), EVERYTHING)
        found = [(at_home(tensor), self._tensors.get(tensor)) for tensor in given if is_tokens(tensor)]
        tokens = [each for each, _ in found]
        told = self._told.get(module) or 0
        if tokens and (told < _TOLD or any(self._is_longer(module, each) for each in tokens)):
            first = tokens[0].clone()
            others = [(each, made) for each, made in found if not torch.equal(each, first)]
            places = [made.place if made is not None else None for _, made in (found[0], *others)]
            self._calls[began.module] = _Call(
                module,
                began.module,
                began.where,
                first,
                [each for each, _ in others],
                places,
                call.args,
                call.kwargs,
                CLOCK.thread_time(),
            )

    def _is_longer(self, module: nn.Module, tokens: torch.Tensor) -> bool:
        """Than any with which the module was tried."""
        tried = self._tried.get(module) or []
        longer = all(any(now > then for now, then in zip(tokens.shape, shape, strict=False)) for shape in tried)
        return longer and len(tried) < _MOST_TRIALS

    def _root_passed(self, passed: RootPassed) -> None:
        known = self._calls.get(passed.call.conditions.module)
        if known is not None and not known.seconds:
            known.seconds = CLOCK.thread_time() - known.began
            known.made_by = order_of(passed.outputs)

    def _operation_ended(self, operation: Operation) -> None:
        compared = _compared(operation) if self._calls and self._course.running is None else None
        if compared is None or compared[1].is_floating_point() or not readable(compared[1]):
            return
        rows, target = compared
        wanted = at_home(target)
        for call in self._calls.values():
            inputs = (call.tokens, *call.others)
            shifts = [(tokens, shift) for tokens in inputs if (shift := _shift_of(tokens, wanted, rows, call.made_by))]
            made_at, answer = next(
                ((at, tokens) for at, tokens in zip(call.made_at, inputs, strict=True) if is_answer(tokens, wanted)),
                (None, None),
            )
            call.answer = call.answer if answer is None else answer.clone()
            if shifts:
                call.ahead = _only_one_ahead(shifts)
                self._tell(call, shifts[0][1], operation, target)
            elif answer is not None:
                mask = mask_of(answer, wanted)
                call.masks = mask is not None
                self._tell(call, Shift(dim=1, ahead=0), operation, target, mask, made_at)

    def _tell(
        self,
        call: _Call,
        shift: Shift,
        operation: Operation,
        target: torch.Tensor,
        mask: int | None = None,
        made_at: Place | None = None,
    ) -> None:
        self._told.put(call.module, (self._told.get(call.module) or 0) + 1)
        self.emit(
            TargetsAhead(
                step=self._course.steps,
                module=call.number,
                ahead=shift.ahead,
                dim=shift.dim,
                location=locate(operation.place),
                called_at=locate(call.place),
                backward=self._course.backwards,
                read_at=locate(self._tensors.read_at(target)),
                mask=mask,
                made_at=locate(made_at),
            )
        )

    # ------------------------------------------------------------------------------------------------------- judging

    def _step_taken(self, course: Course) -> None:
        calls, self._calls = self._calls, {}
        for call in calls.values():
            wanted = call.ahead[0] if call.ahead is not None else call.answer
            if wanted is not None and self._is_longer(call.module, wanted) and not self._should_wait(call):
                self._tried.put(call.module, [*(self._tried.get(call.module) or []), wanted.shape])
                self._judge(call, wanted)

    def _should_wait(self, call: _Call) -> bool:
        """Whether the call was slow, as the first often are; later ones may be quicker."""
        slow = self._slow.get(call.module) or 0
        is_slow = call.seconds > _MOST_SECONDS and slow < _MOST_SLOW
        self._slow.put(call.module, slow + is_slow)
        return is_slow

    def _judge(self, call: _Call, wanted: torch.Tensor) -> None:
        verdict: _Verdict = "blind"
        reason, found = "", None
        try:
            if call.seconds > _MOST_SECONDS:
                raise Undecided(f"one call takes {call.seconds:.1f} s")
            with self._guard.looking():
                copied, tokens = copied_call(call.module, call.args, call.kwargs, wanted)
                if call.ahead is None and call.masks:
                    verdict = "sees itself" if sees_itself(copied, tokens) else verdict
                elif call.ahead is None:
                    verdict = "copies" if reads_on(copied, tokens) else verdict
                elif not any(heeds(copied, each) for each in copied.like(call.answer)):
                    found = looks_ahead(copied, tokens, call.ahead[1])
        except Undecided as undecided:
            reason = str(undecided)
        except Exception as error:
            reason = failure_of_copy(error)
        self.emit(self._event(call, reason, found, verdict))

    def _event(self, call: _Call, reason: str, found: Ahead | None, verdict: _Verdict) -> LookAheadJudged:
        where = locate(call.place)
        if found is None:
            return LookAheadJudged(
                step=self._course.steps,
                module=call.number,
                verdict="not judged" if reason else verdict,
                reason=reason,
                called_at=where,
            )
        inner = dict(modules_in(call.module)).get(found.path, call.module)
        return LookAheadJudged(
            step=self._course.steps,
            module=call.number,
            verdict="looks ahead",
            change=found.change,
            inner=next(iter(self._register.names(call.module, [inner])), type(inner).__name__),
            location=locate(found.place),
            called_at=where,
        )


def _compared(operation: Operation) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Prediction and target of a loss, or of what picks one class of each prediction, as of log-probabilities."""
    if operation.name not in GATHERS:
        return operands_of(operation.args, operation.kwargs)
    picked = picked_classes(operation.name, operation.args, operation.kwargs)
    source = operation.args[0] if operation.args else None
    if picked is None or source is None or not has_graph(source) or picked[0] != source.dim() - 1:
        return None
    index = picked[1]
    is_column = index.dim() == source.dim() and index.shape[-1] == 1
    return (source, index.squeeze(-1)) if is_column else (source, index)


def _shift_of(tokens: torch.Tensor, target: torch.Tensor, rows: torch.Tensor, made_by: int | None) -> Shift | None:
    """By how much targets are ahead of the tokens at whose places the predictions stand, if at all."""
    shift = shift_of(tokens, target)
    first = first_row(rows, tokens.shape[shift.dim], made_by) if shift is not None and has_graph(rows) else 0
    if shift is None or first is None or first >= shift.ahead:
        return None
    return shift._replace(ahead=shift.ahead - first)


def _only_one_ahead(shifts: list[tuple[torch.Tensor, Shift]]) -> tuple[torch.Tensor, int] | None:
    """Tokens of which the targets are those one position on, if there is one such sequence, and its dimension."""
    ahead = [(tokens, shift.dim) for tokens, shift in shifts if shift.ahead == 1]
    return ahead[0] if len(ahead) == 1 else None
