"""AD111: steps with gradients and a rate left parameters bit for bit as they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from math import frexp, prod, sqrt
from statistics import mean, median

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.numerics import UpdatesMeasured, UpdatesRounded
from autograd_doctor.events.steps import ForwardRan, OptimizerStepped, ParametersMovedLater
from autograd_doctor.events.subjects import OptimizerBuilt, ParametersAdded, ParameterSeen
from autograd_doctor.findings import Finding
from autograd_doctor.rules import NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import registered
from autograd_doctor.views.learning import only_gathers
from autograd_doctor.views.magnitudes import clipped_away
from autograd_doctor.views.rates import rates_of, still_rising
from autograd_doctor.views.step_cycle import called, groups_of, ordinal, related, steps_by_optimizer
from autograd_doctor.wording import plural

_LOW_PRECISION = ("bfloat16", "float16")
_IN_FLOAT32 = (
    "keep the weights in float32 (`torch.autocast` computes in 16 bits), or an optimizer that adds up what is rounded "
    "away"
)
_WRITE = "see that its step writes to the parameters themselves, as `p.add_(…)` does, and not to new tensors"
_MOST = 0.5
"""Share of the values of a parameter."""
_LEAST_MOVED, _MOST_MOVED = 0.002, 0.5
"""Shares of values: so few are taken to move in a step, and so many that have moved are enough after any number."""
_LARGE = 100.0
"""Times: values so much larger than those of most parameters are in a unit of their own."""
_BITS = {"float32": 24, "float64": 53}
"""Of which a number is made: neighbours differ by the last one."""
_FEW_STEPS = 8
"""Fewer are taken as so many: by chance, twice as many values as in one move in the first few."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for optimizer, steps in steps_by_optimizer(trace).items():
        if only_gathers(steps):
            continue
        looked = [step for step in steps if step.moved is not None]
        built = trace.optimizers.get(optimizer) if optimizer is not None else None
        if optimizer is None or built is None or not looked or built.has_tolerance:
            continue
        pushed, stuck, undone = _counts(trace, optimizer, looked, tunables["noise"])
        arriving = _arriving(trace, optimizer)
        repeats = tunables["minimum_repeats"]
        moving = arriving | _brought(looked, repeats)
        never = [p for p, count in pushed.items() if count >= repeats and stuck.get(p) == count and p not in moving]
        if len(never) < len(pushed):
            later = _moved_later(trace, optimizer)
            never = [p for p in never if p not in later]
        lost = [p for p, count in pushed.items() if count > repeats and undone.get(p, 0) >= count - 1]
        rising = still_rising(steps)
        still = _still(trace, optimizer, pushed.keys() - arriving, tunables["minimum_repeats"])
        rounded = {} if rising else _rounded_away(still, tunables["share"])
        if never and not rising and (2 * len(never) >= len(pushed) or len(never) > len(rounded)):
            yield _finding(trace, optimizer, looked, never, len(pushed), still)
        elif set(lost) - _at_bound(looked) and _no_other_moves(trace, optimizer, lost):
            yield _finding(trace, optimizer, looked, lost, len(pushed), still, undone=True)
        elif rounded:
            yield _mostly(trace, optimizer, looked, rounded)
        elif not rising and (back := _back_after_rounding(trace, optimizer, arriving, tunables)):
            yield _rounded_between_steps(trace, optimizer, looked, back)


def _arriving(trace: Trace, optimizer: int) -> set[int]:
    """Parameters whose values, rounded to 16 bits, move in ever other places: what is lost is kept, and arrives later.

    Steps that lose it for good move the same few values, small ones, again and again: 1.5 times as many in a hundred
    steps as in one, or three times where gradients vary. With compensation, with stochastic rounding or from a copy of
    more bits they grow at first with the steps, and faster than their square root after hundreds of them.
    """
    measured = (event for event in trace.of(UpdatesMeasured) if event.optimizer == optimizer)
    rounded = (event for event in trace.of(UpdatesRounded) if event.optimizer == optimizer)
    arrived = [(event.step, event.still, event.arrived) for event in measured]
    arrived += [(event.step, event.back, event.arrived) for event in rounded]
    found = set()
    for parameter in {p for *_, each in arrived for p in each}:
        mine = [(step, 1 - still[parameter], each[parameter]) for step, still, each in arrived if parameter in each]
        steps = max(mine[-1][0] - mine[0][0] + 1, _FEW_STEPS)
        in_one = max(mean(moved for _, moved, _ in mine), _LEAST_MOVED)
        if mine[-1][-1] >= min(_MOST_MOVED, sqrt(steps) * in_one):
            found.add(parameter)
    return found


def _brought(steps: list[OptimizerStepped], repeats: float) -> set[int]:
    """Parameters that get other values between the steps again and again, as from momenta that the steps move."""
    times = Counter(parameter for step in steps for parameter in step.brought)
    return {parameter for parameter, count in times.items() if count >= repeats}


def _moved_later(trace: Trace, optimizer: int) -> set[int]:
    """Parameters whose turn came after the steps that were looked at, as where blocks are trained one by one."""
    events = (event for event in trace.of(ParametersMovedLater) if event.optimizer == optimizer)
    return {parameter for event in events for parameter in event.parameters}


def _at_bound(steps: list[OptimizerStepped]) -> set[int]:
    """Parameters that whatever undid their steps put back to one or two values, each time: a projection may do so."""
    elsewhere = {parameter for step in steps for parameter in set(step.undone) - set(step.at_bound)}
    return {parameter for step in steps for parameter in step.at_bound} - elsewhere


def _still(trace: Trace, optimizer: int, pushed: Set[int], repeats: float) -> dict[int, float]:
    """Of parameters of 16 bits, the typical share of the values that a step leaves as they are."""
    shares: dict[int, list[float]] = {}
    for event in trace.of(UpdatesMeasured):
        for parameter in pushed & event.still.keys() if event.optimizer == optimizer else ():
            shares.setdefault(parameter, []).append(event.still[parameter])
    return {parameter: median(each) for parameter, each in shares.items() if len(each) > repeats}


def _rounded_away(still: dict[int, float], most: float) -> dict[int, float]:
    """Those of which nearly all values stay as they are in each step.

    Those that never move at all are the few with large values, if others are so as well.
    """
    rounded = {parameter: share for parameter, share in still.items() if share >= most}
    return rounded if 2 * len(rounded) >= len(still) else {}


def _dtypes(trace: Trace, optimizer: int, parameters: list[int]) -> list[str]:
    """As they were in the steps: a model may have been cast after it came into view."""
    measured = {
        p: dtype
        for event in trace.of(UpdatesMeasured)
        if event.optimizer == optimizer
        for p, dtype in event.dtypes.items()
    }
    known = {p: trace.parameters[p].dtype for p in parameters if p in trace.parameters}
    return sorted({measured.get(p, known[p]) for p in known})


def _mostly(trace: Trace, optimizer: int, steps: list[OptimizerStepped], rounded: dict[int, float]) -> Finding:
    rates, parameters = rates_of(steps), sorted(rounded)
    dtypes = _dtypes(trace, optimizer, parameters)
    share = median(rounded.values())
    built_at = trace.optimizers[optimizer].location
    return RULE.finding(
        f"a step of {called(trace, optimizer)} leaves {share:.1%} of the values of {trace.parameter_names(parameters)} "
        f"({', '.join(dtypes)}) as they are, bit for bit: the updates are smaller than half a step of the dtype",
        subject=trace.parameter_name(parameters[0]),
        location=built_at or steps[0].location,
        help=_IN_FLOAT32,
        severity="warning",
        evidence={"share": share, "parameters": len(parameters), "steps": len(steps), "rate": max(rates, default=0.0)},
        related=related((f"{called(trace, optimizer)} steps here", steps[0].location if built_at else None)),
        step_first=ordinal(steps[0]),
        step_count=len(steps),
        parameters=parameters,
    )


def _back_after_rounding(trace: Trace, optimizer: int, arriving: Set[int], tunables: Tunables) -> dict[int, float]:
    """Of parameters that are rounded between the steps, the typical share of what a step moved that comes back."""
    shares: dict[int, list[float]] = {}
    for event in trace.of(UpdatesRounded):
        for parameter in event.back.keys() - arriving if event.optimizer == optimizer else ():
            shares.setdefault(parameter, []).append(event.back[parameter])
    back = {parameter: median(each) for parameter, each in shares.items() if len(each) >= tunables["minimum_repeats"]}
    return back if back and median(back.values()) > tunables["back"] else {}


def _rounded_between_steps(
    trace: Trace, optimizer: int, steps: list[OptimizerStepped], back: dict[int, float]
) -> Finding:
    events = [event for event in trace.of(UpdatesRounded) if event.optimizer == optimizer]
    written = next((event.location for event in events if event.location is not None), None)
    share, parameters = median(back.values()), sorted(back)
    return RULE.finding(
        f"between the steps of {called(trace, optimizer)}, {trace.parameter_names(parameters)} "
        f"({', '.join(_dtypes(trace, optimizer, parameters))}) are set to their own values rounded to "
        f"{events[0].dtype}: {share:.0%} of the values that a step has moved are then what they were before it",
        subject=trace.parameter_name(parameters[0]),
        location=written or steps[0].location,
        help="leave the values that the optimizer steps as they are, and compute with rounded copies of them",
        severity="warning",
        evidence={"share": share, "parameters": len(parameters), "times": len(events)},
        related=related((f"{called(trace, optimizer)} steps here", steps[0].location if written else None)),
        step_first=ordinal(steps[0]),
        step_count=len(steps),
        parameters=parameters,
    )


def _counts(
    trace: Trace, optimizer: int, steps: list[OptimizerStepped], noise: float
) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """Per parameter, how many steps had a real gradient and a rate for it, left it where it was, or found it undone.

    What a forward had met before it was undone was a trial, as of a rate, or of what a sample teaches; not where it is
    forwards that write old values back.
    """
    written = {parameter for ran in trace.of(ForwardRan) for parameter in ran.written_parameters}
    values = _values(trace, optimizer)
    pushed: dict[int, int] = {}
    stuck: dict[int, int] = {}
    undone: dict[int, int] = {}
    for step in steps:
        for parameter in _with_real_gradient(trace, step, noise, values) & _with_rate(trace, optimizer, step):
            pushed[parameter] = pushed.get(parameter, 0) + 1
            stuck[parameter] = stuck.get(parameter, 0) + (parameter not in (step.moved or ()))
            was_trial = step.tried and parameter not in written
            undone[parameter] = undone.get(parameter, 0) + (parameter in step.undone and not was_trial)
    return pushed, stuck, undone


def _values(trace: Trace, optimizer: int) -> dict[int, float]:
    """How large the values of each parameter are, their root mean square before the newest step that was measured."""
    measured = (event for event in trace.of(UpdatesMeasured) if event.optimizer == optimizer)
    return {p: weight for event in measured for p, weight in zip(event.parameters, event.weights, strict=True)}


def _with_real_gradient(trace: Trace, step: OptimizerStepped, noise: float, values: Mapping[int, float]) -> set[int]:
    """Parameters whose gradient is more than rounding noise beside the others' (a bias before a normalisation).

    One of large values, as of a frequency in hertz, has a small gradient in its unit: what counts then is by how much
    the loss would change if all values changed by the same share.
    """
    norms = {p: norm for use in step.uses for p, norm in zip(use.parameters, use.norms, strict=True) if norm > 0}
    sizes = {p: max(prod(trace.parameters[p].shape) if p in trace.parameters else 1, 1) for p in norms}
    by_share = {p: norm * values.get(p, 0.0) for p, norm in norms.items()}
    return _at_least(noise, norms, sizes) | _at_least(1.0, by_share, sizes)


def _at_least(share: float, norms: Mapping[int, float], sizes: Mapping[int, int]) -> set[int]:
    """Those of which a value has, on average, at least that share of what a value of them all has."""
    overall = sqrt(sum(norm**2 for norm in norms.values()) / max(sum(sizes.values()), 1))
    return {p for p, norm in norms.items() if norm > 0 and norm / sqrt(sizes[p]) >= share * overall}


def _with_rate(trace: Trace, optimizer: int, step: OptimizerStepped) -> set[int]:
    groups = groups_of(trace, optimizer)
    return {p for group, rate in zip(groups, step.learning_rates, strict=False) if rate != 0 for p in group.parameters}


def _no_other_moves(trace: Trace, optimizer: int, parameters: list[int]) -> bool:
    """Whether nothing else updates these parameters: inner loops start again from weights that an outer one moves."""
    others = (step for step in trace.steps if step.optimizer != optimizer)
    return not any(set(parameters) & set(use.parameters) for step in others for use in step.uses)


def _finding(
    trace: Trace,
    optimizer: int,
    steps: list[OptimizerStepped],
    parameters: list[int],
    pushed: int,
    still: dict[int, float],
    *,
    undone: bool = False,
) -> Finding:
    first, built = steps[0], trace.optimizers[optimizer]
    rates = rates_of(steps)
    dtypes = _dtypes(trace, optimizer, parameters)
    low = [dtype for dtype in dtypes if dtype in _LOW_PRECISION]
    others_move = len(parameters) < pushed and not low and not undone
    norm = max(norm for use in first.uses for p, norm in zip(use.parameters, use.norms, strict=True) if p in parameters)
    how = "were undone: the values of before came back in" if undone else "left unchanged, bit for bit,"
    advice = "look for what writes the old values back after the step, such as a `load_state_dict` in the loop"
    if low and not undone:
        advice = _IN_FLOAT32
    elif not undone:
        advice = "raise the learning rate: the updates are smaller than the precision of the weights"
        advice = f"{_WRITE}; if it does, {advice}" if built.own_step else advice
    clip = clipped_away(trace, optimizer) if not (low or undone) else None
    if clip is not None:
        how = f"(its gradients are clipped to a norm of {clip.limit:.1e}) {how}"
        advice = "raise the limit of the clipping: the updates are smaller than the precision of the weights"
    elif others_move:
        advice += _how_coarse(trace, parameters[0], _values(trace, optimizer))
    places = related(
        ("the optimizer and its rate are made here", built.location),
        ("its step is defined here", None if undone else built.own_step),
    )
    return RULE.finding(
        f"{plural(len(steps), 'step')} of {called(trace, optimizer)} {how} {trace.parameter_names(parameters)} "
        f"({', '.join(dtypes)}), with a gradient norm of {norm:.2g}"
        + (f" and a rate of {rates[0]:g}" if rates else "")
        + ("" if undone else _and_others(trace, {p: share for p, share in still.items() if p not in parameters})),
        subject=trace.parameter_name(parameters[0]),
        location=first.location if clip is None else clip.location,
        help=advice,
        severity="error" if 2 * len(parameters) >= pushed else "warning",
        so_far=others_move and not trace.ended_by_itself,
        evidence={"steps": len(steps), "unchanged": len(parameters), "with_gradient": pushed, "gradient_norm": norm},
        related=registered(trace, parameters, *places) if others_move else places,
        step_first=ordinal(first),
        step_count=len(steps),
        parameters=parameters,
    )


def _how_coarse(trace: Trace, parameter: int, values: Mapping[int, float]) -> str:
    """What to do about values that are large for the unit in which their steps are taken."""
    seen, value = trace.parameters.get(parameter), values.get(parameter)
    if seen is None or seen.dtype not in _BITS or value is None or value < _LARGE * median(values.values()):
        return ""
    apart = 2.0 ** (frexp(value)[1] - _BITS[seen.dtype])
    return (
        f"; at {value:.2g}, values of {seen.dtype} are {apart:.2g} apart: `{seen.name}` may as well be learned as an "
        "offset from a constant, or in another unit"
    )


def _and_others(trace: Trace, still: dict[int, float]) -> str:
    """What is lost of others besides, which is the same fault."""
    share = median(still.values()) if still else 0.0
    if share < _MOST:
        return ""
    return f"; a step leaves {share:.0%} of the values of {trace.parameter_names(sorted(still))} as they are, too"


def bad() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-12)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # <- AD111


def bad_bfloat16_weights() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).bfloat16()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.sign() * 0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for _ in range(8):
        inputs = torch.randn(16, 4, dtype=torch.bfloat16)
        loss = (model(inputs) - inputs.sum(dim=1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # <- AD111


def bad_most_values_stay() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 1)).bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)  # <- AD111
    for _ in range(10):
        inputs = torch.randn(64, 32)
        loss = (model(inputs.bfloat16()).float() - inputs.sum(dim=1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_rounded_between_steps() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 1)).bfloat16()
    full = [weight.detach().float() for weight in model.parameters()]
    optimizer = torch.optim.AdamW(full, lr=1e-4)
    for _ in range(10):
        inputs = torch.randn(64, 32)
        loss = (model(inputs.bfloat16()).float() - inputs.sum(dim=1, keepdim=True)).square().mean()
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        for copy, weight, gradient in zip(full, model.parameters(), gradients, strict=True):
            copy.copy_(weight.detach())  # <- AD111
            copy.grad = gradient.float()
        optimizer.step()
        for copy, weight in zip(full, model.parameters(), strict=True):
            weight.data.copy_(copy)


def good_bfloat16_weights() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 1)).bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(10):
        inputs = torch.randn(64, 32)
        loss = (model(inputs.bfloat16()).float() - inputs.sum(dim=1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_slow_warm_up() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 500) ** 4)
    for _ in range(12):
        inputs = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()


def good_frozen_tied_and_normalised() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(12, 8)
            self.body = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU())
            self.head = nn.Linear(8, 12, bias=False)
            self.head.weight = self.embedding.weight
            self.frozen = nn.Linear(8, 8)
            self.frozen.requires_grad_(False)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            hidden = self.body(self.frozen(self.embedding(tokens)))
            scores: torch.Tensor = self.head(hidden)
            return scores

    torch.manual_seed(0)
    model = Model()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.05)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 2))
    for _ in range(12):
        tokens = torch.randint(0, 12, (32,))
        loss = nn.functional.cross_entropy(model(tokens), (tokens + 1) % 12)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()


RULE = Rule(
    code="AD111",
    name="parameters-unchanged",
    severity="error",
    title="steps left parameters bit for bit as they were",
    observes=(
        "Parameters with a gradient well above rounding noise, by itself or times their values, and a rate above 0. "
        "Their values did not change in any "
        "step that was looked at; or the old values were back before any forward met the new ones, also where the "
        "step was taken from other values in between. Of parameters of 16 bits, how many values each step leaves as "
        "they were. Of others that are rounded to 16 bits between the steps, how many of the values that a step has "
        "moved are back when the next one begins."
    ),
    why=(
        "An update smaller than half the spacing of the numbers around the weight is rounded away: in bfloat16 a "
        "weight of 1.0 does not see anything below 0.002. Nothing is left of such a step, however many follow."
    ),
    fix="Keep weights in float32 and compute under autocast, or raise the rate; do not restore weights in the loop.",
    fine=(
        "Frozen parameters, tied weights, a warm-up for as long as its rate rises, steps undone after a forward has "
        "shown what they are worth, what is put back to a bound, as a multiplier to 0, blocks that have their turn "
        "later, and gradients that are nothing but rounding noise, such as that of a bias in front of a normalisation. "
        "What a step loses may be kept elsewhere and arrive later (Kahan summation, stochastic rounding, a copy in "
        "float32): then each step moves others. Weights that are rounded between steps, but to a grid finer than the "
        "steps. Parameters that something else gives other values between the steps, again and again, as where a step "
        "moves momenta. Optimizers without a rate that gather sums in their state."
    ),
    needs=(
        ForwardRan,
        GradientsClipped,
        OptimizerBuilt,
        OptimizerStepped,
        ParametersMovedLater,
        ParametersAdded,
        ParameterSeen,
        UpdatesMeasured,
        UpdatesRounded,
    ),
    examine=examine,
    bad=(bad, bad_bfloat16_weights, bad_most_values_stay, bad_rounded_between_steps),
    good=(good, good_bfloat16_weights, good_slow_warm_up, good_frozen_tied_and_normalised),
    tunables={
        "minimum_repeats": Tunable(3, "fewest steps that left a parameter with a gradient as it was", NO_BEGINNING),
        "noise": Tunable(
            0.01,
            "smallest gradient that counts, per value and relative to all that the optimizer holds",
            "measured: gradients that are zero by mathematics come out as rounding, at most some 1e-3 of the others",
        ),
        "share": Tunable(
            0.9,
            "smallest share of the values of a 16-bit parameter that a step leaves as they are",
            "chosen: at usual rates, bfloat16 rounds away what two thirds of the values would have moved",
        ),
        "back": Tunable(
            0.5,
            "share of the values moved by a step of which more are back, in a parameter that is rounded between steps",
            "chosen: most of what the steps do is lost, and no memory is saved by it",
        ),
    },
    folds=("AD116",),
    about="loop",
)
