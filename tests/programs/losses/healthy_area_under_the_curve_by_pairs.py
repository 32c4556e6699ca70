# guards: AD616
"""A fraud score is judged by the share of pairs, one fraud and one honest payment, that it puts in the right order."""

import torch
from torch import nn

torch.manual_seed(0)


def payments(count: int, shift: float) -> torch.Tensor:
    return torch.randn(count, 6) + shift * torch.tensor([1.0, 0.5, 0, 0, -0.5, 0])


score = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(score.parameters(), lr=0.01)
held_out_fraud, held_out_honest = payments(50, 1.2), payments(50, 0)
for epoch in range(6):
    for _ in range(4):
        batch = torch.cat([payments(32, 1.2), payments(32, 0)])
        label = torch.cat([torch.ones(32, 1), torch.zeros(32, 1)])
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(score(batch), label).backward()
        optimizer.step()
    with torch.no_grad():
        fraud, honest = (score(held_out_fraud) * 4).round(), (score(held_out_honest) * 4).round().squeeze(1)
        higher, equal = (fraud > honest).float().mean(), (fraud == honest).float().mean()
        margin = (fraud - honest).mean()
    print(f"epoch {epoch}: area {(higher + equal / 2).item():.3f}, {equal.item():.2f} equal, apart by {margin.item():.2f}")
