"""AD729 indices-without-offsets: indices of several samples are joined, and all pick from the rows of the first."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import IndicesJoined
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(IndicesJoined):
        each = event.parts / event.batches
        if each >= tunables["samples"] and event.reach >= tunables["reach"] * event.rows:
            yield _finding(event)


def _finding(event: IndicesJoined) -> Finding:
    batches = "a batch" if event.batches == 1 else f"{event.batches} batches"
    return RULE.finding(
        f"indices of {event.parts + event.batches} samples are joined in {batches} as they are, and pick from the "
        f"joined rows of these samples: all {event.parts} behind the first pick rows of the first ones, each as if its "
        "own began at 0",
        subject=event.operation,
        location=event.location,
        severity="info" if event.others_moved else None,  # the first sample may be what all others refer to
        confidence="medium",
        help="add to the indices of each sample the number of rows before its own: "
        "`torch.cat([i + n for i, n in zip(indices, offsets)])`, where `offsets` sums up the rows of those before",
        evidence={"samples": event.parts + event.batches, "batches": event.batches},
        related=beside(event.location, ("they pick rows here", event.used_at)),
        step_first=event.step + 1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    chains = [torch.randn(int(n), 4) for n in torch.randint(5, 12, (200,))]
    bonds = [torch.stack([torch.arange(len(chain) - 1), torch.arange(1, len(chain))]) for chain in chains]
    energy = torch.stack([(c[b[0]] * c[b[1]]).sum() for c, b in zip(chains, bonds, strict=True)])
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(30):
        rows = torch.randint(len(chains), (16,)).tolist()
        atoms = torch.cat([chains[i] for i in rows])
        pairs = torch.cat([bonds[i] for i in rows], dim=1)  # <- AD729
        owner = torch.cat([torch.full((bonds[i].shape[1],), k) for k, i in enumerate(rows)])
        each = model(torch.cat([atoms[pairs[0]], atoms[pairs[1]]], 1))[:, 0]
        total = torch.zeros(len(rows)).index_add(0, owner, each)
        optimizer.zero_grad()
        nn.functional.mse_loss(total, energy[rows]).backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    chains = [torch.randn(int(n), 4) for n in torch.randint(5, 12, (200,))]
    bonds = [torch.stack([torch.arange(len(chain) - 1), torch.arange(1, len(chain))]) for chain in chains]
    energy = torch.stack([(c[b[0]] * c[b[1]]).sum() for c, b in zip(chains, bonds, strict=True)])
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(30):
        rows = torch.randint(len(chains), (16,)).tolist()
        atoms = torch.cat([chains[i] for i in rows])
        before = torch.tensor([0, *(len(chains[i]) for i in rows)]).cumsum(0)
        pairs = torch.cat([bonds[i] + before[k] for k, i in enumerate(rows)], dim=1)
        owner = torch.cat([torch.full((bonds[i].shape[1],), k) for k, i in enumerate(rows)])
        each = model(torch.cat([atoms[pairs[0]], atoms[pairs[1]]], 1))[:, 0]
        total = torch.zeros(len(rows)).index_add(0, owner, each)
        optimizer.zero_grad()
        nn.functional.mse_loss(total, energy[rows]).backward()
        optimizer.step()


def good_places_in_a_table() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    texts = [torch.randint(40, (int(n),)) for n in torch.randint(5, 12, (200,))]
    embed, places = nn.Embedding(40, 16), torch.randn(200, 16)
    head = nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*embed.parameters(), *head.parameters()], lr=0.01)
    for _ in range(30):
        rows = torch.randint(len(texts), (16,)).tolist()
        tokens = torch.cat([texts[i] for i in rows])
        where = torch.cat([torch.arange(len(texts[i])) for i in rows])
        said = head(embed(tokens) + places[: len(tokens)][where])[:, 0]
        optimizer.zero_grad()
        nn.functional.mse_loss(said, (tokens + where) / 50).backward()
        optimizer.step()


RULE = Rule(
    code="AD729",
    name="indices-without-offsets",
    severity="warning",
    title="indices of several samples are joined as they are, and pick from their joined rows",
    observes="Whole numbers that `torch.cat` has joined, by which a step picks from rows that it has joined of as many "
    "samples, or from what was computed of them row by row, in steps that are looked at closely: whether all indices "
    "of a sample lie within the number of its own rows, and begin before its own rows do.",
    why="Edges of a graph, faces of a mesh, and places in a sequence count from 0 in each sample. Among the rows of a "
    "whole batch these are the rows of the first sample: all others are computed from rows that are not theirs, most "
    "rows take no part, and no error is raised.",
    fix="Add to the indices of each sample the number of rows before its own, before they are joined; libraries for "
    "graphs do it where indices have the name that they expect.",
    fine="Indices that are moved before or after they were joined; those into a table that all samples share, as of "
    "positional encodings, or of words; into rows that are stacked, with a dimension for samples; few samples. Where "
    "other indices are moved as they should be, these may be meant for the first sample: an `info`.",
    needs=(IndicesJoined,),
    examine=examine,
    bad=(bad,),
    good=(good, good_places_in_a_table),
    about="data",
    tunables={
        "samples": Tunable(
            3,
            "fewest samples of a batch behind the first",
            "chosen: of two or three, the first may be what all others refer to",
        ),
        "reach": Tunable(
            0.5,
            "the least share of the rows of samples up to the highest of their own indices",
            "chosen: indices into what is shared have no reason to go as far as each sample is long",
        ),
    },
    references=("https://pytorch-geometric.readthedocs.io/en/latest/advanced/batching.html",),
)
