"""AD807 slow-optimizer-step: an optimizer steps slower than torch could."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from autograd_doctor.events.efficiency import IterationTimed, OptimizerTried
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding
from autograd_doctor.profiling import Measured
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.iterations import split, typical, whole
from autograd_doctor.wording import plural


def bad() -> None:
    """Batches are small, so that the update of four million weights takes longer than their gradients."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(4)]
    model = nn.Sequential(nn.Linear(16, 1024), nn.ReLU(), *layers, nn.Linear(1024, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)  # <- AD807
    inputs = torch.randn(4, 16)
    targets = inputs.sum(1, keepdim=True)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()


def good() -> None:
    """The same with the fused step."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(4)]
    model = nn.Sequential(nn.Linear(16, 1024), nn.ReLU(), *layers, nn.Linear(1024, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    inputs = torch.randn(4, 16)
    targets = inputs.sum(1, keepdim=True)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()


def good_few_weights() -> None:
    """A step takes a large share of very little."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    inputs = torch.randn(8, 16)
    targets = inputs.sum(1, keepdim=True)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()


def good_step_of_its_own() -> None:
    """torch has no other way for a step that it does not know."""
    import torch
    from torch import nn

    class Signs(torch.optim.Adam):
        @torch.no_grad()
        def step(self, closure: None = None) -> None:  # type: ignore[override]
            for group in self.param_groups:
                for parameter in group["params"]:
                    for _ in range(4):
                        parameter.sub_(parameter.grad.sign(), alpha=group["lr"] / 4)

    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(4)]
    model = nn.Sequential(nn.Linear(16, 1024), nn.ReLU(), *layers, nn.Linear(1024, 1))
    optimizer = Signs(model.parameters(), lr=1e-5)
    inputs = torch.randn(4, 16)
    targets = inputs.sum(1, keepdim=True)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()


def good_computing_takes_longer() -> None:
    """The same weights, and batches that take longer by far than a step."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(128, 128), nn.ReLU()) for _ in range(3)]
    model = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), *layers, nn.Linear(128, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    inputs = torch.randn(2048, 16)
    targets = inputs.sum(1, keepdim=True)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    timed = typical(trace)
    if len(timed) < tunables["iterations"]:
        return
    by_optimizer: dict[int, list[OptimizerTried]] = {}
    for tried in trace.of(OptimizerTried):
        if tried.differs <= tunables["difference"]:
            by_optimizer.setdefault(tried.optimizer, []).append(tried)
    for same in by_optimizer.values():
        best, *others = sorted(same, key=lambda each: _ratio(each).median)
        yield from _told(trace, best, others, timed, tunables)


def _told(
    trace: Trace,
    best: OptimizerTried,
    others: Sequence[OptimizerTried],
    timed: list[IterationTimed],
    tunables: Tunables,
) -> Iterator[Finding]:
    ratio, taken = _ratio(best), median(each.seconds for each in whole(timed))
    stepping = median(_stepping(each, best) for each in split(timed))
    saved = min(stepping, median(best.before)) * (1 - ratio.high)
    if saved < tunables["seconds"] or saved < tunables["share"] * taken:
        return
    built = trace.optimizers.get(best.optimizer)
    name = trace.optimizer_name(best.optimizer)
    yield RULE.finding(
        f"the step of `{name}` takes {stepping / taken:.0%} of an iteration; with `{best.option}=True` it takes "
        f"{_as_long(ratio)}",
        subject=name,
        location=(built.location if built is not None else None) or best.location,
        help=f"`torch.optim.{built.kind if built is not None else 'Optimizer'}(…, {best.option}=True)`",
        evidence={
            "share_of_the_time": stepping / taken,
            "seconds_of_a_step": stepping,
            "seconds_of_an_iteration": taken,
            "time": ratio.median,
            "time_low": ratio.low,
            "time_high": ratio.high,
            "weights_differ_by": best.differs,
        },
        notes=(
            f"measured in {plural(len(best.before), 'pair')} of steps on copies of "
            f"{plural(best.parameters, 'parameter')}, their gradients and their state; after one, weights differed by "
            f"{best.differs:.1g} of the largest change",
            *(f"with `{each.option}=True`: {_as_long(_ratio(each))}" for each in others),
        ),
        step_first=best.step,
        step_count=1,
    )


def _stepping(iteration: IterationTimed, tried: OptimizerTried) -> float:
    return sum(
        each.seconds for each in iteration.spent if each.activity == "optimizer" and each.location == tried.location
    )


def _ratio(tried: OptimizerTried) -> Measured:
    return Measured.ratio(tried.before, tried.after)


def _as_long(ratio: Measured) -> str:
    return f"{ratio.median:.2g} times as long ({ratio.low:.2g} to {ratio.high:.2g})"


RULE = Rule(
    code="AD807",
    name="slow-optimizer-step",
    severity="info",
    title="an optimizer steps slower than torch could",
    observes="Where the step of an optimizer of torch's takes a large part of an iteration, `doctor profile` takes it "
    "on copies of the parameters, their gradients and the state, as it is and with `fused=True` and `foreach=True`, in "
    "turn, and compares the weights. Subclasses, optimizers with hooks and sparse gradients are left alone.",
    why="A step parameter by parameter goes through memory several times, and calls an operation for each of its "
    "terms. A fused one does all of that at once.",
    fix="Give the constructor the option that the help names. Checkpoints stay valid: the state is the same. A "
    "`load_state_dict` brings the options of the saved groups back: after it, set the option in `param_groups`.",
    fine="Weights must stay the same to the last bit: the ways round differently.",
    needs=(OptimizerTried, IterationTimed, OptimizerBuilt),
    bad=(bad,),
    good=(good, good_few_weights, good_step_of_its_own, good_computing_takes_longer),
    tunables={
        "share": Tunable(
            0.1, "the least share of an iteration that is saved", "measured: runs of one program differ by 2 to 4 %"
        ),
        "seconds": Tunable(0.001, "the fewest seconds of an iteration that are saved", "chosen: less is won by chance"),
        "difference": Tunable(
            0.05,
            "how far weights may be apart after a step, relative to the largest change",
            "arithmetic: a weight of 1 in float32 is rounded by 6e-8, which is 1 % of a change by 6e-6",
        ),
        "iterations": Tunable(
            10, "the fewest iterations that were timed", "arithmetic: of fewer, a median says little"
        ),
    },
    references=(
        "https://docs.pytorch.org/docs/stable/optim.html#algorithms",
        "https://docs.pytorch.org/docs/stable/generated/torch.optim.Adam.html",
    ),
    examine=examine,
)
