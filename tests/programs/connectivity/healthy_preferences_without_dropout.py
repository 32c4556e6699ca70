# guards: AD210
"""Preference tuning of a sequence scorer: against a frozen copy, both without dropout so that they begin as equals."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Scorer(nn.Module):
    def __init__(self, tokens=12):
        super().__init__()
        self.embed = nn.Embedding(tokens, 16)
        self.mix = nn.GRU(16, 24, batch_first=True)
        self.drop = nn.Dropout(0.25)
        self.next = nn.Linear(24, tokens)

    def forward(self, tokens):
        return self.next(self.drop(self.mix(self.embed(tokens))[0]))


def log_likelihood(model, tokens):
    each = F.cross_entropy(model(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:], reduction="none")
    return -each.sum(1)


def fluent(count):
    return (torch.randint(0, 12, (count, 1)) + torch.arange(8)) % 12


torch.manual_seed(0)
model = Scorer()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
model.train()
for _ in range(14):
    loss = -log_likelihood(model, fluent(16)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

reference = copy.deepcopy(model).eval().requires_grad_(False)
model.eval()
for _ in range(12):
    chosen, rejected = fluent(16), torch.randint(0, 12, (16, 8))
    margin = log_likelihood(model, chosen) - log_likelihood(model, rejected)
    with torch.no_grad():
        margin_before = log_likelihood(reference, chosen) - log_likelihood(reference, rejected)
    preference = -F.logsigmoid(0.1 * (margin - margin_before)).mean()
    optimizer.zero_grad()
    preference.backward()
    optimizer.step()
print(preference.item())
