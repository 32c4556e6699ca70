"""Sees every operation of torch that the program calls, with its line, through a `TorchFunctionMode`.

It records how each output was made (`lineage`), marks its backward node, and lets the sentry check its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import torch
from torch.autograd.variable import VariableMeta
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from autograd_doctor.events import BackwardRan, Event, NonFiniteInput, NonFiniteProduced, OperationFailed
from autograd_doctor.watching.care import careful, contained
from autograd_doctor.watching.escapes import Escapes
from autograd_doctor.watching.graph_walk import mark
from autograd_doctor.watching.lineage import CutPoint, HiddenChange, Made, has_graph, tensors_in
from autograd_doctor.watching.operation_kinds import ONE_BY_ONE, SHAPE_ONLY, STAYS_FINITE, Kind, changes_input, classify
from autograd_doctor.watching.patching import Patches
from autograd_doctor.watching.places import Place, here, locate
from autograd_doctor.watching.places import place as user_place
from autograd_doctor.watching.watch import Watch

_PLAIN_TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
_DISABLED = torch._C._disabled_torch_function_impl
_MOST_FAILURES = 20
_MOST_OPERANDS = 4


class Operations(TorchFunctionMode):
    """Active on the program's main thread for the whole run; steps aside inside optimizers and forked children.

    What it learns of a loss goes into the `BackwardRan` that the probe of the backward emits.
    """

    yields: ClassVar[tuple[type[Event], ...]] = (BackwardRan, NonFiniteProduced, NonFiniteInput, OperationFailed)
    order: ClassVar[int] = 100

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch
        self._tensors = watch.tensors
        self._kinds: dict[Any, tuple[Kind, str]] = {}
        self._patches = Patches()
        self._escapes = Escapes()
        self._failures = 0

    def __enter__(self) -> Self:
        super().__enter__()  # type: ignore[no-untyped-call]
        self._patches.replace(torch.autograd.Function, "apply", self._applying(torch.autograd.Function.apply))
        self._patches.replace(torch, "from_numpy", self._importing(torch.from_numpy))
        self._patches.replace(torch.overrides, "has_torch_function", _by_arguments(torch.overrides.has_torch_function))
        self._patches.replace(VariableMeta, "__call__", self._rewrapping(VariableMeta.__call__))
        return self

    def __exit__(self, *exception: Any) -> None:
        self._patches.close()
        super().__exit__(*exception)  # type: ignore[no-untyped-call]

    # ------------------------------------------------------------------------------------------------- the one seam

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        kind, name = self._kinds.get(func) or self._kinds.setdefault(func, classify(func))
        watch = self._watch
        if kind is Kind.QUIET or watch.in_optimizer or watch.forked or watch.busy:
            return func(*args, **kwargs)
        if torch._C._functorch.peek_interpreter_stack() is not None:
            return func(*args, **kwargs)
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            self._failed(name, args, kwargs, error)
            raise
        if types and not _PLAIN_TENSORS.issuperset(types):  # the overrides of subclasses must not see us
            with watch.looking():
                self._record(kind, name, args, kwargs, result, torch.is_grad_enabled())
        else:
            self._record(kind, name, args, kwargs, result, torch.is_grad_enabled())
        return result

    @contained
    def _record(
        self, kind: Kind, name: str, args: Sequence[Any], kwargs: dict[str, Any], result: Any, gradients: bool
    ) -> None:
        """Record what an operation did; `gradients` tells whether the program had them switched on."""
        for listener in self._watch.operated:
            listener(args, kwargs, result)
        if kind is Kind.ESCAPE:
            made = self._tensors.derive(Made(name, user_place(), self._watch.step), tensors_in(args))
            self._escapes.left(made, result)
        elif isinstance(result, torch.Tensor):
            self._note(name, args, kwargs, (result,), gradients)
        elif isinstance(result, tuple | list):
            self._note(name, args, kwargs, tensors_in(result), gradients)
        elif result is None:
            self._wrote(name, args, gradients)
        elif name == "register_hook":
            self._watch.hooked = True

    # ---------------------------------------------------------------------------------------------------- recording

    def _note(
        self,
        name: str,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        outputs: Sequence[torch.Tensor],
        gradients: bool,
    ) -> None:
        """Record how each output was made."""
        inputs = [] if name in SHAPE_ONLY else tensors_in(args, kwargs.values())
        place = user_place()
        changes = changes_input(name) or "out" in kwargs
        for position, output in enumerate(outputs):
            sources = inputs[position : position + 1] if name in ONE_BY_ONE else inputs
            made = self._tensors.derive(Made(name, place, self._watch.step), sources)
            self._escapes.returned(made, args, kwargs)
            if not has_graph(output) and self._tensors.parameter_bit(output):
                if changes:
                    self._written_by_hand(output, name, place)
                continue
            foreign = self._foreign(output, made) if changes else 0
            self._connect(output, made, gradients)
            if changes:
                self._changed(output, made, name, place, foreign)
            if name in ("data", "detach") and inputs:
                made.alias_of = self._watch.parameters.get(inputs[0])
                made.behind = name == "data"
                if made.behind:
                    self._tensors.keep_original(inputs[0])
            self._tensors.put(output, made)
            self._look(output, made, inputs)

    def _connect(self, output: torch.Tensor, made: Made, gradients: bool) -> None:
        """Mark the backward node of an output with its lineage, or note which paths were cut."""
        if has_graph(output):
            self._watch.gradients.graph_grows()
            mark(output, made)
            return
        if made.live:
            made.add_cut(self._cut_point(made, gradients), made.live)
            made.live = 0
        if made.cuts and not (output.dtype.is_floating_point or output.dtype.is_complex):
            made.choose()
        # With gradients off, a view of a parameter still says that it requires one.
        inherited = not gradients and made.operation != "requires_grad_" and output._is_view()
        if output.requires_grad and not inherited:
            before = self._tensors.get(output)
            if before is not None and made.values == 0 and self._escapes.last is not None:
                made.absorb(self._escapes.last, connected=False)
            made.rewrapped, made.rewrapped_by = made.place, made.operation

    def _cut_point(self, made: Made, gradients: bool) -> CutPoint:
        """Where a path ended: at this operation, or by the switch under which it and others ran."""
        if gradients:
            return CutPoint(made.operation, made.place, "operation", None)
        if self._watch.switch is not None:
            return CutPoint("", None, "grad-mode", self._watch.switch)
        return CutPoint(made.operation, made.place, "grad-mode", None)

    def _look(self, output: torch.Tensor, made: Made, inputs: Sequence[torch.Tensor]) -> None:
        sentry = self._watch.sentry
        if not sentry.active or made.operation in STAYS_FINITE or not (output.is_cpu or self._watch.step < 3):
            return
        sentry.check(output, made, inputs)

    def _wrote(self, name: str, args: Sequence[Any], gradients: bool) -> None:
        """An operation that returns nothing but changes its first argument."""
        target = args[0] if args else None
        if not isinstance(target, torch.Tensor):
            return
        place = user_place()
        if name == "grad.__set__":
            self._watch.gradients.cleared_at = locate(place)
        elif name == "data.__set__":
            self._written_by_hand(target, name, place)
            self._replaced(target, self._tensors.derive(Made("data", place, self._watch.step), tensors_in(args[1:])))
        elif name == "__setitem__":
            if not has_graph(target) and self._tensors.parameter_bit(target):
                self._written_by_hand(target, name, place)
                return
            made = self._tensors.derive(Made(name, place, self._watch.step), tensors_in(args))
            foreign = self._foreign(target, made)
            self._connect(target, made, gradients)
            self._changed(target, made, name, place, foreign)
            self._tensors.put(target, made)
            self._look(target, made, tensors_in(args[2:]))

    def _foreign(self, target: torch.Tensor, made: Made) -> int:
        """Parameters with a graph that flow into what an alias made by `.data` stands for, but for itself."""
        before = self._tensors.get(target)
        if before is None or not before.behind:
            return 0
        return made.live & ~(0 if before.alias_of is None else 1 << before.alias_of)

    def _behind(self, made: Made) -> Made:
        """What flows into a tensor of which the values are changed behind autograd: gradients end here."""
        hidden = Made("data", made.place, made.step)
        hidden.absorb(made, connected=True)
        if hidden.live:
            hidden.add_cut(CutPoint("data", made.place, "operation", None), hidden.live)
            hidden.live = 0
        return hidden

    def _replaced(self, target: torch.Tensor, made: Made) -> None:
        """The program assigned to `.data`."""
        known = self._tensors.get(target)
        if known is not None:
            known.absorb(self._behind(made), connected=False)
        elif made.live and not self._tensors.parameter_bit(target):
            self._tensors.put(target, self._behind(made))

    def _changed(self, target: torch.Tensor, made: Made, name: str, place: Place | None, foreign: int) -> None:
        """An in-place change also reaches the tensor that a view belongs to, and what lies behind `.data`."""
        before = self._tensors.get(target)
        if before is not None:
            made.changes = before.changes
            made.born, made.born_by = before.born, before.born_by
            made.alias_of = before.alias_of
            made.behind = before.behind
        if not target.is_inference():
            made.change(name, place, target._version)
        if made.behind:
            address = target.untyped_storage().data_ptr()
            self._tensors.hidden_changes.append(HiddenChange(address, name, place, made.order))
            owner = self._tensors.sharing(target.data_ptr())
            if owner is not None and owner is not before:
                owner.absorb(self._behind(made), connected=False)
        if made.alias_of is not None:
            if foreign:
                self._tensors.written[made.alias_of] = self._behind(made)
            else:
                self._watch.gradients.written_by_hand(made.alias_of, locate(place))
        base = target._base
        if base is not None:
            whole = self._tensors.get(base) or Made(name, place, self._watch.step)
            whole.absorb(made, connected=True)
            whole.change(name, place, target._version)
            if whole.reference is None:
                self._tensors.put(base, whole)

    def _written_by_hand(self, target: torch.Tensor, name: str, place: Place | None) -> None:
        number = self._watch.parameters.get(target)
        if number is not None and name != "requires_grad_":
            self._watch.gradients.written_by_hand(number, locate(place))

    # -------------------------------------------------------------------------------- seams that the mode does not see

    def _applying(self, _: Any) -> Any:
        original = vars(torch.autograd.Function)["apply"].__func__
        note, watch = self._note_function, self._watch

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(cls, *args, **kwargs)
            if not watch.busy and not watch.forked and torch._C._functorch.peek_interpreter_stack() is None:
                note(cls.__name__, args, result)
            return result

        return classmethod(apply)

    @careful
    def _note_function(self, name: str, args: Sequence[Any], result: Any) -> None:
        inputs, place = tensors_in(args), user_place()
        outputs = [result] if isinstance(result, torch.Tensor) else tensors_in(result if result is not None else ())
        for output in outputs:
            made = Made(name, place, self._watch.step)
            self._tensors.derive(made, inputs)
            if has_graph(output):
                mark(output, made)
            elif made.live:
                made.add_cut(CutPoint(name, place, "function", None), made.live)
                made.live = 0
            self._tensors.put(output, made)
            self._look(output, made, inputs)

    @careful
    def _note_import(
        self, name: str, args: Sequence[Any], kwargs: dict[str, Any], result: torch.Tensor, gradients: bool
    ) -> None:
        self._note(name, args, kwargs, (result,), gradients)

    def _importing(self, original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def from_numpy(array: Any) -> torch.Tensor:
            result = original(array)
            if not self._watch.busy and not self._watch.forked:
                self._note_import("from_numpy", (array,), {}, result, torch.is_grad_enabled())
            return result

        return from_numpy

    def _rewrapping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(cls: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            result = original(cls, *args, **kwargs)
            if isinstance(result, torch.Tensor) and not self._watch.busy and not self._watch.forked:
                self._note_import("Variable", args, kwargs, result, torch.is_grad_enabled())
            return result

        return __call__

    @careful
    def _failed(self, name: str, args: Sequence[Any], kwargs: dict[str, Any], error: Exception) -> None:
        """An operation raised: say what reached it."""
        self._failures += 1
        if self._failures > _MOST_FAILURES:
            return
        operands = [self._watch.describe(tensor) for tensor in tensors_in(args, kwargs.values())[:_MOST_OPERANDS]]
        self._watch.emit(
            OperationFailed(
                step=self._watch.step,
                operation=name,
                location=here(),
                error=f"{type(error).__name__}: {error}",
                operands=operands,
            )
        )


def _by_arguments(original: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Answer as if our mode were not there: in evaluation, attention takes its fast path only if nothing overrides."""

    def has_torch_function(relevant_args: Any) -> bool:
        if len(_get_current_function_mode_stack()) > 1:
            return original(relevant_args)
        kinds = {type(argument) for argument in relevant_args} - {torch.Tensor, torch.nn.Parameter}
        return any(getattr(kind, "__torch_function__", _DISABLED) is not _DISABLED for kind in kinds)

    return has_torch_function


PROBE = Operations
