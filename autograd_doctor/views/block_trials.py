"""What checkpoints would save and cost, from what was tried."""

from __future__ import annotations

from typing import NamedTuple

from autograd_doctor.events.efficiency import CheckpointsTried
from autograd_doctor.profiling import CheckpointOffer, Measured
from autograd_doctor.trace import Trace


class Offer(NamedTuple):
    """A set of blocks to checkpoint: how many times as long forward and backward take, run by run."""

    tried: CheckpointsTried
    cost: Measured

    @property
    def kept(self) -> float:
        """The share of what was kept that is still kept."""
        return share_kept(self.tried.saved)

    @property
    def one_block(self) -> float:
        """Bytes that a block keeps while its backward runs, after it has been computed again: a mean."""
        before, after = self.tried.saved
        return (before - after) * self.tried.every / self.tried.blocks


def share_kept(saved: tuple[int, int]) -> float:
    """saved: bytes, without checkpoints and with."""
    before, after = saved
    return after / before if before else 1.0


def blocks_of(tried: CheckpointsTried) -> str:
    """`model.layers` (12 x `Block`)."""
    which = "every second of " if tried.every > 1 else ""
    return f"{which}`{tried.holder}` ({tried.blocks} x `{tried.kind}`)"


def code_for(tried: CheckpointsTried) -> str:
    """What checkpoints them."""
    chosen = f"{tried.holder}.children()"
    if not tried.alone:
        chosen = f"[each for each in {chosen} if type(each).__name__ == {tried.kind!r}]"
    if tried.every > 1:
        chosen = f"{f'list({chosen})' if tried.alone else chosen}[::2]"
    return (
        "from functools import partial\n"
        "from torch.utils.checkpoint import checkpoint\n"
        f"for block in {chosen}:\n"
        "    block.forward = partial(checkpoint, block.forward, use_reentrant=False)"
    )


def offers(trace: Trace) -> list[Offer]:
    """All that was tried, those that save most first."""
    found = [Offer(each, Measured.ratio(each.before, each.after)) for each in trace.of(CheckpointsTried) if each.before]
    return sorted(found, key=lambda offer: offer.kept)


def predictions(trace: Trace) -> list[CheckpointsTried]:
    """What could not be tried, and was added up instead; what saves most first."""
    found = [each for each in trace.of(CheckpointsTried) if each.untried and each.predicted is not None]
    return sorted(found, key=lambda each: share_kept(each.predicted or each.saved))


def on_the_front(offers: list[Offer]) -> list[Offer]:
    """Those that no other one beats in what it saves or costs without losing in the other."""
    return [
        each
        for each in offers
        if not any(
            other.kept <= each.kept
            and other.cost.median <= each.cost.median
            and (other.kept, other.cost.median) != (each.kept, each.cost.median)
            for other in offers
        )
    ]


def as_reported(trace: Trace) -> list[CheckpointOffer]:
    """For the report: what was tried, and what could not be."""
    found = offers(trace)
    best = on_the_front(found)
    told = [
        CheckpointOffer(
            blocks=blocks_of(each.tried),
            saved=each.tried.saved,
            predicted=each.tried.predicted,
            cost=each.cost,
            differs=each.tried.differs,
            moved=each.tried.moved,
            best=each in best,
            code=code_for(each.tried),
        )
        for each in found
    ]
    return told + [
        CheckpointOffer(blocks=blocks_of(each), predicted=each.predicted, untried=each.untried, code=code_for(each))
        for each in trace.of(CheckpointsTried)
        if each.untried
    ]
