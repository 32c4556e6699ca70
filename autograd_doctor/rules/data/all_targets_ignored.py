"""AD707: no target of a batch counts, in step after step."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import MaskedOut, TargetsSeen
from autograd_doctor.events.numerics import LossesFollowed
from autograd_doctor.events.run import LightStepsCounted
from autograd_doctor.findings import Confidence, Finding, Severity
from autograd_doctor.rules import NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import elsewhere
from autograd_doctor.views.targets import latest_targets
from autograd_doctor.wording import plural, shape


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    learns = _learns_otherwise(trace)
    for event in latest_targets(trace):
        if event.all_ignored >= max(tunables["steps"], tunables["share"] * event.steps):
            yield _ignored(event, beside=event.summed and learns)
        elif _is_class_ignored(event) and event.steps >= tunables["steps"] and event.elements >= tunables["targets"]:
            yield _class_ignored(event)
    masks = {event.location: event for event in trace.of(MaskedOut)}
    for mask in masks.values():
        if mask.empty >= max(tunables["steps"], tunables["share"] * mask.steps):
            yield _masked(mask, beside=learns)
        elif mask.in_a_row >= tunables["in_a_row"] and _nothing_left(trace, mask):
            yield _masked(mask, late=True)


def _learns_otherwise(trace: Trace) -> bool:
    """Whether there are stretches of losses none of which was 0 or no number, as a mean or a sum of nothing is."""
    return any(each.low and not each.non_finite and each.backwards > 1 for each in trace.of(LossesFollowed))


def _how_bad(nothing: int, steps: int, *, beside: bool) -> tuple[Severity, Confidence]:
    """Beside other terms that learn, one may have few labels, and meet them now and then."""
    if not beside:
        return "error", "high"
    return "info" if nothing < steps else "warning", "medium"


def _nothing_left(trace: Trace, mask: MaskedOut) -> bool:
    """Whether the whole loss was zero since the mask left nothing, so that it was no part of it that ended."""
    light = [event.loss for event in trace.of(LightStepsCounted) if event.first > mask.since]
    return bool(light) and all(loss == 0 for loss in light)


def _ignored(event: TargetsSeen, *, beside: bool) -> Finding:
    """beside: there are other terms, which learn."""
    name = f"`{event.name}`" if event.name else "the targets"
    severity, confidence = _how_bad(event.all_ignored, event.steps, beside=beside)
    return RULE.finding(
        f"in {event.all_ignored} of {plural(event.steps, 'step')} that were recorded, every target in {name} was "
        f"{event.ignore_index}, which `{event.operation}` ignores: "
        f"{'this term of the loss was computed of nothing' if beside else 'the loss is a mean over nothing'}",
        subject=event.name or "targets",
        location=event.location,
        severity=severity,
        confidence=confidence,
        help="look at how the targets are made: the labels that should count were overwritten by those that should "
        "not, or `ignore_index` is the number of a real class",
        evidence={
            "steps_ignored": event.all_ignored,
            "steps": event.steps,
            "ignore_index": event.ignore_index if event.ignore_index is not None else "",
            "targets": event.elements,
        },
        related=elsewhere("they were made here", event.made_at, event.location),
        step_first=event.since + 1,
        step_count=event.all_ignored,
    )


def _is_class_ignored(event: TargetsSeen) -> bool:
    """Whether what is ignored is a class of its own, and leaves the samples of one other class."""
    ignored = event.ignore_index
    return ignored is not None and 0 <= ignored < event.logits and event.per_sample and event.class_count == 1


def _class_ignored(event: TargetsSeen) -> Finding:
    name = f"`{event.name}`" if event.name else "the targets"
    left, count = next(iter(event.classes.items()))
    return RULE.finding(
        f"`{event.operation}` ignores {event.elements - count} of {event.elements} samples, those whose target in "
        f"{name} is {event.ignore_index}; all others are {left}: of {event.logits} classes only this one ever counts",
        subject=event.name or "targets",
        location=event.location,
        severity="warning",
        confidence="medium",
        help="where its number is a real class, leave `ignore_index` out: that output wants a loss function of its own",
        evidence={
            "ignored": event.elements - count,
            "targets": event.elements,
            "ignore_index": event.ignore_index or 0,
        },
        step_first=event.since + 1,
        step_count=event.steps,
    )


def _masked(event: MaskedOut, *, late: bool = False, beside: bool = False) -> Finding:
    """late: from some step on, while there was something left before. beside: there are other terms, which learn."""
    severity, confidence = _how_bad(event.empty, event.steps, beside=beside)
    name = f"`{event.name}`" if event.name else "a tensor with a graph"
    steps = f"all {event.in_a_row} steps" if late else f"{event.empty} of {plural(event.steps, 'step')}"
    since = f" from step {event.since + 1} on, and the loss is 0 since" if late else ""
    return RULE.finding(
        f"in {steps} that were recorded{since}, the mask of shape {shape(event.shape)} left nothing of {name}, of "
        "which a loss was to be computed",
        subject=event.name or "mask",
        location=event.location,
        help="look at how the mask is made: it may be the wrong way round, or compare with a value that never comes",
        # Terms may begin with weights of 0, or end so; what learns nothing is told of.
        severity="warning" if severity == "error" and (event.weights or late) else severity,
        confidence=confidence,
        evidence={"steps_empty": event.in_a_row if late else event.empty, "steps": event.steps},
        step_first=event.since + 1 if late else 0,
        step_count=event.in_a_row if late else event.empty,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        tokens = torch.randint(0, 20, (4, 6))
        labels = tokens.clone()
        labels[labels >= 0] = -100
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), labels.flatten())  # <- AD707
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_mask() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        is_known = x[:, 0] > 100
        scores = model(x)[is_known]  # <- AD707
        loss = nn.functional.cross_entropy(scores, x[is_known, :3].argmax(1), reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_product() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.GRU(3, 8, batch_first=True)
    head = nn.Linear(8, 3)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.05)
    for _ in range(10):
        x, lengths = torch.randn(8, 6, 3), torch.full((8, 1), 6)
        padding = (torch.arange(6) >= lengths).float()
        losses = (head(model(x)[0]) - x.roll(1, 1)).square().mean(2)
        loss = (losses * padding).sum() / padding.sum().clamp(min=1)  # <- AD707
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_real_class() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, words, follows = nn.Embedding(20, 8), nn.Linear(8, 20), nn.Linear(8, 2)
    optimizer = torch.optim.SGD([*embed.parameters(), *words.parameters(), *follows.parameters()], lr=0.05)
    criterion = nn.NLLLoss(ignore_index=0)
    for _ in range(10):
        tokens = torch.randint(1, 20, (16, 6))
        hidden = embed(tokens)
        labels = tokens.masked_fill(torch.rand(16, 6) < 0.7, 0)
        is_next = (tokens[:, 0] > 9).long()
        loss = criterion(words(hidden).log_softmax(2).flatten(0, 1), labels.flatten())
        loss = loss + criterion(follows(hidden.mean(1)).log_softmax(1), is_next)  # <- AD707
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        tokens = torch.randint(0, 20, (4, 6))
        labels = tokens.clone()
        labels[torch.rand(4, 6) < 0.5] = -100
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_expert_without_tokens() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 3)
    embed = nn.Linear(8, 8)
    second.requires_grad_(False)
    optimizer = torch.optim.SGD([*embed.parameters(), *first.parameters(), *head.parameters()], lr=0.05)
    for _ in range(10):
        x = torch.randn(16, 8)
        hidden = embed(x)
        out = hidden.clone()
        to_second = x[:, 0] > 100
        out[to_second] = second(hidden[to_second])
        out[~to_second] = first(hidden[~to_second])
        loss = nn.functional.cross_entropy(head(out), x[:, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_single_empty_masks() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(10):
        x = torch.randn(16, 8)
        is_known = x[:, 0] > (100 if step == 3 else 0)
        scores = model(x)[is_known]
        loss = nn.functional.cross_entropy(scores, x[is_known, :3].argmax(1), reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_weights() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(10):
        x = torch.randn(16, 8)
        is_known = (x[:, 0] > (100 if step == 3 else 0)).float()
        losses = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1), reduction="none")
        gates = torch.zeros(16, 3) * model(x)
        loss = (losses * is_known).sum() / is_known.sum().clamp(min=1) + gates.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD707",
    name="all-targets-ignored",
    severity="error",
    title="no target of a batch counts",
    observes="Losses all of whose targets are the one that they ignore, boolean masks that leave a loss nothing, and "
    "masks of zeros that losses are multiplied by, in most of the steps that were recorded. And what is ignored, where "
    "it is a class of samples and one other class is left.",
    why="The loss is 0, or NaN as the mean of nothing, and teaches nothing.",
    fix="Repair how targets or masks are made.",
    fine="Single batches without a target, masks that are empty now and then, and those of an expert without tokens. "
    "A term with few labels, beside others that learn, is only told of where some step had a target for it, and is a "
    "warning where none had.",
    needs=(LightStepsCounted, LossesFollowed, TargetsSeen, MaskedOut),
    examine=examine,
    folds=("AD116", "AD401", "AD402", "AD410", "AD111", "AD203"),
    bad=(bad, bad_mask, bad_product, bad_real_class),
    good=(good, good_expert_without_tokens, good_single_empty_masks, good_weights),
    tunables={
        "steps": Tunable(3, "fewest steps with nothing that counts", NO_BEGINNING),
        "share": Tunable(
            0.9,
            "smallest share of the steps with nothing that counts",
            "chosen: chance, or a warm-up, has no part in it",
        ),
        "targets": Tunable(
            32,
            "fewest targets, where a class is ignored and but one is left",
            "chosen: of fewer, the others may be missing by chance",
        ),
        "in_a_row": Tunable(
            6,
            "fewest steps with an empty mask, up to the last, where it was not empty before",
            "chosen: a few batches may have nothing by chance",
        ),
    },
    about="data",
)
