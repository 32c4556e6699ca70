import math
import random

import torch
import torch.nn as nn

PAD, VOCAB, WIDTH = 0, 40, 24


def batch(rng, size=20, longest=14):
    rows, labels = [], []
    for _ in range(size):
        words = [rng.randrange(2, VOCAB) for _ in range(rng.randrange(4, longest))]
        label = rng.randrange(2)
        words[rng.randrange(1, len(words))] = 1 if label else 2
        rows.append([3] + words + [PAD] * (longest - len(words)))
        labels.append(label)
    return torch.tensor(rows), torch.tensor(labels)


class Attention(nn.Module):
    def __init__(self, heads=3):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, keep):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(keep.view(b, 1, 1, t), float("-inf"))  # <- AD625
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, WIDTH))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.where = nn.Embedding(VOCAB, WIDTH), nn.Parameter(0.02 * torch.randn(16, WIDTH))
        self.attention, self.norm, self.head = Attention(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2)

    def forward(self, ids):
        x = self.words(ids) + self.where[: ids.shape[1]]
        x = self.norm(x + self.attention(x, ids.ne(PAD)))
        return self.head(x[:, 0])


def main():
    rng = random.Random(3)
    torch.manual_seed(3)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(24):
        ids, labels = batch(rng)
        loss = nn.functional.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 8 == 0:
            print(step, loss.item())


main()
