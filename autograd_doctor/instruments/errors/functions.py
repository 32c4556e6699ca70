"""Custom `autograd.Function`s: each is judged once, on small copies of inputs that it met, at a quiet moment."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any, ClassVar

import torch
from torch.autograd.function import once_differentiable

from autograd_doctor.events.errors import ContextAttributeKept, FunctionJudged
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.assignments import assigned_in
from autograd_doctor.reading.custom_functions import definition, node_made_by, outputs_of
from autograd_doctor.reading.derivatives import (
    Verdict,
    agrees_along,
    hands_on,
    judge,
    judge_twice,
    row_copies,
    small_copies,
    whole_copies,
)
from autograd_doctor.reading.finite_differences import Case, OutOfTime, Patience
from autograd_doctor.reading.function_signature import argument_names
from autograd_doctor.reading.held import MOST_ELEMENTS, NotHeld, held, is_plain, is_still
from autograd_doctor.reading.places import is_own, locate, place
from autograd_doctor.reading.process_groups import is_one_of_several
from autograd_doctor.reading.side_effects import methods, side_effect
from autograd_doctor.reading.subclasses import is_parameter
from autograd_doctor.reading.tensor_facts import describe
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.unnoticed import unnoticed
from autograd_doctor.reading.wider_looks import judge_elsewhere
from autograd_doctor.reading.without_running import attribute, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.custom_functions import FunctionCall
from autograd_doctor.wording import first_line

_SECONDS = 4.0
"""For judging one function of a program: what a person barely notices in a check of many seconds."""
_SECONDS_IF_ASKED = 30.0
"""The same where it is all that the person waits for."""
_CALLS_LOOKED_AT = 3
"""The first call may come with inputs or attributes that are not typical."""
_LATER_CALLS = (16, 64, 256, 1024)
"""Calls that are looked at again: inputs grow, shrink and change their signs in the course of a training."""
_REFUSED = ("returned an incorrect number of gradients", "returned an invalid gradient")
_ONCE = "differentiate twice"
_FAULTS = ("wrong", "differs")
_SHARED = "other processes may take part in it"
"""A function that reduces something over all ranks, called by one of them alone, would wait for the others, or get the
numbers of another call."""


@dataclass
class _Met:
    """What is known of one custom function. `inputs` are copies of ours, those to try first at the front.

    `whole` are copies that were not cut, if they are not too large to be kept. `holds`: the objects among them, by
    position, as they were in step `since`; `still`: whether they are the same in a later step, None before one came.

    `later`: such copies from a later call of a function that was right before.

    `returned`: its forward came to an end at least once. `read`: its code was.
    `asked_about`: the program runs for its sake. `tried`: the
    inputs on which it was judged, or could not be.
    """

    applied_at: Location | None
    asked_about: bool = False
    calls: int = 0
    returned: bool = False
    read: bool = False
    inputs: list[tuple[Any, ...]] = field(default_factory=list)
    whole: tuple[Any, ...] | None = None
    later: tuple[Any, ...] | None = None
    holds: dict[int, Any] = field(default_factory=dict)
    since: int = 0
    still: bool | None = None
    wanted: tuple[int, ...] = ()
    tried: tuple[Any, ...] = ()
    obstacle: str = ""
    verdict: Verdict | None = None
    attributes: set[str] = field(default_factory=set)


class Functions(Instrument):
    """Watches `Function.apply`, and asks whether anything is differentiated twice.

    asked_about: the custom function for whose sake the program runs, if it does.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (FunctionJudged, ContextAttributeKept)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self.asked_about: type | None = None
        self._course = course
        self._met: dict[type, _Met] = {}
        self._twice = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.custom_functions.began, self._began)
        self.listen(signals.custom_functions.ended, self._ended)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.LIGHT)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)

    def finish(self) -> None:
        self._judge_all(is_last=True)
        self._judge_second_derivatives()

    def detach(self) -> None:
        self._met.clear()
        super().detach()

    # ------------------------------------------------------------------------------------------------------ watching

    def _backward_began(self, call: BackwardCall) -> None:
        self._twice |= call.create_graph

    def _began(self, call: FunctionCall) -> None:
        """Take note of a call, and copies of its inputs if there are none yet."""
        cls = call.function
        met = self._met.get(cls)
        if call.kwargs:
            return
        if met is None:
            asked_about = cls is self.asked_about
            if not (asked_about or _written_by_user(cls)):
                return
            met = self._met[cls] = _Met(locate(place()), asked_about)
        met.calls += 1
        if met.calls <= _CALLS_LOOKED_AT and not met.inputs and not met.obstacle:
            met.since = self._course.steps
            _copy_inputs(met, call.args)
        elif met.holds and met.still is None and self._course.steps > met.since:
            met.still = all(i < len(call.args) and is_still(each, call.args[i]) for i, each in met.holds.items())
        elif met.calls in _LATER_CALLS and met.verdict is not None and met.verdict.verdict == "right":
            met.later = _later_copies(met, call.args)

    def _ended(self, call: FunctionCall) -> None:
        met = self._met.get(call.function)
        if met is None or call.kwargs:
            return
        met.returned = True
        if met.calls <= _CALLS_LOOKED_AT:
            node = node_made_by(call.function, call.result)
            if (met.inputs or met.whole) and not met.read:
                met.read = True
                met.obstacle = met.obstacle or side_effect(call.function, call.args, vars(node) if node else {})
            self._look_at_context(call, met, node)

    def _look_at_context(self, call: FunctionCall, met: _Met, node: Any) -> None:
        """Find attributes of the graph node that are, or hold, the very inputs or outputs of the call."""
        cls, args, result = call.function, call.args, call.result
        outputs = outputs_of(result)
        passing = [*outputs, *(each for each in args if not is_parameter(each))]  # parameters stay alive anyway
        for name, value in list(vars(node).items()) if node is not None else ():
            kept = [tensor for tensor in tensors_in([value]) if any(tensor is known for known in passing)]
            if not kept or name in met.attributes:
                continue
            met.attributes.add(name)
            self.emit(
                ContextAttributeKept(
                    step=self._course.steps,
                    function=cls.__name__,
                    attribute=name,
                    which="output" if any(kept[0] is out for out in outputs) else "input",
                    location=assigned_in((method.__code__ for method in methods(cls)), name) or met.applied_at,
                    bytes_held=sum(tensor.numel() * tensor.element_size() for tensor in kept),
                )
            )

    # ------------------------------------------------------------------------------------------------------- judging

    def _step_taken(self, course: Course) -> None:
        self._judge_all()

    def _judge_all(self, is_last: bool = False) -> None:
        """Objects are to be seen in a second step first, unless none comes."""
        if self._course.running is not None:
            return
        for cls, met in self._met.items():
            is_open = met.verdict is None and met.returned and (is_last or not met.holds or met.still is not None)
            if is_open and (met.inputs or met.whole or met.obstacle):
                met.verdict = _unless_moved(_judged(cls, met, judge_first), met)
                met.whole = None
                self._say(cls, met, met.verdict)
            elif met.later is not None:
                self._look_again(cls, met)

    def _look_again(self, cls: type, met: _Met) -> None:
        later = _elsewhere(cls, met, met.later)
        met.later = None
        if later is not None and later.verdict in _FAULTS:
            met.verdict = later
            self._say(cls, met, later)

    def _judge_second_derivatives(self) -> None:
        for cls, met in self._met.items() if self._twice else ():
            if met.verdict is not None and met.verdict.verdict == "right":
                self._say(cls, met, _judged(cls, met, judge_second), double=True)

    def _say(self, cls: type, met: _Met, verdict: Verdict, double: bool = False) -> None:
        self.emit(
            FunctionJudged(
                step=self._course.steps,
                function=cls.__name__,
                location=definition(cls, "backward"),
                applied_at=met.applied_at,
                verdict=verdict.verdict,
                reason=verdict.reason,
                input=verdict.input,
                error=verdict.error,
                expected=verdict.expected,
                found=verdict.found,
                double=double,
                judged_on=_facts(cls, met.tried),
                hands_on=list(verdict.hands_on),
                requested=met.asked_about,
            )
        )


def _copy_inputs(met: _Met, args: Sequence[Any]) -> None:
    """Copy what the function met, if a gradient is wanted and its inputs are such that it can be called again."""
    met.wanted = tuple(i for i, arg in enumerate(args) if _is_tensor(arg) and _is_real(arg) and arg.requires_grad)
    tensors = [arg for arg in args if _is_tensor(arg)]
    if not met.wanted:
        return
    if is_one_of_several():
        met.obstacle = _SHARED
        return
    if any(tensor.layout is not torch.strided or tensor.is_complex() for tensor in tensors):
        met.obstacle = "it takes sparse or complex tensors"
        return
    if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors if _is_real(tensor)):
        return
    try:
        given = [arg if _is_tensor(arg) else held(arg) for arg in args]
    except NotHeld as obstacle:
        met.obstacle = str(obstacle)
        return
    met.holds = {i: held(arg) for i, arg in enumerate(args) if not (_is_tensor(arg) or is_plain(arg))}
    met.whole = whole_copies(given, MOST_ELEMENTS)
    small, whole = small_copies(given), whole_copies(given)
    copies = (whole, small) if met.asked_about else (small, whole)
    if met.holds:  # an object fits the sizes that it came with, but for the number of samples
        copies = (*((whole,) if met.asked_about else ()), row_copies(given), whole, small)
    met.inputs = [each for each in copies if each is not None]
    if met.asked_about:
        # The person chose these inputs: they are cut only if they are too large.
        del met.inputs[1:]
    met.obstacle = "" if met.inputs or met.whole else "its inputs are too large"


def _later_copies(met: _Met, args: Sequence[Any]) -> tuple[Any, ...] | None:
    """Whole copies of the inputs of a later call that is as those before; None where it is not, or they are large."""
    wanted = tuple(i for i, arg in enumerate(args) if _is_tensor(arg) and _is_real(arg) and arg.requires_grad)
    if met.holds or wanted != met.wanted or not all(_is_tensor(arg) or is_plain(arg) for arg in args):
        return None
    return whole_copies(args, MOST_ELEMENTS)


def judge_first(case: Case, cls: type) -> Verdict:
    verdict = judge(case)
    return replace(verdict, hands_on=hands_on(case)) if verdict.verdict in ("right", "surrogate") else verdict


def judge_second(case: Case, cls: Any) -> Verdict:
    backward = attribute(cls, "backward")
    function = backward.__func__ if isinstance(backward, staticmethod) else backward
    marked = isinstance(function, FunctionType) and function.__code__ in once_differentiable.__code__.co_consts
    return Verdict("wrong", "it is marked `@once_differentiable`") if marked else judge_twice(case)


def _judged(cls: Any, met: _Met, how: Callable[[Case, type], Verdict]) -> Verdict:
    """Judge on the first inputs that the function accepts."""
    if is_one_of_several():
        met.obstacle = _SHARED
    obstacle = met.obstacle
    for inputs in [] if obstacle else met.inputs:
        met.tried = inputs
        try:
            with unnoticed():
                verdict = how(_case(cls, inputs, met), cls)
        except OutOfTime:
            obstacle = f"it took longer than {_seconds(met):g} s"
            break
        except Exception as error:
            if any(text in str(error) for text in (*_REFUSED, _ONCE)):
                verdict = Verdict("wrong", str(error))
            else:
                failed = "it failed" if met.asked_about else "it does not accept smaller inputs"
                obstacle = f"{failed}: {type(error).__name__}: {first_line(str(error)).rstrip('.')}"
                continue
        if how is not judge_first or _is_whole(inputs, met):
            return verdict
        if verdict.verdict == "right" and not met.holds:
            return _elsewhere(cls, met, met.whole) or verdict
        return _confirmed(verdict, cls, met) if verdict.verdict in _FAULTS else verdict
    if how is judge_first and not met.obstacle and _agrees_whole(cls, met):
        return Verdict("right")
    return Verdict("not judged", obstacle or "its inputs are too large")


def _elsewhere(cls: Any, met: _Met, whole: tuple[Any, ...] | None) -> Verdict | None:
    """The verdict on other elements than those that were judged, if it goes wrong there."""
    if whole is None or is_one_of_several():
        return None
    if not all(bool(torch.isfinite(each).all()) for each in whole if _is_tensor(each) and _is_real(each)):
        return None
    with contextlib.suppress(Exception), unnoticed():
        return judge_elsewhere(_case(cls, whole, met))
    return None


def _unless_moved(verdict: Verdict, met: _Met) -> Verdict:
    """What looks wrong with an object held fixed may be right for one that is made anew of what is learned."""
    if verdict.verdict not in _FAULTS or verdict.input is None or not met.holds or met.still or met.asked_about:
        return verdict
    objects = " and ".join(f"`{type(each).__name__}`" for each in met.holds.values())
    how = "was seen in only one step" if met.still is None else "changes from step to step"
    return Verdict("not judged", f"it differs from finite differences with its {objects} held fixed, which {how}")


def _confirmed(verdict: Verdict, cls: Any, met: _Met) -> Verdict:
    """What goes wrong with cut inputs may do so because other arguments speak of the sizes that they had."""
    agrees = _agrees_whole(cls, met)
    if agrees is None and (met.holds or any(map(_speaks_of_sizes, met.tried))):
        return Verdict("not judged", "its inputs are too large" if met.whole is None else "it cannot be called again")
    return Verdict("right") if agrees else verdict


def _speaks_of_sizes(argument: Any) -> bool:
    if _is_tensor(argument):
        return argument.dtype in (torch.int32, torch.int64)
    return is_a(argument, (int, tuple)) and type(argument) is not bool


def _agrees_whole(cls: Any, met: _Met) -> bool | None:
    """None where that cannot be told."""
    if met.whole is None:
        return None
    with contextlib.suppress(Exception), unnoticed():
        case = _case(cls, met.whole, met)
        first = case.leaves()
        if torch.equal(case.values(first), case.values(first)):
            agrees = agrees_along(case)
            met.tried = met.whole if agrees else met.tried
            return agrees
    return None


def _is_whole(inputs: Sequence[Any], met: _Met) -> bool:
    if met.whole is None:
        return met.asked_about
    pairs = zip(inputs, met.whole, strict=True)
    return all(one.shape == other.shape for one, other in pairs if _is_tensor(one))


def _case(cls: Any, inputs: tuple[Any, ...], met: _Met) -> Case:
    return Case(cls.apply, inputs, met.wanted, Patience(_seconds(met)))


def _seconds(met: _Met) -> float:
    return _SECONDS_IF_ASKED if met.asked_about else _SECONDS


def _facts(cls: Any, arguments: Sequence[Any]) -> list[TensorFacts]:
    names = argument_names(cls, len(arguments))
    return [describe(arg, name=name) for name, arg in zip(names, arguments, strict=True) if _is_tensor(arg)]


def _written_by_user(cls: Any) -> bool:
    method = next(methods(cls), None)
    return method is not None and is_own(method.__code__.co_filename)


def _is_tensor(value: Any) -> bool:
    return is_a(value, torch.Tensor)


def _is_real(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point()
