# %% Activity recognition from windows of six accelerometer channels
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
rng = np.random.default_rng(3)

# %% synthetic recording: three activities, each with its own frequency
N, C, T = 640, 6, 40
labels = rng.integers(0, 3, N)
t = np.arange(T) / T
freq = np.array([2.0, 5.0, 9.0])[labels]
phase = rng.uniform(0, 2 * np.pi, (N, C))
sig = np.sin(2 * np.pi * freq[:, None, None] * t + phase[..., None])
sig = sig * rng.uniform(0.5, 3.0, (N, C, 1)) + 0.3 * rng.standard_normal((N, C, T))
sig[560:564, 4] = 0.0

X = torch.tensor(sig, dtype=torch.float32)
y = torch.tensor(labels)
loader = DataLoader(TensorDataset(X, y), batch_size=8, shuffle=False)


# %% model
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
        return (x - mu) / sd  # expect: AD401

    def forward(self, x):
        return self.head(self.conv(self.standardise(x)).squeeze(-1))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
crit = nn.CrossEntropyLoss()

# %% train
for i, (xb, yb) in enumerate(loader):
    opt.zero_grad()
    out = net(xb)
    loss = crit(out, yb)
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, f"{loss.item():.4f}", (out.argmax(1) == yb).float().mean().item())
