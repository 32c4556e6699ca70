"""AD215 parameter-written-in-forward: a forward pass in training overwrites what the optimizer learned."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.connectivity import WritesTakenBack
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    learned = (trace.learning & trace.optimized) - _taken_back(trace)
    by_place: dict[tuple[int, Location | None], list[ForwardRan]] = {}
    taught = {(ran.step, parameter) for ran in trace.of(BackwardRan) for parameter in ran.wrote}
    for event in trace.of(ForwardRan):
        # What has no gradient meanwhile is not learned yet: statistics may set it first.
        if event.grad_enabled and any(
            (event.step, p) in taught for p in learned.intersection(event.written_parameters)
        ):
            by_place.setdefault((event.module, event.written_at), []).append(event)
    for passes in by_place.values():
        if len({event.step for event in passes}) >= tunables["minimum_steps"]:
            yield _finding(trace, passes, learned, restarts=_are_restarts(trace, passes, learned))


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
    ran = {event.step for event in trace.of(ForwardRan) if event.module == passes[0].module and event.training}
    seldom = 2 * len({event.step for event in passes}) < len(ran)
    return seldom and written <= parts


def _finding(trace: Trace, passes: list[ForwardRan], learned: frozenset[int], *, restarts: bool) -> Finding:
    """Certain where the same values come back after each step; a projection of what was learned only looks alike."""
    undone = sorted(learned & {p for event in passes for p in event.undone_parameters})
    written = sorted(learned & {p for event in passes for p in event.written_parameters})
    steps = len({event.step for event in passes})
    first, names = passes[0], trace.parameter_names(undone or written)
    message = f"the forward pass writes to {names} in {steps} training steps"
    return RULE.finding(
        f"{message}, which restores the values from before the optimizer's step" if undone else message,
        subject=trace.parameter_name((undone or written)[0]),
        location=first.written_at or first.location,
        help="set initial values once, in `__init__`; compute what depends on the parameter into a new tensor",
        severity=None if undone else "info" if restarts else "warning",
        confidence="high" if undone else "low",
        evidence={
            "written": [trace.parameter_name(parameter) for parameter in written[:20]],
            "undone": [trace.parameter_name(parameter) for parameter in undone[:20]],
            "steps": steps,
        },
        notes=("it does so seldom, and to some rows each time: if these are idle ones that begin anew, it is right",)
        if restarts and not undone
        else (),
        related=(Related("in this forward pass", first.location),)
        if first.location and first.written_at and first.location != first.written_at
        else (),
        step_first=first.step + 1,
        step_count=steps,
        parameters=undone or written,
    )


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
    "place or through `.data`.",
    why="What the optimizer has learned is overwritten at the next forward pass.",
    fix="Initialise once, in `__init__`; derive masked or scaled weights as new tensors, or with "
    "`torch.nn.utils.parametrize`.",
    fine="Weight and spectral normalisation, weights that are put back to a length on which the loss does not depend, "
    "because it is computed of normalised ones (their gradient is orthogonal to them), embeddings with a `max_norm`, "
    "constraints applied after the step, copies that follow an average; and values that are back before the optimizer "
    "steps, as in BinaryConnect, where a forward works with the signs of its weights; and scales "
    "that follow statistics at first, and have a gradient only after that. Where what was written does not come back "
    "bit for bit (a projection in `forward`) it is a warning, and an `info` where few forwards write, and to a part of "
    "the rows each time, as where codes that fell idle are begun anew.",
    needs=(ForwardRan, ModuleSeen, BackwardRan, OptimizerBuilt, OptimizerStepped, WritesTakenBack),
    examine=examine,
    bad=(bad,),
    good=(good, good_spectral_norm, good_max_norm, good_constraint),
    tunables={"minimum_steps": Tunable(2, "fewest training steps whose forward wrote to a parameter", MORE_THAN_ONCE)},
)
