"""Targets that are the tokens of the input, further along, and models that look at them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from autograd_doctor.events.losses import LookAheadJudged, TargetsAhead
from autograd_doctor.instruments.losses import next_tokens
from autograd_doctor.instruments.losses.next_tokens import NextTokens
from autograd_doctor.reading.call_copies import CopiedCall
from autograd_doctor.reading.later import Shift, heeds, is_answer, reads_on, shift_of
from autograd_doctor.reading.trials import Undecided
from tests.watching import Recorded, watching


@given(
    batch=st.integers(2, 5),
    time=st.integers(9, 14),
    ahead=st.integers(0, 2),
    dim=st.integers(0, 1),
    shorter=st.booleans(),
    flat=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_the_shift_of_targets_is_found(
    batch: int, time: int, ahead: int, dim: int, shorter: bool, flat: bool, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    text = torch.randint(0, 1000, (batch, time + 2), generator=generator)
    target = text[:, ahead : ahead + time - shorter].clone()
    target[:, ::4] = -100
    tokens = text[:, :time]
    if dim == 0:
        tokens, target = tokens.t(), target.t()
    found = shift_of(tokens, target.flatten() if flat else target)
    assert found == (Shift(dim, ahead) if ahead else None)


def test_no_shift_is_found_where_there_is_none() -> None:
    torch.manual_seed(0)
    tokens = torch.randint(0, 1000, (4, 9))
    assert shift_of(tokens, torch.randint(0, 1000, (4, 9))) is None
    assert shift_of(tokens, torch.zeros(4, dtype=torch.int64)) is None
    assert shift_of(torch.ones(4, 9, dtype=torch.int64), torch.ones(4, 9, dtype=torch.int64)) is None


class Model(nn.Module):
    def __init__(self, compute: Callable[[Model, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.compute = compute
        self.embed, self.head = nn.Embedding(12, 8), nn.Linear(8, 12)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True)

    def forward(self, tokens: torch.Tensor, source: torch.Tensor | None = None) -> torch.Tensor:
        return self.head(self.compute(self, self.embed(tokens)))  # type: ignore[no-any-return]


def trained(
    compute: Callable[[Any, torch.Tensor], torch.Tensor],
    *,
    source: Callable[[torch.Tensor], torch.Tensor] | None = None,
    steps: int = 3,
) -> Recorded:
    torch.manual_seed(0)
    model = Model(compute)
    before = torch.get_rng_state()
    with watching(NextTokens) as events:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(steps):
            text = torch.randint(0, 12, (6, 10))
            more = (source(text),) if source is not None else ()
            loss = nn.functional.cross_entropy(model(text[:, :-1], *more).flatten(0, 1), text[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert not events.failures
    assert not torch.equal(before, torch.get_rng_state())
    return events


def masked(model: Any, x: torch.Tensor) -> torch.Tensor:
    mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
    return model.layer(x, src_mask=mask)  # type: ignore[no-any-return]


def unmasked(model: Any, x: torch.Tensor) -> torch.Tensor:
    return model.layer(x)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("compute", "verdict"), [(masked, "blind"), (unmasked, "looks ahead")])
def test_each_module_is_judged_once(compute: Callable[[Any, torch.Tensor], torch.Tensor], verdict: str) -> None:
    events = trained(compute)
    (judged,) = events.of(LookAheadJudged)
    assert judged.verdict == verdict
    assert judged.inner == ("model.layer.self_attn" if verdict == "looks ahead" else "")
    assert {event.ahead for event in events.of(TargetsAhead)} == {1}


def behind_rows_chosen_by_the_last(model: Any, x: torch.Tensor) -> torch.Tensor:
    """How many rows there are on the way depends on the last token."""
    nothing = 0 * x[x[:, -1, 0] > 0].sum()
    return model.layer(x) + nothing  # type: ignore[no-any-return]


def test_shapes_that_depend_on_the_tokens_hide_no_look_ahead() -> None:
    (judged,) = trained(behind_rows_chosen_by_the_last).of(LookAheadJudged)
    assert (judged.verdict, judged.inner) == ("looks ahead", "model.layer.self_attn")


def in_an_order_drawn_anew(model: Any, x: torch.Tensor) -> torch.Tensor:
    places = torch.randperm(x.shape[1])
    return model.layer(x, src_mask=places[:, None] < places)  # type: ignore[no-any-return]


def test_what_depends_on_random_numbers_is_not_judged() -> None:
    (judged,) = trained(in_an_order_drawn_anew).of(LookAheadJudged)
    assert judged.verdict == "not judged"
    assert "random numbers" in judged.reason


def test_what_may_know_a_source_is_not_judged() -> None:
    both = trained(unmasked, source=lambda text: torch.cat([text[:, 1:2], text[:, 1:-1]], dim=1))
    assert both.of(TargetsAhead)
    assert both.of(LookAheadJudged) == []


def test_of_two_sequences_that_which_the_targets_follow_is_judged() -> None:
    (judged,) = trained(unmasked, source=lambda text: text.roll(1, 0)[:, :-1]).of(LookAheadJudged)
    assert judged.verdict == "looks ahead"


def test_slow_calls_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_tokens, "_MOST_SECONDS", 0.0)
    assert trained(unmasked, steps=2).of(LookAheadJudged) == []
    (judged,) = trained(unmasked, steps=4).of(LookAheadJudged)
    assert (judged.verdict, judged.reason) == ("not judged", "one call takes 0.0 s")


def test_targets_that_are_the_tokens_themselves() -> None:
    torch.manual_seed(0)
    tokens = torch.randint(0, 1000, (4, 9))
    ignored = tokens.masked_fill(tokens % 3 == 0, -100)
    assert all(is_answer(tokens, each) for each in (tokens, tokens.flatten(), ignored))
    others = (tokens[:, 1:], tokens.roll(1, 1), tokens.t(), torch.full_like(tokens, -100))
    assert not any(is_answer(tokens, each) for each in others)


class Reads(nn.Module):
    """Tokens in one axis and samples in the other, and something that goes on between the moments."""

    def __init__(self, compute: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.compute = compute
        self.embed = nn.Embedding(12, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.compute(self.embed(tokens))


def before(x: torch.Tensor) -> torch.Tensor:
    """Each moment knows those before it and not itself."""
    return x.cumsum(1) - x


@pytest.mark.parametrize(
    ("compute", "reads"),
    [
        (lambda x: x.cumsum(1), True),
        (lambda x: x.cumsum(0), True),
        (before, False),
        (lambda x: x, False),
        (lambda x: x + x.mean(1, keepdim=True), False),
        (lambda x: x.flip(1).cumsum(1).flip(1), False),
    ],
    ids=["along the second", "along the first", "shifted", "each alone", "all at once", "backwards"],
)
def test_what_reads_tokens_one_after_the_other(compute: Callable[[torch.Tensor], torch.Tensor], reads: bool) -> None:
    torch.manual_seed(0)
    tokens = torch.randint(0, 12, (5, 7))
    kept = tokens.clone()
    assert reads_on(CopiedCall(Reads(compute), (tokens,), {}), tokens) == reads
    assert torch.equal(tokens, kept)


@pytest.mark.parametrize(("compute", "expected"), [(lambda x: x, True), (torch.zeros_like, False)])
def test_what_heeds_tokens(compute: Callable[[torch.Tensor], torch.Tensor], expected: bool) -> None:
    torch.manual_seed(0)
    tokens = torch.randint(0, 12, (5, 7))
    assert heeds(CopiedCall(Reads(compute), (tokens,), {}), tokens) is expected


def test_noise_of_its_own_is_not_taken_for_heed() -> None:
    noise = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, 12, (5, 7))
    with pytest.raises(Undecided, match="differs from call to call"):
        heeds(CopiedCall(Reads(lambda x: torch.randn(x.shape, generator=noise)), (tokens,), {}), tokens)


def test_a_model_that_is_given_its_targets_is_told() -> None:
    torch.manual_seed(0)
    model = Model(lambda model, x: x.cumsum(1))
    with watching(NextTokens) as events:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(3):
            text = torch.randint(0, 12, (6, 10))
            nn.functional.cross_entropy(model(text).flatten(0, 1), text.flatten()).backward()
            optimizer.step()
    assert [event.verdict for event in events.of(LookAheadJudged)] == ["copies"]
    assert {event.ahead for event in events.of(TargetsAhead)} == {0}
