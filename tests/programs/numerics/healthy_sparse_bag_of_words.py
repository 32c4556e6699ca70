# guards: AD408
"""Bag-of-words topic classifier: sparse non-negative inputs, wide ReLU layer, top-k activations."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(54)
VOC, TOPICS = 400, 5
topic_words = torch.full((TOPICS, VOC), 0.02)
for t in range(TOPICS):
    topic_words[t, t * 60 : (t + 1) * 60] += 1.0


def docs(n=48, length=12):
    y = torch.randint(0, TOPICS, (n,))
    w = torch.multinomial(topic_words[y], length, replacement=True)
    return torch.zeros(n, VOC).scatter_add_(1, w, torch.ones(n, length)), y


class Sparse(nn.Module):
    def __init__(self, width=256, k=16):
        super().__init__()
        self.k = k
        self.enc = nn.Linear(VOC, width)
        self.head = nn.Linear(width, TOPICS)
        nn.init.constant_(self.enc.bias, -0.1)

    def forward(self, x):
        h = F.relu(self.enc(x))
        top = h.topk(self.k, dim=1)
        h = torch.zeros_like(h).scatter(1, top.indices, top.values)
        return self.head(h), (h > 0).float().mean()


model = Sparse()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    x, y = docs()
    out, active = model(x)
    loss = F.cross_entropy(out, y) + 1e-4 * model.enc.weight.abs().sum() / 256
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 15 == 0:
        acc = (out.argmax(1) == y).float().mean().item()
        print(step, f"{loss.item():.4f} acc {acc:.2f} active {active.item():.3f}")
