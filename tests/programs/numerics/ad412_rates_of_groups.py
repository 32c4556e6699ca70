"""Char-level model trained by SGD; per-group rates."""

import torch
import torch.nn as nn

torch.manual_seed(69)
text = "the quick brown fox jumps over the lazy dog and runs away from the quick dog " * 20
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])
CTX = 6


class CharMLP(nn.Module):
    def __init__(self, v, e=10, h=64):
        super().__init__()
        self.emb = nn.Embedding(v, e)
        self.h = nn.Linear(CTX * e, h)
        self.o = nn.Linear(h, v)

    def forward(self, x):
        return self.o(torch.tanh(self.h(self.emb(x).flatten(1))))


model = CharMLP(len(chars))
decay = [p for p in model.parameters() if p.dim() > 1]
rest = [p for p in model.parameters() if p.dim() == 1]
opt = torch.optim.SGD([{"params": decay, "weight_decay": 1e-4}, {"params": rest}], lr=3e-6)  # expect: AD412
for step in range(300):
    pos = torch.randint(0, len(ids) - CTX - 1, (64,))
    x = torch.stack([ids[p : p + CTX] for p in pos])
    y = ids[pos + CTX]
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, f"{loss.item():.4f}")
