"""Leaves that get gradients step after step from the losses that are trained on, and that nothing updates."""

from __future__ import annotations

from collections import Counter

from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ParameterFrozen, ValuesShared
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
    let_go = _let_go(trace)
    written = Counter(leaf for step, leaf in in_steps if step >= let_go.get(leaf, 0))
    return (
        {leaf for leaf, count in written.items() if count >= minimum}
        - (trace.optimized - let_go.keys())
        - trace.moved_by_hand
        - {event.parameter for event in trace.of(ValuesShared)}
        - {leaf for event in trace.of(ForwardRan) for leaf in event.written_parameters}
    )


def _let_go(trace: Trace) -> dict[int, int]:
    """For parameters that were frozen once no optimizer that holds them stepped any more, the steps then taken."""
    newest = {step.optimizer: step.step for step in trace.of(OptimizerStepped) if step.optimizer is not None}
    held: dict[int, int] = {}
    for optimizer, parameters in trace.optimizer_parameters.items():
        held.update({p: max(newest.get(optimizer, 0), held.get(p, 0)) for p in parameters})
    return {
        event.parameter: event.step
        for event in trace.of(ParameterFrozen)
        if event.parameter in held and event.step > held[event.parameter]
    }


def thawed(trace: Trace, minimum: int) -> set[int]:
    """Parameters that were frozen while others learned, for so many steps at least, and that get gradients since."""
    frozen = {number: seen.step for number, seen in trace.parameters.items() if not seen.requires_grad}
    frozen |= {event.parameter: event.step for event in trace.of(ParameterFrozen)}
    learned = [event for event in trace.of(BackwardRan) if trace.optimized.intersection(event.wrote)]
    found = set()
    for parameter, since in frozen.items():
        first = next((event.step for event in learned if event.step >= since and parameter in event.wrote), 0)
        if len({event.step for event in learned if since <= event.step < first}) >= minimum:
            found.add(parameter)
    return found


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
