"""A transformer of two layers learns to reverse a sequence of letters. Healthy: warm-up, clipping, tied embeddings."""

import math

import torch
from torch import nn
from torch.nn import functional as F

LETTERS = 10
SEPARATOR = LETTERS
LENGTH = 6


def make_batch(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """`a b c | c b a` as inputs, and the next letter as target wherever it can be known."""
    letters = torch.randint(LETTERS, (size, LENGTH))
    line = torch.cat([letters, torch.full((size, 1), SEPARATOR), letters.flip(1)], dim=1)
    targets = line[:, 1:].clone()
    targets[:, :LENGTH] = -100
    return line[:, :-1], targets


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_attention = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.mix_heads = nn.Linear(width, width)
        self.norm_mlp = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        split = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(split).transpose(1, 2) for part in self.query_key_value(self.norm_attention(x)).chunk(3, -1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.mix_heads(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm_mlp(x))


class Reverser(nn.Module):
    def __init__(self, width: int = 32, heads: int = 4, depth: int = 2) -> None:
        super().__init__()
        self.letters = nn.Embedding(LETTERS + 1, width)
        self.positions = nn.Embedding(2 * LENGTH, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, LETTERS + 1, bias=False)
        nn.init.normal_(self.letters.weight, std=0.1)
        nn.init.normal_(self.positions.weight, std=0.1)
        self.head.weight = self.letters.weight

    def forward(self, line: torch.Tensor) -> torch.Tensor:
        x = self.letters(line) + self.positions(torch.arange(line.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def learning_rate(step: int, steps: int, warmup: int = 20) -> float:
    """A linear warm-up, then half a cosine."""
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def main(steps: int = 100) -> None:
    torch.manual_seed(0)
    model = Reverser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate(step, steps))
    for step in range(steps):
        inputs, targets = make_batch(64)
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten(), ignore_index=-100)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 20 == 19:
            with torch.no_grad():
                inputs, targets = make_batch(64)
                known = targets != -100
                right = (model(inputs).argmax(-1) == targets)[known].float().mean()
            print(f"step {step + 1}: loss {loss.item():.3f}, {right.item():.0%} of the letters right")


if __name__ == "__main__":
    main()
