"""AD215 parameter-written-in-forward: a forward pass in training overwrites what the optimizer learned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from math import sqrt
from statistics import median

from autograd_doctor.events.connectivity import WritesTakenBack, WritesWeighed, WriteWeighed
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt
from autograd_doctor.findings import Finding, Location, Related, Severity
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace

_PART = 0.1
"""Of the values that steps moved: where all others are left alone, idle ones were begun anew. Of a square that may come
of rounding."""
_TRACE = 1e-3
"""Of what steps did: so much is left of them by a projection, along what it projects onto."""
_FEW = 8
"""Values that may all lie at a bound, or be written anew each time, without that one could tell."""
_EFFECTS: dict[Severity, str] = {
    "error": ", which restores the values from before the optimizer's step",
    "warning": ", and next to nothing of what the optimizer's steps did is left there",
    "info": ", and changes what the optimizer's steps did",
}


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    learned = (trace.learning & trace.optimized) - _taken_back(trace)
    by_place: dict[tuple[int, Location | None], list[ForwardRan]] = {}
    taught = {(ran.step, parameter) for ran in trace.of(BackwardRan) for parameter in ran.wrote}
    for event in trace.of(ForwardRan):
        # What has no gradient meanwhile is not learned yet: statistics may set it first.
        if event.grad_enabled and any(
            (event.step, p) in taught for p in learned.intersection(event.written_parameters)
        ):
            # Two modules of one kind share the line.
            by_place.setdefault((-1 if event.written_at else event.module, event.written_at), []).append(event)
    for passes in by_place.values():
        if len({event.step for event in passes}) >= tunables["minimum_steps"]:
            yield from _judged(trace, passes, learned, tunables)


def _judged(trace: Trace, passes: list[ForwardRan], learned: frozenset[int], tunables: Tunables) -> Iterator[Finding]:
    """The worst of what these forwards do to their parameters; nothing where all of it is to keep them in bounds."""
    writes = _writes(trace, passes)
    undone = learned & {p for event in passes for p in event.undone_parameters}
    bounded = _all_in_bounds(trace, passes)
    certain = {p for p in undone - bounded if not writes[p] or _is_lost(writes[p], tunables)}
    doubtful = {p for p in undone & bounded if _is_doubtful(writes[p])}
    written = learned & {p for event in passes for p in event.written_parameters}
    lost = {p for p in written - undone if _is_lost(writes[p], tunables)} | doubtful
    changed = {p for p in written if not _is_kept_in_bounds(writes[p]) or not writes[p]}
    if certain:
        yield _finding(trace, passes, certain, "error", writes)
    elif lost and not _are_restarts(trace, passes, learned):
        yield _finding(trace, passes, lost, "warning", writes)
    elif changed:
        yield _finding(trace, passes, changed, "info", writes)


def _writes(trace: Trace, passes: list[ForwardRan]) -> defaultdict[int, list[WriteWeighed]]:
    """What these forwards left of steps, by parameter."""
    ran = {(event.step, event.module) for event in passes}
    found: defaultdict[int, list[WriteWeighed]] = defaultdict(list)
    for event in trace.of(WritesWeighed):
        if (event.step, event.module) in ran:
            for write in event.writes:
                found[write.parameter].append(write)
    return found


def _all_in_bounds(trace: Trace, passes: list[ForwardRan]) -> set[int]:
    """Parameters that forwards restored, each time all values from past a bound."""
    restored = {(event.step, event.module): event.undone_parameters for event in passes}
    found: dict[int, bool] = {}
    for event in trace.of(WritesWeighed):
        for write in event.writes:
            if write.parameter in restored.get((event.step, event.module), ()):
                found[write.parameter] = found.get(write.parameter, True) and _is_at_bounds(write)
    return {parameter for parameter, is_held in found.items() if is_held}


def _is_at_bounds(write: WriteWeighed) -> bool:
    return write.held == write.moved and write.heeds is not False


def _is_kept_in_bounds(writes: list[WriteWeighed]) -> bool:
    """Whether what was done to all that steps had moved is to let it be, or to put it back to a bound or to zero."""
    return bool(writes) and all(write.free + write.held == write.moved for write in writes)


def _is_doubtful(writes: list[WriteWeighed]) -> bool:
    """Whether few values, or one value in many places, have been at a bound from the first write to the last, which may
    as well be anything else that is written each time."""
    are_few = all(write.flat or write.moved < _FEW for write in writes)
    return are_few and not any(write.free or write.heeds for write in writes)


def _is_lost(writes: list[WriteWeighed], tunables: Tunables) -> bool:
    """Whether next to nothing of the steps is left where the writes change it, or other values are there each time, or
    always the same.

    Not where values are put back to a length, or to a plane: what is left of a step is at a right angle to what is not.
    """
    moved = sum(write.moved - write.held for write in writes)
    if any(write.heeds is False for write in writes):
        return True
    if sum(write.free for write in writes) >= (1 - _PART) * moved:
        return False
    bent = [write for write in writes if not write.rescaled]
    if bent and median(write.turned for write in bent) >= tunables["turned"]:
        return True
    done, kept, left = (sum(getattr(write, name) for write in bent) for name in ("done", "kept", "left"))
    if not done or (left >= _TRACE * done and abs(kept - left) <= _PART * left):
        return False
    share, count = kept / done, sum(write.moved - write.held - write.free for write in bent)
    error = sqrt(max(left - share * kept, 0.0) / (count * done))
    return bool(share + 2 * error < tunables["kept"])


def _taken_back(trace: Trace) -> set[int]:
    """What each forward lends to its parameters, such as their signs, and gives back before the optimizer steps; or
    gives another length, to which the loss is blind."""
    events = trace.of(WritesTakenBack)
    kept = {p for event in events for p in (*event.parameters, *event.rescaled)}
    return kept - {p for event in events for p in event.left}


def _are_restarts(trace: Trace, passes: list[ForwardRan], learned: frozenset[int]) -> bool:
    """Whether only few forwards write, and to a part of the rows each time, as where idle ones begin anew."""
    events = trace.of(WritesTakenBack)
    parts = {p for event in events for p in event.parts} - {
        p for event in events for p in {*event.left} - {*event.parts}
    }
    written = {p for event in passes for p in event.written_parameters} & learned
    modules = {event.module for event in passes}
    ran = {(event.module, event.step) for event in trace.of(ForwardRan) if event.module in modules and event.training}
    seldom = 2 * len({(event.module, event.step) for event in passes}) < len(ran)
    return seldom and written <= parts


def _finding(
    trace: Trace,
    passes: list[ForwardRan],
    parameters: AbstractSet[int],
    severity: Severity,
    writes: defaultdict[int, list[WriteWeighed]],
) -> Finding:
    """Certain where the same values come back after each step, and these are no bounds."""
    concerned = sorted(parameters)
    steps = len({event.step for event in passes})
    first, names = passes[0], trace.parameter_names(concerned)
    return RULE.finding(
        f"the forward pass writes to {names} in {steps} training steps{_EFFECTS[severity]}",
        subject=trace.parameter_name(concerned[0]),
        location=first.written_at or first.location,
        help="set initial values once, in `__init__`; compute what depends on the parameter into a new tensor",
        severity=severity,
        confidence="high" if severity == "error" else "low",
        evidence={
            "written": [trace.parameter_name(parameter) for parameter in concerned[:20]],
            "steps": steps,
            **_measured([write for parameter in concerned for write in writes[parameter]]),
        },
        notes=("projections onto a constraint, pulls towards other weights and restarts of idle rows are right",)
        if severity == "info"
        else (),
        related=(Related("in this forward pass", first.location),)
        if first.location and first.written_at and first.location != first.written_at
        else (),
        step_first=first.step + 1,
        step_count=steps,
        parameters=concerned,
    )


def _measured(writes: list[WriteWeighed]) -> dict[str, float]:
    """Of values that the optimizer had moved: which part was left alone, and of the others, which part of the move."""
    moved, done = sum(write.moved for write in writes), sum(write.done for write in writes)
    alone = {"left_alone": round(sum(write.free for write in writes) / moved, 3)} if moved else {}
    return alone | ({"kept_of_the_others": round(sum(write.kept for write in writes) / done, 3)} if done else {})


def bad() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.head = nn.Linear(6, 8), nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            nn.init.constant_(self.head.bias, 0.1)  # <- AD215
            return self.head(torch.relu(self.first(x)))  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True) + 3
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.head = nn.Linear(6, 8), nn.Linear(8, 1)
            nn.init.constant_(self.head.bias, 0.1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(torch.relu(self.first(x)))  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True) + 3
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def good_spectral_norm() -> None:
    import torch
    from torch import nn
    from torch.nn.utils import parametrizations

    torch.manual_seed(0)
    model = nn.Sequential(
        parametrizations.spectral_norm(nn.Linear(6, 8)), nn.ReLU(), parametrizations.weight_norm(nn.Linear(8, 1))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True).tanh()
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def good_max_norm() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    codes, decoder = nn.Embedding(20, 6, max_norm=1.0), nn.Linear(6, 2)
    shapes = torch.randn(20, 2)
    optimizer = torch.optim.Adam([*codes.parameters(), *decoder.parameters()], lr=0.05)
    for _ in range(12):
        chosen = torch.randint(0, 20, (16,))
        optimizer.zero_grad()
        nn.functional.mse_loss(decoder(codes(chosen)), shapes[chosen]).backward()
        optimizer.step()


def good_constraint() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
    for _ in range(8):
        optimizer.zero_grad()
        (critic(torch.randn(32, 6)).mean() - critic(torch.randn(32, 6) + 1).mean()).backward()
        optimizer.step()
        with torch.no_grad():
            for parameter in critic.parameters():
                parameter.clamp_(-0.1, 0.1)


RULE = Rule(
    code="AD215",
    name="parameter-written-in-forward",
    severity="error",
    title="a forward pass writes to parameters that are being trained",
    observes="Parameters with gradients, held by an optimizer, whose values a forward pass in training changed in "
    "place or through `.data`, and how much that leaves of what the steps between two forwards had done.",
    why="What the optimizer has learned is overwritten at the next forward pass.",
    fix="Initialise once, in `__init__`; derive masked or scaled weights as new tensors, or with "
    "`torch.nn.utils.parametrize`.",
    fine="Weight and spectral normalisation, weights that are put back to a length on which the loss does not depend, "
    "because it is computed of normalised ones (their gradient is orthogonal to them), embeddings with a `max_norm`, "
    "constraints applied after the step, copies that follow an average; and values that are back before the optimizer "
    "steps, as in BinaryConnect, where a forward works with the signs of its weights; and scales "
    "that follow statistics at first, and have a gradient only after that. Clamps and masks in `forward`: what they "
    "restore lies at an end of the range, or at zero, and other values, or earlier steps, were left alone. It is an "
    "`info` where the writes leave a part of what steps did, as projections and pulls towards other weights do, or "
    "where few forwards write, and to a part of the rows each time, as where idle codes are begun anew; and a warning "
    "where next to nothing is left, although no value comes back bit for bit, or where a few values have been at what "
    "may be a bound all the time.",
    needs=(ForwardRan, ModuleSeen, BackwardRan, OptimizerBuilt, OptimizerStepped, WritesTakenBack, WritesWeighed),
    examine=examine,
    bad=(bad,),
    good=(good, good_spectral_norm, good_max_norm, good_constraint),
    tunables={
        "minimum_steps": Tunable(2, "fewest training steps whose forward wrote to a parameter", MORE_THAN_ONCE),
        "kept": Tunable(
            0.2,
            "part of what steps did, of values that writes change, below which next to nothing is left",
            "chosen: projections and pulls in healthy test programs keep more than half, rounding keeps nothing",
        ),
        "turned": Tunable(
            0.5,
            "part of a parameter's size by which writes change it, typically, from which it holds something else",
            "chosen: what puts a step back to a constraint changes no more than the step did",
        ),
    },
)
