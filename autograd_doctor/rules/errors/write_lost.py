"""AD514 write-lost: an operation in place changes a copy that nothing keeps, and not what was copied."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.errors import WriteLost
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    lines: dict[Location | None, list[WriteLost]] = {}
    for event in trace.of(WriteLost):
        lines.setdefault(event.location, []).append(event)
    for events in lines.values():
        first = events[0]
        copy, change = _copy(trace, first)
        yield RULE.finding(
            f"`{first.operation}` writes {plural(first.elements, 'value')} to {copy}, and nothing reads that "
            "afterwards: the statement has no effect",
            subject=first.operation,
            location=first.location,
            help=change,
            evidence={"elements": first.elements, "copied_by": first.attribute or first.copied_by},
            parameters=first.parameters if len(first.parameters) == 1 else (),
            related=(Related("writes to it", first.written_at),) if first.written_at else (),
            step_first=first.step + 1,
        )


def _copy(trace: Trace, lost: WriteLost) -> tuple[str, str]:
    """What was written to, and the change to make."""
    if lost.attribute:
        change = "before the parametrization is registered, or assign to it"
        return f"what `.{lost.attribute}` computes whenever it is read", f"set `.{lost.attribute}` {change}"
    of = f" of `{trace.parameter_name(lost.parameters[0])}`" if len(lost.parameters) == 1 else ""
    if lost.copied_by == "__getitem__":
        change = "index once, in the assignment, as in `x[rows, 0] = 0`, or put the result back: `x[rows] = …`"
        return f"the copy{of} that an index by a mask, a list or a tensor makes", change
    change = f"change the tensor itself, or go on with the result: `{lost.copied_by}` has made a new tensor here"
    return f"the copy{of} that `{lost.copied_by}` makes", change


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


def bad_computed_weight() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(6, 8))
    layer.weight.data.normal_(0, 0.01)  # <- AD514
    model = nn.Sequential(layer, nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 6)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
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
    name="write-lost",
    severity="warning",
    title="an operation in place changes a copy that nothing keeps",
    observes="In steps that are looked at closely, and before the first: operations in place, functions of "
    "`torch.nn.init`, functions of the program and assignments to an index, whose target was copied in the same "
    "statement. The instructions of the statement show that neither the copy nor the result is kept, and the memory of "
    "the copy must be gone when the next operation comes, while that of what was copied is still there. So too where "
    "the copy is a local variable that nothing reads but the statement which changes it.",
    why="An index by a mask, a list or a tensor copies, so that `x[mask][0] = 1` changes a copy of `x`. So do `.to()`, "
    "`.float()`, `.reshape()` and the like where they have something to do, and a parametrized weight is computed "
    "whenever it is read. The new values are thrown away.",
    fix="Index once, in the assignment; put the result back where it belongs; set weights before they are "
    "parametrized, or by assignment.",
    fine="Copies that are read under their name, handed on, or part of a larger expression; views, as slices and "
    "single numbers give; conversions that have nothing to do and return the tensor itself; copies of what nobody uses "
    "any more, as in a warm-up; new tensors that are only filled with random numbers; empty choices. Variables of a "
    "module count as read. Long work on data before any parameter is used is not looked at.",
    needs=(WriteLost,),
    examine=examine,
    bad=(bad, bad_two_indices, bad_computed_weight),
    good=(good, good_copies_that_are_used, good_nothing_but_random_numbers),
    references=(
        "https://docs.pytorch.org/docs/stable/tensor_view.html",
        "https://numpy.org/doc/stable/user/basics.indexing.html#advanced-indexing",
    ),
)
