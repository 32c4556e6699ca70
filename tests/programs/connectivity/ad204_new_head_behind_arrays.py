"""Word vectors come as an array and are tuned; the new layer that reads them is not given to the optimizer."""

import numpy as np
import torch
from torch import nn

vectors = np.random.default_rng(0).normal(size=(40, 8)).astype("float32")


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(torch.from_numpy(vectors), freeze=False)
        self.label = nn.Linear(8, 3)

    def forward(self, text):
        return self.label(self.words(text).mean(1))


torch.manual_seed(2)
reader = Reader()
optimizer = torch.optim.Adam(reader.words.parameters(), lr=0.01)  # expect: AD204
texts = torch.randint(0, 40, (64, 10))
labels = texts.sum(1) % 3
for _ in range(20):
    loss = nn.functional.cross_entropy(reader(texts), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
