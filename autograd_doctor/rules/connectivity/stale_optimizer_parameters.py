"""AD205 stale-optimizer-parameters: the optimizer steps parameters of a model that is no longer the one trained."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt, ParameterSeen
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import registered
from autograd_doctor.views.step_cycle import is_handmade
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    strangers = _learning_elsewhere(trace)
    for optimizer, held in trace.optimizer_parameters.items():
        steps = [step for step in trace.steps if step.optimizer == optimizer]
        newest = [step for step in steps if not any(map(is_handmade, step.uses))][-int(tunables["minimum_steps"]) :]
        if len(newest) < tunables["minimum_steps"]:
            continue
        stale = sorted(
            parameter
            for parameter in set.intersection(*map(_untaught, newest)) & held - trace.frozen
            if not _ran_since(trace, parameter, newest[0].step)
        )
        fresh, guessed = _successors(trace, held, stale, strangers)
        if stale and fresh:
            taught = [place for place, step in enumerate(steps, 1) if not _untaught(step).issuperset(stale)]
            since = steps[taught[-1] if taught else 0 :]
            yield _finding(trace, optimizer, stale, sorted(fresh), since or newest, guessed=guessed)


def _untaught(step: OptimizerStepped) -> set[int]:
    """Parameters without a gradient, or with that of a step before: `model.zero_grad()` does not clear what the model
    no longer holds."""
    return set(step.missing).union(*(use.parameters for use in step.uses if use.left_over))


def _learning_elsewhere(trace: Trace) -> set[int]:
    """Parameters that get gradients and that no optimizer holds."""
    written = {parameter for backward in trace.of(BackwardRan) for parameter in backward.wrote}
    return written - trace.optimized


def _ran_since(trace: Trace, parameter: int, step: int) -> bool:
    """Whether a module that was called with gradients holds the parameter, or a backward since that step took it in."""
    in_use = any(parameter in (event.values or event.reached) for event in trace.of(BackwardRan) if event.step >= step)
    if in_use or parameter in trace.connected:
        return in_use
    building = {event.module for event in trace.of(ForwardRan) if event.grad_enabled}
    return any(parameter in seen.parameters for seen in trace.of(ModuleSeen) if seen.module in building)


def _successors(trace: Trace, held: frozenset[int], stale: list[int], strangers: set[int]) -> tuple[set[int], bool]:
    """Those that took the place of the stale ones, and whether that is a guess.

    They were seen where these had been in the same module, or nothing that the optimizer holds ever learned. Variables
    of the same name may be two, in two functions: that is a guess.
    """
    if there := {parameter for parameter in strangers if not _predecessors(trace, parameter).isdisjoint(stale)}:
        return there, False
    if held.isdisjoint(trace.connected):
        return strangers, False
    names = {trace.parameter_name(parameter) for parameter in stale}
    return {parameter for parameter in strangers if trace.parameter_name(parameter) in names}, True


def _predecessors(trace: Trace, parameter: int) -> set[int]:
    """Those that were in the place of a parameter before."""
    replaced = {event.parameter: event.replaces for event in trace.of(ParameterSeen) if event.replaces is not None}
    found: set[int] = set()
    before = replaced.get(parameter)
    while before is not None and before not in found:
        found.add(before)
        before = replaced.get(before)
    return found


def _finding(
    trace: Trace, optimizer: int, stale: list[int], fresh: list[int], steps: list[OptimizerStepped], *, guessed: bool
) -> Finding:
    name = trace.optimizer_name(optimizer)
    where = next((seen.location for seen in trace.of(ModuleSeen) if set(fresh) & set(seen.parameters)), None)
    made = [seen.registered_at for p in fresh if (seen := trace.parameters.get(p)) is not None]
    return RULE.finding(
        f"`{name}` steps {trace.parameter_names(stale)}, which no module in training holds; "
        f"{plural(len(fresh), 'parameter')} that took their place {'gets' if len(fresh) == 1 else 'get'} gradients and "
        f"{'is' if len(fresh) == 1 else 'are'} in no optimizer",
        subject=name,
        location=next(filter(None, (trace.optimizers[optimizer].location, *made, where)), None),
        help="build the optimizer after the model has got its final form, or give it the new parameters with "
        "`add_param_group`",
        evidence={
            "stale": [trace.parameter_name(parameter) for parameter in stale[:20]],
            "number_of_stale_parameters": len(stale),
            "not_optimized": [trace.parameter_name(parameter) for parameter in fresh[:20]],
            "steps": len(steps),
        },
        guessed=guessed,
        related=registered(trace, fresh, *_related(where), *_called_from(trace, fresh)),
        step_first=steps[0].step + 1,
        step_count=len(steps),
        parameters=[*stale, *fresh],
    )


def _called_from(trace: Trace, fresh: list[int]) -> Iterator[Related]:
    """The call that replaced them, where a function of the program built them."""
    calls = {seen.called_from: seen.name for p in fresh if (seen := trace.parameters.get(p)) is not None}
    for call, name in calls.items():
        if call is not None:
            yield Related(f"this call made `{name}`", call)


def _related(where: Location | None) -> tuple[Related, ...]:
    return (Related("this runs the module whose parameters are not optimized", where),) if where else ()


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # <- AD205
    model[2] = nn.Linear(8, 3)
    x, labels = torch.randn(32, 6), torch.randint(0, 3, (32,))
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), labels).backward()
        optimizer.step()


def bad_copy() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)  # <- AD205
    model = copy.deepcopy(model)
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
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 10))
    model[2] = nn.Linear(8, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x, labels = torch.randn(32, 6), torch.randint(0, 3, (32,))
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), labels).backward()
        optimizer.step()


def good_resting_model() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = (nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1)) for _ in range(2))
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True)
    for step in range(12):
        model = first if step < 6 else second
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


RULE = Rule(
    code="AD205",
    name="stale-optimizer-parameters",
    severity="error",
    title="the optimizer steps parameters that the model no longer has",
    observes="An optimizer whose parameters get no new gradient and belong to no module in use, while parameters of "
    "the modules in use get gradients and are in no optimizer.",
    why="The optimizer keeps the tensors that it was given. After a layer was replaced or the model was rebuilt or "
    "copied it steps the old ones, and the new ones never change.",
    fix="Build the optimizer last.",
    fine="Several models, one of which is not trained for a while, as long as the ones in use are optimized.",
    needs=(BackwardRan, ForwardRan, ModuleSeen, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_copy),
    good=(good, good_resting_model),
    tunables={
        "minimum_steps": Tunable(3, "fewest steps, the newest, in which parameters got no gradient", NO_BEGINNING)
    },
    folds=("AD203", "AD204", "AD220", "AD103", "AD104", "AD105", "AD111", "AD116"),
)
