"""AD514 statement-without-effect: a result is thrown away, or a copy is changed that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.errors import StatementIdle
from autograd_doctor.findings import Evidence, Finding, Location, Related
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    lines: dict[Location | None, list[StatementIdle]] = {}
    for event in trace.of(StatementIdle):
        lines.setdefault(event.location, []).append(event)
    for events in lines.values():
        first = events[0]
        if not first.copied_by and len({event.step for event in events}) < tunables["steps"]:
            continue
        evidence: Evidence = {"elements": first.elements}
        if first.copied_by:
            evidence["copied_by"] = first.attribute or first.copied_by
        message, change = _lost(trace, first) if first.copied_by else _dropped(first)
        yield RULE.finding(
            message,
            subject=first.operation,
            location=first.location,
            help=change,
            evidence=evidence,
            parameters=first.parameters,
            related=(Related("writes to it", first.written_at),) if first.written_at else (),
            step_first=first.step + 1,
        )


def _dropped(idle: StatementIdle) -> tuple[str, str]:
    """What was computed for nothing, and the change to make."""
    result = plural(idle.elements, "value")
    message = f"nothing keeps the {result} that `{idle.operation}` returns: the statement has no effect"
    return message, "assign the result, as in `x = …`, or take the statement out"


def _lost(trace: Trace, idle: StatementIdle) -> tuple[str, str]:
    """What was written to, and the change to make."""
    copy, change = _copy(trace, idle)
    message = f"`{idle.operation}` writes {plural(idle.elements, 'value')} to {copy}, and nothing reads that afterwards"
    return f"{message}: the statement has no effect", change


def _copy(trace: Trace, idle: StatementIdle) -> tuple[str, str]:
    if idle.attribute:
        change = "before the parametrization is registered, or assign to it"
        return f"what `.{idle.attribute}` computes whenever it is read", f"set `.{idle.attribute}` {change}"
    of = f" of `{trace.parameter_name(idle.parameters[0])}`" if len(idle.parameters) == 1 else ""
    if idle.copied_by == "__getitem__":
        change = "index once, in the assignment, as in `x[rows, 0] = 0`, or put the result back: `x[rows] = …`"
        return f"the copy{of} that an index by a mask, a list or a tensor makes", change
    change = f"change the tensor itself, or go on with the result: `{idle.copied_by}` has made a new tensor here"
    return f"the copy{of} that `{idle.copied_by}` makes", change


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding = nn.Embedding(20, 8)
    added = [17, 18, 19]
    nn.init.zeros_(embedding.weight.data[added])  # <- AD514
    model = nn.Sequential(embedding, nn.Flatten(), nn.Linear(4 * 8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(10):
        tokens = torch.randint(20, (16, 4))
        loss = nn.functional.cross_entropy(model(tokens), tokens[:, 0] % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_two_indices() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(3, 4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(10):
        images = torch.rand(8, 3, 6, 6)
        labels = images.argmax(1)
        labels[images[:, 0] > 0.9][:2] = -100  # <- AD514
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_mask_that_is_not_kept() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, value = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)
    parameters = [*query.parameters(), *key.parameters(), *value.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    for _ in range(10):
        x = torch.randn(8, 5, 6)
        later = torch.ones(5, 5, dtype=torch.bool).triu(1)
        scores = query(x) @ key(x).transpose(1, 2) / 6**0.5
        scores.masked_fill(later, float("-inf"))  # <- AD514
        loss = nn.functional.mse_loss(scores.softmax(-1) @ value(x), x.cumsum(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_activation_that_is_not_kept() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = nn.Linear(8, 32)
            self.out = nn.Linear(32, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.hidden(x)
            torch.relu(x)  # <- AD514
            value: torch.Tensor = self.out(x)
            return value

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(32, 8)
        loss = nn.functional.mse_loss(model(x), x.abs().mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding = nn.Embedding(20, 8)
    added = [17, 18, 19]
    embedding.weight.data[added] = 0.0
    nn.init.zeros_(embedding.weight.data[17:])
    embedding.weight.data[added] += 0.01
    model = nn.Sequential(embedding, nn.Flatten(), nn.Linear(4 * 8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(10):
        tokens = torch.randint(20, (16, 4))
        loss = nn.functional.cross_entropy(model(tokens), tokens[:, 0] % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_copies_that_are_used() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 6)
        rows = x[x[:, 0] > -1]
        rows[:, 0] = 0
        (chosen := x[[0, 3, 5]]).mul_(2)
        x = torch.cat([rows, chosen, x.clone().clamp_(-1, 1), x.double().neg_().float()])
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        model.weight.grad.to(torch.float32).clamp_(-1, 1)  # type: ignore[union-attr]  # no copy: it is of that type
        optimizer.step()


def good_nothing_but_random_numbers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.empty_like(model.weight).normal_()  # as many numbers as another initialisation would draw
    torch.ones(4).double().add_(1)  # a warm-up
    for _ in range(10):
        x = torch.randn(16, 6)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD514",
    name="statement-without-effect",
    severity="warning",
    title="a statement computes a result, or changes a copy, that nothing keeps",
    observes="In steps that are looked at closely, and before the first. Results that a statement of the program's own "
    "throws away, in at least 2 steps: of arithmetic and functions element by element, masks, conversions, changes of "
    "shape, `detach`. And operations in place, functions of `torch.nn.init`, functions of the program and assignments "
    "to an index, whose target was copied in the same statement, or is a local variable that nothing else reads. That "
    "nothing is kept is told by the instructions of the statement; the memory of a copy without a name must be gone "
    "when the next operation comes, and that of what it was made from still be there.",
    why="`scores.masked_fill(mask, -inf)` returns new scores and leaves the old ones as they were. An index by a mask, "
    "a list or a tensor copies, so that `x[mask][0] = 1` changes a copy of `x`. So do `.to()`, `.float()`, "
    "`.reshape()` and the like where they have something to do, and a parametrized weight is computed whenever it is "
    "read.",
    fix="Assign the result, or use the operation in place; index once, in the assignment; set weights before they are "
    "parametrized, or by assignment.",
    fine="Results that get a name, even `_`, are handed on, or are part of a larger expression; copies that are read "
    "under their name; views, as slices and single numbers give, that are changed in place; conversions that have "
    "nothing to do and return the tensor itself; products of matrices, convolutions and reductions, which may be "
    "timed; random numbers; numbers that are asked for; calls of modules; work on what nobody uses any more, as in a "
    "warm-up; empty choices. Variables of a module count as read. Long work on data before any parameter is used is "
    "not looked at.",
    needs=(StatementIdle,),
    folds=("AD610",),
    examine=examine,
    bad=(bad, bad_two_indices, bad_mask_that_is_not_kept, bad_activation_that_is_not_kept),
    good=(good, good_copies_that_are_used, good_nothing_but_random_numbers),
    tunables={"steps": Tunable(2, "fewest steps in which a result is thrown away", MORE_THAN_ONCE)},
    references=(
        "https://docs.pytorch.org/docs/stable/tensor_view.html",
        "https://numpy.org/doc/stable/user/basics.indexing.html#advanced-indexing",
    ),
)
