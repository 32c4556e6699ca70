# guards: AD418
"""A reader of long sequences in bfloat16: angles are float32, and what is left of whole numbers is converted."""
import torch
import torch.nn.functional as F
from torch import nn

LONG, WIDTH = 600, 32


class Rotary(nn.Module):
    def __init__(self, width):
        super().__init__()
        rates = 1.0 / 10000 ** (torch.arange(0, width, 2) / width)
        angle = torch.arange(LONG)[:, None] * rates
        self.register_buffer("cos", angle.cos()[None])
        self.register_buffer("sin", angle.sin()[None])

    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            a, b = x.float().chunk(2, -1)
            cos, sin = self.cos[:, : x.size(1)], self.sin[:, : x.size(1)]
            return torch.cat([a * cos - b * sin, a * sin + b * cos], -1).to(x.dtype)


class Wave(nn.Module):
    """Frequencies are learned: where they end up is the model's business."""

    def __init__(self):
        super().__init__()
        self.rate = nn.Parameter(torch.linspace(1, 900, 8))

    def forward(self, x):
        return torch.sin((x * self.rate).to(torch.bfloat16))


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rotary = nn.Embedding(20, WIDTH), Rotary(WIDTH)
        self.query, self.value, self.wave = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), Wave()
        self.head = nn.Linear(WIDTH + 8, 20)

    def forward(self, tokens, hour):
        x = self.embed(tokens)
        q = self.rotary(self.query(x))
        mixed = F.scaled_dot_product_attention(q, q, self.value(x).to(q.dtype), is_causal=True)
        clock = self.wave(hour[:, None]).float()[:, None].expand(-1, tokens.size(1), -1)
        return self.head(torch.cat([mixed.float(), clock], -1))


torch.manual_seed(1)
reader = Reader()
optimizer = torch.optim.Adam(reader.parameters(), lr=2e-3)
seconds = 1_720_000_000 + 60 * torch.arange(5000)
hours = (seconds % 86_400).float() / 86_400
of_week = seconds.float() % 604_800 / 604_800
is_full = seconds.float() % 256 == 0
for step in range(20):
    rows = torch.randint(5000, (4,))
    text = (torch.randint(0, 20, (4, 1)) + torch.arange(301)) % 20
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = reader(text[:, :-1], hours[rows] + of_week[rows])
    loss = F.cross_entropy(logits.float().flatten(0, 1), text[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), int(is_full.sum()))
