"""A small causal language model with rotary positions; the whole forward runs under autocast."""
import torch
import torch.nn.functional as F
from torch import nn

V, D, T = 40, 32, 384


def rotate(x, angle):
    a, b = x.chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.register_buffer("inv_freq", 10000 ** -(torch.arange(0, D, 2).float() / D), persistent=False)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        where = torch.arange(x.size(1), device=x.device).float()
        angle = where[:, None] @ self.inv_freq[None]  # <- AD418
        return x + self.out(F.scaled_dot_product_attention(rotate(q, angle), rotate(k, angle), v.to(q), is_causal=True))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.block, self.head = nn.Embedding(V, D), Block(), nn.Linear(D, V)

    def forward(self, tokens):
        return self.head(self.block(self.embed(tokens)))


torch.manual_seed(3)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(20):
    start = torch.randint(0, V, (4, 1))
    text = (start + torch.arange(T + 1) * 3) % V
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(text[:, :-1])
    loss = F.cross_entropy(logits.float().flatten(0, 1), text[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
