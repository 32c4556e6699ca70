"""AD801 checkpoint-candidate: checkpoints would save much memory here."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.efficiency import CheckpointsTried, MemoryBudgeted
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.block_trials import Offer, blocks_of, code_for, offers, on_the_front, predictions, share_kept
from autograd_doctor.wording import in_bytes, plural

_NOISE = 0.1
"""A wider interval tells nothing of what computing blocks again costs."""


def bad() -> None:
    """Six blocks keep all of their wide hidden values for the backward."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(16, 512), nn.GELU(), nn.Linear(512, 16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.inner(x)  # type: ignore[no-any-return]

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(Block() for _ in range(6))
            self.head = nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for block in self.blocks:
                x = block(x)  # <- AD801
            return self.head(x)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(25):
        inputs = torch.randn(1024, 16)
        optimizer.zero_grad()
        (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()


def bad_no_copy() -> None:
    """The model holds what cannot be copied: what would be kept is added up."""
    import threading

    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(16, 512), nn.GELU(), nn.Linear(512, 16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.inner(x)  # type: ignore[no-any-return]

    class Model(nn.Sequential):
        def __init__(self) -> None:
            super().__init__(*(Block() for _ in range(6)), nn.Linear(16, 1))
            self.lock = threading.Lock()

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(25):
        inputs = torch.randn(1024, 16)
        optimizer.zero_grad()
        (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean().backward()  # <- AD801
        optimizer.step()


def good() -> None:
    """The weights take far more memory than what a small batch leaves for the backward."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(128, 128), nn.ReLU()) for _ in range(4)]
    model = nn.Sequential(*layers, nn.Linear(128, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    for _ in range(40):
        inputs = torch.randn(8, 128)
        optimizer.zero_grad()
        (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()


def good_calls_are_counted() -> None:
    """A checkpoint would have the blocks count twice."""
    import torch
    from torch import nn

    calls: list[int] = []

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(16, 512), nn.GELU(), nn.Linear(512, 16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            calls.append(len(x))
            return x + self.inner(x)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = nn.Sequential(*(Block() for _ in range(6)), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(25):
        inputs = torch.randn(1024, 16)
        optimizer.zero_grad()
        (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()


def good_checkpointed() -> None:
    """The blocks are under checkpoints already."""
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(16, 512), nn.GELU(), nn.Linear(512, 16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.inner(x)  # type: ignore[no-any-return]

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(Block() for _ in range(6))
            self.head = nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False)
            return self.head(x)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(25):
        inputs = torch.randn(1024, 16)
        optimizer.zero_grad()
        (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    budget = next(iter(trace.of(MemoryBudgeted)), None)
    if budget is None:
        return
    others = budget.parameters + budget.buffers + budget.gradients + budget.optimizer
    if budget.activations < tunables["bytes"] or budget.activations < tunables["share"] * (budget.activations + others):
        return
    safe = [each for each in offers(trace) if not each.tried.moved and each.tried.differs <= tunables["difference"]]
    worth = [each for each in on_the_front(safe) if 1 - each.kept >= tunables["saving"]]
    if worth:
        yield _finding(worth[0], worth[1:], budget)
        return
    for untried in predictions(trace)[:1]:
        if untried.predicted is not None and 1 - share_kept(untried.predicted) >= tunables["saving"]:
            yield _prediction(untried, untried.predicted)


def _finding(best: Offer, others: list[Offer], budget: MemoryBudgeted) -> Finding:
    before, after = best.tried.saved
    same = "the same to the last bit" if not best.tried.differs else f"within {best.tried.differs:.1g} of the largest"
    return RULE.finding(
        f"checkpointing {blocks_of(best.tried)} would keep {in_bytes(after)} for the backward instead of "
        f"{in_bytes(before)}, and forward and backward would take {_cost(best)}",
        subject=best.tried.holder,
        location=best.tried.location,
        help=f"where memory is short, or a larger batch would pay:\n{code_for(best.tried)}",
        evidence={
            "saved_before": before,
            "saved_after": after,
            "time": best.cost.median,
            "time_low": best.cost.low,
            "time_high": best.cost.high,
            "gradients_differ_by": best.tried.differs,
        },
        notes=(
            f"measured in {plural(len(best.tried.before), 'pair')} of runs of a copy; gradients were {same}",
            f"while a block is computed again, about {in_bytes(best.one_block)} come on top",
            f"parameters, gradients and optimizer state take "
            f"{in_bytes(budget.parameters + budget.gradients + budget.optimizer)} beside that",
            *(f"{blocks_of(each.tried)}: {in_bytes(each.tried.saved[1])}, and {_cost(each)}" for each in others),
        ),
        step_first=best.tried.step,
        step_count=1,
    )


def _prediction(untried: CheckpointsTried, saved: tuple[int, int]) -> Finding:
    before, after = saved
    return RULE.finding(
        f"checkpointing {blocks_of(untried)} would keep about {in_bytes(after)} for the backward instead of "
        f"{in_bytes(before)}",
        subject=untried.holder,
        location=untried.location,
        confidence="medium",
        help="where memory is short, or a larger batch would pay, and if the blocks draw no random numbers from a "
        f"generator of their own, which would give others the second time:\n{code_for(untried)}",
        evidence={"saved_before": before, "saved_after": after},
        notes=(
            "added up from what each module keeps, and what the blocks are given",
            f"time and gradients were not tried: {untried.untried}",
        ),
        step_first=untried.step,
        step_count=1,
    )


def _cost(offer: Offer) -> str:
    low, high = offer.cost.low - 1, offer.cost.high - 1
    if low > 0 or high < 0:
        return f"{abs(offer.cost.median - 1):.0%} {'longer' if low > 0 else 'less'} ({low:+.0%} to {high:+.0%})"
    if high < _NOISE:
        return f"as long, within the noise ({low:+.0%} to {high:+.0%})"
    return f"an unknown time, since the machine did other things meanwhile ({low:+.0%} to {high:+.0%})"


RULE = Rule(
    code="AD801",
    name="checkpoint-candidate",
    severity="info",
    title="checkpoints would save much memory here",
    observes="`doctor profile` adds up what training holds in memory. Where much of it is kept for the backward, it "
    "runs a copy of the model with the same inputs and random numbers, with its blocks under `torch.utils.checkpoint` "
    "and without, in turn. It measures what each way keeps, how long it takes, and whether gradients agree. Where no "
    "copy can be made, what would be kept is added up, and said to be no more than that.",
    why="What the forward keeps for the backward grows with the batch and the depth, and often decides how large "
    "either can be. A checkpoint keeps the input of a block alone, and computes the rest once more.",
    fix="Checkpoint the blocks that are named, if memory is what you lack. The help has the lines to paste, after the "
    "model has been built.",
    fine="There is memory enough: then a checkpoint only costs time.",
    needs=(CheckpointsTried, MemoryBudgeted),
    bad=(bad, bad_no_copy),
    good=(good, good_calls_are_counted, good_checkpointed),
    tunables={
        "share": Tunable(
            0.5, "the least share of the memory that is kept for the backward", "chosen: else weights decide what fits"
        ),
        "bytes": Tunable(2**24, "the fewest bytes kept for the backward", "chosen: fewer are there on any device"),
        "saving": Tunable(0.3, "the least share of that which is saved", "chosen: less is not worth the time"),
        "difference": Tunable(
            1e-4,
            "how far gradients may be apart, relative to the largest",
            "measured: sums in another order differ by less than 1e-5 in float32",
        ),
    },
    references=(
        "https://docs.pytorch.org/docs/stable/checkpoint.html",
        "https://arxiv.org/abs/1604.06174",
    ),
    examine=examine,
)
