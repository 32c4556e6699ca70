# guards: AD103 AD102
"""LBFGS with a closure that clears, goes backward and is called many times within one step."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-1, 1, 80).unsqueeze(1)
y = torch.sin(4 * x) + 0.05 * torch.randn_like(x)
model = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.8, max_iter=6, history_size=10, line_search_fn="strong_wolfe")
criterion = nn.MSELoss()

for i in range(10):

    def closure():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    if i % 3 == 0:
        with torch.no_grad():
            print("STEP", i, "loss:", criterion(model(x), y).item())
