"""Leaves that get gradients step after step from the losses that are trained on, and that nothing updates."""

from __future__ import annotations

from collections import Counter

from autograd_doctor.events import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.trace import Trace


def trained(trace: Trace, minimum: int) -> set[int]:
    """What at least so many steps have used the gradients of."""
    steps = Counter(parameter for step in trace.steps for use in step.uses for parameter in use.parameters)
    return {parameter for parameter, count in steps.items() if count >= minimum}


def left_out(trace: Trace, minimum: int) -> set[int]:
    """Leaves that got gradients in at least so many steps, from losses which also train something."""
    learning = trained(trace, minimum)
    in_steps = {
        (backward.step, leaf)
        for backward in trace.of(BackwardRan)
        if backward.kind == "backward" and learning.intersection(backward.wrote)
        for leaf in backward.wrote
    }
    written = Counter(leaf for _, leaf in in_steps)
    by_hand = {leaf for step in trace.of(OptimizerStepped) for leaf in step.moved or () if step.optimizer is None}
    return (
        {leaf for leaf, count in written.items() if count >= minimum}
        - trace.optimized
        - by_hand
        - {leaf for event in trace.of(ForwardRan) for leaf in event.written_parameters}
    )


def parameters_left_out(trace: Trace, minimum: int) -> set[int]:
    """Those that a module or an `nn.Parameter` declares to be learned, unless only an input is optimized."""
    learning = trained(trace, minimum)
    if not learning or _only_inputs(trace, learning):
        return set()
    return {parameter for parameter in left_out(trace, minimum) if _is_to_learn(trace, parameter)}


def _only_inputs(trace: Trace, learning: set[int]) -> bool:
    """Whether what is optimized are leaves of the program's own: inputs, for the sake of which a model is probed."""
    seen = [trace.parameters[parameter] for parameter in learning if parameter in trace.parameters]
    return all(event.kind == "tensor" and not event.module_kind for event in seen)


def _is_to_learn(trace: Trace, parameter: int) -> bool:
    """A parameter, or a plain tensor that a module keeps beside its parameters; others may be inputs, as points are
    at which the output is differentiated."""
    seen = trace.parameters.get(parameter)
    if seen is None or seen.kind == "parameter":
        return seen is not None
    inputs = {reached for event in trace.of(BackwardRan) if event.kind == "grad" for reached in event.reached}
    return bool(seen.module_kind) and parameter not in inputs
