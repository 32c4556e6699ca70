"""AD708: inputs and targets do not go together: each sample, or each position, gets the target of another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import no_type_check

from autograd_doctor.events.data import (
    FieldsTurned,
    LabelsLost,
    PairsMisaligned,
    SamplesMisordered,
    SortedRowsMet,
    TargetsReassigned,
)
from autograd_doctor.events.losses import TargetsAhead
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside, in_several_steps
from autograd_doctor.wording import plural

_TWICE = 2
"""Positions by which targets are ahead where both the data and the model have shifted them."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    explained = list(_explained(trace, tunables))
    yield from explained
    if not explained:
        anew = {event.module: event for event in reversed(trace.of(TargetsReassigned))}
        yield from (_reassigned(trace, event) for event in anew.values())


def _explained(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    """Those of which it was seen how they come about."""
    found = [event for event in trace.of(PairsMisaligned) if event.steps >= tunables["share"] * event.of]
    causes = {(event.input_at, event.target_at): event for event in reversed(found) if event.steps >= tunables["steps"]}
    yield from map(_finding, causes.values())
    batches = trace.of(SamplesMisordered)
    for first, *others in in_several_steps(trace, batches, lambda event: event.location, int(tunables["steps"])):
        yield _collated(first, 1 + len(others))
    met = trace.of(SortedRowsMet)
    for same in in_several_steps(trace, met, lambda event: event.location, int(tunables["steps"])):
        yield _sorted(same[0], len(same))
    told = {event.location for event in causes.values()}
    yield from (_lost(event) for event in trace.of(LabelsLost) if event.location not in told)
    turned = [event for event in trace.of(FieldsTurned) if _is_turned(event, int(tunables["turned"]))]
    yield from map(_turned, {event.location: event for event in reversed(turned)}.values())
    shifted = {event.module: event for event in trace.of(TargetsAhead)}
    nearer = {event.module for event in trace.of(TargetsAhead) if event.ahead < _TWICE}
    for module, event in shifted.items():
        if module not in nearer:
            yield _shifted(trace, event)


def _sorted(event: SortedRowsMet, steps: int) -> Finding:
    return RULE.finding(
        f"the rows of a batch are taken in the order in which other data of it were sorted ({event.moved} of "
        f"{event.rows} change places), and what comes of them meets what comes of the same batch in its own order: row "
        "by row, they belong to different samples",
        subject="rows",
        location=event.location,
        confidence="medium",
        help="put what came of them back: `out[order.argsort()]`; or take the other side in the same order",
        evidence={"rows": event.rows, "moved": event.moved},
        related=beside(
            event.location, (f"`{event.operation}` takes both", event.met_at), ("sorted here", event.sorted_at)
        ),
        step_first=event.step + 1,
        step_count=steps,
    )


def _shifted(trace: Trace, event: TargetsAhead) -> Finding:
    name = trace.module_name(event.module)
    places = (("the loss compares them", event.location), ("the model is called here", event.called_at))
    location = event.read_at or event.location
    return RULE.finding(
        f"the targets are the tokens that `{name}` takes in, {event.ahead} positions on: at each position it learns "
        "the token after the next one",
        subject=name,
        location=location,
        confidence="medium",
        help="shift inputs and targets against one another once: models that compute their own loss from `labels` do "
        "so themselves, and want `labels` as `input_ids` are",
        evidence={"positions_ahead": event.ahead},
        related=beside(location, *places),
        step_first=event.step + 1,
    )


def _is_turned(event: FieldsTurned, least: int) -> bool:
    """Targets of their own: one that is the same for all samples, as the places of pixels are, has no side."""
    return event.apart >= least and 2 * event.targets > event.samples


def _turned(event: FieldsTurned) -> Finding:
    name = f"`{event.name}`" if event.name else "a `DataLoader`"
    return RULE.finding(
        f"in samples of {name} that came again, the picture that the model is given (tensor {event.given} of the "
        f"batch) and the one that it is compared with (tensor {event.target}) were turned over by draws of their own: "
        f"{event.apart} of {event.compared} were turned in two different ways",
        subject=event.name or "batch",
        location=event.location,
        help="draw once for each sample, and turn both by that draw: `torchvision.transforms.v2` takes them together",
        evidence={"came_again": event.compared, "turned_apart": event.apart},
    )


def _lost(event: LabelsLost) -> Finding:
    name = f"`{event.target}`" if event.target else "the targets"
    return RULE.finding(
        f"samples that came again had the label that they had had before, {event.before} of them, until step "
        f"{event.since}: since then, {name} gives {event.agreeing} of {event.again} the label of their last time, as "
        f"many as by chance ({event.chance:.0%})",
        subject=event.target or "target",
        location=event.location,
        help="look for what was shuffled, sorted or drawn anew at that step: inputs and targets must go through it by "
        "the same indices",
        evidence={
            "since_step": event.since + 1,
            "kept_before": event.before,
            "came_again": event.again,
            "kept_since": event.agreeing,
            "chance": round(event.chance, 4),
        },
        step_first=event.since + 1,
    )


def _reassigned(trace: Trace, event: TargetsReassigned) -> Finding:
    name = f"`{event.target}`" if event.target else "the targets"
    places = (
        ("the arrays are assigned", event.stored_at),
        ("reads the targets", event.read_at),
        ("the loss compares them", event.location),
    )
    location = event.stored_at or event.read_at or event.location
    return RULE.finding(
        f"samples that `{trace.module_name(event.module)}` is given again have the target of another sample each "
        f"time: {name} gives {event.agreeing} of {event.again} the target of their last time, as many as by chance "
        f"({event.chance:.2g}), and the predictions are no nearer to their targets than to those of others",
        subject=event.target or "target",
        location=location,
        confidence="medium",
        help="look for what shuffles, sorts or draws inputs and targets by themselves: both must go through it by the "
        "same indices, as in `rows = rng.permutation(len(x)); x, y = x[rows], y[rows]`",
        evidence={
            "came_again": event.again,
            "kept": event.agreeing,
            "had_been_of_others": event.of_others,
            "chance": round(event.chance, 4),
        },
        related=beside(location, *places),
        step_first=1,
    )


def _collated(event: SamplesMisordered, batches: int) -> Finding:
    return RULE.finding(
        f"this puts what it returns as `batch{event.moved}` into another order than the samples have, and leaves "
        f"`batch{event.left}` as it was: in {event.apart} of {event.rows} rows the two are of different samples",
        subject=f"batch{event.left}",
        location=event.location,
        help="order the samples before they are taken apart: `samples.sort(key=…)`, then `zip(*samples)`",
        evidence={"rows": event.rows, "apart": event.apart, "batches": batches},
        step_first=event.step + 1,
    )


def _finding(event: PairsMisaligned) -> Finding:
    target = f"`{event.target}`" if event.target else "the targets"
    if event.turned:
        return _turned_apart(event, target)
    if event.drawn:
        what = f"the inputs and {target} were drawn by two loaders, which draw other samples than one another"
    elif event.kept:
        verb = "is" if event.target else "are"
        what = (
            f"the inputs were drawn at random, and {target} {verb} taken, slice by slice, of what an earlier pass over "
            "all samples gave, in their order"
        )
    elif event.target_at is None:
        what = f"the inputs were put into a random order, and {target} went into the loss in the order of the data"
    elif event.input_at is None:
        verb = "was" if event.target else "were"
        what = f"{target} {verb} put into a random order, and the inputs went in in that of the data"
    else:
        what = f"the inputs and {target} were put into two different random orders"
    verb = "draws" if event.drawn else "takes"
    places = (
        (f"{verb} the inputs", event.input_at),
        (f"{verb} the targets", event.target_at),
        ("compared", event.location),
    )
    location = event.target_at or event.input_at or event.location
    by_one_loader = "draw both by one loader, as of a `TensorDataset(x, y)`"
    by_indices = "take inputs and targets by the same indices: `rows = torch.randperm(len(x)); x[rows], y[rows]`"
    by_sample = "let the data set return the number of each sample, too, and take what was kept by these: `kept[i]`"
    return RULE.finding(
        f"{what}, in {event.steps} of {plural(event.of, 'step')} that were looked at closely; both "
        f"are of {event.rows:,} rows",
        subject=event.target or "targets",
        location=location,
        severity="info" if event.control else None,
        confidence="medium",
        notes=("other models learn from pairs that go together here, as beside a null model",) if event.control else (),
        help=by_one_loader if event.drawn else by_sample if event.kept else by_indices,
        evidence={"steps": event.steps, "of_steps": event.of, "rows": event.rows},
        related=beside(location, *places),
        step_first=1,
        step_count=event.steps,
    )


def _turned_apart(event: PairsMisaligned, target: str) -> Finding:
    verb = "goes" if event.target else "go"
    places = (
        ("draws for the inputs", event.input_at),
        ("draws for the targets", event.target_at),
        ("compared", event.location),
    )
    location = event.target_at or event.location
    return RULE.finding(
        f"the inputs and {target}, which {verb} with them place by place, are turned, shifted or warped by two random "
        f"draws, in {event.steps} of {plural(event.of, 'step')} that were looked at closely",
        subject=event.target or "targets",
        location=location,
        confidence="medium",
        help="draw once for each sample, and transform both by that draw",
        evidence={"steps": event.steps, "of_steps": event.of, "rows": event.rows},
        related=beside(location, *places),
        step_first=1,
        step_count=event.steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(120, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        inputs = x[torch.randperm(120)]  # <- AD708
        loss = nn.functional.mse_loss(model(inputs), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@no_type_check
def bad_sorted_by_length() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    def collate(samples):  # <- AD708
        texts = sorted((text for text, _ in samples), key=len, reverse=True)
        labels = torch.stack([label for _, label in samples])
        return nn.utils.rnn.pad_sequence(texts, batch_first=True), torch.tensor([len(t) for t in texts]), labels

    torch.manual_seed(0)
    texts = [torch.randint(1, 40, (length,)) for length in torch.randint(3, 20, (160,)).tolist()]
    loader = DataLoader([(text, text[0] % 4) for text in texts], batch_size=16, shuffle=True, collate_fn=collate)
    embed, gru, head = nn.Embedding(40, 16, padding_idx=0), nn.GRU(16, 24, batch_first=True), nn.Linear(24, 4)
    model = nn.ModuleList([embed, gru, head])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for tokens, lengths, labels in loader:
        packed = nn.utils.rnn.pack_padded_sequence(embed(tokens), lengths, batch_first=True)
        loss = nn.functional.cross_entropy(head(gru(packed)[1][-1]), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(120, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        rows = torch.randperm(120)
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_mixup() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(120, 8)
    y = x[:, :3].argmax(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        other = torch.randperm(120)
        scores = model(0.7 * x + 0.3 * x[other])
        loss = 0.7 * nn.functional.cross_entropy(scores, y) + 0.3 * nn.functional.cross_entropy(scores, y[other])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_labels_without_an_order() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, ones = torch.randn(120, 8), torch.ones(120, 1)
    critic = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.05)
    for _ in range(12):
        real, fake = data[torch.randperm(120)], torch.randn(120, 8) + 1
        loss = nn.functional.binary_cross_entropy_with_logits(critic(real), ones)
        loss = loss + nn.functional.binary_cross_entropy_with_logits(critic(fake), 1 - ones)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_turned_twice() -> None:
    import torch
    from torch import nn

    def turned(x: torch.Tensor) -> torch.Tensor:
        return torch.where(torch.rand(len(x), 1, 1, 1) < 0.5, x.flip(-1), x)

    torch.manual_seed(0)
    pictures = torch.rand(40, 1, 8, 8)
    heights = 2 * pictures - 1
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        rows = torch.randint(0, 40, (10,))
        x, y = turned(pictures[rows]), turned(heights[rows])  # <- AD708
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_turned_together() -> None:
    import torch
    from torch import nn

    def turned(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
        return torch.where(by < 0.5, x.flip(-1), x)

    torch.manual_seed(0)
    pictures = torch.rand(40, 1, 8, 8)
    heights = 2 * pictures - 1
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        rows, by = torch.randint(0, 40, (10,)), torch.rand(10, 1, 1, 1)
        x, y = turned(pictures[rows], by), turned(heights[rows], by)
        loss = nn.functional.mse_loss(model(x + 0.1 * torch.randn_like(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_shifted_twice() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    text = torch.randint(0, 20, (200, 14))
    model = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 20))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(8):
        rows = text[torch.randint(0, 200, (16,))]
        inputs, labels = rows[:, :-1], rows[:, 1:]
        scores = model(inputs)
        loss = nn.functional.cross_entropy(scores[:, :-1].reshape(-1, 20), labels[:, 1:].reshape(-1))  # <- AD708
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_arrays_shuffled_apart() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(96, 8)).astype(np.float32)
    y = x.sum(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1), nn.Flatten(0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for _ in range(12):
        x = x[rng.permutation(96)]
        y = y[rng.permutation(96)]  # <- AD708
        for rows in (slice(at, at + 24) for at in range(0, 96, 24)):
            inputs, targets = torch.from_numpy(x[rows]), torch.from_numpy(y[rows])
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_arrays_shuffled_together() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(96, 8)).astype(np.float32)
    y = x.sum(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1), nn.Flatten(0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for _ in range(12):
        order = rng.permutation(96)
        x, y = x[order], y[order]
        for rows in (slice(at, at + 24) for at in range(0, 96, 24)):
            inputs, targets = torch.from_numpy(x[rows]), torch.from_numpy(y[rows])
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


RULE = Rule(
    code="AD708",
    name="inputs-and-targets-misaligned",
    severity="warning",
    title="inputs and targets do not go together",
    observes="The indices by which inputs and targets were taken from tensors of as many rows, and which of them meet "
    "in a loss. Or batches of two loaders, of which one draws at random, meet as inputs and targets, and hold other "
    "samples. Or slices meet of tensors, or arrays, one of which is in another order than in an earlier epoch, "
    "while the other is as it was. And how many positions further along the targets of a loss are than the tokens "
    "at whose places the predictions stand in the output of the model that took them in. And whether the fields of a "
    "batch that a collate function returns are in the same order. And whether rows of a batch that a step takes in the "
    "order in which data of it were sorted meet rows of the same batch that it does not. "
    "And whether samples that come again still have the label that they had, and whether pictures and their targets "
    "were turned over in the same way since. And which random numbers of the step turn, shift, cut out or warp what is "
    "within each input, and which do so with its target: a choice between an original and a flip, indices, grids, "
    "rotations. And, where nothing of that is seen: samples, equal to the bit, that come again with the target of "
    "another sample each time, as by chance, from the start, while no prediction goes with its target.",
    why="Each sample is taught the target of another. The model learns the mean of all targets at best, and nothing "
    "crashes.",
    fix="Draw the indices once, and take both sides by them.",
    fine="Mixtures of samples, negatives of contrastive losses, targets that are so many rows further on, and slices. "
    "Predictions of which the first were left out like their targets, and such as were moved in another way. "
    "Two views of one picture, targets that are the same for all, and pictures that no loss compares. "
    "Labels that are assigned anew once, or that a model gave. Targets that change but are like those that the sample "
    "had before, or that predictions go with: of another horizon, task, action or annotator, of a neighbour, of the "
    "class, of clusters; numbers of the rows of a batch; targets that come twice in one batch for equal inputs; and "
    "noise that torch draws. A batch that holds the "
    "order of its rows, predictions that are sorted, rows that are put back in order, and data beside "
    "their own sorted self. Null models, which learn from permuted targets beside the "
    "true one; in steps of their own they are an `info`, where another model learns at the same line from pairs that "
    "go together. What is drawn for one side alone, as noise, light or a warp of the inputs; draws from one seed; "
    "draws of the targets that the model is told of, as places where it is asked; targets that come of the same values "
    "as the inputs, as views do, or of which only statistics are compared; and which of several copies is taken.",
    needs=(
        FieldsTurned,
        LabelsLost,
        ModuleSeen,
        PairsMisaligned,
        SamplesMisordered,
        SortedRowsMet,
        TargetsAhead,
        TargetsReassigned,
    ),
    examine=examine,
    bad=(bad, bad_arrays_shuffled_apart, bad_shifted_twice, bad_sorted_by_length, bad_turned_twice),
    good=(good, good_arrays_shuffled_together, good_mixup, good_turned_together, good_labels_without_an_order),
    tunables={
        "steps": Tunable(2, "fewest steps with two orders", MORE_THAN_ONCE),
        "turned": Tunable(
            3, "fewest samples that were turned in two ways", "chosen: none is by chance, and three tell of draws"
        ),
        "share": Tunable(
            0.7,
            "smallest share of the steps looked at closely that had two orders",
            "chosen: a part of the training may mix samples on purpose",
        ),
    },
    about="data",
)
