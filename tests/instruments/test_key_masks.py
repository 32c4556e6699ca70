"""Masks of attention, and the padding of what a module was given."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from autograd_doctor.events.losses import MaskInverted
from autograd_doctor.instruments.losses.key_masks import KeyMasks
from tests.watching import watching

TOKENS = torch.tensor([[1, 2, 3, 0, 0], [4, 5, 0, 0, 0], [6, 7, 8, 9, 0]])
FULL = TOKENS != 0


class Attending(nn.Module):
    """Calls `attend` with the scores of keys, (batch, heads, queries, keys)."""

    def __init__(self, attend: object) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.attend = attend

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        return self.attend(x)  # type: ignore[operator, no-any-return]


def told(attend: object, steps: int = 1, tokens: torch.Tensor = TOKENS) -> list[MaskInverted]:
    model = Attending(attend)
    with watching(KeyMasks) as recorded:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(steps):
            model(tokens).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        return recorded.of(MaskInverted)


def filled(mask: torch.Tensor, value: float) -> object:
    return lambda x: (x @ x.transpose(1, 2))[:, None].expand(-1, 2, -1, -1).masked_fill(mask, value)


def sdpa(mask: torch.Tensor) -> object:
    return lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=mask)


def added(shown: torch.Tensor) -> torch.Tensor:
    return torch.zeros(shown.shape).masked_fill(~shown, -torch.inf)[:, None]


def beside(keys: torch.Tensor, *, before: int, behind: int = 0) -> torch.Tensor:
    """A mask that shows tokens which the model itself put to the ends, and hides these keys."""
    return torch.cat([torch.zeros(3, before, dtype=torch.bool), keys, torch.zeros(3, behind, dtype=torch.bool)], dim=1)


def longer(mask: torch.Tensor) -> object:
    return lambda x: x.new_ones(3, 1, 1, mask.shape[1]).masked_fill(mask[:, None, None], -1e9) + x.sum()


def test_tokens_that_a_model_adds_at_the_ends() -> None:
    for mask in (beside(FULL, before=1), beside(FULL, before=0, behind=2)):
        (event,) = told(longer(mask))
        assert (event.hides, event.shows) == (9, 6)
    uneven = beside(FULL, before=1)
    uneven[0, 0] = True
    for mask in (beside(~FULL, before=1), beside(FULL, before=3), beside(FULL, before=1, behind=1), uneven):
        assert told(longer(mask)) == []


@pytest.mark.parametrize(
    ("attend", "means"),
    [
        (filled(FULL[:, None, None], -1e9), "hidden"),
        (filled(FULL[:, None, None], -torch.inf), "hidden"),
        (filled(FULL[:, None, None].expand(3, 2, 5, 5), -1e4), "hidden"),
        (sdpa(~FULL[:, None]), "shown"),
        (sdpa(added(~FULL)), ""),
    ],
)
def test_masks_that_show_the_padding(attend: object, means: str) -> None:
    (event,) = told(attend)
    assert (event.means, event.hides, event.shows, event.filled_with) == (means, 9, 6, 0.0)
    assert event.location is not None
    assert event.called_at is not None


@pytest.mark.parametrize(
    "attend",
    [
        filled(~FULL[:, None, None], -1e9),
        filled(FULL[:, None, None], 0.0),
        filled(FULL[:, None, None] & torch.ones(5, 5, dtype=torch.bool).triu(1), -1e9),
        sdpa(FULL[:, None]),
        sdpa(added(FULL)),
        sdpa((~FULL).float()[:, None]),
        filled(torch.tensor([False, True, False, False, False]), -1e9),
    ],
)
def test_masks_that_show_something_else(attend: object) -> None:
    assert told(attend) == []


def test_sequences_without_padding_have_nothing_to_hide() -> None:
    assert told(filled(FULL[:, None, None], -1e9), tokens=torch.arange(15).reshape(3, 5) % 10) == []


def test_a_line_is_told_of_once_in_a_step_and_in_a_few_steps() -> None:
    def attend(x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            x = F.scaled_dot_product_attention(x, x, x, attn_mask=~FULL[:, None])
        return x

    assert [event.step for event in told(attend, steps=4)] == [0, 1, 2]
