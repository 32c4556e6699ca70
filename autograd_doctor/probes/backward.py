"""Watches every `backward()` and `grad()` at the one function through which torch enters its engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import torch

from autograd_doctor.events import (
    BackwardRan,
    Event,
    GraphRetained,
    NonFiniteGradient,
    ParameterSeen,
    SavedTensorChanged,
    TensorFacts,
)
from autograd_doctor.findings import Location
from autograd_doctor.watching.care import careful
from autograd_doctor.watching.gradients import norms
from autograd_doctor.watching.graph_bytes import saved_bytes
from autograd_doctor.watching.graph_walk import (
    GradientWatch,
    GraphWalk,
    mark,
    non_finite_event,
    reduction_of,
    zeroing_events,
)
from autograd_doctor.watching.lineage import Made, numbers_in
from autograd_doctor.watching.naming import variable_name
from autograd_doctor.watching.patching import Patches
from autograd_doctor.watching.places import here, locate, place
from autograd_doctor.watching.saved_changes import complained_of, hidden
from autograd_doctor.watching.tensor_facts import describe
from autograd_doctor.watching.watch import Watch

_ZERO_STEPS = 4
_MOST_RAW_LEAVES = 200
_MEASURED_RETENTIONS = 3
_RETENTION_STEPS = 2
_MOST_SPOILED = 4
"""Backwards with non-finite gradients to look into: a loss scale that settles causes some that do no harm."""


@dataclass
class _Retained:
    """A graph that was told to stay, until it is clear whether anyone used it."""

    location: Location | None
    create_graph: bool
    since_step: int
    bytes_held: int
    used_again: bool = False


class Backward:
    """Emits one `BackwardRan` per run of the engine that the program asked for; nested runs belong to the outer one."""

    yields: ClassVar[tuple[type[Event], ...]] = (
        BackwardRan,
        GraphRetained,
        NonFiniteGradient,
        ParameterSeen,
        SavedTensorChanged,
    )
    order: ClassVar[int] = -5

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._patches = Patches()
        self._count = 0
        self._raw_leaves = 0
        self._retained: dict[int, _Retained] = {}
        self._spoiled_backwards = 0
        self._absorbed_at: set[Location | None] = set()

    def __enter__(self) -> Self:
        engine = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
        self._patches.replace(torch.autograd, "_engine_run_backward", self._running(engine))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()
        self._settle(everything=True)

    def _running(self, engine: Callable[..., Any]) -> Callable[..., Any]:
        watch = self._watch

        def run(t_outputs: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
            roots = [root for root in t_outputs if isinstance(root, torch.Tensor)]
            nested = watch.backward_running is not None
            if nested or watch.busy or len(roots) != len(t_outputs) or torch._C._functorch.peek_interpreter_stack():
                return engine(t_outputs, *args, **kwargs)
            call = self._begin(roots, args, kwargs)
            error = ""
            try:
                result = engine(t_outputs, *args, **kwargs)
            except BaseException as raised:
                error = f"{type(raised).__name__}: {raised}"
                raise
            finally:
                if call is not None:
                    self._end(call, () if error else result, error)
                watch.backward_over()
                for listener in watch.backward_finished:
                    listener()
            return result

        return run

    # ------------------------------------------------------------------------------------------------------- before

    @careful
    def _begin(self, roots: list[torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        watch = self._watch
        watch.parameters.introduce()
        leftovers = watch.gradients.backward_begins()
        number = self._count
        self._count += 1
        _, retain, create, inputs, *_ = args
        walk = GraphWalk(watch, roots, number)
        for listener in watch.backward_begins:
            listener(walk.leaves.values())
        made = watch.tensors.get(roots[0])
        facts = self._root_facts(roots[0], made)
        finite = facts.nan + facts.inf == 0
        if not finite:
            watch.sentry.root_reached(made)
        watch.last_loss = facts.low if facts.numel == 1 and finite else (math.nan if facts.numel == 1 else None)
        changed = hidden(watch, walk, roots[0], here())
        if changed is not None:
            watch.emit(changed)
        gradients = GradientWatch(watch, walk, look_for_zeros=watch.step < _ZERO_STEPS)
        if finite and self._spoiled_backwards < _MOST_SPOILED and (roots[0].is_cpu or watch.step < _ZERO_STEPS):
            gradients.attach()
        if retain or create:
            self._retain(number, roots, bool(create))
        watch.backward_running = number
        return _Call(
            number=number, location=here(), walk=walk, gradients=gradients, root=facts, made=made, leftovers=leftovers,
            retain=bool(retain), create=bool(create), inputs=len(inputs), kind=_kind(kwargs),
            reduction=reduction_of(roots[0]),
        )  # fmt: skip

    def _root_facts(self, root: torch.Tensor, made: Made | None) -> TensorFacts:
        return describe(
            root,
            name=variable_name(root),
            operation=made.operation if made else "",
            made_at=locate(made.place) if made else None,
        )

    def _retain(self, number: int, roots: list[torch.Tensor], create: bool) -> None:
        measured = len(self._retained) < _MEASURED_RETENTIONS
        size = saved_bytes(roots).bytes if measured else 0
        self._retained[number] = _Retained(here(), create, self._watch.step, size)

    # -------------------------------------------------------------------------------------------------------- after

    @careful
    def _end(self, call: _Call, result: Any, error: str) -> None:
        watch, walk = self._watch, call.walk
        call.gradients.detach()
        self._number_raw_leaves(walk, call)
        wrote, accumulated = watch.gradients.backward_ended(call.number, call.leftovers)
        reached = sorted({n for n in (self._number(leaf) for leaf in walk.leaves.values()) if n is not None})
        cuts, zeroings = zeroing_events(walk, call.gradients, watch.parameters.get)
        values = numbers_in(call.made.values) if call.made is not None else None
        if call.made is not None:
            lost = call.made.values & ~sum(1 << number for number in reached)
            cuts += call.made.cuts_of(lost)
        rewrapped = call.made if call.made is not None and call.made.values and not reached else None
        watch.emit(
            BackwardRan(
                step=watch.step,
                backward=call.number,
                location=call.location,
                kind=call.kind,  # type: ignore[arg-type]
                root=call.root,
                loss=watch.last_loss,
                values=values,
                reached=reached,
                wrote=wrote,
                cuts=cuts,
                zeroings=zeroings,
                accumulated=accumulated,
                rewrapped_at=locate(rewrapped.rewrapped) if rewrapped else None,
                rewrapped_by=rewrapped.rewrapped_by if rewrapped else "",
                retain_graph=call.retain and not call.create,
                create_graph=call.create,
                inputs=call.inputs,
                inside_step=watch.inside_steps[-1] if watch.inside_steps else None,
                nodes=len(walk.nodes),
                reaches_back=watch.step - walk.oldest_step,
                reaches_back_at=locate(walk.crossing),
                carried_by=_carrier(walk) if error or walk.crossing is not None else "",
                reused=sorted(walk.reused),
                contains=sorted(walk.contains),
                reduction=call.reduction,
                error=error,
            )
        )
        complaint = complained_of(watch, walk, error, call.location) if error else None
        if complaint is not None:
            watch.emit(complaint)
        self._report_bad(call, wrote)
        self._mark_gradients(call, result, wrote)
        for earlier, kept in self._retained.items():
            kept.used_again |= earlier in (walk.differentiated if kept.create_graph else walk.reused)
        self._settle()
        watch.tensors.originals.clear()

    def _number(self, leaf: torch.Tensor) -> int | None:
        """The number of a leaf of the graph: parameters always have one, other leaves if they were given one."""
        if isinstance(leaf, torch.nn.Parameter):
            return self._watch.parameters.number(leaf)
        return self._watch.parameters.get(leaf)

    def _number_raw_leaves(self, walk: GraphWalk, call: _Call) -> None:
        """Leaves that are no `nn.Parameter` but collect a gradient: training written with plain tensors."""
        for leaf in walk.leaves.values() if call.kind == "backward" and not call.inputs else ():
            if self._watch.parameters.get(leaf) is None and leaf.grad is not None:
                if not isinstance(leaf, torch.nn.Parameter):
                    self._raw_leaves += 1
                if self._raw_leaves <= _MOST_RAW_LEAVES:
                    self._watch.parameters.number(leaf)

    def _report_bad(self, call: _Call, wrote: list[int]) -> None:
        bad = call.gradients.first_bad
        if bad is None:
            return
        living = dict(self._watch.parameters.living())
        written = [(number, living[number].grad) for number in wrote if number in living]
        held = [(number, gradient) for number, gradient in written if gradient is not None]
        spoiled = [
            number
            for (number, _), norm in zip(held, norms([gradient for _, gradient in held]), strict=True)
            if not math.isfinite(norm)
        ]
        self._spoiled_backwards += bool(spoiled)
        event = non_finite_event(self._watch, call.walk, bad, spoiled, absorbed=not spoiled)
        if spoiled or event.location not in self._absorbed_at:
            self._absorbed_at.add(event.location)
            self._watch.emit(event)

    def _mark_gradients(self, call: _Call, result: Any, wrote: list[int]) -> None:
        """Give gradients their lineage, and with `create_graph` let a later backward through them be recognised."""
        living = dict(self._watch.parameters.living()) if call.create else {}
        outputs = [tensor for tensor in result or () if isinstance(tensor, torch.Tensor)] if call.inputs else []
        outputs += [gradient for number in wrote if number in living and (gradient := living[number].grad) is not None]
        for output in outputs:
            made = Made("grad", place(), self._watch.step)
            made.of_backward = call.number if call.create else None
            if call.made is not None:
                made.absorb(call.made, connected=call.create)
            mark(output, made)
            self._watch.tensors.put(output, made)

    def _settle(self, everything: bool = False) -> None:
        """Report retained graphs whose time to be used again is over."""
        for number, kept in list(self._retained.items()):
            if everything or self._watch.step >= kept.since_step + _RETENTION_STEPS:
                del self._retained[number]
                self._watch.emit(
                    GraphRetained(
                        step=self._watch.step,
                        backward=number,
                        location=kept.location,
                        create_graph=kept.create_graph,
                        used_again=kept.used_again,
                        bytes_held=kept.bytes_held,
                    )
                )


@dataclass
class _Call:
    """One run of the engine, between its beginning and its end."""

    number: int
    location: Location | None
    walk: GraphWalk
    gradients: GradientWatch
    root: TensorFacts
    made: Made | None
    leftovers: list[int]
    retain: bool
    create: bool
    inputs: int
    kind: str
    reduction: Literal["", "mean", "sum"]


def _carrier(walk: GraphWalk) -> str:
    """The variable that holds the tensor through which a graph reaches into earlier work."""
    reference = walk.carrier.reference if walk.carrier is not None else None
    tensor = reference() if reference is not None else None
    return variable_name(tensor) if tensor is not None else ""


def _kind(kwargs: dict[str, Any]) -> str:
    return "backward" if kwargs.get("accumulate_grad") else "grad"


PROBE = Backward
