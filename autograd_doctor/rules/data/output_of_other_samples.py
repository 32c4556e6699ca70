"""AD728 output-of-other-samples: what a model said of other samples, in an earlier pass, is the target of these."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import OutputsOfOthersMet, PairsMisaligned
from autograd_doctor.events.subjects import ModuleSeen
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside

_LOOKED_UP = {
    "position": "they are looked up by the number of the batch, and the samples come in another order now than then",
    "index": "they are looked up by the number of the sample, and were kept in the order in which a loader drew them",
}


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    told = {event.location for event in trace.of(PairsMisaligned) if event.kept}
    found = [event for event in trace.of(OutputsOfOthersMet) if event.steps >= tunables["steps"]]
    if told.isdisjoint(event.location for event in found):
        for module in dict.fromkeys(event.module for event in found):
            yield _finding(trace, [event for event in found if event.module == module])


def _finding(trace: Trace, events: list[OutputsOfOthersMet]) -> Finding:
    """Of one model, however many of its outputs were kept."""
    event = events[0]
    names = dict.fromkeys(f"`{each.name}`" for each in events if each.name)
    named = f" ({' and '.join(names)})" if names else ""
    places = (("what is kept was computed here", event.kept_at), *(("compared", each.location) for each in events[1:]))
    return RULE.finding(
        f"what `{trace.module_name(event.module)}` gave in an earlier pass{named} is compared with other samples than "
        f"it was computed of, in {event.rows:,} of {event.of:,} rows of the {event.steps} steps that were looked at: "
        f"{_LOOKED_UP[event.by]}",
        subject=event.name or trace.module_name(event.module),
        location=event.location,
        confidence="medium",
        help="let the data set return the number of each sample, too, and keep and look up by it: `kept[i] = output`, "
        "`kept[i]`; or compute it in the loop, of the same batch",
        evidence={"rows": event.rows, "of_rows": event.of, "steps": event.steps, "looked_up_by": event.by},
        related=beside(event.location, *places),
        step_first=event.step + 1,
        step_count=event.steps,
    )


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(128, 8)), batch_size=16, shuffle=True)
    teacher, student = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 4)), nn.Linear(8, 4)
    with torch.no_grad():
        kept = [teacher(x) for (x,) in loader]
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
    for _ in range(3):
        for (x,), wanted in zip(loader, kept, strict=True):
            loss = nn.functional.mse_loss(student(x), wanted)  # <- AD728
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.arange(128), torch.randn(128, 8)), batch_size=16, shuffle=True)
    teacher, student = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 4)), nn.Linear(8, 4)
    kept: dict[int, torch.Tensor] = {}
    with torch.no_grad():
        for numbers, x in loader:
            kept.update(zip(numbers.tolist(), teacher(x), strict=True))
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
    for _ in range(3):
        for numbers, x in loader:
            wanted = torch.stack([kept[number] for number in numbers.tolist()])
            loss = nn.functional.mse_loss(student(x), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


RULE = Rule(
    code="AD728",
    name="output-of-other-samples",
    severity="warning",
    title="outputs that an earlier pass has kept meet other samples than those they were computed of",
    observes="In steps that are looked at closely: what models make of the batches of a loader, and what is computed "
    "of it outside of them and still there at the next batch, by the values of its rows. Where a loss later compares, "
    "element by element, a tensor without a gradient with what a model makes of the batch of now, its rows, or those "
    "that it was made of, are looked up among these. By the numbers for which the sampler asked, nearly all are of "
    "other samples than those of the batch; and each has the place in its pass that the sample which it meets has in "
    "the pass of now, or the number of that sample for its place. What models are given tells that the numbers of both "
    "passes mean the same samples.",
    why="A loader that shuffles does so anew in each pass. Outputs of a teacher, scores of a reference or features "
    "that were kept batch by batch belong to other samples than those that the next pass draws. The loss still falls a "
    "little: what is learned is what the model says on average.",
    fix="Keep what was computed by the number of its sample, and look it up by that, or draw without `shuffle` in both "
    "passes, or compute it in the loop.",
    fine="Outputs that are kept and looked up by sample, in whatever order; those of the same batch in another order, "
    "or of an earlier batch of the same pass; what lies so many samples further on in the data; neighbours, negatives "
    "and queues, which are looked up in ways of their own; values of next states, which a model was given as another "
    "sample; what is compared with something else that models made of the batch, too, as an anchor is; moments of "
    "batches; products by which a model squares a mean, without bias, over independent samples; programs in which kept "
    "outputs meet their own samples as well; rows that are the same for several samples, as predicted classes are. "
    "Not judged are batches of fewer than 8 samples, samples that are changed at random before a model is given them, "
    "passes without a `DataLoader` or with a sampler that gives no whole numbers, what a model itself is given to "
    "compare, and what lies on an accelerator.",
    needs=(OutputsOfOthersMet, PairsMisaligned, ModuleSeen),
    examine=examine,
    bad=(bad,),
    good=(good,),
    about="data",
    tunables={"steps": Tunable(3, "fewest steps in which they meet", MORE_THAN_ONCE)},
    references=("https://docs.pytorch.org/docs/stable/data.html",),
)
