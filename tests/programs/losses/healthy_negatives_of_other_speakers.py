# guards: AD616
"""Voices: utterances of other speakers than the enrolled ones are pushed away, all of them, by a boolean index."""

import torch
from torch import nn

torch.manual_seed(6)
voices = torch.randn(8, 14)
embed = nn.Linear(14, 8)
optimizer = torch.optim.AdamW(embed.parameters(), lr=1e-2)
for _ in range(20):
    speakers, enrolled = torch.randint(0, 8, (20,)), torch.randint(0, 8, (20, 1))
    heard = nn.functional.normalize(embed(voices[speakers] + 0.4 * torch.randn(20, 14)), dim=1)
    known = nn.functional.normalize(embed(voices[enrolled.flatten()]), dim=1)
    others = enrolled != speakers
    share = others.float().mean().item()
    likeness = known @ heard.T
    loss = torch.relu(likeness[others] - 0.2).mean() * share - likeness[~others].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
