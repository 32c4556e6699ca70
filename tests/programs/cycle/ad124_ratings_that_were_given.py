"""Ratings of films, most of which nobody gave: users who rate a lot come together, as do those who hardly do."""

import torch
import torch.nn.functional as F

torch.manual_seed(3)
busy = torch.rand(30, 1, 1) < 0.5
given = torch.rand(30, 10, 60) < torch.where(busy, 0.7, 0.1)
ratings = torch.randn(30, 10, 60).clamp(-2, 2)
known = torch.where(given, ratings, torch.zeros(()))
model = torch.nn.Sequential(torch.nn.Linear(60, 24), torch.nn.Tanh(), torch.nn.Linear(24, 60))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(12):
    optimizer.zero_grad(set_to_none=True)
    losses = []
    for group in torch.randint(0, 30, (5,)).tolist():
        guess, mask = model(known[group]), given[group]
        loss = F.mse_loss(guess[mask], known[group][mask]) / 5
        loss.backward()  # expect: AD124
        losses.append(loss.item())
    optimizer.step()
