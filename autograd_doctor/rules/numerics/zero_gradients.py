"""AD410 zero-gradients: parameters that take part in the loss get gradients of exactly zero."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import (
    BackwardRan,
    Cut,
    GradientNormsMeasured,
    GradientsFoundBefore,
    OptimizerStepped,
    Zeroing,
)
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.operations import CLASSES
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.learning import taught_before
from autograd_doctor.views.lone_shares import behind_lone_shares
from autograd_doctor.views.siblings import backwards_of_siblings
from autograd_doctor.views.so_far import may_learn_later
from autograd_doctor.wording import plural

_SCALES = frozenset({"mul", "mul_", "__mul__", "__rmul__", "__imul__", "multiply"})
_BOUNDS = frozenset({
    "clamp", "clamp_max", "clamp_min", "clip", "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss",
    "maximum", "minimum", "multi_margin_loss", "relu", "relu_", "threshold", "triplet_margin_loss", "where",
})  # fmt: skip
"""What passes on no gradient beyond a bound, as of a loss that is small enough: whoever learned before may be there."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    zero = _always_zero(trace, int(tunables["minimum_steps"]))
    zero -= {p for event in trace.of(BackwardRan) for cut in event.cuts if _is_cut(cut) for p in cut.parameters}
    zero -= behind_lone_shares(trace)
    found: list[tuple[set[int], Zeroing, BackwardRan]] = []
    taught = taught_before(trace)
    for zeroing, backward in _first_zeroings(trace):
        below = zero.intersection(zeroing.parameters)
        may_be_enough = zeroing.operation in _BOUNDS and not taught.isdisjoint(below)
        if may_be_enough or _passes_elsewhere(trace, zeroing, backward):
            zero -= below
        elif _weighty(trace, below):
            zero -= below
            found.append((below, zeroing, backward))
    for place, (below, zeroing, backward) in enumerate(found):
        beyond = zero.intersection(backward.wrote) if place == 0 else set()  # weights that are fed nothing but zeros
        yield _finding(trace, sorted(below | beyond), zeroing, backward)
    if not found and _weighty(trace, zero - taught):
        yield _finding(trace, sorted(zero - taught), None, None)


def _always_zero(trace: Trace, minimum: int) -> set[int]:
    """Parameters that backwards with a nonzero loss wrote to, and whose gradient was zero in every step.

    Where not one gradient of the run was anything else, a loss of zero is no sign that all has been learned.
    """
    nothing = not any(map(any, trace.gradient_norms.values()))
    written = {p for event in trace.of(BackwardRan) if nothing or event.loss != 0.0 for p in event.wrote}
    zero = {p for p, norms in trace.gradient_norms.items() if len(norms) >= minimum and not any(norms)}
    chosen = {_series(trace, p) for p, norms in trace.gradient_norms.items() if any(norms) and not all(norms)} - {""}
    elsewhere = {p for p, seen in trace.parameters.items() if seen.elsewhere}
    zero &= written - trace.frozen - elsewhere - _taught_in_light_steps(trace)
    return {p for p in zero if _series(trace, p) not in chosen}


def _taught_in_light_steps(trace: Trace) -> set[int]:
    """Parameters whose gradient was not zero in some step that was not recorded, as of a branch that joins late."""
    measured = trace.of(GradientNormsMeasured)
    return {p for each in measured for p, norm in zip(each.parameters, each.norms, strict=True) if norm}


def _passes_elsewhere(trace: Trace, zeroing: Zeroing, backward: BackwardRan) -> bool:
    """Whether the same lines pass gradients on in another model, as of a mixture with more than one component."""
    others = backwards_of_siblings(trace, backward)
    where = zeroing.operation, zeroing.location
    return any(where not in {(each.operation, each.location) for each in other.zeroings} for other in others)


def _series(trace: Trace, parameter: int) -> str:
    """What an expert with a gate of zero shares with its siblings, which were chosen in some step."""
    return trace.parameters[parameter].series if parameter in trace.parameters else ""


def _is_cut(cut: Cut) -> bool:
    return cut.reason == "zero-derivative"


def _weighty(trace: Trace, parameters: set[int]) -> bool:
    """Zeros of vectors and numbers alone prove nothing, so they are not judged.

    Broadcast over many elements, they get the sum of their gradients, which cancels by mathematics in front of a
    normalisation, a softmax or a difference. A matrix gets products with its inputs, which do not.
    """
    return any(len(trace.parameters[p].shape) > 1 for p in parameters if p in trace.parameters)


def _first_zeroings(trace: Trace) -> Iterator[tuple[Zeroing, BackwardRan]]:
    seen: set[tuple[str, Location | None]] = set()
    for backward in trace.of(BackwardRan):
        for zeroing in backward.zeroings:
            if (zeroing.operation, zeroing.location) not in seen:
                seen.add((zeroing.operation, zeroing.location))
                yield zeroing, backward


def _finding(trace: Trace, parameters: list[int], zeroing: Zeroing | None, backward: BackwardRan | None) -> Finding:
    """Certain where the operation was seen. Beside a loss that trains, a term weighted with 0 may be switched off, and
    one over classes that passes nothing on may have targets in other steps."""
    steps = max(len(trace.gradient_norms[parameter]) for parameter in parameters)
    may_rest = zeroing is not None and zeroing.operation in _SCALES | CLASSES
    beside = may_rest and backward is not None and _others_learn(trace, backward, parameters)
    holder = next((o for o, held in trace.optimizer_parameters.items() if held.intersection(parameters)), None)
    built = trace.optimizers.get(holder) if holder is not None else None
    location = zeroing.location if zeroing else None
    return RULE.finding(
        f"{_cause(zeroing)}{trace.parameter_names(parameters)} got gradients of exactly zero in all of "
        f"{plural(steps, 'step')}",
        subject=trace.parameter_name(parameters[0]),
        location=location or (built.location if built else None),
        help=_help(zeroing),
        severity="warning" if beside or zeroing is None else None,
        confidence="high" if zeroing and not beside else "medium",
        so_far=not (zeroing and zeroing.zero_factors > 1) and may_learn_later(trace, parameters),
        evidence={
            "parameters": [trace.parameter_name(parameter) for parameter in parameters[:20]],
            "number_of_parameters": len(parameters),
            "steps": steps,
            **({"operation": zeroing.operation} if zeroing else {}),
        },
        related=(Related("this backward gave them only zeros", backward.location),)
        if backward and backward.location
        else (),
        notes=tuple(_notes(trace, beside=beside)),
        step_first=1,
        step_count=steps,
        parameters=parameters,
    )


def _cause(zeroing: Zeroing | None) -> str:
    if zeroing is None:
        return ""
    if zeroing.cancels:
        return f"the gradients that `{zeroing.operation}` passes on cancel out: "
    zeros = ", both factors of which are zero," if zeroing.zero_factors > 1 else ""
    return f"`{zeroing.operation}`{zeros} passes on no gradient: "


def _help(zeroing: Zeroing | None) -> str:
    if zeroing is None:
        return (
            "on the path to the loss, look for a factor of 0, a mask that removes everything, or units that are never "
            "active"
        )
    if zeroing.cancels:
        return (
            "both operands change in the same way when the parameters change, so the result never changes: compute the "
            "operand that should stay fixed under `torch.no_grad()`, or `.detach()` it, as with the log-probabilities "
            "of the policy that acted"
        )
    if zeroing.zero_factors > 1:
        return "initialise one of the two factors with nonzero values: while both are zero, neither gets a gradient"
    return (
        "check the inputs of the operation: units that are never active, values beyond a clamp, a factor or mask of 0"
    )


def _notes(trace: Trace, *, beside: bool) -> Iterator[str]:
    if beside:
        yield "other parameters learn from the same loss: a loss term may be switched off on purpose"
    if all(event.loss == 0.0 for event in trace.of(BackwardRan)):
        yield "the loss itself was 0 in every step"


def _others_learn(trace: Trace, backward: BackwardRan, parameters: list[int]) -> bool:
    others = set(backward.wrote) - set(parameters)
    return _weighty(trace, {parameter for parameter in others if any(trace.gradient_norms.get(parameter, ()))})


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Hardtanh(), nn.Linear(16, 1))
    nn.init.constant_(model[0].bias, -50.0)  # type: ignore[arg-type]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(32, 4)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        prediction = model(x)  # <- AD410
        loss = nn.functional.mse_loss(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_clamp() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(32, 4)
    y = 20 + x.sum(1, keepdim=True)
    for _ in range(8):
        prediction = model(x).clamp(10, 30)  # <- AD410
        loss = nn.functional.mse_loss(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_mask() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, mixer, head = nn.Embedding(12, 8), nn.Linear(8, 8), nn.Linear(8, 12)
    parameters = [*embedding.parameters(), *mixer.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    for _ in range(8):
        tokens = torch.randint(1, 12, (16, 6))
        mask = (tokens == 0).unsqueeze(2)
        hidden = torch.tanh(mixer(embedding(tokens))) * mask  # <- AD410
        loss = nn.functional.cross_entropy(head(hidden).flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(32, 4)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def good_low_rank_adapter() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    base = nn.Linear(8, 8).requires_grad_(False)
    down, up = nn.Linear(8, 2, bias=False), nn.Linear(2, 8, bias=False)
    nn.init.zeros_(up.weight)
    optimizer = torch.optim.Adam([*down.parameters(), *up.parameters()], lr=0.01)
    x = torch.randn(32, 8)
    y = x.flip(1).tanh()
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(base(x) + up(down(x)), y).backward()
        optimizer.step()


def good_zero_initialised_head() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
    nn.init.zeros_(model[2].weight)  # type: ignore[arg-type]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 4)
    labels = x[:, :3].argmax(1)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), labels).backward()
        optimizer.step()


RULE = Rule(
    code="AD410",
    name="zero-gradients",
    severity="error",
    title="parameters that take part in the loss get gradients of exactly zero",
    observes="Parameters whose gradient was exactly zero in every step, and the operation whose backward turned a "
    "nonzero gradient into zeros, if it was seen, or passed on gradients that cancel out.",
    why="The parameters are connected to the loss, so nothing is missing and nothing warns, but they never change.",
    fix="Bring the operation back to a range where it has a gradient: check initial values, inputs, clamp bounds and "
    "masks.",
    fine="Biases whose effect cancels mathematically (before a normalisation, in a difference of scores), rows of an "
    "embedding that were not in the batch, experts that were not chosen, and zero initialisation, for one step. What "
    "only a softmax over a single number could teach: `AD613` tells of that. If "
    "the same lines pass on gradients in another model, before or after, this model is a control, such as one "
    "component compared with several. A loss over classes that passes nothing on in the steps that were looked at may "
    "have targets in others: beside terms that learn, it is a warning. If only vectors and scalars have no gradient, "
    "nothing is reported: they cannot be distinguished from such biases.",
    needs=(BackwardRan, GradientNormsMeasured, GradientsFoundBefore, OptimizerBuilt, OptimizerStepped, RunEnded),
    examine=examine,
    bad=(bad, bad_clamp, bad_mask),
    good=(good, good_low_rank_adapter, good_zero_initialised_head),
    tunables={
        "minimum_steps": Tunable(
            5,
            "fewest steps, all with zero gradients",
            "chosen: ReLU units that are inactive for a batch or two are not dead",
        )
    },
    folds=("AD111", "AD407", "AD116"),
    lasting=True,
)
