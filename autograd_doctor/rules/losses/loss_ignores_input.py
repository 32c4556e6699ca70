"""AD606 loss-ignores-input: what a model returns is the same for all inputs, to the bit."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_doctor.events.losses import BatchLeakJudged, OutputMoved, OutputStoodStill
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BackwardRan, ForwardRan
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.so_far import may_learn_later
from autograd_doctor.wording import plural, shape

_LOOK = (
    "look for where the input gets lost on its way through the forward: overwritten, multiplied by zero, cast to whole "
    "numbers, or not used at all"
)
_DRAW = (
    "draw the first weights at random, as layers do by themselves (`nn.init.kaiming_uniform_`): weights of 0 hold back "
    "the input, and the gradients of what lies before them"
)


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    moved = {event.module for event in trace.of(OutputMoved)}
    mixing = {event.module for event in trace.of(BatchLeakJudged) if event.verdict == "leaks"}
    still: dict[int, list[OutputStoodStill]] = {}
    for event in trace.of(OutputStoodStill):
        still.setdefault(event.module, []).append(event)
    for module, events in still.items():
        trained = set(trace.module_parameters(module)) & _reached(trace, events)
        if module in moved | mixing or len(events) < tunables["minimum_steps"] or not trained:
            continue
        unread = {event.reads for event in events} - {None} == {False}
        if unread and _is_control(trace, module, still):
            continue
        zero_weights = any(event.zero for event in events)
        if not _is_held_back(trace, trained, whole=zero_weights):
            may_move = may_learn_later(trace, trace.module_parameters(module))
            yield _finding(trace, module, events, unread=unread, so_far=may_move)


def _reached(trace: Trace, events: list[OutputStoodStill]) -> set[int]:
    """Parameters that backwards of those steps reached."""
    steps = {event.step for event in events}
    return {parameter for ran in trace.of(BackwardRan) if ran.step in steps for parameter in ran.reached}


def _is_held_back(trace: Trace, parameters: set[int], *, whole: bool) -> bool:
    """Whether an operation was seen to hold back the gradients: the input was lost there, which AD410 tells.

    whole: it held back all of them, and not since both of its factors are 0. Then the loss takes no notice of what the
    module returned, as of a branch with a factor of 0, and whether it would learn from its input is not known.
    """
    zeroings = (zeroing for ran in trace.of(BackwardRan) for zeroing in ran.zeroings)
    if whole:
        return any(parameters.issubset(zeroing.parameters) and zeroing.zero_factors < 2 for zeroing in zeroings)
    return any(not parameters.isdisjoint(zeroing.parameters) for zeroing in zeroings)


def _is_control(trace: Trace, module: int, still: Collection[int]) -> bool:
    """Whether a model that does not stand still was trained by a call at the same line, as beside one of constants."""
    calls = [ran for ran in trace.of(ForwardRan) if ran.builds_graph and ran.location is not None]
    lines = {ran.location for ran in calls if ran.module == module}
    return any(ran.location in lines and ran.module not in still for ran in calls)


def _finding(trace: Trace, module: int, events: list[OutputStoodStill], *, unread: bool, so_far: bool) -> Finding:
    """unread: nothing was seen to look at the input, as in a model that is to learn a constant."""
    event = events[0]
    name = trace.module_name(module)
    lost = next((each for each in reversed(events) if each.at is not None), None)
    where, help, location = "", _LOOK, event.location
    if lost is not None:
        weights = f": {trace.parameter_names(lost.zero)} is 0 everywhere" if lost.zero else ""
        where = f"; `{lost.operation}` makes the same of samples that differ{weights}"
        location = lost.zeroed_at or lost.at
        help = _DRAW if lost.zero else _LOOK
    called = event.location if event.location != location else None
    return RULE.finding(
        f"`{name}` returned the same values of shape {shape(event.shape)} for all {event.samples} samples of a batch, "
        f"to the bit, in {plural(len(events), 'step')} out of {len(events)} that were compared, though their inputs "
        f"differed{where}",
        subject=name,
        location=location,
        help=f"{help}; if it is to learn a constant, all is well" if unread else help,
        severity="warning" if unread else None,
        confidence="medium" if unread else "high",
        so_far=so_far,
        evidence={"samples": event.samples, "steps": len(events), "output": shape(event.shape)},
        related=(Related("the module was called here", called),) if called is not None else (),
        step_first=event.step + 1,
        step_count=len(events),
        parameters=trace.module_parameters(module),
    )


def bad() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(10, 8)
            self.head = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            code = x.long()  # <- AD606
            value: torch.Tensor = self.head(torch.relu(self.table(code).mean(1)))
            return value

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.rand(32, 4)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_input_unused() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.start = nn.Parameter(torch.randn(4))
            self.hidden, self.head = nn.Linear(4, 16), nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            state = self.start.expand(len(x), 4)
            value: torch.Tensor = self.head(torch.tanh(self.hidden(state)))
            return value

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 4)
        predicted = model(x)  # <- AD606
        loss = nn.functional.mse_loss(predicted, x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    head = nn.Linear(16, 1)
    nn.init.zeros_(head.weight)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), head)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_spread_of_its_own() -> None:
    import torch
    from torch import nn

    class Gaussian(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mean = nn.Linear(4, 2)
            self.log_scale = nn.Parameter(torch.zeros(2))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            mean = self.mean(x)
            return mean, self.log_scale.expand_as(mean)

    torch.manual_seed(0)
    model = Gaussian()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 4)
        mean, log_scale = model(x)
        loss = (log_scale + 0.5 * ((x[:, :2] - mean) / log_scale.exp()).square()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_zero_weights() -> None:
    import torch
    from torch import nn

    def start_small(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.weight)  # <- AD606
            nn.init.zeros_(module.bias)

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)).apply(
        start_small
    )
    model.to("cpu")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 4)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD606",
    name="loss-ignores-input",
    severity="error",
    title="the prediction does not depend on the input",
    observes="All that a module returned for the samples of a batch was equal to the bit, while their inputs differed, "
    "in every step in which that was compared, also after updates.",
    why="The model can learn a constant at best, the mean of its targets.",
    fix="Let the input reach the output: look at the operation that is named, or at a forward that does not use it.",
    fine="The first steps of a head whose weights begin at zero, a branch whose output the loss multiplies by 0, "
    "losses of parameters alone, outputs one of which is a parameter, and the constants that a model is compared with, "
    "trained by the same lines. A model none of whose operations looks at the input is a `warning`, for it may be "
    "meant to learn a constant.",
    needs=(BackwardRan, BatchLeakJudged, ForwardRan, ModuleSeen, OutputMoved, OutputStoodStill, RunEnded),
    examine=examine,
    bad=(bad, bad_zero_weights, bad_input_unused),
    good=(good, good_spread_of_its_own),
    tunables={
        "minimum_steps": Tunable(
            4,
            "fewest steps whose outputs were all the same",
            "chosen: a head that begins with zeros has left them by then",
        )
    },
    folds=("AD203", "AD410", "AD116", "AD205"),
    lasting=True,
)
