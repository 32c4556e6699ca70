"""AD416 non-finite-evaluation: what an evaluation says of the model is NaN or Inf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.numerics import EvaluationSpoiled, NonFiniteInput, NonFiniteProduced
from autograd_doctor.events.steps import NonFiniteGradient
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.births import IMPORTS, described_operands, kinds_of, origins, reason_and_help, rows
from autograd_doctor.views.losses import elsewhere


class _Cause(NamedTuple):
    """What spoiled the numbers, in words. facts: of what was spoiled first."""

    said: str
    facts: TensorFacts
    subject: str
    help: str
    notes: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    """Weights that are spoiled spoil evaluations, too: then that is what there is to tell."""
    told = set()
    for event in () if trace.tells_first_cause else trace.of(EvaluationSpoiled):
        is_enough = not event.counted or event.evaluations >= tunables["counted"]
        if is_enough and event.born.location not in told:
            told.add(event.born.location)
            yield _finding(event)


def _finding(event: EvaluationSpoiled) -> Finding:
    born = event.born
    cause = _made(born) if isinstance(born, NonFiniteProduced) and born.operation not in IMPORTS else _came_in(born)
    return RULE.finding(
        f"{cause.said}; what the program reads of it is not finite in {_how_often(event)}",
        subject=cause.subject,
        location=born.location,
        severity=None if _is_sure(event) else "info",
        help=cause.help,
        evidence={
            "evaluations": event.evaluations,
            "evaluations_not_finite": event.spoiled,
            "nan_values": cause.facts.nan,
            "inf_values": cause.facts.inf,
            **rows(born),
        },
        related=(*elsewhere("it is read here", event.read_at, born.location), *cause.related),
        notes=cause.notes,
        step_first=born.step + 1,
        step_count=event.spoiled,
    )


def _is_sure(event: EvaluationSpoiled) -> bool:
    """Whether it is NaN to the end, again and again: Inf is a number, which may be meant, nothing need be in a group of
    samples, or vary there, and what is tried out once, when training is over, tells the person what it tells."""
    is_again = event.evaluations > 1 or event.in_training
    operands = getattr(event.born, "operands", ())
    is_empty = any(operand.numel == 0 for operand in operands)
    is_nothing_by_nothing = bool(operands) and all(each.low == each.high == 0 for each in operands)
    is_of_a_group = is_empty or (event.partly and is_nothing_by_nothing)
    return event.lasts and event.nan and is_again and not is_of_a_group


def _how_often(event: EvaluationSpoiled) -> str:
    if event.spoiled < event.evaluations:
        return f"{event.spoiled} of {event.evaluations} evaluations"
    few = {1: "the one evaluation that was seen", 2: "both evaluations that were seen"}
    return few.get(event.evaluations, f"all {event.evaluations} evaluations")


def _made(born: NonFiniteProduced) -> _Cause:
    given = described_operands(born)
    reason, help = reason_and_help(born.operation)
    return _Cause(
        f"`{born.operation}` makes {kinds_of(born.output)} out of finite values{f' ({given})' if given else ''}",
        born.output,
        born.output.name or born.operation,
        help or "bound the inputs of the operation, and check the rows named here",
        notes=(reason,) if reason else (),
        related=origins(born),
    )


def _came_in(born: NonFiniteProduced | NonFiniteInput) -> _Cause:
    """With the data of the evaluation."""
    facts = born.tensor if isinstance(born, NonFiniteInput) else born.output
    name = f"`{facts.name}`" if facts.name else f"of shape {facts.shape}"
    return _Cause(
        f"the tensor {name} holds {kinds_of(facts)} before any operation has changed it",
        facts,
        facts.name or "input",
        "check these samples of the evaluation set: drop, repair or mask them",
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 20))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    token = torch.randint(0, 20, (128, 6))
    held_out, length = torch.randint(0, 20, (32, 6)), torch.arange(32) % 7
    for epoch in range(4):
        for chosen in torch.randperm(128).split(16):
            scores = model(token[chosen]).flatten(0, 1)
            optimizer.zero_grad()
            nn.functional.cross_entropy(scores, (token[chosen] + 1).flatten() % 20).backward()
            optimizer.step()
        with torch.no_grad():
            loss = nn.functional.cross_entropy(model(held_out).mT, (held_out + 1) % 20, reduction="none")
            loss = loss * (torch.arange(6) < length.unsqueeze(1))
            loss = (loss.sum(1) / length).mean()  # <- AD416
        print(epoch, loss.item())


def bad_data() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(64, 4)
    sensors = [*torch.randn(32, 4)]
    sensors[9] = torch.tensor([0.2, float("nan"), 0.1, -0.4])  # <- AD416
    held_out = torch.utils.data.TensorDataset(torch.stack(sensors))
    for _ in range(4):
        for chosen in torch.randperm(64).split(8):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x[chosen]), x[chosen].sum(1, keepdim=True)).backward()
            optimizer.step()
        model.eval()
        with torch.inference_mode():
            loader = torch.utils.data.DataLoader(held_out, batch_size=8)
            errors = [nn.functional.l1_loss(model(batch), batch.sum(1, keepdim=True)) for (batch,) in loader]
        model.train()
        print(f"error {torch.stack(errors).mean():.3f}")


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x, held_out = torch.randn(128, 8), torch.randn(32, 8)
    label, held_out_label = x[:, :3].argmax(1), held_out[:, :3].argmax(1)
    for _ in range(4):
        for chosen in torch.randperm(128).split(16):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[chosen]), label[chosen]).backward()
            optimizer.step()
        with torch.no_grad():
            scores = model(held_out)
        hits = (scores.argmax(1) == held_out_label).float()
        by_class = torch.stack([hits[held_out_label == each].mean() for each in range(4)])
        print([f"{accuracy.item():.2f}" for accuracy in by_class], by_class.nanmean().item())


RULE = Rule(
    code="AD416",
    name="non-finite-evaluation",
    severity="warning",
    title="an evaluation gives NaN or Inf",
    observes="A number that the program reads after a forward without gradients, computed of what the model returned, "
    "is NaN to the last evaluation, while training is finite; with the operation that made it so, its operands and "
    "rows, or the data that brought it.",
    why="One such value spoils the mean over the whole set. NaN is neither better nor worse than any number: the best "
    "checkpoint is never replaced, early stopping never stops, and a plateau is never seen.",
    fix="Keep the operation from values that it has no result for, or repair the sample.",
    fine="Shares of what is counted, such as the accuracy of a class without a sample, if some read at the line are "
    "numbers; NaN for some of several groups of one forward; NaN that `nanmean` leaves out. Inf, what is finite by the "
    "end, what is read once when training is over, the mean of nothing, and nothing by nothing for some of several "
    "groups get an info.",
    needs=(EvaluationSpoiled, NonFiniteProduced, NonFiniteInput, NonFiniteGradient),
    examine=examine,
    bad=(bad, bad_data),
    good=(good,),
    tunables={
        "counted": Tunable(
            3,
            "fewest evaluations in which what is counted was never a number",
            "chosen: the first may come before there is anything to count",
        )
    },
    needs_phases=(),
)
