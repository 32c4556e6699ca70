"""AD722 older-checkpoint: training goes on from a checkpoint that is the last by name as text, and not the newest."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import CheckpointsReadInTurn, OlderCheckpointUsed
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    in_turn = {event.location for event in trace.of(CheckpointsReadInTurn)}
    found = {event.location: event for event in trace.of(OlderCheckpointUsed)}
    yield from (_finding(event) for location, event in found.items() if location not in in_turn)


def _finding(event: OlderCheckpointUsed) -> Finding:
    return RULE.finding(
        f"training goes on from `{event.name}`, and `{event.newest}` beside it is newer: of {event.files} files with "
        "such names that were listed, the one that was read comes last as text, in which 9 comes after 10",
        subject=event.name,
        location=event.location,
        confidence="medium",
        help="compare the numbers in the names, or the times at which the files were written; or write numbers of one "
        'length, as in `f"step{step:07}.pt"`',
        evidence={"read": event.name, "newest": event.newest, "files": event.files},
        step_first=event.step + 1,
    )


def bad() -> None:
    import tempfile
    from pathlib import Path

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def train(steps: int) -> None:
        for _ in range(steps):
            x = torch.randn(32, 4)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for epoch in range(8, 12):
            train(4)
            torch.save(model.state_dict(), folder / f"epoch{epoch}.pt")
        model.load_state_dict(torch.load(sorted(folder.glob("*.pt"))[-1]))  # <- AD722
        train(8)


def good() -> None:
    import tempfile
    from pathlib import Path

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def train(steps: int) -> None:
        for _ in range(steps):
            x = torch.randn(32, 4)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for epoch in range(8, 12):
            train(4)
            torch.save(model.state_dict(), folder / f"epoch{epoch:03}.pt")
        model.load_state_dict(torch.load(sorted(folder.glob("*.pt"))[-1]))
        train(8)


def good_best_of_all() -> None:
    import tempfile
    from pathlib import Path

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def train(steps: int) -> float:
        for _ in range(steps):
            x = torch.randn(32, 4)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True) + 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    with tempfile.TemporaryDirectory() as name:
        scores = {}
        for epoch in range(8, 12):
            path = Path(name) / f"epoch{epoch}.pt"
            scores[path] = abs(train(4) - (epoch != 9))
            torch.save(model.state_dict(), path)
        model.load_state_dict(torch.load(min(scores, key=scores.__getitem__)))
        train(8)


RULE = Rule(
    code="AD722",
    name="older-checkpoint",
    severity="warning",
    title="training goes on from an older checkpoint, whose name comes last as text",
    observes="Files that `torch.load` reads, and that give a module its state, before another step is taken: where the "
    "program has just listed their folder, the names of the others there, and when they were written.",
    why="Names are sorted letter by letter: `step900` comes after `step5100`. What was learned since the older one is "
    "lost, and the run looks as if it had gone on.",
    fix="Choose by the number in the name, or by the time of the file.",
    fine="A checkpoint that is chosen by its score, or named by the person, without a look into the folder; names "
    "whose numbers have one length; two files; the newest one, and what is loaded to be evaluated alone; several of "
    "the files that were listed, one after the other, as for averages, or to branch off from each.",
    needs=(CheckpointsReadInTurn, OlderCheckpointUsed),
    examine=examine,
    bad=(bad,),
    good=(good, good_best_of_all),
    about="data",
    references=("https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html",),
)
