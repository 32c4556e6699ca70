"""Custom `autograd.Function`s: each is judged once, on small copies of inputs that it met, at a quiet moment."""

from __future__ import annotations

import ast
import contextlib
import dis
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, ClassVar

import torch
from torch.autograd.function import once_differentiable

from autograd_doctor.events import ContextAttributeKept, Event, FunctionJudged, TensorFacts
from autograd_doctor.findings import Location
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.reading.derivatives import Verdict, judge, judge_twice, small_copies, whole_copies
from autograd_doctor.reading.function_signature import argument_names
from autograd_doctor.reading.places import is_own, locate, place
from autograd_doctor.reading.side_effects import methods, side_effect
from autograd_doctor.reading.slopes import Case, OutOfTime, Patience
from autograd_doctor.reading.subclasses import is_parameter, node_of
from autograd_doctor.reading.tensor_facts import describe
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.unnoticed import unnoticed
from autograd_doctor.reading.without_running import attribute, is_a, unwrapped
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.custom_functions import FunctionCall
from autograd_doctor.wording import first_line

_SECONDS = 2.0
"""For judging one function of a program: what a person barely notices in a check of many seconds."""
_SECONDS_IF_ASKED = 30.0
"""The same where it is all that the person waits for."""
_CALLS_LOOKED_AT = 3
"""The first call may come with inputs or attributes that are not typical."""
_PLAIN = (type(None), bool, int, float, complex, str, torch.dtype, torch.device, torch.Size)
_REFUSED = ("returned an incorrect number of gradients", "returned an invalid gradient")
_ONCE = "differentiate twice"


@dataclass
class _Met:
    """What is known of one custom function. `inputs` are copies of ours, those to try first at the front.

    `returned`: its forward came to an end at least once. `asked_about`: the program runs for its sake. `tried`: the
    inputs on which it was judged, or could not be.
    """

    applied_at: Location | None
    asked_about: bool = False
    calls: int = 0
    returned: bool = False
    inputs: list[tuple[Any, ...]] = field(default_factory=list)
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
        self._judge_all()
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
            _copy_inputs(met, call.args)

    def _ended(self, call: FunctionCall) -> None:
        met = self._met.get(call.function)
        if met is None or call.kwargs:
            return
        met.returned = True
        if met.calls <= _CALLS_LOOKED_AT:
            self._look_at_context(call, met)

    def _look_at_context(self, call: FunctionCall, met: _Met) -> None:
        """Find attributes of the graph node that are, or hold, the very inputs or outputs of the call."""
        cls, args, result = call.function, call.args, call.result
        outputs = [out for out in (result if isinstance(result, tuple | list) else (result,)) if _is_tensor(out)]
        passing = [*outputs, *(each for each in args if not is_parameter(each))]  # parameters stay alive anyway
        node = next((node for node in map(node_of, outputs) if isinstance(node, cls._backward_cls)), None)
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
                    location=_assignment(cls, name) or met.applied_at,
                    bytes_held=sum(tensor.numel() * tensor.element_size() for tensor in kept),
                )
            )

    # ------------------------------------------------------------------------------------------------------- judging

    def _step_taken(self, course: Course) -> None:
        self._judge_all()

    def _judge_all(self) -> None:
        if self._course.running is not None:
            return
        for cls, met in self._met.items():
            if met.verdict is None and met.returned and (met.inputs or met.obstacle):
                met.verdict = _judged(cls, met, judge_first)
                self._say(cls, met, met.verdict)

    def _judge_second_derivatives(self) -> None:
        for cls, met in self._met.items() if self._twice else ():
            if met.verdict is not None and met.verdict.verdict == "right":
                self._say(cls, met, _judged(cls, met, judge_second), double=True)

    def _say(self, cls: type, met: _Met, verdict: Verdict, double: bool = False) -> None:
        self.emit(
            FunctionJudged(
                step=self._course.steps,
                function=cls.__name__,
                location=_definition(cls),
                applied_at=met.applied_at,
                verdict=verdict.verdict,
                reason=verdict.reason,
                input=verdict.input,
                error=verdict.error,
                expected=verdict.expected,
                found=verdict.found,
                double=double,
                judged_on=_facts(cls, met.tried),
                requested=met.asked_about,
            )
        )


def _copy_inputs(met: _Met, args: Sequence[Any]) -> None:
    """Copy what the function met, if a gradient is wanted and its inputs are such that it can be called again."""
    met.wanted = tuple(i for i, arg in enumerate(args) if _is_tensor(arg) and _is_real(arg) and arg.requires_grad)
    tensors = [arg for arg in args if _is_tensor(arg)]
    odd = next((type(arg).__name__ for arg in args if not _is_tensor(arg) and not _is_plain(arg)), "")
    if not met.wanted:
        return
    if odd or any(tensor.layout is not torch.strided or tensor.is_complex() for tensor in tensors):
        met.obstacle = f"it takes a `{odd}` besides tensors" if odd else "it takes sparse or complex tensors"
        return
    if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors if _is_real(tensor)):
        return
    copies = [small_copies(args), whole_copies(args)]
    met.inputs = [each for each in (reversed(copies) if met.asked_about else copies) if each is not None]
    if met.asked_about:
        # The person chose these inputs: they are cut only if they are too large.
        del met.inputs[1:]
    met.obstacle = "" if met.inputs else "its inputs are too large"


def judge_first(case: Case, cls: type) -> Verdict:
    return judge(case)


def judge_second(case: Case, cls: Any) -> Verdict:
    backward = attribute(cls, "backward")
    function = backward.__func__ if isinstance(backward, staticmethod) else backward
    marked = isinstance(function, FunctionType) and function.__code__ in once_differentiable.__code__.co_consts
    return Verdict("wrong", "it is marked `@once_differentiable`") if marked else judge_twice(case)


def _judged(cls: Any, met: _Met, how: Callable[[Case, type], Verdict]) -> Verdict:
    """Judge on the first inputs that the function accepts."""
    seconds = _SECONDS_IF_ASKED if met.asked_about else _SECONDS
    obstacle = met.obstacle or side_effect(cls)
    for inputs in [] if obstacle else met.inputs:
        met.tried = inputs
        try:
            with unnoticed():
                return how(Case(cls.apply, inputs, met.wanted, Patience(seconds)), cls)
        except OutOfTime:
            obstacle = f"it took longer than {seconds:g} s"
            break
        except Exception as error:
            if any(text in str(error) for text in (*_REFUSED, _ONCE)):
                return Verdict("wrong", str(error))
            failed = "it failed" if met.asked_about else "it does not accept smaller inputs"
            obstacle = f"{failed}: {type(error).__name__}: {first_line(str(error)).rstrip('.')}"
    return Verdict("not judged", obstacle)


def _facts(cls: Any, arguments: Sequence[Any]) -> list[TensorFacts]:
    names = argument_names(cls, len(arguments))
    return [describe(arg, name=name) for name, arg in zip(names, arguments, strict=True) if _is_tensor(arg)]


def _written_by_user(cls: Any) -> bool:
    method = next(methods(cls), None)
    return method is not None and is_own(method.__code__.co_filename)


def _definition(cls: Any) -> Location | None:
    """The line of `def backward`, below its decorators."""
    method = unwrapped(attribute(cls, "backward"))
    if not isinstance(method, FunctionType) or not is_own(method.__code__.co_filename):
        return None
    code = method.__code__
    return Location(path=code.co_filename, line=_line_of_def(method), function=code.co_qualname)


def _line_of_def(method: FunctionType) -> int:
    """A code object begins at the first decorator, the definition in the syntax tree at `def`."""
    first = method.__code__.co_firstlineno
    with contextlib.suppress(OSError, SyntaxError):  # no source, or not that of a whole statement
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(method))).body
        return first + definition.lineno - 1
    return first


def _assignment(cls: Any, attribute: str) -> Location | None:
    """Where `ctx.<attribute> = …` is written."""
    for method in methods(cls):
        for instruction in dis.get_instructions(method):
            if instruction.opname == "STORE_ATTR" and instruction.argval == attribute:
                return locate((method.__code__, instruction.offset))
    return None


def _is_tensor(value: Any) -> bool:
    return is_a(value, torch.Tensor)


def _is_real(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point()


def _is_plain(value: Any) -> bool:
    return is_a(value, _PLAIN) or (type(value) is tuple and all(map(_is_plain, value)))
