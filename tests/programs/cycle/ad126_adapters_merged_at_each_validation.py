"""A character model is adapted to another text by low-rank adapters, which validation merges for speed."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
TEXT = "the cat sat on the mat and the dog sat on the log while the hen ran to the pen " * 12
CHARS = sorted(set(TEXT))
CODES = torch.tensor([CHARS.index(char) for char in TEXT])
CONTEXT = 6


class LowRank(nn.Module):
    def __init__(self, inner, rank=4):
        super().__init__()
        self.inner = inner
        self.inner.weight.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, inner.in_features) * 0.2)
        self.b = nn.Parameter(torch.zeros(inner.out_features, rank))
        self.active = True

    def merge(self):
        with torch.no_grad():
            self.inner.weight.add_(self.b @ self.a)
        self.active = False

    def forward(self, x):
        y = self.inner(x)
        return y + F.linear(F.linear(x, self.a), self.b) if self.active else y


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(len(CHARS), 12)
        self.hidden = LowRank(nn.Linear(12 * CONTEXT, 48))
        self.head = LowRank(nn.Linear(48, len(CHARS)))

    def train(self, mode=True):
        super().train(mode)
        for part in (self.hidden, self.head):
            if mode:
                part.active = True  # <- AD126
            elif part.active:
                part.merge()
        return self

    def forward(self, codes):
        return self.head(torch.tanh(self.hidden(self.table(codes).flatten(1))))


def batch(lo, hi, count=64):
    starts = torch.randint(lo, hi - CONTEXT - 1, (count,))
    windows = torch.stack([CODES[s : s + CONTEXT + 1] for s in starts])
    return windows[:, :-1], windows[:, -1]


model = CharModel()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
split = int(0.8 * len(CODES))
for iteration in range(40):
    codes, following = batch(0, split)
    optimizer.zero_grad()
    F.cross_entropy(model(codes), following).backward()
    optimizer.step()
    if iteration % 8 == 7:
        model.eval()
        with torch.no_grad():
            codes, following = batch(split, len(CODES))
            print(iteration, F.cross_entropy(model(codes), following).item())
        model.train()
