"""AD711: random indices come from a range that never reaches part of the data."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import LengthOfAnother, RowsNeverDrawn, SamplerFallsShort, SamplerRepeats
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import in_several_steps
from autograd_doctor.views.so_far import has_ended
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    """Of what is not used yet a program that has not ended tells nothing: it may be meant for later."""
    yield from _out_of_reach(trace)
    if not has_ended(trace):
        return
    told: set[Location | None] = set()
    for event in trace.of(RowsNeverDrawn):
        if event.samples >= tunables["samples"] and event.location not in told:
            told.add(event.location)
            few = event.rows - (event.high - event.low) <= tunables["rows"]
            yield _finding(event, is_little=few or event.draws == 1)
    for counted in trace.of(LengthOfAnother):
        if counted.rows <= tunables["share"] * counted.entries:
            yield _of_another(counted)
    for sampler in trace.of(SamplerRepeats):
        if sampler.passes >= tunables["passes"] and sampler.drawn <= tunables["share"] * sampler.rows:
            yield _sampler(sampler)


def _out_of_reach(trace: Trace) -> Iterator[Finding]:
    for first, *_ in in_several_steps(trace, trace.of(SamplerFallsShort), lambda event: event.location, 1):
        made_for = plural(first.reach, "weight" if first.weighted else "sample")
        yield RULE.finding(
            f"`{first.sampler}` was made for {made_for}, and the data set of the loader has "
            f"{plural(first.rows, 'sample')}: only the first {first.reach:,} can ever come",
            subject=first.sampler,
            location=first.location,
            help="give it one weight for each sample: `class_weights[targets]`"
            if first.weighted
            else "make the sampler for the data set that the loader reads",
            evidence={"reach": first.reach, "rows": first.rows},
        )


def _finding(event: RowsNeverDrawn, *, is_little: bool) -> Finding:
    name = f"`{event.name}`" if event.name else "the data"
    left_out = event.rows - (event.high - event.low)
    related = Related("takes the rows", event.chosen_at) if event.chosen_at else None
    otherwise = "evaluated on them only together with those" if event.evaluated else "used them for nothing else"
    return RULE.finding(
        f"indices are drawn from {event.low:,} to {event.high - 1:,}, and {name} has {plural(event.rows, 'row')}: "
        f"{left_out:,} of them can never come, and the program {otherwise}",
        subject=event.name or "indices",
        location=event.location,
        severity="info" if event.evaluated or is_little else None,
        confidence="low" if event.evaluated else "medium",
        help="draw from all rows, `torch.randint(len(x), …)`, whose upper end is left out already",
        evidence={"low": event.low, "high": event.high, "rows": event.rows, "left_out": left_out},
        related=(related,) if related is not None else (),
    )


def _of_another(event: LengthOfAnother) -> Finding:
    return RULE.finding(
        f"the data set has {plural(event.rows, 'sample')}, as `{event.counted}` has entries, and reads each by its "
        f"index from `{event.read}`, which has {event.entries:,}: only the first {event.rows:,} can ever come",
        subject=event.read,
        location=event.location,
        confidence="medium",
        help=f"return `len(self.{event.read})`, or count what the index of a sample stands for",
        evidence={"rows": event.rows, "entries": event.entries},
    )


def _sampler(event: SamplerRepeats) -> Finding:
    """A list of indices that a program hands over is a part on purpose, as likely as not."""
    is_hint = event.evaluated or not event.at_random
    otherwise = "evaluated on the others only together with those" if event.evaluated else "read the others nowhere"
    return RULE.finding(
        f"`{event.sampler}` drew the same {plural(event.drawn, 'sample')} of {event.rows:,} in each of {event.passes} "
        f"passes, and the program {otherwise}",
        subject=event.sampler,
        location=event.location,
        severity="info" if is_hint else None,
        confidence="low" if is_hint else "medium",
        help="let the sampler reach all samples, or make a data set of the part that is meant "
        "(`torch.utils.data.Subset`)",
        evidence={"drawn": event.drawn, "rows": event.rows, "passes": event.passes},
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(500, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        rows = torch.randint(0, 50, (16,))  # <- AD711
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_sampler() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Sampler, TensorDataset

    class Shuffled(Sampler[int]):
        def __init__(self, count: int) -> None:
            self.count = count

        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter(torch.randperm(self.count).tolist())  # <- AD711

        def __len__(self) -> int:
            return self.count

    torch.manual_seed(0)
    x = torch.randn(160, 8)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16, sampler=Shuffled(64))
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        for inputs, targets in loader:
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def bad_length_of_another() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Pieces(Dataset[torch.Tensor]):
        def __init__(self, songs: list[torch.Tensor]) -> None:
            self.songs = songs
            self.starts = [(song, start) for song in range(len(songs)) for start in range(0, 32, 8)]

        def __len__(self) -> int:
            return len(self.songs)  # <- AD711

        def __getitem__(self, index: int) -> torch.Tensor:
            song, start = self.starts[index]
            return self.songs[song][start : start + 8].clone()

    torch.manual_seed(0)
    loader = DataLoader(Pieces(list(torch.randn(64, 40))), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        for x in loader:
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def bad_weights_of_classes() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

    torch.manual_seed(0)
    x = torch.randn(160, 8)
    y = x.argmax(1)
    weights = 1.0 / torch.bincount(y)
    sampler = WeightedRandomSampler(weights.tolist(), num_samples=160)
    loader = DataLoader(TensorDataset(x, y), batch_size=16, sampler=sampler)  # <- AD711
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for inputs, targets in loader:
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_weights_of_samples() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Subset, TensorDataset, WeightedRandomSampler

    torch.manual_seed(0)
    x = torch.randn(200, 8)
    y = (x.sum(1) > 0.5).long()
    part = Subset(TensorDataset(x, y), range(160))
    weights = (1.0 / torch.bincount(y[:160]))[y[:160]]
    loader = DataLoader(part, batch_size=16, sampler=WeightedRandomSampler(weights.tolist(), num_samples=64))
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        for inputs, targets in loader:
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_validation_sampler() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(160, 8)
    y = x.sum(1, keepdim=True)
    order = torch.randperm(160).tolist()
    training = DataLoader(TensorDataset(x, y), batch_size=16, sampler=SubsetRandomSampler(order[:128]))
    validation = DataLoader(TensorDataset(x, y), batch_size=16, sampler=SubsetRandomSampler(order[128:]))
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        for inputs, targets in training:
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            print(sum(nn.functional.mse_loss(model(inputs), targets).item() for inputs, targets in validation))


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(500, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        rows = torch.randint(len(x), (16,))
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_rest_held_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(500, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        rows = torch.randint(0, 400, (16,))
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(nn.functional.mse_loss(model(x[400:]), y[400:]).item())


def good_what_comes_next() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(500, 8).cumsum(0) / 20
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        rows = torch.randint(0, 499, (16,))
        loss = nn.functional.mse_loss(model(x[rows]), x[rows + 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD711",
    name="samples-never-drawn",
    severity="warning",
    title="part of the data can never be drawn",
    observes="The range of `torch.randint`, where its indices take rows of a tensor that has more, in a program that "
    "has run to its end and used the others for nothing; what samplers draw, pass by pass; for how many samples "
    "samplers of torch were made; and from what a data set reads by the index of a sample, where it is as long as "
    "something else.",
    why="Data that were collected, and perhaps paid for, teach nothing.",
    fix="Draw from all rows.",
    fine="Rows that are held out and used elsewhere, subsets that are a tensor of their own, samples that need their "
    "successor, and ranges that change from draw to draw. Indices that are drawn once may be the data: a remark.",
    needs=(LengthOfAnother, RowsNeverDrawn, SamplerFallsShort, SamplerRepeats),
    examine=examine,
    bad=(bad, bad_length_of_another, bad_sampler, bad_weights_of_classes),
    good=(good, good_rest_held_out, good_what_comes_next, good_validation_sampler, good_weights_of_samples),
    tunables={
        "samples": Tunable(
            32, "fewest indices that were drawn", "chosen: of fewer, the highest say little of the range"
        ),
        "passes": Tunable(
            2,
            "fewest passes with the same samples",
            "chosen: one does not tell a part that is always drawn from one that is drawn by chance",
        ),
        "share": Tunable(
            0.9,
            "largest share of the samples that a sampler may draw",
            "chosen: what does not fill a batch or a block is left out at the end",
        ),
        "rows": Tunable(
            1,
            "rows up to which what is left out is but a hint",
            "chosen: one is left out by mistake, as where an upper end is taken for the last index, and hardly missed",
        ),
    },
    folds=("AD704",),
    about="data",
)
