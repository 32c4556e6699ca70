"""AD613 softmax-over-singleton: of a single number, a softmax is always one."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import LossComputed, Shaping, SoftmaxOfOne
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lone_shares import behind_lone_shares, teaches
from autograd_doctor.views.losses import SOFTMAXES, SQUARED, WEIGHTED, classes, elsewhere, faulty_losses, named
from autograd_doctor.views.so_far import has_ended, may_learn_later
from autograd_doctor.wording import shape

_LOSSES = (
    *("binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div", "nll_loss"),
    *(*SQUARED, *WEIGHTED),
)
_BY_DESIGN = (
    "nothing to change where there is one key, component or class by design; otherwise look over which dimension the "
    "softmax runs"
)


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    varied = {event.location for event in trace.of(SoftmaxOfOne) if event.varies}
    at_losses = list(faulty_losses(trace, *_LOSSES, where=lambda event: _softmax(event) is not None, blamed=_softmax))
    told = {softmax.location for events in at_losses if (softmax := _softmax(events[0])) is not None}
    for events in at_losses:
        if varied.isdisjoint(_places(events[0])):
            yield _beside_others(trace, events) or _made_by_softmax(trace, events)
    for events in faulty_losses(
        trace, "cross_entropy", where=lambda event: _softmax(event) is None and _has_one(event)
    ):
        if events[0].location not in varied:
            yield _beside_others(trace, events) or _one_class(trace, events)
    yield from _inside_models(trace, varied | told)


def _places(event: LossComputed) -> set[Location | None]:
    """The lines that make a prediction and take it in."""
    softmax = _softmax(event)
    return {event.location, softmax.location if softmax is not None else event.location}


def _inside_models(trace: Trace, others: set[Location | None]) -> Iterator[Finding]:
    """Lines where a softmax was always one of a single element, and where a backward lost its gradient; and those where
    something was always divided by itself, of which there is none."""
    lost, idle = _lost(trace), behind_lone_shares(trace)
    events = [event for event in trace.of(SoftmaxOfOne) if event.location not in others]
    for_none = {event.location for event in events if event.for_none}
    for event in events:
        if event.for_none or event.operation == "cross_entropy":
            continue
        is_slip = event.chosen or event.location in for_none
        backward, parameters = lost.get((event.operation, event.location), (None, set[int]()))
        still = idle.intersection(parameters.union(event.parameters))
        if event.operation == "div" and is_slip:
            yield _share_of_itself(trace, event)
        elif backward is not None and (is_slip or not teaches(trace, [backward.backward])):
            yield _inside(trace, event, sorted(parameters), backward)
        elif still:
            yield _idle(trace, event, sorted(still))
        idle -= still


def _lost(trace: Trace) -> dict[tuple[str, Location | None], tuple[BackwardRan, set[int]]]:
    """Where backwards lost gradients: the first that did, and all parameters that got none there."""
    lost: dict[tuple[str, Location | None], tuple[BackwardRan, set[int]]] = {}
    for backward in trace.of(BackwardRan):
        for zeroing in backward.zeroings:
            place = zeroing.operation, zeroing.location
            lost.setdefault(place, (backward, set()))[1].update(zeroing.parameters)
    return lost


def _beside_others(trace: Trace, events: list[LossComputed]) -> Finding | None:
    """A term that is constant for want of a second class, beside others from which the model learns.

    Targets that differ are meant to tell things apart, and are none that a single class can have.
    """
    first, softmax = events[0], _softmax(events[0])
    given = softmax.shape if softmax is not None else first.prediction.facts.shape
    if any(map(_differs, events)) or not teaches(trace, [event.backward for event in events]):
        return None
    idle = sorted(behind_lone_shares(trace).intersection(trace.backwards[first.backward].reached))
    named_ones = f", and {trace.parameter_names(idle)} learn nothing" if idle else ""
    return RULE.finding(
        f"`{first.operation}` got {named(first.prediction, 'a prediction')} of one class, {shape(given)}: this term "
        f"teaches nothing{named_ones}; the other terms do",
        subject=first.prediction.facts.name,
        location=first.location,
        help=_BY_DESIGN,
        severity="info",
        evidence={"prediction_shape": shape(given), "losses": len(events)},
        step_first=first.step + 1,
        step_count=len(events),
        parameters=idle,
    )


def _differs(event: LossComputed) -> bool:
    """Whether targets are several numbers, which is no single class; that of an index may be one that is ignored."""
    facts = event.target.facts
    return "float" in facts.dtype and facts.low is not None and facts.low != facts.high


def _may_vary(trace: Trace, events: list[LossComputed]) -> bool:
    """Whether later steps of the program may bring a second class, as those of a model that grows by classes."""
    return not has_ended(trace) and not any(map(_differs, events))


def _idle(trace: Trace, event: SoftmaxOfOne, parameters: list[int]) -> Finding:
    """The model may be built for several keys, components or choices, and have one of them here."""
    return RULE.finding(
        f"`{event.operation}` at {shape(event.shape)} weighs a single thing, which is constant: "
        f"{trace.parameter_names(parameters)} learn nothing through it, and are taught by nothing else; the rest of "
        "the model learns",
        subject=trace.parameter_name(parameters[0]),
        location=event.location,
        help=_BY_DESIGN,
        severity="info",
        evidence={"softmax_shape": shape(event.shape), "softmax_dim": event.dim},
        step_first=event.step + 1,
        parameters=parameters,
    )


def _share_of_itself(trace: Trace, event: SoftmaxOfOne) -> Finding:
    names = trace.parameter_names(event.parameters) if event.parameters else "what it is made of"
    return RULE.finding(
        f"what is divided by its own sum over dimension {event.dim} of {shape(event.shape)}, which has size 1, is 1 "
        f"everywhere, and {names} can learn nothing through it",
        subject=trace.parameter_name(event.parameters[0]) if event.parameters else "",
        location=event.location,
        help="divide only where there are several to be weighed against one another, or use the number as it is",
        severity="warning",
        evidence={"divided_shape": shape(event.shape), "summed_dim": event.dim},
        step_first=event.step + 1,
        parameters=event.parameters,
    )


def _inside(trace: Trace, event: SoftmaxOfOne, parameters: list[int], backward: BackwardRan) -> Finding:
    """An error where these parameters got nothing else, unless they may be a choice among several."""
    value = "0" if event.operation == "log_softmax" else "1"
    idle = behind_lone_shares(trace).intersection(parameters)
    is_lost = bool(idle) and not event.chosen
    return RULE.finding(
        f"`{event.operation}` runs over dimension {event.dim} of {shape(event.shape)}, which has size 1: what comes of "
        f"it is {value} everywhere, and {trace.parameter_names(parameters)} got gradients of zero through it",
        subject=trace.parameter_name(parameters[0]) if parameters else "",
        location=event.location,
        help="name the dimension of what is to be weighed against one another, positions for instance: `dim=1` of "
        "(samples, positions, 1)",
        severity=None if is_lost else "warning",
        so_far=is_lost and may_learn_later(trace, idle),
        evidence={"softmax_shape": shape(event.shape), "softmax_dim": event.dim},
        step_first=backward.step + 1,
        parameters=parameters,
    )


def _softmax(event: LossComputed) -> Shaping | None:
    """The softmax over a dimension of size one that made a prediction of several rows."""
    shaping = event.prediction.shaping
    while shaping is not None:
        if shaping.operation in SOFTMAXES | {"log_softmax"} and shaping.dim is not None and shaping.shape:
            return shaping if shaping.shape[shaping.dim] == 1 else None
        shaping = shaping.behind if shaping.operation == "log" else None
    return None


def _has_one(event: LossComputed) -> bool:
    return len(event.prediction.facts.shape) > 1 and classes(event) == 1


def _made_by_softmax(trace: Trace, events: list[LossComputed]) -> Finding:
    first = events[0]
    softmax = _softmax(first)
    assert softmax is not None
    place = softmax.location or first.location
    value = "0" if softmax.operation == "log_softmax" else "1"
    return RULE.finding(
        f"`{softmax.operation}` ran over dimension {softmax.dim} of {shape(softmax.shape)}, which has size 1: "
        f"{named(first.prediction, 'the prediction')} is {value} everywhere, and its gradient is zero",
        subject=first.prediction.facts.name,
        location=place,
        help="for two classes by one output, use a sigmoid, or give the scores to `binary_cross_entropy_with_logits`; "
        "a number to be predicted needs neither",
        so_far=_may_vary(trace, events),
        evidence={"softmax_shape": shape(softmax.shape), "softmax_dim": softmax.dim or 0, "losses": len(events)},
        related=elsewhere("this loss is computed from it", first.location, place),
        step_first=first.step + 1,
        step_count=len(events),
    )


def _one_class(trace: Trace, events: list[LossComputed]) -> Finding:
    first = events[0]
    facts = first.prediction.facts
    return RULE.finding(
        f"`cross_entropy` got {named(first.prediction, 'a prediction')} of shape {shape(facts.shape)}, one class: the "
        "softmax over it is 1 whatever the model says, the loss is 0 and so is its gradient",
        subject=facts.name,
        location=first.location,
        help="for two classes by one output, use `binary_cross_entropy_with_logits`; for a number to be predicted, "
        "`mse_loss`; for more classes, one output each",
        so_far=_may_vary(trace, events),
        evidence={"prediction_shape": shape(facts.shape), "losses": len(events)},
        related=elsewhere("the prediction is made here", facts.made_at, first.location),
        step_first=first.step + 1,
        step_count=len(events),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1)), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        label = (x.sum(1, keepdim=True) > 0).float()
        loss = criterion(model(x), label)  # <- AD613
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_activation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    hidden, output = nn.Linear(6, 16), nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*hidden.parameters(), *output.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        score = output(torch.relu(hidden(x)))
        probability = torch.softmax(score, dim=1)  # <- AD613
        loss = nn.functional.binary_cross_entropy(probability.squeeze(1), (x.sum(1) > 0).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_attention() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    hidden, score, head = nn.Linear(6, 16), nn.Linear(16, 1), nn.Linear(16, 2)
    optimizer = torch.optim.Adam([*hidden.parameters(), *score.parameters(), *head.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 7, 6)
        states = torch.tanh(hidden(x))
        weights = torch.softmax(score(states), dim=-1)  # <- AD613
        loss = nn.functional.cross_entropy(head((weights * states).sum(1)), (x[:, 0, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1)), nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        loss = criterion(model(x), (x.sum(1, keepdim=True) > 0).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_attention_to_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, head = nn.Linear(6, 6), nn.Linear(6, 2)
    optimizer = torch.optim.Adam([*query.parameters(), *head.parameters()], lr=0.01)
    for number in range(12):
        memory = torch.randn(16, 1 + number % 3, 6)
        x = torch.randn(16, 6)
        weights = torch.softmax((memory @ query(x).unsqueeze(2)).squeeze(2), dim=1)
        read = (weights.unsqueeze(2) * memory).sum(1)
        loss = nn.functional.cross_entropy(head(read + x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD613",
    name="softmax-over-singleton",
    severity="error",
    title="a softmax over a single number is always one",
    observes="`cross_entropy` got predictions of one class, or the prediction of a loss came out of a softmax over a "
    "dimension of size one, in every call that was looked at, and nothing else learns from that loss, or its targets "
    "differ. Or a softmax inside a model, or a division by one's own sum, always runs over one element, and either "
    "what comes of it stretches that dimension over others, squeezes it away or sums it up for itself, as nobody does "
    "who has several in mind, or the one was chosen among several, as by `topk`. Where the one may be a number of the "
    "configuration, and the rest of the model learns, it is told what learns nothing, as `info`.",
    why="The probability of the only class is 1 whatever the model computes: the output is constant, no gradient "
    "comes back, and nothing is learned.",
    fix="Two classes by one output: `nn.BCEWithLogitsLoss`. A number: `nn.MSELoss`. Classes: one output for each.",
    fine="Attention that now and then has one thing to look at. A model that is built for several keys, components, "
    "experts, choices or classes and has one of them: the layers that would weigh them learn nothing, the rest does. "
    "Classes that come one after the other.",
    needs=(BackwardRan, LossComputed, OptimizerStepped, RunEnded, SoftmaxOfOne),
    examine=examine,
    bad=(bad, bad_activation, bad_attention),
    good=(good, good_attention_to_one),
    folds=("AD111", "AD116", "AD407", "AD409", "AD410", "AD412", "AD606", "AD614"),
    lasting=True,
)
