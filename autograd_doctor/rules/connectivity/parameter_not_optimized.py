"""AD204 parameter-not-optimized: parameters get gradients step after step, and no optimizer holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from autograd_doctor.events.connectivity import LeafUsed
from autograd_doctor.events.data import WeightsLoaded
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt, ParameterCopied, ParameterFrozen, ValuesShared
from autograd_doctor.findings import Evidence, Finding, Location, Related
from autograd_doctor.rules import NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import registered
from autograd_doctor.views.left_out import parameters_left_out, thawed, trained
from autograd_doctor.views.loaded import loaded_before
from autograd_doctor.views.so_far import may_learn_later
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    minimum = int(tunables["minimum_steps"])
    left_out = sorted(parameters_left_out(trace, minimum) - _in_use(trace))
    learning = trained(trace, minimum) & trace.optimized - set(left_out)
    if left_out and thawed(trace, minimum).issuperset(left_out) and not _rests(trace, left_out):
        yield _thawed(trace, left_out, learning)
    elif left_out:
        yield _finding(trace, left_out, learning, tunables["backbone_ratio"])


def _in_use(trace: Trace) -> set[int]:
    """Those whose gradients the program reads by themselves, or that it updates now and then, but not by copies."""
    uses = trace.of(LeafUsed)
    read = {event.parameter for event in uses if event.how == "read"}
    copied = {event.parameter for event in trace.of(ParameterCopied)}
    return read | {event.parameter for event in uses if event.how == "changed"} - copied


def _help(trace: Trace, left_out: list[int], reason: str) -> str:
    if _copies(trace, left_out):
        return "compute what they give under `torch.no_grad()`, or `detach` it: nothing is to learn through a copy"
    if reason:
        return "call `requires_grad_(False)` on them if they are to stay fixed, which saves their gradients"
    if all(trace.parameters[parameter].kind == "tensor" for parameter in left_out):
        return "make it an `nn.Parameter`: `parameters()` does not find plain tensors"
    return "give them to the optimizer; build it after the last layer has been added to the model"


def _by_intent(trace: Trace, left_out: list[int], learning: Iterable[int], ratio: float) -> str:
    """Why gradients may be wanted here only on their way to what is optimized, "" if nothing says so."""
    if _copies(trace, left_out):
        return "they get their values from other parameters, as a target network does"
    if _rests(trace, left_out):
        return "they belong to a module that runs in eval mode"
    loaded = _loaded(trace, left_out)
    if loaded.issuperset(left_out) and not loaded.issuperset(learning):
        return "their values come from elsewhere, and not all of what is optimized does: a part that stays as it is"
    if _size(trace, left_out) > ratio * _size(trace, learning):
        return "they are far larger than what is optimized, as the fixed part under a new head or an adapter is"
    backwards = _backwards(trace, left_out)
    lie_before = set(left_out).issubset({parameter for backward in backwards for parameter in backward.before})
    if lie_before and not any(set(left_out).intersection(backward.behind) for backward in backwards):
        return "they all come before what is optimized, as a fixed backbone does"
    return ""


def _loaded(trace: Trace, left_out: list[int]) -> set[int]:
    """Parameters whose values came from a state, a file or arrays before these got gradients."""
    first = min((backward.step for backward in _backwards(trace, left_out)), default=0)
    return loaded_before(trace, first)


def _rests(trace: Trace, parameters: list[int]) -> bool:
    """Whether they belong to modules that never ran in train mode."""
    resting = {event.module for event in trace.of(ForwardRan)} - {e.module for e in trace.of(ForwardRan) if e.training}
    in_eval = {p for module in resting if module in trace.modules for p in trace.modules[module].parameters}
    return in_eval.issuperset(parameters)


def _copies(trace: Trace, parameters: Iterable[int]) -> list[Location]:
    """The lines that give parameters the values of others, if all of them are so given."""
    copied = {event.parameter: event.location for event in trace.of(ParameterCopied)}
    places = [copied.get(parameter) for parameter in parameters]
    return [] if None in places else list(dict.fromkeys(place for place in places if place is not None))


def _size(trace: Trace, parameters: Iterable[int]) -> int:
    return sum(prod(trace.parameters[parameter].shape) for parameter in parameters if parameter in trace.parameters)


def _finding(trace: Trace, left_out: list[int], learning: set[int], ratio: float) -> Finding:
    reason = _by_intent(trace, left_out, learning, ratio)
    all_loaded = not reason and _loaded(trace, left_out).issuperset([*left_out, *learning])
    backwards = _backwards(trace, left_out)
    return RULE.finding(
        f"{trace.parameter_names(left_out)} got gradients from {plural(len(backwards), 'backward')}, and no optimizer "
        "holds them",
        subject=trace.parameter_name(left_out[0]),
        location=_optimizer_of(trace, backwards, learning),
        help=_help(trace, left_out, reason),
        severity="info" if reason else "warning" if all_loaded else "error",
        so_far=may_learn_later(trace, left_out),
        confidence="medium" if reason or all_loaded else "high",
        evidence=_evidence(trace, left_out, learning, backwards),
        notes=(f"this may be meant: {reason}",) if reason else (),
        related=registered(
            trace, left_out, *(Related("they are copied here", place) for place in _copies(trace, left_out)[:1])
        ),
        step_first=1,
        step_count=len(trace.steps),
        parameters=left_out,
    )


def _thawed(trace: Trace, left_out: list[int], learning: set[int]) -> Finding:
    """They were to learn from then on: nothing says that gradients only pass through them."""
    frozen = [event for event in trace.of(ParameterFrozen) if event.parameter in left_out]
    since = max((event.step for event in frozen), default=0)
    backwards = [backward for backward in _backwards(trace, left_out) if backward.step >= since]
    places = dict.fromkeys(event.location for event in frozen if event.location is not None)
    return RULE.finding(
        f"{trace.parameter_names(left_out)} were frozen and thawed again, and got gradients from "
        f"{plural(len(backwards), 'backward')} since: no optimizer that steps holds them",
        subject=trace.parameter_name(left_out[0]),
        location=_optimizer_of(trace, backwards, learning),
        help="give the optimizer all that is to learn sooner or later, or call `add_param_group` where they are thawed",
        so_far=may_learn_later(trace, left_out),
        evidence=_evidence(trace, left_out, learning, backwards),
        related=registered(trace, left_out, *(Related("they were frozen here", place) for place in list(places)[:1])),
        step_first=backwards[0].step + 1,
        step_count=len({backward.step for backward in backwards}),
        parameters=left_out,
    )


def _backwards(trace: Trace, left_out: list[int]) -> list[BackwardRan]:
    return [backward for backward in trace.of(BackwardRan) if set(backward.wrote).intersection(left_out)]


def _optimizer_of(trace: Trace, backwards: list[BackwardRan], learning: set[int]) -> Location | None:
    """Where the first optimizer that stepped in these steps, for what was trained, is built."""
    steps = {backward.step for backward in backwards}
    optimizers = (step.optimizer for step in trace.steps if step.step in steps and step.optimizer is not None)
    found = (optimizer for optimizer in optimizers if trace.optimizer_parameters[optimizer] & learning)
    return next((trace.optimizers[optimizer].location for optimizer in found), None)


def _evidence(trace: Trace, left_out: list[int], learning: set[int], backwards: list[BackwardRan]) -> Evidence:
    return {
        "not_optimized": [trace.parameter_name(parameter) for parameter in left_out[:20]],
        "number_of_parameters": len(left_out),
        "elements_not_optimized": _size(trace, left_out),
        "elements_optimized": _size(trace, learning),
        "backwards": len(backwards),
    }


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Sequential(nn.Linear(8, 4), nn.Tanh()), nn.Linear(4, 8)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)  # <- AD204
    x = torch.randn(32, 8)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(decoder(encoder(x)), x).backward()
        optimizer.step()


def bad_late_layer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)  # <- AD204
    model.append(nn.Linear(16, 1))
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Sequential(nn.Linear(8, 4), nn.Tanh()), nn.Linear(4, 8)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    x = torch.randn(32, 8)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(decoder(encoder(x)), x).backward()
        optimizer.step()


def good_input_optimization() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).eval()
    image = torch.randn(1, 8).requires_grad_()
    optimizer = torch.optim.Adam([image], lr=0.05)
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(image), torch.tensor([2])).backward()
        optimizer.step()


def bad_backbone_that_is_not_frozen() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model[2].parameters(), lr=0.05)  # <- AD204
    x = torch.randn(32, 6)
    labels = (x[:, 0] > 0).long()
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), labels).backward()
        optimizer.step()


def good_alternating() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    optimizers = [torch.optim.Adam(network.parameters(), lr=1e-3) for network in (generator, critic)]
    wanted = nn.BCEWithLogitsLoss()
    for _ in range(8):
        fake = generator(torch.randn(32, 4))
        optimizers[0].zero_grad()
        wanted(critic(fake), torch.ones(32, 1)).backward()
        optimizers[0].step()
        optimizers[1].zero_grad()
        real = critic(torch.randn(32, 2) + 1)
        (wanted(real, torch.ones(32, 1)) + wanted(critic(fake.detach()), torch.zeros(32, 1))).backward()
        optimizers[1].step()


RULE = Rule(
    code="AD204",
    name="parameter-not-optimized",
    severity="error",
    title="parameters get gradients, and no optimizer holds them",
    observes="Parameters whose `.grad` was written in several steps by the losses that are trained on, and that are in "
    "no optimizer and are not updated by hand either.",
    why="They keep their initial values, their gradients are computed for nothing and add up in `.grad` for ever.",
    fix="Pass them to the optimizer (a list that names modules one by one forgets easily), or freeze them.",
    fine="Optimising an input, probing a model, the other network of a GAN, slices of a vector that is stepped, rare "
    "updates by hand, and gradients that a line reads of these parameters alone, as those of a mask are. It is "
    "an `info`, because freezing would save time and memory, when the optimizer holds an adapter, or what was left out "
    "runs in eval mode, comes before all that the optimizer holds, or has its values from a state, a file or arrays "
    "where that has not. Where both have, it is a warning: some of a finished model may be all that is to be tuned.",
    needs=(
        BackwardRan,
        ForwardRan,
        LeafUsed,
        ModuleSeen,
        OptimizerBuilt,
        OptimizerStepped,
        ParameterCopied,
        ParameterFrozen,
        RunEnded,
        ValuesShared,
        WeightsLoaded,
    ),
    examine=examine,
    bad=(bad, bad_late_layer, bad_backbone_that_is_not_frozen),
    good=(good, good_input_optimization, good_alternating),
    tunables={
        "minimum_steps": Tunable(3, "fewest steps with a gradient of what no optimizer holds", NO_BEGINNING),
        "backbone_ratio": Tunable(
            2.0,
            "size of what is left out, relative to what is optimized, above which it may be meant",
            "chosen: a head or an adapter is smaller than what it stands on, a forgotten layer is not that much larger",
        ),
    },
    lasting=True,
)
