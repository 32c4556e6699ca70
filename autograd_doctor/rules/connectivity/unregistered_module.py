"""AD207 unregistered-module: a module that `parameters()` does not know is called in another's forward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt, ParameterSeen
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

_MOST_PLACES = 3
"""Lines to point at: more would fill the screen."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_place: dict[tuple[int | None, Location | None], list[ModuleSeen]] = {}
    written = {parameter for backward in trace.of(BackwardRan) for parameter in backward.wrote}
    left = written - trace.optimized - trace.moved_by_hand
    for seen in trace.of(ModuleSeen):
        if not seen.registered and left.intersection(seen.parameters) - trace.frozen:
            by_place.setdefault((seen.parent, seen.kept_at or seen.location), []).append(seen)
    if trace.steps:
        for hidden in by_place.values():
            yield _finding(trace, hidden, left)


def _finding(trace: Trace, hidden: list[ModuleSeen], left: set[int]) -> Finding:
    parameters = sorted({p for seen in hidden for p in seen.parameters if p in left})
    holders = [seen.holder or seen.name or seen.kind for seen in hidden]
    parent = trace.module_name(hidden[0].parent)
    location = hidden[0].kept_at or hidden[0].location
    shown = ", ".join(f"`{holder}`" for holder in holders[:3])
    more = f" and {len(holders) - 3} more" if len(holders) > 3 else ""
    verb = "is" if len(holders) == 1 else "are"
    return RULE.finding(
        f"{shown}{more} {verb} called in `{parent}` without being registered in it, so "
        f"{plural(len(parameters), 'parameter')} "
        "with gradients are missing from `parameters()` and from every optimizer",
        subject=holders[0],
        location=location,
        help=_help(trace, parameters),
        evidence={
            "modules": [f"{holder} ({seen.kind})" for holder, seen in zip(holders, hidden, strict=True)][:20],
            "number_of_parameters": len(parameters),
        },
        related=_elsewhere(hidden, holders, location),
        step_first=1,
        step_count=len(trace.steps),
        parameters=parameters,
    )


def _elsewhere(hidden: list[ModuleSeen], holders: list[str], location: Location | None) -> tuple[Related, ...]:
    """The line that calls them, and the first few lines that built them."""
    names: dict[Location, str] = {}
    for seen, holder in zip(hidden, holders, strict=True):
        if seen.built_at is not None:
            names.setdefault(seen.built_at, holder)
    called = [(f"`{holders[0]}` is called here", hidden[0].location)]
    built = [(f"`{name}` was built here", where) for where, name in list(names.items())[:_MOST_PLACES]]
    return tuple(Related(text, where) for text, where in (*called, *built) if where and where != location)


def _help(trace: Trace, parameters: list[int]) -> str:
    """Parameters that come into view again and again at the same line belong to modules that are built at each call."""
    places = {trace.parameters[parameter].registered_at for parameter in parameters if parameter in trace.parameters}
    steps = Counter(
        seen.registered_at
        for seen in trace.of(ParameterSeen)
        if seen.step and seen.registered_at is not None and seen.registered_at in places
    )
    if any(count > 1 for count in steps.values()):
        return "build the module once, in `__init__`: each call starts again from new random weights"
    return "keep them in an `nn.ModuleList` or `nn.ModuleDict`, or as attributes assigned after `super().__init__()`"


def bad() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(6, 6) for _ in range(3)]  # <- AD207
            self.head = nn.Linear(6, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = torch.relu(layer(x))
            return self.head(x)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def bad_dictionary() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk = nn.Linear(6, 8)
            self.heads = {"price": nn.Linear(8, 1), "size": nn.Linear(8, 1)}  # <- AD207

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            hidden = torch.relu(self.trunk(x))
            return {name: head(hidden) for name, head in self.heads.items()}

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    for _ in range(8):
        out = model(x)
        loss = (out["price"] - x[:, :1]).square().mean() + (out["size"] - x[:, 1:2]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))
            self.head = nn.Linear(6, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = torch.relu(layer(x))
            return self.head(x)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def good_shared() -> None:
    import torch
    from torch import nn

    class Decoder(nn.Module):
        def __init__(self, embedding: nn.Embedding) -> None:
            super().__init__()
            self.shared = [embedding]
            self.mix = nn.Linear(8, 8)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            hidden = torch.tanh(self.mix(self.shared[0](tokens)))
            return hidden @ self.shared[0].weight.t()

    torch.manual_seed(0)
    embedding = nn.Embedding(12, 8)
    decoder = Decoder(embedding)
    optimizer = torch.optim.Adam([*embedding.parameters(), *decoder.parameters()], lr=0.01)
    tokens = torch.randint(0, 12, (32,))
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.cross_entropy(decoder(tokens), (tokens + 1) % 12).backward()
        optimizer.step()


RULE = Rule(
    code="AD207",
    name="unregistered-module",
    severity="error",
    title="a module is kept where `parameters()` does not find it",
    observes="Modules that are called in another's forward, are not reached by its `modules()`, and whose parameters "
    "get gradients that no optimizer uses.",
    why="Modules in a plain list, tuple or dict are not registered: their weights are not trained, not moved by "
    "`.to()`, not switched by `train()` and `eval()`, and not saved.",
    fix="Use `nn.ModuleList` or `nn.ModuleDict`.",
    fine="A module that is shared on purpose and optimized elsewhere, or frozen and hidden on purpose.",
    needs=(BackwardRan, ModuleSeen, OptimizerBuilt, OptimizerStepped, ParameterSeen),
    examine=examine,
    bad=(bad, bad_dictionary),
    good=(good, good_shared),
    folds=("AD204", "AD203", "AD101", "AD116"),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html",),
)
