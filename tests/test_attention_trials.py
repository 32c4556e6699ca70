"""Attention that is written out: which ways to write it are known, what speaks against the fused call, what is kept."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent, indent
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from traces import backward

from autograd_doctor.events.efficiency import AttentionTried, AttentionUnfit
from autograd_doctor.events.run import RecordingStarted
from autograd_doctor.findings import Finding, Location
from autograd_doctor.reading.fused_attention import Attention, compared, copies, kept_anyway
from autograd_doctor.rules.efficiency import materialised_attention
from autograd_doctor.trace import Trace
from tests.harness import recorded

RULE = materialised_attention.RULE
WHERE = Location("train.py", 7)


def _events(
    attention: str, then: str = "loss.backward()", each: str = "pass"
) -> tuple[list[AttentionTried], list[str]]:
    """What is told of a program with such an attention, and the reasons against it that became known later."""
    source = dedent("""
        import torch
        from torch import nn

        torch.manual_seed(0)
        inner, outer = nn.Linear(4, 96), nn.Linear(32, 1)
        optimizer = torch.optim.Adam([*inner.parameters(), *outer.parameters()], lr=1e-3)
        hidden = torch.ones(128, 128, dtype=torch.bool).triu(3)
        for step in range(25):
            inputs = torch.randn(2, 128, 4, requires_grad=True)
            optimizer.zero_grad()
            packed = inner(inputs)
            pad = torch.arange(128) >= torch.tensor([[100], [128]])
            EACH
            queries, keys, values = packed.unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
            for layer in range(2):
                ATTENTION
            loss = (outer(found.transpose(1, 2).flatten(2)) - inputs.detach().sum(-1, keepdim=True)).pow(2).mean()
            THEN
            optimizer.step()
    """)
    for name, code in {"EACH": each, "THEN": then, "ATTENTION": attention}.items():
        before = source[: source.index(name)].rpartition("\n")[2]
        source = source.replace(before + name, indent(dedent(code).strip(), before))
    with recorded(source, rules=[RULE], batches_per_epoch=0) as (trace, _, outcome):
        assert outcome.exit_code == 0
        return list(trace.of(AttentionTried)), [each.reason for each in trace.of(AttentionUnfit)]


SCORES = "queries @ keys.transpose(-2, -1) / 8**0.5"
PADDED = f"found = ({SCORES}).masked_fill(pad[:, None, None], -1e9).softmax(-1) @ values"


@pytest.mark.parametrize(
    ("attention", "called"),
    [
        (PADDED, "queries, keys, values, attn_mask=~mask)`, where `mask` is the one that marks what is hidden"),
        (
            f"""
            mask = torch.zeros(128, 128).masked_fill(hidden, -torch.inf)
            found = ({SCORES} + mask).softmax(-1) @ values
            """,
            "queries, keys, values, attn_mask=mask)`, where `mask` is what is added to the scores",
        ),
        (
            f"found = torch.where(~hidden, {SCORES}, -torch.inf).softmax(-1) @ values",
            "queries, keys, values, attn_mask=mask)`, where `mask` is the one that marks what counts",
        ),
        (
            f"found = torch.where(hidden, torch.tensor(-1e9), {SCORES}).softmax(-1) @ values",
            "queries, keys, values, attn_mask=~mask)`, where `mask` is the one that marks what is hidden",
        ),
        (
            f"found = ({SCORES}).where(~hidden, -1e9).softmax(-1) @ values",
            "queries, keys, values, attn_mask=mask)`, where `mask` is the one that marks what counts",
        ),
        (
            """
            scores = torch.einsum("bhqd, bhkd -> bhqk", queries, keys) / 8**0.5
            found = torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1), values)
            """,
            "queries, keys, values)`",
        ),
        (
            """
            queries, keys, values = packed.unflatten(-1, (3, 4, 8)).unbind(2)
            scores = torch.einsum("bjhd,bihd->bhij", keys, queries) / 8**0.5
            found = torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), values).transpose(1, 2)
            """,
            "queries, keys, values)`",
        ),
        (
            """
            scores = torch.einsum("bhqd,bkd->bhqk", queries, keys[:, 0]) / 8**0.5
            found = torch.einsum("bhqk,bkd->bhqd", scores.softmax(-1), values[:, 0])
            """,
            "queries, keys.expand(-1, 4, -1, -1), values.expand(-1, 4, -1, -1))`",
        ),
        (
            "found = (queries @ keys[:, :1].mT / 8**0.5).softmax(-1) @ values[:, :1]",
            "queries, keys.expand(-1, 4, -1, -1), values.expand(-1, 4, -1, -1))`",
        ),
        (
            """
            queries, keys, values = packed.chunk(3, -1)
            scores = torch.bmm(queries, keys.transpose(1, 2)) / 32**0.5
            found = scores.masked_fill(pad[:, None], -1e9).softmax(-1).bmm(values)[:, None]
            """,
            "queries[:, None], keys[:, None], values[:, None], attn_mask=~mask[:, None])[:, 0]`, "
            "where `mask` is the one that marks what is hidden",
        ),
    ],
    ids=[
        "masked_fill", "added", "where", "where hidden", "method where", "einsum", "einsum of heads last",
        "einsum of shared heads", "shared heads", "three axes",
    ],
)  # fmt: skip
def test_ways_to_write_attention(attention: str, called: str) -> None:
    (tried,), unfit = _events(attention)
    assert unfit == []
    assert tried.differs < 1e-5
    assert tried.saved[0] - tried.saved[1] > 2 * 128 * 128
    assert tried.calls == 2
    (finding,) = _found(tried)
    assert finding.help == f"`torch.nn.functional.scaled_dot_product_attention({called}"
    assert "in each of 2 calls in an iteration" in finding.message


def _found(tried: AttentionTried, *others: Any) -> list[Finding]:
    """The findings, were it long and quick enough."""
    started = RecordingStarted(tool="", began=0.0, needs=["AttentionTried"])
    long = {"saved": (2**24, 2**20), "before": [1.0] * 8, "after": [0.5] * 8}
    told = {name: getattr(tried, name) for name in tried.__struct_fields__}
    return list(RULE.examine(Trace.of_events(started, AttentionTried(**{**told, **long}), *others), RULE.defaults))


PENALTY = """
(slope,) = torch.autograd.grad(loss, inputs, create_graph=True)
(loss + slope.pow(2).sum()).backward()
"""


WEIGHTS = f"weights = ({SCORES}).softmax(-1); found = weights @ values"
DETACHED = f"""
with torch.no_grad():
    weights = ({SCORES}).softmax(-1)
    weights @ values
    del weights
found = queries
"""


@pytest.mark.parametrize(
    ("attention", "other"),
    [
        (PADDED, {"then": PENALTY}),
        (PADDED, {"then": "loss.backward(create_graph=True); inner.weight.grad = inner.weight.grad.detach()"}),
        (PADDED, {"each": "pad[0] |= step == 2"}),
        (f"found = torch.where(pad[:, None, None], -1e9, {SCORES}).softmax(-1) @ values", {"each": "pad[0] = True"}),
        (f"found = ({SCORES} + -1e9 * pad[:, None, None]).softmax(-1) @ values", {"each": "pad[0] = True"}),
        (WEIGHTS, {"then": "(loss + weights.amax(-1).mean()).backward(); del weights"}),
        (WEIGHTS, {"then": "(loss + (torch.ones(()) * weights).mean()).backward(); del weights"}),
        (
            f"scores = {SCORES}; found = scores.softmax(-1) @ values",
            {"then": "(loss + scores.logsumexp(-1).mean()).backward()"},
        ),
        (DETACHED, {}),
    ],
    ids=[
        "penalty", "backward with a graph", "hidden rows", "hidden rows by where", "hidden rows added", "weights used",
        "weights used second", "scores used", "without gradients",
    ],
)  # fmt: skip
def test_attention_that_no_fused_call_can_replace(attention: str, other: dict[str, str]) -> None:
    assert _events(attention, **other) == ([], [])


LAZY = """
if step >= 15:
    loss = loss + torch.autograd.grad(loss, inputs, create_graph=True)[0].pow(2).sum()
loss.backward()
"""


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"each": "pad[0] |= step >= 15", "then": "(loss.exp() if step >= 15 else loss).backward()"}, "hidden rows"),
        ({"then": LAZY}, "derived twice"),
    ],
    ids=["hidden rows", "penalty"],
)
def test_what_speaks_against_it_may_be_seen_later(other: dict[str, str], reason: str) -> None:
    (_,), unfit = _events(PADDED, **other)
    assert unfit == [reason]


def test_what_is_seen_in_a_later_step_takes_it_back() -> None:
    tried = AttentionTried(location=WHERE, shape=[2, 4, 96, 8], keys=96, saved=(0, 0), before=[], after=[], differs=0.0)
    unfit = AttentionUnfit(location=tried.location, reason="hidden rows")
    assert len(_found(tried)) == 1
    assert _found(tried, unfit) == []
    assert len(_found(tried, AttentionUnfit(location=Location("train.py", 8), reason="hidden rows"))) == 1


def test_a_program_that_derives_twice_elsewhere_is_warned() -> None:
    tried = AttentionTried(location=WHERE, shape=[2, 4, 96, 8], keys=96, saved=(0, 0), before=[], after=[], differs=0.0)
    (finding,) = _found(tried)
    assert not any("create_graph" in note for note in finding.notes)
    (finding,) = _found(tried, backward(create_graph=True))
    assert any("create_graph" in note for note in finding.notes)


# ---------------------------------------------------------------------------------------------------------------- bytes


class _Attending(nn.Module):
    """Steps or fused, on queries and keys of its own making. given: what went into the attention, with its result."""

    def __init__(self, make: Callable[[torch.Tensor], Any], *, fused: bool) -> None:
        super().__init__()
        self.inner, self.outer, self.make, self.fused = nn.Linear(8, 96), nn.Linear(32, 1), make, fused
        self.given: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        queries, keys, values = self.make(self.inner(x))
        if self.fused:
            found = scaled_dot_product_attention(queries, keys, values)
        else:
            found = (queries @ keys.transpose(-2, -1) / 8**0.5).softmax(-1) @ values
        self.given = [queries, keys, values, found]
        return self.outer(found.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


def _packed(x: torch.Tensor) -> Any:
    return x.unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)


def _one_by_one(x: torch.Tensor) -> Any:
    return (
        each.unflatten(-1, (4, 8)).transpose(1, 2) for each in (x[..., :32] * 2, x[..., 32:64] * 2, x[..., 64:] * 2)
    )


def _kept_by_what_made_them(x: torch.Tensor) -> Any:
    return (each.unflatten(-1, (4, 8)).transpose(1, 2) for each in map(torch.tanh, x.chunk(3, -1)))


def _one_head(x: torch.Tensor) -> Any:
    queries, keys, values = _packed(x)
    return queries, keys[:, :1].expand_as(queries), values[:, :1].expand_as(queries)


def _kept_by(model: _Attending) -> int:
    """The bytes of all that a forward saves, but parameters, as its hooks see it."""
    sizes: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        held.append(tensor)
        return tensor

    held: list[torch.Tensor] = []
    torch.manual_seed(0)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(torch.randn(2, 128, 8))
    own = {each.untyped_storage().data_ptr() for each in model.parameters()}
    return sum(size for address, size in sizes.items() if address not in own)


@pytest.mark.parametrize("make", [_packed, _one_by_one, _kept_by_what_made_them, _one_head])
def test_the_bytes_that_are_saved_are_those_that_a_whole_model_saves(make: Callable[[torch.Tensor], Any]) -> None:
    stepwise = _Attending(make, fused=False)
    whole = _kept_by(stepwise) - _kept_by(_Attending(make, fused=True))
    stepwise(torch.randn(2, 128, 8))
    *given, result = stepwise.given
    queries, keys, values = copies(given)
    found = compared(
        Attention(queries, keys, values, 8**-0.5, None, result.detach(), kept=kept_anyway(given)), seconds=0.0
    )
    assert found.stepwise.saved - found.fused.saved == pytest.approx(whole, rel=0.02)


def test_dropout_takes_part_in_what_is_kept() -> None:
    given = list(torch.randn(3, 2, 4, 96, 8))
    plain, dropping = (
        compared(Attention(*given, 1.0, None, None, dropped=rate), seconds=0.0).stepwise.saved for rate in (0.0, 0.5)
    )
    assert dropping - plain >= 2 * 4 * 96 * 96
