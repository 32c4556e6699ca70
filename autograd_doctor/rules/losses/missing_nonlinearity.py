"""AD610 missing-nonlinearity: two layers follow one another with nothing nonlinear in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_doctor.events.losses import LayersChained, LayersMerged, LayerUsedOtherwise
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    otherwise = {event.first for event in trace.of(LayerUsedOtherwise)}
    chained = [event for event in trace.of(LayersChained) if event.first not in otherwise]
    low_rank = {
        (event.first_at, event.second_at) for event in chained if _is_low_rank(event) and not event.in_container
    }
    pairs = [event for event in chained if _is_one_layer(event) and (event.first_at, event.second_at) not in low_rank]
    pairs = [event for event in pairs if {event.first, event.second} <= trace.learning]
    for chain in _chains([event for event in pairs if not event.depthwise]):
        if not _is_a_product(trace, chain) and not _is_merged(trace, chain):
            yield _finding(trace, chain)
    for event in pairs:
        if event.depthwise:
            yield _finding(trace, [event])


def _is_one_layer(event: LayersChained) -> bool:
    """Whether one layer could do what both do, which is no cheaper in two.

    Through fewer features than go in and come out, a pair is a factorisation of low rank, and lines that make such are
    meant to, whatever the rank. Features that were computed nonlinearly may be projected once for several layers. What
    begins at zero is added to something.
    """
    if event.factors or event.from_zero or (event.shared and not event.of_data):
        return False
    return not _is_low_rank(event)


def _is_a_product(trace: Trace, chain: Sequence[LayersChained]) -> bool:
    """Whether these weights, without a bias among them, are all that the losses teach: a factorisation in layers."""
    layers = {number for each in chain for number in (each.first, each.second)}
    taught = [set(ran.reached) for ran in trace.of(BackwardRan) if not layers.isdisjoint(ran.reached)]
    return bool(taught) and all(each == layers for each in taught)


def _is_merged(trace: Trace, chain: Sequence[LayersChained]) -> bool:
    """Whether the program makes one layer of two of these, as of a linear one that is trained as several."""
    return any({each.first, each.second} <= set(event.parameters) for event in trace.of(LayersMerged) for each in chain)


def _is_low_rank(event: LayersChained) -> bool:
    return event.width < min(event.width_in, event.width_out * event.positions)


def _chains(pairs: Sequence[LayersChained]) -> list[list[LayersChained]]:
    """Pairs that share a layer, or that are called at the same two places, belong together."""
    chains: list[list[LayersChained]] = []
    for pair in pairs:
        near = [chain for chain in chains if any(_belong_together(pair, other) for other in chain)]
        chains = [chain for chain in chains if chain not in near]
        chains.append([*(other for chain in near for other in chain), pair])
    return chains


def _belong_together(one: LayersChained, other: LayersChained) -> bool:
    if {one.first, one.second} & {other.first, other.second}:
        return True
    return (one.first_at, one.second_at) == (other.first_at, other.second_at) and not one.in_container


def _finding(trace: Trace, chain: Sequence[LayersChained]) -> Finding:
    pair = chain[0]
    first, second = _layer(trace, pair.first), _layer(trace, pair.second)
    noun = "channels" if pair.convolutions else "features"
    layers = {number for each in chain for number in (each.first, each.second)}
    more = f", and so do {len(layers)} layers in all" if len(layers) > 2 else ""
    place = _place(trace, pair)
    return RULE.finding(
        f"`{first}` ({pair.width_in} to {pair.width} {noun}) and `{second}` ({pair.width} to {pair.width_out}) follow "
        f"one another with nothing {'but dropout ' if pair.dropped else ''}in between{more}"
        + (f"; nobody used the result of `{pair.idle}`" if pair.idle_at else ""),
        subject=second,
        location=place,
        help=f"use the result of `{pair.idle}`: only operations that end in `_` change their input"
        if pair.idle_at
        else f"put an activation between `{first}` and `{second}`, or make one layer of the two",
        severity="info" if pair.depthwise else None,
        confidence="medium" if pair.convolutions or pair.shared else "high",
        evidence={"width_in": pair.width_in, "width": pair.width, "width_out": pair.width_out, "layers": len(layers)},
        related=_related(trace, chain, place),
        step_first=pair.step,
        parameters=sorted(layers),
    )


def _place(trace: Trace, pair: LayersChained) -> Location | None:
    """Where something is missing: at the call of the second layer, or where it is built if a container calls both."""
    if pair.idle_at is not None:
        return pair.idle_at
    return (_built(trace, pair.second) if pair.in_container else None) or pair.second_at


def _related(trace: Trace, chain: Sequence[LayersChained], place: Location | None) -> tuple[Related, ...]:
    places = {place}
    found = []
    for pair in chain:
        for number, called in ((pair.first, pair.first_at), (pair.second, pair.second_at)):
            at = (_built(trace, number) if pair.in_container else None) or called
            if at is not None and at not in places:
                places.add(at)
                found.append(Related(f"`{_layer(trace, number)}`", at))
    return tuple(found)


def _built(trace: Trace, parameter: int) -> Location | None:
    seen = trace.parameters.get(parameter)
    return seen.registered_at if seen is not None else None


def _layer(trace: Trace, parameter: int) -> str:
    return trace.parameter_name(parameter).removesuffix(".weight")


def bad() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = nn.Linear(8, 32)
            self.out = nn.Linear(32, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.hidden(x)
            value: torch.Tensor = self.out(hidden)  # <- AD610
            return value

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(32, 8)
        loss = nn.functional.mse_loss(model(x), x.abs().mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_sequential() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(4, 8, 3, padding=1),
        nn.Dropout(0.1),
        nn.Conv2d(8, 8, 3, padding=1),  # <- AD610
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 2),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 1, 8, 8)
        loss = nn.functional.cross_entropy(model(x), (x.mean((1, 2, 3)) > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.LayerNorm(32), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(32, 8)
        loss = nn.functional.mse_loss(model(x), x.abs().mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_low_rank() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 3), nn.Linear(3, 16))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 3) @ torch.randn(3, 16)
        loss = nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_branches_of_any_rank() -> None:
    import torch
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, layer: nn.Linear, rank: int) -> None:
            super().__init__()
            self.layer = layer.requires_grad_(False)
            self.down = nn.Parameter(torch.randn(rank, layer.in_features) * 0.2)
            self.up = nn.Parameter(torch.randn(layer.out_features, rank) * 0.01)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            frozen: torch.Tensor = self.layer(x)
            return frozen + nn.functional.linear(nn.functional.linear(x, self.down), self.up)

    torch.manual_seed(0)
    model = nn.Sequential(Adapted(nn.Linear(16, 24), 4), nn.ReLU(), Adapted(nn.Linear(24, 2), 4))
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 16)
        loss = nn.functional.cross_entropy(model(x), (x.sum(1) > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD610",
    name="missing-nonlinearity",
    severity="warning",
    title="two layers with nothing nonlinear in between",
    observes="The output of a linear operation or convolution with a trained weight went, through operations that only "
    "move values, into another one, in every call that was followed. Nothing else was computed from it.",
    why="Two such layers in a row can do no more than one: the model has fewer layers than it seems to.",
    fix="Put an activation between them.",
    fine="Factorisations of low rank such as LoRA and autoencoders, convolutions along one axis after the other, "
    "embeddings that something else uses as well, features that one model, or part of it, hands on, and products of "
    "matrices: weights without biases that are all that a loss teaches. Layers whose weights the program was seen to "
    "multiply by one another, as it makes one layer of several when they have learned. Layers that a module of a "
    "library calls. Depthwise convolutions are told of as `info`.",
    needs=(BackwardRan, LayersChained, LayersMerged, LayerUsedOtherwise, ParameterSeen),
    examine=examine,
    bad=(bad, bad_sequential),
    good=(good, good_low_rank, good_branches_of_any_rank),
)
