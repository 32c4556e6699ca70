"""AD507: a custom function's backward is not the derivative of its forward."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import no_type_check

from autograd_doctor.events.errors import FunctionJudged, GradientChangedInPlace, InputChangedUnmarked
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import Crash, died_of


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    judged = [event for event in trace.of(FunctionJudged) if not event.double]
    for event in judged:
        if event.verdict in ("wrong", "differs"):
            yield _wrong(event)
        elif event.verdict == "surrogate" and event.requested:
            yield _surrogate(event)
    crash = died_of(trace, "custom_gradient")
    if crash is not None and crash.function not in {event.function for event in judged}:
        yield _refused(crash)
    yield from _unmarked(trace, judged)
    spoiled = {event.function: event for event in reversed(trace.of(GradientChangedInPlace))}
    yield from map(_spoiled, spoiled.values())


def left_open(trace: Trace) -> Iterator[str]:
    """Functions that the program merely uses; where one was asked about, the verdict says it."""
    for event in trace.of(FunctionJudged):
        if event.verdict == "not judged" and not event.requested and not event.double:
            yield f"the gradient of `{event.function}` was not judged ({event.reason})"


def _wrong(event: FunctionJudged) -> Finding:
    """An error where a mistake shows, or where somebody asked; otherwise it may be an estimator."""
    is_open = event.verdict == "differs" and not event.requested
    which = f" for input {event.input + 1}" if event.input is not None else ""
    numbers = ""
    if event.expected is not None and event.found is not None:
        numbers = f": it returned {event.found:.4g}, but the finite difference is {event.expected:.4g}"
    message = f"the backward of `{event.function}` is not the derivative of its forward{which}{numbers}"
    if event.input is None:
        message = f"autograd rejects what the backward of `{event.function}` returns: {event.reason}"
    position = None if event.input is None else event.input + 1
    evidence = {"input": position, "largest_error": event.error, "expected": event.expected, "found": event.found}
    return RULE.finding(
        message,
        subject=event.function,
        location=event.location or event.applied_at,
        help="compare `backward` with the derivative of `forward`: it must return one gradient per input, in the "
        "order of the inputs, each multiplied by the incoming gradient"
        + ("; an intended estimator may stay" if is_open else ""),
        evidence={name: value for name, value in evidence.items() if value is not None},
        related=_applied(event),
        severity="warning" if is_open else None,
        confidence="medium" if is_open or event.expected == 0 else "high",
        notes=(event.reason,) if event.reason and event.input is not None else (),
        step_first=event.step,
    )


def _surrogate(event: FunctionJudged) -> Finding:
    """Said only to somebody who asked about this very function: it is a way to train, and no fault."""
    return RULE.finding(
        f"the backward of `{event.function}` is a surrogate gradient: "
        f"{event.reason or 'its forward is piecewise constant'}",
        subject=event.function,
        location=event.location or event.applied_at,
        severity="info",
        confidence="medium" if event.verdict == "surrogate" else "high",
        help="nothing to change if this is intended",
        related=_applied(event),
        step_first=event.step,
    )


def _unmarked(trace: Trace, judged: Sequence[FunctionJudged]) -> Iterator[Finding]:
    """Inputs that were changed without a word and used afterwards, each once.

    Where backward hands the gradient on as it came, what goes past the function is the same.
    """
    handed_on = {(event.function, position) for event in judged for position in event.hands_on}
    open_ones = {event.function for event in judged if event.verdict not in ("right", "surrogate")}
    by_input: dict[tuple[str, int], list[InputChangedUnmarked]] = defaultdict(list)
    for event in trace.of(InputChangedUnmarked):
        by_input[event.function, event.input].append(event)
    for key, events in by_input.items():
        if key not in handed_on:
            yield _changed(events, is_open=events[0].function in open_ones)


def _changed(events: Sequence[InputChangedUnmarked], *, is_open: bool) -> Finding:
    first = events[0]
    places = (("applied here", first.applied_at), ("its new values were used here", first.used_at))
    return RULE.finding(
        f"the forward of `{first.function}` changes its input `{first.name}` in place without `mark_dirty`; "
        f"`{first.used_by}` then used the new values, and its gradient bypasses the backward of `{first.function}`",
        subject=first.function,
        location=first.location,
        help=f"call `ctx.mark_dirty({first.name})` and return `{first.name}`, or change a clone of it",
        evidence={"input": first.input + 1, "used_by": first.used_by, "times": len(events)},
        related=tuple(Related(text, place) for text, place in places if place is not None),
        severity="warning" if is_open else None,
        confidence="medium" if is_open else "high",
        step_first=first.step,
    )


def _spoiled(event: GradientChangedInPlace) -> Finding:
    return RULE.finding(
        f"the backward of `{event.function}` changes its incoming gradient in place: `{event.shared_by}` passed the "
        "same tensor to another branch, which continues with the changed values",
        subject=event.function,
        location=event.location,
        help="change a copy: `gradient = gradient.clone()`, or compute a new tensor (`gradient * mask`)",
        related=(Related("one gradient goes to both branches here", event.shared_at),) if event.shared_at else (),
        step_first=event.step,
    )


def _refused(crash: Crash) -> Finding:
    return RULE.finding(
        f"autograd rejected what the backward of `{crash.function}` returned: {crash.said}",
        subject=crash.function,
        location=crash.site,
        help="return one gradient per input of `forward`, in the shape of that input, and `None` for inputs without a "
        "gradient",
        evidence={"error": crash.said},
        step_first=crash.step_first,
    )


def _applied(event: FunctionJudged) -> tuple[Related, ...]:
    return (Related("applied here", event.applied_at),) if event.applied_at else ()


@no_type_check
def bad() -> None:
    import torch
    from torch import nn

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):  # <- AD507
            (x,) = ctx.saved_tensors
            return grad * 2 * x**2

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(Cube.apply(model(x)), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def bad_gradients_swapped() -> None:
    import torch
    from torch import nn

    class Multiply(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, grad):  # <- AD507
            a, b = ctx.saved_tensors
            return grad * a, grad * b

    torch.manual_seed(0)
    left, right = nn.Linear(8, 4), nn.Linear(8, 4)
    optimizer = torch.optim.SGD([*left.parameters(), *right.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(Multiply.apply(left(x), right(x)), x[:, :4] * x[:, 4:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def bad_number_of_gradients() -> None:
    import torch
    from torch import nn

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad):  # <- AD507
            return grad * ctx.factor

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(Scale.apply(model(x), torch.tensor(0.5)), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def bad_changed_input() -> None:
    import torch
    from torch import nn

    class Damp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):  # <- AD507
            ctx.factor = factor
            return x.mul_(factor).clone()

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    torch.manual_seed(0)
    body, head = nn.Linear(8, 16), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        hidden = body(x)
        loss = nn.functional.mse_loss(head(hidden + torch.tanh(Damp.apply(hidden, 0.3))), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def bad_changed_gradient() -> None:
    import torch
    from torch import nn

    class Rectify(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            grad[x < 0] = 0  # <- AD507
            return grad

    torch.manual_seed(0)
    model, head = nn.Linear(4, 16), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.05)
    for _ in range(8):
        x = torch.randn(32, 4)
        hidden = model(x)
        loss = nn.functional.mse_loss(head(hidden + Rectify.apply(hidden)), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def good() -> None:
    import torch
    from torch import nn

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(Cube.apply(model(x)), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def good_straight_through() -> None:
    import torch
    from torch import nn

    class Binarise(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.where(x >= 0, 1.0, -1.0)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * (x.abs() <= 1)

    torch.manual_seed(0)
    first, second = nn.Linear(8, 16), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(second(Binarise.apply(first(x))), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def good_reversed_gradient() -> None:
    import torch
    from torch import nn

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.weight = weight
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return -ctx.weight * grad, None

    torch.manual_seed(0)
    body, task, domain = nn.Linear(8, 16), nn.Linear(16, 1), nn.Linear(16, 1)
    parameters = [*body.parameters(), *task.parameters(), *domain.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 8)
        where = (torch.arange(16) % 2).float().unsqueeze(1)
        features = torch.tanh(body(x + where))
        task_loss = nn.functional.mse_loss(task(features), x.sum(1, keepdim=True))
        seen = domain(Reverse.apply(features, 0.5))
        loss = task_loss + nn.functional.binary_cross_entropy_with_logits(seen, where)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD507",
    name="wrong-custom-gradient",
    severity="error",
    title="a custom function's backward is not the derivative of its forward",
    observes="Compares the gradients of every `autograd.Function` in the program with finite differences "
    "(`gradcheck`), in float64, on inputs from the run cut to a small size; whole numbers that may be those of "
    "rows are cut with the rows, and what is wrong then must not be right uncut. Where these agree, all "
    "elements of that call, and of some later ones, are tried along random directions, and a few of them "
    "around one that is wrong. Other arguments than tensors, such as a grid or a configuration, are copied and "
    "held fixed. It is an error if the difference looks like a mistake: a wrong sign or a factor that is the "
    "same at other points too, one wrong factor for each element (a forgotten chain factor), zero where the "
    "derivative is not, swapped inputs, a transposition, or some elements wrong and others exactly right. "
    "Any other difference may be an estimator: a warning, with the cosine of the two. It also reports an "
    "input that the forward changes in place without `mark_dirty` and that is used afterwards in the graph "
    "of a backward: that gradient bypasses the function. And it reports a backward that changes its "
    "incoming gradient in place, if a sum passes the same tensor to a branch that runs later.",
    why="Autograd trusts what a custom backward returns: training runs, but in a wrong direction.",
    fix="Return the derivative of the forward, one gradient per input in the order of the inputs, and call "
    "`mark_dirty` for inputs that it changes.",
    fine="Estimators, recognised by the numbers alone (`doctor gradcheck` names them). The forward is a step, "
    "the identity or a clamp; it is a loop, and the gradient goes through its last rounds, as through one "
    "application at a fixed point; or it jumps, as a quantiser with its own scale does. The gradient is "
    "random, is not proportional to the incoming gradient (rounded, clipped), depends on an argument that "
    "the forward does not use (feedback weights), is the mean over the samples that select a row of a table "
    "where the derivative is their sum (centres of a centre loss), is the derivative clamped, without small "
    "values, to within a few percent or times a symmetric positive definite matrix (a preconditioner), or "
    "smooths the kinks of a piecewise linear forward. If a forward reads one triangle of a symmetric "
    "matrix, the two symmetric entries count together. Functions with randomness or side effects, or with "
    "objects whose values change from step to step, such as a matrix assembled from learned values, cannot "
    "be judged and are listed as not checked, as are all functions of a process that belongs to a group of "
    "several: they may reduce something over all ranks. An input that is changed without `mark_dirty` is "
    "fine if it is not used afterwards, has its old values again, or gets the incoming gradient unchanged.",
    needs=(FunctionJudged, GradientChangedInPlace, InputChangedUnmarked, ProgramRaised),
    examine=examine,
    left_open=left_open,
    folds=("AD405",),
    bad=(bad, bad_gradients_swapped, bad_number_of_gradients, bad_changed_input, bad_changed_gradient),
    good=(good, good_straight_through, good_reversed_gradient),
    references=("https://docs.pytorch.org/docs/stable/notes/gradcheck.html",),
)
