import argparse
import torch
import torch.nn as nn

ap = argparse.ArgumentParser()
ap.add_argument("--gain", type=float, default=60.0)
ap.add_argument("--epochs", type=int, default=12)
opts = ap.parse_args()
torch.manual_seed(57)


class GatedUnit(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin = nn.Linear(d_in, d_out)
        self.gate = nn.Linear(d_in, d_out)
        nn.init.xavier_normal_(self.gate.weight, gain=opts.gain)

    def forward(self, x):
        g = torch.sigmoid(self.gate(x))  # expect: AD409
        return self.lin(x) * g


model = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), GatedUnit(32, 32), nn.Linear(32, 1))
data = torch.randn(800, 12)
target = data[:, 0] * torch.sigmoid(2 * data[:, 1]) + data[:, 2]
optim = torch.optim.Adam(model.parameters(), lr=1e-3)
for ep in range(opts.epochs):
    tot = 0.0
    for idx in torch.randperm(800).split(50):
        pred = model(data[idx]).squeeze(-1)
        loss = nn.functional.mse_loss(pred, target[idx])
        optim.zero_grad()
        loss.backward()
        optim.step()
        tot += loss.item() * len(idx)
    print(f"epoch {ep} mse {tot / 800:.4f}")
