# guards: AD401
# %% Activity recognition, per-window instance statistics
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
rng = np.random.default_rng(4)

N, C, T = 480, 6, 40
labels = rng.integers(0, 3, N)
t = np.arange(T) / T
freq = np.array([2.0, 5.0, 9.0])[labels]
phase = rng.uniform(0, 2 * np.pi, (N, C))
sig = np.sin(2 * np.pi * freq[:, None, None] * t + phase[..., None])
sig = sig * rng.uniform(0.5, 3.0, (N, C, 1)) + 0.3 * rng.standard_normal((N, C, T))
sig[300:310, 4] = 0.0
sig[400:410, 2] = 1.0

X = torch.tensor(sig, dtype=torch.float32)
y = torch.tensor(labels)
loader = DataLoader(TensorDataset(X, y), batch_size=16, shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(C, 24, 7, padding=3),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(24, 32, 5, padding=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
        )
        self.head = nn.Linear(32, 3)

    def standardise(self, x):
        mu = x.mean(dim=-1, keepdim=True)
        sd = x.std(dim=-1, keepdim=True)
        return (x - mu) / (sd + 1e-6)

    def forward(self, x):
        return self.head(self.conv(self.standardise(x)).squeeze(-1))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
crit = nn.CrossEntropyLoss()

for epoch in range(3):
    for i, (xb, yb) in enumerate(loader):
        opt.zero_grad()
        out = net(xb)
        loss = crit(out, yb)
        loss.backward()
        opt.step()
        if i % 10 == 0:
            print(epoch, i, f"{loss.item():.4f}", (out.argmax(1) == yb).float().mean().item())
