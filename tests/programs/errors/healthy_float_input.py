# guards: AD512
"""NumPy's doubles are cast before they meet a model in single precision."""
import numpy as np
import torch
from torch import nn


class Spectrum(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 32)
        self.fc2 = nn.Linear(32, 3)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def batch(rng, n=32):
    y = rng.integers(0, 3, n)
    x = rng.normal(0, 0.5, (n, 20))
    x[np.arange(n), 3 + 5 * y] += 2
    return x, y


rng = np.random.default_rng(0)
torch.manual_seed(0)
model = Spectrum()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(20):
    x, y = batch(rng)
    logits = model(torch.from_numpy(x).float())
    loss = nn.functional.cross_entropy(logits, torch.from_numpy(y))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item())
