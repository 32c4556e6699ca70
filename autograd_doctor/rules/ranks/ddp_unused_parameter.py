"""AD904: a step left out parameters that `DistributedDataParallel` waits for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autograd_doctor.events.replicas import ModelWrapped
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.steps import BackwardRan, ForwardRan
from autograd_doctor.events.subjects import ModuleSeen, ParameterSeen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import Crash, died_of
from autograd_doctor.views.so_far import has_ended
from autograd_doctor.wording import plural

_INDICES = re.compile(r"Parameter indices which did not receive grad for rank \d+: ([\d ]+)")


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    crash = died_of(trace, "unfinished_reduction")
    if crash is not None:
        yield _waits(trace, crash)
        return
    for wrapped in trace.of(ModelWrapped):
        steps = _with_gradients(trace, wrapped.reduced)
        if wrapped.finds_unused and len(steps) >= tunables["minimum_steps"] and _finds_none(trace, wrapped):
            yield _looks_in_vain(trace, wrapped, len(steps))


def _waits(trace: Trace, crash: Crash) -> Finding:
    left_out = _left_out(trace, crash)
    before = len(_with_gradients(trace, left_out))
    names = trace.parameter_names(left_out) if left_out else "a parameter of the wrapped model"
    gradients = "their gradients" if len(left_out) > 1 else "its gradient"
    had_made = f", which came in {plural(before, 'recorded step')} before it" if before else ""
    made_at = trace.parameters[left_out[0]].registered_at if left_out else None
    return RULE.finding(
        f"{names} took no part in the loss of the step before, and `DistributedDataParallel` still waits for "
        f"{gradients}{had_made}",
        subject=trace.parameters[left_out[0]].name if left_out else "",
        location=crash.location,
        help=_help(before > 0),
        evidence={"parameters_without_gradient": len(left_out), "recorded_steps_with_their_gradient": before},
        related=(Related(f"{trace.parameter_names(left_out[:1])} was made here", made_at),) if made_at else (),
        step_first=crash.step_first,
        step_count=1,
        parameters=left_out,
    )


def _left_out(trace: Trace, crash: Crash) -> list[int]:
    """Those that torch counts, or that the last backward did not write to; none where nobody knows of which model."""
    found = _INDICES.search(crash.raised.message)
    numbers = _counted(trace, crash, found[1].split()) if found else _unwritten(trace, crash)
    return [number for number in numbers if number in trace.parameters]


def _counted(trace: Trace, crash: Crash, indices: list[str]) -> list[int]:
    """In the model that this line calls."""
    called = {forward.module for forward in trace.of(ForwardRan) if forward.location == crash.location}
    held = {p for module in trace.of(ModuleSeen) if module.module in called for p in module.parameters}
    wrapped = [each.reduced for each in trace.of(ModelWrapped) if {*each.reduced} <= held]
    return [wrapped[0][int(at)] for at in indices if int(at) < len(wrapped[0])] if len(wrapped) == 1 else []


def _unwritten(trace: Trace, crash: Crash) -> list[int]:
    """A framework may have put its own words in the place of torch's."""
    last = next((each for each in reversed(trace.of(BackwardRan)) if each.step + 1 >= crash.raised.step), None)
    wrote = {*last.wrote} if last else set[int]()
    wrapped = [each.reduced for each in trace.of(ModelWrapped) if wrote & {*each.reduced}]
    return [number for number in wrapped[0] if number not in wrote] if len(wrapped) == 1 else []


def _with_gradients(trace: Trace, parameters: list[int]) -> set[int]:
    """The steps of which a backward was recorded that wrote all of these gradients."""
    wrote = (each for each in trace.of(BackwardRan) if parameters and {*parameters} <= {*each.wrote})
    return {each.step for each in wrote}


def _finds_none(trace: Trace, wrapped: ModelWrapped) -> bool:
    """Whether nothing was left out to the end, in any backward through the model."""
    reduced = {*wrapped.reduced}
    through = [each for each in trace.of(BackwardRan) if reduced & {*each.wrote}]
    return has_ended(trace) and all(reduced <= {*each.wrote} for each in through)


def _looks_in_vain(trace: Trace, wrapped: ModelWrapped, steps: int) -> Finding:
    return RULE.finding(
        f"every parameter got its gradient in each of {plural(steps, 'recorded step')}: looking for unused ones costs "
        "a walk through the graph in every step",
        severity="info",
        subject=trace.parameters[wrapped.reduced[0]].name,
        location=wrapped.location,
        help="leave out `find_unused_parameters=True`",
        evidence={"parameters": len(wrapped.reduced), "recorded_steps": steps},
        step_count=steps,
    )


def _help(used_before: bool) -> str:
    if used_before:
        return "wrap the model with `find_unused_parameters=True`, since some steps take another branch"
    return (
        "remove what no loss depends on, or freeze it before the model is wrapped; if other steps use it, wrap the "
        "model with `find_unused_parameters=True`"
    )


def bad() -> None:
    import tempfile

    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(8, 16)
            self.head = nn.Linear(16, 1)
            self.auxiliary = nn.Linear(16, 4)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            features = torch.tanh(self.body(x))
            return self.head(features), self.auxiliary(features)

    with tempfile.TemporaryDirectory() as meeting:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=0, world_size=1)
        torch.manual_seed(0)
        model = DistributedDataParallel(Tagger())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(10):
            x = torch.randn(16, 8)
            prediction, _ = model(x)  # <- AD904
            optimizer.zero_grad()
            nn.functional.mse_loss(prediction, x.sum(1, keepdim=True)).backward()
            optimizer.step()
        dist.destroy_process_group()


def bad_looks_in_vain() -> None:
    import tempfile

    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    with tempfile.TemporaryDirectory() as meeting:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=0, world_size=1)
        torch.manual_seed(0)
        model = DistributedDataParallel(nn.Linear(8, 1), find_unused_parameters=True)  # <- AD904
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            x = torch.randn(16, 8)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
        dist.destroy_process_group()


def good() -> None:
    import tempfile

    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(8, 16)
            self.sums = nn.Linear(16, 1)
            self.means = nn.Linear(16, 1)

        def forward(self, x: torch.Tensor, of_sums: bool) -> torch.Tensor:
            features = torch.tanh(self.body(x))
            result: torch.Tensor = (self.sums if of_sums else self.means)(features)
            return result

    with tempfile.TemporaryDirectory() as meeting:
        dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=0, world_size=1)
        torch.manual_seed(0)
        model = DistributedDataParallel(Tagger(), find_unused_parameters=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(20):
            x = torch.randn(16, 8)
            of_sums = step % 2 == 0
            wanted = x.sum(1, keepdim=True) if of_sums else x.mean(1, keepdim=True)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x, of_sums), wanted).backward()
            optimizer.step()
        dist.destroy_process_group()


RULE = Rule(
    code="AD904",
    name="ddp-unused-parameter",
    severity="error",
    title="`DistributedDataParallel` waits for gradients that a step does not make",
    observes="The parameters of the wrapped model that got no gradient in the step before the exception, as torch "
    "names them, and in how many recorded steps they had one. Where `find_unused_parameters=True` finds none in any "
    "step, that is said as info.",
    why="The wrapper averages gradients as they arrive, and has finished a step only when each parameter has one: "
    "the next forward raises, or another rank waits.",
    fix="Let every parameter that learns take part in each step, or wrap the model with `find_unused_parameters=True`.",
    fine="Branches that take turns under `find_unused_parameters=True`, and layers that were frozen before the model "
    "was wrapped.",
    needs=(BackwardRan, ForwardRan, ModelWrapped, ModuleSeen, ParameterSeen, ProgramRaised),
    examine=examine,
    bad=(bad, bad_looks_in_vain),
    good=(good,),
    tunables={"minimum_steps": Tunable(10, "fewest recorded steps in which nothing was unused", NO_BEGINNING)},
    folds=("AD599",),
    about="loop",
)
