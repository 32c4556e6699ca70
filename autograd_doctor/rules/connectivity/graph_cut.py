"""AD202 graph-cut: parameters whose values reach the loss, but whose gradients do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BackwardRan, Cut, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.tape import Op
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import missed_by, seen_first
from autograd_doctor.views.crash import lacks_graph
from autograd_doctor.views.cut_states import CutState, cut_states
from autograd_doctor.views.cuts import called, help_for
from autograd_doctor.views.so_far import may_be_undone
from autograd_doctor.views.tapes import Seen, seen_in_steps

_TEACH_IT = (
    "a straight-through estimator gives its gradient to the way around: put no more than the choice inside it, or "
    "teach {} by a term on what was chosen, such as `mse_loss(chosen, x.detach())`"
)


@dataclass
class _Found:
    """One place that cuts, the parameters that it deprives, and the backwards in which it did.

    `guessed`: it was not seen to in any of them.
    """

    cut: Cut
    guessed: bool = True
    parameters: set[int] = field(default_factory=set)
    backwards: list[BackwardRan] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    others: dict[Location, Cut] = field(default_factory=dict)


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    found: dict[tuple[str, Location | None], _Found] = {}
    teaches = _parameters_stepped_after(trace)
    taught = {
        p
        for number, held in teaches.items()
        for cut in trace.backwards[number].cuts
        for p in held.intersection(cut.parameters)
    }
    for backward in trace.of(BackwardRan):
        if backward.rewrapped_at is None and (backward.kind == "backward" or lacks_graph(backward)):
            _gather(trace, backward, taught - teaches.get(backward.backward, frozenset()), found)
    for one in found.values():
        yield _finding(trace, one)
    told = set[frozenset[int]]()
    for seen in seen_in_steps(trace, cut_states, tunables["steps"]):
        parameters = frozenset(seen.found.parameters)
        if parameters <= trace.optimized and parameters not in told:  # a cell may hand on two states
            told.add(parameters)
            yield _cut_state(trace, seen)


def _parameters_stepped_after(trace: Trace) -> dict[int, frozenset[int]]:
    """Per backward, the parameters of the optimizers that stepped right after it: those that its loss is to teach."""
    stepped: dict[int, frozenset[int]] = {}
    latest: int | None = None
    for event in trace.events:
        if isinstance(event, BackwardRan):
            latest = event.backward
        elif isinstance(event, OptimizerStepped) and latest is not None and event.optimizer is not None:
            held = trace.optimizer_parameters.get(event.optimizer, frozenset())
            stepped[latest] = stepped.get(latest, frozenset()) | held
    return stepped


def _gather(
    trace: Trace, backward: BackwardRan, others: set[int], found: dict[tuple[str, Location | None], _Found]
) -> None:
    """Blame each parameter that was missed on the first operation that cut it; later ones on its way are only related.

    `others` are the parameters that another loss is to teach, as a generator's where a discriminator learns.
    """
    first: _Found | None = None
    blamed: set[int] = set()
    for cut in seen_first(cut for cut in backward.cuts if cut.reason != "grad-mode"):
        lost = _lost(trace, backward, cut) - others
        if lost - blamed:
            first = found.setdefault((cut.operation, cut.location), _Found(cut))
            first.guessed &= cut.guessed
            first.parameters |= lost - blamed
            first.backwards.append(backward)
            first.cuts.append(cut)
            blamed |= lost
        elif lost and first is not None and cut.location is not None and cut.location != first.cut.location:
            first.others[cut.location] = cut


def _lost(trace: Trace, backward: BackwardRan, cut: Cut) -> set[int]:
    if cut.reason == "zero-derivative" and not lacks_graph(backward):
        norms = trace.gradient_norms
        return {p for p in cut.parameters if p in norms and not any(norms[p]) and p not in trace.frozen}
    return set(missed_by(trace, backward, cut.parameters) & _still_used(trace, backward))


def _still_used(trace: Trace, backward: BackwardRan) -> frozenset[int]:
    """Parameters of the newest such backward: one that was replaced on the way (a codebook kept by hand) is not cut.

    One that comes first after light steps may lack what these made, as the samples of a generator.
    """
    traced = [event for event in trace.of(BackwardRan) if event.location == backward.location and event.values]
    whole = [event for event in traced if event.step not in trace.woken] or traced
    return frozenset(whole[-1].values or ()) if whole else frozenset(p for c in backward.cuts for p in c.parameters)


def _finding(trace: Trace, one: _Found) -> Finding:
    cut, first, parameters = one.cut, one.backwards[0], sorted(one.parameters)
    names = trace.parameter_names(parameters)
    what = f"`{cut.tensor}`" if cut.tensor else "the values"
    if cut.reason == "zero-derivative":
        message = f"`{cut.operation}` has derivative zero everywhere, so the gradients of {names} are exactly zero"
    else:
        message = (
            f"{called(cut.operation)} passes on {what} without the graph, so no gradient of the loss reaches {names}"
        )
    is_late = trace.left_behind.keys() >= one.parameters
    notes = ["an earlier stage of the run made them learn; the optimizer that steps now holds them as well"] * is_late
    if first.error:
        notes.append(f"the backward failed: {first.error}")
    related = [Related(f"`{other.operation}` here drops the graph too", place) for place, other in one.others.items()]
    if first.location is not None:
        related.append(Related("this backward does not reach them", first.location))
    straight_through = _goes_straight_through(trace, cut)
    return RULE.finding(
        message,
        subject=cut.tensor or trace.parameter_name(parameters[0]),
        location=cut.location or first.location,
        severity="warning" if is_late else None,
        guessed=one.guessed,
        so_far=not lacks_graph(first) and may_be_undone(trace, one.cuts),
        help=_TEACH_IT.format(names) if straight_through else help_for(cut),
        evidence={
            "operation": cut.operation,
            **({"straight_through": True} if straight_through else {}),
            "parameters_without_gradient": [trace.parameter_name(parameter) for parameter in parameters[:20]],
            "number_of_parameters": len(parameters),
            "backwards": len(one.backwards),
        },
        related=tuple(related),
        notes=tuple(notes),
        step_first=first.step + 1,
        step_count=len(one.backwards),
        parameters=parameters,
    )


def _goes_straight_through(trace: Trace, cut: Cut) -> bool:
    """Whether it is the one of `x + (y - x).detach()`, which gives the value of `y` and the gradient of `x`."""
    ops = (op for tape in trace.tapes for op in tape.named("detach") if op.location == cut.location)
    return any(_joins_again(op) for op in ops)


def _joins_again(detached: Op) -> bool:
    by = detached.values[0].by
    if by is None or by.name != "sub" or len(by.values) != 2:
        return False
    return any(use.name == "add" and by.values[1] in use.values for use in detached.output.uses)


def _cut_state(trace: Trace, seen: Seen[CutState]) -> Finding:
    """A warning: who learns online may want it, and would go backward at each step."""
    parameters = seen.found.parameters
    return RULE.finding(
        f"the state of a window is cut after each of its {seen.found.steps} steps, and all of them go backward as one: "
        f"{trace.parameter_names(parameters)} learn nothing of what is more than one step back",
        subject=trace.parameter_name(parameters[0]),
        location=seen.location,
        severity="warning",
        confidence="medium",
        help="cut the state once for each window, before its first step; if it is to learn from single steps, go "
        "backward at each of them, which keeps one graph at a time",
        evidence={"steps_of_the_window": seen.found.steps, "number_of_parameters": len(parameters)},
        step_first=seen.step + 1,
        step_count=seen.steps,
        parameters=parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head = nn.Sequential(nn.Linear(6, 8), nn.Tanh()), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True).tanh()
    for _ in range(8):
        features = encoder(x).detach()  # <- AD202
        loss = nn.functional.mse_loss(head(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_generator() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(4, 6), nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=0.01)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    judge = nn.functional.binary_cross_entropy_with_logits
    for _ in range(8):
        fake, real = generator(torch.randn(16, 4)), torch.rand(16, 6)
        generator_optimizer.zero_grad()
        judge(critic(fake.detach()), torch.ones(16, 1)).backward()  # <- AD202
        generator_optimizer.step()
        critic_optimizer.zero_grad()
        verdict = judge(critic(real), torch.ones(16, 1)) + judge(critic(fake.detach()), torch.zeros(16, 1))
        verdict.backward()
        critic_optimizer.step()


def bad_data() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Linear(6, 8)
            self.head = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = torch.relu(self.encoder(x))
            hidden = hidden.data / hidden.norm(dim=1, keepdim=True).clamp_min(1e-6).data  # <- AD202
            return self.head(hidden)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(32, 6)
    y = x[:, :1].sin()
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def bad_state() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(4, 16), nn.Linear(16, 4)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(10):
        heard = torch.randint(4, (12, 32))
        state, loss = torch.zeros(32, 16), torch.zeros(())
        for now, before in zip(heard[2:], heard, strict=False):
            state = cell(nn.functional.one_hot(now, 4).float(), state.detach())  # <- AD202
            loss = loss + nn.functional.cross_entropy(head(state), before)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head = nn.Sequential(nn.Linear(6, 8), nn.Tanh()), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.05)
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True).tanh()
    history = []
    for _ in range(8):
        loss = nn.functional.mse_loss(head(encoder(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())


def good_byol() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    online = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
    predictor = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=0.01)
    x = torch.randn(64, 6)
    for _ in range(10):
        one, two = (x + 0.1 * torch.randn_like(x) for _ in range(2))
        prediction = predictor(online(one))
        loss = 1 - nn.functional.cosine_similarity(prediction, target(two).detach(), dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
                slow.lerp_(fast, 0.01)


def good_straight_through() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    x = torch.randn(64, 6)
    for _ in range(10):
        soft = 4 * torch.tanh(encoder(x))
        code = soft + (soft.round() - soft).detach()
        loss = nn.functional.mse_loss(decoder(code), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD202",
    name="graph-cut",
    severity="error",
    title="an operation cut parameters off from the loss",
    observes="Parameters of an optimizer whose values flow into the loss while no backward of the run reaches them, "
    "and the operation that dropped their graph. Rounding counts as one: it keeps the graph, with gradients of zero. "
    "Or the state of a window of steps, cut after each of them, while the loss of all goes backward as one.",
    why="The loss falls a little, because what lies behind the cut still learns, and the parameters before it stay as "
    "they were initialised. Nothing crashes unless everything was cut.",
    fix="Keep the computation in the graph: remove `detach` or `.data`, stay with tensors instead of numbers and NumPy "
    "arrays, build losses on scores instead of decisions, use straight-through estimators for rounding.",
    fine="A stop-gradient that leaves every optimized parameter another path is how BYOL, VQ-VAE, TD learning, GANs "
    "and truncated backpropagation work, and is not reported. Neither are parameters that no optimizer holds. What a "
    "condition leads to, as in a warm-up, is a warning until the program has ended.",
    needs=(BackwardRan, OptimizerBuilt, OptimizerStepped, ForwardRan, RunEnded, TapeSealed),
    examine=examine,
    bad=(bad, bad_generator, bad_data, bad_state),
    good=(good, good_byol, good_straight_through),
    tunables={"steps": Tunable(2, "fewest steps whose state was cut in each of its times", MORE_THAN_ONCE)},
    folds=("AD410", "AD203", "AD103", "AD104", "AD111", "AD506", "AD599", "AD116", "AD216", "AD217"),
)
