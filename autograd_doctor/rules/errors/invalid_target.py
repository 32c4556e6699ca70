"""AD511: a loss function refused its target."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.errors import BlankTargets, OperationFailed, TargetsTooLong
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.findings import Evidence, Finding, Location, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import Crash, died_of
from autograd_doctor.views.lines import in_several_steps
from autograd_doctor.wording import plural, shape, tensor, value_range, values


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    yield from _blanks(trace)
    yield from _too_long(trace, tunables)
    crash = died_of(trace, "target_index", "target_dtype", "target_shape")
    if crash is None:
        return
    if crash.operation is not None and len(crash.operation.operands) > 1:
        yield _explained(crash, crash.operation.operation, *crash.operation.operands[:2])
    else:
        yield _unexplained(crash)


def _blanks(trace: Trace) -> Iterator[Finding]:
    """CTC takes the blank for a label without a word, and learns something else."""
    for first, *others in in_several_steps(trace, trace.of(BlankTargets), lambda event: event.location, 1):
        yield RULE.finding(
            f"`ctc_loss` got targets that contain its blank, {first.blank}: {first.blanks} of {first.labels} labels "
            f"in {plural(first.samples, 'sample')}. The blank separates labels and cannot be one of them",
            subject="ctc_loss",
            location=first.location,
            help="reserve one class for the blank, number the labels around it, and pass it to the loss: `blank=0` "
            f"with labels from 1 on, or `blank={first.classes - 1}` with labels from 0 on",
            evidence={"blank": first.blank, "blanks": first.blanks, "labels": first.labels, "classes": first.classes},
            step_first=first.step + 1,
            step_count=1 + len(others),
        )


def _too_long(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    """What CTC cannot align it leaves out without a word, if it is told to count no infinities."""
    lines: dict[Location | None, list[TargetsTooLong]] = {}
    for event in trace.of(TargetsTooLong):
        lines.setdefault(event.location, []).append(event)
    for location, events in lines.items():
        too_long, samples = sum(event.too_long for event in events), sum(event.samples for event in events)
        if too_long <= tunables["share"] * samples:
            continue
        yield RULE.finding(
            f"`ctc_loss` leaves out {too_long:,} of {samples:,} samples: they have more labels than places, up to "
            f"{max(event.most_lacking for event in events)} more, and `zero_infinity` makes their loss zero",
            subject="ctc_loss",
            location=location,
            severity="warning",
            help="keep more places of each sample, as by a smaller stride, or leave such samples out of the data",
            evidence={"too_long": too_long, "samples": samples},
            step_first=events[0].step + 1,
            step_count=len({event.step for event in events if event.too_long}),
        )


def _explained(crash: Crash, operation: str, given: TensorFacts, target: TensorFacts) -> Finding:
    message, help = _diagnosis(crash, operation, given, target)
    made = [
        ("the dataset takes the target from here", target.drawn_from),
        ("the target comes from here", target.made_at),
        ("the prediction is computed here", given.made_at),
    ]
    return RULE.finding(
        message,
        subject=target.name,
        location=crash.location,
        help=help,
        evidence=_evidence(given, target),
        related=tuple(Related(text, place) for text, place in made if place is not None),
        notes=(f"the error was: {crash.said}",),
        step_first=crash.step_first,
        step_count=1,
    )


def _diagnosis(crash: Crash, operation: str, given: TensorFacts, target: TensorFacts) -> tuple[str, str]:
    """What is wrong with the target, and what to do about it."""
    classes = _classes(given)
    if crash.kind == "target_index":
        return (
            f"`{operation}` got class index {crash.class_index} in {tensor(target)} for {classes} classes: the targets "
            f"range from {value_range(target)}, the classes from 0 to {classes - 1}",
            f"number the classes from 0 to {classes - 1}, give the model one output per class, or pass `ignore_index`",
        )
    if crash.kind == "target_dtype":
        wanted = "long" if _takes_indices(operation) else given.dtype
        return (
            f"`{operation}` got a target of dtype {target.dtype} for {tensor(given)}: {tensor(target)}",
            f"convert the target to {wanted}: `target.{'long' if wanted == 'long' else f'to(torch.{wanted})'}"
            f"{'()' if wanted == 'long' else ''}`",
        )
    return (
        f"`{operation}` got a prediction of shape {shape(given.shape)} and a target of shape {shape(target.shape)}: "
        f"{tensor(given)}, {tensor(target)}",
        "for class indices, the target has the shape of the prediction without the class dimension (often `squeeze(1)`)"
        if _takes_indices(operation)
        else "give prediction and target the same shape",
    )


def _takes_indices(operation: str) -> bool:
    return operation in ("cross_entropy", "nll_loss", "multi_margin_loss")


def _classes(given: TensorFacts) -> int:
    return given.shape[1] if len(given.shape) > 1 else (given.shape[0] if given.shape else 1)


def _evidence(given: TensorFacts, target: TensorFacts) -> Evidence:
    ranges: Evidence = {}
    if target.low is not None and target.high is not None:
        ranges = {"target_low": target.low, "target_high": target.high}
    return {
        "prediction_shape": shape(given.shape),
        "prediction_dtype": given.dtype,
        "target_shape": shape(target.shape),
        "target_dtype": target.dtype,
        **ranges,
    }


def _unexplained(crash: Crash) -> Finding:
    return RULE.finding(
        f"the loss refused its target: {crash.said}",
        subject="",
        location=crash.site,
        help="compare dtype, shape and range of the target with what this loss expects",
        evidence={"error": crash.said},
        notes=tuple(f"{tensor(facts)}, {values(facts)}" for facts in crash.tensors[:6]),
        step_first=crash.step_first,
        step_count=1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        labels = x[:, :3].argmax(1) + 1
        loss = nn.functional.cross_entropy(model(x), labels)  # <- AD511
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_dtype() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Linear(8, 3), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        labels = x[:, :3].argmax(1).float()
        loss = criterion(model(x), labels)  # <- AD511
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_shape() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Linear(8, 1), nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        labels = (x.sum(1) > 0).float()
        loss = criterion(model(x), labels)  # <- AD511
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_blank() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        labels = torch.randint(0, 4, (8, 3))
        scores = model(torch.randn(12, 8, 6)).log_softmax(2)
        loss = nn.functional.ctc_loss(scores, labels, torch.full((8,), 12), torch.full((8,), 3))  # <- AD511
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        labels = x[:, :3].argmax(1)
        loss = nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_rows_filled_up_with_blanks() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 5)
    criterion = nn.CTCLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        labels, lengths = torch.randint(1, 5, (8, 3)), torch.randint(1, 4, (8,))
        labels[torch.arange(3) >= lengths.unsqueeze(1)] = 0
        scores = model(torch.randn(12, 8, 6)).log_softmax(2)
        loss = criterion(scores, labels, torch.full((8,), 12), lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_ignored_targets() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        labels = x[:, :3].argmax(1)
        labels[torch.rand(16) < 0.2] = -100
        loss = nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD511",
    name="invalid-target",
    severity="error",
    title="a loss function cannot use its target",
    observes="The loss function that raised, with shape, dtype and range of its prediction and its target; and "
    "whether the targets of `ctc_loss` contain its blank, or are too long for their inputs (a warning), neither of "
    "which raises an error.",
    why="The loss is undefined for a class index out of range, a wrong dtype or a wrong shape; on an accelerator the "
    "error comes late and names none of them; a blank among the labels makes the loss wrong, and samples that "
    "cannot be aligned teach nothing under `zero_infinity`.",
    fix="Number classes from 0, convert the target, or reshape it.",
    fine="Targets equal to `ignore_index`, blanks that pad rows of labels, and a few samples that are too long, for "
    "which `zero_infinity` is there.",
    needs=(BlankTargets, OperationFailed, ProgramRaised, TargetsTooLong),
    examine=examine,
    bad=(bad, bad_dtype, bad_shape, bad_blank),
    good=(good, good_ignored_targets, good_rows_filled_up_with_blanks),
    tunables={"share": Tunable(0.05, "share of samples that CTC may leave out", "chosen: a few bad recordings")},
    folds=("AD512", "AD599"),
    about="data",
)
