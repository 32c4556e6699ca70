"""Modules in which samples of a batch depend on one another, tried once on a copy of each module that trains.

The trial takes place after a step: the first one after a later call has shown whether the inputs vary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from torch.utils.data import default_collate

from autograd_doctor.clock import CLOCK
from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import BatchLeakJudged
from autograd_doctor.instruments.instrument import Instrument, Site, failure_of_copy
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootPassed
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.reading.collated import is_order
from autograd_doctor.reading.mixing import Mixed, part_of, tried
from autograd_doctor.reading.module_copies import copies_of, copy_of, obstacle
from autograd_doctor.reading.module_tree import modules_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.tensor_facts import are_equal, at_home, readable
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.loaders import BatchAsked

_MOST_MODULES = 4
"""People train a model, or a few that work together."""
_MOST_SECONDS = 0.2
"""Of the processor, for the fastest call, under our eyes; a trial makes up to nine."""
_FEWEST_SAMPLES = 4
"""Of a batch that is too large to be tried whole: enough for one to be watched among others."""
_STEPS_TO_WAIT = 3
"""For a second call of the same module."""


@dataclass(slots=True)
class _Taken:
    """The first call of a module that built a graph.

    args, kwargs: copies, of the first samples alone where they are large. seconds: of the fastest call.
    again: there was another one in a later step. varied: a later one had other values.
    """

    number: int
    step: int
    args: Any
    kwargs: Any
    place: Place | None
    first: torch.Tensor | None
    samples: int
    inputs: int
    related: bool
    collated: bool
    obstacle: str
    seconds: float
    varied: bool = False
    again: bool = False


class BatchLeaks(Instrument):
    """Judges the first few root modules that train."""

    emits: ClassVar[tuple[type[Event], ...]] = (BatchLeakJudged,)

    def __init__(self, site: Site, course: Course, module_register: ModuleRegister, module_calls: ModuleCalls) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self._register = module_register
        self._module_calls = module_calls
        self._taken: IdentityTable[_Taken] = IdentityTable()
        self._seen: IdentityTable[None] = IdentityTable()
        self._count = 0
        self._collated = 0

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_passed, self._root_passed)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.LIGHT)

    def finish(self) -> None:
        self._judge_all()

    def detach(self) -> None:
        self._taken.clear()
        super().detach()

    def _drawn(self, asked: BatchAsked) -> None:
        """Remember how many samples torch's own way of collating has put into the newest batch."""
        tensors = tensors_in([asked.batch], EVERYTHING)
        is_plain = asked.iterator._collate_fn is default_collate and asked.iterator._auto_collation
        self._collated = tensors[0].shape[0] if is_plain and tensors and tensors[0].dim() else 0

    # --------------------------------------------------------------------------------------------------------- calls

    def _root_passed(self, passed: RootPassed) -> None:
        module = passed.call.module
        taken = self._taken.get(module)
        if taken is not None:
            self._compare(taken, passed)
        elif module not in self._seen and self._count < _MOST_MODULES and self._course.running is None:
            self._seen.put(module, None)
            self._take(module, passed)

    def _compare(self, taken: _Taken, passed: RootPassed) -> None:
        taken.seconds = min(taken.seconds, CLOCK.thread_time() - passed.call.began)
        now = next(iter(passed.inputs), None)
        if taken.first is not None and now is not None and not taken.varied:
            taken.again |= self._course.steps > taken.step
            begins = now.detach()[: len(taken.first)] if now.dim() and taken.first.dim() else now.detach()
            taken.varied = not are_equal(begins, taken.first)

    def _take(self, module: nn.Module, passed: RootPassed) -> None:
        call = passed.call
        number = self._register.root(module)
        first = next((tensor for tensor in passed.inputs if tensor.dim() > 0), None)
        samples = first.shape[0] if first is not None else 0
        rows = [out.shape[0] for out in passed.outputs if out.dim()]
        # One row beside them is that of a bag, of which the samples are the parts.
        if samples < 2 or samples not in rows or 1 in rows:
            return
        self._count += 1
        why = obstacle(module)
        others = [each for each in passed.inputs if each is not first]
        related = any(list(each.shape).count(samples) > 1 or _is_order(each, samples) for each in others)
        given = (call.call.args, call.call.kwargs)
        args, kwargs = (None, None) if why else map(copies_of, given)
        if not why and (args is None or kwargs is None) and not related:
            few = min(samples, _FEWEST_SAMPLES)
            args, kwargs = (copies_of(part_of(each, samples, few)) for each in given)
            samples = few
        if not why and (args is None or kwargs is None):
            why = "its inputs are too large, or not plain tensors"
        copied = None if why else next(iter(tensors_in([args, kwargs], EVERYTHING)), None)
        self._taken.put(
            module,
            _Taken(
                number=number,
                step=self._course.steps,
                args=args,
                kwargs=kwargs,
                place=call.conditions.where,
                first=copied,
                samples=samples,
                inputs=len(passed.inputs),
                related=related,
                collated=samples == self._collated,
                obstacle=why,
                seconds=CLOCK.thread_time() - call.began,
            ),
        )

    # ------------------------------------------------------------------------------------------------------- judging

    def _step_taken(self, course: Course) -> None:
        if self._course.running is not None or not self._taken:
            return
        for module, taken in self._taken.items():
            if taken.varied or taken.again or taken.obstacle or course.steps >= taken.step + _STEPS_TO_WAIT:
                self._judge(module, taken)

    def _judge_all(self) -> None:
        for module, taken in self._taken.items():
            if self._course.steps > taken.step:
                self._judge(module, taken)

    def _judge(self, module: nn.Module, taken: _Taken) -> None:
        self._taken.discard(module)
        reason, found = taken.obstacle or _shorten(taken), None
        if not reason:
            try:
                with self._guard.looking():  # an update by hand is noticed between two operations
                    found = tried(copy_of(module), taken.args, taken.kwargs, taken.samples)
            except Undecided as undecided:
                reason = str(undecided)
            except Exception as error:
                reason = failure_of_copy(error)
        if reason:
            self.limited(f"whether samples in a batch affect one another was not tested: {reason}")
        self.emit(self._event(module, taken, reason, found))

    def _event(self, module: nn.Module, taken: _Taken, reason: str, found: Mixed | None) -> BatchLeakJudged:
        told = {
            "step": taken.step,
            "module": taken.number,
            "samples": taken.samples,
            "shape": list(taken.first.shape) if taken.first is not None else [],
            "tokens": taken.first is not None and not taken.first.is_floating_point(),
            "inputs": taken.inputs,
            "related": taken.related,
            "collated": taken.collated,
            "varied": taken.varied,
            "called_at": locate(taken.place),
        }
        if found is None:
            return BatchLeakJudged(verdict="not judged" if reason else "independent", reason=reason, **told)  # type: ignore[arg-type]
        inner = dict(modules_in(module)).get(found.path, module)
        kind = type(inner)
        return BatchLeakJudged(
            verdict="knows places" if found.by_position else "leaks",
            change=found.change,
            inner=next(iter(self._register.names(module, [inner])), kind.__name__),
            inner_kind=kind.__name__ if kind.__module__.partition(".")[0] == "torch" else "",
            operation=found.operation,
            location=locate(found.place),
            time_first=attributes(inner).get("batch_first") is False,
            axes=found.axes,
            output=found.output,
            pairs=found.pairs,
            **told,  # type: ignore[arg-type]
        )


def _is_order(tensor: torch.Tensor, samples: int) -> bool:
    """Whether it tells the module where the samples of a batch belong, which was sorted by their lengths."""
    return tensor.shape == (samples,) and readable(tensor) and is_order(at_home(tensor))


def _shorten(taken: _Taken) -> str:
    """Keep as much of a batch as can be tried in time; why nothing can, else ""."""
    few = int(taken.samples * _MOST_SECONDS / max(taken.seconds, _MOST_SECONDS))
    if few < taken.samples and (few < _FEWEST_SAMPLES or taken.related):
        return f"one call takes {taken.seconds:.1f} s"
    if few < taken.samples:
        taken.args, taken.kwargs = (part_of(given, taken.samples, few) for given in (taken.args, taken.kwargs))
        taken.samples = few
    return ""
