"""AD112: one parameter sits in two optimizers, or twice in one, and is stepped by both."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

from autograd_doctor.events.cycle import GradientsIgnored
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt, ParametersAdded
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import ordinal, related, share, steps_by_optimizer

Steps = list[OptimizerStepped]


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    repeats = tunables["minimum_repeats"]
    steps = {optimizer: taken for optimizer, taken in steps_by_optimizer(trace).items() if optimizer is not None}
    for optimizer in steps:
        if trace.optimizers[optimizer].duplicates and len(steps[optimizer]) >= repeats:
            yield _listed_twice(trace, optimizer, steps[optimizer])
    ignoring = {event.optimizer for event in trace.of(GradientsIgnored)}
    for one, other in combinations(sorted(steps.keys() - ignoring), 2):
        shared = trace.optimizer_parameters[one] & trace.optimizer_parameters[other]
        twice = _same_backwards(steps[one], steps[other], shared)
        if len(twice) >= repeats:
            mixed = _are_mixed(trace, one, other, steps[other], twice)
            yield _in_two(trace, one, other, twice, shared, mixed=mixed)
        elif shared and _take_turns(trace, one, other, shared) and not _hands_on(steps[one], steps[other]):
            yield _alternating(trace, one, other, steps[other], shared)


def _used(step: OptimizerStepped, shared: frozenset[int]) -> set[tuple[int, int]]:
    """Which shared parameter the step updated with the gradients of which backward."""
    return {(p, b) for use in step.uses for p in use.parameters if p in shared for b in use.backwards[-1:]}


def _same_backwards(steps: Steps, others: Steps, shared: frozenset[int]) -> Steps:
    """Steps of the second optimizer on gradients that the first one stepped on as well."""
    known = set().union(*(_used(step, shared) for step in steps))
    return [step for step in others if _used(step, shared) & known]


def _take_turns(trace: Trace, one: int, other: int, shared: frozenset[int]) -> bool:
    """Whether both go on stepping the shared parameters, rather than one taking over from the other."""
    order = [step.optimizer for step in trace.steps if step.optimizer in (one, other) and _used(step, shared)]
    return sum(before != after for before, after in pairwise(order)) > 2


def _hands_on(steps: Steps, others: Steps) -> bool:
    """Whether one of two optimizers steps the other inside of its own steps, and moves nothing by itself in the rest,
    as one that collects the gradients of several batches for it."""
    return any(
        not any(step.moved for step in outer) and any(step.inside == outer[0].optimizer for step in inner)
        for outer, inner in ((steps, others), (others, steps))
    )


def _are_mixed(trace: Trace, one: int, other: int, others: Steps, twice: Steps) -> bool:
    """Whether a function of its own, beside that of the backward, steps two kinds of optimizers that hold the very same
    parameters, as where their moves are mixed on purpose: an oversight shares a part, gives the same twice, or was left
    in the loop.

    Of some steps only that of the one was recorded.
    """
    kinds = trace.optimizers[one].kind, trace.optimizers[other].kind
    is_same = trace.optimizer_parameters[one] == trace.optimizer_parameters[other]
    stepping = {_function(step) for step in trace.steps if step.optimizer in (one, other)}
    is_own = len(stepping) == 1 and stepping.isdisjoint(map(_function, trace.of(BackwardRan)))
    return kinds[0] != kinds[1] and is_same and is_own and 2 * len(twice) >= len(others)


def _function(event: OptimizerStepped | BackwardRan) -> tuple[str, str]:
    return (event.location.path, event.location.function) if event.location is not None else ("", "")


def _moved_parameters(trace: Trace, step: OptimizerStepped, shared: frozenset[int]) -> list[int]:
    return sorted({parameter for parameter, _ in _used(step, shared)}) or sorted(shared)


def _in_two(trace: Trace, one: int, other: int, twice: Steps, shared: frozenset[int], *, mixed: bool) -> Finding:
    parameters = _moved_parameters(trace, twice[0], shared)
    total = sum(step.optimizer == other for step in trace.steps)
    return RULE.finding(
        f"`{trace.optimizer_name(one)}` and `{trace.optimizer_name(other)}` both stepped "
        f"{trace.parameter_names(parameters)} on the same gradients, in {share(len(twice), total)}",
        subject=trace.parameter_name(parameters[0]),
        location=trace.optimizers[other].location,
        severity="info" if mixed else None,
        confidence="low" if mixed else "high",
        notes=("one function steps both, over the same parameters: if it is there to mix their moves, it is right",)
        if mixed
        else (),
        help="leave the shared parameters out of one of the two optimizers",
        evidence={"parameters": len(parameters), "steps": len(twice)},
        related=related(
            ("the other optimizer over them is built here", trace.optimizers[one].location),
            ("the second update happens here", twice[0].location),
        ),
        step_first=ordinal(twice[0]),
        step_count=len(twice),
        parameters=parameters,
    )


def _alternating(trace: Trace, one: int, other: int, steps: Steps, shared: frozenset[int]) -> Finding:
    parameters = sorted(shared)
    return RULE.finding(
        f"`{trace.optimizer_name(one)}` and `{trace.optimizer_name(other)}` take turns to step "
        f"{trace.parameter_names(parameters)}, each on gradients of its own",
        subject=trace.parameter_name(parameters[0]),
        location=trace.optimizers[other].location,
        help="keep this if it is by design; each optimizer has its own momentum for these parameters",
        severity="info",
        confidence="medium",
        evidence={"parameters": len(parameters)},
        related=related(("the other optimizer over them is built here", trace.optimizers[one].location)),
        step_first=ordinal(steps[0]),
        step_count=len(steps),
        parameters=parameters,
    )


def _listed_twice(trace: Trace, optimizer: int, steps: Steps) -> Finding:
    built = trace.optimizers[optimizer]
    return RULE.finding(
        f"`{trace.optimizer_name(optimizer)}` was given {trace.parameter_names(built.duplicates)} twice, and updates "
        f"{'them' if len(built.duplicates) > 1 else 'it'} twice per step, in {share(len(steps), len(steps))}",
        subject=trace.parameter_name(built.duplicates[0]),
        location=built.location,
        help="give every parameter to the optimizer once: tied weights come out of two modules",
        evidence={"parameters": len(built.duplicates), "steps": len(steps)},
        related=related(("the steps are taken here", steps[0].location)),
        step_first=ordinal(steps[0]),
        step_count=len(steps),
        parameters=built.duplicates,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head, decoder = nn.Linear(6, 3), nn.Linear(3, 1), nn.Linear(3, 6)
    opt_head = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.01)
    opt_decoder = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.01)  # <- AD112
    for _ in range(8):
        inputs = torch.randn(16, 6)
        hidden = encoder(inputs)
        loss = (head(hidden) - inputs.sum(dim=1, keepdim=True)).square().mean()
        loss = loss + (decoder(hidden) - inputs).square().mean()
        opt_head.zero_grad()
        opt_decoder.zero_grad()
        loss.backward()
        opt_head.step()
        opt_decoder.step()


def bad_tied_weights_listed_twice() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(12, 8), nn.Linear(8, 12, bias=False)
    head.weight = embedding.weight
    optimizer = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)  # <- AD112
    for _ in range(8):
        tokens = torch.randint(0, 12, (32,))
        loss = nn.functional.cross_entropy(head(embedding(tokens)), (tokens + 1) % 12)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_taking_turns() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head, decoder = nn.Linear(6, 3), nn.Linear(3, 1), nn.Linear(3, 6)
    opt_task = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)
    opt_rebuild = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)  # <- AD112
    for _ in range(8):
        inputs = torch.randn(16, 6)
        opt_task.zero_grad()
        (head(encoder(inputs)) - inputs.sum(dim=1, keepdim=True)).square().mean().backward()
        opt_task.step()
        opt_rebuild.zero_grad()
        (decoder(encoder(inputs)) - inputs).square().mean().backward()
        opt_rebuild.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head, decoder = nn.Linear(6, 3), nn.Linear(3, 1), nn.Linear(3, 6)
    opt_head = torch.optim.SGD(head.parameters(), lr=0.01)
    opt_decoder = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(8):
        inputs = torch.randn(16, 6)
        hidden = encoder(inputs)
        loss = (head(hidden) - inputs.sum(dim=1, keepdim=True)).square().mean()
        loss = loss + (decoder(hidden) - inputs).square().mean()
        opt_head.zero_grad()
        opt_decoder.zero_grad()
        loss.backward()
        opt_head.step()
        opt_decoder.step()


RULE = Rule(
    code="AD112",
    name="parameter-optimized-twice",
    severity="warning",
    title="two optimizers, or two entries of one, step the same parameter",
    observes=(
        "Parameters that several optimizers hold, and the backwards whose gradients each of them stepped on; "
        "parameters that one optimizer was given twice."
    ),
    why=(
        "The parameter is updated twice with one gradient: its rate is the sum of both, and each optimizer keeps "
        "moments that do not match what happens."
    ),
    fix="Give each parameter to one optimizer, once.",
    fine=(
        "Optimizers that take turns over shared parameters, each after a backward of its own, are reported once as "
        "information. An optimizer that takes over from another one is not reported, nor one that the program has "
        "written and that looks at no gradient, as a proximal step, nor one that steps another inside of its own "
        "steps, and itself moves nothing. Where a function of its own steps two of different kinds over the very same "
        "parameters, it may be there to mix their moves: an `info`."
    ),
    needs=(BackwardRan, GradientsIgnored, OptimizerBuilt, OptimizerStepped, ParametersAdded),
    examine=examine,
    bad=(bad, bad_tied_weights_listed_twice, bad_taking_turns),
    good=(good,),
    tunables={
        "minimum_repeats": Tunable(2, "fewest steps that moved a parameter twice on the same gradients", MORE_THAN_ONCE)
    },
    about="loop",
)
