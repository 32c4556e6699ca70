"""AD214 frozen-statistics-move: a normalisation is frozen, and its running statistics move all the same."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.connectivity import ModeSet
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.events.subjects import ModuleSeen, OptimizerBuilt, ParameterCopied, ParameterFrozen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.so_far import has_ended


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    taken_in = _taken_in(trace)
    for module in sorted({event.module for event in trace.of(ForwardRan)}):
        passes = [event for event in trace.of(ForwardRan) if event.module == module]
        seen = trace.modules.get(module)
        if seen is None or trace.moved_by_hand.intersection(seen.parameters):
            continue
        frozen, since = _frozen(trace, seen, passes)
        trained = [event for event in passes if event.step in taken_in and event.step >= since]
        moved = [event for event in trained if frozen.keys() & set(event.statistics_moved)]
        used = [event for event in moved if event.grad_enabled or _is_used(event, frozen, taken_in[event.step])]
        if frozen and len({event.step for event in used}) >= tunables["minimum_steps"]:
            yield _finding(trace, seen, frozen, used)


def _taken_in(trace: Trace) -> dict[int, set[int]]:
    """For each step with a backward that taught something, the parameters whose values went into its loss."""
    found: dict[int, set[int]] = {}
    for event in trace.of(BackwardRan):
        if event.wrote:
            found.setdefault(event.step, set()).update(set(event.values or ()) - set(event.guessed))
    return found


def _frozen(trace: Trace, seen: ModuleSeen, passes: list[ForwardRan]) -> tuple[dict[str, set[int]], int]:
    """Normalisations with statistics that moved, whose weights neither learn nor follow others that do, and since when.

    Those that learned before may learn again, unless the program came to its end.
    """
    moving = {name for event in passes for name in event.statistics_moved}
    rewritten = {name for event in passes for name in event.rewritten_norms}
    still = dict.fromkeys(trace.frozen - trace.connected, 0) | _frozen_later(trace)
    for copied in trace.of(ParameterCopied):
        still.pop(copied.parameter, None)
    owned = {name: _parameters(trace, seen, name) for name in sorted(moving - rewritten)}
    found = {name: own for name, own in owned.items() if own and own <= still.keys()}
    return found, max((still[parameter] for own in found.values() for parameter in own), default=0)


def _frozen_later(trace: Trace) -> dict[int, int]:
    """Parameters that were frozen for good once they had learned, with the steps that were taken before."""
    if not has_ended(trace):
        return {}
    learned = {parameter: event.step for event in trace.of(BackwardRan) for parameter in event.wrote}
    frozen = {event.parameter: event.step for event in trace.of(ParameterFrozen)}
    return {number: step for number, step in frozen.items() if number in learned and learned[number] < step}


def _is_used(event: ForwardRan, frozen: dict[str, set[int]], taken_in: set[int]) -> bool:
    """Whether a pass without gradients made what went into a loss, and moved statistics in doing so."""
    return any(name in event.statistics_moved and own <= taken_in for name, own in frozen.items())


def _parameters(trace: Trace, seen: ModuleSeen, norm: str) -> set[int]:
    return {parameter for parameter in seen.parameters if f".{norm}." in f".{trace.parameter_name(parameter)}"}


def _finding(trace: Trace, seen: ModuleSeen, frozen: dict[str, set[int]], passes: list[ForwardRan]) -> Finding:
    names = sorted(frozen)
    shown = ", ".join(f"`{name}`" for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    steps = len({event.step for event in passes})
    certain = all(event.grad_enabled for event in passes)
    whole = set(seen.parameters) <= trace.frozen - trace.connected
    are_new = all(frozen.keys() & set(event.statistics_moved) <= set(event.new_norms) for event in passes)
    return RULE.finding(
        f"the parameters of {shown} in `{trace.module_name(seen.module)}` are frozen, and the running "
        f"statistics moved in {steps} training steps",
        subject=names[0],
        location=passes[0].location,
        help="call `eval()` on the frozen part after `train()` on the model; leave it in train mode only if its "
        "statistics are to be those of the new data",
        severity="info" if are_new else None,
        confidence="low" if are_new else "medium" if whole or not certain else "high",
        notes=(
            "they began with a scale of one, a shift of zero and no statistics: nothing was learned or loaded before "
            "that could drift away. If they are to normalise and no more, as with `affine=False`, it is right",
        )
        if are_new
        else (),
        evidence={"statistics_moved": names[:20], "number_of_normalisations": len(names), "steps": steps},
        related=_switched(trace, seen, passes[0]),
        step_first=passes[0].step + 1,
        step_count=steps,
    )


def _switched(trace: Trace, seen: ModuleSeen, first: ForwardRan) -> tuple[Related, ...]:
    """The call that put the module into train mode before, which takes the frozen part along."""
    calls = [e for e in trace.of(ModeSet) if e.module == seen.module and e.training and e.step <= first.step]
    where = calls[-1].location if calls else None
    return (Related("`train()` puts the frozen part into train mode as well", where),) if where is not None else ()


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
    model = nn.Sequential(backbone, nn.Linear(16, 1))
    backbone.requires_grad_(False)
    optimizer = torch.optim.SGD(model[1].parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6) + 1
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))  # <- AD214
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_second_stage() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
    first, second = nn.Linear(16, 1), nn.Linear(16, 2)
    optimizer = torch.optim.SGD([*backbone.parameters(), *first.parameters()], lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(first(backbone(x)), x.sum(1, keepdim=True)).backward()
        optimizer.step()
    backbone.requires_grad_(False)
    optimizer = torch.optim.SGD(second.parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6) + 1
        loss = nn.functional.mse_loss(second(backbone(x)), x[:, :2])  # <- AD214
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_without_gradients() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
    head = nn.Linear(16, 1)
    backbone.requires_grad_(False)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6) + 1
        with torch.no_grad():
            features = backbone(x)  # <- AD214
        optimizer.zero_grad()
        nn.functional.mse_loss(head(features), x.sum(1, keepdim=True)).backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
    model = nn.Sequential(backbone, nn.Linear(16, 1))
    backbone.requires_grad_(False)
    optimizer = torch.optim.SGD(model[1].parameters(), lr=0.05)
    for _ in range(8):
        model.train()
        backbone.eval()
        x = torch.randn(32, 6) + 1
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()


def good_second_stage() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
    first, second = nn.Linear(16, 1), nn.Linear(16, 2)
    optimizer = torch.optim.SGD([*backbone.parameters(), *first.parameters()], lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(first(backbone(x)), x.sum(1, keepdim=True)).backward()
        optimizer.step()
    backbone.requires_grad_(False).eval()
    optimizer = torch.optim.SGD(second.parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 6) + 1
        optimizer.zero_grad()
        nn.functional.mse_loss(second(backbone(x)), x[:, :2]).backward()
        optimizer.step()


def good_turns() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    of_generator = torch.optim.Adam(generator.parameters(), lr=0.001)
    of_critic = torch.optim.Adam(critic.parameters(), lr=0.001)
    loss_of = nn.functional.binary_cross_entropy_with_logits
    for turn in range(6):
        critic.requires_grad_(turn % 2 == 0)
        for _ in range(4):
            fake = generator(torch.randn(16, 4))
            if turn % 2:
                of_generator.zero_grad()
                loss_of(critic(fake), torch.ones(16, 1)).backward()
                of_generator.step()
                continue
            of_critic.zero_grad()
            real = loss_of(critic(torch.randn(16, 2)), torch.ones(16, 1))
            (real + loss_of(critic(fake.detach()), torch.zeros(16, 1))).backward()
            of_critic.step()


RULE = Rule(
    code="AD214",
    name="frozen-statistics-move",
    severity="warning",
    title="a frozen normalisation keeps changing its statistics",
    observes="Batch-norms all of whose parameters are frozen, with the same values at every look, whose running "
    "statistics moved in training passes, or in passes without gradients whose output went into a loss that trains.",
    why="`requires_grad_(False)` stops the weights, not the statistics: the frozen part goes on changing with the "
    "data, and the result in eval mode drifts away from what was loaded.",
    fix="Put the frozen part in eval mode, after each `train()` of the whole model.",
    fine="Statistics adapted on purpose outside of training steps, teachers that are updated by hand or follow what is "
    "trained, as momentum encoders do, and batch-norm without running statistics. Those that were frozen as they are "
    "built, into which nothing was loaded, may be there to normalise and no more, as in features that are random: an "
    "`info`. Statistics that are adapted to new data while a head is trained look like the slip, and are told of.",
    needs=(
        ForwardRan,
        ModeSet,
        ModuleSeen,
        BackwardRan,
        OptimizerBuilt,
        OptimizerStepped,
        ParameterCopied,
        ParameterFrozen,
    ),
    examine=examine,
    bad=(bad_second_stage, bad, bad_without_gradients),
    good=(good_second_stage, good, good_turns),
    tunables={"minimum_steps": Tunable(2, "fewest training steps in which the statistics moved", MORE_THAN_ONCE)},
)
