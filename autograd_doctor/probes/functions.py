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
from typing import Any, ClassVar, Self

import torch
from torch.autograd.function import once_differentiable

from autograd_doctor.events import ContextAttributeKept, Event, FunctionJudged, TensorFacts
from autograd_doctor.findings import Location
from autograd_doctor.watching.care import careful, unnoticed
from autograd_doctor.watching.derivatives import Verdict, judge, judge_twice, small_copies, whole_copies
from autograd_doctor.watching.function_signature import argument_names
from autograd_doctor.watching.lineage import tensors_in
from autograd_doctor.watching.patching import Patches
from autograd_doctor.watching.places import is_own, locate, place
from autograd_doctor.watching.side_effects import methods, side_effect
from autograd_doctor.watching.slopes import Case, OutOfTime, Patience
from autograd_doctor.watching.tensor_facts import describe
from autograd_doctor.watching.watch import Watch
from autograd_doctor.watching.without_running import attribute, is_a, unwrapped
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


class Functions:
    """Watches `Function.apply`, and asks whether anything is differentiated twice."""

    yields: ClassVar[tuple[type[Event], ...]] = (FunctionJudged, ContextAttributeKept)

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._patches = Patches()
        self._met: dict[type, _Met] = {}
        self._twice = False

    def __enter__(self) -> Self:
        original = vars(torch.autograd.Function)["apply"].__func__
        self._patches.replace(torch.autograd.Function, "apply", classmethod(self._applying(original)))
        engine = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
        self._patches.replace(torch.autograd, "_engine_run_backward", self._running(engine))
        self._watch.stepped.append(self._judge_all)
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()
        self._watch.stepped.remove(self._judge_all)
        self._judge_all()
        self._judge_second_derivatives()
        self._met.clear()

    # ------------------------------------------------------------------------------------------------------ watching

    def _applying(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(cls: type, *args: Any, **kwargs: Any) -> Any:
            met = None if self._watch.busy or kwargs else self._meet(cls, args)
            result = original(cls, *args, **kwargs)
            if met is not None:
                met.returned = True
            if met is not None and met.calls <= _CALLS_LOOKED_AT:
                self._look_at_context(cls, met, args, result)
            return result

        return apply

    def _running(self, engine: Callable[..., Any]) -> Callable[..., Any]:
        def run(t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
            self._twice |= not self._watch.busy and len(args) > 2 and bool(args[2])
            return engine(t_outputs, *args, **kwargs)

        return run

    @careful
    def _meet(self, cls: type, args: Sequence[Any]) -> _Met | None:
        """Take note of a call, and copies of its inputs if there are none yet."""
        met = self._met.get(cls)
        if met is None:
            asked_about = cls is self._watch.asked_about
            if not (asked_about or _written_by_user(cls)) or torch._C._functorch.peek_interpreter_stack() is not None:
                return None
            met = self._met[cls] = _Met(locate(place()), asked_about)
        met.calls += 1
        if met.calls <= _CALLS_LOOKED_AT and not met.inputs and not met.obstacle:
            _copy_inputs(met, args)
        return met

    @careful
    def _look_at_context(self, cls: Any, met: _Met, args: Sequence[Any], result: Any) -> None:
        """Find attributes of the graph node that are, or hold, the very inputs or outputs of the call."""
        outputs = [out for out in (result if isinstance(result, tuple | list) else (result,)) if _is_tensor(out)]
        node = next((out.grad_fn for out in outputs if isinstance(out.grad_fn, cls._backward_cls)), None)
        for name, value in list(vars(node).items()) if node is not None else ():
            kept = [tensor for tensor in tensors_in([value]) if any(tensor is known for known in (*outputs, *args))]
            if not kept or name in met.attributes:
                continue
            met.attributes.add(name)
            self._watch.emit(
                ContextAttributeKept(
                    step=self._watch.step,
                    function=cls.__name__,
                    attribute=name,
                    which="output" if any(kept[0] is out for out in outputs) else "input",
                    location=_assignment(cls, name) or met.applied_at,
                    bytes_held=sum(tensor.numel() * tensor.element_size() for tensor in kept),
                )
            )

    # ------------------------------------------------------------------------------------------------------- judging

    @careful
    def _judge_all(self) -> None:
        if self._watch.backward_running is not None:
            return
        for cls, met in self._met.items():
            if met.verdict is None and met.returned and (met.inputs or met.obstacle):
                met.verdict = _judged(cls, met, judge_first)
                self._say(cls, met, met.verdict)

    @careful
    def _judge_second_derivatives(self) -> None:
        for cls, met in self._met.items() if self._twice else ():
            if met.verdict is not None and met.verdict.verdict == "right":
                self._say(cls, met, _judged(cls, met, judge_second), double=True)

    def _say(self, cls: type, met: _Met, verdict: Verdict, double: bool = False) -> None:
        self._watch.emit(
            FunctionJudged(
                step=self._watch.step,
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
    if not met.wanted or not all(bool(torch.isfinite(tensor).all()) for tensor in tensors if _is_real(tensor)):
        return
    if odd or any(tensor.layout is not torch.strided or tensor.is_complex() for tensor in tensors):
        met.obstacle = f"it takes a `{odd}` besides tensors" if odd else "it takes sparse or complex tensors"
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


PROBE = Functions
